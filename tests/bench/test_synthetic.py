"""The homes of the bench hold what a home would: FTS5's own check against the stored words says so."""

from __future__ import annotations

import pytest

from bench import synthetic
from store.core.database import Database, scalar
from store.timeline import segments


def test_frames_in_bulk_and_once_more_are_indexed_as_any(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enough of them that lists of ids run over many pages and have an index of their own."""
    monkeypatch.setattr(synthetic, "_DIFFERENT", 2_000)
    made = synthetic.fill(database, 4_000, words=40)
    assert made.frames == 4_000
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts, rank) values ('integrity-check', 1)")
        assert scalar(connection, "select count(*) from frames_fts_idx where pgno & 1") > 0
        stored, folded = segments.stored_line(connection), segments.folded_line(connection)
    assert stored[:-1] == folded[:-1]
