"""One question, one answer: the generator that every mouth of the chat drains.

This first commit fixes the names; the body follows.
"""

from __future__ import annotations

from collections.abc import Iterator

from store.database import Database
from webapp.assistant.errors import (
    BadMessage,
    BadRange,
    BadTimezone,
    TimeRangeRequired,
    TurnRefused,
    UnknownChat,
    UnknownModel,
)
from webapp.assistant.records import (
    Box,
    Claim,
    Coverage,
    CoverageGap,
    ErrorEvent,
    EvidenceEvent,
    EvidenceItem,
    FinalEvent,
    Query,
    StatusEvent,
    TextEvent,
    TurnDeps,
    TurnError,
    TurnEvent,
    TurnFilters,
    TurnRequest,
    TurnResult,
)

__all__ = [
    "BadMessage",
    "BadRange",
    "BadTimezone",
    "Box",
    "Claim",
    "Coverage",
    "CoverageGap",
    "ErrorEvent",
    "EvidenceEvent",
    "EvidenceItem",
    "FinalEvent",
    "Query",
    "StatusEvent",
    "TextEvent",
    "TimeRangeRequired",
    "TurnDeps",
    "TurnError",
    "TurnEvent",
    "TurnFilters",
    "TurnRefused",
    "TurnRequest",
    "TurnResult",
    "UnknownChat",
    "UnknownModel",
    "answer",
    "run_turn",
    "stored_turn",
]


def run_turn(deps: TurnDeps, request: TurnRequest) -> Iterator[TurnEvent]:
    """The turn's events, the last one a `FinalEvent`.

    Raises `TurnRefused` at once, before the first event, when the request cannot become a turn.
    """
    raise TimeRangeRequired()


def answer(deps: TurnDeps, request: TurnRequest) -> TurnResult:
    """The finished turn. A failed one has `error` set and is stored, too."""
    events = list(run_turn(deps, request))
    last = events[-1]
    assert isinstance(last, FinalEvent)
    return last.result


def stored_turn(database: Database, chat_id: int, n: int) -> TurnResult:
    """The same object, rebuilt from the store. Raises `UnknownChat`."""
    raise UnknownChat(chat_id)
