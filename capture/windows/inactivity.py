"""Stretches without keyboard or mouse input: from the last input until the next, once they are long.

Reading needs no keys, so a stretch counts only when it has lasted `after_s`; then all of it does,
from its last input on (the rule of ActivityWatch's watcher). Looks go on meanwhile, and what
changes is kept: only the time is nobody's (lesson ACT-2). Who watches a film without touching
anything cannot be told from who went away.
"""

from __future__ import annotations

from capture.windows.idle import Activity

_JITTER_MS = 1_000
"""Two clocks tell when the last input was; a difference under this is no new input."""

_CONTINUOUS_MS = 5_000
"""Between two readings further apart than this, more may have happened than the last input."""

IdleInterval = tuple[int, int]


class Inactivity:
    """Turns readings of the idle time into stretches ``[start_ms, end_ms)``; `take` gives what is new.

    A stretch that goes on is given in parts that meet. Nothing is said of the time before `now_ms`,
    nor of the time between `left` and the reading after it.
    """

    def __init__(self, after_s: float, now_ms: int) -> None:
        self._after_ms = round(after_s * 1000)
        self._earliest_ms = now_ms
        self._input_ms: int | None = None  # the input that the open stretch follows
        self._taken_ms = self._until_ms = now_ms
        self._ended: list[IdleInterval] = []

    def read(self, activity: Activity, now_ms: int) -> None:
        """What is known now. A person who is away is told so by another word from here on."""
        if activity.away or activity.idle_s is None:
            if self._input_ms is not None and activity.away:
                self._until_ms = max(self._until_ms, now_ms)
            self.left(now_ms)
            return
        input_ms = now_ms - round(activity.idle_s * 1000)
        if self._input_ms is not None and input_ms > self._input_ms + _JITTER_MS:
            if now_ms - self._until_ms <= _CONTINUOUS_MS:
                self._until_ms = max(self._until_ms, input_ms)
            self._end()
        if self._input_ms is None:
            if now_ms - input_ms < self._after_ms:
                return
            self._input_ms = input_ms
            self._taken_ms = max(input_ms, self._earliest_ms)
        self._until_ms = max(self._until_ms, now_ms)

    def left(self, now_ms: int) -> None:
        """Nobody reads the idle time: capture is held, or the person is away by another word."""
        self._end()
        self._earliest_ms = max(self._earliest_ms, now_ms)

    def take(self) -> list[IdleInterval]:
        """The stretches, or parts of them, that were not given before."""
        found, self._ended = self._ended, []
        if self._input_ms is not None and self._until_ms > self._taken_ms:
            found.append((self._taken_ms, self._until_ms))
            self._taken_ms = self._until_ms
        return found

    def _end(self) -> None:
        if self._input_ms is None:
            return
        if self._until_ms > self._taken_ms:
            self._ended.append((self._taken_ms, self._until_ms))
        self._input_ms = None
        self._earliest_ms = max(self._earliest_ms, self._until_ms)
