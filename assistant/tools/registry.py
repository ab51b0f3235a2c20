"""The tools of this installation, and which of them a turn has."""

from __future__ import annotations

import math
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from assistant.read_api.calls import ReadSources
from assistant.tools import files, general, memories, screen, sources, web
from assistant.tools.tool import Tool
from store.chats import tool_permissions
from store.chats.tool_permissions import Mode
from store.core.database import Database
from store.core.settings import ToolsSettings
from store.core.translation import N_
from store.sources import locations
from store.sources.inventory import Source, is_present

Nearness = Callable[[Sequence[str]], Sequence[float]]
"""How near each text is in meaning to what is asked; nothing where that cannot be told."""

APPROVAL_LIFETIME_MS = 15 * 60_000
"""How long a call waits for a person; then it counts as not allowed."""
WINDOW_S = 60.0


class RateLimit:
    """Calls of each tool in the last minute, of all turns of this process. Safe to share between threads."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._calls: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def take(self, tool: str) -> int:
        """Count a call and give 0; at the limit count nothing and give the whole seconds to wait."""
        with self._lock:
            now_s = self._clock()
            calls = self._calls.setdefault(tool, deque(maxlen=self.per_minute))
            if len(calls) == self.per_minute and calls[0] > now_s - WINDOW_S:
                return max(1, math.ceil(calls[0] + WINDOW_S - now_s))
            calls.append(now_s)
            return 0


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The tools there are, and what they read from."""

    library: ReadSources
    settings: ToolsSettings
    tools: dict[str, Tool]
    limit: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", RateLimit(self.settings.network_calls_per_minute))


_EVERY = (
    *screen.SCREEN_TOOLS,
    screen.describe_frame,
    *sources.TOOLS,
    *memories.TOOLS,
    files.read_attachment,
    general.calculator,
    general.get_current_datetime,
    files.list_directory,
    files.read_file,
    web.web_search,
)
EVERY_NAME = frozenset(tool.name for tool in _EVERY)


def registry(settings: ToolsSettings) -> dict[str, Tool]:
    """Every tool that this installation has, by name. Raises `SettingsError` for one that cannot be used."""
    missing = _missing(settings)
    return {tool.name: tool for tool in _EVERY if tool.name not in missing}


def not_set_up(settings: ToolsSettings) -> list[tuple[Tool, str]]:
    """The tools that this installation could have, with what is missing."""
    missing = _missing(settings)
    return [(tool, missing[tool.name]) for tool in _EVERY if tool.name in missing]


def _missing(settings: ToolsSettings) -> dict[str, str]:
    """What a person has not set up, by the name of the tool that needs it."""
    missing = {}
    if not settings.read_file_roots:
        folders = N_("Name the folders that may be read in `tools.read_file_roots`.")
        missing = dict.fromkeys(("list_directory", "read_file"), folders)
    if not web.search_engine(settings):
        missing["web_search"] = N_(
            "Set `tools.web_search` to true and `tools.web_search_url` to an endpoint, as of a SearXNG."
        )
    return missing


def modes(database: Database, tools: Mapping[str, Tool]) -> Mapping[str, Mode]:
    """How each tool runs now: as the person chose, else by its default."""
    chosen = tool_permissions.chosen(database)
    return {name: chosen[name].mode if name in chosen else tool.mode for name, tool in tools.items()}


def offered(database: Database, tools: Mapping[str, Tool], gates: ToolGateOpts) -> list[Tool]:
    """The tools of a turn, in their order: those that are not off and whose gates are open."""
    return [
        tools[name]
        for name, mode in modes(database, tools).items()
        if mode != "off" and not gates.lacks(name)
    ]


WINDOW_SHARE = 4
"""Definitions of tools may take one part in so many of a model's window: the rest is for what is read."""

BASIC = (
    *("search_ocr", "get_frame", "search_messages", "get_calendar_events", "get_sms_messages"),
    *("activity_summary", "recall_entities"),
)
"""What answers most questions, the first before the others: without these no answer has evidence."""

GATHERING = (
    *("recall_facts_for_frame", "recall_entities", "get_sms_messages", "search_messages", "search_rag"),
    *("get_calendar_events", "get_location_history", "store_entity", "store_fact"),
    *("get_frame_tags", "get_place_at", "reverse_geocode"),
)
"""What the context of a frame or a moment is gathered with, whose own frames stand in the message."""


def fitting(
    tools: Sequence[Tool],
    window_tokens: int,
    wanted: str = "",
    nearness: Nearness = lambda texts: (),
    basic: Sequence[str] = BASIC,
) -> list[Tool]:
    """As many tools as a window has room to tell of: the one that is `wanted`, the `basic` ones, and then
    those whose purpose is nearest to what is asked; where `nearness` cannot tell the shortest, for most fit,
    and those last that change something.
    """
    room = window_tokens // WINDOW_SHARE
    if sum(tool.tokens for tool in tools) <= room:
        return list(tools)
    near = nearness([tool.purpose for tool in tools])
    told = dict(zip((tool.name for tool in tools), near, strict=True)) if near else {}

    def rank(tool: Tool) -> tuple[bool, int, bool, float]:
        place = basic.index(tool.name) if tool.name in basic else len(basic)
        by_size = not told and tool.risk == "changes", float(tool.tokens)
        return (tool.name != wanted, place, *((False, -told[tool.name]) if told else by_size))

    kept = set[str]()
    for tool in sorted(tools, key=rank):
        if tool.tokens <= room or tool.name == wanted:
            kept.add(tool.name)
            room -= tool.tokens
    return [tool for tool in tools if tool.name in kept]


def definitions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools as a model is told of them, without sentences that lead on to one that it does not have."""
    names = {tool.name for tool in tools}
    return [
        {**told, "description": _without(told["description"], EVERY_NAME - names)}
        for told in (tool.definition() for tool in tools)
    ]


_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[A-Z`])")


def _without(description: str, names: Collection[str]) -> str:
    said, _, examples = description.partition(" Examples: ")
    first, *others = _SENTENCE.split(said)
    kept = (each for each in others if not set(re.findall(r"\w+", each)).intersection(names))
    return " Examples: ".join(filter(None, (" ".join([first, *kept]), examples)))


# -- which tools one turn has -----------------------------------------------------------------
#
# Some need a model that can see, or a source that holds something. A flag is read when the first tool asks
# for it and then remembered, for this turn only: what is imported is there in the next turn, and what was
# deleted is gone in it. The tools over messages are never probed; an empty source is an answer.

GATES: Mapping[str, tuple[str, str]] = {
    "describe_frame": ("has_vision", N_("None of your models can look at pictures")),
    "get_place_at": ("places_enabled", N_("No places are imported, or they are switched off")),
    "get_calendar_events": ("calendar_present", N_("No calendar is imported")),
    "get_location_history": ("location_history_present", N_("No location history is imported")),
    "search_rag": ("daily_summaries_present", N_("No day is summed up yet")),
    "read_attachment": ("has_attachments", N_("No file is attached to the chat")),
    "search_chats": ("chats_told", N_("No chat has a summary yet, or models are given none")),
}
"""The flag of each tool that has one, and why it is not offered without; all others are always on."""

SOURCES: Mapping[str, Source] = {
    "search_messages": "text_messages",
    "get_sms_messages": "text_messages",
    "reverse_geocode": "places",
    "get_frame_tags": "frame_tags",
    **dict.fromkeys(("recall_entities", "recall_facts_for_frame"), "entities"),
    **dict.fromkeys(
        ("search_observations", "find_by_concept", "find_by_file", "find_by_type"), "observations"
    ),
    "search_sessions": "session_summaries",
}
"""Where the others look: a question that came with frames is not offered what can find nothing.
Where the context of a moment is gathered, or tools alone look, an empty source is an answer, too.
"""


@dataclass(frozen=True)  # without slots: what is read is kept in the instance
class ToolGateOpts:
    """The flags of one turn that begins now; nothing is read yet.

    `may_tell_chats` says whether it may be told of earlier chats (`background.are_chats_told`).
    """

    database: Database
    has_vision: bool
    has_attachments: bool = False
    may_tell_chats: Callable[[], bool] = bool

    places_enabled = cached_property(lambda turn: locations.are_enabled(turn.database))
    daily_summaries_present = cached_property(lambda turn: is_present(turn.database, "daily_summaries"))
    calendar_present = cached_property(lambda turn: is_present(turn.database, "calendar_events"))
    location_history_present = cached_property(lambda turn: is_present(turn.database, "location_points"))
    chats_told = cached_property(lambda turn: turn.may_tell_chats())
    present = cached_property(
        lambda turn: {source: is_present(turn.database, source) for source in {*SOURCES.values()}}
    )

    def holds(self, tool: str) -> bool:
        """Whether there is anything that the tool could find."""
        return tool not in SOURCES or self.present[SOURCES[tool]]

    def lacks(self, tool: str) -> str:
        """Why a turn with these flags does not have the tool; "" where it has, as far as gates say."""
        flag, why = GATES.get(tool, ("", ""))
        return "" if not flag or getattr(self, flag) else why
