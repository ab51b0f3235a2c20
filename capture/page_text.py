"""Asks the browser extension for the words of pages, when a frame of them is kept.

The extension opens a socket here and answers with what is in view of the pages in front. Only windows are
asked about whose pixels are kept, and what a page says is kept only if it was the same from before the
picture was taken until it answered. Too late is not at all: the picture is read instead.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from simple_websocket import ConnectionClosed, Server

from capture.screens.protocol import Screenshot
from capture.windows.browser_extension import fits
from capture.windows.protocol import WindowInfo
from store.privacy.rules import WindowFacts
from store.spool import page_text
from store.spool.page_text import Area, PageText
from store.spool.process_state import TextDoor
from store.spool.window_hints import OrdinaryWindow

log = logging.getLogger(__name__)

WAIT_S = 0.1
PAINT_MS = 60
"""What a page has drawn is on the screen by then, and in a picture that is taken later."""
_SHAKE_HANDS_S = 5.0
_MAX_SOCKETS = 16
_SEND_LIMIT = struct.pack("l", 100) if os.name == "nt" else struct.pack("ll", 0, 100_000)  # 0.1 s


@dataclass(frozen=True, slots=True)
class PageWindow:
    """A window whose pixels are kept, surely not private: its place in the picture, and where it shows."""

    window: WindowInfo
    area: Area
    parts: tuple[Area, ...]


Collect = Callable[[], list[PageText]]
"""What was told for one frame, once it is there."""


class Teller(Protocol):
    """Somebody who can be asked what windows show."""

    def ask(self, windows: Sequence[PageWindow], shot: Screenshot, news: float) -> Collect | None:
        """Ask now about a picture, of which the share `news` is new; None when nobody is to be asked."""

    def close(self) -> None:
        """Ask no more."""


class Tellers:
    """All of them as one. What they tell goes to the spool together."""

    def __init__(self, *tellers: Teller) -> None:
        self._tellers = tellers

    def ask(
        self, windows: Sequence[PageWindow], shot: Screenshot, news: float
    ) -> Callable[[], bytes | None] | None:
        """What gives the text for a frame, or None where there is none."""
        asked = [collect for one in self._tellers if (collect := one.ask(windows, shot, news))]
        return (lambda: _encoded([page for collect in asked for page in collect()])) if asked else None

    def close(self) -> None:
        for one in self._tellers:
            one.close()


def _encoded(pages: Sequence[PageText]) -> bytes | None:
    try:
        return page_text.encode(pages) if pages else None
    except ValueError as error:
        log.warning("the text of pages is left out: %s", error)
        return None


class PageTextDoor:
    """Where the extension of each browser profile listens for requests. Threads of its own."""

    def __init__(self, spool_folder: Path, is_kept: Callable[[WindowFacts], bool]) -> None:
        """`is_kept` decides about a page by the person's rules. Raises `OSError`."""
        self._folder = spool_folder
        self._is_kept = is_kept
        self._sockets: set[Server] = set()
        self._requests: dict[int, SimpleQueue[list[Any]]] = {}  # the answers to each
        self._lock = threading.Lock()
        self._asked = 0
        self._http = _Listener(("127.0.0.1", 0), _Handler)
        self._http.door = self
        door = TextDoor(self._http.server_address[1], secrets.token_urlsafe(32), secrets.token_urlsafe(32))
        self.path, self._word = f"/{door.key}", door.word
        threading.Thread(target=self._http.serve_forever, name="page text", daemon=True).start()
        door.write(spool_folder)

    def ask(self, windows: Sequence[PageWindow], shot: Screenshot, news: float) -> Collect | None:
        # Titles of other programs are no business of a browser.
        windows = [window for window in windows if window.window.incognito is False]
        with self._lock:
            sockets = list(self._sockets)
            if not windows or not sockets:
                return None
            self._asked += 1
            number, until_s = self._asked, time.monotonic() + WAIT_S
            answers = self._requests[number] = SimpleQueue()
        titles = [window.window.window_name for window in windows]
        message = json.dumps({"id": number, "word": self._word, "titles": titles})
        for ws in sockets:
            try:
                ws.send(message)
            except (ConnectionClosed, OSError):
                answers.put([])
                self._leave(ws)

        def collected() -> list[PageText]:
            told: list[Any] = []
            with suppress(Empty):
                for _ in sockets:
                    told += answers.get(timeout=max(0.0, until_s - time.monotonic()))
            with self._lock:
                del self._requests[number]
            return list(pages_of(told, windows, shot.captured_ms, self._is_kept))

        return collected

    def close(self) -> None:
        TextDoor.forget(self._folder)
        self._http.shutdown()
        self._http.server_close()
        with self._lock:
            sockets = list(self._sockets)
        for ws in sockets:
            if ws.connected:
                ws.close()

    def follow(self, ws: Server) -> None:
        """Hear what one extension says until it leaves."""
        with self._lock:
            if len(self._sockets) >= _MAX_SOCKETS:
                return
            self._sockets.add(ws)
        try:
            while True:
                self._hear(ws.receive())
        except (ConnectionClosed, OSError):
            return
        finally:
            self._leave(ws)

    def _leave(self, ws: Server) -> None:
        with self._lock:
            self._sockets.discard(ws)
        with suppress(OSError):  # it is closed already
            ws.sock.shutdown(socket.SHUT_RDWR)

    def _hear(self, message: str | bytes | None) -> None:
        if not message:
            return  # it only says that it is there
        try:
            answer = json.loads(message)
            number, pages = answer["id"], list(answer["pages"])
        except (ValueError, TypeError, KeyError, RecursionError):
            log.warning("the browser extension said something that cannot be read")
            return
        with self._lock:
            answers = self._requests.get(number) if isinstance(number, int) else None
        if answers is not None:
            answers.put(pages)


def pages_of(
    told: Sequence[Any],
    windows: Sequence[PageWindow],
    captured_ms: int,
    is_kept: Callable[[WindowFacts], bool],
) -> Iterator[PageText]:
    """Pages that were told of, each in its window, as far as no doubt is left whose and when."""
    for window in windows:
        fitting = [page for page in told if _title_fits(page, window)]
        alike = sum(any(_title_fits(page, other) for page in fitting) for other in windows)
        if len(fitting) != 1 or alike != 1:
            continue
        try:
            page = _page(fitting[0], window, captured_ms, is_kept)
        except (ValueError, TypeError, KeyError) as error:
            log.warning("what a page says cannot be used: %s", type(error).__name__)
            continue
        if page is not None:
            yield page


def _title_fits(page: Any, window: PageWindow) -> bool:
    title = page.get("title") if isinstance(page, dict) else None
    return isinstance(title, str) and fits(OrdinaryWindow(title), window.window.window_name)


def _page(
    told: dict[str, Any], window: PageWindow, captured_ms: int, is_kept: Callable[[WindowFacts], bool]
) -> PageText | None:
    """None where the page changed around the picture, or is another than the one that may be kept."""
    settled_ms, at_ms = int(told["settled"]), int(told["at"])
    if not 0 < settled_ms <= captured_ms - PAINT_MS or at_ms < captured_ms:
        return None
    facts = window.window.facts
    if not is_kept(WindowFacts(facts.app_name, facts.window_name, str(told["url"]), False, True)):
        return None
    words = tuple(page_text.words(told["words"]))
    [page] = page_text.decode(
        page_text.encode([PageText(window.area, window.parts, told["width"], told["height"], words)])
    )
    return page


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    door: PageTextDoor

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a connection for page text failed", exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    protocol_version = "HTTP/1.1"
    timeout = _SHAKE_HANDS_S

    def do_GET(self) -> None:
        self.close_connection = True
        door = self.server.door
        if not hmac.compare_digest(self.path.encode(), door.path.encode()) or "Upgrade" not in self.headers:
            self.send_error(404)
            return
        self.connection.settimeout(None)
        # A browser that was stopped takes nothing any more: looking goes on without it.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _SEND_LIMIT)
        headers = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in self.headers.items()}
        environ = {"werkzeug.socket": self.connection, "PATH_INFO": "/", "QUERY_STRING": "", **headers}
        door.follow(Server(environ, receive_bytes=65536, max_message_size=page_text.MAX_BYTES))

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)
