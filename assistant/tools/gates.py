"""Which tools one turn has: some need a model that can see, or a source that holds something.

A flag is read when the first tool asks for it and then remembered, for this turn only: what is imported
is there in the next turn, and what was deleted is gone in it (R0.46 to R0.54). The tools over messages
are never probed; an empty source is an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Literal

from store.core.database import Database
from store.sources import inventory
from store.sources import locations as stored_places
from store.sources.inventory import Source

Gate = Literal[
    "has_vision",
    "places_enabled",
    "daily_summaries_present",
    "calendar_present",
    "location_history_present",
    "has_attachments",
    "chats_told",
]

GATES: Mapping[str, Gate] = {
    "describe_frame": "has_vision",
    "get_place_at": "places_enabled",
    "get_calendar_events": "calendar_present",
    "get_location_history": "location_history_present",
    "search_rag": "daily_summaries_present",
    "read_attachment": "has_attachments",
    "search_chats": "chats_told",
}
"""The gate of each tool that has one (requirements, chapter 1); all others are always on."""


LACKS: Mapping[Gate, str] = {
    "has_vision": "None of your models can look at pictures",
    "places_enabled": "No places are imported, or they are switched off",
    "daily_summaries_present": "No day is summed up yet",
    "calendar_present": "No calendar is imported",
    "location_history_present": "No location history is imported",
    "has_attachments": "No file is attached to the chat",
    "chats_told": "No chat is summed up yet, or models are told nothing of earlier ones",
}
"""Why a tool is not offered at the moment."""


@dataclass(frozen=True)  # without slots: what is read is kept in the instance
class ToolGateOpts:
    """The flags of one turn. Make one for each turn with `of_turn`."""

    has_vision: bool
    wants_places: Callable[[], bool]
    is_present: Callable[[Source], bool]
    has_attachments: bool = False
    wants_chats: Callable[[], bool] = bool

    @cached_property
    def places_enabled(self) -> bool:
        return self.wants_places()

    @cached_property
    def daily_summaries_present(self) -> bool:
        return self.is_present("daily_summaries")

    @cached_property
    def calendar_present(self) -> bool:
        return self.is_present("calendar_events")

    @cached_property
    def location_history_present(self) -> bool:
        return self.is_present("location_points")

    @cached_property
    def chats_told(self) -> bool:
        return self.wants_chats()

    def lets(self, tool: str) -> bool:
        """Whether a turn with these flags has the tool, as far as gates say."""
        gate = GATES.get(tool)
        return gate is None or bool(getattr(self, gate))

    def lacks(self, tool: str) -> str:
        """Why a turn with these flags does not have the tool; "" where it has."""
        return "" if self.lets(tool) else LACKS[GATES[tool]]


def of_turn(
    database: Database,
    *,
    has_vision: bool,
    has_attachments: bool = False,
    wants_chats: Callable[[], bool] = bool,
) -> ToolGateOpts:
    """The flags of a turn that begins now; nothing is read yet.

    `wants_chats` says whether it may be told of earlier chats (`context.are_chats_told`).
    """
    return ToolGateOpts(
        has_vision,
        partial(stored_places.are_enabled, database),
        partial(inventory.is_present, database),
        has_attachments,
        wants_chats,
    )
