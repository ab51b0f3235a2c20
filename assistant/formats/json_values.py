"""Reading JSON out of the middle of a model's text, and bringing values to the types of a schema.

A value is read from where it begins to where its brackets close, counted outside strings, so that
a closing tag inside a string ends nothing. Broken JSON is never repaired.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal, NoReturn

MAX_DEPTH = 32
ErrorCode = Literal[
    "too_long", "too_many_calls", "bad_arguments", "unknown_tool", "too_deep", "unterminated", "malformed"
]

_SPACE = re.compile(r"\s*")
_STRING = r'"(?:[^"\\]|\\.)*"'
_TELLING = re.compile(rf'{_STRING}|["\[\]{{}}]', re.DOTALL)
_SCALAR = re.compile(rf'{_STRING}|(?!")[^,\]}}\s]*', re.DOTALL)


class Broken(Exception):
    """What cannot be used. `resume` is where reading may go on; None ends it."""

    def __init__(self, code: ErrorCode, message: str, resume: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.resume = resume


def after_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def read_value(text: str, at: int, depth: int = 0) -> tuple[Any, int]:
    """(value, where it ends) of the object, array or scalar that begins at `at`.

    `depth` counts the brackets around it. Raises `Broken`.
    """
    end = _end_of_value(text, at, depth)
    try:
        return _DECODER.decode(text[at:end]), end
    except (ValueError, RecursionError) as error:
        raise Broken("malformed", f"This is not JSON: {error}"[:200], end) from error


def decoded(text: str) -> Any:
    """A whole text as one JSON value. Raises `Broken`."""
    value, end = read_value(text, after_space(text, 0))
    if after_space(text, end) != len(text):
        raise Broken("malformed", "There is more than one value.")
    return value


def _end_of_value(text: str, at: int, depth: int) -> int:
    if text[at : at + 1] not in ("{", "["):
        scalar = _SCALAR.match(text, at)
        if scalar is None:
            raise Broken("unterminated", "The output ends inside a string.")
        return scalar.end()
    outer = depth
    for token in _TELLING.finditer(text, at):
        if token[0] == '"':  # a string that never ends
            break
        if token[0] in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise Broken("too_deep", f"A value is nested deeper than {MAX_DEPTH} levels.")
        elif token[0] in "]}":
            depth -= 1
            if depth == outer:
                return token.end()
    raise Broken("unterminated", "The output ends inside a value.")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse, strict=False)


# -- values brought to the type their schema names --------------------------------------------
#
# Models write numbers as text and whole numbers with a decimal point. What cannot be brought stays
# as it is; the schema check before execution refuses it then.

_INTEGER = re.compile(r"[+-]?[0-9]+")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "number": (int, float), "boolean": (bool,), "array": (list,), "object": (dict,),
}  # fmt: skip


def coerced(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with their top-level values coerced by `schema`."""
    return {name: _coerced(value, type_of(schema, name)) for name, value in arguments.items()}


def type_of(schema: Mapping[str, Any], name: str) -> str | None:
    """The one type a property has; None when it has none or several."""
    properties = schema.get("properties")
    declared = properties.get(name) if isinstance(properties, Mapping) else None
    kind = declared.get("type") if isinstance(declared, Mapping) else None
    return kind if isinstance(kind, str) else None


def _coerced(value: Any, kind: str | None) -> Any:
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str) or kind is None:
        return value
    try:
        if kind == "integer":
            return int(value) if _INTEGER.fullmatch(value) else value
        found = decoded(value.lower() if kind == "boolean" else value)
    except (Broken, ValueError):  # ValueError: more digits than Python converts
        return value
    return found if type(found) in _TYPES.get(kind, ()) else value
