"""Golden frames read by two workers of Dask on this machine, and by one reader: texts and CPU."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
from PIL import Image

from bench.report import Report
from engines.ocr.protocol import open_ocr
from ingest.core.cluster import Cluster
from ingest.core.home import Home, open_home
from ingest.core.worker_stats import WorkerStats
from ingest.reading.backlog import Backlog
from ingest.reading.cluster_reading import ClusterReading
from ingest.reading.reader import ReaderLoop
from store.core.paths import DataDir
from store.core.settings import Settings
from store.core.times import now_ms
from store.ocr import readings
from tests.factories import NOON_MS, store_frame
from tests.golden.truth import all_golden

ON_REQUEST = True
_EACH = 3  # of the golden frames one in so many
_WORKERS = 2
_IDLE_S = 30


def main(report: Report) -> None:
    from distributed import LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        home = open_home(DataDir(Path(folder)).create(), Settings())
        pictures = [frame.image() for frame in all_golden()[::_EACH]]
        ids = [_stored(home, n, image) for n, image in enumerate(pictures)]
        local, backlog, stats = _reader(home)
        own = psutil.Process()
        here_s, wall_s = _run(local.step, own)
        expected = [_text(home, frame_id) for frame_id in ids]
        report.line(f"here: {len(ids)} frames, {here_s / len(ids):.2f} s of CPU each, {wall_s:.0f} s")
        with LocalCluster(n_workers=_WORKERS, threads_per_worker=1, dashboard_address=None) as workers:
            there = [psutil.Process(worker.pid) for worker in workers.workers.values()]
            cluster = Cluster(workers.scheduler_address.replace("tcp://", "dask://"))
            loop = ClusterReading(home, backlog, stats, cluster, local, now_ms, threading.Event())
            warm = [_stored(home, 5_000 + n, Image.new("RGB", (40 + n, 40), "white")) for n in range(8)]
            _run(loop.step, own)  # each worker opens its engine
            idle = _idle([own, *there])
            sum(readings.queue_again(home.database))
            before_s = sum(map(_cpu, there))
            own_s, wall_s = _run(loop.step, own)
            there_s = sum(map(_cpu, there)) - before_s - idle * wall_s  # a busy machine makes it long
            loop.close()
        same = sum(_text(home, frame_id) == text for frame_id, text in zip(ids, expected, strict=True))
        report.line(
            f"there: {there_s / len(ids):.2f} s of CPU each, here {own_s / len(ids):.3f} s beside it, "
            f"{wall_s:.0f} s with {_WORKERS} workers, {len(warm)} small ones among them"
        )
        report.line(f"not counted: {idle:.3f} s a second of all three at rest")
        report.line(f"throughput per core {here_s / (there_s + own_s):.2f} of here")
        report.line(f"{same} of {len(ids)} texts are the same byte for byte")


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _idle(processes: list[psutil.Process]) -> float:
    """Seconds of CPU a second of processes that have nothing to do: heartbeats, and the scheduler's."""
    before_s = sum(map(_cpu, processes))
    time.sleep(_IDLE_S)
    return (sum(map(_cpu, processes)) - before_s) / _IDLE_S


def _run(step: Callable[[], bool], own: psutil.Process) -> tuple[float, float]:
    """Seconds of CPU of this process, and of the clock."""
    began, cpu_s = time.monotonic(), _cpu(own)
    while step():
        pass
    return _cpu(own) - cpu_s, time.monotonic() - began


def _reader(home: Home) -> tuple[ReaderLoop, Backlog, WorkerStats]:
    backlog, stats = Backlog(home.database, now_ms), WorkerStats(now_ms)
    engine = lambda: open_ocr("tesserocr", home.settings.ocr.languages)  # noqa: E731
    reader = ReaderLoop(home, backlog, stats, engine, now_ms, threading.Event())
    reader._ready_reader()
    return reader, backlog, stats


def _stored(home: Home, n: int, image: Image.Image) -> int:
    # Each on a monitor of its own: pictures that follow each other count as moving, and are left unread here.
    return store_frame(home.database, home.data_dir, NOON_MS + n * 10_000, image=image, monitor=f"M{n}").id


def _text(home: Home, frame_id: int) -> tuple[str, str]:
    reading = readings.current_reading(home.database, frame_id)
    return ("", "") if reading is None else (reading.text, repr(reading.lines))
