"""Turns without any language model: quotes that verify, and a sentence that says so."""

from __future__ import annotations

import re

import pytest

from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOSTILE, Afternoon
from tests.stub_model import StubModel


def test_without_an_endpoint_the_answer_is_quoted_and_says_so(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    for minute in range(20):
        afternoon.show(minute / 2, f"line {minute} of it", app_name="Writer", window_name="report.odt")
    afternoon.show(11, "Inbox: lunch on Friday", app_name="Mail", window_name="Inbox")
    result = ask(model="extractive")
    assert result.answer_md.startswith("Quoted from your screen; no language model is set up.\n\n")
    assert "- **14:00–14:11** [1] [2]: Writer “report.odt” “line" in result.answer_md
    assert "Mail “Inbox” “Inbox: lunch on Friday” [2]" in result.answer_md
    assert stub.requests == []
    assert result.claims
    assert {claim.state for claim in result.claims} == {"cited"}
    cited = [item for item in result.evidence if item.n is not None]
    assert {item.state for item in cited} == {"found"}
    assert ask(model="extractive").answer_md == result.answer_md


def test_the_extractive_answer_speaks_the_language_of_the_question(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "季度预算\n合计 1200 元", app_name="表格", window_name="预算.xlsx")
    result = ask("总结一下我今天下午做了什么", model="extractive")
    assert result.answer_md.startswith("以下内容直接引自你的屏幕；没有设置语言模型。")
    assert {claim.state for claim in result.claims} == {"cited"}


def test_the_extractive_answer_finds_the_words_of_the_question(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "nothing of interest here")
    afternoon.show(2, "menu\nretention set to 14 days\nfooter")
    result = ask("What did I set retention to?", model="extractive")
    assert "- 14:02 Code, main.py: “retention set to 14 days” [1]" in result.answer_md
    assert {claim.state for claim in result.claims} == {"cited"}


def test_the_extractive_answer_says_when_the_words_are_not_there(ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, "nothing of interest here")
    result = ask("Where is the giraffe?", model="extractive")
    assert "Not found: none of the 1 frames looked at shows “giraffe”, the nearest to it:" in result.answer_md
    assert {claim.state for claim in result.claims} == {"cited"}


@pytest.mark.parametrize("text", HOSTILE)
def test_quoted_screen_text_cannot_become_markup(text: str, ask: Ask, afternoon: Afternoon) -> None:
    afternoon.show(1, text)
    result = ask(model="extractive")
    unescaped = re.sub(r"\\.", "", result.answer_md)
    assert "](" not in unescaped
    assert "<" not in unescaped
    assert set(re.findall(r"\[\d+\]", unescaped)) == {"[1]"}
    assert {claim.state for claim in result.claims} == {"cited"}
