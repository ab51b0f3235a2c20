"""Ending work from outside: at a moment, or once nobody waits for it any more.

A client's time limit bounds each wait for more bytes, so an endpoint that sends one now and then would
hold a request for ever, and a thread that waits inside a read hears of nothing. But another thread can
shut its socket down: the read ends at once, with an error. So every connection of a request is held by
the cancellation of whoever asks, and by those of everyone who waits for that one::

    cancellation = Cancellation()
    with cancellation.at(lambda: until_s), cancellation.here():    # in the thread that asks
        ...
    cancellation.now()                                     # from any thread

What cannot be ended is the look-up of a host's name; connecting and its handshake keep the time limit
they were given.

What may take long runs in a thread of its own, and who waits for it can leave at any moment
(`iterate_until_cancelled`). A thread cannot be stopped from outside, but what it waits for can, and what
still comes afterwards is thrown away.
"""

from __future__ import annotations

import logging
import math
import queue
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Any, Self, TypeVar
from weakref import WeakSet

log = logging.getLogger(__name__)

T = TypeVar("T")

_LOOK_EVERY_S = 0.05
_LEAVE_S = 0.5
"""How long a thread whose requests were ended is waited for."""

_current: ContextVar[Cancellation | None] = ContextVar("cancellation", default=None)

_CONNECTED = (".connect_tcp.complete", ".start_tls.complete")


class Cancellation:
    """Holds the connections of a piece of work, within the one that is current where it is made."""

    def __init__(self) -> None:
        self._outer = _current.get()
        self._is_over = threading.Event()
        self.is_late = False
        """Whether it was ended because its time is up."""
        self._held: WeakSet[socket.socket] = WeakSet()
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether the work was ended, or that of which it is a part."""
        return self._is_over.is_set() or (self._outer is not None and self._outer.is_over)

    def now(self) -> None:
        """End it: connections that are held are shut down, and so is each that is made later."""
        with self._lock:
            self._is_over.set()
            held = list(self._held)
        for connection in held:
            _shut(connection)

    def hold(self, connection: socket.socket) -> None:
        """Take in a connection of this work."""
        if self._outer is not None:
            self._outer.hold(connection)
        with self._lock:
            self._held.add(connection)
        if self.is_over:
            _shut(connection)

    def sleep(self, seconds: float) -> None:
        """Sleep, though not longer than until the work is ended."""
        until_s = time.monotonic() + seconds
        while not self.is_over and (left_s := until_s - time.monotonic()) > 0:
            self._is_over.wait(min(left_s, _LOOK_EVERY_S))

    @contextmanager
    def here(self) -> Iterator[Self]:
        """Be the current one of this thread. Not around a ``yield``: others would run within it."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    @contextmanager
    def at(self, until_s: Callable[[], float]) -> Iterator[Self]:
        """End the work at that time (monotonic seconds), which may move on, unless the block ends before."""
        is_done = threading.Event()
        watch = threading.Thread(target=self._watch, args=(until_s, is_done), name="cut off", daemon=True)
        watch.start()
        try:
            yield self
        finally:
            is_done.set()
            watch.join()

    def _watch(self, until_s: Callable[[], float], is_done: threading.Event) -> None:
        while (left_s := until_s() - time.monotonic()) > 0:
            if is_done.wait(left_s):
                return
        self.is_late = True
        self.now()


def current() -> Cancellation | None:
    """The cancellation of what this thread does."""
    return _current.get()


def tracing(cancellation: Cancellation) -> Callable[[str, Mapping[str, Any]], None]:
    """A ``trace`` extension of an HTTP client's request (https://www.python-httpx.org/advanced/extensions/)
    that lets `cancellation` hold its connection. Only a connection that is opened for the request is told, so
    such a client keeps none.
    """

    def trace(event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(_CONNECTED):
            cancellation.hold(info["return_value"].get_extra_info("socket"))

    return trace


def _shut(connection: socket.socket) -> None:
    try:
        # Of the plain socket: an encrypted one would first forget its keys, under its reader's hands.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:  # closed already: there is nothing to end
        return


# -- waiting that can be left ---------------------------------------------------------------


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
