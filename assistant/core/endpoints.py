"""One model at one address: what is set of it in the settings or in the app, and what was found out.

What is shown of it holds no key. A provider on another machine is used only when the person
allowed that very host; what stands in the settings was named there.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from engines.chat.client import WAITS_S
from engines.chat.completions import OpenAIChatModel
from engines.chat.extractive import ExtractiveModel
from engines.chat.network import host_of, is_local, may_send_to, problem_of, public_url
from engines.chat.protocol import NOTHING_KNOWN, Abilities
from store.core.errors import SettingsError
from store.core.settings import ChatModelSettings, ChatSettings
from store.core.translation import gettext as _
from store.egress import providers
from store.egress.providers import Provider, key_of

log = logging.getLogger(__name__)

LOCAL_CONTEXT_TOKENS, CONTEXT_TOKENS = 8_192, 32_768
"""The window that is assumed until it is known: of a model on this machine, and of any other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One model at one address, and all that is needed to ask it. Only a copy that is `shown` may be shown.

    `chosen` is what a person says that it can do, which overrules what was `found` out. A model that is
    empty is the first one that the endpoint lists; without an address it is the built-in one. Prices are per
    million tokens; 0 is not set.
    """

    name: str
    base_url: str
    model: str
    chosen: Abilities = NOTHING_KNOWN
    found: Abilities = NOTHING_KNOWN
    input_price: float = 0.0
    output_price: float = 0.0
    currency: str = ""
    single_system: bool = False
    supports_tool_role: bool = True
    api_key: str = field(default="", repr=False)
    has_key: bool = False
    key_source: str = ""  # the variable the key comes from, '' when it was entered
    key_problem: str = ""
    provider_id: int | None = None  # its id where it was added in the app
    is_allowed: bool = True
    is_default: bool = False

    def shown(self, default: str) -> Endpoint:
        """What may be shown of it: without its key, and what else its address holds beside the address."""
        return replace(
            self,
            base_url=public_url(self.base_url) if self.base_url else "",
            api_key="",
            has_key=bool(self.api_key),
            is_default=self.name == default,
        )

    @property
    def is_ready(self) -> bool:
        """Whether it may be chosen: a model is set, or to be found, and its host is allowed."""
        return (bool(self.model) or self.provider_id is None) and self.is_allowed

    @property
    def has_answered(self) -> bool:
        """Whether its server told something of it; what the settings name is used as it is set."""
        return self.provider_id is None or self.found != NOTHING_KNOWN

    @property
    def known(self) -> Abilities:
        return self.chosen.over(self.found)

    @property
    def supports_tools(self) -> bool:
        """Whether it can be asked for tools: by its endpoint, or in its `tool_format`."""
        return bool(self.known.supports_tools)

    @property
    def tool_format(self) -> str:
        """The text format that it is told its tools in; '' for the endpoint's own."""
        return (self.known.tool_format or "") if self.supports_tools else ""

    @property
    def supports_vision(self) -> bool:
        return bool(self.known.supports_vision)

    @property
    def supports_json_schema(self) -> bool:
        """True until it is known: a refusal leads to looser ways."""
        return self.known.supports_json_schema is not False

    @property
    def context_tokens(self) -> int:
        if not self.base_url:  # the built-in one reads all of it
            return 0
        assumed = LOCAL_CONTEXT_TOKENS if is_local(self.base_url) else CONTEXT_TOKENS
        return self.known.context_tokens or assumed

    @property
    def host(self) -> str:
        """Whom text is sent to when it is asked; '' for the built-in one."""
        return host_of(self.base_url) if self.base_url else ""

    @property
    def is_local(self) -> bool:
        """Whether nothing leaves this machine when it is asked."""
        return not self.base_url or is_local(self.base_url)

    @property
    def is_extractive(self) -> bool:
        return not self.base_url

    @property
    def where(self) -> str:
        """Where it runs, in words."""
        return _("this computer") if self.is_local else self.host

    @property
    def abilities(self) -> str:
        """What it can do, in words, as far as that is known."""
        known = self.known
        words = {
            _("calls tools"): known.supports_tools, _("no tools"): known.supports_tools is False,
            _("sees pictures"): known.supports_vision, _("no pictures"): known.supports_vision is False,
            _("reads %(number)s tokens", number=f"{known.context_tokens or 0:,}"): known.context_tokens,
        }  # fmt: skip
        return " · ".join(name for name, holds in words.items() if holds) or _(
            "found out with the first question"
        )


def built_in(default: str) -> Endpoint:
    """The model that is always there, as it is shown."""
    nothing = Abilities(supports_tools=False, supports_vision=False, supports_json_schema=False)
    name = ExtractiveModel.name
    return Endpoint(name=name, base_url="", model=name, found=nothing, is_default=name == default)


def added(provider: Provider, environ: Mapping[str, str]) -> Endpoint:
    """A provider that was added in the app, with its key looked up."""
    is_allowed = may_send_to(provider.base_url, provider.allowed_host)
    return replace(_endpoint(provider, environ), provider_id=provider.id, is_allowed=is_allowed)


def configured(settings: ChatSettings, environ: Mapping[str, str]) -> Iterator[Endpoint]:
    """Those of the settings. Raises `SettingsError` where two share a name or one lacks its address."""
    taken = {ExtractiveModel.name}
    for n, entry in enumerate(_entries(settings)):
        name = entry.name or entry.model
        is_default = not n and entry.base_url == settings.base_url
        if not name or not entry.base_url or not (entry.model or is_default):
            raise SettingsError(f"chat.models: {name or 'an entry'} needs a model and a base_url")
        if name in taken:
            raise SettingsError(f"chat.models: the name {name!r} is taken")
        try:
            # As for one added in the app, but for a user or a query, which a person's own file may hold.
            problem = problem_of(public_url(entry.base_url))
        except ValueError:
            problem = "is not a valid address"
        if problem:
            raise SettingsError(f"chat.models: the base_url of {name!r} {problem}")
        taken.add(name)
        endpoint = replace(_endpoint(entry, environ), name=name)
        if not entry.api_key:
            key = environ.get(entry.api_key_env, "")
            endpoint = replace(endpoint, api_key=key, key_source=entry.api_key_env)
        yield endpoint


def _endpoint(source: ChatModelSettings | Provider, environ: Mapping[str, str]) -> Endpoint:
    """What is set there. Who names a format of calls says that the model can call."""
    key, problem = key_of(source.api_key, environ)
    is_variable = source.api_key.startswith(providers.ENV_PREFIX)
    chosen = Abilities(
        supports_tools=True if source.tool_format else source.supports_tools,
        tool_format=source.tool_format or None,
        supports_vision=source.supports_vision,
        supports_json_schema=source.supports_json_schema,
        context_tokens=source.context_tokens or None,
    )
    names = (each.name for each in fields(Endpoint))
    told: dict[str, Any] = {name: getattr(source, name) for name in names if hasattr(source, name)}
    return Endpoint(**told | {
        "chosen": chosen, "api_key": key, "key_problem": problem,
        "key_source": source.api_key.removeprefix(providers.ENV_PREFIX) if is_variable else "",
    })  # fmt: skip


def configured_names(settings: ChatSettings) -> list[str]:
    """Names that a provider added in the app cannot take."""
    return [ExtractiveModel.name, *(entry.name or entry.model for entry in _entries(settings))]


def opened(endpoint: Endpoint, waits_s: Sequence[float] = WAITS_S) -> OpenAIChatModel:
    """A model to ask there; `waits_s` are the pauses before asking again."""
    return OpenAIChatModel(
        endpoint.name,
        endpoint.base_url,
        endpoint.model,
        endpoint.api_key,
        context_tokens=endpoint.context_tokens,
        key_problem=endpoint.key_problem,
        json_schema=endpoint.supports_json_schema,
        waits_s=waits_s,
    )


def _entries(settings: ChatSettings) -> list[ChatModelSettings]:
    """The default endpoint as an entry, where one is configured, before the listed ones.

    A model name alone is no endpoint: screen text goes nowhere that was not named.
    """
    if not settings.base_url:
        if settings.model:
            log.warning("chat.model is used only together with chat.base_url, which is missing")
        return list(settings.models)
    name = settings.model or settings.base_url
    with suppress(ValueError):  # the address is refused in a moment
        name = settings.model or host_of(settings.base_url)
    default = ChatModelSettings(
        name, settings.base_url, settings.model, settings.api_key, context_tokens=settings.context_tokens
    )
    return [default, *settings.models]
