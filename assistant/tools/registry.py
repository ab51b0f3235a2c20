"""What a turn with tools works with, and what one call is handed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from pathlib import Path

from assistant.core.cancellation import Decisions
from assistant.read_api.calls import ReadSources
from assistant.tools import (
    attachments,
    calendars,
    chats,
    days,
    describe,
    general,
    memories,
    messages,
    places,
    screen,
    web,
)
from assistant.tools.findings import Findings
from assistant.tools.gates import ToolGateOpts
from assistant.tools.network import VisionAccess, WebAccess
from assistant.tools.rate_limit import RateLimit
from assistant.tools.tool import Registry, Tool
from engines.web_search import WebSearch
from store.chats import tool_permissions
from store.chats.tool_permissions import Mode
from store.core.database import Database
from store.core.errors import SettingsError
from store.core.settings import ToolsSettings

APPROVAL_LIFETIME_MS = 15 * 60_000
"""How long a call waits for a person; then it counts as not allowed."""


@dataclass(frozen=True, slots=True)
class AgentDeps:
    """The tools there are, what they read from, and where decisions are awaited."""

    library: ReadSources
    settings: ToolsSettings
    registry: Registry
    decisions: Decisions = field(default_factory=Decisions)
    limit: RateLimit = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", RateLimit(self.settings.network_calls_per_minute))


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call of a tool is handed; see the protocols of `webapp.assistant.tools`."""

    library: ReadSources
    findings: Findings
    now_ms: int
    zone: tzinfo
    range_ms: tuple[int, int] | None
    timeout_s: float
    read_file_roots: tuple[Path, ...]
    read_file_max_bytes: int
    never_read: tuple[Path, ...]
    web: WebAccess | None
    vision: VisionAccess | None
    turn_id: int | None
    chat_id: int


def registry(settings: ToolsSettings) -> Registry:
    """Every tool that this installation has; file tools only where a folder was allowed, web search only
    where it was switched on and has an endpoint. Raises `SettingsError` for one that cannot be used.
    """
    found = Registry(
        [
            *screen.TOOLS,
            describe.describe_frame,
            *messages.MESSAGE_TOOLS,
            *calendars.CALENDAR_TOOLS,
            *places.PLACE_TOOLS,
            *days.DAY_TOOLS,
            *memories.KNOWLEDGE_TOOLS,
            chats.search_chats,
            attachments.read_attachment,
            general.calculator,
            general.get_current_datetime,
        ]
    )
    if settings.read_file_roots:
        found.register(general.list_directory)
        found.register(general.read_file)
    if search_engine(settings):
        found.register(web.web_search)
    return found


def not_set_up(settings: ToolsSettings) -> list[tuple[Tool, str]]:
    """The tools that this installation could have, with what is missing."""
    found = []
    if not settings.read_file_roots:
        how = "Name the folders that may be read in `tools.read_file_roots`."
        found += [(general.list_directory, how), (general.read_file, how)]
    if not search_engine(settings):
        how = "Set `tools.web_search` to true and `tools.web_search_url` to an endpoint, as of a SearXNG."
        found.append((web.web_search, how))
    return found


def search_engine(settings: ToolsSettings) -> WebSearch | None:
    """The endpoint of web searches, None where there is none. Raises `SettingsError`."""
    if not (settings.web_search and settings.web_search_url):
        return None
    try:
        return WebSearch(settings.web_search_url)
    except ValueError as error:
        raise SettingsError(f"tools.web_search_url: {error}") from error


def modes(database: Database, tools: Registry) -> Mapping[str, Mode]:
    """How each tool runs now: as the person chose, else by its default."""
    chosen = tool_permissions.chosen(database)
    return {tool.name: chosen.get(tool.name, tool.mode) for tool in tools.list()}


def offered(database: Database, tools: Registry, gates: ToolGateOpts) -> list[Tool]:
    """The tools of a turn, in their order: those that are not off (R2.26) and whose gates are open."""
    by_name = modes(database, tools)
    return [tool for tool in tools.list() if by_name[tool.name] != "off" and gates.lets(tool.name)]
