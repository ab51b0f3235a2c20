"""A turn that is still running: what it looked at already, what it says so far, what waits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from store import frames, tool_calls
from store.database import Database
from store.media import Media
from store.tool_calls import ToolCall
from webapp import wording
from webapp.assistant.live import LiveTurn
from webapp.assistant.records import DeltaEvent, EvidenceEvent, StatusEvent, TurnResult
from webapp.assistant.tool import Registry
from webapp.views.proofs import EvidenceCard, evidence_card

FIRST_CARDS = 3

# state of a call: (kind, word, icon)
STATES = {
    "pending": ("warn", "Waits for you", "alert"),
    "approved": ("plain", "Allowed", "check"),
    "executing": ("plain", "Running", "clock"),
    "completed": ("ok", "Done", "check"),
    "failed": ("danger", "Failed", "alert"),
    "denied": ("plain", "Denied", "close"),
    "timed_out": ("danger", "Timed out", "clock"),
}


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call as it is drawn. `arguments` is exactly what would run, `notice` what it does.

    `scope` is what "in this chat" and "always" would cover.
    """

    id: int
    tool: str
    description: str
    notice: str
    scope: str
    arguments: str
    result: str
    error: str
    kind: str
    word: str
    icon: str
    took: str
    waits: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """`draft` is the model's text so far, unchecked."""

    message: str
    draft: str
    cards: tuple[EvidenceCard, ...]
    found: int

    @property
    def is_empty(self) -> bool:
        return not (self.draft or self.cards)


def progress(database: Database, media: Media, turn: TurnResult, live: LiveTurn | None) -> Progress | None:
    """How far a running turn is; None when it does not run in this process."""
    if live is None:
        return None
    events = [event for _, event in live.after(0)]
    found = next((event.evidence for event in events if isinstance(event, EvidenceEvent)), ())
    message = next((event.message for event in reversed(events) if isinstance(event, StatusEvent)), "")
    parts = [event for event in events if isinstance(event, DeltaEvent)]
    draft = "".join(event.text for event in parts if event.part == parts[-1].part)
    zone = ZoneInfo(turn.timezone)
    first = found[:FIRST_CARDS]
    rows = frames.get_many(database, [item.frame_id for item in first if item.frame_id is not None])
    cards = tuple(
        evidence_card(turn, each, rows.get(each.frame_id or -1), media, None, zone) for each in first
    )
    return Progress(message, draft, cards, len(found))


def call_views(database: Database, registry: Registry, turn: TurnResult) -> tuple[CallView, ...]:
    """The tool calls of a turn, in order."""
    return tuple(_call(each, registry) for each in tool_calls.of_turn(database, turn.chat_id, turn.turn_id))


def _call(call: ToolCall, registry: Registry) -> CallView:
    known = registry.get(call.tool)
    kind, word, icon = STATES.get(call.state, ("plain", call.state.replace("_", " ").capitalize(), "info"))
    return CallView(
        id=call.id,
        tool=call.tool,
        description=known.description if known else "",
        notice=call.notice,
        scope=call.scope,
        arguments=_indented(call.arguments),
        result=_indented(call.output),
        error=call.error,
        kind=kind,
        word=word,
        icon=icon,
        took="" if call.duration_ms is None else wording.duration(call.duration_ms),
        waits=call.state == "pending",
    )


def _indented(text: str) -> str:
    """JSON on lines, for reading; what is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        return text
