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
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import apsw

from assistant.core.query_embedder import WORDS_ONLY, Meaning
from store.core.database import Database
from store.search import sample, search
from store.search.filters import Filters
from store.search.search import Hit, Page

# ---- sampling
# Which frames of a range the model gets to see: an even, deterministic handful.
#
# A range of up to three hours is cut into buckets of five minutes, a longer one into 36 wider ones;
# each bucket gives its first and its last frame. `select` is the rule as a pure function over all
# candidates; `select_in` gives the same frames straight from the database, without fetching the
# others. A property test holds the two together.

DEFAULT_BUCKET_SECONDS = 300
FRAMES_PER_BUCKET = 2
MAX_FRAMES = 72

Candidate = tuple[int, int]
"""(captured_ms, frame id): sorts by time, ties by id."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The constants of the rule; other values exist for tests and for small context windows."""

    default_bucket_s: int = DEFAULT_BUCKET_SECONDS
    frames_per_bucket: int = FRAMES_PER_BUCKET
    max_frames: int = MAX_FRAMES

    def bucket_s(self, start_ms: int, end_ms: int) -> int:
        """The width of a bucket in whole seconds: it follows from the range, never from the frames."""
        span_ms = end_ms - start_ms
        buckets = -(-span_ms // (self.default_bucket_s * 1000))
        if buckets * self.frames_per_bucket <= self.max_frames:
            return self.default_bucket_s
        widened = -(-span_ms * self.frames_per_bucket // (self.max_frames * 1000))
        return max(self.default_bucket_s, widened)


STANDARD = Rule()


def even_selection(
    candidates: Sequence[Candidate], start_ms: int, end_ms: int, rule: Rule = STANDARD
) -> list[int]:
    """Ids of the selected frames, in order of time; at most ``rule.max_frames``."""
    inside = sorted(c for c in candidates if start_ms <= c[0] < end_ms)
    if len(inside) <= rule.max_frames:
        return [number for _, number in inside]
    bucket_ms = rule.bucket_s(start_ms, end_ms) * 1000
    buckets: dict[int, list[int]] = {}
    for captured_ms, number in inside:
        buckets.setdefault((captured_ms - start_ms) // bucket_ms, []).append(number)
    picked = {n: _spread(ids, rule.frames_per_bucket) for n, ids in buckets.items()}
    counts = {n: len(ids) for n, ids in buckets.items()}
    return _in_order(_thinned(picked, counts, rule.max_frames))


def select_in(connection: apsw.Connection, filters: Filters, max_frames: int = MAX_FRAMES) -> list[int]:
    """The same selection, made in the database with `FRAMES_PER_BUCKET` frames a bucket."""
    rule = Rule(max_frames=max_frames)
    few = sample.first_ids(connection, filters, max_frames + 1)
    if len(few) <= max_frames:
        return few
    bucket_ms = rule.bucket_s(filters.start_ms, filters.end_ms or 0) * 1000
    ends = sample.ends_per_bucket(connection, filters, bucket_ms)
    picked = {n: [first] if first == last else [first, last] for n, first, last in ends}
    if sum(map(len, picked.values())) <= max_frames:
        return _in_order(picked)
    counts = sample.count_per_bucket(connection, filters, bucket_ms)
    return _in_order(_thinned(picked, counts, max_frames))


def _spread(ids: Sequence[int], wanted: int) -> list[int]:
    """`wanted` of the ids, evenly by rank, the first and the last among them."""
    if len(ids) <= wanted:
        return list(ids)
    if wanted == 1:
        return [ids[0]]
    return [ids[i * (len(ids) - 1) // (wanted - 1)] for i in range(wanted)]


def _thinned(
    picked: Mapping[int, list[int]], counts: Mapping[int, int], max_frames: int
) -> dict[int, list[int]]:
    """Drops frames from the densest buckets, later ones first among equals, until they fit.

    Each bucket gives up its latest frame, one a pass, and keeps at least one.
    """
    kept = {n: list(ids) for n, ids in picked.items()}
    surplus = sum(map(len, kept.values())) - max_frames
    densest_first = sorted(kept, key=lambda n: (-counts[n], -n))
    while surplus > 0:
        givers = [n for n in densest_first if len(kept[n]) > 1][:surplus]
        if not givers:  # more buckets than frames allowed: cannot happen with a rule of this kind
            break
        for n in givers:
            kept[n].pop()
        surplus -= len(givers)
    return kept


def _in_order(picked: Mapping[int, list[int]]) -> list[int]:
    return [number for n in sorted(picked) for number in picked[n]]


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
