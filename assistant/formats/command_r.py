"""Command-R: an array of calls after ``Action:`` in a fence, between two tokens, or alone.

::

    output = ( [ prose ] , [ "Action:" ] , ( fence | tagged ) ) | array
    fence  = "```json" , array , "```"
    tagged = "<|START_ACTION|>" , ( array | call ) , "<|END_ACTION|>"
"""

from __future__ import annotations

import re
from collections.abc import Callable

from assistant.formats.calls import CallCollector, Stop, has_arguments, name_of
from assistant.formats.functionary import read_array, read_json
from assistant.formats.json_values import OPENING_FENCE, InvalidJson, after_space, end_of_fence, read_value

_ACTION = r"Action:\s*```json"
_START, _END = "<|START_ACTION|>", "<|END_ACTION|>"
MARKER = re.compile(rf"(?:Action:\s*)?{re.escape(_START)}|{_ACTION}")
PLAIN = re.compile(r" {0,3}```json[ \t]*$", re.MULTILINE)
_ANSWERS = frozenset({"directly_answer", "directly-answer"})


def read(text: str, calls: CallCollector) -> str:
    """The prose; the calls go into `calls`."""
    calls.silent = _ANSWERS
    whole = text.strip()
    if whole.startswith("[") and _is_bare(whole):
        return _after_all(calls, "", _stopped_at(whole, lambda: read_array(whole, 0, calls)))
    marker = _first_marker(text, calls)
    if marker is None:
        return text
    rest = _stopped_at(text, lambda: _read_marked(text, marker, calls))
    return _after_all(calls, text[: marker.start()], rest)


def _stopped_at(text: str, reading: Callable[[], int]) -> str:
    """What follows the calls; nothing where reading was stopped."""
    try:
        return text[reading() :]
    except Stop:
        return ""


def _after_all(calls: CallCollector, before: str, rest: str) -> str:
    """The prose: what stands before the calls, and around them when they say "no call"."""
    if calls.found or calls.errors:
        return before
    return "\n".join(part for part in (before.strip(), rest.strip()) if part)


def _first_marker(text: str, calls: CallCollector) -> re.Match[str] | None:
    """The first marker outside other code fences; a plain fence is one when it can only be calls."""
    at = 0
    while True:
        marker, fence = MARKER.search(text, at), OPENING_FENCE.search(text, at)
        if fence is None or (marker and marker.start() < fence.start()):
            return marker
        plain = PLAIN.match(text, fence.start())
        if plain and _is_calls_to_the_end(text, plain.end(), calls):
            return plain
        at = end_of_fence(text, fence)


def _is_calls_to_the_end(text: str, at: int, calls: CallCollector) -> bool:
    """Whether an array of known calls and the end of its fence are all that is left."""
    try:
        value, end = read_value(text, after_space(text, at))
    except InvalidJson:
        return False
    known = isinstance(value, list) and value and all(name_of(call) in calls.known_tools for call in value)
    return bool(known) and text[end:].strip() == "```"


def _is_bare(whole: str) -> bool:
    """Whether the whole output is an array of calls: a list of people with names is none."""
    try:
        value, end = read_value(whole, 0)
    except InvalidJson:
        return False
    return end == len(whole) and all(name_of(call) and has_arguments(call) for call in value)


def _read_marked(text: str, marker: re.Match[str], calls: CallCollector) -> int:
    """The calls behind a marker; returns where they end. Raises `Stop`."""
    tagged = marker.group().endswith(_START)
    close = _END if tagged else "```"
    at = after_space(text, marker.end())
    if text.startswith("[", at):
        at = read_array(text, at, calls)
    elif tagged and text.startswith("{", at):
        at = read_json(text, at, calls)
    elif at == len(text):
        calls.broken(InvalidJson("unterminated", "The calls are missing."), text[marker.start() :])
    else:
        calls.error("malformed", "An array of calls is expected here.", text[at : at + 200])
        return len(text)
    at = after_space(text, at)
    if text.startswith(close, at):
        return at + len(close)
    if at == len(text):
        calls.broken(InvalidJson("unterminated", f"{close} is missing."), text[marker.start() :])
    calls.error("malformed", f"{close} is missing.", text[at : at + 200])
    return len(text)
