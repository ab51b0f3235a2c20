"""How the text of a model becomes tool calls: the text formats, and the native one.

    parse(text, "llama31", {"get_frame": schema}) -> Parsed(prose, calls, errors)

No text raises. The rules are those of the specification of tool-call formats; its cases are the
tests (``tests/cases/tool_calls.json``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assistant.formats import text_formats
from assistant.formats.reader import MAX_CALLS as MAX_CALLS
from assistant.formats.reader import Broken, Reader
from assistant.formats.reader import Call as Call
from assistant.formats.reader import Parsed as Parsed

MAX_BYTES = 65_536


_WRITTEN = {
    "functionary": (
        "<function={name}>{arguments}</function>",
        "To call a tool, write nothing else than {example}, several in a row for several calls.",
    ),
    "command-r": (
        'Action: ```json\n[{{"tool_name": {quoted}, "parameters": {arguments}}}]\n```',
        "To call tools, write nothing else than Action: and a fenced block of JSON:\n{example}",
    ),
    "llama31": (
        '<|python_tag|>{{"name": {quoted}, "parameters": {arguments}}}',
        "To call a tool, write nothing else than <|python_tag|> and one JSON object: {example}",
    ),
    "hermes": (
        '<tool_call>\n{{"name": {quoted}, "arguments": {arguments}}}\n</tool_call>',
        "To call tools, write nothing else than JSON objects, each in its tag:\n{example}",
    ),
}
"""How models write a call into a text, with its `name` (`quoted` in JSON) and `arguments`, and how they are
told so."""
FORMATS: tuple[str, ...] = tuple(_WRITTEN)


def parse(text: str, form: str, known_tools: Mapping[str, Mapping[str, Any]]) -> Parsed:
    """The prose before the first marker, the calls, and what could not be used.

    `known_tools` are the tools offered in this turn, with their JSON Schemas. Raises `KeyError`
    for a format that is none of `FORMATS`, and nothing for any text.
    """
    reader = Reader(text, known_tools)

    def read() -> None:
        if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            raise Broken("too_long", f"The output is longer than {MAX_BYTES} bytes.")
        text_formats.read(reader, form)

    return reader.parsed(read)


def parse_any(text: str, form: str, known_tools: Mapping[str, Mapping[str, Any]]) -> Parsed:
    """The same of a model that may write its calls in any format, whatever is known of it: those in `form`,
    which it was told, "" for none; of the others those that can be made.

    What else is markup of a call is left out, with all behind it: nobody is shown it.
    """
    said = text_formats.END_TOKENS.sub("", text).strip()
    if form:
        parsed = parse(text, form, known_tools)
        if parsed.wanted:
            return replace(parsed, form=form)
        said = parsed.prose
    for other in FORMATS:
        parsed = parse(text_formats.unfenced(said), other, known_tools)
        if parsed.calls:
            return replace(parsed, form=other)
    marker = text_formats.first_marker(said)
    prose = said[: marker.start()].strip() if marker else said
    prose = "" if text_formats.is_nothing_but_calls(text_formats.unfenced(prose)) else prose
    return Parsed(prose, has_lost=prose != said)


# -- told in a prompt -------------------------------------------------------------------------


def call_as_text(name: str, arguments: Mapping[str, Any], form: str) -> str:
    """A call as a model with this text format writes it; "" for native calls."""
    if not form:
        return ""
    written = json.dumps(dict(arguments), ensure_ascii=False)
    return _WRITTEN[form][0].format(name=name, quoted=json.dumps(name), arguments=written)


def tools_as_text(definitions: Sequence[Mapping[str, Any]], form: str) -> str:
    """Tools for a model that is told of them in its prompt, and how it calls one."""
    lines = (json.dumps(definition, ensure_ascii=False) for definition in definitions)
    example = call_as_text("NAME", {"argument": "value"}, form)
    return "\n".join(["Tools, one JSON object a line:", *lines, _WRITTEN[form][1].format(example=example)])


# -- native calls -----------------------------------------------------------------------------


def parse_message(message: Mapping[str, Any], known_tools: Mapping[str, Mapping[str, Any]]) -> Parsed:
    """The content as prose and the calls, as an OpenAI-compatible server parsed them. Raises nothing.

    Content is never searched for calls.
    """
    content = message.get("content")
    reader = Reader(content if isinstance(content, str) else "", known_tools)

    def read() -> None:
        for given in message.get("tool_calls") or ():
            match given:
                case {"function": {"name": str(name), **function}}:
                    reader.add(name, function.get("arguments"), given.get("id"))
                case _:
                    given_id = given.get("id") if isinstance(given, Mapping) else None
                    reader.error(Broken("malformed", "A call names a function.", named=("unknown", given_id)))

    return reader.parsed(read)


# -- what may be shown of a growing output ----------------------------------------------------
#
# A marker comes in pieces. Whatever could still become one is held back until it cannot, so what was shown
# once always stays the beginning of the prose that `parse` gives in the end.

_TAG_BEGUN = r"<[|｜/]?[\w=.▁-]*[|｜]?|\[[A-Z_]*"
_ACTION_BEGUN = rf"A(?:c(?:t(?:i(?:on?)?)?)?)?|Action:\s*(?:`{{1,2}}|```(?:j|js|jso)?|{_TAG_BEGUN})?"
_FENCE_BEGUN = r"^ {0,3}(?:`{1,2}|```(?:j|js|jso|json)?[ \t]*)"
_MAY_BE_CALLS = re.compile(r"\s*(?:```\w*\s*)?(?:\{|\[\s*(?:[{\]]|\Z)|\Z)")
"""How an output begins that may be calls as a whole."""
_BEGUN = re.compile(rf"(?:{_TAG_BEGUN}|{_ACTION_BEGUN}|{_FENCE_BEGUN})\Z", re.MULTILINE)
_FENCE_TO_END = re.compile(
    rf"{text_formats.PLAIN_FENCE.pattern}(?!.*?^ {{0,3}}```+[ \t]*\n\s*\S)", re.MULTILINE | re.DOTALL
)
"""A fence that counts as calls when nothing follows it."""


def certain_prose(text: str) -> str:
    """The part of an unfinished output that is prose for certain, whatever format calls are in; trimmed."""
    if _MAY_BE_CALLS.match(text):
        return ""
    marker = text_formats.first_marker(text)
    text = text[: marker.start()] if marker else text
    open_ends = (found.start() for found in (_BEGUN.search(text), _FENCE_TO_END.search(text)) if found)
    return text_formats.END_TOKENS.sub("", text[: min(open_ends, default=len(text))]).strip()


def is_prose_behind(text: str) -> bool:
    """Whether an output goes on as prose behind `text`: in no fence, and behind no marker."""
    marker = "<tool_call>"
    found = text_formats.first_marker(text + marker)
    return found is not None and found.end() == len(text) + len(marker)
