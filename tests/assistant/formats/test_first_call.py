"""A call that is made before the model is asked, written as a model of each format writes it."""

from __future__ import annotations

from assistant.formats.parsing import call_as_text, parse
from tests.tables import for_each

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}


@for_each("form", ["functionary", "command-r", "llama31", "hermes"])
@for_each("arguments", [{"path": '/notes/计划 "a".txt', "lines": 3}, {"path": "</function>```\n"}, {}])
def test_a_written_call_reads_as_itself(form: str, arguments: dict[str, object]) -> None:
    text = call_as_text("read_file", arguments, form)
    parsed = parse(text, form, {"read_file": SCHEMA})
    assert [(call.name, dict(call.arguments)) for call in parsed.calls] == [("read_file", arguments)]
    assert parsed.calls == list(parsed.wanted) and not parsed.prose


def test_a_native_call_is_no_text() -> None:
    assert call_as_text("read_file", {}, "") == ""
