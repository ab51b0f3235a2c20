"""`python -m ingest` as a person, a supervisor and a power cut meet it."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from ingest.core.home import Home
from store.frames import frames
from store.spool import process_state
from store.verify.verify import verify
from tests.factories import NOON_MS, picture
from tests.ingest.conftest import queue

pytestmark = pytest.mark.end_to_end


def environment() -> dict[str, str]:
    return {**os.environ, "RECOLLECT_OCR_LANGUAGES": "eng", "PYTHONUNBUFFERED": "1"}


def command(home: Home, *arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "ingest", "--home", str(home.data_dir.home), *map(str, arguments)]


def ingest(home: Home, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(home, *arguments), env=environment(), capture_output=True, text=True, timeout=200
    )


def start(home: Home, **variables: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command(home), env=environment() | variables, stderr=subprocess.DEVNULL)


def tesseract_that_waits(folder: Path, gate: Path) -> dict[str, str]:
    """The real program, first in the path, which reads nothing before `gate` is there."""
    program = folder / "tesseract"
    waiting = f"while [ ! -e '{gate}' ]; do sleep 0.1; done"
    program.write_text(
        f"""#!/bin/sh
case "$1" in stdin) touch '{gate}.waits'; {waiting};; esac
exec '{shutil.which("tesseract")}' "$@"
"""
    )
    program.chmod(0o755)
    return {"RECOLLECT_OCR_ENGINE": "tesseract", "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def written(text: str, seed: int = 0) -> Image.Image:
    image = Image.new("RGB", (420, 80), (250, 250, 255 - seed % 100))
    ImageDraw.Draw(image).text((12, 20), text, fill="black", font=ImageFont.load_default(24))
    return image


def state_is(home: Home, state: str) -> bool:
    found = process_state.IngestState.read(home.data_dir.spool)
    return found is not None and found.state == state


def until(holds: Any, within_s: float = 60) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_once_empties_the_spool_and_reads(home: Home) -> None:
    record = queue(home, written("walnut desk"))
    result = ingest(home, "--once")
    assert (result.returncode, result.stdout) == (0, "")
    frame = frames.by_capture_id(home.database, record.capture_id)
    assert frame is not None and frame.status == "searchable"


def test_once_fails_with_one_line_when_something_was_set_aside(home: Home) -> None:
    queue(home, b"no picture at all")
    result = ingest(home, "--once")
    assert result.returncode == 1
    assert result.stderr.strip().splitlines()[-1] == "ingest: entries set aside in spool/failed: 1"
    assert "Traceback" not in result.stderr


def test_a_term_signal_ends_the_worker_and_a_second_one_is_refused(home: Home) -> None:
    first = start(home)
    until(lambda: state_is(home, "running"))
    second = ingest(home, "--once")
    assert (second.returncode, second.stdout) == (1, "")
    assert second.stderr.strip() == "ingest: an ingest worker is already running for this home folder"
    first.send_signal(signal.SIGTERM)
    assert first.wait(60) == 0
    assert state_is(home, "stopped")


def test_a_term_signal_in_the_middle_of_a_real_reading_abandons_it(home: Home, tmp_path: Path) -> None:
    record, gate = queue(home, written("walnut desk")), tmp_path / "gate"
    worker = start(home, **tesseract_that_waits(tmp_path, gate))
    try:
        until((tmp_path / "gate.waits").exists)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(60) == 0
    finally:
        gate.touch()
    frame = frames.by_capture_id(home.database, record.capture_id)
    assert frame is not None and (frame.reading_state, frame.reading_attempts) == ("pending", 0)
    assert ingest(home, "--once").returncode == 0
    assert frames.get(home.database, frame.id).status == "searchable"


def test_an_import_beside_a_running_worker_leaves_the_storing_to_it(home: Home, tmp_path: Path) -> None:
    worker = start(home)
    until(lambda: state_is(home, "running"))
    for n in range(3):
        written(f"number {n}", n).save(tmp_path / f"{NOON_MS + n}.png")
    result = ingest(home, "import", "images", tmp_path, "--json")
    assert (result.returncode, json.loads(result.stdout)["added"]) == (0, 3)
    state = process_state.IngestState.read(home.data_dir.spool)
    assert state is not None and state.pid == worker.pid
    worker.terminate()
    worker.wait(60)


def test_kill_9_at_random_moments_loses_and_doubles_nothing(home: Home) -> None:
    chance = random.Random(4711)
    records = [queue(home, written(f"number {n}", n), captured_ms=NOON_MS + n) for n in range(24)]
    for _ in range(6):
        worker = start(home)
        until(lambda worker=worker: state_is(home, "running") or worker.poll() is not None)
        time.sleep(chance.uniform(0, 0.4))
        worker.kill()
        worker.wait(60)
        (home.data_dir.spool / process_state.IngestState.FILE).unlink(missing_ok=True)
    assert ingest(home, "--once").returncode == 0
    report = verify(home.database, home.media, home.spool)
    assert report.problems == ()
    assert {report.counts[name] for name in ("frames", "frames read", "index rows", "pictures")} == {24}
    assert report.counts["waiting in the spool"] == report.counts["set aside in the spool"] == 0
    assert all(frames.by_capture_id(home.database, record.capture_id) for record in records)


def test_images_are_imported_once(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for n in range(3):
        written(f"number {n}", n).save(folder / f"2026-11-20_12-00-0{n}.png")
    first = ingest(home, "import", "images", folder, "--tz", "UTC", "--json")
    assert first.returncode == 0
    assert json.loads(first.stdout) == {
        "added": 3, "deduplicated": 0, "excluded": 0, "failed": 0, "queued": 0, "already_known": 0,
        "skipped": [], "pending": 0,
    }  # fmt: skip
    assert frames.nearest(home.database, NOON_MS) is not None
    again = ingest(home, "import", "images", folder, "--tz", "UTC")
    assert (again.returncode, again.stdout) == (0, "3 already known\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("import", "images", "EMPTY"), "there are no pictures"),
        (("import", "images", "EMPTY", "--tz", "Mars/Olympus"), "IANA zone"),
        (("import", "images", "nowhere"), "does not exist"),
        (("import", "video", "FILE", "--start", "soon"), "is not a time"),
        (("import", "video", "FILE", "--start", "2026-11-20T12:00"), "not a readable video"),
        (("import", "video", "FILE", "--start", "1", "--interval", "0"), "interval"),
        (("import", "sounds", "EMPTY"), "No such command"),
        (("import", "images", "PICTURES"), "holds a sample week"),
        (("import", "video", "FILE", "--start", "2026-11-20T12:00"), "holds a sample week"),
    ],
)
def test_a_refused_import_says_why_in_one_line(
    home: Home, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    if "sample week" in message:
        home.data_dir.sample_week.write_text("{}")
    for name in ("empty", "pictures"):
        (tmp_path / name).mkdir()
    written("one").save(tmp_path / "pictures" / "one.png")
    (tmp_path / "file.mp4").write_bytes(picture(1).tobytes())
    places: dict[str, str | Path] = {n.upper(): tmp_path / n for n in ("empty", "pictures")}
    places["FILE"] = tmp_path / "file.mp4"
    result = ingest(home, *(places.get(argument, argument) for argument in arguments))
    assert result.returncode != 0
    assert message in result.stderr.splitlines()[-1] and "Traceback" not in result.stderr
    assert result.stderr.startswith("ingest: ") and len(result.stderr.splitlines()) == 1
    assert home.spool.waiting() == [] and list(home.spool.failed()) == []


def test_a_wrong_setting_is_one_line(home: Home) -> None:
    home.data_dir.config.write_text("[ocr]\nengin = 1\n")
    result = ingest(home, "--once")
    assert result.returncode == 1
    assert "did you mean 'ocr.engine'" in result.stderr and "Traceback" not in result.stderr
