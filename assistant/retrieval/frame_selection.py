"""Which frames a specific question gets to see: those that fit it best, and the range around them.

A question is specific when something is left of it after the words of asking and of time are taken
away (`texts.question_words`): "when did I set the retention" is, "what did I do today" is not. What
is not specific gets the even spread of `sampling` alone.

The rule, the same for the same store and question:

1. At most `max_frames` frames in the range: all of them, as for a summary.
2. Otherwise the range is searched for the words, all of them (and for what the question means,
   where there are vectors); with fewer than `LITTLE` frames by words, also for any of the words.
3. The hits, best first, take up to two thirds of the places: at most `HITS_PER_BUCKET` of a bucket
   of time, and one of frames that show the same piece of text in the same window.
4. The even spread takes the other places; those it leaves, because it chose a hit as well, go to
   hits that 3 passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw

from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.retrieval.sampling import MAX_FRAMES, STANDARD, select_in
from store.core.database import Database
from store.search import search
from store.search.filters import Filters
from store.search.search import Hit, Page

LITTLE = 8
"""With fewer frames that have all the words, those that have any of them are looked for, too."""

HITS = 120
"""How many hits of a search are looked at: enough to fill the places though many are alike."""

HITS_PER_BUCKET = 6


@dataclass(frozen=True, slots=True)
class Searched:
    """One search of the range: its text ('' for the spread), how it was done, how much it found.

    `way` is a strategy of `store.search.search` or ``spread``; `fallback` says why meaning played no part.
    """

    text: str
    way: str
    hits: int
    is_exact: bool = True
    fallback: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen frames in order of time. `relevant` of them were found by a search."""

    ids: tuple[int, ...]
    searched: tuple[Searched, ...]
    relevant: int = 0
    is_found: bool = True  # whether a frame has the words; true when none were asked for


def select_frames(
    database: Database,
    connection: apsw.Connection,
    filters: Filters,
    words: Sequence[str],
    in_range: int,
    meaning: Meaning = WORDS_ONLY,
    max_frames: int = MAX_FRAMES,
) -> Selection:
    """The frames for a question about `words`; `in_range` is how many pass the filters."""
    spread = Searched("", "spread", in_range)
    if not words:
        return Selection(tuple(select_in(connection, filters, max_frames)), (spread,))
    pages = _searches(database, filters, words, meaning)
    found = list({hit.frame_id: hit for _, page in pages for hit in page.hits}.values())
    searched = tuple(_told(text, page) for text, page in pages)
    if in_range <= max_frames:
        ids = select_in(connection, filters, max_frames)
        relevant = len({hit.frame_id for hit in found}.intersection(ids))
    else:
        ids, relevant = _mixed(connection, filters, found, max_frames)
    return Selection(tuple(ids), (*searched, spread), relevant, any(map(_is_by_words, found)))


def _searches(
    database: Database, filters: Filters, words: Sequence[str], meaning: Meaning
) -> list[tuple[str, Page]]:
    """All the words, and any of them where that finds little."""
    every = " ".join(words)
    page = search.fuzzy_search(database, every, filters, limit=HITS, **meaning)
    pages = [(every, page)]
    if len(words) > 1 and sum(map(_is_by_words, page.hits)) < LITTLE:
        some = " OR ".join(words)
        pages.append((some, search.search(database, some, filters, mode="fts", limit=HITS)))
    return pages


def _told(text: str, page: Page) -> Searched:
    return Searched(text, page.strategy, page.total, page.total_is_exact, page.fallback_reason or "")


def _is_by_words(hit: Hit) -> bool:
    return any(way != "meaning" for way in hit.matched)


def _mixed(
    connection: apsw.Connection, filters: Filters, found: Sequence[Hit], max_frames: int
) -> tuple[list[int], int]:
    """(ids in order of time, how many of them a search found)."""
    first, passed_over = _without_crowds(found, filters, max_frames * 2 // 3)
    chosen = dict.fromkeys(first)
    chosen.update(dict.fromkeys(select_in(connection, filters, max_frames - len(first))))
    for frame_id in passed_over:
        if len(chosen) == max_frames:
            break
        chosen[frame_id] = None
    hits = {hit.frame_id for hit in found}
    return sorted(chosen), len(hits.intersection(chosen))


def _without_crowds(found: Iterable[Hit], filters: Filters, places: int) -> tuple[list[int], list[int]]:
    """(the best hits that differ in text or place and are not all of one time, the others)."""
    bucket_ms = STANDARD.bucket_s(filters.start_ms, filters.end_ms or 0) * 1000
    in_bucket: Counter[int] = Counter()
    shown: set[tuple[str | None, str | None, str]] = set()
    first: list[int] = []
    others: list[int] = []
    for hit in found:
        bucket = (hit.captured_ms - filters.start_ms) // bucket_ms
        what = (hit.app_name, hit.window_name, hit.snippet)
        if len(first) < places and in_bucket[bucket] < HITS_PER_BUCKET and what not in shown:
            first.append(hit.frame_id)
            in_bucket[bucket] += 1
            shown.add(what)
        else:
            others.append(hit.frame_id)
    return first, others
