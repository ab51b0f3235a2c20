"""Llama 3.1: a tag and objects behind it, a function tag, or a bare call as the whole output.

::

    output  = [ prose ] , [ "<|python_tag|>" ] , body , [ "<|eom_id|>" | "<|eot_id|>" ]
    body    = call , { ( ";" | WS ) , call } | builtin | fn
    builtin = ("brave_search"|"wolfram_alpha") , ".call(" , "query=" , STRING , ")"

Code behind the tag is never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from assistant.formats.calls import CallCollector, Stop, has_arguments, name_of
from assistant.formats.functionary import FUNCTION, NAME, read_functions, read_json
from assistant.formats.json_values import Code, InvalidJson, after_space, first_outside_fences, read_value

_TAG = "<|python_tag|>"
MARKER = re.compile(rf"{re.escape(_TAG)}|<function={NAME}>")
END_TOKENS = re.compile(r"(?:\s*<\|(?:eom_id|eot_id)\|>)+\s*$")
_BUILTIN = re.compile(r"(brave_search|wolfram_alpha)\.call\(\s*query\s*=\s*(?=\")")


def read(text: str, calls: CallCollector) -> str:
    """The prose; the calls go into `calls`."""
    text = END_TOKENS.sub("", text)
    marker = first_outside_fences(text, MARKER)
    try:
        if marker is None:
            return _read_bare(text, calls)
        if marker.group() == _TAG:
            _read_tagged(text, after_space(text, marker.end()), calls)
        else:
            read_functions(text, marker.start(), calls)
    except Stop:
        pass
    return text[: marker.start()] if marker else ""


def _read_bare(text: str, calls: CallCollector) -> str:
    """Calls without a tag: only when they are known ones and nothing else is there."""
    try:
        objects = list(_objects(text.strip()))
    except InvalidJson:
        return text
    known = (name_of(value) in calls.known_tools and has_arguments(value) for value, _ in objects)
    if not objects or not all(known):
        return text
    for value, raw in objects:
        calls.add_object(value, raw)
    return ""


def _objects(text: str) -> Iterator[tuple[dict[str, Any], str]]:
    """(object, its text) one after another. Raises `InvalidJson` where anything else stands."""
    at = 0
    while at < len(text):
        if text[at] != "{":
            raise InvalidJson("malformed", "no object")
        value, end = read_value(text, at)
        yield value, text[at:end]
        at = _next_object(text, end)


def _next_object(text: str, at: int) -> int:
    at = after_space(text, at)
    return after_space(text, at + 1) if text.startswith(";", at) else at


def _read_tagged(text: str, at: int, calls: CallCollector) -> None:
    """What stands behind the tag. Raises `Stop`."""
    if FUNCTION.match(text, at):
        read_functions(text, at, calls)
    elif builtin := _BUILTIN.match(text, at):
        _read_builtin(text, builtin, calls)
    elif text.startswith("{", at):
        while text.startswith("{", at):
            at = _next_object(text, read_json(text, at, calls, raw_chars=len(text)))
    else:
        calls.error("malformed", "Only a call may stand behind the tag; code is never run.", text[at:])


def _read_builtin(text: str, builtin: re.Match[str], calls: CallCollector) -> None:
    try:
        query, end = read_value(text, builtin.end())
    except InvalidJson as problem:
        calls.broken(problem, text[builtin.start() :])
        return
    calls.add(builtin[1], {"query": query}, text[builtin.start() : end])
    at = after_space(text, end)
    if not text.startswith(")", at):
        code: Code = "unterminated" if at == len(text) else "malformed"
        calls.error(code, "The call is not closed.", text[builtin.start() : at + 50])
