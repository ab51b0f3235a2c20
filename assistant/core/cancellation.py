"""Waiting that can be ended: for a model's next piece, for a tool, for a person's decision.

What may take long runs in a thread of its own, and who waits for it can leave at any moment. A thread
cannot be stopped from outside, but what it waits for can: whoever leaves ends its network requests
(`engines.chat.network`), and what still comes afterwards is thrown away.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from engines.chat.network import Cancellation

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOOK_EVERY_S = 0.05
_LEAVE_S = 0.5
"""How long a thread whose requests were ended is waited for."""


class Cancelled(Exception):
    """The person stopped the turn."""


class CancelToken:
    """Says that a turn should end; safe to use from any thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raises `Cancelled` once the turn should end."""
        if self._event.is_set():
            raise Cancelled


class Decisions:
    """Wakes turns that wait for a person; the decision itself is in the store."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._count = 0

    def notify(self) -> None:
        """Something was decided."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def wait(self, timeout_s: float) -> None:
        """Return when something was decided, or after `timeout_s`."""
        with self._changed:
            seen = self._count
            self._changed.wait_for(lambda: self._count != seen, timeout_s)


def iterate_until_cancelled(
    items: Callable[[], Iterator[T]], stop: CancelToken, done: Callable[[], None] = lambda: None
) -> Iterator[T]:
    """What another thread draws from `items()`, as it comes; `done` runs in that thread at its end.

    Raises `Cancelled` within a moment of `stop`, and what the iterator raises.
    """
    drawn: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()
    cutoff = Cancellation()

    def draw() -> None:
        try:
            with cutoff.here():
                iterator = items()
                for item in iterator:
                    if cutoff.is_over:
                        getattr(iterator, "close", lambda: None)()
                        return
                    drawn.put((item, None))
            drawn.put((None, StopIteration()))
        except BaseException as error:  # handed to the waiting thread, whatever it is
            drawn.put((None, error))
        finally:
            done()

    thread = threading.Thread(target=draw, name="draw", daemon=True)
    thread.start()
    try:
        while True:
            stop.check()
            try:
                item, error = drawn.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                continue
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]  # an item beside no error
    finally:
        _leave(thread, cutoff)


def run_with_timeout(
    work: Callable[[], T], timeout_s: float, stop: CancelToken, done: Callable[[], None] = lambda: None
) -> T:
    """What `work` gives. Raises `TimeoutError` after `timeout_s`, `Cancelled`, and what it raises."""
    until_s = time.monotonic() + timeout_s
    outcome: list[T] = []
    failure: list[BaseException] = []
    cutoff = Cancellation()

    def run() -> None:
        try:
            with cutoff.here():
                outcome.append(work())
        except BaseException as error:  # handed to the waiting thread, whatever it is
            failure.append(error)
        finally:
            done()

    thread = threading.Thread(target=run, name="tool", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            stop.check()
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            thread.join(min(left_s, _LOOK_EVERY_S))
    finally:
        _leave(thread, cutoff)
    if failure:
        raise failure[0]
    return outcome[0]


def _leave(thread: threading.Thread, cutoff: Cancellation) -> None:
    """End what the thread waits for, and see it go."""
    cutoff.now()
    thread.join(_LEAVE_S)
    if thread.is_alive():
        log.warning("a thread is left behind that waits for no request")
