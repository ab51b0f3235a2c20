"""What a new chat is told of a week of chats: totals only."""

from __future__ import annotations

import pytest

from bench.evals import chat_week
from bench.report import SETS


@pytest.mark.parametrize("name", ["open", "sealed"])
def test_a_new_chat_is_told_what_was_settled_and_nothing_of_another_subject(name: str) -> None:
    week = chat_week.judge(SETS / name)
    for told in (week.judged, week.later):
        assert sum(each.holds for each in told) >= 11
        assert not sum(bool(each.leaks) for each in told)
