"""A turn of a chat as it is drawn: the answer with its marks, its evidence, and what was looked at.

The marks are computed, not drawn: a number links to the frame that the server checked, and a
sentence without evidence says so in a word, an icon and a line under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from markupsafe import Markup

from assistant.core.records import (
    Claim,
    DeltaEvent,
    EvidenceEvent,
    Query,
    ShortenedEvent,
    StatusEvent,
    TurnResult,
)
from assistant.core.strings import text
from assistant.core.texts import language_of
from assistant.evidence import claims
from assistant.retrieval import coverage
from assistant.retrieval.coverage import Statement
from assistant.turns.live import LiveTurn
from store.chats import conversations, feedback, personas
from store.chats.feedback import Report
from store.chats.personas import NOBODY, TurnPersona
from store.core import preferences
from store.core.database import Database
from store.frames import frames
from store.frames.media import Media
from store.memory import chat_sessions, insights
from store.memory.insights import Insight
from webapp.core import formatting, markdown
from webapp.core.markdown import Span
from webapp.views.evidence import CallGroup, EvidenceCard, call_rounds, evidence_card, is_retryable

_FALLBACKS = {
    "embeddings_off": "search by meaning is off",
    "embedder_unavailable": "the model of meanings cannot be used",
    "language_not_embedded": "the model of meanings does not read this language",
    "no_embeddings": "no frame has a meaning yet",
    "no_vector_hits": "none is near in meaning",
    "exact_query": "these very words",
}


@dataclass(frozen=True, slots=True)
class SearchAttempt:
    """One search of the turn; `address` repeats it."""

    words: str
    found: str
    address: str


@dataclass(frozen=True, slots=True)
class CoverageView:
    """Everything `chat/_coverage.html` draws. `other_ranges` are (start_ms, end_ms, label)."""

    statements: tuple[Statement, ...]
    searches: tuple[SearchAttempt, ...]
    phrase: str
    other_ranges: tuple[tuple[int, int, str], ...]


def coverage_view(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> CoverageView:
    """What the turn looked at, in the language of its question."""
    covered, others = turn.coverage, turn.scope.also
    labels = [formatting.span(start, end, zone, now_ms) for start, end in others]
    # The hour that comes twice: only the offset tells the two apart.
    if formatting.span(turn.start_ms, turn.end_ms, zone, now_ms) in labels:
        labels = [
            f"{label} {preferences.utc_offset(start, zone)}"
            for (start, _), label in zip(others, labels, strict=True)
        ]
    return CoverageView(
        statements=coverage.statements(covered, zone, language_of(turn.question)),
        searches=tuple(_search_attempt(query) for query in covered.queries),
        phrase=turn.scope.phrase,
        other_ranges=tuple((*span, label) for span, label in zip(others, labels, strict=True)),
    )


def _search_attempt(query: Query) -> SearchAttempt:
    filters = query.filters
    values = {
        "q": query.text,
        "app": filters.app_name,
        "win": filters.window_name,
        "url": filters.browser_url,
        "from": query.start_ms,
        "to": query.end_ms,
    }
    address = f"/search?{urlencode({name: value for name, value in values.items() if value})}"
    count = (
        formatting.count(query.hits, "frame")
        if query.is_exact
        else f"more than {formatting.count(query.hits)}"
    )
    if not query.text:
        return SearchAttempt("The range, evenly", count, address)
    why = _FALLBACKS.get(query.fallback, query.fallback.replace("_", " "))
    return SearchAttempt(f"“{query.text}”", f"{count}, by words alone: {why}" if why else count, address)


FIRST_CARDS = 3
WRITING = "Writing a draft. It is checked when it is complete."


@dataclass(frozen=True, slots=True)
class Step:
    """One round: what the model said, unchecked, and what it then looked up."""

    n: int
    lines: tuple[str, ...]  # of what it said, each with its end
    groups: tuple[CallGroup, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """`seq` is the number of the last event this holds: who follows the turn goes on after it."""

    seq: int
    message: str
    steps: tuple[Step, ...]
    cards: tuple[EvidenceCard, ...]
    found: int


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
    evidence = next((event.evidence for event in events if isinstance(event, EvidenceEvent)), ())
    messages = [event.message for event in events if isinstance(event, StatusEvent | ShortenedEvent)]
    is_writing = bool(events) and isinstance(events[-1], DeltaEvent)
    deltas = [event for event in events if isinstance(event, DeltaEvent)]
    said = {n: "".join(e.text for e in part) for n, part in groupby(deltas, key=lambda e: e.part)}
    first = evidence[:FIRST_CARDS]
    rows = frames.get_many(database, [item.frame_id for item in first if item.frame_id is not None])
    zone = ZoneInfo(turn.timezone)
    return Progress(
        seq=len(numbered),
        message=WRITING if is_writing else messages[-1] if messages else "",
        steps=tuple(Step(n, _lines(said.get(n, "")), rounds.get(n, ())) for n in sorted({*said, *rounds})),
        cards=tuple(
            evidence_card(turn, item, rows.get(item.frame_id or -1), media, None, zone) for item in first
        ),
        found=len(evidence),
    )


def _lines(text: str) -> tuple[str, ...]:
    """As a page puts them down, too: each a block of its own, so that only the last is laid out anew."""
    return tuple(re.findall(r"[^\n]*\n|[^\n]+", text))


MAX_RETRIEVED = 72

# state: (class of the sentence, word behind it); one that cites frames needs no tag.
CLAIM_WORDS = {
    "no_source": ("unchecked", "no source"),
    "not_on_frame": ("unproven", "quote not on the frame"),
    "measured": ("measured", "measured"),
    "not_from_screen": ("unchecked", "not from your screen"),
    "from_source": ("paraphrase", "quoted from another source"),
}
SOURCE_WORDS = {
    "messages": "your messages",
    "calendar": "your calendar",
    "location": "your location history",
    "places": "your places",
    "days": "summaries of days",
    "remembered": "what is remembered",
    "web": "the web",
    "files": "files",
    "attachments": "attached files",
    "chats": "earlier chats",
}
_DISPUTED = ("unproven", "source marked wrong")


@dataclass(frozen=True, slots=True)
class TurnView:
    """One question and its answer."""

    turn: TurnResult
    answer: Markup
    cited: tuple[EvidenceCard, ...]
    retrieved: tuple[EvidenceCard, ...]
    totals: tuple[str, ...]
    gaps: str
    coverage: CoverageView
    disputed: tuple[int, ...]  # ids of the frames that the person marked as wrong
    opening: str  # what has to be said before the answer, '' when nothing
    range_label: str
    zone_name: str
    spoken: TurnPersona = NOBODY
    groups: tuple[CallGroup, ...] = ()  # of tool calls
    progress: Progress | None = None
    heard: int | None = None  # number of the last event in it while more may come
    insight: Insight | None = None  # that this turn told
    is_verbose: bool = False  # whether what it was told of earlier chats is shown with it

    @property
    def anchor(self) -> str:
        return f"t{self.turn.turn_id}"

    @property
    def has_failed_calls(self) -> bool:
        """Whether the list of calls stands open: an error is not to be overlooked."""
        return any(is_retryable(call) for group in self.groups for call in group.calls)

    @property
    def said(self) -> str:
        """What is said aloud once the answer is there."""
        unproven = sum(claim.state in ("no_source", "not_on_frame") for claim in self.turn.claims)
        missing = f", {formatting.count(unproven, 'claim')} without evidence" if unproven else ""
        return f"Answer complete, {formatting.count(len(self.cited), 'source')}{missing}"

    @property
    def sources(self) -> str:
        """What was looked at beside the screen, in words."""
        return ", ".join(SOURCE_WORDS.get(name, name) for name in self.turn.sources)

    @property
    def is_followed(self) -> bool:
        """Whether more may come: an answered turn may still be writing its insight."""
        return self.heard is not None


def turn_view(
    database: Database, media: Media, turn: TurnResult, now_ms: int, *, live: LiveTurn | None = None
) -> TurnView:
    """The turn, with the pictures that are still there and what was said about its sources.

    `live` is the turn while it runs in this process.
    """
    zone = ZoneInfo(turn.timezone)
    # Asked before anything is looked up: what a turn that is over made, an insight, say, is found below.
    goes_on = live is not None and not live.is_over
    rows = frames.get_many(database, [e.frame_id for e in turn.evidence if e.frame_id is not None])
    reports = {report.n: report for report in reported(database, turn) if report.verdict == "wrong"}
    cards = [
        evidence_card(turn, item, rows.get(item.frame_id or -1), media, reports.get(item.n or 0), zone)
        for item in turn.evidence
    ]
    rounds = call_rounds(database, turn.chat_id, turn.turn_id)
    running = progress(database, media, turn, live, rounds) if turn.status == "running" else None
    cited = sorted((c for c in cards if c.item.n is not None), key=lambda c: c.item.n or 0)
    disputed = [card for card in cited if card.report]
    return TurnView(
        turn=turn,
        answer=_answer(turn, cited),
        cited=tuple(cited),
        retrieved=tuple(c for c in cards if c.item.n is None)[:MAX_RETRIEVED],
        totals=tuple(_totals(turn, zone, now_ms)),
        gaps=_gaps(turn, zone),
        coverage=coverage_view(turn, zone, now_ms),
        disputed=tuple(card.item.frame_id for card in disputed if card.item.frame_id is not None),
        opening=_opening(turn),
        range_label=_range_label(turn, zone, now_ms),
        zone_name=f"{preferences.utc_offset(turn.start_ms, zone)} {turn.timezone}",
        spoken=personas.of_turn(database, turn.chat_id, turn.turn_id),
        is_verbose=chat_sessions.verbose_until_ms(database, now_ms) is not None,
        insight=insights.of_turn(database, turn.chat_id, turn.turn_id),
        groups=tuple(group for groups in rounds.values() for group in groups),
        progress=running,
        heard=running.seq if running else len(live.after(0)) if live and goes_on else None,
    )


def _range_label(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> str:
    """``Today 00:00–18:03 so far``: a range that ended with the question, though more came; "" for none."""
    if turn.start_ms >= turn.end_ms:
        return ""
    label = formatting.span(turn.start_ms, turn.end_ms, zone, now_ms)
    return f"{label} so far" if turn.scope.is_so_far else label


def reported(database: Database, turn: TurnResult) -> tuple[Report, ...]:
    """What the person said about this turn's sources."""
    row = conversations.turn(database, turn.chat_id, turn.turn_id)
    return () if row is None else feedback.of_turns(database, [row.id]).get(row.id, ())


def _answer(turn: TurnResult, cited: list[EvidenceCard]) -> Markup:
    """The answer; a source that was marked as wrong has lost its number."""
    addresses = {c.item.n: c.address for c in cited if c.item.n is not None and not c.report}
    withdrawn = frozenset(c.item.n for c in cited if c.item.n is not None and c.report)
    return markdown.render(turn.answer_md, addresses, claim_spans(turn.claims, withdrawn), withdrawn)


def claim_spans(claims: Iterable[Claim], withdrawn: frozenset[int] = frozenset()) -> list[Span]:
    """The sentences that get a mark and a word; one whose sources are all withdrawn has none left."""
    spans = []
    for claim in claims:
        shown = CLAIM_WORDS.get(claim.state)
        if claim.citations and withdrawn.issuperset(claim.citations):
            shown = _DISPUTED
        elif claim.missing:
            # The screen or the model may have made them long.
            lacks = "no source" if claim.state == "no_source" else "not on the frame"
            shown = ("unproven", f"{lacks}: {_some([words[:40] for words in claim.missing], 3)}")
        if shown:
            spans.append(Span(claim.start, claim.end, *shown))
    return spans


def _opening(turn: TurnResult) -> str:
    """An answer with claims of which none was verified opens with this sentence."""
    if turn.error or claims.is_proven(turn.claims):
        return ""
    if turn.answer_md.startswith(text("unconfirmed", language_of(turn.question))):
        return ""  # it says so itself
    return "I could not confirm this on screen." if turn.answer_md else ""


def coverage_lines(turn: TurnResult, now_ms: int) -> list[str]:
    """What was cited, found and looked at, and the gaps, as an export tells it."""
    zone = ZoneInfo(turn.timezone)
    gaps = _gaps(turn, zone)
    return [*_totals(turn, zone, now_ms), *([f"gaps: {gaps}"] if gaps else []), *turn.warnings]


def _totals(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> Iterable[str]:
    cited = [item for item in turn.evidence if item.n is not None]
    if cited:
        yield f"{len(cited)} cited"
        yield f"{sum(item.state == 'found' for item in cited)} found"
    unproven = sum(claim.state in ("no_source", "not_on_frame") for claim in turn.claims)
    if unproven:
        yield f"{formatting.count(unproven, 'claim')} without evidence"
    if turn.dropped:
        yield f"{formatting.count(turn.dropped, 'invented citation')} removed"
    covered = turn.coverage
    if turn.start_ms >= turn.end_ms:  # it looked at no time at all
        return
    span = formatting.span(turn.start_ms, turn.end_ms, zone, now_ms)
    yield f"searched {span} {preferences.utc_offset(turn.start_ms, zone)}"
    sampled = f", {formatting.count(covered.frames_sampled)} looked at" if covered.frames_in_range else ""
    yield f"{formatting.count(covered.frames_in_range, 'frame')}{sampled}"
    if covered.index_fresh_to_ms is not None:
        yield f"index fresh to {formatting.clock(covered.index_fresh_to_ms, zone)}"


def _gaps(turn: TurnResult, zone: ZoneInfo) -> str:
    """The gaps of at least a minute, by reason: ``not recording 12:10–12:55; paused 15:20–15:35``."""
    by_reason: dict[str, list[str]] = {}
    for gap in turn.coverage.gaps:
        if gap.end_ms - gap.start_ms >= 60_000:
            ends = (formatting.clock_short(ms, zone) for ms in (gap.start_ms, gap.end_ms))
            by_reason.setdefault(formatting.gap_reason(gap.reason), []).append("–".join(ends))
    return "; ".join(f"{reason} {_some(stretches, 4)}" for reason, stretches in by_reason.items())


def _some(words: list[str], most: int) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more
