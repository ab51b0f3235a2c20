"""What other recorders kept: each picture at its time, with what they knew of it."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import apsw
import pytest

from ingest.importers import recordings
from ingest.importers.items import CannotImport, Item, Skipped
from tests.ingest.importers.test_importers import clip, scene

# As each made them at the end of 2026, without the columns that nothing is read of.
_OPENRECALL = "create table entries (id integer primary key, app text, title text, text text, timestamp)"
_SCREENPIPE = """
create table video_chunks (id integer primary key, file_path text, device_name text);
create table frames (id integer primary key, video_chunk_id integer, offset_index integer, timestamp text,
  app_name text, window_name text, browser_url text, device_name text, snapshot_path text);
create table ocr_text (frame_id integer, text text, app_name text, window_name text);
"""
_OLDER = """
create table video_chunks (id integer primary key, file_path text);
create table frames (id integer primary key, video_chunk_id integer, offset_index integer, timestamp text);
create table ocr_text (frame_id integer, text text, app_name text, window_name text);
"""


def made(path: Path, schema: str, **tables: list[tuple[object, ...]]) -> None:
    connection = apsw.Connection(str(path))
    for _ in connection.execute(schema):
        pass
    for name, rows in tables.items():
        connection.executemany(f"insert into {name} values ({', '.join('?' * len(rows[0]))})", rows)
    connection.close()


def told(folder: Path) -> list[object]:
    """(time, app, title, address) of each picture, or why it was left out."""
    found = list[object]()
    for each in recordings.read(recordings.find(folder), UTC):
        if isinstance(each, Skipped):
            found.append(each.reason)
        else:
            known = each.capture
            assert isinstance(each, Item) and known.source == "video" and each.image
            found.append((known.captured_ms, known.app_name, known.window_name, known.browser_url))
    return found


def test_frames_of_a_video_and_pictures_beside_it_are_screenpipe_s(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    clip(data / "monitor_1.mp4", [1, 2, 3])
    scene(4).save(tmp_path / "snap.jpg")
    made(
        tmp_path / "db.sqlite", _SCREENPIPE,
        video_chunks=[(1, "/elsewhere/monitor_1.mp4", "monitor_1")],  # the folder was moved
        frames=[
            (1, 1, 0, "2026-11-27T19:00:00.123456789+00:00", None, None, None, "m", None),
            (2, 1, 2, "2026-11-27 19:02:00", "Web", "Raku", "https://a.example/", "m", None),
            (3, 1, 9, "2026-11-27T19:03:00Z", "Web", "Raku", None, "m", None),
            (4, None, None, "2026-11-27T19:04:00Z", "Shop", "Glaze", None, None, str(tmp_path / "snap.jpg")),
            (5, None, None, "soon", "Shop", "Glaze", None, None, str(tmp_path / "snap.jpg")),
        ],
        ocr_text=[(1, "cone 6", "Zed", "kiln.rs")],
    )  # fmt: skip
    assert sorted(told(tmp_path), key=str) == [
        (1795806000123, "Zed", "kiln.rs", None),
        (1795806120000, "Web", "Raku", "https://a.example/"),
        (1795806240000, "Shop", "Glaze", None),
        "its picture is not there any more",
        "its time cannot be read",
    ]


def test_a_database_of_an_older_screenpipe_is_read(tmp_path: Path) -> None:
    clip(tmp_path / "a.mp4", [1])
    made(
        tmp_path / "db.sqlite", _OLDER, video_chunks=[(1, str(tmp_path / "a.mp4"))],
        frames=[(1, 1, 0, "2026-11-27T19:00:00Z")], ocr_text=[(1, "x", "Zed", "kiln.rs")],
    )  # fmt: skip
    assert told(tmp_path) == [(1795806000000, "Zed", "kiln.rs", None)]


def test_a_database_names_no_file_outside_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "screenpipe"
    folder.mkdir()
    scene(1).save(tmp_path / "passport.jpg")
    outside = (str(tmp_path / "passport.jpg"), f"{folder}/../passport.jpg")
    rows = [(n, None, None, "2026-11-27T19:00:00Z", "A", "B", None, None, f) for n, f in enumerate(outside)]
    made(folder / "db.sqlite", _SCREENPIPE, frames=rows)
    assert told(folder) == 2 * ["its picture is not there any more"]


def test_pictures_of_openrecall_have_its_apps_and_titles(tmp_path: Path) -> None:
    (tmp_path / "screenshots").mkdir()
    scene(1).save(tmp_path / "screenshots" / "1795810000.webp", lossless=True)
    rows = [(1, "Krita", "heron.kra", "", 1795810000), (2, "", "", "", 1795810003), (3, "", "", "", None)]
    made(tmp_path / "recall.db", _OPENRECALL, entries=rows)
    assert told(tmp_path) == [
        "its picture is not there any more",
        (1795810000000, "Krita", "heron.kra", None),
        "its picture is not there any more",
    ]


def test_what_is_no_such_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotImport, match="screenpipe"):
        recordings.find(tmp_path)
    (tmp_path / "db.sqlite").write_bytes(b"not a database, but long enough to be taken for one" * 40)
    with pytest.raises(CannotImport, match="cannot be read"):
        recordings.find(tmp_path)
