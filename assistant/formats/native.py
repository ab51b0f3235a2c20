"""Tool calls as an OpenAI-compatible server parses them: the message says what was called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.formats.calls import CallCollector, Parsed, Stop

EMPTY: Mapping[str, Any] = {}


def parse_message(message: Mapping[str, Any], known_tools: Mapping[str, Mapping[str, Any]]) -> Parsed:
    """The content as prose, never searched for markers, and the calls. Raises nothing."""
    calls = CallCollector(known_tools)
    content = message.get("content")
    try:
        for each in message.get("tool_calls") or ():
            _add(each, calls)
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
