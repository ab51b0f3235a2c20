"""The reader of times held to phrases that its makers never read."""

from __future__ import annotations

import json

from bench.report import SETS
from bench.times import verdicts_of


def test_phrases_nobody_read_mean_what_people_meant() -> None:
    """Totals only: who reads the set can no longer be measured by it."""
    cases = json.loads((SETS / "sealed" / "times.json").read_text(encoding="utf-8"))["cases"]
    verdicts = verdicts_of(cases)["total"]
    assert verdicts["right"] + verdicts["declined"] >= 0.93 * len(cases), verdicts
    assert verdicts["wider"] == 0, verdicts
