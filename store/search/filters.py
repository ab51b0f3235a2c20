"""Filters of a search: columns of the frame, never words of the index (SEA-3)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import apsw

from store.core import tokenizer
from store.core.full_text import Phrase, match
from store.search.names import apps, bindable, containing, contains


@dataclass(frozen=True, slots=True)
class Filters:
    """A half-open range of capture times and what the frame's columns must hold.

    The three names are case-insensitive substrings, `monitor` is exact; blank means no filter.
    `end_ms` None is "up to now": the first page settles when that was, for all pages after it.
    """

    start_ms: int
    end_ms: int | None = None
    app_name: str | None = None
    window_name: str | None = None
    browser_url: str | None = None
    focused: bool | None = None
    monitor: str | None = None

    def hash(self) -> str:
        """Equal for equal filters, in any process."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Walk:
    """Names of one column whose frames an index lists in the order of ids."""

    column: str  # with the collation of its index
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Where:
    """Filters as SQL on ``frames f``, without the time range.

    `conditions`, joined by "and", are the whole truth; `parameters` are what they bind. The rest is
    for speed: `is_empty` when no name is meant, so that no frame can match; `walk` to list the
    frames of these names instead of looking for them among all; `match`, an FTS5 expression
    that holds for every frame of these names, so that the index leaves out most others.
    """

    conditions: tuple[str, ...]
    parameters: dict[str, str | int]
    is_empty: bool = False
    walk: Walk | None = None
    match: str | None = None


def where(connection: apsw.Connection, filters: Filters) -> Where:
    """The filters as SQL, without the time range."""
    conditions: list[str] = []
    parameters: dict[str, str | int] = {}
    meant: dict[str, list[str]] = {}
    for column in _NAMES:
        needle = getattr(filters, column)
        if not needle:
            continue
        names = _names(connection, column, needle)
        if names is None:
            condition, parameters[column] = contains(f"f.{column}", column, needle)
        else:
            meant[column] = names
            condition, parameters[column] = _equals(column, names)
        conditions.append(condition)
    if filters.focused is not None:
        conditions.append("f.focused = :focused")
        parameters["focused"] = int(filters.focused)
    if filters.monitor:
        conditions.append("f.monitor = :monitor")
        parameters["monitor"] = bindable(filters.monitor)
    return Where(
        conditions=tuple(conditions),
        parameters=parameters,
        is_empty=not all(meant.values()),
        walk=_walk(meant),
        match=" AND ".join(filter(None, (_match(*each) for each in meant.items()))) or None,
    )


# Filters by name, the one that leaves least first.
_NAMES = ("window_name", "browser_url", "app_name")
_COLLATED = {"app_name": "app_name collate nocase"}
# Alternatives of an expression, and tokens of one name, that FTS5 is troubled with.
_MAX_ALTERNATIVES = 32
_MAX_TOKENS = 64


def _names(connection: apsw.Connection, column: str, needle: str) -> list[str] | None:
    return apps(connection, needle) if column == "app_name" else containing(connection, column, needle)


def _equals(column: str, names: list[str]) -> tuple[str, str]:
    collated = _COLLATED.get(column, column)
    if len(names) == 1:  # the usual case, in which an index gives the order as well
        return f"f.{collated} = :{column}", names[0]
    # "+" leaves the choice of index to `Walk`.
    return f"+f.{collated} in (select value from json_each(:{column}))", json.dumps(names)


def _walk(meant: dict[str, list[str]]) -> Walk | None:
    for column, names in meant.items():
        return Walk(_COLLATED.get(column, column), tuple(names))
    return None


def _match(column: str, names: list[str]) -> str | None:
    """What FTS5 finds in `column` of every frame with one of the names; None when it cannot say."""
    if len(names) > _MAX_ALTERNATIVES:
        return None
    wanted = [[token.text for token in tokenizer.tokens(name)] for name in names]
    if not wanted or not all(0 < len(tokens) <= _MAX_TOKENS for tokens in wanted):
        return None
    return f"{column} : ({' OR '.join(match(Phrase(tuple(tokens))) for tokens in wanted)})"
