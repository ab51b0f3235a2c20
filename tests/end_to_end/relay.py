"""A relay between a browser and the server that can cut the sockets that run through it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import TracebackType
from typing import Self

_RESET = struct.pack("ii", 1, 0)
_PIECE = 65_536


class Relay:
    """Passes connections from a port of its own on to `target` while the block runs.

    `drop` resets every socket (a connection that begins with ``GET /ws/``) as a network that goes
    away does; other connections stay. While `refuses` is set sockets are reset at once.
    """

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self.opened = 0
        """Sockets that were passed on so far."""
        self.refuses = False
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.drop()

    def drop(self) -> int:
        """Reset all sockets; gives how many there were."""
        with self._lock:
            doomed, self._sockets = self._sockets, set()
        for each in doomed:
            _reset(each)
        return len(doomed) // 2

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed at the end
            while True:
                browser, _ = self._listener.accept()
                threading.Thread(target=self._pass, args=(browser,), daemon=True).start()

    def _pass(self, browser: socket.socket) -> None:
        with contextlib.suppress(OSError), browser:
            begun = browser.recv(_PIECE)
            is_socket = begun.startswith(b"GET /ws/")
            if is_socket and self.refuses:
                _reset(browser)
                return
            with socket.create_connection(("127.0.0.1", self.target)) as server:
                server.sendall(begun)
                if is_socket:
                    with self._lock:
                        self._sockets |= {browser, server}
                        self.opened += 1
                back = threading.Thread(target=_copy, args=(server, browser), daemon=True)
                back.start()
                _copy(browser, server)
                back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    """Until one side ends; the other is told."""
    with contextlib.suppress(OSError):
        while piece := source.recv(_PIECE):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def _reset(connection: socket.socket) -> None:
    """Close without a word: the other side sees a reset."""
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
