"""Ingest: seconds from capture to searchable at one frame a second, memory; raw OCR calls beside.

The real worker as a process of its own, fed from outside through the spool as capture feeds it:
a recorded desktop (idle with a clock, typing, scrolling, switching), one picture a second on the
clock. Then the same pictures at once, for the most it can do.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from bench.report import Report, cpu_s, percentile, rss_mb, timed_ms
from bench.wire import environment
from engines.ocr.protocol import open_ocr
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.times import now_ms
from store.frames import frames
from store.frames.media import Media
from store.spool.queue import Capture, Spool

PICTURES = Path(__file__).parents[1] / "tests" / "cases" / "screens" / "real"
LANGUAGES = ("eng", "chi_sim")
SECONDS = 90
AT_ONCE = 40
_PATIENCE_S = 180


def main(report: Report) -> None:
    pictures = sorted(PICTURES.glob("*.webp"))
    raw_ms = _raw(report, pictures)
    with _home() as (data_dir, spool, database), worker(data_dir) as pid:
        _wait_until_read(database, [_put(spool, pictures[0], "warm-up")])
        before_s, started = cpu_s(pid), time.monotonic()
        peak_mb = _paced(report, spool, database, pictures[:SECONDS], pid)
        busy = (cpu_s(pid) - before_s) / (time.monotonic() - started)
        report.row("CPU of the worker at this pace", f"{busy:.0%} of a core")
        _burst(report, spool, database, pictures[SECONDS : SECONDS + AT_ONCE], raw_ms)
        peak_mb = max(peak_mb, rss_mb(pid))
        report.row("memory of the worker, largest seen", f"{peak_mb:.0f} MB", goal="<= 600 MB")


def _raw(report: Report, pictures: list[Path]) -> float:
    """The limit of the reading: the engine alone, on whole pictures and on an unchanged one."""
    engine = open_ocr("auto", LANGUAGES)
    images = [Image.open(path).convert("RGB") for path in pictures[:: len(pictures) // 5][:5]]
    taken = [timed_ms(lambda image=image: engine.read(image), 1, warmup=0)[0] for image in images]
    engine.close()
    report.row("one whole picture through the engine alone", f"{sum(taken) / len(taken):.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        content, shelf = pictures[0].read_bytes(), Media(Path(folder))
        ms = timed_ms(lambda: shelf.keep(content, "image/webp", now_ms(), str(uuid.uuid4())), 5)
    report.row("one picture checked and filed durably", f"{percentile(ms, 0.5):.0f} ms")
    return sum(taken) / len(taken)


def _paced(report: Report, spool: Spool, database: Database, pictures: list[Path], pid: int) -> float:
    """One picture a second. Returns the largest memory seen, in MB."""
    start, names, peak_mb = time.monotonic(), [], 0.0
    for number, path in enumerate(pictures):
        time.sleep(max(0.0, start + number - time.monotonic()))
        names.append(_put(spool, path, "paced"))
        peak_mb = max(peak_mb, rss_mb(pid))
    _wait_until_read(database, names)
    rows = [row for name in names if (row := frames.by_capture_id(database, name))]
    stored = [(row.stored_ms - row.captured_ms) / 1000 for row in rows]
    read = [((row.read_ms or now_ms()) - row.captured_ms) / 1000 for row in rows]
    report.row(f"capture to browsable, p95 of {len(rows)}", f"{percentile(stored, 0.95):.2f} s")
    report.row("capture to searchable, median", f"{percentile(read, 0.5):.2f} s")
    report.row("capture to searchable, p95", f"{percentile(read, 0.95):.2f} s", goal="<= 5 s")
    report.row("capture to searchable, slowest", f"{max(read):.2f} s")
    return peak_mb


def _burst(report: Report, spool: Spool, database: Database, pictures: list[Path], raw_ms: float) -> None:
    """Everything at once: what the worker can do in a row."""
    started = time.monotonic()
    names = [_put(spool, path, "burst") for path in pictures]
    _wait_until_read(database, names)
    each_ms = (time.monotonic() - started) / len(names) * 1000
    report.row(
        f"one of {len(names)} queued at once", f"{each_ms:.0f} ms", limit=f"{raw_ms:.0f} ms read whole"
    )


def _put(spool: Spool, path: Path, monitor: str) -> str:
    capture = Capture(
        capture_id=str(uuid.uuid4()), captured_ms=now_ms(), source="screen", monitor=monitor, batch_id="bench"
    )
    spool.put(capture, path.read_bytes())
    return capture.capture_id


def _wait_until_read(database: Database, names: list[str]) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    for name in names:
        while time.monotonic() < deadline:
            row = frames.by_capture_id(database, name)
            if row is not None and row.status != "stored":
                break
            time.sleep(0.05)


@contextmanager
def _home() -> Iterator[tuple[DataDir, Spool, Database]]:
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as folder:
        data_dir = DataDir(Path(folder) / "home").create()
        database = open_database(data_dir)
        yield data_dir, Spool(data_dir.spool), database
        database.close_thread()


@contextmanager
def worker(data_dir: DataDir) -> Iterator[int]:
    command = [sys.executable, "-m", "ingest", "--home", str(data_dir.home)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment()) as process:
        try:
            yield process.pid
        finally:
            process.terminate()
