"""Launch codes: a link that opens the door once.

The code itself is made and checked in the web room; only its hash is kept here, until the moment
at which it would have run out anyway.
"""

from __future__ import annotations

import apsw


def use_login_code(connection: apsw.Connection, code_hash: str, expires_ms: int, now_ms: int) -> bool:
    """Whether this code may open the door now: it has not run out, and nobody used it before.

    Call inside `Database.write()`: of two browsers with the same link one gets True.
    """
    connection.execute("delete from used_launch_codes where expires_ms <= ?", (now_ms,))
    if expires_ms <= now_ms:
        return False
    connection.execute(
        "insert into used_launch_codes (code_hash, expires_ms) values (?, ?) on conflict do nothing",
        (code_hash, expires_ms),
    )
    return connection.changes() == 1
