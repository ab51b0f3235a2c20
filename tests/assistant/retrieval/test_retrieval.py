"""The one look into the store, and what it finds."""

from __future__ import annotations

import pytest

from assistant.retrieval.retrieval import retrieve
from store.core.database import Database
from store.core.errors import DeadlineExceeded
from store.search.filters import Filters
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon

RANGE = Filters(START_MS, START_MS + 3 * HOUR_MS)


def test_a_retrieval_knows_frames_gaps_totals_and_freshness(database: Database, afternoon: Afternoon) -> None:
    first = afternoon.show(0, "one")
    afternoon.show(0.5, "two")
    afternoon.show(200, "outside")
    found = retrieve(database, RANGE, (), NOW_MS)
    assert [(entry.id, entry.excerpt) for entry in found.entries] == [("e1", "one"), ("e2", "two")]
    assert found.entries[0].frame.id == first.id
    assert found.coverage.frames_in_range == 2
    assert {gap.reason for gap in found.coverage.gaps} == {"not_running"}
    assert (totals := found.totals())
    assert [(total.name, total.duration_ms) for total in totals.by_app] == [("Code", 30_000)]
    assert found.coverage.index_fresh_to_ms == START_MS + 200 * 60_000


def test_filtered_frames_get_no_totals_of_everything(database: Database, afternoon: Afternoon) -> None:
    afternoon.show(0, "one")
    found = retrieve(database, Filters(RANGE.start_ms, RANGE.end_ms, app_name="code"), (), NOW_MS)
    assert (len(found.entries), found.totals()) == (1, None)


def test_the_deadline_stops_the_search_inside_the_database(
    database: Database, afternoon: Afternoon, monkeypatch: pytest.MonkeyPatch
) -> None:
    afternoon.show(0, "one")
    monkeypatch.setattr("store.core.database._STEPS_BETWEEN_CHECKS", 1)
    with pytest.raises(DeadlineExceeded):
        retrieve(database, RANGE, (), NOW_MS, deadline_s=-1)
    assert retrieve(database, RANGE, (), NOW_MS).coverage.frames_in_range == 1
