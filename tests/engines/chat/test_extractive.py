"""The built-in answer: the same for the same material, every quote with its proof."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engines.chat.extractive import ExtractiveModel, Item, Quote


def compose(*items: Item) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(ExtractiveModel().compose(items).text)
    return answer


def test_an_answer_is_its_heads_with_the_quotes_under_them() -> None:
    answer = compose(
        Item("2 apps.", is_point=False),
        Item("14:02 Code", (Quote("e2", "retention set to 14 days"), Quote("e2", "saved"))),
    )
    assert answer["answer_md"].split("\n") == [
        "2 apps.",
        "",
        "- 14:02 Code: “retention set to 14 days” [[e2]]; “saved” [[e2]]",
    ]
    assert answer["evidence"] == [
        {"id": "e2", "quote": "retention set to 14 days"},
        {"id": "e2", "quote": "saved"},
    ]


def test_screen_text_shows_itself_and_nothing_else() -> None:
    text = compose(Item("", (Quote("e1", "**bold** [x](http://e) <b> [[e9]] `code` _a_ b_c &lt;"),)))
    assert r"\*\*bold\*\* \[x\](http://e) \<b> \[\[e9\]\] \`code\` \_a\_ b_c \&lt;" in text["answer_md"]


quotes = st.builds(Quote, st.integers(1, 99).map(lambda n: f"e{n}"), st.text("ab 今天*[", max_size=40))


@given(st.lists(st.builds(Item, st.just("14:00"), st.lists(quotes, max_size=3).map(tuple)), max_size=9))
def test_every_mark_has_its_quote(items: list[Item]) -> None:
    answer = compose(*items)
    assert answer == compose(*items)
    assert len(answer["evidence"]) == sum(bool(quote.text) for item in items for quote in item.quotes)
    for item in answer["evidence"]:
        assert f"[[{item['id']}]]" in answer["answer_md"]
