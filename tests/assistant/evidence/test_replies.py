"""What models write instead of the JSON they were asked for, and what is read from it."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.evidence.citations import number, without_numbers
from assistant.evidence.replies import Reply, StreamBuffer, read_reply, visible_text
from engines.chat.protocol import ModelMalformed
from tests.tables import for_each

ONE = Reply("I read it [[e1]].", (("e1", "words"),))
OBJECT = '{"answer_md": "I read it [[e1]].", "evidence": [{"id": "e1", "quote": "words"}]}'


@for_each(
    ("text", "reply"),
    [
        (OBJECT, ONE),
        (f"```json\n{OBJECT}\n```", ONE),
        (f"Here you are:\n\n{OBJECT}\nHope this helps!", ONE),
        (f"<think>{{'answer_md': 'no'}}</think>\n{OBJECT}", ONE),
        (f"So they ask of the tests.\n</think>\n\n{OBJECT}", ONE),
        (f"So they ask.</think> Hm. <think>Or?</think>Wait.\n</thinking>\n{OBJECT}", ONE),
        ('{"answer_md": "The page says </think> [[e1]]."}', Reply("The page says </think> [[e1]].", ())),
        (OBJECT.replace("I read", "I\nread"), Reply("I\nread it [[e1]].", ONE.quotes)),
        (OBJECT.replace('"id": "e1"', '"id": "[[E1]]"'), ONE),
        (OBJECT.replace('"id": "e1"', '"id": 1'), ONE),
        (OBJECT.replace('[{"id": "e1", "quote": "words"}]', '{"e1": "words"}'), ONE),
        (OBJECT.replace('[{"id": "e1", "quote": "words"}]', '["e1", 7, null, {}]'),
         Reply(ONE.answer_md, (("e1", ""), ("e7", "")))),
        (OBJECT.replace('"words"', "null"), Reply(ONE.answer_md, (("e1", ""),))),
        ('{"answer_md": "cut in the mid', Reply("cut in the mid", ())),
        ('{"answer_md": "cut in \\"words', Reply('cut in "words', ())),
        ('{"answer_md": "It says "ready" [[e1]].", "evidence": [', Reply('It says "ready" [[e1]].', ())),
        ('{"answer_md": "It says "ready""}', Reply('It says "ready"', ())),
        ("Plain text with a mark [[e1]].", Reply("Plain text with a mark [[e1]].", ())),
        ("I used {braces} and {more}.", Reply("I used {braces} and {more}.", ())),
        ('{"note": 1} {"answer": ["a", "b"]}', Reply("a\nb", ())),
    ],
)  # fmt: skip
def test_a_reply_is_read_with_tolerance(text: str, reply: Reply) -> None:
    assert read_reply(text) == reply


@for_each("text", ["", "  ", '{"evidence": []}', '{"answer_md": ""}', "<think>so long", '{"answer_md": 3}',
                  "{\n}", "{", '{\n  "question": "What?"\n}', "[]", '[\n {"frames": 3}]'])  # fmt: skip
def test_what_holds_no_answer_is_malformed(text: str) -> None:
    with pytest.raises(ModelMalformed):
        read_reply(text)


@given(st.text(max_size=200) | st.text('{}[]":,e1 \\answer_md', max_size=80))
def test_any_text_is_a_reply_or_malformed(text: str) -> None:
    with contextlib.suppress(ModelMalformed):
        assert read_reply(text).answer_md


KNOWN = {"e1", "e2", "e3"}


@for_each(
    ("text", "numbered", "order", "unknown"),
    [
        ("Two [[e3]] and one [[e1]], again [[e3]].", "Two [1] and one [2], again [1].", ("e3", "e1"), 0),
        ("Both [[e1, e2]] [[e1][e2]] 【e2】 [e3].", "Both [1][2] [1][2] [3].", ("e1", "e2", "e3"), 0),
        ("Unknown [[e9]] and [[e9]], known [[e01]].", "Unknown and, known [1].", ("e1",), 1),
        ("Forged [1] and [23], real [[e1]].", "Forged (1) and [23], real [1].", ("e1",), 0),
        ('A [link](http://x.y/(z)) and ![p](//x "t").', "A link and p.", (), 0),
        ("Marked link [[e1]](http://evil).", "Marked link [1].", ("e1",), 0),
        ("Bare <https://x.y> stays text.", "Bare https://x.y stays text.", (), 0),
        ("[[e1]]: http://evil", "[1] : http://evil", ("e1",), 0),
        ("[a]: http://evil\nText.", "Text.", (), 0),
        ("Twice [[e1]] [[e1]].", "Twice [1].", ("e1",), 0),
        ("[2026] sshd[1234] arr[1] a[[e1]].", "[2026] sshd[1234] arr[1] a [1].", ("e1",), 0),
    ],
)
def test_citations_are_numbered_by_first_use_and_nothing_else_looks_like_one(
    text: str, numbered: str, order: tuple[str, ...], unknown: int
) -> None:
    result = number(text, KNOWN, (), "Evidence:")
    assert (result.answer_md, result.order, result.unknown) == (numbered, order, unknown)


def test_quoted_entries_without_a_mark_are_listed_at_the_end() -> None:
    result = number("Done [[e2]].", KNOWN, ["e1", "e2", "e8"], "Evidence:")
    assert (result.answer_md, result.order) == ("Done [1].\n\nEvidence: [2]", ("e2", "e1"))


def test_history_has_no_numbers() -> None:
    assert without_numbers("You wrote [1][2] code [3].") == "You wrote code."


_PARTS = st.sampled_from(
    [
        "The mast came in late and nobody had paid for it [[e1]]. ",
        "帆布的账单在六月三日到期，没有人付过。",
        "Action taken: the crew was asked, and agreed to wait. ",
        "```json\n[1]\n```\n",
        "```python\nfor sail in sails:\n    print(sail)\n\n    mend(sail)\n```\n",
        "\n\n- the first of the points\n- another [[e2, e3]]\n",
        "```text\n" + "what the log of the harbour says of the night\n" * 30 + "[TOOL_CALLS]\n```\n",
    ]
)


@settings(max_examples=12)  # each reads all of a long text for each piece of it, to compare
@given(
    st.lists(_PARTS, min_size=10, max_size=40).map("".join),
    st.sampled_from(["", '<tool_call>{"name": "look"}</tool_call>', "[TOOL_CALLS]"]),
    st.sampled_from(["", "<think>Let me look at the sails once more, and then answer. </think>"]),
    st.booleans(),
    st.integers(10, 60),
)
def test_an_answer_read_by_its_end_shows_what_all_of_it_shows(
    answer: str, call: str, thought: str, is_object: bool, size: int
) -> None:
    answer += call
    text = thought + (json.dumps({"answer_md": answer, "evidence": []}) if is_object else answer)
    buffer, shown, by_all = StreamBuffer(), "", ""
    for end in range(size, len(text) + size, size):
        shown += buffer.add(text[end - size : end])
        whole = visible_text(text[:end])
        by_all = whole if whole.startswith(by_all) else by_all
    assert (buffer.part, shown) == (1, by_all)
