"""The rule of `assistant.retrieval.sampling` as a pure function over all candidates."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.retrieval.sampling import STANDARD, Rule, in_order, thinned

Candidate = tuple[int, int]
"""(captured_ms, frame id): sorts by time, ties by id."""


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
    return in_order(thinned(picked, counts, rule.max_frames))


def _spread(ids: Sequence[int], count: int) -> list[int]:
    """`wanted` of the ids, evenly by rank, the first and the last among them."""
    if len(ids) <= count:
        return list(ids)
    if count == 1:
        return [ids[0]]
    return [ids[i * (len(ids) - 1) // (count - 1)] for i in range(count)]
