"""What a question was given beside its words, so that it can be asked again as it was."""

from __future__ import annotations

import apsw


def m030_given(connection: apsw.Connection) -> None:
    # JSON: start_ms, end_ms, filters and frames that are no source; what was not given is missing.
    connection.execute("alter table turns add column given text not null default '{}'")
