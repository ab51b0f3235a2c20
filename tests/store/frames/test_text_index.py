"""The index of words made anew while frames come, change and go."""

from __future__ import annotations

import random
import threading

import apsw
import pytest

from store.core import migrations
from store.core.database import Database, rows, scalar
from store.core.paths import DataDir
from store.deletion import deletion, receipts
from store.frames import frames, text_index
from store.frames.media import Media
from store.ocr import readings
from store.search import search
from store.search.filters import Filters
from tests.factories import NOON_MS, store_frame, text_draft
from tests.store.deletion.test_deletion import places_with


def put(database: Database, data_dir: DataDir, n: int, text: str) -> int:
    return store_frame(database, data_dir, NOON_MS + n, text, app_name="Firefox").id


def is_sound(database: Database) -> bool:
    """Whether the index has exactly the words of the stored frames."""
    with database.write() as connection:
        try:
            connection.execute("insert into frames_fts (frames_fts, rank) values ('integrity-check', 1)")
        except apsw.CorruptError:
            return False
    return True


def found(database: Database, text: str) -> list[int]:
    return [hit.frame_id for hit in search.search(database, text, Filters(0), order="oldest").hits]


def rebuild(database: Database, at_most: int = 500) -> int:
    total = 0
    while added := text_index.rebuild_some(database, at_most):
        total += added
    return total


def in_next(database: Database) -> list[int]:
    with database.read() as connection:
        return [
            number for (number,) in rows(connection, "select id from frames_fts_next_docsize order by id")
        ]


def test_frames_that_change_in_the_middle_are_in_the_new_index_as_they_are(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    rng = random.Random(3)
    known = {put(database, data_dir, 10 * n, f"word{n} shared") for n in range(30)}
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('delete-all')")
        connection.execute("insert into frames_fts (frames_fts) values ('rebuild')")
    steps = 0
    while text_index.rebuild_some(database, 3):
        steps += 1
        # Words change everywhere, a frame goes and a late one comes on either side of the middle.
        changed = rng.choice(sorted(known))
        with database.write() as connection:
            readings.add(connection, changed, text_draft(f"again{steps} shared"), (), NOON_MS)
            frames.set_browser_url(connection, rng.choice(sorted(known)), f"https://step{steps}.example")
        if steps % 2:
            gone = rng.choice(sorted(known - {changed}))
            deletion.delete_frames(database, media, [gone])
            known.remove(gone)
        late = put(database, data_dir, 10 * rng.randrange(30) + steps % 9 + 1, f"late{steps} shared")
        known.add(late)
        so_far = in_next(database)
        assert so_far == sorted(known)[: len(so_far)]
        assert found(database, f"late{steps}") == [late]
        assert found(database, f"again{steps}") == [changed]
    assert steps > 10
    assert is_sound(database)
    assert set(found_all(database)) == known
    assert in_next(database) == []


def found_all(database: Database) -> list[int]:
    page = search.search(database, "shared", Filters(0), order="oldest", limit=200)
    assert page.total_is_exact
    return [hit.frame_id for hit in page.hits]


def test_a_frame_that_changes_at_the_very_edge_is_not_lost(database: Database, data_dir: DataDir) -> None:
    ids = [put(database, data_dir, n, f"word{n}") for n in range(6)]
    text_index.rebuild_some(database, 3)
    with database.write() as connection:
        readings.add(connection, ids[2], text_draft("changed"), (), NOON_MS)
        readings.add(connection, ids[3], text_draft("beyond"), (), NOON_MS)
    rebuild(database)
    assert is_sound(database)
    assert (found(database, "changed"), found(database, "beyond")) == ([ids[2]], [ids[3]])


def test_a_rebuild_that_was_stopped_puts_in_the_rest(database: Database, data_dir: DataDir) -> None:
    for n in range(10):
        put(database, data_dir, n, f"word{n}")
    assert text_index.count_missing(database) == 10
    assert text_index.rebuild_some(database, 4) == 4
    assert text_index.count_missing(database) == 6
    assert rebuild(database, 4) == 6
    assert text_index.count_missing(database) == 10  # the next one would begin anew
    assert is_sound(database)


def test_the_new_index_erases_words_as_the_old_one_did(database: Database, data_dir: DataDir) -> None:
    def setup() -> list[list[tuple[object, ...]]]:
        return [
            rows(database.connection(), f"select k, v from {table} order by k")
            for table in ("frames_fts_config", "frames_fts_next_config")
        ]

    def schema() -> list[tuple[object, ...]]:
        return rows(database.connection(), "select type, name, tbl_name from sqlite_schema order by 1, 2")

    before = setup(), schema()
    put(database, data_dir, 0, "word")
    rebuild(database)
    rebuild(database)
    assert (setup(), schema()) == before
    assert all(("secure-delete", 1) in each for each in setup())


@pytest.mark.parametrize("merge_worth", [0, 10**9], ids=["word by word", "merging the index"])
def test_deleted_words_are_in_neither_index(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch, merge_worth: int
) -> None:
    monkeypatch.setattr(deletion, "_MERGE_WORTH", merge_worth)
    ids = [put(database, data_dir, n, f"xylophonequark number{n}") for n in range(4)]
    kept = [put(database, data_dir, 10 + n, f"something else {n}") for n in range(4)]
    text_index.rebuild_some(database, 6)
    receipt = deletion.delete_frames(database, media, ids)
    assert receipt.verified
    for table in ("frames_fts_data", "frames_fts_next_data"):
        blocks = rows(database.connection(), f"select block from {table}")
        assert not any(b"xylophonequark" in block for (block,) in blocks), table
    rebuild(database)
    assert is_sound(database)
    assert found(database, "something") == kept


def test_words_that_stayed_in_the_unfinished_index_would_be_noticed(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame_id = put(database, data_dir, 0, "secret")
    put(database, data_dir, 1, "other")
    text_index.rebuild_some(database)
    monkeypatch.setattr(text_index, "_reached", lambda _: -1)
    receipt = deletion.delete_frames(database, media, [frame_id])
    assert not receipt.verified
    assert receipt.left


def test_searches_of_other_connections_go_on_over_the_change(database: Database, data_dir: DataDir) -> None:
    """A connection that was there before the index took over reads the new one, ranked and marked."""
    frame_id = put(database, data_dir, 0, "the login system")
    asked, answered = threading.Barrier(2, timeout=120), threading.Barrier(2, timeout=120)
    heard: list[list[int]] = []

    def other() -> None:
        for _ in range(3):
            asked.wait()
            page = search.search(database, "login", Filters(0))
            heard.append([hit.frame_id for hit in page.hits])
            answered.wait()
        database.close_thread()

    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(3):
        asked.wait()
        answered.wait()
        rebuild(database)
    thread.join()
    assert heard == [[frame_id]] * 3


def test_rows_of_an_open_read_are_those_of_its_beginning(database: Database, data_dir: DataDir) -> None:
    put(database, data_dir, 0, "the login system")

    def in_another_thread() -> None:
        rebuild(database)
        database.close_thread()

    count = "select count(*) from frames_fts where frames_fts match 'login'"
    with database.read() as connection:
        assert scalar(connection, count) == 1
        thread = threading.Thread(target=in_another_thread)
        thread.start()
        thread.join()
        assert scalar(connection, count) == 1
    assert scalar(database.connection(), count) == 1


def test_an_index_made_anew_has_the_shape_of_the_one_before(database: Database, data_dir: DataDir) -> None:
    """The same columns, tokenizer and lists for short beginnings of words."""

    def shapes() -> set[str]:
        sql = "select name, sql from sqlite_schema where name in ('frames_fts', 'frames_fts_next')"
        with database.read() as connection:
            return {" ".join(made.partition("(")[2].split()) for _, made in rows(connection, sql)}

    before = shapes()
    assert len(before) == 1
    assert "prefix = '1 2 3'" in before.pop()
    put(database, data_dir, 1, "eins zwei")
    rebuild(database)
    assert len(shapes()) == 1
    assert found(database, "e*") == found(database, "zw*") == found(database, "zwei")


def test_words_that_are_taken_back_are_found_by_no_beginning(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    kept = put(database, data_dir, 1, "shown")
    gone = put(database, data_dir, 2, "secret")
    deletion.delete_frames(database, media, [gone])
    for beginning in ("s*", "se*", "sec*", "secr*"):
        assert found(database, beginning) == ([kept] if beginning == "s*" else [])


@pytest.mark.parametrize("is_small", [True, False])
def test_no_word_is_left_of_an_index_that_is_mostly_deleted(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch, is_small: bool
) -> None:
    """What deletes most of an index is as long as what it deletes, and FTS5 moves all to one level then."""
    for n in range(150):
        put(database, data_dir, n, f"xylophonequark line {n}")
    kept = put(database, data_dir, 3_600_000, "harbour office")
    if not is_small:
        monkeypatch.setattr(text_index, "_is_small", lambda _: False)
    assert deletion.delete_range(database, media, NOON_MS, NOON_MS + 3_600_000).verified
    assert places_with(data_dir, [b"xylophonequark"]) == []
    assert found(database, "harbour") == [kept] and is_sound(database)


def test_words_that_an_earlier_version_left_are_erased_after_the_update(
    database: Database, data_dir: DataDir, media: Media, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(150):
        put(database, data_dir, n, f"xylophonequark line {n}")
    with monkeypatch.context() as before:
        before.setattr(text_index, "_is_small", lambda _: False)
        before.setattr(text_index, "_has_marks", lambda _: False)
        assert deletion.delete_range(database, media, NOON_MS, NOON_MS + 3_600_000).verified
    assert places_with(data_dir, [b"xylophonequark"]) != []
    with database.write() as connection:
        connection.execute((migrations.FOLDER / "021_marked_words.sql").read_text(encoding="utf-8"))
    assert [(each.verified, each.is_being_finished) for each in receipts.latest(database, 9)] == [
        (False, True)
    ]
    receipts.settle(database, media)
    assert places_with(data_dir, [b"xylophonequark"]) == []
    assert [(each.verified, each.left) for each in receipts.latest(database, 9)] == [(True, [])]
