"""Words and meaning as one list: reciprocal rank fusion, page by page.

    score = sum over the two lists of 1 / (60 + place in it)

Cormack, Clarke and Büttcher, "Reciprocal rank fusion outperforms Condorcet", 2009 (C14). The first
`LEG_DEPTH` frames of each list are fused; the other frames that match by words follow in their own
order. The words must all be there: with an "or" half of the exact finds were lost (technology.md).

A place in a fused list shifts whenever a frame comes or goes, so a page does not begin behind a
place: the cursor knows which frames of the fused part were shown, and a page is what is best of the
rest. So nothing is shown twice, and nothing that stays is passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from store.core.ranking import Statistics
from store.search import cursor as cursors
from store.search.cursor import Cursor
from store.search.finder import Block, Finder, Ranked

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
        left = [each for each in self._fused() if cursors.mark(each[1]) not in self._seen]
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

    def _fused(self) -> list[tuple[float, int]]:
        words = self._finder.by_relevance(LEG_DEPTH, 0, None, self._statistics) if self._finder else []
        return fused([each.id for each in words], self._near)

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
