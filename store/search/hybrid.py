"""The half of a search that goes by meaning: which frames say nearly what was asked.

It answers under the very filters of the other half, and says in one word why it does not.

`fused` makes words and meaning one list, by reciprocal rank: score = sum over the two of 1 / (60 + place)
(Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet", 2009). The first `LEG_DEPTH`
frames of each are fused; the others that match by words follow in their own order. The words must all be
there: with an "or", half of the exact finds were lost.

A place in a fused list shifts whenever a frame comes or goes, so a page does not begin behind a place: the
cursor knows which frames of the fused part were shown, and a page is what is best of the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database
from store.core.full_text import Statistics
from store.embeddings import knn
from store.embeddings.knn import Near, SemanticUnavailable
from store.frames import frames
from store.search import hits as cursors
from store.search import query
from store.search.filters import Filters
from store.search.finder import Block, Finder, Ranked
from store.search.hits import Cursor
from store.search.query import Query

Mode = Literal["hybrid", "fts", "semantic"]
Order = Literal["relevance", "newest", "oldest"]


@dataclass(frozen=True, slots=True)
class SemanticQuery:
    """What the question means: a unit vector of `model`, or why there is none."""

    vector: npt.NDArray[np.floating] | None
    model: str | None
    problem: str | None = None
    is_exact: bool | None = None  # whether these very words are wanted; None: as the text says
    above_chance: bool = True  # only what stands out of the store (`store.embeddings.knn`)

    @property
    def reason(self) -> str | None:
        if self.vector is not None and self.model is not None:
            return None
        return self.problem or ("no_embeddings" if self.model is None else "embedder_unavailable")


@dataclass(frozen=True, slots=True)
class SemanticResult:
    """The frames found by meaning, best first; `reason` says why there are none."""

    near: dict[int, Near]
    reason: str | None
    since_ms: int | None = None
    """Frames before this time were not looked at: there are more vectors than the index holds."""

    @property
    def is_whole(self) -> bool:
        """Whether no more frames are as near as that."""
        return len(self.near) < LEG_DEPTH


def semantic_ids(
    database: Database,
    connection: apsw.Connection,
    asked: Query,
    filters: Filters,
    end_ms: int,
    asking: SemanticQuery,
    mode: Mode,
    order: Order,
) -> SemanticResult:
    """The frames that mean what is asked, at most `LEG_DEPTH`.

    Operators, quotes and ``*`` ask for exact words, and an order by time has no place for "nearly":
    there words answer alone (``exact_query``, ``ordered_by_time``), unless meaning alone is asked.
    """
    if asked.is_browse or mode == "fts":
        return SemanticResult({}, None)
    if mode == "hybrid" and (is_exact(asked) if asking.is_exact is None else asking.is_exact):
        return SemanticResult({}, "exact_query")
    if mode == "hybrid" and order != "relevance":
        return SemanticResult({}, "ordered_by_time")
    if asking.vector is None or asking.model is None:
        return SemanticResult({}, asking.reason)
    allowed = Finder(connection, query.parse(""), filters, end_ms)
    narrow = None if is_by_time_only(filters) else _narrow(allowed)
    try:
        found = knn.nearest(
            database, "frame", asking.model, asking.vector,
            low=allowed.range.low, high=allowed.range.high, narrow=narrow, limit=LEG_DEPTH,
            above_chance=asking.above_chance,
        )  # fmt: skip
    except SemanticUnavailable as error:
        return SemanticResult({}, error.reason)
    near = {each.id: each for each in found}
    # The first moment of which the index holds every frame, and its first id.
    since_ms = frames.captured_ms_of(knn.first_held(database, "frame") + frames.ID_STEP - 1)
    first, _ = frames.id_range(since_ms, since_ms)
    is_cut = first > allowed.range.low
    reason = "older_than_vectors" if is_cut and first >= allowed.range.high else "no_vector_hits"
    return SemanticResult(near, None if near else reason, since_ms if is_cut else None)


def is_exact(asked: Query) -> bool:
    """Whether somebody asks for these very words."""
    quoted = '"' in asked.text
    return quoted or asked.reading == "expression" or any(word.is_prefix for word in asked.words)


def is_by_time_only(filters: Filters) -> bool:
    return filters == Filters(filters.start_ms, filters.end_ms)


def _narrow(allowed: Finder) -> knn.Narrow:
    def narrow(ids: list[int] | None) -> list[int]:
        if ids is None:
            return allowed.by_time(-1, 0, None, newest_first=True)
        return list(allowed.among(ids))

    return narrow


RRF_K = 60
LEG_DEPTH = 150

_BEHIND = 1 / (RRF_K + LEG_DEPTH + 1)


def fused(*lists: Sequence[int]) -> list[tuple[float, int]]:
    """(score, id) of everything in the lists, best first, the newer of two equal ones first."""
    scores: dict[int, float] = {}
    for ids in lists:
        for place, frame_id in enumerate(ids, 1):
            scores[frame_id] = scores.get(frame_id, 0.0) + 1 / (RRF_K + place)
    return sorted(((score, frame_id) for frame_id, score in scores.items()), reverse=True)


class FusedPage:
    """Rows beyond `place`; `rows` is called once, then `seen_up_to` tells what a cursor must know."""

    def __init__(
        self, finder: Finder | None, near: Sequence[int], start: Cursor, place: Cursor | None
    ) -> None:
        """Without a `finder` the list is `near` alone. `start` holds what all rows share."""
        self._finder = finder
        self._near = near
        self._place = place
        self._seen = cursors.unpack(place.seen) if place else set[int]()
        self._shown: list[int] = []
        self._statistics = _statistics(finder, place)
        self._start = replace(start, average=self._statistics.average, weights=self._statistics.weights)

    def rows(self, limit: int, offset: int) -> list[Cursor]:
        """Up to `limit` rows, `offset` further on."""
        if self._place is not None and self._place.high:
            behind = Ranked(self._place.score, self._place.id, Block(self._place.low, self._place.high))
            return self._words_only(limit, offset, behind)
        words = self._finder.by_relevance(LEG_DEPTH, 0, None, self._statistics) if self._finder else []
        both = fused([each.id for each in words], self._near)
        left = [each for each in both if cursors.mark(each[1]) not in self._seen]
        self._shown = [frame_id for _, frame_id in left[: offset + limit]]
        found = [replace(self._start, id=frame_id, score=score) for score, frame_id in left[offset:][:limit]]
        if len(found) == limit:
            return found
        return found + self._words_only(limit - len(found), max(0, offset - len(left)), None)

    def seen_up_to(self, row: Cursor) -> str:
        """What the cursor behind `row` has to carry."""
        shown = self._shown
        if row.id in shown:
            shown = shown[: shown.index(row.id) + 1]
        return cursors.pack(self._seen | {cursors.mark(frame_id) for frame_id in shown})

    def _words_only(self, limit: int, offset: int, after: Ranked | None) -> list[Cursor]:
        """Matches by words that were not fused, as they come."""
        if self._finder is None:
            return []
        passed = self._seen | {cursors.mark(frame_id) for frame_id in self._shown}
        wanted = limit + offset + len(passed)
        ranked = self._finder.by_relevance(wanted, 0, after, self._statistics)
        fresh = [each for each in ranked if cursors.mark(each.id) not in passed]
        return [
            replace(self._start, id=each.id, score=each.score, low=each.block.low, high=each.block.high)
            for each in fresh[offset : offset + limit]
        ]


def shown_score(row: Cursor) -> float:
    """The score of a fused row; below all of them for one that follows by words, in its own order."""
    return _BEHIND * row.score / (1 + row.score) if row.high else row.score


def total(finder: Finder | None, words: int, near: Iterable[int], at_most: int) -> int:
    """How many frames are in either list, counted no further than `at_most`; `words` match by words."""
    if words >= at_most:
        return at_most
    ids = set(near)
    both = finder.among(ids) if finder and words else set[int]()
    return min(words + len(ids - both), at_most)


def _statistics(finder: Finder | None, place: Cursor | None) -> Statistics:
    if finder is None:
        return Statistics(1.0, ())
    if place is None:
        return finder.statistics()
    if len(place.weights) not in (0, finder.phrase_count):
        raise cursors.BadCursor("the cursor is damaged")
    return Statistics(place.average, place.weights)
