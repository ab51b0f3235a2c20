"""Deletions of the server, asked by time and app: what each takes of a spool.

A home may have thousands of deletions and a spool thousands of captures; each capture is looked up, not
compared with all of them. What lies in the spool goes whatever a clock says. Only of what the daemon was
about to write when they came is the clock asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from store.core.keys import app_digest
from store.privacy.rules import WindowFacts

Order = Mapping[str, Any]
"""As the server tells it: id, start_time, end_time (epoch seconds) and app_sha256 or None."""


class Deletions:
    """Those that came together at `came_ms`, by this machine's clock. What was on its way then has arrived by
    `until_s` of the monotonic clock. `removed` counts captures by deletion.
    """

    def __init__(self, orders: Iterable[Order], came_ms: int, until_s: float) -> None:
        self._came_ms = came_ms
        self.until_s = until_s
        self.removed: Counter[int] = Counter()
        spans: dict[str | None, list[tuple[int, int, int]]] = defaultdict(list)
        for order in orders:
            start_ms, end_ms = (round(order[name] * 1000) for name in ("start_time", "end_time"))
            spans[order["app_sha256"]].append((start_ms, end_ms, order["id"]))
        self.start_ms = min(span[0] for some in spans.values() for span in some)
        self.end_ms = max(span[1] for some in spans.values() for span in some)
        self._by_app = {app: _by_start(some) for app, some in spans.items()}

    def takes(self, captured_ms: int, window: WindowFacts | None) -> int | None:
        """Which deletion takes a capture; what cannot be read (None) may be of any app."""
        apps: Iterable[str | None] = self._by_app
        if window is not None:
            apps = (None, app_digest(window.app_name)) if window.app_name else (None,)
        for app in apps:
            starts, ends = self._by_app.get(app, ([], []))
            at = bisect_right(starts, captured_ms) - 1
            if at >= 0 and ends[at][0] > captured_ms:
                return ends[at][1]
        return None

    def takes_late(self, captured_ms: int, window: WindowFacts | None, now_ms: int) -> int | None:
        """The same of what was written after they came. What was seen since then stays; what is ahead of the
        clock was seen before that was set back.
        """
        return None if self._came_ms < captured_ms <= now_ms else self.takes(captured_ms, window)


def _by_start(spans: list[tuple[int, int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
    """Starts in their order, and for each the latest end until there with its deletion."""
    starts, ends = [], [(0, 0)]
    for start_ms, end_ms, deletion_id in sorted(spans):
        starts.append(start_ms)
        ends.append(max(ends[-1], (end_ms, deletion_id)))
    return starts, ends[1:]
