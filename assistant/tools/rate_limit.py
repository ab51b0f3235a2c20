"""How often a tool that sends something may be called (R2.48)."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable

WINDOW_S = 60.0


class RateLimit:
    """Calls of each tool in the last minute, of all turns of this process. Safe to share between threads."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.per_minute = per_minute
        self._clock = clock
        self._calls: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    def take(self, tool: str) -> int:
        """Count a call and give 0; at the limit count nothing and give the whole seconds to wait."""
        with self._lock:
            now_s = self._clock()
            calls = self._calls.setdefault(tool, deque())
            while calls and calls[0] <= now_s - WINDOW_S:
                calls.popleft()
            if len(calls) >= self.per_minute:
                return max(1, math.ceil(calls[0] + WINDOW_S - now_s))
            calls.append(now_s)
            return 0
