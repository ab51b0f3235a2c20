"""Ending network requests from outside: at a moment, or once nobody waits for their answer.

A client's time limit bounds each wait for more bytes, so an endpoint that sends one now and then would
hold a request for ever, and a thread that waits inside a read hears of nothing. But another thread can
shut its socket down: the read ends at once, with an error. So every connection of a request is held by
the cancellation of whoever asks, and by those of everyone who waits for that one::

    cancellation = Cancellation()
    with cancellation.at(until_s), cancellation.here():    # in the thread that asks
        ...
    cancellation.now()                                     # from any thread

What cannot be ended is the look-up of a host's name; connecting and its handshake keep the time limit
they were given.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import ip_address
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit
from weakref import WeakSet

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
            self._is_over.wait(min(left_s, 0.05))

    @contextmanager
    def here(self) -> Iterator[Self]:
        """Be the current one of this thread. Not around a ``yield``: others would run within it."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    @contextmanager
    def at(self, until_s: float) -> Iterator[Self]:
        """End the work at `until_s` (monotonic seconds) unless the block is done before."""
        timer = threading.Timer(max(0.0, until_s - time.monotonic()), self._late)
        timer.daemon = True
        timer.start()
        try:
            yield self
        finally:
            timer.cancel()
            timer.join()

    def _late(self) -> None:
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


# Addresses of endpoints: which are on this machine, what of them may be shown, which may be used.


def public_url(base_url: str) -> str:
    """The address without a user, a password or a query, any of which may be a secret."""
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{_host_and_port(parts)}{parts.path}"


def is_local(base_url: str) -> bool:
    """Whether an address is on this machine, so that nothing leaves it."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"  # a name below it is looked up like any other by some resolvers


def host_of(base_url: str) -> str:
    """``api.example`` or ``192.168.1.5:8000``: whom a person allows text to be sent to."""
    return _host_and_port(urlsplit(base_url))


def may_send_to(base_url: str, allowed_host: str) -> bool:
    """Whether text may go to an address: it is on this machine, or its very host was allowed."""
    return is_local(base_url) or allowed_host == host_of(base_url)


def problem_of(base_url: str) -> str:
    """Why an address cannot be used, as a sentence part; '' when it can.

    Only http and https; no user, password, query or fragment, in which keys travel unseen.
    """
    try:
        parts = urlsplit(base_url)
        port = parts.port
    except ValueError:
        return "is not a valid address"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not parts.hostname or port == 0 or any(c.isspace() or not c.isprintable() for c in base_url):
        return "is not a valid address"
    if "@" in parts.netloc:
        return "must not hold a user or a password; the key has a field of its own"
    if parts.query or parts.fragment:
        return "must not hold a ? or a #"
    return ""


def _host_and_port(parts: SplitResult) -> str:
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"
