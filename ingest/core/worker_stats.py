"""The worker's running account: what the storing and the reading threads have done.

Each number has one writer or is changed under the lock; `state()` is what health reads.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable

from store.spool.process_state import IngestState

_RATE_OVER_MS = 60_000


class WorkerStats:
    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._started_ms = clock()
        self._counts: Counter[str] = Counter()
        self._reads: deque[int] = deque()
        self._last: dict[str, int] = {}
        self._error: tuple[str, int] | None = None
        self.version = 0  # grows with every change worth telling at once
        self.problem = ""
        self.engine = ""
        self.languages: tuple[str, ...] = ()
        self.engine_problem = ""
        self.embedder = ""
        self.embedder_problem = ""

    def __getitem__(self, outcome: str) -> int:
        """How often this outcome was counted since the start."""
        return self._counts[outcome]

    def count(self, outcome: str) -> None:
        """One entry or reading ended as ``stored``, ``failed``, ``read``, ``reading_failed``, …"""
        now = self._clock()
        with self._lock:
            self._counts[outcome] += 1
            self._last[outcome] = now
            if outcome == "read":
                self._reads.append(now)

    def error(self, sentence: str) -> None:
        """Something went wrong that a person may want to know. Never holds screen text."""
        with self._lock:
            self._error = (sentence, self._clock())
            self.version += 1

    def set_problem(self, sentence: str) -> None:
        """Why nothing can be stored just now; "" when it can again."""
        with self._lock:
            if sentence != self.problem:
                self.problem = sentence
                self.version += 1

    def set_engine(self, name: str, languages: tuple[str, ...], problem: str = "") -> None:
        with self._lock:
            self.engine, self.languages, self.engine_problem = name, languages, problem
            self.version += 1

    def set_embedder(self, name: str, problem: str = "") -> None:
        """What makes vectors, or why nothing does."""
        with self._lock:
            if (name, problem) != (self.embedder, self.embedder_problem):
                self.embedder, self.embedder_problem = name, problem
                self.version += 1

    def state(self, state: str, waiting: int, pending: int, to_embed: int = 0) -> IngestState:
        now = self._clock()
        with self._lock:
            while self._reads and self._reads[0] < now - _RATE_OVER_MS:
                self._reads.popleft()
            span_ms = min(_RATE_OVER_MS, max(1000, now - self._started_ms))
            return IngestState(
                pid=os.getpid(),
                started_ms=self._started_ms,
                written_ms=now,
                state="waiting" if state == "running" and self.problem else state,
                problem=self.problem,
                waiting=waiting,
                pending=pending,
                stored=self._counts["stored"],
                deduplicated=self._counts["deduplicated"],
                excluded=self._counts["excluded"],
                failed=self._counts["failed"],
                stored_ms=self._last.get("stored"),
                read=self._counts["read"],
                reading_failed=self._counts["reading_failed"],
                read_ms=self._last.get("read"),
                reads_per_minute=round(len(self._reads) * 60_000 / span_ms, 1),
                engine=self.engine,
                languages=self.languages,
                engine_problem=self.engine_problem,
                to_embed=to_embed,
                embedded=self._counts["embedded"],
                embedder=self.embedder,
                embedder_problem=self.embedder_problem,
                last_error=self._error[0] if self._error else "",
                last_error_ms=self._error[1] if self._error else None,
            )
