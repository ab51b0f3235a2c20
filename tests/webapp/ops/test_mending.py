"""What the doctor mends: each thing is said, done, and nothing else is touched."""

from __future__ import annotations

import os
import time

from store.core.database import Database
from store.core.paths import DataDir
from store.frames.media import Media
from store.spool.queue import Spool
from store.timeline import segments
from store.verify.verify import verify
from tests.factories import NOON_MS, store_frame
from webapp.ops.mending import mend


def problems(database: Database, data_dir: DataDir) -> tuple[str, ...]:
    return verify(database, Media(data_dir.media), Spool(data_dir.spool)).problems


def test_a_home_that_is_well_is_left_alone(database: Database, data_dir: DataDir) -> None:
    store_frame(database, data_dir, text="words")
    with database.write() as connection:
        segments.rebuild(connection, 0, 2**52)
    assert list(mend(data_dir)) == []


def test_rows_that_do_not_agree_are_made_anew(database: Database, data_dir: DataDir) -> None:
    for n in range(3):
        store_frame(database, data_dir, NOON_MS + n * 1_000, f"words {n}")
    with database.write() as connection:
        segments.rebuild(connection, 0, 2**52)
    well = problems(database, data_dir)
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts) values ('delete-all')")
        connection.execute("insert into frames_fts (rowid, text) values (77, 'nobody')")
        connection.execute("delete from window_names")
        connection.execute("insert into browser_urls (name) values ('https://nobody.example')")
        connection.execute("delete from segments")
    assert len(problems(database, data_dir)) == len(well) + 5
    said = list(mend(data_dir))
    assert len(said) == 4 and any("index of words" in sentence for sentence in said)
    assert problems(database, data_dir) == well
    assert list(mend(data_dir)) == []


def test_files_are_closed_to_others_and_leavings_go(database: Database, data_dir: DataDir) -> None:
    data_dir.token.write_text("x")
    data_dir.token.chmod(0o644)
    data_dir.media.chmod(0o755)
    left, fresh = data_dir.home / ".token.1.tmp", data_dir.home / ".token.2.tmp"
    for path in (left, fresh):
        path.touch(mode=0o600)
    os.utime(left, (time.time() - 7_200,) * 2)
    (data_dir.home / "web.json").write_text('{"pid": 999999999, "host": "127.0.0.1", "port": 1}')
    (data_dir.home / "web.json").chmod(0o600)
    said = list(mend(data_dir))
    assert [sentence.partition(" ")[0] for sentence in said] == ["Closed", "The", "Removed"]
    assert (data_dir.token.stat().st_mode & 0o777, data_dir.media.stat().st_mode & 0o777) == (0o600, 0o700)
    assert (left.exists(), fresh.exists(), (data_dir.home / "web.json").exists()) == (False, True, False)
