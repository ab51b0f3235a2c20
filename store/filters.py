"""Filters of a search: columns of the frame, never words of the index (SEA-3)."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

import apsw

# SQLite refuses LIKE patterns beyond 50,000 bytes.
_MAX_LIKE_CHARS = 1_000


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
class Where:
    """Conditions on ``frames f``, joined by "and", and the values they bind."""

    conditions: tuple[str, ...]
    parameters: dict[str, str | int]


def where(connection: apsw.Connection, filters: Filters) -> Where:
    """The filters as SQL, without the time range."""
    conditions: list[str] = []
    parameters: dict[str, str | int] = {}
    if filters.app_name:
        names = _app_names(connection, filters.app_name)
        # One name, the usual case, lets the index on (app_name, id) give the order as well.
        in_these = "= :app" if len(names) == 1 else "in (select value from json_each(:app))"
        conditions.append(f"f.app_name collate nocase {in_these}")
        parameters["app"] = names[0] if len(names) == 1 else json.dumps(names)
    for column, needle in (("window_name", filters.window_name), ("browser_url", filters.browser_url)):
        if needle:
            condition, parameters[column] = _contains(column, needle)
            conditions.append(condition)
    if filters.focused is not None:
        conditions.append("f.focused = :focused")
        parameters["focused"] = int(filters.focused)
    if filters.monitor:
        # "+" keeps SQLite from reading all frames of a monitor to sort them.
        conditions.append("+f.monitor = :monitor")
        parameters["monitor"] = _bindable(filters.monitor)
    return Where(tuple(conditions), parameters)


def _app_names(connection: apsw.Connection, needle: str) -> list[str]:
    """The apps whose name contains `needle`: one step per app in the index, not per frame."""
    folded = needle.casefold()
    names = connection.execute(
        """
        with recursive names (name) as (
            select min(app_name collate nocase) from frames
            union all
            select (
                select app_name from frames
                where app_name > names.name collate nocase
                order by app_name collate nocase
                limit 1
            )
            from names
            where name is not null
        )
        select name from names where name is not null
        """
    )
    return [name for (name,) in names if folded in name.casefold()]


def _contains(column: str, needle: str) -> tuple[str, str]:
    """A case-insensitive substring test and the value it binds under the column's name."""
    if needle.isascii() and needle.isprintable() and len(needle) <= _MAX_LIKE_CHARS:
        escaped = needle.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"f.{column} like :{column} escape '\\'", f"%{escaped}%"
    # LIKE knows no case beyond ASCII and stops at NUL.
    return f"instr(recollect_casefold(f.{column}), :{column})", _bindable(needle).casefold()


def _bindable(text: str) -> str:
    """`text` without lone surrogates: no stored text has one, and SQLite cannot be handed one."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
