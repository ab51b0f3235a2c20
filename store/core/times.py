"""Milliseconds inside, seconds outside.

Times are stored and passed about as integer milliseconds UTC, in names that end in ``_ms``. The
HTTP API speaks epoch seconds as a float. This pair of functions is the only place that converts.
"""

from __future__ import annotations

import time

MAX_EPOCH_SECONDS = 1e11
"""Above this a number is taken for milliseconds, and refused (R3.15)."""


def to_ms(seconds: float) -> int:
    """Epoch milliseconds of epoch seconds. Rounds: truncation loses a millisecond now and then."""
    return round(seconds * 1000)


def to_seconds(ms: int) -> float:
    """Epoch seconds of epoch milliseconds."""
    return ms / 1000


def now_ms() -> int:
    """The clock on the wall, in epoch milliseconds."""
    return time.time_ns() // 1_000_000


def utc_offset_min(at_ms: int) -> int:
    """Minutes east of UTC that this machine's zone had at that moment."""
    return round(time.localtime(at_ms / 1000).tm_gmtoff / 60)
