"""Which frames of a range the model gets to see: an even, deterministic handful.

A range of up to three hours is cut into buckets of five minutes, a longer one into 36 wider ones; each bucket
gives its first and its last frame. `select_in` takes them straight from the database, without fetching the
others. A property test holds it together with the rule as a pure function over all candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise

import apsw

from store.frames.frames import ID_STEP
from store.search import sample
from store.search.filters import Filters

DEFAULT_BUCKET_SECONDS = 300
FRAMES_PER_BUCKET = 2
MAX_FRAMES = 72


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

Sampler = Callable[[apsw.Connection, Filters, int], list[int]]
"""Which of the matching frames, at most so many, cover a range."""


def select_in(connection: apsw.Connection, filters: Filters, max_frames: int = MAX_FRAMES) -> list[int]:
    """Ids of the selected frames, in order of time: `FRAMES_PER_BUCKET` of a bucket, at most `max_frames`."""
    rule = Rule(max_frames=max_frames)
    few = sample.first_ids(connection, filters, max_frames + 1)
    if len(few) <= max_frames:
        return few
    bucket_ms = rule.bucket_s(filters.start_ms, filters.end_ms or 0) * 1000
    ends = sample.ends_per_bucket(connection, filters, bucket_ms)
    picked = {n: [first] if first == last else [first, last] for n, first, last in ends}
    if sum(map(len, picked.values())) <= max_frames:
        return in_order(picked)
    counts = sample.count_per_bucket(connection, filters, bucket_ms)
    return in_order(thinned(picked, counts, max_frames))


def spread_in(connection: apsw.Connection, filters: Filters, max_frames: int = MAX_FRAMES) -> list[int]:
    """The same, and the places that empty stretches leave go where there are more frames.

    Each goes into the middle of the longest stretch between two chosen frames of one bucket.
    """
    # So many that no bucket has to be counted and thinned.
    even = max(FRAMES_PER_BUCKET, max_frames - max_frames % FRAMES_PER_BUCKET)
    ids = select_in(connection, filters, even)
    bucket_ms = Rule(max_frames=even).bucket_s(filters.start_ms, filters.end_ms or 0) * 1000
    buckets = [(number // ID_STEP - filters.start_ms) // bucket_ms for number in ids]
    ends = zip(pairwise(ids), pairwise(buckets), strict=True)
    stretches = [(low - high, low, high) for (low, high), (one, other) in ends if one == other]
    heapify(stretches)
    while stretches and len(ids) < max_frames:
        _, low, high = heappop(stretches)
        middle = sample.middle(connection, filters, low, high)
        if middle is not None:
            ids.append(middle)
            heappush(stretches, (low - middle, low, middle))
            heappush(stretches, (middle - high, middle, high))
    return sorted(ids[:max_frames])


def thinned(
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


def in_order(picked: Mapping[int, list[int]]) -> list[int]:
    """The picked ids of all buckets, in order of time."""
    return [number for n in sorted(picked) for number in picked[n]]
