"""What a measurement prints, and the few tools every measurement needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

import psutil

SETS = Path(__file__).with_name("sets")


def is_closed(name: str) -> bool:
    """Whether only the totals of this set may be printed."""
    return name.startswith("sealed") or name == "languages"


class Report:
    """Rows of a measurement: what, its figure, the goal, and the physical limit beside it.

    `folders` hold foreign sets to measure by.
    """

    def __init__(self, out: TextIO, folders: Sequence[Path] = ()) -> None:
        self.out = out
        self.folders = folders

    def line(self, text: str) -> None:
        self.out.write(text + "\n")
        self.out.flush()

    def section(self, name: str, about: str) -> None:
        self.line(f"\n{name}: {about}")

    def row(self, what: str, value: str, *, goal: str = "", limit: str = "") -> None:
        """`limit` is the raw cost of the one thing that cannot be avoided."""
        parts = [f"  {what:<46} {value:>16}"]
        if goal:
            parts.append(f"goal {goal}")
        if limit:
            parts.append(f"limit {limit}")
        self.line("   ".join(parts))


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which `share` (0..1) of the values lie; nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def timed_ms(call: Callable[[], object], times: int, warmup: int = 1) -> list[float]:
    """Wall milliseconds of `times` calls after `warmup` uncounted ones."""
    for _ in range(warmup):
        call()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        call()
        taken.append((time.perf_counter() - started) * 1000)
    return taken


def rss_mb(pid: int) -> float:
    """Resident memory of a process in MB."""
    return float(psutil.Process(pid).memory_info().rss / 2**20)


def cpu_s(pid: int) -> float:
    """User and system seconds a process has used."""
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
