"""Answers without a model to questions that nobody here wrote: the gate on sealed sets, totals only."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.question_sets import Question
from bench.questions import Judged, Verdict, judge_set, judged
from bench.report import SETS
from engines.embeddings.protocol import open_embedder
from tests.tables import for_each

MAX_WRONG = 0.05


@pytest.mark.end_to_end
@pytest.mark.parametrize(
    ("name", "right"),
    [
        ("sealed", 0.9),
        ("languages", 0.86),
        ("sealed_second", 0.68),
        ("sealed_third", 0.72),
        ("sealed_fourth", 0.86),
        ("sealed_fifth", 0.85),
        ("sealed_ninth", 0.74),
    ],
)
def test_questions_of_strangers_are_answered(name: str, right: float) -> None:
    """The second are asked in languages whose questions nobody wrote anything for, the two after them
    mostly in other words than the screens', the next two as people ask in a first week, the last by somebody
    who had seen neither the program nor the other sets. What is reached; the goal is 0.86.
    """
    verdicts = Counter(
        one.verdict for one in judge_set(SETS / name / "questions.json", open_embedder("local"))
    )
    shares = {verdict: count / verdicts.total() for verdict, count in verdicts.items()}
    assert shares["right"] >= right
    assert shares.get("wrong", 0.0) <= MAX_WRONG
    assert "refused" not in verdicts


PRICE = Question("What is the price?", "en", "fact", (("69 EUR", "69 €"),), ("89 EUR",))
NOTHING = Question("What is the price?", "en", "nothing", (), ())


@for_each(
    ("question", "answer_md", "verdict"),
    [
        (PRICE, "- 14:00 Shop: “Price: 69 EUR” [1]", "right"),
        (PRICE, "- 14:00 Shop: “Price: 89 EUR” [1]\n- 14:00 Shop: “Price: 69 EUR” [1]", "wrong"),
        (PRICE, "- 14:00 Shop: “Basket” [1]", "missed"),
        (NOTHING, "- 14:00 Shop: “Price: 69 EUR” [1]", "wrong"),
        (NOTHING, "None of the 4 frames looked at shows “price”, the nearest to it:", "right"),
    ],
)
def test_an_answer_is_judged_by_its_head_and_by_what_it_shows(
    question: Question, answer_md: str, verdict: Verdict
) -> None:
    assert judged(question, answer_md, answer_md) == Judged(question, verdict, answer_md)
