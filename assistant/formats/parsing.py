"""How the text of a model becomes tool calls: three text formats, and the native one.

    parse(text, "llama31", {"get_frame": schema}) -> Parsed(prose, calls, errors)

No text raises. The rules are those of the specification of tool-call formats; its cases are the
tests (``tests/cases/tool_calls.json``). Each format has a module, all read JSON with `reading`
and hand what they find to one `Calls`, which numbers, checks and counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from assistant.formats import command_r, functionary, llama31
from assistant.formats.calls import Call, CallCollector, CallError, Parsed

__all__ = ["FORMATS", "MAX_BYTES", "Call", "CallError", "Format", "Parsed", "parse"]

Format = Literal["functionary", "command-r", "llama31"]
FORMATS: tuple[Format, ...] = ("functionary", "command-r", "llama31")
MAX_BYTES = 65_536

_READERS: dict[str, Callable[[str, CallCollector], str]] = {
    "functionary": functionary.read,
    "command-r": command_r.read,
    "llama31": llama31.read,
}


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
