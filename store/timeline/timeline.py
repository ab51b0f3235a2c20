"""The timeline: what a stretch of time looks like at the width it is drawn.

A day can hold 30,000 frames; a page never loads them. The band comes from activity segments,
merged to one pixel; pictures are found through an index of one frame a minute; frames come in
bounded lists. Nothing is cached: every answer is read from the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from heapq import nlargest
from itertools import pairwise
from operator import attrgetter, itemgetter

from store.core.database import Database, scalar
from store.frames import apps, frames
from store.frames.activity_intervals import Segment
from store.frames.frames import ID_STEP, captured_ms_of, id_range
from store.timeline import gaps
from store.timeline import segments as activity
from store.timeline.gaps import Gap
from store.timeline.totals import Totals, of_segments

MINUTE_MS = 60_000

MAX_RUNS = 600
"""More rectangles than this would be slower to draw than to look at."""


LISTED = 150
"""Stretches that are told one by one, the longest of a range: those under a pixel are in no run."""


@dataclass(slots=True, unsafe_hash=True)
class Run(Segment):
    """A stretch of the band in one app, or moments less than a pixel apart. `window_name` and `browser_url`
    where it has only one.
    """

    colour_slot: int | None = None
    is_imported: bool = False


@dataclass(frozen=True, slots=True)
class Lane:
    """What one machine showed; `host` is "" for this one. Lanes may overlap, their times add up to more."""

    host: str
    runs: tuple[Run, ...]
    duration_ms: int


@dataclass(frozen=True)
class Timeline:
    start_ms: int
    end_ms: int
    runs: tuple[Run, ...]
    gaps: tuple[Gap, ...]
    totals: Totals
    colour_slots: dict[str, int | None]
    frames: int
    lanes: tuple[Lane, ...] = ()  # where there are other machines than this one
    moments: tuple[Run, ...] = ()  # pictures that were imported, where they are: no stretch, and in no total
    segments: Sequence[Segment] = field(default=(), repr=False)  # what the runs are of

    @cached_property
    def longest(self) -> tuple[Run, ...]:
        """Of the stretches in one window `LISTED` at most, in order."""
        found = sorted(nlargest(LISTED, self._in_windows), key=itemgetter(1))
        return tuple(
            _run_of(_joined(start, start + duration, self.segments[first:after]), self.colour_slots, False)
            for duration, start, first, after in found
        )

    @property
    def stretches(self) -> int:
        """How many stretches in one window there are."""
        return len(self._in_windows)

    @cached_property
    def _in_windows(self) -> list[tuple[int, int, int, int]]:
        return _in_windows(self.segments)

    @property
    def shown(self) -> list[Run]:
        """Runs and moments in order: what a band draws."""
        return sorted((*self.runs, *self.moments), key=attrgetter("start_ms"))

    @property
    def imported(self) -> int:
        """How many pictures were imported."""
        return sum(moment.frames for moment in self.moments)


Mark = tuple[int, int, str | None]
"""A frame in a list: (id, captured_ms, app)."""


def timeline(
    database: Database,
    start_ms: int,
    end_ms: int,
    width_px: int | None = None,
    *,
    now_ms: int,
    host: str | None = None,
) -> Timeline:
    """The band and the totals of ``[start_ms, end_ms)``, of one host or of all, with their lanes.

    Gaps are those of all hosts: when none of them recorded.

    With `width_px` the runs are merged to one pixel, `MAX_RUNS` at most; without it each run is
    one activity segment.
    """

    def runs(line: Sequence[Segment], *, is_imported: bool = False) -> tuple[Run, ...]:
        shown = line if width_px is None else merged(line, start_ms, end_ms, width_px)
        return tuple(_run_of(segment, slots, is_imported) for segment in shown)

    with database.read() as connection:
        segments = activity.segments(database, start_ms, end_ms, host)
        by_host = activity.by_host(database, start_ms, end_ms)
        slots = apps.colour_slots(database)
        moments = activity.moments(database, start_ms, end_ms, host)
        count = frames.count(connection, *id_range(start_ms, end_ms), host)
        holes = gaps.gaps(database, start_ms, end_ms, now_ms)
    lanes = tuple(
        Lane(name, runs(line), sum(segment.duration_ms for segment in line))
        for name, line in by_host.items()
        if line and host in (None, name)
    )
    totals = of_segments(segments, start_ms, end_ms)
    return Timeline(
        start_ms,
        end_ms,
        runs(segments),
        tuple(holes),
        totals,
        slots,
        count,
        lanes,
        runs(moments, is_imported=True),
        segments,
    )


def _in_windows(segments: Sequence[Segment]) -> list[tuple[int, int, int, int]]:
    """(duration, start, number of its first segment and of the one after it) of each stretch in one window,
    whatever address it has.
    """
    edges = [
        n
        for n, (last, each) in enumerate(pairwise(segments), 1)
        if last.end_ms != each.start_ms or _APP_WINDOW(last) != _APP_WINDOW(each)
    ]
    return [
        (segments[after - 1].end_ms - segments[first].start_ms, segments[first].start_ms, first, after)
        for first, after in pairwise([0, *edges, len(segments)])
        if segments
    ]


def merged(runs: Sequence[Segment], start_ms: int, end_ms: int, width_px: int) -> list[Segment]:
    """Segments for a band `width_px` wide: each pixel goes to the app with most time in it.

    At most `MAX_RUNS`; where the pixels give more, they are made wider. Edges stay exact, and
    holes under a pixel are closed.
    """
    columns = max(1, width_px)
    found = _at_width(runs, start_ms, end_ms, columns)
    if len(found) > MAX_RUNS:  # a run owns a pixel, so this many pixels cannot give more
        found = _at_width(found, start_ms, end_ms, MAX_RUNS)
    return found


def _at_width(runs: Sequence[Segment], start_ms: int, end_ms: int, columns: int) -> list[Segment]:
    width_ms = end_ms - start_ms
    pixel_ms = width_ms / columns
    # The first and the last pixel that each run touches; its end is exclusive.
    spans = [
        (
            (run.start_ms - start_ms) * columns // width_ms,
            (max(run.end_ms - 1, run.start_ms) - start_ms) * columns // width_ms,
        )
        for run in runs
    ]
    winners = _winners(runs, spans, start_ms, pixel_ms, columns)
    found: list[tuple[int, int, list[Segment]]] = []
    for run, (first, last) in zip(runs, spans, strict=True):
        # Inside a run every pixel is its own; only the two at its ends are shared.
        first += winners[first] != run.app_name
        last -= winners[last] != run.app_name
        if first > last:
            continue
        start = max(run.start_ms, round(start_ms + first * pixel_ms))
        end = min(run.end_ms, round(start_ms + (last + 1) * pixel_ms))
        if found and start - found[-1][1] < pixel_ms:
            begun, ended, parts = found.pop()
            if parts[0].app_name == run.app_name:
                parts.append(run)
                found.append((begun, max(ended, end), parts))
                continue
            found.append((begun, start, parts))
        found.append((start, end, [run]))
    return [_joined(*each) for each in found]


def _winners(
    runs: Sequence[Segment], spans: Sequence[tuple[int, int]], start_ms: int, pixel_ms: float, columns: int
) -> list[str | None]:
    """The app with most time in each pixel; None where there is none (or its name is unknown)."""
    times: list[dict[str | None, float]] = [{} for _ in range(columns)]
    for run, (first, last) in zip(runs, spans, strict=True):
        app = run.app_name
        if first == last:
            times[first][app] = times[first].get(app, 0.0) + (run.end_ms - run.start_ms)
            continue
        edge = start_ms + (first + 1) * pixel_ms
        times[first][app] = times[first].get(app, 0.0) + (edge - run.start_ms)
        for column in range(first + 1, last):
            times[column] = {app: pixel_ms}
        edge = start_ms + last * pixel_ms
        times[last][app] = times[last].get(app, 0.0) + (run.end_ms - edge)
    return [max(time, key=lambda app: time[app]) if time else None for time in times]


def _joined(start_ms: int, end_ms: int, parts: Sequence[Segment]) -> Segment:
    """One of several segments in one app; with a window or an address where all have the same."""
    windows, urls = {part.window_name for part in parts}, {part.browser_url for part in parts}
    return replace(
        parts[0],
        start_ms=start_ms,
        end_ms=end_ms,
        window_name=windows.pop() if len(windows) == 1 else None,
        browser_url=urls.pop() if len(urls) == 1 else None,
        last_frame_id=max(part.last_frame_id for part in parts),
        frames=sum(part.frames for part in parts),
    )


_APP_WINDOW = attrgetter("app_name", "window_name", "host")
_OF_SEGMENT = attrgetter(*(field.name for field in fields(Segment)))


def _run_of(segment: Segment, slots: dict[str, int | None], is_imported: bool) -> Run:
    slot = slots.get(segment.app_name) if segment.app_name else None
    return Run(*(*_OF_SEGMENT(segment), slot, is_imported))


def frames_between(
    database: Database,
    start_ms: int,
    end_ms: int,
    limit: int,
    *,
    monitor: str | None = None,
) -> list[Mark]:
    """Frames captured in ``[start_ms, end_ms)``, oldest first, at most `limit`."""
    first, after = id_range(start_ms, end_ms)
    return database.rows(
        """
        select id, captured_ms, app_name from frames
        where id >= :first and id < :after and (:monitor is null or monitor = :monitor)
        order by id limit :limit
        """,
        {"first": first, "after": after, "monitor": monitor, "limit": limit},
    )


def minute_index(database: Database, start_ms: int, end_ms: int) -> list[tuple[int, int]]:
    """(minute as epoch milliseconds, a frame's id) for every minute that has one, in order.

    A minute's first frame stands for it, one with the focus before others.
    """
    first, after = id_range(start_ms, end_ms)
    found = database.rows(
        """
        select coalesce(min(id) filter (where focused is null or focused = 1), min(id))
        from frames
        where id >= :first and id < :after
        group by id / :minute order by 1
        """,
        {"first": first, "after": after, "minute": MINUTE_MS * ID_STEP},
    )
    return [(captured_ms_of(frame_id) // MINUTE_MS * MINUTE_MS, frame_id) for (frame_id,) in found]


def nearest_days(database: Database, start_ms: int, end_ms: int) -> tuple[int | None, int | None]:
    """When the last frame before the range and the first one after it were captured.

    The store knows no time zones: the caller turns the moments into its days.
    """
    first, after = id_range(start_ms, end_ms)
    with database.read() as connection:
        before = scalar(connection, "select max(id) from frames where id < ?", (first,))
        later = scalar(connection, "select min(id) from frames where id >= ?", (after,))
    return (
        None if before is None else captured_ms_of(before),
        None if later is None else captured_ms_of(later),
    )
