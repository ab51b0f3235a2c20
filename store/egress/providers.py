"""Model providers that a person added in the app: one model behind one address each, with its key.

They live in a file of their own, ``providers.json`` (0600), and not in the database, so that no
copy of the database holds a key. A key is the text itself or ``env:NAME``, a variable that holds
it. Screen text goes to another machine only when its host was allowed by name (`allowed_host`):
changing the address takes the permission and the key away.
"""

from __future__ import annotations

import json
import math
import os
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args, get_type_hints

from store.core.errors import StoreError, existing
from store.core.paths import FILE_MODE, DataDir, replace_file
from store.core.settings import ToolFormat
from store.core.translation import gettext as _

MAX_PROVIDERS = 100
MAX_TEXT = 500
MAX_PRICE = 1_000_000.0
MIN_CONTEXT, MAX_CONTEXT = 512, 10_000_000
TOOL_FORMATS: tuple[ToolFormat, ...] = get_args(ToolFormat)
ENV_PREFIX = "env:"

_NAME = re.compile(r"[^\W_][\w .:/@+()-]{0,59}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_CURRENCY = re.compile(r"[A-Za-z¢-¥€₹元]{0,5}")
_FILLED_IN = (
    ("context_tokens", 8192), ("supports_vision", False), ("supports_tools", False),
    ("supports_json_schema", True),
)  # fmt: skip
_DROPPED = frozenset({"supports_responses"})
"""Fields of an older version that mean nothing any more."""
_changing = threading.Lock()


class ProvidersUnreadable(StoreError):
    """The file of providers cannot be used; it is left as it is."""


class ProviderInvalid(StoreError):
    """A provider cannot be used. `errors` lists (field, what is wrong)."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{name} {message}" for name, message in errors))
        self.errors = errors


class HostNotAllowed(StoreError):
    """Another machine that nothing may be sent to yet. `host` is its name."""

    def __init__(self, host: str) -> None:
        super().__init__(f"nothing is sent to {host} before you allow it")
        self.host = host


@dataclass(frozen=True, slots=True)
class Provider:
    """One model at one address. Prices are per million tokens in `currency`; 0 is not set.

    What the model can do is found out where nothing is set: None, "" or 0. `model` may be empty until one
    is chosen from the endpoint's list; the provider is not used yet. With `single_system` the
    model's template takes one system message only; without `supports_tool_role` it is told the results of
    tools as the text of a user. `allowed_host` is the host, with its port, that text may be sent to; local
    addresses need none.
    """

    id: int
    name: str
    base_url: str
    model: str = ""
    api_key: str = field(default="", repr=False)
    allowed_host: str = ""
    context_tokens: int = 0
    supports_vision: bool | None = None
    supports_tools: bool | None = None
    supports_json_schema: bool | None = None
    tool_format: str = ""
    input_price: float = 0.0
    output_price: float = 0.0
    currency: str = ""
    single_system: bool = False
    supports_tool_role: bool = True


@dataclass(frozen=True, slots=True)
class Providers:
    """The providers in the order they were added, and the name of the chosen default ('' for none)."""

    entries: tuple[Provider, ...] = ()
    default: str = ""
    next_id: int = 1

    def get(self, provider_id: int) -> Provider:
        """The provider of this id. Raises `NotFound`."""
        return existing(next((p for p in self.entries if p.id == provider_id), None), "provider", provider_id)


def load(data_dir: DataDir) -> Providers:
    """What was added. Raises `ProvidersUnreadable`: the file is then not written over."""
    try:
        document = json.loads(data_dir.providers.read_bytes())
    except FileNotFoundError:
        return Providers()
    except (OSError, ValueError, RecursionError) as error:
        raise ProvidersUnreadable(
            _("%(file)s cannot be read: %(reason)s", file=data_dir.providers.name, reason=error)
        ) from error
    if os.name != "nt":
        data_dir.providers.chmod(FILE_MODE)
    try:
        is_old = "version" not in document
        entries = tuple(_provider(_chosen(each) if is_old else each) for each in document["providers"])
        return Providers(entries, str(document["default"]), int(document["next_id"]))
    except (KeyError, TypeError, ValueError, ProviderInvalid) as error:
        # Never the error's text alone: a document that is not ours may hold a key anywhere.
        raise ProvidersUnreadable(
            _("%(file)s is not as it should be", file=data_dir.providers.name)
        ) from error


def add(data_dir: DataDir, provider: Provider, taken: Iterable[str] = ()) -> Provider:
    """Add a provider under a new id. `taken` are names in use elsewhere. Raises `ProviderInvalid`."""
    with _changing:
        known = load(data_dir)
        provider = replace(provider, id=known.next_id)
        problems = _problems(provider, [*taken, *(each.name for each in known.entries)])
        if len(known.entries) >= MAX_PROVIDERS:
            problems.append(
                ("name", _("cannot be added: there are %(number)s already", number=MAX_PROVIDERS))
            )
        if problems:
            raise ProviderInvalid(problems)
        _save(data_dir, replace(known, entries=(*known.entries, provider), next_id=known.next_id + 1))
    return provider


def change(data_dir: DataDir, provider: Provider, taken: Iterable[str] = ()) -> Provider:
    """Put a provider in the place of the one with its id.

    Raises `ProviderInvalid` and `NotFound`. A renamed default stays the default.
    """
    with _changing:
        known = load(data_dir)
        before = known.get(provider.id)
        others = [each.name for each in known.entries if each.id != provider.id]
        problems = _problems(provider, [*taken, *others])
        if problems:
            raise ProviderInvalid(problems)
        entries = tuple(provider if each.id == provider.id else each for each in known.entries)
        default = provider.name if known.default == before.name else known.default
        _save(data_dir, replace(known, entries=entries, default=default))
    return provider


def remove(data_dir: DataDir, provider_id: int) -> None:
    """Forget a provider and its key. Raises `NotFound`."""
    with _changing:
        known = load(data_dir)
        gone = known.get(provider_id)
        entries = tuple(each for each in known.entries if each.id != provider_id)
        default = "" if known.default == gone.name else known.default
        _save(data_dir, replace(known, entries=entries, default=default))


def set_default(data_dir: DataDir, name: str) -> None:
    """Remember which model answers when none is chosen; '' for the first that can."""
    with _changing:
        _save(data_dir, replace(load(data_dir), default=name))


def key_of(api_key: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """(key, problem): the key itself, or what is wrong with the variable it is said to be in."""
    if not api_key.startswith(ENV_PREFIX):
        return api_key, ""
    name = api_key.removeprefix(ENV_PREFIX)
    value = environ.get(name, "").strip()
    return value, "" if value else _("the variable %(name)s for the key is not set", name=name)


def _problems(provider: Provider, taken: list[str]) -> list[tuple[str, str]]:
    """(field, what is wrong), for everything but the address, which whoever uses it knows best."""
    found = []
    if not _NAME.fullmatch(provider.name):
        found.append(("name", _("must begin with a letter or digit and have at most 60 plain characters")))
    elif provider.name.casefold() in {name.casefold() for name in taken}:
        found.append(("name", _("is taken")))
    for name in ("base_url", "model", "api_key"):
        text = getattr(provider, name)
        if len(text) > MAX_TEXT or not text.isprintable():
            found.append((name, _("must be one line of at most %(number)s characters", number=MAX_TEXT)))
    if provider.api_key and not provider.api_key.isascii():
        found.append(("api_key", _("must be plain ASCII")))
    if provider.api_key.startswith(ENV_PREFIX) and not _VARIABLE.fullmatch(
        provider.api_key.removeprefix(ENV_PREFIX)
    ):
        found.append(("api_key", _("names no variable; write env:NAME")))
    if provider.context_tokens and not MIN_CONTEXT <= provider.context_tokens <= MAX_CONTEXT:
        found.append(
            ("context_tokens", _("must be between %(low)s and %(high)s", low=MIN_CONTEXT, high=MAX_CONTEXT))
        )
    for name in ("input_price", "output_price"):
        price = getattr(provider, name)
        if not math.isfinite(price) or not 0 <= price <= MAX_PRICE:
            found.append((name, _("must be a number from 0")))
    if not _CURRENCY.fullmatch(provider.currency):
        found.append(("currency", _("must be a sign or a code such as USD")))
    if provider.tool_format not in TOOL_FORMATS:
        found.append(
            ("tool_format", _("must be one of %(names)s, or empty", names=", ".join(TOOL_FORMATS[1:])))
        )
    return found


def _chosen(document: Any) -> Any:
    """A provider of a file without a version, less the values that it was filled with unless chosen."""
    if not isinstance(document, dict):
        return document
    return {name: value for name, value in document.items() if (name, value) not in _FILLED_IN}


def _provider(document: Any) -> Provider:
    """A provider from the file. Raises `TypeError`, `ValueError` or `ProviderInvalid`."""
    kinds = get_type_hints(Provider)
    names = {f.name for f in fields(Provider)}
    if not isinstance(document, dict) or set(document) - names - _DROPPED:
        raise ValueError("unknown fields")
    document = {name: value for name, value in document.items() if name in names}
    for name, value in document.items():
        wanted = (int, float) if kinds[name] is float else kinds[name]
        if not isinstance(value, wanted) or (isinstance(value, bool) and kinds[name] in (int, float)):
            raise TypeError(name)
    provider = Provider(**document)
    problems = _problems(provider, [])
    if problems:
        raise ProviderInvalid(problems)
    return provider


def _save(data_dir: DataDir, known: Providers) -> None:
    document = {
        "version": 2,
        "providers": [asdict(provider) for provider in known.entries],
        "default": known.default,
        "next_id": known.next_id,
    }
    replace_file(data_dir.providers, json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n")
