"""P@10, R@50 and NDCG@10 of a ranking, as Manning, Raghavan and Schütze define them (chapter 8).

`ranked` are the found things, best first; `grades` hold every relevant thing with a grade above 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def precision(ranked: Sequence[int], grades: Mapping[int, int], at: int = 10) -> float:
    """The share of the first `at` places that hold something relevant."""
    return sum(each in grades for each in ranked[:at]) / at


def recall(ranked: Sequence[int], grades: Mapping[int, int], at: int = 50) -> float:
    """The share of what is relevant, or of `at` if that is less, among the first `at`."""
    return sum(each in grades for each in ranked[:at]) / min(len(grades), at)


def ndcg(ranked: Sequence[int], grades: Mapping[int, int], at: int = 10) -> float:
    """Discounted gain of the first `at`, as a share of the best that is possible."""
    best = _gain(sorted(grades.values(), reverse=True)[:at])
    return _gain([grades.get(each, 0) for each in ranked[:at]]) / best


def _gain(grades: Sequence[int]) -> float:
    return sum((2**grade - 1) / math.log2(place + 2) for place, grade in enumerate(grades))
