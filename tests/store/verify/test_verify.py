"""Verify finds every difference between index, rows, pictures and ledger, and says it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable

import numpy as np
import pytest

from store.core.database import Database
from store.core.paths import DataDir
from store.embeddings import vectors
from store.frames import frames
from store.frames.media import Media
from store.spool.queue import LookReport, Spool
from store.timeline import ledger, segments
from store.verify.verify import Report, verify
from tests.factories import NOON_MS, capture, picture, store_frame, webp
from tests.tables import for_each
from webapp.ops.mending import mend

Harm = Callable[[Database, DataDir, frames.FrameRow], None]


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> frames.FrameRow:
    """One of two frames of a home in which all is well."""
    batch_id = str(uuid.uuid4())
    for n, text in enumerate(("hello world", "二つ目 second")):
        found = store_frame(database, data_dir, NOON_MS + n, text, batch_id=batch_id, browser_url="a://b.c/")
        with database.write() as connection:
            segments.heartbeat(connection, found)
    with database.write() as connection:
        ledger.add_report(connection, LookReport(batch_id, NOON_MS, NOON_MS + 10, 2))
    return found


def check(database: Database, data_dir: DataDir) -> Report:
    return verify(database, Media(data_dir.media), Spool(data_dir.spool))


def sql(statement: str) -> Harm:
    def harm(database: Database, _: DataDir, frame: frames.FrameRow) -> None:
        with database.write() as connection:
            connection.execute("pragma defer_foreign_keys = on").fetchall()
            connection.execute(statement, {"id": frame.id})

    return harm


def without_file(_: Database, data_dir: DataDir, frame: frames.FrameRow) -> None:
    (data_dir.media / str(frame.media_path)).unlink()


def with_another_picture(_: Database, data_dir: DataDir, frame: frames.FrameRow) -> None:
    (data_dir.media / str(frame.media_path)).write_bytes(webp(picture(99)))


def with_an_orphan(_: Database, data_dir: DataDir, __: frames.FrameRow) -> None:
    path = data_dir.media / "orphan.webp"
    path.write_bytes(b"x")
    os.utime(path, (1, 1))


def test_home_in_which_all_is_well_has_no_problems(
    database: Database, data_dir: DataDir, frame: frames.FrameRow
) -> None:
    found = check(database, data_dir)
    assert found.problems == ()
    assert (found.counts["frames"], found.counts["index rows"], found.counts["pictures"]) == (2, 2, 2)


def test_empty_home_has_no_problems(database: Database, data_dir: DataDir) -> None:
    assert check(database, data_dir).problems == ()


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (without_file, "The picture of frame {id} is missing."),
        (with_another_picture, "The picture of frame {id} is altered."),
        (with_an_orphan, "Files in the media folder that belong to no frame: 1."),
        (sql("delete from frames_fts_docsize where id = :id"), "Frames that are not in the index: 1."),
        (
            sql("insert into frames_fts (rowid, text) values (:id + 5, 'extra')"),
            "Rows of the index without a frame: 1.",
        ),
        (
            sql("update readings set text = 'one two three four five' where frame_id = :id"),
            "Frames indexed with other words than they have: 1.",
        ),
        (
            sql("update readings set is_current = 0 where frame_id = :id"),
            "Frames that count as read without a reading: 1.",
        ),
        (sql("update segments set frames = 7"), "The activity segments are not those of the frames."),
        (sql("update look_batches set looks = 5"), "Looks not accounted for: 3 of 5."),
        (sql("update look_batches set looks = 1"), "Decisions made without a look: 1."),
        (
            sql("update ingest_records set outcome = 'failed' where frame_id = :id"),
            "Frames without a record of how they came in: 1.",
        ),
        (
            sql("update ingest_records set frame_id = 3 where frame_id = :id"),
            "Captures that count as stored without a frame: 1.",
        ),
        (
            sql("update frame_totals set frames = 9 where reading_state = 'failed'"),
            "Totals that are not those of the frames: 1.",
        ),
        (sql("update frames set ended_ms = 3 where id = :id"), "Frames that end before they begin: 1."),
        (
            sql("insert into media_trash (path) values ('a.webp')"),
            "Pictures of deleted frames that wait to be removed: 1.",
        ),
    ],
)  # fmt: skip
def test_every_difference_is_a_sentence(
    database: Database, data_dir: DataDir, frame: frames.FrameRow, harm: Harm, sentence: str
) -> None:
    harm(database, data_dir, frame)
    assert sentence.format(id=frame.id) in check(database, data_dir).problems


@for_each(("number", "lost"), [(3, 1), (3, 2), (3, 3), (1, 1)])
def test_a_lost_vector_is_told_whichever_it_is_and_made_anew(
    database: Database, data_dir: DataDir, frame: frames.FrameRow, number: int, lost: int
) -> None:
    vector = np.ones(4, np.int8)
    with database.write() as connection:
        vectors.add(connection, "frame", frame.id, "m", [(n, n + 1, vector) for n in range(number)])
    assert check(database, data_dir).problems == ()
    database.change("delete from vectors where thing_id = ? and chunk_start = ?", (frame.id, lost - 1))
    assert check(database, data_dir).problems == ("Things that have lost some of their vectors: 1.",)
    assert "Things that have lost some of their vectors: 1, mended." in list(mend(data_dir))
    assert frame.id in vectors.missing(database, "frame", "m", 9)
    assert check(database, data_dir).problems == ()


def test_vectors_that_no_count_knows_are_counted(
    database: Database, data_dir: DataDir, frame: frames.FrameRow
) -> None:
    with database.write() as connection:
        vectors.add(connection, "frame", frame.id, "m", [(0, 1, np.ones(4, np.int8))])
    database.change("delete from vector_counts")
    assert check(database, data_dir).problems == ("Things with vectors that are not counted: 1.",)
    assert "Things with vectors that are not counted: 1, mended." in list(mend(data_dir))
    assert check(database, data_dir).problems == ()


def test_damage_of_the_file_is_told(database: Database, data_dir: DataDir, frame: frames.FrameRow) -> None:
    with database.write() as connection:
        connection.execute("delete from frames_fts_data where id > 10")
    assert any("The database file is damaged" in problem for problem in check(database, data_dir).problems)


def test_capture_that_still_waits_in_the_spool_is_no_difference(
    database: Database, data_dir: DataDir, frame: frames.FrameRow
) -> None:
    spool = Spool(data_dir.spool)
    spool.put(capture(NOON_MS + 5, batch_id=frame.batch_id), webp(picture(5)))
    with database.write() as connection:
        connection.execute("update look_batches set looks = looks + 1")
    found = check(database, data_dir)
    assert found.problems == ()
    assert found.counts["waiting in the spool"] == 1


def test_picture_that_ingest_is_about_to_enter_is_no_difference(
    database: Database, data_dir: DataDir
) -> None:
    Media(data_dir.media).keep(webp(picture(1)), "image/webp", NOON_MS, str(uuid.uuid4()))
    assert check(database, data_dir).problems == ()
