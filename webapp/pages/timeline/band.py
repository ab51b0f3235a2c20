"""The band under the frame: runs, gaps and ticks as shares of the window that is shown.

Positions are percentages of the band's width, made by arithmetic on epoch milliseconds, so that
band, head and ticks share their edges, and a day of 23 or 25 hours fills the width as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from store.core import times
from store.timeline.gaps import Gap
from store.timeline.timeline import Run
from webapp.core import formatting
from webapp.core.services import Viewer

ZOOMS = {"day": 0, "1h": 60, "10min": 10}
"""Zoom levels and their minutes, wide before close; a day is as long as it is."""

_TICK_MIN = {"day": 60, "1h": 10, "10min": 1}
_LABEL_MIN = {"day": 360, "1h": 10, "10min": 2}


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of time that the band shows."""

    start_ms: int
    end_ms: int
    zoom: str

    def share(self, ms: int) -> float:
        """Where an instant stands, in percent of the width."""
        if self.end_ms <= self.start_ms:
            return 0.0  # a date that did not exist
        inside = min(max(ms, self.start_ms), self.end_ms)
        return round(100 * (inside - self.start_ms) / (self.end_ms - self.start_ms), 3)


@dataclass(frozen=True, slots=True)
class BandRun:
    """One rectangle: percent, class and where it leads. `label` only where there is room for it."""

    x: float
    width: float
    css_class: str
    is_faded: bool
    frame_id: int
    label: str


@dataclass(frozen=True, slots=True)
class Tick:
    """`anchor` keeps the first and last label inside the band; unlabelled ticks have no label."""

    x: float
    label: str
    anchor: str
    is_sparse: bool


def window(day: times.Day, at_ms: int, zoom: str, viewer: Viewer) -> Window:
    """The aligned stretch of that zoom around a moment, inside its day.

    Aligned to the clock and not to the moment, so that an address gives the same view again and
    the head moves while the band stands still.
    """
    minutes = ZOOMS[zoom]
    if not minutes:
        return Window(day.start_ms, day.end_ms, zoom)
    step = minutes * 60_000
    local = times.to_local(at_ms, viewer.zone)
    start = at_ms - (local.minute * 60_000 + local.second * 1000 + local.microsecond // 1000) % step
    return Window(max(start, day.start_ms), min(start + step, day.end_ms), zoom)


def band_run(run: Run, view: Window, shown_apps: Collection[str]) -> BandRun:
    """The rectangle of a run of `store.timeline.timeline`; one outside the filter is kept, but faded."""
    x = view.share(run.start_ms)
    least = 0.4 if run.is_imported else 0.1  # a moment is a mark that can be seen and clicked
    width = round(max(view.share(run.end_ms) - x, least), 3)
    name, label = run.app_name or "", formatting.app_name(run.app_name) if run.app_name else ""
    return BandRun(
        x=x,
        width=width,
        css_class="moment" if run.is_imported else formatting.slot_class(run.colour_slot),
        is_faded=bool(shown_apps) and name not in shown_apps,
        frame_id=run.first_frame_id,
        label=label if width >= 5 else "",
    )


def gap_rects(gaps: Iterable[Gap], view: Window) -> list[tuple[float, float, str]]:
    """(percent from the left, width, reason) of gaps with a cause; time without looks stays empty."""
    return [
        (view.share(gap.start_ms), round(view.share(gap.end_ms) - view.share(gap.start_ms), 3), kind)
        for gap in gaps
        if (kind := gap.reason.partition(":")[0]) != "not_running"
    ]


_ORDERED = frozenset({"deleted", "paused", "excluded"})
_ORDERED_MS, _HAPPENED_MS = 60_000, 5 * 60_000


def is_worth_naming(gap: Gap, recorded: tuple[int, int] | None, close_ms: int = _HAPPENED_MS) -> bool:
    """What the person ordered is named from a minute on, what merely happened from five; a close view names
    what lasts `close_ms`. Time without looks is a gap between the first recording and the last only.
    """
    is_inside = recorded is not None and recorded[0] <= gap.start_ms < recorded[1]
    least_ms = _ORDERED_MS if gap.reason in _ORDERED else _HAPPENED_MS
    is_long = gap.end_ms - gap.start_ms >= min(least_ms, close_ms)
    return is_long and (is_inside or gap.reason != "not_running")


def gap_texts(
    gaps: Sequence[Gap], recorded: tuple[int, int] | None, close_ms: int
) -> dict[str, list[tuple[int, int]]]:
    """The gaps worth naming, by reason in words."""
    by_reason: dict[str, list[tuple[int, int]]] = {}
    for gap in gaps:
        if is_worth_naming(gap, recorded, close_ms):
            by_reason.setdefault(formatting.gap_reason(gap.reason), []).append((gap.start_ms, gap.end_ms))
    return by_reason


def ticks(view: Window, viewer: Viewer) -> list[Tick]:
    """Marks at real local times; the last instant of a day reads 24:00."""
    marks = times.hour_marks(view.start_ms, view.end_ms, viewer.zone, _TICK_MIN[view.zoom])
    return [_tick(ms, view, viewer) for ms in sorted({view.start_ms, *marks})]


def _tick(ms: int, view: Window, viewer: Viewer) -> Tick:
    local = times.to_local(ms, viewer.zone)
    minute = local.hour * 60 + local.minute
    at_edge = ms in (view.start_ms, view.end_ms)
    is_labelled = minute % _LABEL_MIN[view.zoom] == 0 or at_edge
    ends_day = view.zoom == "day" and ms == view.end_ms and minute == 0
    label = "24:00" if ends_day else formatting.clock_short(ms, viewer.zone)
    share = view.share(ms)
    anchor = "start" if share < 2 else "end" if share > 98 else "middle"
    is_sparse = view.zoom != "day" and not at_edge and minute % (_LABEL_MIN[view.zoom] * 2) != 0
    return Tick(share, label if is_labelled else "", anchor, is_sparse)
