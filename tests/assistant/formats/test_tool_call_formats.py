"""Every parser, every case of the shared vectors, and no text that raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant.core.texts import neutralized
from assistant.formats.parsing import (
    FORMATS,
    MAX_BYTES,
    Parsed,
    call_as_text,
    certain_prose,
    parse,
    parse_any,
    parse_message,
)
from tests.factories import CASES as FOLDER
from tests.tables import for_each

CASES = json.loads((FOLDER / "tool_calls.json").read_text(encoding="utf-8"))
TOOLS: dict[str, Any] = CASES["tools"]


def known(case: dict[str, Any]) -> dict[str, Any]:
    return {name: TOOLS[name] for name in case.get("known_tools", CASES["default_known_tools"])}


def output(case: dict[str, Any]) -> str:
    if "output" in case:
        return str(case["output"])
    parts = case["output_parts"]
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts)


def exactly(value: Any) -> str:
    """JSON text tells 42 from 42.0 and from true, which == does not."""
    return json.dumps(value, sort_keys=True)


def check(found: Parsed, expect: dict[str, Any]) -> None:
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in found.calls]
    assert exactly(calls) == exactly(expect["calls"])
    errors = [call for call in found.wanted if call.error]
    assert len(errors) == len(expect["errors"]), errors
    for error, wanted in zip(errors, expect["errors"], strict=True):
        assert {key: getattr(error, key) for key in wanted} == wanted
    if "prose" in expect:
        assert found.prose == expect["prose"]
    else:
        assert len(found.prose) == expect["prose_chars"]


@for_each("case", CASES["cases"], ids=lambda case: case["id"])
def test_the_shared_cases(case: dict[str, Any]) -> None:
    check(parse(output(case), case["format"], known(case)), case["expect"])


@for_each("case", CASES["native_cases"], ids=lambda case: case["id"])
def test_the_native_cases(case: dict[str, Any]) -> None:
    check(parse_message(case["message"], known(case)), case["expect"])


PIECES = st.sampled_from(
    [
        "<function_calls>", "</function_calls>", '<invoke name="', '">', "</invoke>", '<parameter name="',
        "</parameter>", "<function=get_frame>", "</function>", '<function_call name="get_frame">',
        "</function_call>", "<|python_tag|>", "<|START_ACTION|>", "<|END_ACTION|>", "<|eom_id|>", "Action: ",
        "<tool_call>", "</tool_call>", "[TOOL_CALLS]",
        "```json\n", "```\n", "\n",
        '{"name": "get_frame", "parameters": {"frame_id": 1}}', "[", "]", "{", "}",
        ",", ";", '"', "\\", "get_frame", "directly_answer", 'brave_search.call(query="', ")", "&lt;",
        "1e999", "NaN", "[" * 40, "\ud800", "\x00", "会",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=14).map("".join)


@pytest.mark.parametrize("form", FORMATS)
@given(text=TEXTS)
def test_no_text_raises_and_no_unknown_tool_is_called(form: str, text: str) -> None:
    found = parse(text, form, known({}))
    assert {call.name for call in found.calls} <= set(CASES["default_known_tools"])
    assert len(found.calls) <= 16
    assert len({call.id for call in found.calls}) == len(found.calls)
    assert all(isinstance(call.arguments, dict) for call in found.calls)


@for_each("form", FORMATS)
@for_each("piece", ["[", '{"a":', "<function=get_frame>{", "`", "<invoke name=", '"\\'])
def test_the_largest_output_is_read_in_linear_time(form: str, piece: str) -> None:
    text = (piece * MAX_BYTES)[:MAX_BYTES]
    for opening in ("", "<function_calls>", "<|python_tag|>", "<|START_ACTION|>["):
        parse((opening + text)[:MAX_BYTES], form, known({}))


@given(text=TEXTS)
def test_neutral_text_calls_nothing(text: str) -> None:
    """Whatever stands on a screen, its copy in a prompt holds no call."""
    copy = neutralized(text)
    assert neutralized(copy) == copy
    assert not parse(copy, "functionary", known({})).calls


def test_only_markup_is_made_neutral() -> None:
    call = '<|python_tag|>{"name": "get_frame"} <function=x>{}</function> <|<|eom_id|>eot_id|>'
    assert neutralized(f"if a < b: <b>bold</b> {call}") == (
        'if a < b: <b>bold</b> {"name": "get_frame"} &lt;function=x>{}&lt;/function> '
    )


SHORT = [case for case in CASES["cases"] if len(output(case)) < 2_000]


@for_each("case", SHORT, ids=lambda case: case["id"])
def test_what_was_shown_stays_the_beginning_of_the_prose(case: dict[str, Any]) -> None:
    text, form = output(case), case["format"]
    prose = parse(text, form, known(case)).prose
    assert all(prose.startswith(certain_prose(text[:end])) for end in range(len(text) + 1))


@pytest.mark.parametrize("form", FORMATS)
@given(text=TEXTS)
def test_no_markup_is_ever_shown(form: str, text: str) -> None:
    prose = parse(text, form, known({})).prose
    assert all(prose.startswith(certain_prose(text[:end])) for end in range(len(text) + 1))


def test_prose_is_shown_as_it_comes() -> None:
    text = "You wrote `a < b` and then closed the laptop"
    assert certain_prose(text) == text


@for_each("text", ["In [2026] it was 3.", "[2026]", "sshd[1234]: done", "arr[100] = 1", "[1][2]", "[e1]"])
@for_each("form", FORMATS)
def test_numbers_in_brackets_are_prose(form: str, text: str) -> None:
    assert parse(text, form, known({})) == Parsed(text)
    assert parse_message({"content": text}, known({})) == Parsed(text)


# -- whatever was found out of a model ------------------------------------------------------

CALL = '{"name": "get_frame", "arguments": {"frame_id": 42}}'
WRITTEN = {
    f"<tool_call>\n{CALL}\n</tool_call>": "hermes",
    f"Ich sehe nach.\n<tool_call>{CALL}": "hermes",
    f"[TOOL_CALLS][{CALL}]": "hermes",
    f"[{CALL}]": "command-r",
    f"```json\n[{CALL}]\n```": "command-r",
    f"```json\n{CALL}\n```": "llama31",
    f"```\n{CALL}\n```": "llama31",
    f"{CALL}<|eot_id|>": "llama31",
    '<function=get_frame>{"frame_id": "42"}</function>': "functionary",
    f"<|START_ACTION|>[{CALL}]<|END_ACTION|>": "command-r",
}


@for_each(("text", "form"), WRITTEN.items())
@for_each("told", ["", "llama31"])
def test_a_call_is_read_in_whatever_format_it_is_written(text: str, form: str, told: str) -> None:
    parsed = parse_any(text, told, known({}))
    assert [(call.name, call.arguments) for call in parsed.calls] == [("get_frame", {"frame_id": 42})]
    assert parsed.form in (form, told) and "{" not in parsed.prose


@for_each(
    ("text", "prose"),
    [
        ('<tool_call>{"name": "make_coffee", "arguments": {}}</tool_call>', ""),
        ('Gleich.\n<tool_call>{"name": "get_frame", "argum', "Gleich."),
        ('[{"name": "make_coffee", "parameters": {}}]', ""),
        ('```json\n{"name": "make_coffee", "arguments": {}}\n```', ""),
        ("好的。<｜tool▁calls▁begin｜>get_frame", "好的。"),
        ("<tool_call>get_frame\n<arg_key>frame_id</arg_key></tool_call>", ""),
    ],
)
def test_markup_of_a_call_that_cannot_be_made_is_left_out(text: str, prose: str) -> None:
    assert parse_any(text, "", known({})) == Parsed(prose, has_lost=True)


@for_each(
    "text",
    [
        "The crane comes at 07:30 [[e1]].",
        "[2026] was wet. [e1]",
        "A call looks like this:\n```json\n" + CALL + "\n```\nand is made by the model.",
        'He is listed: [{"name": "Ada", "age": 36}]',
        "Write `a < b` and [TODO] notes.",
    ],
)
def test_an_answer_stays_as_it_is(text: str) -> None:
    assert parse_any(text, "", known({})) == Parsed(text)


@given(text=TEXTS)
def test_what_is_shown_of_any_output_is_the_beginning_of_what_it_says(text: str) -> None:
    prose = parse_any(text, "", known({})).prose
    assert all(prose.startswith(certain_prose(text[:end])) for end in range(len(text) + 1))


# -- a call that is made before the model is asked, written as a model of each format writes it ----------

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}


@for_each("form", FORMATS)
@for_each("arguments", [{"path": '/notes/计划 "a".txt', "lines": 3}, {"path": "</function>```\n"}, {}])
def test_a_written_call_reads_as_itself(form: str, arguments: dict[str, object]) -> None:
    text = call_as_text("read_file", arguments, form)
    parsed = parse(text, form, {"read_file": SCHEMA})
    assert [(call.name, dict(call.arguments)) for call in parsed.calls] == [("read_file", arguments)]
    assert parsed.calls == list(parsed.wanted) and not parsed.prose


def test_a_native_call_is_no_text() -> None:
    assert call_as_text("read_file", {}, "") == ""
