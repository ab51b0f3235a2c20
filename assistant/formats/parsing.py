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
    """The content as prose, never searched for markers, and the calls. Raises nothing."""
    calls = CallCollector(known_tools)
    content = message.get("content")
    try:
        for call in message.get("tool_calls") or ():
            _add(call, calls)
    except Stop:
        pass
    prose = content.strip() if isinstance(content, str) else ""
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
# was shown once always stays the beginning of the prose that `parse` gives in the end.

_FUNCTION_BEGUN = re.compile(r"<function=(?:[A-Za-z_][A-Za-z0-9_.-]*)?\Z")
_ACTION_BEGUN = re.compile(r"Action:\s*(?:`{1,2}|```(?:j|js|jso)?)?\Z")
_FENCE_BEGUN = re.compile(r"^ {0,3}(?:`{1,2}|```(?:j|js|jso|json)?[ \t]*)\Z", re.MULTILINE)
_TOKENS = {
    "functionary": ("<function_calls>", "<function="),
    "command-r": ("<|START_ACTION|>", "Action:"),
    "llama31": ("<|python_tag|>", "<function=", "<|eom_id|>", "<|eot_id|>"),
}
_MARKERS = {"functionary": functionary.MARKER, "command-r": command_r.MARKER, "llama31": llama31.MARKER}
_WHOLE = {"functionary": "", "command-r": "[", "llama31": "{"}
"""What an output begins with that may be calls as a whole."""


def certain_prose(text: str, form: str) -> str:
    """The part of an unfinished output that is prose for certain, trimmed."""
    if _WHOLE[form] and text.lstrip().startswith(_WHOLE[form]):
        return ""
    marker = first_outside_fences(text, _MARKERS[form])
    text = text[: marker.start()] if marker else text
    text = text[: _marker_begun(text, form)]
    return (llama31.END_TOKENS.sub("", text) if form == "llama31" else text).strip()


def _marker_begun(text: str, form: str) -> int:
    """Where something begins that may become a marker; the length of the text when nothing does."""
    places = [_token_begun(text, token) for token in _TOKENS[form]]
    patterns = [_ACTION_BEGUN, _FENCE_BEGUN] if form == "command-r" else [_FUNCTION_BEGUN]
    places += [hit.start() for pattern in patterns if (hit := pattern.search(text))]
    if form == "command-r":
        places += [_open_plain_fence(text)]
    return min([*places, len(text)])


def _token_begun(text: str, token: str) -> int:
    """Where the longest end of `text` that begins `token` starts."""
    for length in range(min(len(token) - 1, len(text)), 0, -1):
        if text.endswith(token[:length]):
            return len(text) - length
    return len(text)


def _open_plain_fence(text: str) -> int:
    """A fence of calls counts when nothing follows it, so it waits for what follows."""
    for fence in command_r.PLAIN.finditer(text):
        closing = re.compile(r"^ {0,3}```+[ \t]*\n\s*\S", re.MULTILINE)
        if not closing.search(text, fence.end()):
            return fence.start()
    return len(text)
