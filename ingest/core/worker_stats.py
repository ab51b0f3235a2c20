"""The worker's running account: what the storing and the reading threads have done.

Each number has one writer or is changed under the lock; `state()` is what health reads.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from store.spool.process_state import IngestState

_RATE_OVER_MS = 60_000
_COUNTED = ("audits", "audited_words", "drifted_words")


class WorkerStats:
    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._reads: deque[int] = deque()
        self.known = IngestState(pid=os.getpid(), started_ms=clock(), written_ms=0)
        """What was told, as it is now; counts are added by `state`."""
        self.is_storing_behind = False  # more waits in the spool than is stored at once
        self.version = 0  # grows with every change worth telling at once

    def __getitem__(self, outcome: str) -> int:
        """How often this outcome was counted since the start."""
        return self._counts[outcome]

    def count(self, outcome: str) -> None:
        """One entry or reading ended as ``stored``, ``failed``, ``read``, ``reading_failed``, …"""
        now = self._clock()
        with self._lock:
            self._counts[outcome] += 1
            if outcome == "read":
                self._reads.append(now)

    def error(self, sentence: str) -> None:
        """Something went wrong that a person may want to know. Never holds screen text."""
        self.tell(last_error=sentence, last_error_ms=self._clock())

    def audited(self, words: int, differing: int) -> None:
        """A frame that had been read by its changes was read whole; how many words only one of both had."""
        with self._lock:
            self._counts.update(audits=1, audited_words=words, drifted_words=differing)

    def tell(self, **facts: Any) -> None:
        """Facts of `IngestState` from now on, such as the `problem` for which nothing can be stored."""
        with self._lock:
            before, self.known = self.known, replace(self.known, **facts)
            self.version += before != self.known

    def state(self, state: str) -> IngestState:
        now = self._clock()
        with self._lock:
            while self._reads and self._reads[0] < now - _RATE_OVER_MS:
                self._reads.popleft()
            span_ms = min(_RATE_OVER_MS, max(1000, now - self.known.started_ms))
            counts: dict[str, Any] = {outcome: self._counts[outcome] for outcome in _COUNTED}
            return replace(
                self.known,
                written_ms=now,
                state="waiting" if state == "running" and self.known.problem else state,
                reads_per_minute=round(len(self._reads) * 60_000 / span_ms, 1),
                **counts,
            )
