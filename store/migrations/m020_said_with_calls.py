"""What a model said beside the calls of a round, so that a transcript can repeat it."""

from __future__ import annotations

import apsw


def m020_said_with_calls(connection: apsw.Connection) -> None:
    connection.execute("alter table tool_calls add column said text not null default ''")
