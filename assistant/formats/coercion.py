"""Values brought to the type their schema names, where no doubt is possible.

Models write numbers as text and whole numbers with a decimal point. What cannot be brought stays
as it is; the schema check before execution refuses it then (R2.47).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from assistant.formats.json_values import InvalidJson, decoded

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_TRUTHS = {"true": True, "false": False}


def coerced(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with their top-level values coerced by `schema`."""
    return {name: _value(value, type_of(schema, name)) for name, value in arguments.items()}


def type_of(schema: Mapping[str, Any], name: str) -> str | None:
    """The one type a property has; None when it has none or several."""
    properties = schema.get("properties")
    found = properties.get(name) if isinstance(properties, Mapping) else None
    kind = found.get("type") if isinstance(found, Mapping) else None
    return kind if isinstance(kind, str) else None


def _value(value: Any, kind: str | None) -> Any:
    return _COERCIONS[kind](value) if kind in _COERCIONS else value


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
            found = decoded(value)
        except InvalidJson:
            return value
        return found if isinstance(found, kind) else value

    return coerce


_COERCIONS: dict[str | None, Callable[[Any], Any]] = {
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "array": _decoded_as(list),
    "object": _decoded_as(dict),
}
