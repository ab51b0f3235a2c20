"""What other recorders of the screen keep in their databases: when each picture was taken, of what, and
where it lies; of ActivityWatch, which takes none, what its watchers saw. They are opened for reading only,
and read in the order of time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

DATABASES = ("recall.db", "db.sqlite")
"""OpenRecall's and screenpipe's."""


@dataclass(frozen=True, slots=True)
class Look:
    """A picture: a file, or the frame at place `at` of a video; `captured_ms` is None if unreadable."""

    captured_ms: int | None
    file: Path
    at: int | None
    app_name: str | None
    window_name: str | None
    browser_url: str | None = None
    monitor: str = ""


def looks(database: Path) -> Iterator[Look]:
    """Raises `apsw.Error` for what is no such database."""
    read = _openrecall if database.name == DATABASES[0] else _screenpipe
    with closing(_opened(database)) as connection:
        yield from read(connection, database.parent)


def activitywatch_events(database: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each event with the name of its bucket, as ActivityWatch's JSON has it, of both its servers
    (`storages/peewee.py` of aw-core, `datastore.rs` of aw-server-rust). Raises `apsw.Error` for what is no
    such database.
    """
    with closing(_opened(database)) as connection:
        tables = {row[0] for row in connection.execute("select name from sqlite_schema where type = 'table'")}
        for bucket, at, seconds, said in connection.execute(_OF_RUST if "buckets" in tables else _OF_PYTHON):
            try:
                data = json.loads(said)
            except (TypeError, ValueError):
                data = None
            yield str(bucket), {"timestamp": at, "duration": seconds, "data": data}


# Rust has nanoseconds since 1970: in whole milliseconds they are told as the export tells them.
_OF_RUST = """
select b.name, strftime('%Y-%m-%dT%H:%M:%f+00:00', e.starttime / 1e9, 'unixepoch'),
       (e.endtime - e.starttime) / 1e9, e.data
from events e join buckets b on b.id = e.bucketrow
order by b.id, e.starttime
"""
_OF_PYTHON = """
select b.id, e.timestamp, e.duration, e.datastr
from eventmodel e join bucketmodel b on b.key = e.bucket_id
order by b.key, e.timestamp
"""


def _opened(database: Path) -> apsw.Connection:
    return apsw.Connection(f"{database.absolute().as_uri()}?mode=ro", _READING)


_READING = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI


def _openrecall(connection: apsw.Connection, folder: Path) -> Iterator[Look]:
    for seconds, app, title in connection.execute(
        "select timestamp, app, title from entries order by timestamp, id"
    ):
        known = isinstance(seconds, int)
        file = folder / "screenshots" / f"{seconds if known else 0}.webp"
        yield Look(seconds * 1000 if known else None, file, None, app or None, title or None)


def _screenpipe(connection: apsw.Connection, folder: Path) -> Iterator[Look]:
    columns = {row[1] for row in connection.execute("pragma table_info(frames)")}
    newer = {"app_name", "window_name", "browser_url", "device_name", "snapshot_path"}
    names = ", ".join(f"f.{name}" if name in columns else f"null as {name}" for name in sorted(newer))
    for row in connection.execute(_SCREENPIPE.replace("NAMES", names)):
        at, place, chunk, read_app, read_window, app, url, device, snapshot, window = row
        file = Path(str(snapshot or chunk or ""))
        # Never a file elsewhere, whatever a database says; a folder that was moved has its files below it.
        below = file if file.resolve().is_relative_to(folder.resolve()) else folder / "data" / file.name
        yield Look(
            _utc_ms(at), below, None if snapshot else place, app or read_app or None,
            window or read_window or None, url or None, device or "",
        )  # fmt: skip


_SCREENPIPE = """
select f.timestamp, f.offset_index, v.file_path, max(o.app_name), max(o.window_name), NAMES
from frames f
left join video_chunks v on v.id = f.video_chunk_id
left join ocr_text o on o.frame_id = f.id
group by f.id
order by v.id, f.offset_index, f.timestamp
"""


def _utc_ms(text: object) -> int | None:
    """Nanoseconds are cut off; a time without a zone is UTC, as screenpipe writes it."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
