"""The pages of insights: the list, one with its versions, and two beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from assistant.core.models import ModelInfo
from assistant.evidence.citations import without_numbers
from assistant.turns.turn import stored_turn
from store.chats import conversations, personas
from store.chats.personas import Persona
from store.chats.records import Anchor
from store.core.database import Database
from store.frames import frames
from store.memory import insights, search
from store.memory.insights import Insight
from store.memory.insights import InsightFilter as Wanted
from webapp.core import formatting
from webapp.core.difference import DiffLine, difference
from webapp.core.services import Services
from webapp.core.viewer import Viewer
from webapp.views.frames import Picture, picture
from webapp.views.views_turns import TurnView, turn_view

LISTED = 30
_SNIPPET_CHARS = 260
_MARKS = re.compile(r"\*\*|`|^\s*(?:[-*]|#{1,6}|>)\s+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class InsightCard:
    """One insight in a list, with the picture of its frame where it has one."""

    insight: Insight
    when: str
    snippet: str
    picture: Picture | None


@dataclass(frozen=True, slots=True)
class InsightFilter:
    """What a list is narrowed to."""

    q: str = ""
    persona_id: int | None = None
    start_ms: int | None = None
    end_ms: int | None = None

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.persona_id or self.start_ms is not None)


@dataclass(frozen=True, slots=True)
class InsightsPage:
    """Everything `insights/insights.html` draws: the cards from `offset` on, of `total` in all."""

    asked: InsightFilter
    cards: list[InsightCard]
    personas: list[Persona]
    total: int
    offset: int

    @property
    def last(self) -> int:
        return self.offset + len(self.cards)

    @property
    def step(self) -> int:
        return LISTED


@dataclass(frozen=True, slots=True)
class InsightPage:
    """Everything `insights/insight.html` draws. `beside` is the version it is compared with."""

    insight: Insight
    when: str
    view: TurnView
    versions: list[Insight]
    personas: list[Persona]
    active_id: int | None
    models: list[ModelInfo]
    identity: str
    frame: Picture | None
    beside: Insight | None = None
    beside_view: TurnView | None = None
    difference: list[DiffLine] = field(default_factory=list)
    refusal: str = ""
    message: str = ""
    style_note: str = ""

    @property
    def title(self) -> str:
        return self.insight.title or "Insight"


@dataclass(frozen=True, slots=True)
class NewInsight:
    """What `insights/new.html` draws: the frame or moment that would be told, and by whom."""

    anchor: Anchor | None
    when: str
    frame: Picture | None
    current: Insight | None
    personas: list[Persona]
    active_id: int | None
    models: list[ModelInfo]
    refusal: str = ""
    style_note: str = ""


def list_page(own: Services, asked: InsightFilter, offset: int, viewer: Viewer) -> InsightsPage:
    """The current insights; with words those that fit them best first, else those of the latest time."""
    database = own.database
    wanted = Wanted(asked.start_ms, asked.end_ms, persona_id=asked.persona_id)
    if asked.q:
        asking = own.embedder.asking(asked.q)
        found = search.search_insights(database, asking, wanted, limit=LISTED, offset=offset)
        shown, total = found.insights, found.total
    else:
        shown = insights.list_insights(database, wanted, LISTED, offset=offset)
        total = insights.count(database, wanted)
    return InsightsPage(
        asked, _cards(database, shown, viewer), personas.list_personas(database), total, offset
    )


def insight_page(
    own: Services, insight: Insight, viewer: Viewer, beside: Insight | None = None, **typed: str
) -> InsightPage:
    """One insight, and `beside` it another version; `typed` is what a form was refused with."""
    database = own.database
    active = personas.active(database)
    return InsightPage(
        insight=insight,
        when=when(insight.anchor, viewer),
        view=_view(own, insight, viewer),
        versions=insights.versions(database, insight.anchor),
        personas=personas.list_personas(database),
        active_id=active.id if active else None,
        models=own.chat_models.describe(),
        identity=conversations.identity(database, insight.chat_id),
        frame=_frame(database, insight.anchor, viewer),
        beside=beside,
        beside_view=_view(own, beside, viewer) if beside else None,
        difference=difference(beside.summary, insight.summary) if beside else [],
        **typed,
    )


def new_page(own: Services, anchor: Anchor | None, viewer: Viewer, **typed: str) -> NewInsight:
    """What is about to be told; without an anchor a range has to be chosen first."""
    database = own.database
    active = personas.active(database)
    return NewInsight(
        anchor=anchor,
        when=when(anchor, viewer) if anchor else "",
        frame=_frame(database, anchor, viewer) if anchor else None,
        current=insights.current(database, anchor) if anchor else None,
        personas=personas.list_personas(database),
        active_id=active.id if active else None,
        models=own.chat_models.describe(),
        **typed,
    )


def when(anchor: Anchor, viewer: Viewer) -> str:
    """The moment of a frame, or the range of a moment, as a person would write it."""
    end_ms = anchor.start_ms + 1 if anchor.kind == "frame" else anchor.end_ms
    span = formatting.span(anchor.start_ms, end_ms, viewer.zone, viewer.now_ms)
    return span.partition("–")[0] if anchor.kind == "frame" else span


def _view(own: Services, insight: Insight, viewer: Viewer) -> TurnView:
    turn = stored_turn(own.database, insight.chat_id, insight.n)
    return turn_view(own.database, own.media, turn, viewer.now_ms)


def _frame(database: Database, anchor: Anchor, viewer: Viewer) -> Picture | None:
    if anchor.frame_id is None:
        return None
    rows = frames.get_many(database, [anchor.frame_id])
    return next((picture(row, formatting.clock(row.captured_ms, viewer.zone)) for row in rows.values()), None)


def _cards(database: Database, found: Iterable[Insight], viewer: Viewer) -> list[InsightCard]:
    return [
        InsightCard(each, when(each.anchor, viewer), _snippet(each), _frame(database, each.anchor, viewer))
        for each in found
    ]


def _snippet(insight: Insight) -> str:
    text = " ".join(_MARKS.sub("", without_numbers(insight.summary)).split())
    return text if len(text) <= _SNIPPET_CHARS else f"{text[:_SNIPPET_CHARS].rstrip()}…"
