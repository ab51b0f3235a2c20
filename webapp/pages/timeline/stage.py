"""A stretch of time selected on the timeline: begun at a frame, ended at another, kept in the address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from store.core import times
from store.frames.frames import FrameRow
from webapp.core.moments import moment
from webapp.core.viewer import Viewer

_LEAST_MS = 1_000


@dataclass(frozen=True, slots=True)
class Selection:
    """Nothing, a beginning that waits for its end, or both ends in order."""

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


def read(values: Mapping[str, str], viewer: Viewer) -> Selection:
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
