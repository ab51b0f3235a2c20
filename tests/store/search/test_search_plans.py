"""Search statements walk ids and indexes in order; none reads or sorts a whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import apsw
import pytest

from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.search.filters import Filters
from store.search.search import Order, search
from tests.factories import NOON_MS
from tests.store.search.searching import ALWAYS, add_frame
from tests.tables import for_each

APPS = ("Code", "WeChat", "Zoom")
# A subquery that only counts, or hands on a set of ids, reads no table by itself. The different
# names are few, and a piece of one can stand anywhere in them.
_HARMLESS = ("SCAN (subquery", "SCAN names", "SCAN window_names", "SCAN browser_urls")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = open_database(DataDir(tmp_path_factory.mktemp("filled") / "home"))
    with database.write() as connection:
        for number in range(60):
            add_frame(
                connection,
                "some words",
                NOON_MS + number,
                app_name=APPS[number % 3],
                window_name=f"page {number % 7}",
                browser_url="https://example.com/ü" if number % 5 == 0 else None,
            )
    yield database
    database.close_thread()


def statements(
    database: Database, text: str, filters: Filters, order: Order | None
) -> Iterator[tuple[str, Any]]:
    """Every statement of a search, with its bindings."""
    seen: list[tuple[str, Any]] = []

    def note(cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        seen.append((sql, bindings))
        return True

    connection = database.connection()
    connection.exec_trace = note
    try:
        search(database, text, filters, order=order)
    finally:
        connection.exec_trace = None
    yield from ((sql, bindings) for sql, bindings in seen if "select" in sql)


def plan(database: Database, sql: str, bindings: Any) -> list[str]:
    return [row[3] for row in database.connection().execute(f"explain query plan {sql}", bindings)]


@for_each("order", [None, "newest", "oldest"])
@for_each("text", ["", "words", '"some words" OR c++'])
@for_each(
    "changes",
    [
        {},
        {"app_name": "code"},
        {"app_name": "o"},
        {"window_name": "x"},
        {"window_name": "page"},
        {"browser_url": "ü"},
        {"monitor": "DP-1"},
        {"focused": True},
    ],
)
def test_no_statement_scans_a_table(
    filled: Database, text: str, changes: dict[str, Any], order: Order | None
) -> None:
    for sql, bindings in statements(filled, text, replace(ALWAYS, **changes), order):
        for step in plan(filled, sql, bindings):
            is_scan = step.startswith("SCAN") and "VIRTUAL TABLE INDEX" not in step
            assert not is_scan or step.startswith(_HARMLESS), (sql, step)


def rows_of(database: Database, filters: Filters) -> list[str]:
    """The plan of the statement that finds the ids of a browse page."""
    (found,) = (
        plan(database, sql, bindings)
        for sql, bindings in statements(database, "", filters, None)
        if "order by f.id desc" in sql and ":limit" in sql
    )
    return found


def test_a_browse_walks_the_range_of_ids(filled: Database) -> None:
    assert rows_of(filled, ALWAYS) == ["SEARCH f USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"]


@for_each(
    ("changes", "index"),
    [
        ({"app_name": "code"}, "frames_by_app (app_name=?"),
        ({"window_name": "page 3"}, "frames_by_window_name (window_name=?"),
        ({"browser_url": "ü"}, "frames_by_browser_url (browser_url=?"),
        ({"monitor": "DP-1"}, "frames_by_screen (monitor=?"),
        ({"focused": True}, "frames_by_focus (focused=?"),
    ],
)
def test_a_browse_of_one_value_walks_its_index(filled: Database, changes: dict[str, Any], index: str) -> None:
    (step,) = rows_of(filled, replace(ALWAYS, **changes))
    assert step == f"SEARCH f USING COVERING INDEX {index} AND id>? AND id<?)"


@for_each("changes", [{"app_name": "o"}, {"window_name": "page"}])
def test_a_browse_of_several_names_walks_the_index_of_each(filled: Database, changes: dict[str, Any]) -> None:
    """A name that was last seen a million frames ago costs what a recent one costs."""
    steps = rows_of(filled, replace(ALWAYS, **changes))
    assert steps[0].startswith("SCAN n VIRTUAL TABLE INDEX")
    assert any("=? AND id>? AND id<?)" in step for step in steps)


@for_each("text", ["words", "some words"])
def test_a_word_is_looked_up_within_the_range_of_ids(filled: Database, text: str) -> None:
    """Technology: by a joined time column 87 ms, by a range of rowids 5 ms."""
    steps = [
        step
        for sql, bindings in statements(filled, text, ALWAYS, None)
        if ":low" in sql
        for step in plan(filled, sql, bindings)
        if "VIRTUAL TABLE INDEX" in step
    ]
    assert steps
    # FTS5's own description: M match, < > bounds on rowid.
    assert all("<" in step and ">" in step for step in steps)


def test_apps_are_listed_from_the_index_one_step_each(filled: Database) -> None:
    (steps,) = (
        plan(filled, sql, bindings)
        for sql, bindings in statements(filled, "", replace(ALWAYS, app_name="o"), None)
        if "recursive names" in sql
    )
    assert "SEARCH frames USING COVERING INDEX frames_by_app (app_name>?)" in steps
    assert "USE TEMP B-TREE" not in " ".join(steps)


def test_a_page_takes_a_settled_number_of_statements(filled: Database) -> None:
    counts = [len(list(statements(filled, text, ALWAYS, None))) for text in ("", "words")]
    # Rows, total and freshness; then the frame and the text of each of 20 hits.
    assert counts[0] <= 6 + 2 * 20
    assert counts[1] <= 7 + 2 * 20
