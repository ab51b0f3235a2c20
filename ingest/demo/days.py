"""When what happens: the working days of the story, with their pauses, on a calendar.

A week is told Monday to Friday; more days are told as earlier weeks with other figures. Durations move a
little with the seed, so that nobody's work is as even as a table.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from ingest.demo.story import SceneScript, Shift, figures, story

LEFT_OUT: dict[str, tuple[str, str] | None] = {
    "locked": ("paused", "locked"),
    "paused": ("paused", "paused"),
    "excluded": ("excluded", "rule:url"),
    "not_running": None,
}
"""Reasons of a stretch without pictures, and what capture's ledger says of it: (decision, reason)."""

_SECONDS_A_FRAME = 330
_MOST_FRAMES = 7

_MINUTES_A_DAY = 490
"""From about nine o'clock to a quarter past five."""


@dataclass(frozen=True)
class Moment:
    """One picture to be drawn: `rows` of its scene are there."""

    captured_ms: int
    ended_ms: int
    rows: int


@dataclass(frozen=True)
class Visit:
    """A stretch in one window."""

    id: str
    script: SceneScript
    start_ms: int
    end_ms: int
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Away:
    """A stretch without pictures; `reason` is one of `LEFT_OUT`."""

    start_ms: int
    end_ms: int
    reason: str


@dataclass(frozen=True)
class Day:
    """In order and without holes."""

    date: date
    week: int
    stretches: tuple[Visit | Away, ...]

    @property
    def visits(self) -> tuple[Visit, ...]:
        return tuple(stretch for stretch in self.stretches if isinstance(stretch, Visit))


@dataclass(frozen=True)
class Options:
    """What a sample week depends on. `last_day` is the last day that may be worked on; `hours` cuts the
    whole short. Without `chinese` the scenes in Chinese are left out.
    """

    last_day: date
    zone: ZoneInfo
    days: int = 5
    seed: int = 1
    hours: float | None = None
    chinese: bool = True


def plan(options: Options) -> tuple[Day, ...]:
    """The days in order."""
    dates = working_days(options.last_day, options.days)
    whole = tuple(_working_day(options, day, dates[-1]) for day in dates)
    return whole if options.hours is None else _cut(whole, round(options.hours * 3_600_000))


def working_days(last_day: date, count: int) -> list[date]:
    """The last `count` days from Monday to Friday up to `last_day`, in order."""
    dates: list[date] = []
    day = last_day
    while len(dates) < count:
        if day.weekday() < 5:
            dates.insert(0, day)
        day -= timedelta(days=1)
    return dates


def _working_day(options: Options, day: date, last: date) -> Day:
    draw = random.Random(f"{options.seed} {day.isoformat()} start")
    morning = datetime.combine(day, time(8, 52), options.zone) + timedelta(seconds=draw.randint(0, 900))
    shifts, at = story().weekdays, day.weekday()
    week = (last - day + timedelta(days=at - last.weekday())).days // 7  # before the last one
    parts = [(n, name) for n, name in shifts[at] if options.chinese or not _is_chinese(name)]
    scale = _MINUTES_A_DAY / sum(n for n, _ in parts)
    draw = random.Random(f"{options.seed} {day.isoformat()}")
    values = figures(options.seed, week)
    at_ms = round(morning.timestamp() * 1000) + draw.randrange(1000)
    stretches: list[Visit | Away] = []
    visits: Counter[str] = Counter()
    for length, name in parts:
        end_ms = at_ms + round(length * scale * 60_000 * draw.uniform(0.92, 1.08))
        if name in LEFT_OUT:
            stretches.append(Away(at_ms, end_ms, name))
        else:
            visits[name] += 1
            scene_id = f"{day.isoformat()}/{name}" + (f"-{visits[name]}" if visits[name] > 1 else "")
            share = _share_of(shifts, at, name, visits[name])
            script = story().scenes[name].with_figures(values)
            moments = _moments(script, at_ms, end_ms, share, draw)
            stretches.append(Visit(scene_id, script, at_ms, end_ms, moments))
        at_ms = end_ms
    return Day(day, week, tuple(stretches))


def _is_chinese(name: str) -> bool:
    scene = story().scenes.get(name)
    return scene is not None and scene.language == "zh"


def _share_of(shifts: Sequence[Shift], at: int, name: str, visit: int) -> tuple[float, float]:
    """How much of a scene stands there at the beginning and at the end of its n-th visit of a shift."""
    counts = [sum(other == name for _, other in shift) for shift in shifts]
    before = sum(counts[:at]) + visit - 1
    return before / sum(counts), (before + 1) / sum(counts)


def _moments(
    script: SceneScript, start_ms: int, end_ms: int, share: tuple[float, float], draw: random.Random
) -> tuple[Moment, ...]:
    rows, first = len(script.surface.rows), script.surface.first
    count = max(2, min(_MOST_FRAMES, round((end_ms - start_ms) / 1000 / _SECONDS_A_FRAME)))
    step = (end_ms - start_ms) / count
    starts = [round(start_ms + step * n + draw.uniform(-0.25, 0.25) * step) for n in range(1, count)]
    starts.insert(0, start_ms)
    shown = [
        first + round((rows - first) * (share[0] + (share[1] - share[0]) * number / (count - 1)))
        for number in range(count)
    ]
    ends = [*starts[1:], end_ms]
    return tuple(Moment(*moment) for moment in zip(starts, ends, shown, strict=True))


def _cut(days: Sequence[Day], length_ms: int) -> tuple[Day, ...]:
    """The first `length_ms` of the first day, in whole stretches."""
    first = days[0]
    limit = first.stretches[0].start_ms + length_ms
    return (Day(first.date, first.week, tuple(s for s in first.stretches if s.end_ms <= limit)),)
