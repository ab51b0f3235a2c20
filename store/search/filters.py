"""Filters of a search: columns of the frame, never words of the index.

A filter on apps, titles or addresses that contain a piece of text is resolved to names first: there are far
fewer of them than frames, and equality an index answers in the order of time. Apps are read from the
index on frames; titles and addresses have tables of their own, which triggers keep.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Literal

import apsw

from store.core import tokenizer
from store.core.database import Database, rows
from store.core.full_text import Phrase, match
from store.core.times import now_ms
from store.frames.frames import id_range


@dataclass(frozen=True, slots=True)
class Filters:
    """A half-open range of capture times and what the frame's columns must hold.

    The three names are case-insensitive substrings, `monitor` is exact; blank means no filter.
    `end_ms` None is "up to now": the first page settles when that was, for all pages after it. `left_out`
    are stretches of the range that do not count, each as (start_ms, end_ms).
    """

    start_ms: int
    end_ms: int | None = None
    app_name: str | None = None
    window_name: str | None = None
    browser_url: str | None = None
    focused: bool | None = None
    monitor: str | None = None
    left_out: tuple[tuple[int, int], ...] = ()
    host: str | None = None  # exact

    def hash(self) -> str:
        """Equal for equal filters, in any process."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def end_of(filters: Filters) -> int:
    """The end of their range; without one just after now: that end is not part of it, this millisecond is."""
    return now_ms() + 1 if filters.end_ms is None else filters.end_ms


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
        is_app = column == "app_name"
        names = apps(connection, needle) if is_app else containing(connection, column, needle)
        if names is None:
            condition, parameters[column] = contains(f"f.{column}", column, needle)
        else:
            meant[column] = names
            condition, parameters[column] = _equals(column, names)
        conditions.append(condition)
    for number, span_ms in enumerate(filters.left_out):
        conditions.append(f"not (f.id >= :out_low{number} and f.id < :out_high{number})")
        parameters[f"out_low{number}"], parameters[f"out_high{number}"] = id_range(*span_ms)
    exact = {"focused": filters.focused, "monitor": filters.monitor or None, "host": filters.host}
    for column, value in exact.items():
        if value is not None:
            conditions.append(f"f.{column} = :{column}")
            parameters[column] = bindable(value) if isinstance(value, str) else int(value)
    if filters.host is not None:
        # Of another machine without frames no word is looked for, and of one with few in their span only.
        hosts = rows(connection, "select host from frames where host = :host limit 1", parameters)
        meant["host"] = [name for (name,) in hosts]
    walked = next(iter(meant), None)
    return Where(
        conditions=tuple(conditions),
        parameters=parameters,
        is_empty=not all(meant.values()),
        walk=Walk(_COLLATED.get(walked, walked), tuple(meant[walked])) if walked else None,
        match=" AND ".join(filter(None, (_match(name, meant[name]) for name in _NAMES if name in meant)))
        or None,
    )


# Filters by name, the one that leaves least first.
_NAMES = ("window_name", "browser_url", "app_name")
_COLLATED = {"app_name": "app_name collate nocase"}
# Alternatives of an expression, and tokens of one name, that FTS5 is troubled with.
_MAX_ALTERNATIVES = 32
_MAX_TOKENS = 64


def _equals(column: str, names: list[str]) -> tuple[str, str]:
    collated = _COLLATED.get(column, column)
    if len(names) == 1:  # the usual case, in which an index gives the order as well
        return f"f.{collated} = :{column}", names[0]
    # "+" leaves the choice of index to `Walk`.
    return f"+f.{collated} in (select value from json_each(:{column}))", json.dumps(names)


def _match(column: str, names: list[str]) -> str | None:
    """What FTS5 finds in `column` of every frame with one of the names; None when it cannot say."""
    if len(names) > _MAX_ALTERNATIVES:
        return None
    wanted = [[token.text for token in tokenizer.tokens(name)] for name in names]
    if not wanted or not all(0 < len(tokens) <= _MAX_TOKENS for tokens in wanted):
        return None
    return f"{column} : ({' OR '.join(match(Phrase(tuple(tokens))) for tokens in wanted)})"


MAX_NAMES = 200
"""With more names than this a filter is tested on each frame: then it is a common one."""

OFFERED = 12
_LOOKED_AT = 500
_DEADLINE_S = 2.0

# SQLite refuses LIKE patterns beyond 50,000 bytes.
_MAX_LIKE_CHARS = 1_000

_TABLES = {"window_name": "window_names", "browser_url": "browser_urls"}


APP_NAMES = """
with recursive names (name) as (
    select min(app_name collate nocase) from frames
    union all
    select (
        select app_name from frames where app_name > names.name collate nocase
        order by app_name collate nocase limit 1
    )
    from names where name is not null
)
select name from names where name is not null
"""
"""The apps of all frames, in one case each: a step per app in the index, not per frame."""


def apps(connection: apsw.Connection, needle: str) -> list[str]:
    """The apps whose name contains `needle`."""
    folded = needle.casefold()
    names = connection.execute(APP_NAMES)
    return [name for (name,) in names if folded in name.casefold()]


def containing(connection: apsw.Connection, column: str, needle: str) -> list[str] | None:
    """The titles or addresses (`column`) that contain `needle`; None for more than `MAX_NAMES`."""
    condition, value = contains("name", "needle", needle)
    sql = f"select name from {_TABLES[column]} where {condition} limit {MAX_NAMES + 1}"
    found = rows(connection, sql, {"needle": value})
    return None if len(found) > MAX_NAMES else [name for (name,) in found]


def typed(database: Database, column: Literal["window_name", "browser_url"], needle: str) -> list[str]:
    """Titles or addresses that contain what was typed so far, those seen last first.

    At most `OFFERED`, chosen from the first `_LOOKED_AT` that contain it; none for a blank.
    """
    if not needle.strip():
        return []
    condition, value = contains("name", "needle", needle.strip())
    return database.column(
        f"""
        select name from (select name from {_TABLES[column]} where {condition} limit {_LOOKED_AT})
        order by (select max(id) from frames where {column} = name) desc limit {OFFERED}
        """,
        {"needle": value},
        deadline_s=_DEADLINE_S,
    )


def contains(expression: str, parameter: str, needle: str) -> tuple[str, str]:
    """A case-insensitive substring test in SQL, and the value that its parameter binds."""
    if needle.isascii() and needle.isprintable() and len(needle) <= _MAX_LIKE_CHARS:
        escaped = needle.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"{expression} like :{parameter} escape '\\'", f"%{escaped}%"
    # LIKE knows no case beyond ASCII and stops at NUL.
    return f"instr(recollect_casefold({expression}), :{parameter})", bindable(needle).casefold()


def bindable(text: str) -> str:
    """`text` without lone surrogates: no stored text has one, and SQLite cannot be handed one."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
