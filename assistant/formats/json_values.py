"""Reading JSON out of the middle of a model's text, and telling its code fences.

A value is read from where it begins to where its brackets close, counted outside strings, so that
a closing tag inside a string ends nothing. Broken JSON is never repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NoReturn

MAX_DEPTH = 32
Code = Literal["too_deep", "unterminated", "malformed"]

OPENING_FENCE = re.compile(r"^ {0,3}(`{3,})[^`\n]*$", re.MULTILINE)
_SPACE = re.compile(r"\s*")
_TELLING = re.compile(r'["\[\]{}]')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SCALAR_END = re.compile(r"[,\]}\s]")


class InvalidJson(Exception):
    """A value that cannot be used. `resume` is where reading may go on; None ends it."""

    def __init__(self, code: Code, message: str, resume: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.resume = resume


def after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def read_value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """(value, where it ends) of the object, array or scalar that begins at `at`.

    `depth` counts the brackets around it. Raises `InvalidJson`.
    """
    end = _end_of_value(text, at, depth)
    try:
        return _DECODER.decode(text[at:end]), end
    except (ValueError, RecursionError) as error:
        raise InvalidJson("malformed", f"This is not JSON: {error}"[:200], end) from error


def decoded(text: str) -> Any:
    """A whole text as one JSON value. Raises `InvalidJson`."""
    start = after_space(text, 0)
    value, end = read_value(text, start)
    if after_space(text, end) != len(text):
        raise InvalidJson("malformed", "There is more than one value.")
    return value


def _end_of_value(text: str, at: int, depth: int) -> int:
    if text[at : at + 1] not in ("{", "["):
        return _end_of_scalar(text, at)
    outer = depth
    for bracket_at in _outside_strings(text, at):
        if bracket_at is None:
            break
        if text[bracket_at] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidJson("too_deep", f"A value is nested deeper than {MAX_DEPTH} levels.")
        else:
            depth -= 1
            if depth == outer:
                return bracket_at + 1
    raise InvalidJson("unterminated", "The output ends inside a value.")


def _outside_strings(text: str, at: int) -> Iterator[int | None]:
    """Places of brackets from `at` on; None when a string never ends."""
    while token := _TELLING.search(text, at):
        if token.group() != '"':
            yield token.start()
            at = token.end()
            continue
        string = _STRING.match(text, token.start())
        if string is None:
            yield None
            return
        at = string.end()


def _end_of_scalar(text: str, at: int) -> int:
    string = _STRING.match(text, at)
    if string:
        return string.end()
    if text.startswith('"', at):
        raise InvalidJson("unterminated", "The output ends inside a string.")
    end = _SCALAR_END.search(text, at)
    return end.start() if end else len(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)


# -- code fences ------------------------------------------------------------------------------


def first_outside_fences(text: str, marker: re.Pattern[str]) -> re.Match[str] | None:
    """The first marker that does not stand in a code fence. An unclosed fence reaches to the end."""
    at = 0
    while hit := marker.search(text, at):
        fence = OPENING_FENCE.search(text, at)
        if fence is None or hit.start() < fence.start():
            return hit
        at = end_of_fence(text, fence)
    return None


def end_of_fence(text: str, fence: re.Match[str]) -> int:
    """Where a fence ends: behind a line of as many backticks and nothing else."""
    closing = re.compile(rf"^ {{0,3}}`{{{len(fence[1])},}}[ \t]*$", re.MULTILINE)
    line = closing.search(text, fence.end())
    return line.end() if line else len(text)


# -- values brought to the type their schema names --------------------------------------------
#
# Models write numbers as text and whole numbers with a decimal point. What cannot be brought stays
# as it is; the schema check before execution refuses it then.

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_TRUTHS = {"true": True, "false": False}


def coerced(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with their top-level values coerced by `schema`."""
    ways = {name: _COERCIONS.get(type_of(schema, name)) for name in arguments}
    return {name: way(arguments[name]) if way else arguments[name] for name, way in ways.items()}


def type_of(schema: Mapping[str, Any], name: str) -> str | None:
    """The one type a property has; None when it has none or several."""
    properties = schema.get("properties")
    declared = properties.get(name) if isinstance(properties, Mapping) else None
    kind = declared.get("type") if isinstance(declared, Mapping) else None
    return kind if isinstance(kind, str) else None


def _integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        try:
            return int(value)
        except ValueError:  # more digits than Python converts
            return value
    return value


def _number(value: Any) -> Any:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return value
    try:
        return float(value) if any(letter in value for letter in ".eE") else int(value)
    except ValueError:
        return value


def _boolean(value: Any) -> Any:
    return _TRUTHS.get(value.lower(), value) if isinstance(value, str) else value


def _decoded_as(kind: type) -> Callable[[Any], Any]:
    def coerce(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        try:
            parsed = decoded(value)
        except InvalidJson:
            return value
        return parsed if isinstance(parsed, kind) else value

    return coerce


_COERCIONS: dict[str | None, Callable[[Any], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _decoded_as(list),
    "object": _decoded_as(dict),
}
