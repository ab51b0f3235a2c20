"""The different titles and addresses follow the frames, however these come and go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.core.database import Database, open_database, rows
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.media import Media
from store.search import filters
from store.search.filters import Filters
from store.search.search import search
from tests.factories import NOON_MS
from tests.store.search.searching import ALWAYS, add_frame, ids


@pytest.fixture(scope="module")
def shared_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = open_database(DataDir(tmp_path_factory.mktemp("names") / "home"))
    yield database
    database.close_thread()


TITLES = st.sampled_from([None, "Inbox", "INBOX", "100% done", "Überblick", "周报"])


def kept(database: Database) -> tuple[set[str], set[str]]:
    with database.read() as connection:
        titles, addresses = (
            {name for (name,) in rows(connection, f"select name from {table}")}
            for table in ("window_names", "browser_urls")
        )
    return titles, addresses


@given(
    st.lists(st.tuples(st.sampled_from(["add", "rename", "delete"]), st.integers(0, 5), TITLES), max_size=20)
)
@settings(deadline=None, max_examples=40)
def test_names_are_those_of_the_frames_after_any_changes(
    shared_database: Database, changes: list[tuple[str, int, str | None]]
) -> None:
    """Nothing has to remember to forget a name."""
    with shared_database.write() as connection:
        connection.execute("delete from frames")
        for kind, number, title in changes:
            made = [frame_id for (frame_id,) in rows(connection, "select id from frames order by id")]
            if kind == "add":
                add_frame(connection, None, NOON_MS + len(made) * 1000 + number, window_name=title)
            elif kind == "rename" and made:
                frame_id = made[number % len(made)]
                connection.execute(
                    "update frames set window_name = ?, browser_url = ? where id = ?",
                    (title, title, frame_id),
                )
            elif made:
                connection.execute("delete from frames where id = ?", (made[number % len(made)],))
        of_frames = tuple(
            {name for (name,) in rows(connection, f"select {column} from frames") if name is not None}
            for column in ("window_name", "browser_url")
        )
    assert kept(shared_database) == of_frames


def test_a_deleted_frame_leaves_no_title(database: Database, data_dir: DataDir) -> None:
    with database.write() as connection:
        secret = add_frame(connection, "x", window_name="secret plan", browser_url="https://secret.example")
        add_frame(connection, "x", NOON_MS + 1, window_name="open plan")
    deletion.delete_frames(database, Media(data_dir.media), [secret])
    assert kept(database) == ({"open plan"}, set())


def test_more_names_than_are_listed_are_still_found(database: Database) -> None:
    with database.write() as connection:
        for number in range(filters.MAX_NAMES + 5):
            add_frame(connection, "word", NOON_MS + number, window_name=f"page {number}")
        add_frame(connection, "word", NOON_MS + 5000, window_name="other")
        assert filters.containing(connection, "window_name", "page") is None
        assert filters.containing(connection, "window_name", "PAGE 204") == ["page 204"]
    many = replace(ALWAYS, window_name="page")
    for text in ("", "word"):
        assert search(database, text, many).total == filters.MAX_NAMES + 5
        assert len(ids(search(database, text, replace(many, window_name="page 20")))) == 6


def test_a_filter_narrows_the_deepest_expression(database: Database) -> None:
    """FTS5's parser holds 100 symbols, and the app is one more condition in it."""
    with database.write() as connection:
        found = add_frame(connection, "a", app_name="Some App", window_name="w (1)", browser_url="u/v")
        add_frame(connection, "a", NOON_MS + 1, app_name="Other")
    deep = "a"
    for _ in range(32):
        deep = f"b OR (c AND {deep})" if len(deep) % 2 else f"({deep} NOT (d OR e))"
    everything = Filters(0, 2 * NOON_MS, app_name="some", window_name="(1", browser_url="u")
    for text in ("a", "(" * 32 + "a" + ")" * 32, "a NOT " + "(" * 31 + "b" + ")" * 31):
        assert ids(search(database, text, everything)) == [found]
    search(database, deep, everything)


def test_names_without_a_word_are_found(database: Database) -> None:
    """An index of words knows nothing of them; the column does."""
    with database.write() as connection:
        found = add_frame(connection, "a", window_name="—")
        add_frame(connection, "a", NOON_MS + 1, window_name="-")
    assert ids(search(database, "a", replace(ALWAYS, window_name="—"))) == [found]
