"""Files of every importer, 20,000 records each: records a second, and how much memory it took.

Each import runs in a process of its own, from opening the file to the last commit. The figure is of time on
the processor, which other work on the machine does not change; beside it is that of the clock. The same file
is imported a second time, which must change nothing. One format is imported ten times as large, to show
that memory does not grow with the file.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bench.exports import WRITERS
from bench.report import Report
from ingest.core.home import open_home
from ingest.importers.sources.source_file import Options
from ingest.importers.sources.source_import import import_file
from store.core.paths import DataDir
from store.core.settings import load
from store.core.times import now_ms
from store.sources.imports import Kind

RECORDS = 20_000
_LARGE = 10
_GOAL = "5,000/s"
_CALENDAR_GOAL = "500/s"
"""Events are worked out by libraries that take their time, and nobody has 20,000 of them."""


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for (kind, form, name), write in WRITERS.items():
            path = Path(folder) / name
            write(path, RECORDS)
            first = _alone(f"{folder}/{name}.home", kind, path)
            again = _alone(f"{folder}/{name}.home", kind, path)
            assert again["added"] == again["updated"] == 0, again
            assert first["added"] >= RECORDS * 0.999, first
            _row(report, f"{kind}, {form} ({name})", first)
            report.row("  the same file again", f"{RECORDS / again['cpu_s']:,.0f}/s")
            path.unlink()
        path = Path(folder) / "large.xml"
        WRITERS["messages", "sms-backup", "sms.xml"](path, RECORDS * _LARGE)
        size = path.stat().st_size / 1e6
        _row(
            report,
            f"sms-backup of {RECORDS * _LARGE:,} ({size:,.0f} MB)",
            _alone(f"{folder}/l", "messages", path),
        )


def _row(report: Report, what: str, found: dict[str, Any]) -> None:
    rate, by_clock = found["added"] / found["cpu_s"], found["added"] / found["seconds"]
    goal = _CALENDAR_GOAL if what.startswith("calendar") else _GOAL
    report.row(what, f"{rate:,.0f}/s", goal=goal, limit=f"{by_clock:,.0f}/s by the clock")
    before, peak = found["before_mb"], found["peak_mb"]
    report.row("  peak memory, of which before the import", f"{peak:.0f} / {before:.0f} MB")


def _alone(home: str, kind: str, path: Path) -> dict[str, Any]:
    """What an import in a fresh process took."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_import, home, kind, path).result()


def _import(folder: str, kind: Kind, path: Path) -> dict[str, Any]:
    data_dir = DataDir(Path(folder)).create()
    home = open_home(data_dir, load(data_dir))
    options = Options(ZoneInfo("Europe/Berlin"), now_ms(), frozenset({"me", "me@example.org"}))
    before = _peak_mb()
    started, cpu_started = time.perf_counter(), time.process_time()
    receipt = import_file(home, kind, path, options)
    seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu_started
    found = {"seconds": seconds, "cpu_s": cpu_s, "added": receipt.added, "updated": receipt.updated}
    return {**found, "before_mb": before, "peak_mb": _peak_mb()}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
