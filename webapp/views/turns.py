"""What an answer looked at, as it is drawn: sentences, the searches as links, and other ranges."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from assistant.core.records import Query, TurnResult
from assistant.core.texts import language_of
from assistant.retrieval import coverage
from assistant.retrieval.coverage import Kind
from store.core import preferences
from webapp.core import formatting

_ICONS: dict[Kind, str] = {
    "looked": "search",
    "not_found": "dash",
    "not_recorded": "pause",
    "excluded": "shield",
    "deleted": "trash",
    "idle": "clock",
    "not_ready": "clock",
}
_FALLBACKS = {
    "embeddings_off": "search by meaning is off",
    "embedder_unavailable": "the model of meanings cannot be used",
    "language_not_embedded": "the model of meanings does not read this language",
    "no_embeddings": "no frame has a meaning yet",
    "no_vector_hits": "none is near in meaning",
    "exact_query": "these very words",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One sentence, and the icon that stands for its kind."""

    kind: Kind
    icon: str
    text: str


@dataclass(frozen=True, slots=True)
class SearchAttempt:
    """One search of the turn; `address` repeats it."""

    words: str
    found: str
    address: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Another range that the question's words may mean."""

    start_ms: int
    end_ms: int
    label: str


@dataclass(frozen=True, slots=True)
class CoverageView:
    """Everything `chat/_coverage.html` draws."""

    lines: tuple[Line, ...]
    tried: tuple[SearchAttempt, ...]
    phrase: str
    also: tuple[Choice, ...]


def coverage_view(turn: TurnResult, zone: ZoneInfo, now_ms: int) -> CoverageView:
    """What the turn looked at, in the language of its question."""
    covered = turn.coverage
    told = coverage.statements(covered, zone, language_of(turn.question))
    labels = [formatting.span(start, end, zone, now_ms) for start, end in covered.reading.also]
    # The hour that comes twice: only the offset tells the two apart.
    is_twice = formatting.span(turn.start_ms, turn.end_ms, zone, now_ms) in labels
    return CoverageView(
        lines=tuple(Line(each.kind, _ICONS[each.kind], each.text) for each in told),
        tried=tuple(_tried(query) for query in covered.queries),
        phrase=covered.reading.phrase,
        also=tuple(
            Choice(start, end, f"{label} {preferences.utc_offset(start, zone)}" if is_twice else label)
            for (start, end), label in zip(covered.reading.also, labels, strict=True)
        ),
    )


def _tried(query: Query) -> SearchAttempt:
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
