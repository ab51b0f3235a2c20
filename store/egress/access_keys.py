"""Who may come in besides who has the token file: signed-in browsers, and tokens for other programs.

Of a secret only a hash is kept, made with a key that is not in the database: a copy of the database opens
no door, and neither do these rows once the token file is another one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import apsw

from store.core.database import Database
from store.core.records import columns, insert
from store.core.translation import N_

BROWSER = "pages"
TOKENS = {
    "read": N_("read everything, change nothing"),
    "ingest": N_("hand in pictures, read nothing"),
    "mcp": N_("read over MCP (Model Context Protocol)"),
}
"""What a token may be for, in words."""


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A browser (`scope` is "pages") or a token. `used_ms` is told to some minutes, None for never."""

    id: int
    scope: str
    name: str
    port: int  # of the pages that a browser was signed in to; 0 for a token
    made_ms: int
    used_ms: int | None


def listed(database: Database) -> list[AccessKey]:
    """All of them, the newest first."""
    return database.records(AccessKey, f"select {columns(AccessKey)} from access_keys order by id desc")


def by_hash(database: Database, secret_hash: bytes) -> AccessKey | None:
    sql = f"select {columns(AccessKey)} from access_keys where secret_hash = ?"
    return database.first(AccessKey, sql, (secret_hash,))


def by_id(database: Database, key_id: int) -> AccessKey | None:
    return database.first(AccessKey, f"select {columns(AccessKey)} from access_keys where id = ?", (key_id,))


# -- writing (inside `database.write()`) --------------------------------------------------


def add(connection: apsw.Connection, secret_hash: bytes, key: AccessKey) -> int:
    """The id of a new key; the one that `key` has is not looked at."""
    values = {name: value for name, value in asdict(key).items() if name != "id"}
    return insert(connection, "access_keys", secret_hash=secret_hash, **values)


def note_use(connection: apsw.Connection, key_id: int, at_ms: int) -> None:
    connection.execute("update access_keys set used_ms = ? where id = ?", (at_ms, key_id))


def revoke(connection: apsw.Connection, key_id: int) -> bool:
    """Whether there was such a key."""
    connection.execute("delete from access_keys where id = ?", (key_id,))
    return connection.changes() > 0


def sign_out_browsers(connection: apsw.Connection, but_id: int) -> None:
    """All but one."""
    connection.execute("delete from access_keys where scope = ? and id != ?", (BROWSER, but_id))


def keep_only(connection: apsw.Connection, secret_hashes: list[bytes]) -> None:
    kept = ", ".join("?" * len(secret_hashes))
    connection.execute(f"delete from access_keys where secret_hash not in ({kept})", secret_hashes)


def forget_browsers(connection: apsw.Connection, made_before_ms: int, used_before_ms: int) -> None:
    """Those that were signed in, or used last, before these moments."""
    connection.execute(
        "delete from access_keys where scope = ? and (made_ms < ? or used_ms < ?)",
        (BROWSER, made_before_ms, used_before_ms),
    )
