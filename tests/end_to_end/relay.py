"""A relay between a browser and the server that can cut the event streams that run through it."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import struct
import threading
from types import TracebackType
from typing import Self

_RESET = struct.pack("ii", 1, 0)
_PIECE = 65_536
_STREAM = re.compile(rb"GET \S+/turns/\d+/events ")


class Relay:
    """Passes connections from a port of its own on to `target` while the block runs.

    `drop` resets every connection over which an event stream comes, as a network that goes away does;
    the others stay.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """With `tls` it takes TLS off what comes, as a reverse proxy does."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        if tls:
            self._listener = tls.wrap_socket(self._listener, server_side=True)
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self.opened = 0
        """Event streams that were asked for so far."""
        self._streams: dict[socket.socket, socket.socket] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.drop()

    @property
    def running(self) -> int:
        """Event streams that are open."""
        with self._lock:
            return len(self._streams)

    def drop(self) -> int:
        """Reset all event streams; gives how many there were."""
        with self._lock:
            streams, self._streams = self._streams, {}
        for browser, server in streams.items():
            _reset(browser)
            _reset(server)
        return len(streams)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                browser, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(browser,), daemon=True).start()

    def _pass(self, browser: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            browser,
            socket.create_connection(("127.0.0.1", self.target)) as server,
        ):
            back = threading.Thread(target=_copy, args=(server, browser), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while request := browser.recv(_PIECE):
                    self._note(request, browser, server)
                    server.sendall(request)
            self._note(b"", browser, server)
            _end(server)
            back.join()

    def _note(self, request: bytes, browser: socket.socket, server: socket.socket) -> None:
        """What is asked for on a connection that is kept decides whether a stream runs over it."""
        with self._lock:
            self._streams.pop(browser, None)
            if _STREAM.match(request):
                self._streams[browser] = server
                self.opened += 1


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until one side ends; the other is told."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            sink.sendall(piece)
    _end(sink)


def _end(sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _reset(connection: socket.socket) -> None:
    """Close without a word: the other side sees a reset."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
