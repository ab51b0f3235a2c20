"""The home of `bench.search_million` as its owner meets it: bands, a day that is deleted, memory at rest."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from urllib.parse import urlencode

from bench.capture import desktop
from bench.report import Report, percentile, rss_mb, timed_ms
from bench.search_million import made_home
from bench.synthetic import START_MS, STEP_MS, Filled
from bench.wire import Wire, served
from store.core.database import Database
from store.deletion import deletion
from store.frames.media import Media

ON_REQUEST = True
_DAY_MS = 86_400_000
_ASKED = 40
_WIDTH_PX = 1_400
_AT_REST_S = 30.0


def main(report: Report) -> None:
    with made_home() as (database, made):
        report.row("frames", f"{made.frames:,}")
        with served(database.data_dir) as wire:
            _bands(report, made, wire)
            _deleting(report, database, made, wire)
        _at_rest(report, database)


def _bands(report: Report, made: Filled, wire: Wire) -> None:
    chance = random.Random(5)
    for name, days in (("a day", 1), ("a week", 7), ("a month", 31)):
        starts = [chance.randrange(made.frames - days * _DAY_MS // STEP_MS) for _ in range(_ASKED)]
        asked = [_address("timeline", START_MS + at * STEP_MS, days, width_px=_WIDTH_PX) for at in starts]
        wall, cpu = (list(each) for each in zip(*(_taken(wire, path) for path in asked), strict=True))
        report.row(
            f"bands of {name}, p50 / p95",
            f"{percentile(wall, 0.5):.0f} / {percentile(wall, 0.95):.0f} ms",
            goal="p95 100 ms",
            limit=f"CPU {percentile(cpu, 0.5):.0f} / {percentile(cpu, 0.95):.0f} ms",
        )


def _taken(wire: Wire, path: str) -> tuple[float, float]:
    """Milliseconds of an answer, and of the web process's processor time."""
    before = wire.cpu_s()
    [wall] = timed_ms(lambda: wire.get(path), 1, warmup=0)
    return wall, (wire.cpu_s() - before) * 1000


def _deleting(report: Report, database: Database, made: Filled, wire: Wire) -> None:
    """A day in the middle, then the last one, while somebody browses."""
    path = _address("search", START_MS, made.frames * STEP_MS // _DAY_MS + 1)
    alone = timed_ms(lambda: wire.get(path), _ASKED)
    for name, at in (("in the middle", made.frames // 2), ("the last one", made.frames - _DAY_MS // STEP_MS)):
        start_ms = START_MS + at * STEP_MS
        spent_s, cpu_s, frames, meanwhile = _beside(
            lambda start_ms=start_ms: _delete(database, start_ms), lambda: wire.get(path)
        )
        report.row(
            f"deleting a day of {frames:,} frames, {name}",
            f"{spent_s:.1f} s",
            goal="10 s",
            limit=f"CPU {cpu_s:.1f} s",
        )
        report.row(
            "browsing meanwhile, p50 / p95 / longest",
            f"{percentile(meanwhile, 0.5):.0f} / {percentile(meanwhile, 0.95):.0f} / {max(meanwhile):.0f} ms",
            limit=f"alone {percentile(alone, 0.5):.0f} / {percentile(alone, 0.95):.0f} ms",
        )


def _delete(database: Database, start_ms: int) -> tuple[float, float, int]:
    began, cpu = time.perf_counter(), time.thread_time()
    receipt = deletion.delete_range(database, Media(database.data_dir.media), start_ms, start_ms + _DAY_MS)
    database.close_thread()
    return time.perf_counter() - began, time.thread_time() - cpu, receipt.frames


def _beside(
    work: Callable[[], tuple[float, float, int]], ask: Callable[[], object]
) -> tuple[float, float, int, list[float]]:
    """What `work` returns, and the milliseconds of each question until it had come to its end."""
    done: list[tuple[float, float, int]] = []
    thread = threading.Thread(target=lambda: done.append(work()))
    thread.start()
    taken: list[float] = []
    while thread.is_alive():
        taken += timed_ms(ask, 1, warmup=0)
    [told] = done
    return *told, taken


def _at_rest(report: Report, database: Database) -> None:
    """Resident memory of the three programs, which have nothing to do but to look at a screen."""
    home = str(database.data_dir.home)
    commands = {"web": ("webapp", "web", "--port", "0"), "ingest": ("ingest",), "capture": ("capture",)}
    with ExitStack() as stack:
        display = stack.enter_context(desktop())
        running = {}
        for name, (module, *arguments) in commands.items():
            running[name] = subprocess.Popen(
                [sys.executable, "-m", module, *arguments, "--home", home],
                env={"DISPLAY": display, "PATH": "/usr/bin:/bin"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(running[name].wait)
            stack.callback(running[name].terminate)
        time.sleep(_AT_REST_S)
        taken = {name: rss_mb(process.pid) for name, process in running.items()}
    told = ", ".join(f"{name} {mb:.0f}" for name, mb in taken.items())
    report.row("memory at rest", f"{sum(taken.values()):.0f} MB", goal="400 MB", limit=told)


def _address(what: str, start_ms: int, days: int, **more: object) -> str:
    span = {"start_time": start_ms / 1000, "end_time": (start_ms + days * _DAY_MS) / 1000}
    return f"/api/v1/{what}?{urlencode({**span, **more})}"
