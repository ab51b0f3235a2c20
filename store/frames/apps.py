"""The colour of an app: one of twelve slots, given once and kept for good.

The wish is FNV-1a (32 bit, http://www.isthe.com/chongo/tech/comp/fnv/) of the normalised name
modulo twelve. An app that enters the twelve most used walks on by five until a slot is free among
them; plain hashing gave twelve common apps only eight colours. All other apps share "other".
"""

from __future__ import annotations

import json

import apsw

from store.core.database import Database, rows
from store.spool.queue import NO_APPS

SLOTS = 12
_STEP = 5
"""Five and twelve share no factor, so the walk meets every slot."""

_ALL = "select name, colour_slot from apps order by name"
_RECENT_MS = 30 * 24 * 3_600_000


def names(database: Database) -> list[str]:
    """Every app that was seen, by name."""
    return database.column("select name from apps order by name")


def colour_slots(database: Database) -> dict[str, int | None]:
    """The slot (0..11) of every app that was seen; None means "other"."""
    return {name: slot for name, slot in database.rows(_ALL)}


def used_lately(database: Database, now_ms: int, limit: int) -> list[str]:
    """The apps of the last 30 days, the most used first; an empty desktop is none."""
    return database.column(
        "select app_name from segments where start_ms >= ?"
        " and app_name not in (select value from json_each(?))"
        " group by app_name order by sum(end_ms - start_ms) desc, app_name limit ?",
        (now_ms - _RECENT_MS, json.dumps(sorted(NO_APPS)), limit),
    )


def give_slot(connection: apsw.Connection, name: str) -> None:
    """Give an app its slot while fewer than twelve are taken: until then all are among the most used."""
    sql = "select name, colour_slot from apps where colour_slot is not null or name = ?"
    slots = rows(connection, sql, (name,))
    if len(slots) <= SLOTS and (name, None) in slots:
        _give(connection, slots)


def assign_slots(connection: apsw.Connection, now_ms: int) -> int:
    """Give a slot to each of the twelve most used apps of the last 30 days that has none.

    Returns how many got one. Meant for a worker's start and once a day: it reads every segment
    of these days.
    """
    used = rows(
        connection,
        """
        select a.name, a.colour_slot from segments s join apps a on a.name = s.app_name
        where s.start_ms >= :since group by a.name
        order by sum(s.end_ms - s.start_ms) desc, a.name limit :slots
        """,
        {"since": now_ms - _RECENT_MS, "slots": SLOTS},
    )
    return _give(connection, used)


def _give(connection: apsw.Connection, slots: list[tuple[str, int | None]]) -> int:
    """Give each of some apps that has no slot one of its own among them; returns how many got one."""
    taken = {slot for _, slot in slots if slot is not None}
    without = [name for name, slot in slots if slot is None]
    for name in without:
        slot = free_slot(name, taken)
        taken.add(slot)
        connection.execute("update apps set colour_slot = ? where name = ?", (slot, name))
    return len(without)


def free_slot(name: str, taken: set[int]) -> int:
    """The first slot of the app's walk that is not taken (at most eleven may be)."""
    wish = preferred_slot(name)
    return next(
        slot for slot in ((wish + step * _STEP) % SLOTS for step in range(SLOTS)) if slot not in taken
    )


def preferred_slot(name: str) -> int:
    """The slot of the name alone. ``Code``, ``code`` and ``Code.exe`` wish for the same."""
    value = 0x811C9DC5
    for byte in name.strip().casefold().removesuffix(".exe").encode():
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value % SLOTS
