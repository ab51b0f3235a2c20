"""The daemon as a process: alone, stopped, killed."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from capture.__main__ import main
from store.core import recording
from store.core.paths import WORKER_LOCK, DataDir, file_lock
from store.core.settings import CaptureSettings
from store.spool.process_state import CaptureState, SenderState
from store.spool.queue import Spool
from tests.capture.fakes import screen, spooled

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for seed in range(40):
        Image.fromarray(screen(640, 480, seed)[..., 2::-1]).save(folder / f"{seed:03}.png", compress_level=1)
    return folder


@contextmanager
def daemon(data_dir: DataDir, *arguments: str, **environ: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "capture", "--home", str(data_dir.home), *arguments],
        env={**os.environ, **environ},
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def has_entries(spool: Spool, count: int) -> bool:
    return len(spool.waiting()) >= count


def until(condition: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not condition():
        assert process.poll() is None, process.communicate()[1].decode()
        time.sleep(0.05)


def test_it_runs_without_a_database_and_stops_with_every_look_reported(
    data_dir: DataDir, pictures: Path
) -> None:
    SenderState("https://before.example", 1, None, "", 0, 0, 0).write(data_dir.spool)
    with daemon(data_dir, "--source", f"folder:{pictures}", RECOLLECT_CAPTURE_INTERVAL_S="0.2") as process:
        until(partial(has_entries, Spool(data_dir.spool), 4), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert SenderState.read(data_dir.spool) is None  # it hands in to nobody now
    done = spooled(Spool(data_dir.spool))
    assert done.is_balanced
    assert len(done.frames) >= 4
    state = CaptureState.read(data_dir.spool)
    assert state is not None
    assert (state.state, state.looks) == ("stopped", sum(report.looks for report in done.reports))
    assert state.kept == len(done.frames)
    assert not data_dir.database.exists()
    modes = {path.stat().st_mode & 0o077 for path in data_dir.home.rglob("*")}
    assert modes == {0}


def test_it_records_as_the_person_chooses_while_it_runs_and_not_where_that_cannot_be_read(
    data_dir: DataDir, pictures: Path
) -> None:
    def is_now(state: str, reason: str = "") -> bool:
        now = CaptureState.read(data_dir.spool)
        return now is not None and (now.state, now.reason) == (state, reason)

    with daemon(data_dir, "--source", f"folder:{pictures}", RECOLLECT_CAPTURE_INTERVAL_S="0.2") as process:
        until(partial(is_now, "recording"), process)
        state = CaptureState.read(data_dir.spool)
        assert state is not None and state.connected == state.monitors == ("folder",)
        recording.choose(data_dir, {"monitors": ["DP-7"], "interval_s": 60.0}, CaptureSettings())
        until(partial(is_now, "failing", "monitor_missing"), process)
        data_dir.recording.write_text("{")
        until(partial(is_now, "failing", "choices_unreadable"), process)
        recording.choose(data_dir, {"monitors": ["folder"]}, CaptureSettings())
        until(partial(is_now, "recording"), process)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert spooled(Spool(data_dir.spool)).is_balanced


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (["--server", "http://127.0.0.1:1"], "needs --token-file"),
        (["--server", "http://recollect.example", "--token-file", "x"], "would carry the token"),
        (["--server", "http://127.0.0.1:1", "--token-file", "x"], "another program takes"),
    ],
)
def test_it_begins_no_second_sender_and_none_that_would_tell_all(
    data_dir: DataDir, given: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with file_lock(data_dir.spool / WORKER_LOCK):
        assert main(["--home", str(data_dir.home), "--source", "folder:/nowhere", *given]) == 2
    assert why in capsys.readouterr().err


def test_killed_at_any_moment_it_leaves_whole_frames_only(data_dir: DataDir, pictures: Path) -> None:
    spool = Spool(data_dir.spool)
    for tries in range(3):
        enough = len(spool.waiting()) + tries + 1
        with daemon(
            data_dir, "--source", f"folder:{pictures}", RECOLLECT_CAPTURE_INTERVAL_S="0.1"
        ) as process:
            until(partial(has_entries, spool, enough), process)  # and then it is killed
    done = spooled(Spool(data_dir.spool))
    assert len(done.frames) >= 6
    assert len({frame.capture_id for frame in done.frames}) == len(done.frames)
    for frame in done.frames:
        assert frame.sha256 == hashlib.sha256(done.images[frame.capture_id]).hexdigest()


def test_a_home_that_another_program_has_is_not_recorded_into(data_dir: DataDir, pictures: Path) -> None:
    with (
        file_lock(data_dir.spool / "capture.lock"),
        daemon(data_dir, "--source", f"folder:{pictures}") as process,
    ):
        _, said = process.communicate()
    assert process.returncode == 2
    assert said.decode().startswith("capture: another program records into")
    assert Spool(data_dir.spool).waiting() == []


def test_settings_that_cannot_be_used_are_told_in_one_line(data_dir: DataDir) -> None:
    with daemon(data_dir, "--source", "camera:0") as process:
        _, said = process.communicate()
    assert process.returncode == 2
    assert said.decode().count("\n") == 1
    assert "screen, folder:DIR or video:FILE" in said.decode()
