"""A launch link opens the door once."""

from __future__ import annotations

from store.core.database import Database, rows
from store.egress import access_log


def use(database: Database, code: str, expires_ms: int, now_ms: int) -> bool:
    with database.write() as connection:
        return access_log.use_login_code(connection, code, expires_ms, now_ms)


def test_code_is_good_once(database: Database) -> None:
    assert use(database, "a", 100, 10) is True
    assert use(database, "a", 100, 11) is False
    assert use(database, "b", 100, 11) is True


def test_expired_code_is_never_good(database: Database) -> None:
    assert use(database, "a", 100, 100) is False


def test_expired_codes_are_forgotten(database: Database) -> None:
    use(database, "a", 100, 10)
    use(database, "b", 300, 200)
    with database.read() as connection:
        assert rows(connection, "select code_hash from used_launch_codes") == [("b",)]
