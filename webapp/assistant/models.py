"""The chat models a person can choose from, built from the settings.

`extractive` is always there; a default model when an endpoint is configured; and one for each
``[[chat.models]]`` table. Keys stay inside: nothing here shows one (SEC-11).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass

from engines.chat import ChatModel
from engines.chat_extractive import ExtractiveModel
from engines.chat_openai import OpenAIChatModel, is_local, public_url
from store.errors import SettingsError
from store.settings import ChatModelSettings, ChatSettings
from webapp.assistant.errors import UnknownModel

log = logging.getLogger(__name__)

AnyModel = ChatModel | ExtractiveModel


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What may be shown of a model. `is_local`: nothing leaves this machine when it is asked."""

    name: str
    model: str
    base_url: str
    is_local: bool
    has_key: bool
    context_tokens: int
    is_default: bool


class ChatModels:
    """The models by name. The first one configured is the default; without any, `extractive`.

    Raises `SettingsError` when two models share a name or one lacks its address.
    """

    def __init__(self, settings: ChatSettings, environ: Mapping[str, str] = os.environ) -> None:
        self.timeout_s = settings.timeout_s
        self._models: dict[str, AnyModel] = {}
        self._infos: dict[str, ModelInfo] = {}
        for entry in _entries(settings):
            self._add(entry, environ)
        extractive = ExtractiveModel()
        self._models[extractive.name] = extractive
        self._infos[extractive.name] = ModelInfo(
            extractive.name, extractive.name, "", True, False, 0, not self._infos
        )

    @property
    def default(self) -> str:
        """The name of the model that answers when none is chosen."""
        return next(iter(self._models))

    def get(self, name: str | None = None) -> AnyModel:
        """The model of that name, or the default one. Raises `UnknownModel`."""
        chosen = name or self.default
        if chosen not in self._models:
            raise UnknownModel(chosen, list(self._models))
        return self._models[chosen]

    def describe(self) -> list[ModelInfo]:
        """Every model, the default one first."""
        return list(self._infos.values())

    def close(self) -> None:
        """Close kept connections."""
        for model in self._models.values():
            if isinstance(model, OpenAIChatModel):
                model.close()

    def _add(self, entry: ChatModelSettings, environ: Mapping[str, str]) -> None:
        name = entry.name or entry.model
        if not name or not entry.base_url or not entry.model:
            raise SettingsError(f"chat.models: {name or 'an entry'} needs a model and a base_url")
        if name in self._models or name == ExtractiveModel.name:
            raise SettingsError(f"chat.models: the name {name!r} is taken")
        key = entry.api_key or environ.get(entry.api_key_env, "")
        self._models[name] = OpenAIChatModel(
            name, entry.base_url, entry.model, key, context_tokens=entry.context_tokens
        )
        self._infos[name] = ModelInfo(
            name,
            entry.model,
            public_url(entry.base_url),
            is_local(entry.base_url),
            bool(key),
            entry.context_tokens,
            not self._infos,
        )


def _entries(settings: ChatSettings) -> list[ChatModelSettings]:
    """The default endpoint as an entry, where one is configured, before the listed ones.

    A model name alone is no endpoint: screen text goes nowhere that was not named.
    """
    if not (settings.model and settings.base_url):
        if settings.model or settings.base_url:
            log.warning("chat.model and chat.base_url are used only together; one of them is missing")
        return list(settings.models)
    default = ChatModelSettings(
        name=settings.model,
        base_url=settings.base_url,
        model=settings.model,
        api_key=settings.api_key,
        context_tokens=settings.context_tokens,
    )
    return [default, *settings.models]
