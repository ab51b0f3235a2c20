"""The names that a filter means: apps, window titles and addresses that contain a piece of text.

There are far fewer different names than frames, so they are looked through first. What is left is
equality, and that an index answers in the order of time. Apps are few enough to be read from the
index on frames; titles and addresses have tables of their own, which triggers keep (m009).
"""

from __future__ import annotations

from typing import Literal

import apsw

from store.core.database import Database, rows, scalar

MAX_NAMES = 200
"""With more names than this a filter is tested on each frame: then it is a common one."""

OFFERED = 12
_LOOKED_AT = 500
_DEADLINE_S = 2.0

# SQLite refuses LIKE patterns beyond 50,000 bytes.
_MAX_LIKE_CHARS = 1_000

_TABLES = {"window_name": "window_names", "browser_url": "browser_urls"}


def apps(connection: apsw.Connection, needle: str) -> list[str]:
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


def containing(connection: apsw.Connection, column: str, needle: str) -> list[str] | None:
    """The titles or addresses (`column`) that contain `needle`; None for more than `MAX_NAMES`."""
    condition, value = contains("name", "needle", needle)
    found = rows(
        connection,
        f"select name from {_TABLES[column]} where {condition} limit {MAX_NAMES + 1}",
        {"needle": value},
    )
    return None if len(found) > MAX_NAMES else [name for (name,) in found]


def typed(database: Database, column: Literal["window_name", "browser_url"], needle: str) -> list[str]:
    """Titles or addresses that contain what was typed so far, those seen last first.

    At most `OFFERED`, chosen from the first `_LOOKED_AT` that contain it; none for a blank.
    """
    if not needle.strip():
        return []
    condition, value = contains("name", "needle", needle.strip())
    with database.read(_DEADLINE_S) as connection:
        found = rows(
            connection,
            f"""
            select name from (select name from {_TABLES[column]} where {condition} limit {_LOOKED_AT})
            order by (select max(id) from frames where {column} = name) desc
            limit {OFFERED}
            """,
            {"needle": value},
        )
    return [name for (name,) in found]


def is_doomed(connection: apsw.Connection, column: str, needle: str) -> bool:
    """Whether frames in ``doomed`` (`store.deletion.registry`), and no others, have a name that contains `needle`."""
    condition, value = contains(f"f.{column}", "needle", needle)
    bound = {"needle": value}
    sql = f"select 1 from doomed d cross join frames f on f.id = d.id where {condition} limit 1"
    if not scalar(connection, sql, bound):
        return False
    kept = "exists (select 1 from frames f where f.{} = {} and f.id not in (select id from doomed))"
    if column == "app_name":
        sql = f"select {kept.format('app_name', ':name collate nocase')}"
        return not any(scalar(connection, sql, {"name": name}) for name in apps(connection, needle))
    condition, _ = contains("n.name", "needle", needle)
    sql = f"select 1 from {_TABLES[column]} n where {condition} and {kept.format(column, 'n.name')} limit 1"
    return not scalar(connection, sql, bound)


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
