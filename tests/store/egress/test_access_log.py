"""The audit of other programs' reading: one row per call, capped, without content."""

from __future__ import annotations

import pytest

from store.core.database import Database, rows
from store.egress import access_log
from store.egress.access_log import Access, DoorUse
from tests.factories import NOON_MS


def call(at_ms: int = NOON_MS, **changes: object) -> Access:
    values = {
        "door": "mcp", "tool": "search_frames", "outcome": "answered", "returned": 3, "withheld": 1, **changes
    }  # fmt: skip
    return Access(at_ms, **values)  # type: ignore[arg-type]


def record(database: Database, *calls: Access) -> None:
    with database.write() as connection:
        for each in calls:
            access_log.record(connection, each)


def test_calls_come_newest_first_as_they_were_recorded(database: Database) -> None:
    calls = [call(NOON_MS + n, tool=f"tool_{n}") for n in range(3)]
    record(database, *calls)
    assert access_log.latest(database) == calls[::-1]
    assert access_log.latest(database, 1) == [calls[2]]


def test_use_adds_up_by_door_from_a_moment_on(database: Database) -> None:
    record(
        database,
        call(NOON_MS - 1),
        call(NOON_MS),
        call(NOON_MS + 5, outcome="failed", returned=0, withheld=0),
        call(NOON_MS + 3, door="screenpipe"),
    )
    assert access_log.use_since(database, NOON_MS) == [
        DoorUse("mcp", calls=2, returned=3, withheld=1, last_ms=NOON_MS + 5),
        DoorUse("screenpipe", calls=1, returned=3, withheld=1, last_ms=NOON_MS + 3),
    ]


def test_the_oldest_rows_go_beyond_the_cap(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_log, "MAX_ROWS", 3)
    calls = [call(NOON_MS + n) for n in range(5)]
    record(database, *calls)
    assert access_log.latest(database) == calls[:1:-1]


def test_expired_login_codes_are_forgotten(database: Database) -> None:
    with database.write() as connection:
        access_log.use_login_code(connection, "a", 100, 10)
        access_log.use_login_code(connection, "b", 300, 200)
        assert rows(connection, "select code_hash from used_launch_codes") == [("b",)]
