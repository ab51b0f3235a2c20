"""Sentences whose words are all on the screen and whose order is not: who, how many, from which to which."""

from __future__ import annotations

from assistant.evidence.outcomes import (
    contrasts,
    includes_otherwise,
    outcomes,
    unproven_reason,
)
from assistant.evidence.relations import contradictions, wrong_speakers
from tests.tables import for_each

CHAT = """#harbour
Finance
Why is it dearer? Last year it was less.
oO Data engineer
Steel went up by 8 %, the rest is the second anchor.
Field engineer
Me, until 18:00.
- Release manager: please log when a clock is refused.
- Data engineer: done in the second commit."""


@for_each(
    ("said", "quoted", "is_contradicted"),
    [
        ("145 tests failed and 1 passed", "1 failed, 145 passed in 6.12s", True),
        ("One failed, 145 passed", "1 failed, 145 passed in 6.12s", False),
        ("4 lines were inserted, 61 deleted", "2 files, 61 insertions, 4 deletions", True),
        ("High tide was 0.87 m", "High tide 3.42 m at 05:51. Low tide 0.87 m at 12:08.", True),
        ("High tide was 3.42 m", "High tide 3.42 m at 05:51. Low tide 0.87 m at 12:08.", False),
        ("七号浮标电池电压偏低", "三号浮标电池电压偏低\n浮标七号", True),
        ("It rose from 387 ms to 909 ms", "from 909 ms to 387 ms", True),
        ("It went from 256 to 64", "BATCH = 64 # was 256", False),
        ("It went from 64 to 256", "BATCH = 64 # was 256", True),
        ("It was approved by finance", "Approved by the board on 3 September.", True),
        ("The board approved it", "Approved by the board on 3 September.", False),
        ("The data engineer reported it", "Reported by the field engineer.", True),
    ],
)
def test_what_is_joined_otherwise_is_a_contradiction(said: str, quoted: str, is_contradicted: bool) -> None:
    assert bool(list(contradictions(said, [quoted], quoted))) == is_contradicted


@for_each(
    ("said", "quote", "wrong"),
    [
        ("Finance explained that steel went up", "Steel went up by 8 %", ["finance"]),
        ("The data engineer explained that steel went up", "Steel went up by 8 %", []),
        ("You explained that steel went up", "Steel went up by 8 %", []),
        ("The data engineer watches until 18:00", "Me, until 18:00.", ["data engineer"]),
        ("The data engineer asked to log it", "please log when a clock is refused", ["data engineer"]),
        ("The release manager asked to log it", "please log when a clock is refused", []),
    ],
)
def test_who_said_it_stands_above_or_before_a_colon(said: str, quote: str, wrong: list[str]) -> None:
    assert list(wrong_speakers(said, [quote], CHAT)) == wrong


def test_a_reason_must_be_shown_by_itself() -> None:
    shown = "It failed at night.\nThe disk was full."
    assert unproven_reason("It failed because the network was down", ["It failed"], shown)
    assert unproven_reason("It failed because the disk was full", ["It failed"], shown) is None
    assert unproven_reason("It failed at night", ["It failed"], shown) is None


def test_what_is_included() -> None:
    assert includes_otherwise("the total including travel", "total without travel")
    assert not includes_otherwise("the total without travel", "total without travel")
    assert includes_otherwise("合计含运费", "合计 不含运费")
    assert contrasts("the mean", "the median") and not contrasts("the median", "the median")


def test_what_belongs_to_a_release_is_not_one() -> None:
    assert "published" not in outcomes("The release notes mention it. 发布说明提到了它。")
    assert "published" in outcomes("It was released. 新版本已发布。")
