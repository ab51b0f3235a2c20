"""A real HTTP server that answers like a search endpoint, or misbehaves as a script says."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from engines.web_search import WebSearch

CLOSE = b"\r\nConnection: close\r\n\r\n"
Answer = Callable[[socket.socket], None]


class StubSearch:
    """Listens on a free loopback port while the block runs. `requests` are the very bytes it got.

    Each connection is answered with `answer`, which writes what it likes to the socket.
    """

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.answer: Answer = whole(b"{}")
        self.is_over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/search"

    def engine(self) -> WebSearch:
        return WebSearch(self.url)

    def finds(self, *results: Mapping[str, Any]) -> None:
        """Answer with these results, as SearXNG does."""
        self.answer = whole(json.dumps({"query": "x", "results": results}, ensure_ascii=False).encode())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_over.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _serve(self) -> None:
        while not self.is_over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed: the block is left
                return
            with connection:
                self.requests.append(_read(connection))
                try:
                    self.answer(connection)
                except OSError:  # the asker has left
                    continue


def whole(body: bytes, status: str = "200 OK", headers: Sequence[str] = ()) -> Answer:
    """An answer that is sent as it should be."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return lambda connection: connection.sendall("\r\n".join(lines).encode() + CLOSE + body)


def raw(content: bytes) -> Answer:
    """These bytes and nothing else."""
    return lambda connection: connection.sendall(content)


def dripping(content: bytes, every_s: float, is_over: threading.Event) -> Answer:
    """One byte after the other, as slow as it likes, and no end."""

    def answer(connection: socket.socket) -> None:
        for at in range(len(content)):
            connection.sendall(content[at : at + 1])
            if is_over.wait(every_s):
                return
        is_over.wait(20)

    return answer


def _read(connection: socket.socket) -> bytes:
    found = b""
    while b"\r\n\r\n" not in found:
        piece = connection.recv(4096)
        if not piece:
            break
        found += piece
    return found
