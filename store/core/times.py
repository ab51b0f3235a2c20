"""Milliseconds inside, seconds outside.

Times are stored and passed about as integer milliseconds UTC, in names that end in ``_ms``. The
HTTP API speaks epoch seconds as a float. This pair of functions is the only place that converts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from datetime import time as clock_time

MAX_EPOCH_SECONDS = 1e11
"""Above this a number is taken for milliseconds, and refused."""


def to_ms(seconds: float) -> int:
    """Epoch milliseconds of epoch seconds. Rounds: truncation loses a millisecond now and then."""
    return round(seconds * 1000)


def to_seconds(ms: int) -> float:
    """Epoch seconds of epoch milliseconds."""
    return ms / 1000


def now_ms() -> int:
    """The clock on the wall, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def utc_offset_min(at_ms: int) -> int:
    """Minutes east of UTC that this machine's zone had at that moment."""
    return round(time.localtime(at_ms / 1000).tm_gmtoff / 60)


def rfc3339(ms: int, zone: tzinfo) -> str:
    """``2026-11-20T13:00:00+01:00`` on the clock of `zone`."""
    return to_local(ms, zone).isoformat(timespec="milliseconds" if ms % 1000 else "seconds")


# -- days ---------------------------------------------------------------------------------
# Local days and wall-clock times as epoch milliseconds, and back.
#
# A local day is not 24 hours: it runs from its day start to the next date's day start, both
# converted alike, so that days tile. A wall time that does not exist moves forward by the length
# of the gap; one that comes twice means the earlier as a start and the later as an end. The rules
# and their vectors: `local_days.json` of the shared cases; the zone rules: PEP 495 and `zoneinfo`.

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_DAY = timedelta(days=1)
MIN_MS = 0
MAX_MS = 253_000_000_000_000  # early in the year 9987: datetime stays usable on both sides


@dataclass(frozen=True, slots=True)
class Day:
    """One logical day, ``[start_ms, end_ms)``; empty when the date did not exist in the zone."""

    date: date
    start_ms: int
    end_ms: int

    @property
    def exists(self) -> bool:
        return self.end_ms > self.start_ms


def day(on: date, zone: tzinfo, day_start_min: int = 0) -> Day:
    """The logical day of a date, from `day_start_min` minutes after midnight."""
    start = clock_time(day_start_min // 60, day_start_min % 60)
    bounds = [wall_to_ms(datetime.combine(each, start), zone) for each in (on, on + _DAY)]
    return Day(on, bounds[0], max(bounds))


def day_of(ms: int, zone: tzinfo, day_start_min: int = 0) -> Day:
    """The logical day that holds an instant."""
    on = to_local(ms, zone).date()
    for each in (on - _DAY, on, on + _DAY):
        found = day(each, zone, day_start_min)
        if found.start_ms <= ms < found.end_ms:
            return found
    raise ValueError(f"no local day holds {ms} in {zone}")


def to_local(ms: int, zone: tzinfo) -> datetime:
    """An instant on the clock of a zone; instants beyond the calendar are clamped to it."""
    return (_EPOCH + max(MIN_MS, min(ms, MAX_MS)) * _MS).astimezone(zone)


def wall_to_ms(wall: datetime, zone: tzinfo, *, later: bool = False) -> int:
    """Epoch milliseconds of a naive wall-clock time; `later` picks the second of two."""
    first, second = ((wall.replace(tzinfo=zone, fold=fold) - _EPOCH) // _MS for fold in (0, 1))
    # In a gap fold=1 is the earlier instant; the offset before the gap (fold=0) moves forward.
    return max(first, second) if later or second < first else first


def hour_marks(start_ms: int, end_ms: int, zone: tzinfo, step_min: int = 60) -> list[int]:
    """Instants in ``[start_ms, end_ms]`` at which the wall clock shows a multiple of `step_min`.

    A repeated hour appears twice, a missing one not at all.
    """
    # Zone rules of our days move by quarters of an hour, so a quarter hour finds every mark.
    stride = min(step_min, 15) * 60_000
    marks = []
    for ms in range(-(-start_ms // stride) * stride, end_ms + 1, stride):
        at = to_local(ms, zone)
        if (at.hour * 60 + at.minute) % step_min == 0 and at.second == 0:
            marks.append(ms)
    return marks
