"""How surely the words of a quote were read, so that a doubtful one can be shown as such."""

from __future__ import annotations

import apsw


def m032_quote_confidence(connection: apsw.Connection) -> None:
    # 0..1, of the least sure of the quoted words; null where the reader did not say, and for the
    # answers of before.
    connection.execute("alter table evidence add column confidence real")
