"""Waiting that can be ended: for a model's next piece, or for a tool.

What may take long runs in a thread of its own, and who waits for it can leave at any moment. A thread
cannot be stopped from outside, but what it waits for can: whoever leaves ends its network requests
(`engines.chat.network`), and what still comes afterwards is thrown away.
"""

from __future__ import annotations

import logging
import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeVar

from engines.chat.network import Cancellation

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOOK_EVERY_S = 0.05
_LEAVE_S = 0.5
"""How long a thread whose requests were ended is waited for."""


class Cancelled(Exception):
    """The person stopped the turn."""


class CancelToken(threading.Event):
    """Says that a turn should end; safe to use from any thread."""

    def check(self) -> None:
        """Raises `Cancelled` once the turn should end."""
        if self.is_set():
            raise Cancelled


def iterate_until_cancelled(
    items: Callable[[], Generator[T, None, None]],
    stop: CancelToken,
    done: Callable[[], None] = lambda: None,
    timeout_s: float = math.inf,
) -> Iterator[T]:
    """What another thread draws from `items()`, as it comes; `done` runs in that thread at its end.

    Raises `Cancelled` within a moment of `stop`, `TimeoutError` when all takes longer than `timeout_s`, and
    what the generator raises.
    """
    drawn: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    cutoff = Cancellation()
    is_drawn = StopIteration()

    def draw() -> None:
        try:
            with cutoff.here(), closing(items()) as iterator:
                for item in iterator:
                    if cutoff.is_over:
                        return
                    drawn.put((item, None))
            drawn.put((None, is_drawn))
        except BaseException as error:  # handed to the waiting thread, whatever it is
            drawn.put((None, error))
        finally:
            done()

    thread = threading.Thread(target=draw, name="draw", daemon=True)
    until_s = time.monotonic() + timeout_s
    thread.start()
    try:
        while True:
            stop.check()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            try:
                item, error = drawn.get(timeout=min(left_s, _LOOK_EVERY_S))
            except queue.Empty:
                continue
            if error is is_drawn:
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # an item beside no error
    finally:
        cutoff.now()
        thread.join(_LEAVE_S)
        if thread.is_alive():
            log.warning("a thread is left behind that waits for no request")


def run_with_timeout(
    work: Callable[[], T], timeout_s: float, stop: CancelToken, done: Callable[[], None] = lambda: None
) -> T:
    """What `work` gives. Raises `TimeoutError` after `timeout_s`, `Cancelled`, and what it raises."""

    def once() -> Generator[T, None, None]:
        yield work()

    (result,) = iterate_until_cancelled(once, stop, done, timeout_s)
    return result
