"""A thousand people, each with a machine and a home: network, CPU and disk of whoever keeps the homes.

Simulated minute by minute over one working day, from what was measured of one frame (`MEASURED`; of its
database a part is made up); nothing is measured here. Each person comes, has lunch, goes, and is idle in
between, by chance; for an hour of the morning a third of them has no network, and then they hand in what
waited. What is read waits for its turn.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from bench.report import Report

ON_REQUEST = True
PEOPLE = 1_000
MINUTES, WORKDAYS = 24 * 60, 220
_CUT = range(10 * 60, 11 * 60)
_CUT_SHARE = 1 / 3
_CATCH_UP = 10
"""As many times as soon as they come, entries that waited are handed in."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One frame of mixed work at 1920 x 1080; docs/scale.md says where each figure is from."""

    frames_an_hour: int = 2_300
    sent_kb: float = 42.0
    kept_kb: float = 3.7
    database_kb: float = 5.3
    accept_ms: float = 2.9
    store_ms: float = 20.0
    read_ms: float = 230.0
    processes_mb: float = 300.0


MEASURED = Measured()


def main(report: Report) -> None:
    chance = random.Random(2_026)
    captured = [0.0] * MINUTES
    handed_in = [0.0] * MINUTES
    for _ in range(PEOPLE):
        _one_day(chance, captured, handed_in)
    frames = sum(captured)
    report.row("frames a person and day", f"{frames / PEOPLE:,.0f}")
    report.row("memory of the programs of all homes", f"{PEOPLE * MEASURED.processes_mb / 1_000:,.0f} GB")
    for name, a_second in (
        ("busiest minute of capture", max(captured) / 60),
        ("first minute with the network back", max(handed_in) / 60),
    ):
        mbit = a_second * MEASURED.sent_kb * 8 / 1_000
        report.row(name, f"{a_second:,.0f} a second, {mbit:,.0f} Mbit/s")
        report.row("  cores to accept it", f"{a_second * MEASURED.accept_ms / 1_000:.1f}")
    _reading(report, frames, handed_in)
    _disk(report, frames)


def _one_day(chance: random.Random, captured: list[float], handed_in: list[float]) -> None:
    """Add a person's frames to those of each minute: when they were captured, and when they are handed in."""
    begins, lasts = round(chance.gauss(9 * 60, 50)), round(chance.gauss(8.8 * 60, 60))
    lunch = begins + round(chance.gauss(3.6 * 60, 30))
    has_no_net = chance.random() < _CUT_SHARE
    is_active, waiting, rate = True, 0.0, MEASURED.frames_an_hour / 60
    for minute in range(max(0, begins), MINUTES):
        is_active = chance.random() < (0.92 if is_active else 0.25)  # of ten minutes, some two without use
        is_there = minute < begins + lasts and not lunch <= minute < lunch + 45
        made = rate if is_there and is_active else 0.0
        captured[minute] += made
        waiting += made
        if not (has_no_net and minute in _CUT):
            sent = min(waiting, _CATCH_UP * rate)
            handed_in[minute] += sent
            waiting -= sent


def _reading(report: Report, frames: float, handed_in: list[float]) -> None:
    """Storing and reading can wait: what was accepted lies in the spool, durably."""
    each_ms = MEASURED.store_ms + MEASURED.read_ms
    need_h = frames * each_ms / 3_600_000
    report.row("hours of a core to store and read the day", f"{need_h:,.0f}")
    for cores in (round(need_h / 24 * share) for share in (1.05, 1.5, 3.0)):
        longest_h, empty = _queue(handed_in, cores * 60_000 / each_ms)
        until = f"empty at {empty // 60 % 24:02d}:{empty % 60:02d}"
        report.row(f"longest wait with {cores} cores", f"{longest_h:.1f} h", limit=until)


def _queue(handed_in: list[float], a_minute: float) -> tuple[float, int]:
    """Hours until the last of the longest queue is done, and the minute at which none is left."""
    waiting, most, empty = 0.0, 0.0, 0
    for minute in range(2 * MINUTES):
        waiting = max(0.0, waiting + (handed_in[minute] if minute < MINUTES else 0.0) - a_minute)
        most = max(most, waiting)
        empty = minute + 1 if waiting else empty
    return most / a_minute / 60, empty


def _disk(report: Report, frames: float) -> None:
    a_year = frames * WORKDAYS / 1e9
    report.row("media a year, packed", f"{a_year * MEASURED.kept_kb:,.1f} TB")
    report.row("databases a year", f"{a_year * MEASURED.database_kb:,.1f} TB")
    each = frames / PEOPLE * WORKDAYS
    kept = (MEASURED.kept_kb + MEASURED.database_kb) * each / 1e6
    report.row("one home after a year", f"{kept:,.1f} GB", limit=f"{each:,.0f} frames")
