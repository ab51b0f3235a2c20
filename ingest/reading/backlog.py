"""Which frame is read next.

The database is the queue (`store.ocr.readings.pending_frames`); reader threads share only which frames
they have claimed. Frames that were just captured go before older ones, the newest first, so that what is
on the screen now can be found within seconds, however much there is to read: it waits for the reading under
way, and for one more at most. One old frame goes after every `FRESH_IN_A_ROW` fresh ones: nothing waits
for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Set

from store.core.database import Database
from store.frames.frames import FrameRow
from store.ocr import readings

FRESH_MS = 60_000
FRESH_IN_A_ROW = 4
_LOOKED_AT = 16  # old frames at once, for one that may be read elsewhere


class Backlog:
    """Safe to share between threads; holds claims only, so that nothing in it can go stale."""

    def __init__(self, database: Database, clock: Callable[[], int]) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._woken = threading.Event()
        self._claimed: set[int] = set()
        self._only_here: set[int] = set()  # what may not leave, or came back without a text
        self._fresh_in_a_row = 0

    def wake(self) -> None:
        """There is something to read: a frame that was stored, or that came back from elsewhere."""
        self._woken.set()

    def wait(self, timeout_s: float) -> None:
        """Sleep until there is something to read, at most `timeout_s`."""
        self._woken.wait(timeout_s)
        self._woken.clear()

    def take(self, *, elsewhere: Callable[[FrameRow], bool] | None = None) -> FrameRow | None:
        """Claim the next frame, or None when nothing is due. Give it back with `done`.

        To be read `elsewhere`, which says of a frame whether it may leave, it is an old one: fresh ones are
        soonest read here, beside what they followed.
        """
        with self._lock:
            if elsewhere:
                for old in self._due(_LOOKED_AT, but=self._only_here):
                    if old.captured_ms >= self._clock() - FRESH_MS:
                        break
                    if elsewhere(old):
                        self._claimed.add(old.id)
                        return old
                    self._only_here.add(old.id)
                return None
            fresh = None
            if self._fresh_in_a_row < FRESH_IN_A_ROW:
                fresh = self._first_due(self._clock() - FRESH_MS)
            self._fresh_in_a_row = self._fresh_in_a_row + 1 if fresh else 0
            frame = fresh or self._first_due(0)
            if frame is not None:
                self._claimed.add(frame.id)
            return frame

    def done(self, frame: FrameRow, *, only_here: bool = False) -> None:
        """It has a text, or waits again; to be read here alone if it could not be read elsewhere."""
        with self._lock:
            self._claimed.discard(frame.id)
            (self._only_here.add if only_here else self._only_here.discard)(frame.id)
        if only_here:
            self.wake()

    def is_idle(self) -> bool:
        """Whether no frame is being read and none is due."""
        with self._lock:
            return not self._claimed and self._first_due(0) is None

    def _first_due(self, since_ms: int) -> FrameRow | None:
        return next(iter(self._due(1, since_ms)), None)

    def _due(self, limit: int, since_ms: int = 0, but: Set[int] = frozenset()) -> list[FrameRow]:
        return readings.pending_frames(
            self._database, self._clock(), limit, since_ms, but=self._claimed | but
        )
