"""Which chat model may put observations into better words: none that was not named.

Models of the settings and those added in the app, by the same rules as for questions: text goes to
another machine only where that very host was allowed.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from engines.chat.completions import OpenAIChatModel
from engines.chat.network import is_local, may_send_to
from engines.chat.protocol import ChatModel
from store.core.errors import SettingsError, StoreError
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings
from store.egress import providers
from store.egress.providers import key_of

log = logging.getLogger(__name__)

_CHOICES = ("local", "any", "off")
_CONTEXT_TOKENS = 8_192  # assumed where nothing is set


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. Prices are per million tokens in `currency`; 0 is not set."""

    name: str
    base_url: str
    model: str
    api_key: str = field(repr=False)
    context_tokens: int
    supports_json_schema: bool = True
    input_price: float = 0.0
    output_price: float = 0.0
    currency: str = ""


@dataclass(frozen=True, slots=True)
class Refiner:
    """A model that may be asked, and where that is."""

    model: ChatModel
    endpoint: Endpoint


class Refiners:
    """Who refines at this moment; what a person changes in the app counts from the next job on.

    ``local`` permits a model on this machine, because nobody is asked before each job and screen
    text must not leave in the background unless that was chosen by name. Raises `SettingsError`
    for a choice that does not exist.
    """

    def __init__(
        self, chat: ChatSettings, refine: str, data_dir: DataDir | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        if refine not in _CHOICES:
            raise SettingsError(f"memory.refine must be one of {', '.join(_CHOICES)}, not {refine!r}")
        self._chat = chat
        self._refine = refine
        self._data_dir = data_dir
        self._environ = environ
        self._asked: tuple[Endpoint, OpenAIChatModel] | None = None
        self._problem = ""

    def __call__(self) -> Refiner | None:
        """The chosen default where it is permitted, else the first that is; None for none."""
        endpoint = self._permitted()
        if self._asked and self._asked[0] != endpoint:
            self.close()
        if endpoint is None:
            return None
        if self._asked is None:
            self._asked = endpoint, _opened(endpoint)
        return Refiner(self._asked[1], endpoint)

    def close(self) -> None:
        """Close kept connections."""
        if self._asked:
            self._asked[1].retire()
        self._asked = None

    def _permitted(self) -> Endpoint | None:
        if self._refine == "off":
            return None
        added = self._added()
        endpoints = [*_configured(self._chat, self._environ), *_allowed(added, self._environ)]
        permitted = [e for e in endpoints if self._refine == "any" or is_local(e.base_url)]
        chosen = (endpoint for endpoint in permitted if endpoint.name == added.default)
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


def _configured(chat: ChatSettings, environ: Mapping[str, str]) -> Iterator[Endpoint]:
    entries = list(chat.models)
    if chat.model and chat.base_url:
        default = ChatModelSettings(
            base_url=chat.base_url, model=chat.model, api_key=chat.api_key, context_tokens=chat.context_tokens
        )
        entries.insert(0, default)
    for entry in entries:
        key, problem = key_of(entry.api_key, environ)
        if not problem:
            key = key or environ.get(entry.api_key_env, "")
            yield Endpoint(
                entry.name or entry.model, entry.base_url, entry.model, key, entry.context_tokens, True,
                entry.input_price, entry.output_price, entry.currency,
            )  # fmt: skip


def _allowed(added: providers.Providers, environ: Mapping[str, str]) -> Iterator[Endpoint]:
    for provider in added.entries:
        key, problem = key_of(provider.api_key, environ)
        if provider.model and not problem and may_send_to(provider.base_url, provider.allowed_host):
            yield Endpoint(
                provider.name, provider.base_url, provider.model, key, provider.context_tokens,
                provider.supports_json_schema is not False, provider.input_price, provider.output_price,
                provider.currency,
            )  # fmt: skip


def _opened(endpoint: Endpoint) -> OpenAIChatModel:
    return OpenAIChatModel(
        endpoint.name, endpoint.base_url, endpoint.model, endpoint.api_key,
        context_tokens=endpoint.context_tokens or _CONTEXT_TOKENS, json_schema=endpoint.supports_json_schema,
    )  # fmt: skip
