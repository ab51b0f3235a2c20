"""The chat models a person can choose from: from the settings, and those added in the app.

`extractive` is always there; a default model when an endpoint is configured; one for each
``[[chat.models]]`` table; and one for each provider of ``providers.json`` that may be used. Keys
stay inside: nothing here shows one. A provider on another machine is used only when the
person allowed that very host; what stands in the settings was named there.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from assistant.core.errors import UnknownModel
from engines.chat.client import WAITS_S
from engines.chat.completions import OpenAIChatModel
from engines.chat.extractive import ExtractiveModel
from engines.chat.network import host_of, is_local, may_send_to, problem_of, public_url
from engines.chat.protocol import ChatModel
from engines.chat.responses import OpenAIResponsesModel
from store.core.errors import SettingsError, StoreError
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings
from store.egress import providers
from store.egress.providers import Provider, key_of

log = logging.getLogger(__name__)

AnyModel = ChatModel | ExtractiveModel


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """What is set of a model, wherever that is done. Prices are per million tokens; 0 is not set."""

    name: str
    base_url: str
    model: str
    context_tokens: int = 8192
    supports_vision: bool = False
    supports_tools: bool = False
    supports_json_schema: bool = True
    tool_format: str = ""
    input_price: float = 0.0
    output_price: float = 0.0
    currency: str = ""
    single_system: bool = False
    supports_tool_role: bool = True
    supports_responses: bool = False
    key_source: str = ""  # the variable the key comes from, '' when it was entered
    key_problem: str = ""
    provider_id: int | None = None  # its id where it was added in the app
    is_allowed: bool = True

    @property
    def is_ready(self) -> bool:
        """Whether it may be chosen: a model is set, and its host is allowed."""
        return bool(self.model) and self.is_allowed


def _options(source: ChatModelSettings | Provider | ModelOptions) -> dict[str, Any]:
    """The options that are set there."""
    names = (field.name for field in fields(ModelOptions))
    return {name: getattr(source, name) for name in names if hasattr(source, name)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(ModelOptions):
    """One model at one address, with all that is needed to ask it. Only `_info()` of it may be shown."""

    api_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo(ModelOptions):
    """What may be shown of a model. `is_local`: nothing leaves this machine when it is asked.

    `host` is whom text is sent to otherwise.
    """

    host: str = ""
    is_local: bool = True
    has_key: bool = False
    is_default: bool = False

    @property
    def is_extractive(self) -> bool:
        return not self.base_url

    @property
    def where(self) -> str:
        """Where it runs, in words."""
        return "this computer" if self.is_local else self.host


class ChatModels:
    """The models by name. Without a chosen default the first one that can be used; else `extractive`.

    `data_dir` is where providers added in the app are; None for none. `reload` follows a change of
    them. Raises `SettingsError` when two models of the settings share a name or one lacks its address.
    """

    def __init__(
        self,
        settings: ChatSettings,
        environ: Mapping[str, str] = os.environ,
        data_dir: DataDir | None = None,
        *,
        waits_s: Sequence[float] = WAITS_S,
    ) -> None:
        self.timeout_s = settings.timeout_s
        self.problem = ""
        """Why the providers added in the app cannot be used; '' when they can."""
        self._settings = settings
        self._environ = environ
        self._data_dir = data_dir
        self._waits_s = waits_s
        self._lock = threading.Lock()
        self._chosen = ""
        self._endpoints: dict[str, Endpoint] = {}
        self._models: dict[str, OpenAIChatModel] = {}
        self._extractive = ExtractiveModel()
        self.reload()

    def reload(self) -> None:
        """Read the providers again. Models that did not change keep their connections."""
        endpoints = {endpoint.name: endpoint for endpoint in _configured(self._settings, self._environ)}
        chosen, problem = "", ""
        if self._data_dir is not None:
            try:
                added = providers.load(self._data_dir)
            except StoreError as error:
                log.error("%s", error)
                problem = str(error)
            else:
                chosen = added.default
                for provider in added.entries:
                    endpoint = endpoint_of(provider, self._environ)
                    if endpoint.name in {*endpoints, self._extractive.name}:  # by the settings, later
                        endpoint = replace(endpoint, name=f"{endpoint.name} ({provider.id})")
                    endpoints[endpoint.name] = endpoint
        with self._lock:
            kept = {
                name: m for name, m in self._models.items() if self._endpoints[name] == endpoints.get(name)
            }
            models = {
                name: kept.get(name) or self._model(endpoint)
                for name, endpoint in endpoints.items()
                if name in kept or endpoint.is_ready
            }
            gone = [model for name, model in self._models.items() if name not in kept]
            self._endpoints, self._models = endpoints, models
            self._chosen, self.problem = chosen, problem
        # Whoever has an answer under way gets it; nothing more goes where it may no longer go.
        for model in gone:
            model.retire()

    @property
    def default(self) -> str:
        """The name of the model that answers when none is chosen."""
        if self._chosen in self.names:
            return self._chosen
        usable = (name for name in self._models if not self._endpoints[name].key_problem)
        return next(usable, self._extractive.name)

    @property
    def names(self) -> tuple[str, ...]:
        """Every model that can be asked, `extractive` last."""
        return (*self._models, self._extractive.name)

    def get(self, name: str | None = None) -> AnyModel:
        """The model of that name, or the default one. Raises `UnknownModel`."""
        chosen = name or self.default
        model = self._models.get(chosen)
        if model is not None:
            return model
        if chosen != self._extractive.name:
            raise UnknownModel(chosen, list(self.names))
        return self._extractive

    def endpoint(self, name: str) -> Endpoint | None:
        """Where a model is asked; None for `extractive` and unknown names."""
        return self._endpoints.get(name)

    def added(self, provider: Provider) -> Endpoint:
        """A provider that was added in the app, its key looked up; also one that may not be asked yet."""
        return endpoint_of(provider, self._environ)

    def describe(self) -> list[ModelInfo]:
        """Every model that can be asked, the default one first."""
        return sorted((info for info in self.listed() if info.is_ready), key=lambda info: not info.is_default)

    def listed(self) -> list[ModelInfo]:
        """Every model, those included that cannot be asked yet, in the order they were added."""
        default = self.default
        infos = [_info(endpoint, endpoint.name == default) for endpoint in self._endpoints.values()]
        name = self._extractive.name
        built_in = ModelInfo(
            name=name,
            base_url="",
            model=name,
            is_default=name == default,
            context_tokens=0,
            supports_json_schema=False,
        )
        return [*infos, built_in]

    def close(self) -> None:
        """Close kept connections."""
        for model in self._models.values():
            model.close()

    def _model(self, endpoint: Endpoint) -> OpenAIChatModel:
        kind = OpenAIResponsesModel if endpoint.supports_responses else OpenAIChatModel
        return kind(
            endpoint.name,
            endpoint.base_url,
            endpoint.model,
            endpoint.api_key,
            context_tokens=endpoint.context_tokens,
            key_problem=endpoint.key_problem,
            json_schema=endpoint.supports_json_schema,
            waits_s=self._waits_s,
        )


def endpoint_of(provider: Provider, environ: Mapping[str, str]) -> Endpoint:
    """A provider that was added in the app, with its key looked up."""
    key, problem = key_of(provider.api_key, environ)
    return Endpoint(
        **_options(provider),
        api_key=key,
        key_source=_source(provider.api_key),
        key_problem=problem,
        provider_id=provider.id,
        is_allowed=may_send_to(provider.base_url, provider.allowed_host),
    )


def configured_names(settings: ChatSettings) -> list[str]:
    """Names that a provider added in the app cannot take."""
    return [ExtractiveModel.name, *(entry.name or entry.model for entry in _entries(settings))]


def _configured(settings: ChatSettings, environ: Mapping[str, str]) -> Iterator[Endpoint]:
    taken = {ExtractiveModel.name}
    for entry in _entries(settings):
        name = entry.name or entry.model
        if not name or not entry.base_url or not entry.model:
            raise SettingsError(f"chat.models: {name or 'an entry'} needs a model and a base_url")
        if name in taken:
            raise SettingsError(f"chat.models: the name {name!r} is taken")
        problem = _address_problem(entry.base_url)
        if problem:
            raise SettingsError(f"chat.models: the base_url of {name!r} {problem}")
        taken.add(name)
        key, problem = key_of(entry.api_key, environ)
        yield Endpoint(
            **{**_options(entry), "name": name},
            api_key=key or environ.get(entry.api_key_env, ""),
            key_source=_source(entry.api_key) or ("" if entry.api_key else entry.api_key_env),
            key_problem=problem,
        )


def _address_problem(base_url: str) -> str:
    """As for one added in the app, but for a user or a query, which a person's own file may hold."""
    try:
        return problem_of(public_url(base_url))
    except ValueError:
        return "is not a valid address"


def _source(api_key: str) -> str:
    return api_key.removeprefix(providers.ENV_PREFIX) if api_key.startswith(providers.ENV_PREFIX) else ""


def _info(endpoint: Endpoint, is_default: bool) -> ModelInfo:
    return ModelInfo(
        **{**_options(endpoint), "base_url": public_url(endpoint.base_url)},
        host=host_of(endpoint.base_url),
        is_local=is_local(endpoint.base_url),
        has_key=bool(endpoint.api_key),
        is_default=is_default,
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
