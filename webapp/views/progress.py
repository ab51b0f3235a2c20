"""A turn that is still running: what it looked at already, and what it says so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from zoneinfo import ZoneInfo

from assistant.core.records import DeltaEvent, EvidenceEvent, ShortenedEvent, StatusEvent, TurnResult
from assistant.turns.live import LiveTurn
from store.core.database import Database
from store.frames import frames
from store.frames.media import Media
from webapp.views.evidence import CallGroup
from webapp.views.proofs import EvidenceCard, evidence_card

FIRST_CARDS = 3
WRITING = "Writing a draft. It is checked when it is complete."


@dataclass(frozen=True, slots=True)
class Step:
    """One round: what the model said, unchecked, and what it then looked up."""

    n: int
    said: str
    groups: tuple[CallGroup, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """`seq` is the number of the last event this holds: who follows the turn goes on after it."""

    seq: int
    message: str
    steps: tuple[Step, ...]
    cards: tuple[EvidenceCard, ...]
    found: int
    writing: str = WRITING


def progress(
    database: Database,
    media: Media,
    turn: TurnResult,
    live: LiveTurn | None,
    rounds: Mapping[int, tuple[CallGroup, ...]],
) -> Progress:
    """How far a running turn is. One that does not run in this process has its calls only."""
    numbered = live.after(0) if live else []
    events = [event for _, event in numbered]
    found = next((event.evidence for event in events if isinstance(event, EvidenceEvent)), ())
    told = (event.message for event in reversed(events) if isinstance(event, (StatusEvent, ShortenedEvent)))
    message = next(told, "")
    if events and isinstance(events[-1], DeltaEvent):
        message = WRITING
    parts = [event for event in events if isinstance(event, DeltaEvent)]
    said = {part: "".join(e.text for e in deltas) for part, deltas in groupby(parts, key=lambda e: e.part)}
    zone = ZoneInfo(turn.timezone)
    first = found[:FIRST_CARDS]
    rows = frames.get_many(database, [item.frame_id for item in first if item.frame_id is not None])
    cards = tuple(
        evidence_card(turn, each, rows.get(each.frame_id or -1), media, None, zone) for each in first
    )
    steps = tuple(Step(n, said.get(n, ""), rounds.get(n, ())) for n in sorted({*said, *rounds}))
    return Progress(len(numbered), message, steps, cards, len(found))
