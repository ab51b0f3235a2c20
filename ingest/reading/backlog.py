"""Which frame is read next.

The database is the queue (`store.ocr.readings.pending_frames`); this is the window on it
that reader threads share. A frame that was just captured goes before older ones, so that what is on the
screen now can be found within seconds while an import of ten thousand pictures is being read behind
it. One old frame goes after every `FRESH_IN_A_ROW` fresh ones: nothing waits for ever.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from store.core.database import Database
from store.core.errors import FrameNotFound
from store.frames import frames
from store.frames.frames import FrameRow
from store.ocr import readings

FRESH_MS = 60_000
FRESH_IN_A_ROW = 4
_FRESH_KEPT = 256
_WINDOW = 32


class Backlog:
    """Safe to share between threads; holds ids only, so that nothing in it can go stale."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock
        self._changed = threading.Condition()
        self._fresh: deque[int] = deque(maxlen=_FRESH_KEPT)
        self._older: deque[int] = deque()
        self._claimed: set[int] = set()
        self._fresh_in_a_row = 0

    def offer(self, frame_id: int, captured_ms: int) -> None:
        """A frame was stored: wake a reader, and put it first when it is of this minute."""
        with self._changed:
            if self._clock() - captured_ms < FRESH_MS:
                self._fresh.append(frame_id)
            self._changed.notify()

    def take(self) -> FrameRow | None:
        """Claim the next frame, or None when nothing is due. Give it back with `done`."""
        with self._changed:
            while True:
                frame_id = self._next_id()
                if frame_id is None:
                    return None
                frame = self._due(frame_id)
                if frame is not None:
                    self._claimed.add(frame_id)
                    return frame

    def done(self, frame: FrameRow) -> None:
        with self._changed:
            self._claimed.discard(frame.id)

    def wait(self, timeout_s: float) -> None:
        """Sleep until a frame is offered, at most `timeout_s`."""
        with self._changed:
            if not self._fresh:
                self._changed.wait(timeout_s)

    def wake(self) -> None:
        """There is something else to read than a frame."""
        with self._changed:
            self._changed.notify_all()

    def is_idle(self) -> bool:
        """Whether no frame is being read and none is due."""
        with self._changed:
            return not self._claimed and not readings.pending_frames(self._database, self._clock(), 1)

    def _next_id(self) -> int | None:
        if self._fresh and self._fresh_in_a_row < FRESH_IN_A_ROW:
            self._fresh_in_a_row += 1
            return self._fresh.popleft()
        self._fresh_in_a_row = 0
        if not self._older:
            limit = _WINDOW + len(self._claimed)
            due = readings.pending_frames(self._database, self._clock(), limit)
            self._older.extend(frame.id for frame in due if frame.id not in self._claimed)
        if self._older:
            return self._older.popleft()
        return self._fresh.popleft() if self._fresh else None

    def _due(self, frame_id: int) -> FrameRow | None:
        """The frame as it is now, unless it was deleted, read, postponed or claimed meanwhile."""
        if frame_id in self._claimed:
            return None
        try:
            frame = frames.get(self._database, frame_id)
        except FrameNotFound:
            return None
        is_due = frame.reading_state == "pending" and (frame.reading_next_ms or 0) <= self._clock()
        return frame if is_due else None
