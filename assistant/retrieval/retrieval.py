"""The one bounded look into the store that a turn in evidence mode takes.

Everything the answer may rest on is read here, in one snapshot and under one deadline, and then the
connection is let go: nothing is held while the model thinks. What the model may cite are the entries, by ids
that mean nothing outside this turn.

A question is specific when something is left of it after the words of asking and of time are taken away
(`texts.question_words`): "when did I set the retention" is, "what did I do today" is not. What is not
specific gets the even spread of `sampling` alone. The rule for the others, the same for the same store and
question:

1. At most `max_frames` frames in the range: all of them, as for a summary.
2. Otherwise the range is searched for the words, all of them (and for what the question means, where there
   are vectors); with fewer than `LITTLE` frames by words, also for any of the words.
3. The hits, best first, take up to two thirds of the places: at most `HITS_PER_BUCKET` of a bucket of time,
   and one of frames that show the same piece of text in the same window.
4. The even spread takes the other places; those it leaves, because it chose a hit as well, go to hits that 3
   passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache

import apsw

from assistant.core.records import Coverage, Query, TurnFilters
from assistant.retrieval.excerpts import excerpt, line_forms
from assistant.retrieval.sampling import MAX_FRAMES, STANDARD, Sampler, select_in
from store.core.database import Database
from store.embeddings import vectors
from store.embeddings.knn import WORDS_ONLY, RetrievalQuery
from store.ocr import readings
from store.ocr.layout import by_rows
from store.ocr.unread_scripts import unread_scripts
from store.search import sample, search
from store.search.filters import Filters
from store.search.hits import Hit
from store.search.sample import SampledFrame
from store.search.search import Page
from store.timeline import gaps, segments
from store.timeline.totals import Totals

RETRIEVAL_TIMEOUT_S = 30.0
LITTLE = 8
"""With fewer frames that have all the words, those that have any of them are looked for, too."""

HITS = 120
"""How many hits of a search are looked at: enough to fill the places though many are alike."""

HITS_PER_BUCKET = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the evidence ledger: what the model may cite as ``[[id]]``."""

    id: str
    frame: SampledFrame
    excerpt: str
    told: str = ""
    """What code knows of one that is no frame: when it is, or who speaks."""
    address: str = ""
    """The page of one that is no frame, "" for a frame."""


def no_totals() -> None:
    """Of a range that is looked at in part."""


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found, and what it was looked for with.

    `totals` counts every app, and so gives None when filters narrow the range. It adds up when it is called
    first: years take a second, which the first cards do not wait for. `best` are the frames that a search
    found, best first, `beside` what other sources say, a line each.
    """

    filters: Filters
    entries: tuple[Entry, ...]
    coverage: Coverage
    totals: Callable[[], Totals | None] = field(default=no_totals, compare=False)
    best: tuple[int, ...] = ()
    beside: tuple[str, ...] = ()

    def only(self, shows: Callable[[SampledFrame], bool]) -> Retrieval:
        """Without the frames that are not to be shown."""
        entries = tuple(entry for entry in self.entries if shows(entry.frame))
        return replace(self, entries=entries, coverage=replace(self.coverage, frames_sampled=len(entries)))


def retrieve(
    database: Database,
    filters: Filters,
    words: Sequence[str],
    now_ms: int,
    *,
    meaning: RetrievalQuery = WORDS_ONLY,
    max_frames: int = MAX_FRAMES,
    also: Sequence[int] = (),
    spread: Sampler = select_in,
    deadline_s: float = RETRIEVAL_TIMEOUT_S,
) -> Retrieval:
    """The selected frames with excerpts, and what else is known about the range.

    `words` are what the question is about, none for a summary; `meaning` is the question as a vector. The
    frames in `also` are among the entries whatever the question is.
    ``filters.end_ms`` must be set. Raises `DeadlineExceeded` after `deadline_s`, as the totals do.
    """
    start_ms, end_ms = filters.start_ms, filters.end_ms or now_ms
    with database.read(deadline_s=deadline_s) as connection:
        in_range = sample.count(connection, filters)
        pages = _searches(database, filters, words, meaning) if words else []
        hits = list({hit.frame_id: hit for _, page in pages for hit in page.hits}.values())
        if words and in_range > max_frames:
            ids = _mixed(connection, filters, hits, max_frames, spread)
        else:
            ids = (select_in if words else spread)(connection, filters, max_frames)
        chosen = set(ids)
        best = tuple(hit.frame_id for hit in hits if hit.frame_id in chosen)
        entries = tuple(entries_of(sample.load(connection, sorted({*ids, *also})), words))
        where = TurnFilters(**{each.name: getattr(filters, each.name) for each in fields(TurnFilters)})
        queries = [query(start_ms, end_ms, where, text, page) for text, page in pages]
        is_found = not words or any(map(_is_by_words, hits))
        asked = "" if is_found else " ".join(words)
        coverage = Coverage(
            frames_in_range=in_range,
            frames_sampled=len(entries),
            gaps=tuple(gaps.gaps(database, start_ms, end_ms, now_ms)),
            queries=(*queries, Query(start_ms, end_ms, where, in_range)),
            index_fresh_to_ms=readings.index_fresh_to_ms(database),
            relevant=len(best),
            is_found=is_found,
            imported=0 if is_narrowed(filters) else len(segments.moments(database, start_ms, end_ms)),
            unread=readings.count_unread(connection, start_ms, end_ms),
            unembedded=vectors.count_waiting(connection, start_ms, end_ms),
            unread_scripts=unread_scripts(connection, asked, start_ms, end_ms),
        )

    @cache
    def totals() -> Totals:
        with database.read(deadline_s=deadline_s):
            return segments.totals(database, start_ms, end_ms)

    return Retrieval(filters, entries, coverage, no_totals if is_narrowed(filters) else totals, best)


def is_narrowed(filters: Filters) -> bool:
    """Whether anything but the range decides which frames count."""
    return filters != Filters(filters.start_ms, filters.end_ms)


def query(start_ms: int, end_ms: int, where: TurnFilters, text: str, page: Page) -> Query:
    """A search for `text`, as a person can run it again."""
    fallback = page.fallback_reason or ""
    return Query(start_ms, end_ms, where, page.total, text, page.strategy, page.total_is_exact, fallback)


def entries_of(selected: Iterable[SampledFrame], words: Sequence[str] = (), **limits: int) -> Iterator[Entry]:
    """Frames in order of time, each with an excerpt of what is new on it, within the `limits` of those. Their
    texts have each row of a table on a line (`layout.by_rows`).
    """
    seen: frozenset[str] = frozenset()
    for n, read in enumerate(selected, 1):
        rows = by_rows(read.text, read.layout, read.windows) if read.layout else read.text
        frame = replace(read, text=rows)
        yield Entry(f"e{n}", frame, excerpt(frame.text, words, seen, **limits))
        seen = line_forms(frame.text)


# -- the frames that fit a question best, and the range around them -----------------------------


def _searches(
    database: Database, filters: Filters, words: Sequence[str], meaning: RetrievalQuery
) -> list[tuple[str, Page]]:
    """All the words, and any of them where that finds little."""
    every = " ".join(words)
    page = search.search(database, every, filters, limit=HITS, above_chance=False, meaning=meaning)
    pages = [(every, page)]
    if len(words) > 1 and sum(map(_is_by_words, page.hits)) < LITTLE:
        some = " OR ".join(words)
        pages.append((some, search.search(database, some, filters, mode="fts", limit=HITS)))
    return pages


def _is_by_words(hit: Hit) -> bool:
    return any(way != "meaning" for way in hit.matched)


def _mixed(
    connection: apsw.Connection, filters: Filters, hits: Sequence[Hit], max_frames: int, spread: Sampler
) -> list[int]:
    """Ids of the best hits and of an even spread, in order of time."""
    first, passed_over = _without_crowds(hits, filters, max_frames * 2 // 3)
    spread_ids = spread(connection, filters, max_frames - len(first))
    return sorted(list(dict.fromkeys([*first, *spread_ids, *passed_over]))[:max_frames])


def _without_crowds(hits: Iterable[Hit], filters: Filters, places: int) -> tuple[list[int], list[int]]:
    """(the best hits that differ in text or place and are not all of one time, the others)."""
    bucket_ms = STANDARD.bucket_s(filters.start_ms, filters.end_ms or 0) * 1000
    in_bucket: Counter[int] = Counter()
    shown: set[tuple[str | None, str | None, str]] = set()
    first: list[int] = []
    others: list[int] = []
    for hit in hits:
        bucket = (hit.captured_ms - filters.start_ms) // bucket_ms
        what = (hit.app_name, hit.window_name, hit.snippet)
        if len(first) < places and in_bucket[bucket] < HITS_PER_BUCKET and what not in shown:
            first.append(hit.frame_id)
            in_bucket[bucket] += 1
            shown.add(what)
        else:
            others.append(hit.frame_id)
    return first, others
