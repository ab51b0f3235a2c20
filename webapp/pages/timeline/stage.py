"""The stage of the timeline: which frame answers a moment, which lie beside it, and what is selected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from store.core import times
from store.core.database import Database
from store.frames import frames
from store.frames.activity_intervals import Segment
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Reading
from store.timeline import segments as activity
from webapp.core.parameters import moment
from webapp.core.services import Viewer
from webapp.views.frames import NO_HIGHLIGHTS, FrameHighlights, HighlightRequest, frame_highlights

_LEAST_MS = 1_000
_REACHES_MS = 60_000, 600_000, 12 * 3_600_000


@dataclass(frozen=True, slots=True)
class Selection:
    """A stretch of time, begun at a frame and ended at another: nothing, a beginning that waits for its
    end, or both ends in order.
    """

    start_ms: int | None = None
    end_ms: int | None = None

    @property
    def is_whole(self) -> bool:
        return self.start_ms is not None and self.end_ms is not None

    @property
    def is_begun(self) -> bool:
        return self.start_ms is not None and self.end_ms is None

    @property
    def parameters(self) -> dict[str, int | None]:
        """What an address says of it."""
        return {"from": self.start_ms, "to": self.end_ms}

    def begun_at(self, frame: FrameRow) -> Selection:
        """The same with its beginning where a frame was captured; an end before that is given up."""
        at_ms = frame.captured_ms
        return Selection(at_ms, self.end_ms if self.end_ms is not None and self.end_ms > at_ms else None)

    def ended_at(self, frame: FrameRow) -> Selection:
        """The same with its end where a frame was last seen; before the beginning, both change places."""
        if self.start_ms is None:
            return self.begun_at(frame)
        if frame.captured_ms < self.start_ms:
            return Selection(frame.captured_ms, self.start_ms)
        return Selection(self.start_ms, max(frame.ended_ms, frame.captured_ms, self.start_ms + _LEAST_MS))


NO_SELECTION = Selection()


def selection_of(values: Mapping[str, str], viewer: Viewer) -> Selection:
    """The selection of an address. Raises `ValueError` with the name of the field that is none."""
    ends = []
    for name in ("from", "to"):
        ms = moment(values.get(name), viewer)
        if values.get(name) and (ms is None or not times.MIN_MS <= ms <= times.MAX_MS):
            raise ValueError(name)
        ends.append(ms)
    start_ms, end_ms = ends
    if start_ms is None or end_ms is None:
        return Selection(start_ms if end_ms is None else end_ms)
    if start_ms == end_ms:
        return Selection(start_ms)
    return Selection(min(start_ms, end_ms), max(start_ms, end_ms))


@dataclass(frozen=True, slots=True)
class StageQuery:
    """What the address asks for. Without `frame_id` and `at_ms` the day decides."""

    day: times.Day
    zoom: str = "day"
    at_ms: int | None = None
    frame: FrameRow | None = None
    app_names: tuple[str, ...] = ()
    wanted: HighlightRequest = NO_HIGHLIGHTS  # words to be marked on the frame that the address names
    selected: Selection = NO_SELECTION


@dataclass(frozen=True, slots=True)
class Stage:
    """The frame on the stage and its details. Ids to step to are None at the ends."""

    ask: StageQuery
    frame: FrameRow
    reading: Reading | None
    previous_id: int | None
    next_id: int | None
    previous_app_id: int | None
    next_app_id: int | None
    missed_ms: int | None  # the moment that was asked for, when no frame covers it
    marks: FrameHighlights

    def to(self, frame_id: int) -> str:
        """The address of another frame in the same view."""
        return address(self.ask, frame_id)


def stage(database: Database, ask: StageQuery, last_frame_id: int | None = None) -> Stage | None:
    """The frame for what was asked, or None when the day has none.

    `last_frame_id` is what a day without a moment opens at.
    """
    frame, missed_ms = _choose(database, ask, last_frame_id)
    if frame is None:
        return None
    reading = readings.current_reading(database, frame.id)
    marks = frame_highlights(database, frame, reading, ask.wanted)
    return Stage(ask, frame, reading, *_steps(database, ask, frame), missed_ms=missed_ms, marks=marks)


def address(ask: StageQuery, frame_id: int | None, **changes: object) -> str:
    """The canonical address of a view; a change to None takes a parameter away."""
    values: dict[str, object] = {
        "frame": frame_id,
        "day": None if frame_id else ask.day.date.isoformat(),
        "z": None if ask.zoom == "day" else ask.zoom,
        "app": list(ask.app_names) or None,
        "q": ask.wanted.q or None,
        **ask.selected.parameters,
        # A hit and a citation are places on one frame: they go along to no other.
        **(ask.wanted.on_frame if ask.frame is not None and ask.frame.id == frame_id else {}),
        **changes,
    }
    query = urlencode([(k, v) for k, v in values.items() if v is not None], doseq=True)
    return f"/timeline?{query}" if query else "/timeline"


def _choose(
    database: Database, ask: StageQuery, last_frame_id: int | None
) -> tuple[FrameRow | None, int | None]:
    """(frame, the moment that was asked for when no frame covers it)."""
    if ask.frame is not None:
        return ask.frame, None
    if ask.at_ms is not None:
        return _at(database, ask, ask.at_ms)
    return (None, None) if last_frame_id is None else (frames.get(database, last_frame_id), None)


def _at(database: Database, ask: StageQuery, at_ms: int) -> tuple[FrameRow | None, int | None]:
    if ask.app_names:
        frame = _nearest_of_apps(database, ask, at_ms)
    else:
        frame = frames.nearest(database, at_ms)
        before = frames.latest_on_monitor(database, frame.monitor, at_ms) if frame else None
        if before and before.ended_ms >= at_ms:  # still on the screen then, though the next one is nearer
            frame = before
    if frame is None or not ask.day.start_ms <= frame.captured_ms < ask.day.end_ms:
        return None, at_ms
    # The address may have been cut to the second in which the frame was captured.
    covered = frame.captured_ms - 999 <= at_ms <= max(frame.ended_ms, frame.captured_ms)
    return frame, None if covered else at_ms


def _nearest_of_apps(database: Database, ask: StageQuery, at_ms: int) -> FrameRow | None:
    segments = [
        segment
        for segment in activity.segments(database, ask.day.start_ms, ask.day.end_ms)
        if segment.app_name in ask.app_names
    ]
    if not segments:
        return None
    near = min(segments, key=lambda s: max(s.start_ms - at_ms, at_ms - s.end_ms, 0))
    frame = frames.nearest(database, min(max(at_ms, near.start_ms), near.end_ms))
    inside = frame is not None and near.first_frame_id <= frame.id <= near.last_frame_id
    return frame if inside else frames.get(database, near.first_frame_id)


def _steps(
    database: Database, ask: StageQuery, frame: FrameRow
) -> tuple[int | None, int | None, int | None, int | None]:
    """Ids to the left and right: next frame within the filter, and next change of app."""
    earlier, later = _beside(database, ask, frame, -1), _beside(database, ask, frame, 1)
    previous_id, next_id = frames.neighbours(database, frame)
    if ask.app_names:
        rows = frames.get_many(database, [i for i in (previous_id, next_id) if i is not None])
        if previous_id is not None and rows[previous_id].app_name not in ask.app_names:
            previous_id = earlier[0].last_frame_id if earlier else None
        if next_id is not None and rows[next_id].app_name not in ask.app_names:
            next_id = later[0].first_frame_id if later else None
    previous_app, next_app = (
        next((s.first_frame_id for s in side if s.app_name != frame.app_name), None)
        for side in (earlier, later)
    )
    return previous_id, next_id, previous_app, next_app


def _beside(database: Database, ask: StageQuery, frame: FrameRow, way: int) -> list[Segment]:
    """The stretches within the filter before a frame or after it, nearest first, to a change of app at least:
    a busy day has thousands, of which those of a minute or ten mostly suffice.
    """
    near: list[Segment] = []
    for reach_ms in _REACHES_MS:
        start_ms, end_ms = sorted((frame.captured_ms, frame.captured_ms + way * reach_ms))
        near = [
            segment
            for segment in activity.segments(database, start_ms, end_ms + 1)[::way]
            if (segment.last_frame_id < frame.id if way < 0 else segment.first_frame_id > frame.id)
            and (not ask.app_names or segment.app_name in ask.app_names)
        ]
        # One that begins with the range may have begun before it.
        if any(each.app_name != frame.app_name and each.start_ms > start_ms for each in near):
            break
    return near
