"""Where a tool that sends something may run without asking: the hosts it had when that was chosen."""

from __future__ import annotations

import apsw


def m036_mode_hosts(connection: apsw.Connection) -> None:
    # Joined by blanks. A mode that was chosen before has none, so such a tool asks again.
    connection.execute("alter table tool_modes add column hosts text not null default ''")
