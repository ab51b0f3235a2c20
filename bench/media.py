"""Stored pictures: bytes, CPU and access, as captured and in packs, on recorded scenes of a desktop.

``RECOLLECT_SCENES`` names a folder that keeps the recordings of `bench.scenes` from run to run. The scenes
are the hard part of a day: every frame differs, and none is idle. Times are of the process, not of the clock.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
import uuid
from pathlib import Path

from bench.report import Report, percentile
from bench.scenes import Frame, recorded
from ingest.core.home import Home, open_home
from store.core.paths import DataDir
from store.core.settings import Settings
from store.deletion import deletion
from store.frames import frames, packing
from store.spool.queue import Capture

ON_REQUEST = True
_START_MS = 1_795_176_000_000
_LATER_MS = _START_MS + 2 * 3_600_000
_READS = 60


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("RECOLLECT_SCENES", scratch))
        scenes = recorded(folder, int(os.environ.get("RECOLLECT_SEED", "1")))
        with tempfile.TemporaryDirectory() as home_folder:
            data_dir = DataDir(Path(home_folder))
            data_dir.create()
            _measure(report, open_home(data_dir, Settings()), scenes)


def _measure(report: Report, home: Home, scenes: dict[str, list[Frame]]) -> None:
    ids = _store(home, scenes)
    before = _bytes(home)
    still_ms = _read(home, ids)
    began = time.process_time()
    _pack(home)
    spent_s = time.process_time() - began
    report.row("frames", str(len(ids)))
    report.row("a frame as captured", f"{before / len(ids) / 1000:.1f} kB")
    report.row("a frame in a pack", f"{_bytes(home) / len(ids) / 1000:.1f} kB")
    report.row("packing a frame", f"{spent_s / len(ids) * 1000:.0f} ms")
    for name, taken_ms in (("still", still_ms), ("picture of a pack", _read(home, ids))):
        p50, p95 = percentile(taken_ms, 0.5), percentile(taken_ms, 0.95)
        report.row(f"reading a {name}, p50 and p95", f"{p50:.0f} {p95:.0f} ms", goal="100 ms")
    began = time.process_time()
    deletion.delete_frames(home.database, home.media, ids[:1])
    report.row("deleting one frame of a pack", f"{(time.process_time() - began) * 1000:.0f} ms")
    home.database.close_thread()


def packed_bytes(scenes: dict[str, list[Frame]]) -> tuple[int, int]:
    """What the frames take as captured, and in packs."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir = DataDir(Path(folder))
        data_dir.create()
        home = open_home(data_dir, Settings())
        _store(home, scenes)
        before = _bytes(home)
        _pack(home)
        after = _bytes(home)
        home.database.close_thread()
    return before, after


def _pack(home: Home) -> None:
    while packing.pack_next(home.database, home.media, _LATER_MS):
        packing.empty_trash(home.database, home.media)


def _store(home: Home, scenes: dict[str, list[Frame]]) -> list[int]:
    """The frames of all scenes, one a second on one screen."""
    ids = []
    for number, frame in enumerate(frame for pictures in scenes.values() for frame in pictures):
        at_ms = _START_MS + number * 1000
        capture = Capture(str(uuid.uuid4()), at_ms, "screen", monitor="DP-1", batch_id="bench")
        still = home.media.keep(frame.image.read_bytes(), "image/webp", at_ms, capture.capture_id)
        with home.database.write() as connection:
            ids.append(frames.insert(connection, capture, still, at_ms))
    return ids


def _bytes(home: Home) -> int:
    return sum((home.media.folder / path).stat().st_size for path in home.media.files())


def _read(home: Home, ids: list[int]) -> list[float]:
    """Milliseconds of the process for reading pictures here and there."""
    taken = []
    for frame_id in random.Random(0).choices(ids, k=_READS):
        began = time.process_time()
        home.media.image(frames.get(home.database, frame_id))
        taken.append((time.process_time() - began) * 1000)
    return taken
