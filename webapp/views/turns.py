"""A turn of a chat as it is drawn: the answer with its proof, and what was looked at for it."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from assistant.context.session_closing import FAULTS
from assistant.core.records import (
    DeltaEvent,
    EvidenceEvent,
    Query,
    StatusEvent,
    TurnEvent,
    TurnResult,
)
from assistant.core.strings import sentences, text
from assistant.core.texts import answer_language, own_language
from assistant.evidence import marks
from assistant.retrieval import coverage
from assistant.retrieval.coverage import Statement
from store.chats import conversations, feedback, personas
from store.chats.feedback import Report
from store.chats.personas import BUILT_IN, DEFAULT, NOBODY, TurnPersona
from store.chats.tool_calls import ToolCall
from store.core import preferences
from store.core.database import Database
from store.core.translation import N_
from store.core.translation import gettext as _
from store.memory import context_packs, insights
from store.memory.context_packs import Told
from store.memory.insights import Insight
from store.sources import proposals
from store.sources.proposals import Remembered
from webapp.core import formatting
from webapp.core.services import Services
from webapp.views import answers
from webapp.views.answers import AnswerPart, Links
from webapp.views.evidence import CallGroup, EvidenceCard, call_rounds, evidence_cards, is_retryable

log = logging.getLogger(__name__)

_FALLBACKS = {
    "embeddings_off": N_("search by meaning is off"),
    "embedder_unavailable": N_("the model of meanings cannot be used"),
    "language_not_embedded": N_("the model of meanings does not read this language"),
    "no_embeddings": N_("no frame has a meaning yet"),
    "no_vector_hits": N_("none is near in meaning"),
    "exact_query": N_("these very words"),
}


def _other_ranges(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> Iterator[tuple[int, int, str]]:
    """What else the words of the question may mean: (start_ms, end_ms, label)."""
    asked = formatting.span(turn.start_ms, turn.end_ms, zone, now_ms)
    labels = [formatting.span(start, end, zone, now_ms) for start, end in turn.scope.also]
    for (start, end), label in zip(turn.scope.also, labels, strict=True):
        # The hour that comes twice: only the offset tells the two apart.
        offset = f" {preferences.utc_offset(start, zone)}" if asked in labels else ""
        yield start, end, f"{label}{offset}"


def _search_attempt(query: Query) -> tuple[str, str, str]:
    """(its words, what it found, the address that repeats it) of a search of the turn."""
    filters = query.filters
    values = {
        "q": query.text,
        "app": filters.app_name,
        "win": filters.window_name,
        "url": filters.browser_url,
        "host": filters.host,
        "from": query.start_ms,
        "to": query.end_ms,
    }
    address = f"/search?{urlencode({name: value for name, value in values.items() if value})}"
    count = formatting.count(query.hits, "frame")
    if not query.is_exact:
        count = _("at least %(frames)s", frames=count)
    if not query.text:
        return _("The range, evenly"), count, address
    if query.fallback:
        why = _(_FALLBACKS.get(query.fallback, query.fallback.replace("_", " ")))
        count = _("%(frames)s, by words alone: %(why)s", frames=count, why=why)
    return f"“{query.text}”", count, address


FIRST_CARDS = 3


def _progress(
    own: Services,
    turn: TurnResult,
    events: Sequence[TurnEvent],
    rounds: Mapping[int, tuple[CallGroup, ...]],
    now_ms: int,
) -> dict[str, Any]:
    """How far a running turn is. One that does not run in this process has its calls only.

    Each of `steps` is (number, lines of what the model said, unchecked, what it then looked up).
    """
    evidence = next((event.evidence for event in reversed(events) if isinstance(event, EvidenceEvent)), ())
    messages = [event.message for event in events if isinstance(event, StatusEvent)]
    if events and isinstance(events[-1], DeltaEvent):
        messages.append(_("Writing a draft. It is checked when it is complete."))
    deltas = [event for event in events if isinstance(event, DeltaEvent)]
    said = {n: "".join(e.text for e in part) for n, part in groupby(deltas, key=lambda e: e.part)}
    # As the page puts lines down, too: each a block of its own, so that only the last is laid out anew.
    lines = {n: re.findall(r"[^\n]*\n|[^\n]+", text) for n, text in said.items()}
    return dict(
        message=messages[-1] if messages else "",
        steps=[(n, lines.get(n, ()), rounds.get(n, ())) for n in sorted({*said, *rounds})],
        cards=[*evidence_cards(own.database, own.media, turn, evidence[:FIRST_CARDS], {}, now_ms)],
        found=len(evidence),
    )


MAX_RETRIEVED = 72


@dataclass(frozen=True, slots=True)
class TurnView:
    """One question and its answer."""

    turn: TurnResult
    answer: tuple[AnswerPart, ...]
    cited: Mapping[int, EvidenceCard]
    retrieved: tuple[EvidenceCard, ...]
    way: str  # which way the answer went, in one line
    statements: tuple[Statement, ...]  # what was looked at, and what could not be
    searches: tuple[tuple[str, str, str], ...]  # (words, found, address)
    other_ranges: tuple[tuple[int, int, str], ...]
    disputed: tuple[int, ...]  # ids of the frames that the person marked as wrong
    opening: str  # what has to be said before the answer, '' when nothing
    scope: str  # what the question was taken to be about
    spoken: TurnPersona = NOBODY
    groups: tuple[CallGroup, ...] = ()  # of tool calls
    progress: dict[str, Any] | None = None
    heard: int | None = None  # number of the last event in it while more may come
    insight: Insight | None = None  # that this turn told
    checking: str = ""  # that a model reads the answer again, while it does
    told: Told = field(default_factory=Told)
    proposals: tuple[ToolCall, ...] = ()  # what the model would remember
    remembered: Remembered = field(default_factory=Remembered)  # what is remembered of it

    @property
    def anchor(self) -> str:
        return f"t{self.turn.turn_id}"

    @property
    def is_voice_told(self) -> bool:
        """Whether it was told in another voice than the one that comes with the program."""
        version = self.spoken.version
        return version is not None and version.system_prompt != BUILT_IN[DEFAULT].system_prompt

    @property
    def has_failed_calls(self) -> bool:
        """Whether the list of calls stands open: an error is not to be overlooked."""
        return any(is_retryable(call) for group in self.groups for call in group.calls)

    @property
    def said(self) -> str:
        """What is said aloud once the answer is there."""
        warned = sum(tag.css_class == "state warn" for _, tag in answers.tags(self.turn))
        sources = formatting.count(len(self.cited), "source")
        if not warned:
            return _("Answer complete, %(sources)s", sources=sources)
        warnings = formatting.count(warned, "warning")
        return _("Answer complete, %(sources)s, %(warnings)s", sources=sources, warnings=warnings)

    @property
    def can_be_checked(self) -> bool:
        """Whether a model could compare its sentences with their quotes, and none does."""
        return self.turn.model != "extractive" and bool(self.cited) and not self.is_followed

    @property
    def sources(self) -> str:
        """What was looked at beside the screen, in words."""
        return answers.source_names(self.turn.sources, own_language())

    @property
    def is_followed(self) -> bool:
        """Whether more may come: an answered turn may still be writing its insight."""
        return self.heard is not None


def turn_view(
    own: Services, turn: TurnResult, now_ms: int, events: Sequence[TurnEvent] | None = None
) -> TurnView:
    """The turn, with the pictures that are still there and what was said about its sources.

    `events` are what was told of it while it runs in this process. They must have been read before `turn`:
    whoever follows the turn goes on after them, so what the page shows may be newer than they are, but
    never older.
    """
    database = own.database
    zone = ZoneInfo(turn.timezone)
    reports = {report.n: report for report in reported(database, turn) if report.verdict == "wrong"}
    cards = [*evidence_cards(database, own.media, turn, turn.evidence, reports, now_ms)]
    cited = {card.item.n: card for card in cards if card.item.n is not None}
    rounds = call_rounds(database, turn.chat_id, turn.turn_id)
    groups = tuple(group for of_round in rounds.values() for group in of_round)
    calls = [call for group in groups for call in group.calls]
    told = _told(database, turn)
    way = coverage.way(turn, own_language()) or _("What was looked at")
    told_of = coverage.told(own_language(), chats=len(told.chats), facts=len(told.facts))
    is_running = turn.status == "running"
    running = _progress(own, turn, events or (), rounds, now_ms) if is_running else None
    return TurnView(
        turn=turn,
        answer=answers.parts(turn, _links(turn, cited), cited),
        cited=cited,
        retrieved=tuple(card for card in cards if card.item.n is None)[:MAX_RETRIEVED],
        way=" · ".join(filter(None, (way, told_of))),
        statements=coverage.statements(turn.coverage, zone, own_language()),
        searches=tuple(_search_attempt(query) for query in turn.coverage.queries),
        other_ranges=tuple(_other_ranges(turn, zone, now_ms)),
        disputed=tuple(n for n in (cited[n].item.frame_id for n in reports if n in cited) if n is not None),
        opening=_opening(turn),
        scope=_scope(turn, zone, now_ms),
        spoken=personas.of_turn(database, turn.chat_id, turn.turn_id),
        told=told,
        proposals=() if running else tuple(call for call in calls if call.is_proposed),
        remembered=Remembered() if running else proposals.remembered(database, calls),
        insight=insights.of_turn(database, turn.chat_id, turn.turn_id),
        groups=groups,
        progress=running,
        checking=_checking(turn, events or ()),
        heard=None if events is None and not running else len(events or ()),
    )


def _told(database: Database, turn: TurnResult) -> Told:
    """What it was told; nothing where memory cannot be read, which costs no answer."""
    try:
        return context_packs.told(database, turn.chat_id, turn.turn_id)
    except FAULTS as error:
        log.warning("turn %d is shown without what it was told: %s", turn.turn_id, type(error).__name__)
        return Told()


def _checking(turn: TurnResult, events: Sequence[TurnEvent]) -> str:
    """What is done with an answer that is there, where that was the last to be told."""
    last = events[-1] if events and turn.status != "running" else None
    return last.message if isinstance(last, StatusEvent) else ""


def _links(turn: TurnResult, cited: Mapping[int, EvidenceCard]) -> Links:
    """The first number of a source opens its frame, a later one leads to the quote that stands above."""
    return Links(
        frames={n: card.address for n, card in cited.items()},
        quotes={n: f"/chat/{turn.chat_id}#{card.anchor}" for n, card in cited.items()},
        withdrawn=frozenset(n for n, card in cited.items() if card.report),
        measured=f"/activity?from={turn.start_ms}&to={turn.end_ms}",
    )


def _scope(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> str:
    """What the question was taken to be about; of a turn of before that was said, its range, "" for none."""
    if turn.scope.text or turn.start_ms >= turn.end_ms:
        return turn.scope.text
    return formatting.span(turn.start_ms, turn.end_ms, zone, now_ms)


def reported(database: Database, turn: TurnResult) -> tuple[Report, ...]:
    """What the person said about this turn's sources."""
    row = conversations.turn(database, turn.chat_id, turn.turn_id)
    return () if row is None else feedback.of_turns(database, [row.id]).get(row.id, ())


def _opening(turn: TurnResult) -> str:
    """An answer with claims of which none was verified opens with this sentence."""
    if turn.error or marks.is_confirmed(turn.claims):
        return ""
    if turn.answer_md.startswith(tuple(sentences("turn")["unconfirmed"])):
        return ""  # it says so itself
    return text("unconfirmed", answer_language(turn.question)) if turn.answer_md else ""


def coverage_lines(turn: TurnResult) -> list[str]:
    """What was looked at and what could not be, as an export tells it."""
    zone = ZoneInfo(turn.timezone)
    statements = coverage.statements(turn.coverage, zone, own_language())
    way = coverage.way(turn, own_language())
    return [*([way] if way else []), *(statement.text for statement in statements), *turn.warnings]
