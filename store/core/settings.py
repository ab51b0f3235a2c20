"""Settings: where and how, as frozen values.

They come from ``config.toml``, then from the environment (``RECOLLECT_<SECTION>_<KEY>``), then from the
command line, later sources winning. Each field carries its default, unit and a sentence of help. Unknown keys
are refused with the nearest known name; those of an older version are passed over with a warning. Only entry
points call `load()`; everything else is handed what it needs. What a person chooses in the app is a
preference and lives in the database.
"""

from __future__ import annotations

import difflib
import json
import logging
import math
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from store.core import keys
from store.core.errors import SettingsError
from store.core.paths import DataDir

log = logging.getLogger(__name__)


_MOST = 1_000_000_000
"""Of any number: what is larger is a slip, and the system's clocks and waits cannot take it."""
_MOST_PORT = 65_535


def _setting(
    default: Any, help: str, *, unit: str = "", low: float = 0, high: float = _MOST, form: str = ""
) -> Any:
    """`form` is the regular expression of a text."""
    metadata = {"help": help, "unit": unit, "low": low, "high": high, "form": form}
    if isinstance(default, list | tuple):
        return field(default_factory=lambda: tuple(default), metadata=metadata)
    return field(default=default, metadata=metadata)


ToolFormat = Literal["", "functionary", "command-r", "llama31", "hermes"]
"""How a model without calls of its own writes them; empty where its endpoint has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoosableSettings:
    """A section of which values can be chosen in the app, unless they are given.

    `given` says where, by name: ``config.toml``, a variable of the environment, an argument.
    """

    given: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)


Section = TypeVar("Section", bound=ChoosableSettings)


@dataclass(frozen=True, slots=True)
class WebSettings:
    host: str = _setting("127.0.0.1", "Address to listen on; anything but loopback needs allow_lan.")
    port: int = _setting(8420, "Port to listen on; 0 picks a free one.", high=_MOST_PORT)
    allow_lan: bool = _setting(False, "Permit an address that other machines can reach.")
    public_url: str = _setting(
        "", "Address of a reverse proxy with TLS before the pages, such as https://recollect.example."
    )
    tls_acknowledged: bool = _setting(
        False, "Confirms that TLS or a reverse proxy stands in front when allow_lan is set."
    )


@dataclass(frozen=True, slots=True)
class CaptureSettings(ChoosableSettings):
    interval_s: float = _setting(
        1.0,
        "Keep at most one frame per monitor in this time; the screen is looked at twice as often, "
        "and a switch of app or window is kept at once.",
        unit="s",
        low=0.1,
    )
    idle_interval_s: float = _setting(
        30.0, "While nothing changes, keep a frame at least this often.", unit="s", low=1
    )
    idle_after_s: float = _setting(
        180.0,
        "Without keyboard or mouse input for this long, time since the last input counts as idle and "
        "enters no total; looks go on.",
        unit="s",
        low=10,
    )
    source: str = _setting("screen", "screen, folder:DIR or video:FILE.", form="screen|(folder|video):.+")
    monitors: tuple[str, ...] = _setting([], "Names of the monitors to look at; empty means all.")
    accessible_text: bool = _setting(
        False,
        "Ask the program in front for its words over the accessibility bus (Linux, X11); what it tells "
        "is taken where the pixels prove it. Browsers are asked through their extension.",
    )
    min_free_gb: float = _setting(
        1.0, "Below this much free disk space capture pauses and says so.", unit="GB", low=0
    )


@dataclass(frozen=True, slots=True)
class SpoolSettings:
    max_gb: float = _setting(2.0, "Bytes the spool may hold before capture slows down.", unit="GB")
    max_entries: int = _setting(20_000, "Entries the spool may hold.", low=1)


@dataclass(frozen=True, slots=True)
class OcrSettings(ChoosableSettings):
    engine: str = _setting("auto", "auto, tesserocr, tesseract, rapidocr or off.")
    languages: tuple[str, ...] = _setting(["eng", "chi_sim"], "Tesseract language codes.")
    workers: int = _setting(1, "Frames read at the same time, one thread each.", low=1, high=64)
    executor: str = _setting(
        "local",
        "Who reads and embeds beside this machine: local (nobody) or dask://HOST:PORT (docs/scale.md).",
        form="local|dask://.+:[0-9]+",
    )


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    engine: str = _setting(
        "local",
        "Search by meaning: local (offline; English, Chinese, Japanese, Korean, Russian, Arabic and Thai),"
        " openai or off.",
    )
    model: str = _setting("", "Model of an openai endpoint; empty is text-embedding-3-small.")
    base_url: str = _setting("", "The endpoint for openai; screen text is sent there, nowhere else.")
    api_key: str = _setting("", "Key for that endpoint.")
    timeout_s: float = _setting(30.0, "How long to wait for it.", unit="s", low=1)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    refine: Literal["local", "any", "off"] = _setting(
        "local",
        "Let the chat model put observations into better words: local (only a model on this machine), "
        "any (screen text goes to the endpoint in the background) or off.",
    )


@dataclass(frozen=True, slots=True)
class ChatModelSettings:
    """One `[[chat.models]]` entry. What a model can do is found out where nothing is set."""

    name: str = ""
    base_url: str = ""
    model: str = ""
    api_key: str = ""
    api_key_env: str = ""
    supports_vision: bool | None = None
    supports_tools: bool | None = None
    supports_json_schema: bool | None = None
    tool_format: ToolFormat = ""
    context_tokens: int = 0
    input_price: float = 0.0  # per million tokens, in `currency`; 0 is not set
    output_price: float = 0.0
    currency: str = ""
    single_system: bool = False  # its template takes one system message only
    supports_tool_role: bool = True  # else it is told results of tools as the text of a user


@dataclass(frozen=True, slots=True)
class ChatSettings(ChoosableSettings):
    base_url: str = _setting("", "Any OpenAI-compatible endpoint; OPENAI_BASE_URL when unset.")
    model: str = _setting("", "Model name to ask for; empty: the first that the endpoint lists.")
    api_key: str = _setting(
        "", "Key for the endpoint, or env:NAME for a variable that holds it; OPENAI_API_KEY when unset."
    )
    timeout_s: float = _setting(60.0, "How long to wait for a model, to begin or to go on.", unit="s", low=1)
    context_tokens: int = _setting(0, "Context window of the model; 0: found out.", unit="tokens")
    send_pictures: Literal["local", "ask", "never"] = _setting(
        "local",
        "Show pictures of the frames a question is about to a model that can see: local (to one on this "
        "machine; to others when asked for with the question), ask (only when asked for) or never.",
    )
    second_reading: Literal["never", "local", "always"] = _setting(
        "never",
        "Let the model read its answer again, each sentence beside its quotes: local (a model on this "
        "machine), always or never. Its doubts are shown as its doubts.",
    )
    models: tuple[ChatModelSettings, ...] = _setting([], "More models, as [[chat.models]] tables.")


@dataclass(frozen=True, slots=True)
class ToolsSettings:
    max_iterations: int = _setting(
        5, "How often a model may ask for tools before it has to answer.", unit="rounds", low=1
    )
    timeout_s: float = _setting(30.0, "How long one tool may take.", unit="s", low=1)
    read_file_roots: tuple[str, ...] = _setting(
        [], "Folders whose text files a model may ask to read; none means no file tools."
    )
    read_file_max_bytes: int = _setting(262_144, "How much of a file is read.", unit="bytes", low=1)
    web_search: bool = _setting(False, "Let a model ask to search the web; needs web_search_url.")
    web_search_url: str = _setting(
        "",
        "The search endpoint: a SearXNG's address such as http://127.0.0.1:8888/search, or any with "
        "{query} in it that answers in SearXNG's JSON.",
    )
    examples: str = _setting(
        "", "Worked examples for models with tools, put behind their guidance as they are."
    )
    network_calls_per_minute: int = _setting(
        10, "How often each tool that sends something may be called.", unit="calls per minute", low=1
    )


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    exclude: tuple[dict[str, str], ...] = _setting(
        [], "Rules {app, title, url, match, action} beside the built-in ones."
    )
    defaults: bool = _setting(True, "Leave out password managers and private windows.")
    mask_maybe_private: bool = _setting(
        True, "Black out windows of browsers that nothing tells to be ordinary."
    )
    mask_secrets: bool = _setting(
        False,
        "Mask in the text of frames what looks like a key, a token or a password; pictures still show it, "
        "and what reading garbles is missed. Needs pip install bc-detect-secrets.",
    )


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """What models are told of earlier chats; how it is chosen is `assistant.context`."""

    enabled: bool = _setting(True, "Remember what chats were about, and tell a model of it as background.")
    opt_out: tuple[str, ...] = _setting(
        [], "Names of this computer's users for whom nothing is told; * is everyone."
    )
    in_evidence_mode: bool = _setting(False, "Tell it also where a question is about a range of time.")
    summaries: Literal["local", "any", "off"] = _setting(
        "local",
        "Let the chat model put a closed chat into better words: local (only a model on this machine), "
        "off, or any, which is local until you say in the app to which hosts questions and answers go.",
    )
    pack_max_chars: int = _setting(3_000, "The most that is told; 3,000 at most.", unit="characters", low=200)
    session_stale_minutes: float = _setting(
        30.0, "A window not heard of for this long is taken for closed.", unit="minutes", low=1
    )


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """What is let go of by itself; nothing where all are 0. Frames that are kept stay whole."""

    days: int = _setting(
        0, "Pictures older than this go; a small one of each minute stays. 0 keeps them.", unit="days", low=0
    )
    preview_days: int = _setting(
        0, "Small pictures older than this go; 0 keeps them as long as the text.", unit="days", low=0
    )
    text_days: int = _setting(
        0, "Frames older than this go whole, with their text. 0 keeps them.", unit="days", low=0
    )
    max_gb: float = _setting(
        0.0,
        "Over this many GB of pictures the oldest become small ones, then text alone. 0 sets no limit.",
        unit="GB",
    )


@dataclass(frozen=True, slots=True)
class BackupSettings:
    keep: int = _setting(7, "Daily backups that are kept in the home folder; 0 makes none.")


@dataclass(frozen=True, slots=True)
class McpSettings:
    port: int = _setting(
        8421, "Port of `recollect mcp --http`, on loopback only; 0 picks a free one.", high=_MOST_PORT
    )


@dataclass(frozen=True, slots=True)
class CompatSettings:
    screenpipe_port: int = _setting(
        0, "Also serve the screenpipe-shaped read API on this loopback port; 0 means no.", high=_MOST_PORT
    )
    token_required: bool = _setting(
        True,
        "Ask clients of that port for a token; false lets every program on this machine read it, "
        "for clients too old to send one.",
    )


@dataclass(frozen=True, slots=True)
class Settings:
    web: WebSettings = field(default_factory=WebSettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    spool: SpoolSettings = field(default_factory=SpoolSettings)
    ocr: OcrSettings = field(default_factory=OcrSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    tools: ToolsSettings = field(default_factory=ToolsSettings)
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    backup: BackupSettings = field(default_factory=BackupSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    compat: CompatSettings = field(default_factory=CompatSettings)


REMOVED = frozenset({"tools.owner"}).union(
    f"context.{key}"
    for key in (
        "attachment_max_chars", "build_budget_ms", "heartbeat_interval_s", "history_max_chars",
        "min_user_turns", "recency_half_life_days", "recent_days", "recent_max_chars", "refresh_cooldown_s",
        "refresh_minutes", "refresh_turns", "small_model_share", "small_model_tokens", "summary_timeout_s",
        "summary_top_k", "telemetry_sample", "topic_max_chars", "topic_threshold", "topic_ttl_hours",
    )
)  # fmt: skip
"""Settings of before that became constants, or are chosen in the app: a file that has one must not stop the
program."""


def load(
    data_dir: DataDir, environ: Mapping[str, str] | None = None, arguments: Mapping[str, Any] | None = None
) -> Settings:
    """Settings of a home folder.

    `arguments` maps dotted keys (``"web.port"``) to values from the command line.
    Raises `SettingsError`, naming the key and what it may be.
    """
    environ = os.environ if environ is None else environ
    settings = _apply(Settings(), _from_file(data_dir), origin="config.toml")
    settings = _apply(settings, _from_environment(environ), origin="environment", parse=True)
    settings = _apply(settings, dict(arguments or {}), origin="argument")
    return _with_openai_environment(settings, environ)


def _known(settings: Settings) -> dict[str, Any]:
    """The field of every setting, by its dotted key."""
    return {
        f"{section.name}.{each.name}": each
        for section in fields(settings)
        for each in fields(getattr(settings, section.name))
        if "help" in each.metadata
    }


def _from_file(data_dir: DataDir) -> dict[str, Any]:
    if not data_dir.config.exists():
        return {}
    try:
        document = tomllib.loads(data_dir.config.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{data_dir.config.name} is not valid TOML: {error}") from error
    flat: dict[str, Any] = {}
    for section, values in document.items():
        if not isinstance(values, dict):
            raise SettingsError(f"config.toml: {section!r} must be a [section]")
        flat.update({f"{section}.{key}": value for key, value in values.items()})
    return flat


_NOT_SETTINGS = {"RECOLLECT_HOME", keys.PASSPHRASE, keys.HANDED}


def _from_environment(environ: Mapping[str, str]) -> dict[str, str]:
    values = {}
    for name, value in environ.items():
        if name.startswith("RECOLLECT_") and name not in _NOT_SETTINGS:
            section, _, key = name.removeprefix("RECOLLECT_").lower().partition("_")
            values[f"{section}.{key}"] = value
    return values


def _apply(settings: Settings, values: Mapping[str, Any], *, origin: str, parse: bool = False) -> Settings:
    known = _known(settings)
    for key, raw in values.items():
        if key in REMOVED:
            log.warning("%s: %s no longer does anything and can be removed", origin, key)
            continue
        if key not in known:
            raise SettingsError(f"{origin}: unknown setting {key!r}; {_hint(key, list(known))}")
        section_name, name = key.split(".")
        section = getattr(settings, section_name)
        kind = get_type_hints(type(section))[name]
        changes = {name: _checked(key, kind, _parse(raw, kind) if parse else raw, known[key], origin)}
        if isinstance(section, ChoosableSettings):
            place = f"RECOLLECT_{key.replace('.', '_').upper()}" if parse else origin
            changes["given"] = {**section.given, name: place}
        settings = replace(settings, **{section_name: replace(section, **changes)})
    return settings


def with_choices(section: Section, values: Mapping[str, Any], origin: str) -> Section:
    """With what was chosen in the app, but for what is given. Raises `SettingsError` for what cannot be."""
    known, kinds = {each.name: each for each in fields(section)}, get_type_hints(type(section))
    chosen = {
        name: _checked(name, kinds[name], value, known[name], origin)
        for name, value in values.items()
        if name not in section.given
    }
    return replace(section, **chosen)


def _checked(key: str, kind: Any, raw: Any, known: Any, origin: str) -> Any:
    value = _typed(key, kind, raw, origin)
    _check_bounds(f"{origin}: {key}", value, known.metadata)
    return value


def _check_bounds(what: str, value: Any, bounds: Mapping[str, Any]) -> None:
    """Raises `SettingsError` for a number that is too small or too large, and for a text without its form."""
    if isinstance(value, int | float) and not bounds["low"] <= value <= bounds["high"]:
        word = "least" if value < bounds["low"] else "most"
        bound = bounds["low" if word == "least" else "high"]
        raise SettingsError(f"{what} must be at {word} {bound}, not {value}")
    if bounds["form"] and not re.fullmatch(bounds["form"], value):
        raise SettingsError(f"{what} cannot be {value!r}: {bounds['help']}")


def _hint(given: str, known: Sequence[str]) -> str:
    """What to write instead."""
    near = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def _parse(text: str, kind: Any) -> Any:
    """A value from the environment: JSON where the type is not text, else the text itself."""
    if kind is str or get_origin(kind) is Literal:
        return text
    if get_origin(kind) is tuple and not text.lstrip().startswith("["):
        return [part.strip() for part in text.split(",") if part.strip()]
    try:
        return json.loads(text.lower() if kind is bool else text)
    except json.JSONDecodeError:
        return text


def _typed(key: str, kind: Any, value: Any, origin: str) -> Any:
    if get_origin(kind) is tuple:
        element = get_args(kind)[0]
        if isinstance(value, list | tuple):
            return tuple(_typed(key, element, item, origin) for item in value)
    elif kind is ChatModelSettings and isinstance(value, dict):
        known = [each.name for each in fields(ChatModelSettings)]
        for name in sorted(set(value) - set(known)):
            raise SettingsError(f"{origin}: unknown key {name!r} in {key}; {_hint(name, known)}")
        kinds = get_type_hints(ChatModelSettings)
        for name, item in value.items():
            _check_bounds(f"{origin}: {key} {name}", item, {"low": 0, "high": _MOST, "form": ""})
        return ChatModelSettings(
            **{name: _typed(f"{key} {name}", kinds[name], item, origin) for name, item in value.items()}
        )
    elif get_origin(kind) is Literal:
        if value in get_args(kind):
            return value
        choices = ", ".join(repr(choice) for choice in get_args(kind))
        raise SettingsError(f"{origin}: {key} must be one of {choices}, not {value!r}")
    elif get_origin(kind) is dict and isinstance(value, dict):
        if all(isinstance(part, str) for item in value.items() for part in item):
            return value
    elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        if math.isfinite(value):
            return float(value)
    elif kind in (str, bool, int, bool | None) and type(value) is (bool if kind == bool | None else kind):
        return value
    name = getattr(kind, "__name__", str(kind))
    raise SettingsError(f"{origin}: {key} must be {name}, not {value!r}")


def _with_openai_environment(settings: Settings, environ: Mapping[str, str]) -> Settings:
    chat = settings.chat
    if not chat.base_url and environ.get("OPENAI_BASE_URL"):
        chat = replace(chat, base_url=environ["OPENAI_BASE_URL"])
    if not chat.api_key and environ.get("OPENAI_API_KEY"):
        chat = replace(chat, api_key=environ["OPENAI_API_KEY"])
    return replace(settings, chat=chat)
