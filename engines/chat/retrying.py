"""Asking again after a failure that passes: bounded, backing off, and only while nothing was shown.

An answer is asked for as a whole, so until it is here nobody has seen a word of it and the same
request may go out again. What does not pass by itself (a key, a model's name, a timeout that has
used the time up) is told at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from engines.chat.protocol import ModelError

T = TypeVar("T")

WAITS_S = (0.5, 2.0)
"""How long to wait before the second and the third request; there is no fourth."""

MAX_WAIT_S = 15.0
"""An endpoint that says to come back later than this is not waited for."""


def with_retries(
    request: Callable[[], T],
    *,
    left_s: Callable[[], float],
    waits_s: Sequence[float] = WAITS_S,
    sleep: Callable[[float], None] = time.sleep,
) -> T:
    """What `request` returns, asked again while it fails for a moment and `left_s` seconds suffice."""
    for wait_s in waits_s:
        try:
            return request()
        except ModelError as error:
            pause_s = max(wait_s, error.retry_after_s or 0.0)
            if not error.is_temporary or pause_s > MAX_WAIT_S or pause_s >= left_s():
                raise
        sleep(pause_s)
    return request()
