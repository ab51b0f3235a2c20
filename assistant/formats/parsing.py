"""How the text of a model becomes tool calls: three text formats, and the native one.

    parse(text, "llama31", {"get_frame": schema}) -> Parsed(prose, calls, errors)

No text raises. The rules are those of the specification of tool-call formats; its cases are the
tests (``tests/cases/tool_calls.json``). Each format has a module, all read JSON with `json_values`
and hand what they find to one `CallCollector`, which numbers, checks and counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from assistant.formats import command_r, functionary, llama31
from assistant.formats.calls import Call, CallCollector, CallError, Parsed, Stop
from assistant.formats.json_values import first_outside_fences

__all__ = ["FORMATS", "MAX_BYTES", "Call", "CallError", "Format", "Parsed", "parse", "tools_as_text"]

Format = Literal["functionary", "command-r", "llama31"]
FORMATS: tuple[Format, ...] = ("functionary", "command-r", "llama31")
MAX_BYTES = 65_536

_READERS = {"functionary": functionary.read, "command-r": command_r.read, "llama31": llama31.read}


def parse(text: str, form: str, known_tools: Mapping[str, Mapping[str, Any]]) -> Parsed:
    """The prose before the first marker, the calls, and what could not be used.

    `known_tools` are the tools offered in this turn, with their JSON Schemas. Raises `KeyError`
    for a format that is none of `FORMATS`, and nothing for any text.
    """
    read = _READERS[form]
    calls = CallCollector(known_tools)
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        calls.error("too_long", f"The output is longer than {MAX_BYTES} bytes.", text[:200])
        return Parsed(text.strip(), (), tuple(calls.errors))
    return Parsed(read(text, calls).strip(), tuple(calls.found), tuple(calls.errors))


_HELP = {
    "functionary": 'To call a tool, write nothing else than <function=NAME>{"argument": "value"}</function>, '
    "several in a row for several calls.",
    "command-r": "To call tools, write nothing else than Action: and a fenced block of JSON:\n"
    'Action: ```json\n[{"tool_name": "NAME", "parameters": {"argument": "value"}}]\n```',
    "llama31": "To call a tool, write nothing else than <|python_tag|> and one JSON object: "
    '<|python_tag|>{"name": "NAME", "parameters": {"argument": "value"}}',
}


def tools_as_text(definitions: Sequence[Mapping[str, Any]], form: str) -> str:
    """Tools for a model that is told of them in its prompt, and how it calls one."""
    lines = (json.dumps(definition, ensure_ascii=False) for definition in definitions)
    return "\n".join(["Tools, one JSON object a line:", *lines, _HELP[form]])


# -- native calls -----------------------------------------------------------------------------
#
# Tool calls as an OpenAI-compatible server parses them: the message says what was called.


def parse_message(message: Mapping[str, Any], known_tools: Mapping[str, Mapping[str, Any]]) -> Parsed:
    """The content as prose and the calls. Raises nothing.

    Content is never searched for calls. What a server left of one in it is no prose.
    """
    calls = CallCollector(known_tools)
    content = message.get("content")
    try:
        for call in message.get("tool_calls") or ():
            _add(call, calls)
    except Stop:
        pass
    prose = _before_marker(content, "").strip() if isinstance(content, str) else ""
    return Parsed(prose, tuple(calls.found), tuple(calls.errors))


def _add(call: object, calls: CallCollector) -> None:
    function = call.get("function") if isinstance(call, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(name, str):
        calls.error("malformed", "A call names a function.", repr(call))
        return
    calls.add(name, function.get("arguments"), repr(function.get("arguments")), call.get("id"))


# -- what may be shown of a growing output ----------------------------------------------------
#
# A marker comes in pieces. Whatever could still become one is held back until it cannot, so what
# was shown once always stays the beginning of the prose that `parse` gives in the end. The form "" is
# that of native calls: what servers leave of a call in a text is markup of any format.

_TAG_BEGUN = r"<[|/]?[\w=.-]*\|?"
_ACTION_BEGUN = rf"A(?:c(?:t(?:i(?:on?)?)?)?)?|Action:\s*(?:`{{1,2}}|```(?:j|js|jso)?|{_TAG_BEGUN})?"
_FENCE_BEGUN = r"^ {0,3}(?:`{1,2}|```(?:j|js|jso|json)?[ \t]*)"
_BEGUN = {
    "": re.compile(rf"(?:{_TAG_BEGUN}|\[[A-Z_]*)\Z"),
    "functionary": re.compile(rf"{_TAG_BEGUN}\Z"),
    "command-r": re.compile(rf"(?:{_TAG_BEGUN}|{_ACTION_BEGUN}|{_FENCE_BEGUN})\Z", re.MULTILINE),
    "llama31": re.compile(rf"{_TAG_BEGUN}\Z"),
}
_MARKERS = {
    "": re.compile(  # a function in the middle of a line is spoken of
        rf"<\|\w+\|>|</?tool_call>|\[TOOL_(?:CALLS|REQUEST)\]|^[ \t]*(?:{functionary.MARKER.pattern})",
        re.ASCII | re.MULTILINE,
    ),
    "functionary": functionary.MARKER,
    "command-r": command_r.MARKER,
    "llama31": llama31.MARKER,
}
_WHOLE = {"command-r": "[", "llama31": "{"}
"""What an output begins with that may be calls as a whole."""


def certain_prose(text: str, form: str) -> str:
    """The part of an unfinished output that is prose for certain, trimmed."""
    if form in _WHOLE and text.lstrip().startswith(_WHOLE[form]):
        return ""
    text = _before_marker(text, form)
    begun = _BEGUN[form].search(text)
    end = begun.start() if begun else len(text)
    text = text[: min(end, _open_plain_fence(text))] if form == "command-r" else text[:end]
    return (llama31.END_TOKENS.sub("", text) if form == "llama31" else text).strip()


def _before_marker(text: str, form: str) -> str:
    marker = first_outside_fences(text, _MARKERS[form])
    return text[: marker.start()] if marker else text


def _open_plain_fence(text: str) -> int:
    """Where a fence begins that counts as calls when nothing follows it; the length of the text for none."""
    for fence in command_r.PLAIN.finditer(text):
        closing = re.compile(r"^ {0,3}```+[ \t]*\n\s*\S", re.MULTILINE)
        if not closing.search(text, fence.end()):
            return fence.start()
    return len(text)
