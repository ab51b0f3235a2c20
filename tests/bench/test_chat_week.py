"""What a new chat is told of a week of chats: totals only."""

from __future__ import annotations

import pytest

from bench.evals import chat_week
from bench.report import SETS


@pytest.mark.parametrize(
    ("name", "settled", "clean"),
    [
        ("sealed", 11, 12),
        # Nobody had read it who wrote the code. What is reached; the goals are 11 and 12.
        ("sealed_eighth", 7, 11),
    ],
)
def test_a_new_chat_is_told_what_was_settled_and_nothing_of_another_subject(
    name: str, settled: int, clean: int
) -> None:
    week = chat_week.judge(SETS / name)
    for told in (week.judged, week.later):
        assert sum(each.holds for each in told) >= settled
        assert sum(not each.leaks for each in told) >= clean
