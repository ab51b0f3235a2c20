"""Which chat model may put observations into better words: none that was not named.

Models of the settings and those added in the app, by the same rules as for questions: text goes to
another machine only where that very host was allowed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engines.chat.completions import OpenAIChatModel
from engines.chat.network import is_local, may_send_to
from engines.chat.protocol import ChatModel
from store.core.errors import StoreError
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings
from store.egress import providers
from store.egress.providers import Provider, key_of

log = logging.getLogger(__name__)

_CONTEXT_TOKENS = 8_192  # assumed where nothing is set


Endpoint = ChatModelSettings | Provider
"""One model at one address, as it is set."""


@dataclass(frozen=True, slots=True)
class Refiner:
    """A model that may be asked, and where that is."""

    model: ChatModel
    endpoint: Endpoint


class Refiners:
    """Who refines at this moment; what a person changes in the app counts from the next job on.

    ``local`` permits a model on this machine, because nobody is asked before each job and screen
    text must not leave in the background unless that was chosen by name.
    """

    def __init__(
        self, chat: ChatSettings, refine: str, data_dir: DataDir | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        self._chat = chat
        self._refine = refine
        self._data_dir = data_dir
        self._environ = environ
        self._asked: tuple[tuple[Endpoint, str], OpenAIChatModel] | None = None
        self._problem = ""

    def __call__(self) -> Refiner | None:
        """The chosen default where it is permitted, else the first that is; None for none."""
        permitted = self._permitted()
        if self._asked and self._asked[0] != permitted:
            self.close()
        if permitted is None:
            return None
        if self._asked is None:
            self._asked = permitted, _opened(*permitted)
        return Refiner(self._asked[1], permitted[0])

    def close(self) -> None:
        """Close kept connections."""
        if self._asked:
            self._asked[1].retire()
        self._asked = None

    def _permitted(self) -> tuple[Endpoint, str] | None:
        """An endpoint that may be asked, with its key."""
        if self._refine == "off":
            return None
        added = self._added()
        endpoints: list[Endpoint] = [*_configured(self._chat), *filter(_is_allowed, added.entries)]
        keys = ((endpoint, *_key_of(endpoint, self._environ)) for endpoint in endpoints)
        permitted = [
            (endpoint, key)
            for endpoint, key, problem in keys
            if not problem and (self._refine == "any" or is_local(endpoint.base_url))
        ]
        chosen = (each for each in permitted if each[0].name == added.default)
        return next(chosen, permitted[0] if permitted else None)

    def _added(self) -> providers.Providers:
        if self._data_dir is None:
            return providers.Providers()
        try:
            added = providers.load(self._data_dir)
        except StoreError as error:
            if str(error) != self._problem:
                log.error("%s", error)
            self._problem = str(error)
            return providers.Providers()
        self._problem = ""
        return added


def _configured(chat: ChatSettings) -> list[ChatModelSettings]:
    """Those of the settings, the default first, each with a name."""
    entries = list(chat.models)
    if chat.model and chat.base_url:
        default = ChatModelSettings(
            base_url=chat.base_url, model=chat.model, api_key=chat.api_key, context_tokens=chat.context_tokens
        )
        entries.insert(0, default)
    return [replace(entry, name=entry.name or entry.model) for entry in entries]


def _is_allowed(provider: Provider) -> bool:
    return bool(provider.model) and may_send_to(provider.base_url, provider.allowed_host)


def _key_of(endpoint: Endpoint, environ: Mapping[str, str]) -> tuple[str, str]:
    """(key, problem)"""
    key, problem = key_of(endpoint.api_key, environ)
    named = endpoint.api_key_env if isinstance(endpoint, ChatModelSettings) else ""
    return key or environ.get(named, ""), problem


def _opened(endpoint: Endpoint, key: str) -> OpenAIChatModel:
    return OpenAIChatModel(
        endpoint.name, endpoint.base_url, endpoint.model, key,
        context_tokens=endpoint.context_tokens or _CONTEXT_TOKENS,
        json_schema=endpoint.supports_json_schema is not False,
    )  # fmt: skip
