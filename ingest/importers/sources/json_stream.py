"""Records of a JSON file as they come, through ijson (yajl), in flat memory.

A path is a tuple of keys, with "[]" for the elements of an array:

    for path, value in items(source, {("locations", "[]")}): ...
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

import ijson

from ingest.importers.items import CannotImport
from ingest.importers.sources.source_file import CHUNK_BYTES, Source

JSON_MAX_DEPTH = 64

Path = tuple[str, ...]
_ARRAY = "[]"


def json_records(source: Source, wanted: Collection[Path]) -> Iterator[tuple[Path, Any]]:
    """(path, value) of everything at one of these paths, in the order of the file; numbers are floats
    or ints. Raises `CannotImport` for what is not JSON, or nested too deeply.
    """
    try:
        yield from _items(source, frozenset(wanted))
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise CannotImport(f"this is not JSON: {_reason(error)}") from error


def _items(source: Source, wanted: frozenset[Path]) -> Iterator[tuple[Path, Any]]:
    path: list[str] = []  # of the value that comes next, its own key included
    for event, value in (events := ijson.basic_parse(source, use_float=True, buf_size=CHUNK_BYTES)):
        if event == "map_key":
            path[-1] = value
            continue
        if event in ("end_map", "end_array"):
            path.pop()
            continue
        source.mark()
        here = tuple(path)
        if here in wanted:
            yield here, _whole(event, value, events, len(path))
            source.mark()
        elif event in ("start_map", "start_array"):
            if len(path) >= JSON_MAX_DEPTH:
                raise _too_deep()
            path.append("" if event == "start_map" else _ARRAY)


def _whole(event: str, value: Any, events: Iterator[tuple[str, Any]], depth: int) -> Any:
    """The value that begins with this event."""
    if event not in ("start_map", "start_array"):
        return value
    top: Any = {} if event == "start_map" else []
    stack = [top]
    put: Callable[[Any], None] | None = None if event == "start_map" else top.append
    key = ""
    for event, value in events:
        if event == "map_key":
            key = value
        elif event == "start_map" or event == "start_array":
            inner: Any = {} if event == "start_map" else []
            if put is None:
                stack[-1][key] = inner
            else:
                put(inner)
            stack.append(inner)
            if depth + len(stack) > JSON_MAX_DEPTH:
                raise _too_deep()
            put = None if event == "start_map" else inner.append
        elif event == "end_map" or event == "end_array":
            stack.pop()
            if not stack:
                return top
            around = stack[-1]
            put = around.append if isinstance(around, list) else None
        elif put is None:
            stack[-1][key] = value
        else:
            put(value)
    raise AssertionError("ijson ends a value or raises")


def _too_deep() -> CannotImport:
    return CannotImport(f"the JSON is nested more than {JSON_MAX_DEPTH} levels deep")


def _reason(error: Exception) -> str:
    """The parser's sentence, without the piece of the file that it quotes."""
    return str(error).strip().partition("\n")[0][:200]
