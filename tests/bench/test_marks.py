"""The marks over foreign sets: totals only."""

from __future__ import annotations

from bench.marks import CERTAIN, Tally, judge
from bench.report import SETS

FLAGGED, WARNED, MARKED = 0.97, 0.02, 0
"""The goals are 0.98, 0.02 and 0."""


def test_what_is_false_is_warned_of_and_what_is_true_is_not() -> None:
    total = Tally()
    for path in sorted(SETS.glob("*/marks_*.json")):
        total += judge(path)
    flagged, warned, marked = total.share(*CERTAIN), total.share("true"), total.false_marks
    assert flagged >= FLAGGED
    assert warned <= WARNED
    assert marked <= MARKED
