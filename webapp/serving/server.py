"""The HTTP server: Werkzeug's, with connections that are kept open, bounded and ended well.

A browser asks for dozens of small pictures on one page, so connections are kept alive (HTTP/1.1).
Each has a thread; their number is bounded, and where all are taken the one that has been waited for longest
makes room: whoever opens many and says little in them keeps nobody out. Sockets need the raw connection,
which this server has and most WSGI servers hide.
"""

from __future__ import annotations

import io
import logging
import math
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from flask import Flask, g, request
from werkzeug.exceptions import RequestTimeout
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from webapp.core.services import is_disconnected, services

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 64
IDLE_S = 20
REQUEST_S = 10.0
"""How long a head may be waited for, and a body; each 10 kB that come buy a second more."""
_BYTES_PER_S = 10_000
IS_TAKEN_OVER = "recollect.is_taken_over"
"""Set in a request's environ by who speaks on its connection itself: nothing is answered then."""

_LENGTH = re.compile("[0-9]{1,18}")
_LINGER_S = 20.0
_LINGER_BYTES = 1 << 30


class Server:
    """Serves one app on a listening socket until `stop` is called from another thread."""

    def __init__(self, app: Flask, listener: socket.socket, thread_done: Callable[[], None]) -> None:
        host, port = listener.getsockname()[:2]
        self._http = _HttpServer(host, port, app, listener, thread_done)

    def run(self) -> None:
        """Blocks until `stop`; requests that were being answered get a moment to finish."""
        try:
            self._http.serve_forever(poll_interval=0.1)
        finally:
            self._http.server_close()
            self._http.wait_for_answers(timeout_s=3.0)

    def stop(self) -> None:
        """Stop accepting and let `run` return; does not wait for that."""
        threading.Thread(target=self._http.shutdown, name="stop", daemon=True).start()


class _HttpServer(ThreadedWSGIServer):
    daemon_threads = True
    block_on_close = False

    def __init__(
        self, host: str, port: int, app: Flask, listener: socket.socket, thread_done: Callable[[], None]
    ) -> None:
        super().__init__(host, port, app, _Handler, fd=listener.fileno())
        self._slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self._thread_done = thread_done
        self._answering = 0
        self._idle = threading.Condition()
        self._waited_for: dict[Any, None] = {}  # connections that are not being answered, the longest first

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._slots.acquire(blocking=False) and not self._make_room():
            log.warning("all %d connections are in use, one was turned away", MAX_CONNECTIONS)
            self.shutdown_request(request)
            return
        try:
            self._wait_for(request)
            super().process_request(request, client_address)
        except BaseException:
            self._waited_for.pop(request, None)
            self._slots.release()
            raise

    def _make_room(self) -> bool:
        """End the connection that has been waited for longest; whether there is a free one then."""
        with self._idle:
            longest = next(iter(self._waited_for), None)
            self._waited_for.pop(longest, None)
        if longest is not None:
            with suppress(OSError):  # it has just ended by itself
                longest.shutdown(socket.SHUT_RDWR)
        return self._slots.acquire(timeout=1.0)

    def _wait_for(self, connection: Any) -> None:
        with self._idle:
            self._waited_for[connection] = None
            self._idle.notify_all()

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._idle:
                self._waited_for.pop(request, None)
            self._thread_done()
            self._slots.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.exception("a connection failed")

    @contextmanager
    def answering(self, connection: Any) -> Iterator[None]:
        """While the block runs, nobody waits for this connection: it is not ended to make room."""
        with self._idle:
            self._waited_for.pop(connection, None)
            self._answering += 1
        try:
            yield
        finally:
            with self._idle:
                self._answering -= 1
            self._wait_for(connection)

    def wait_for_answers(self, timeout_s: float) -> None:
        with self._idle:
            self._idle.wait_for(lambda: self._answering == 0, timeout_s)


class _Handler(WSGIRequestHandler):
    server: _HttpServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_S
    # Head and body are two writes; waiting for an acknowledgement between them costs 40 ms.
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._input = _Input(self.connection)
        self._buffered = self.rfile = io.BufferedReader(self._input)

    def handle_one_request(self) -> None:
        self._input.allow(IDLE_S)
        self._buffered.peek(1)
        self._input.allow(REQUEST_S)
        super().handle_one_request()

    def run_wsgi(self) -> None:
        """Answer one request.

        Werkzeug's own version closes every connection, because it cannot know where an unread
        body ends. Here a connection is kept when all of the body was read before the answer.
        """
        if self.headers.get("Expect", "").strip().lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.body = _Body(self._buffered, self._body_bytes())
        if "Upgrade" in self.headers:
            self.close_connection = True
        try:
            self.environ = self.make_environ()
        except ValueError:  # an address such as http://[::1/
            self.close_connection = True
            return self.send_error(400)
        if "Transfer-Encoding" not in self.headers:
            self.environ["wsgi.input"] = self.body
        self._input.allow(REQUEST_S, RequestTimeout)
        with self.server.answering(self.connection):
            try:
                self._answer()
            except (ConnectionError, TimeoutError):
                self.close_connection = True  # the browser left: nobody to tell
            except Exception:  # a failing answer ends its own connection and not the server
                self.close_connection = True
                log.exception("an answer failed")
        if self.body.left:
            self.close_connection = True
            self._discard_body()

    def _answer(self) -> None:
        answer = _Answer(self)
        chunks = self.server.app(self.environ, answer.start)
        try:
            if IS_TAKEN_OVER in self.environ:
                return
            for chunk in chunks:
                answer.write(chunk)
            answer.finish()
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def _body_bytes(self) -> float:
        """Without end where two readers of the same head might differ."""
        lengths = self.headers.get_all("Content-Length", ["0"])
        is_plain = len(lengths) == 1 and _LENGTH.fullmatch(lengths[0])
        # After a line that is no header, the others are not read.
        is_whole = "Transfer-Encoding" not in self.headers and not self.headers.defects
        return int(lengths[0]) if is_plain and is_whole else math.inf

    def _discard_body(self) -> None:
        """Read what the app did not, so that the client sees the answer and not a reset (413)."""
        deadline = time.monotonic() + _LINGER_S
        left = _LINGER_BYTES
        try:
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(1.0)
            while left > 0 and time.monotonic() < deadline:
                received = len(self.connection.recv(1 << 20))
                if not received:
                    return
                left -= received
        except OSError:
            return  # it went away by itself, which is what we waited for

    def version_string(self) -> str:
        return "recollect"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        # Never the query string: it holds what a person searched for.
        log.debug("%s %s %s", self.command, getattr(self, "path", "").partition("?")[0], code)

    def log(self, type: str, message: str, *args: Any) -> None:
        log.debug(message, *args)


class _Input(io.RawIOBase):
    """What a connection sends while it is waited for: bytes that drip in do not put its end off for ever.

    Only waiting counts: what is there already is taken however long anything else took.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.allow(0.0)

    def allow(self, seconds: float, error: type[Exception] = TimeoutError) -> None:
        """Wait so long from here on, and then raise this."""
        self._left_s = seconds
        self._error = error

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        began_s = time.monotonic()
        self._connection.settimeout(min(max(self._left_s, 0), IDLE_S))
        try:
            received = self._connection.recv_into(buffer)
        except (TimeoutError, BlockingIOError):
            raise self._error("what was asked for came too slowly") from None
        finally:
            self._connection.settimeout(IDLE_S)  # of what is sent
        self._left_s += received / _BYTES_PER_S - (time.monotonic() - began_s)
        return received


class _Body(io.RawIOBase):
    """The body of one request; `left` bytes of it were not read yet."""

    def __init__(self, stream: io.BufferedReader[_Input], left: float) -> None:
        self._stream = stream
        self.left = left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        received = self._stream.readinto(memoryview(buffer)[: int(min(self.left, len(buffer)))])
        self.left -= received
        return received


class _Answer:
    """Writes one WSGI answer: with its length, or in chunks when that is not known."""

    def __init__(self, handler: _Handler) -> None:
        self._handler = handler
        self._status = ""
        self._headers: list[tuple[str, str]] = []
        self._is_sent = False
        self._is_chunked = False

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        if self._is_sent and exc_info:
            raise exc_info[1].with_traceback(exc_info[2])
        self._status, self._headers = status, headers
        return self.write

    def write(self, data: bytes) -> None:
        if not self._is_sent:
            self._send_head()
        if not data:
            return
        if self._is_chunked:
            data = b"%x\r\n%s\r\n" % (len(data), data)
        self._handler.wfile.write(data)

    def finish(self) -> None:
        if not self._is_sent:
            self._send_head()
        if self._is_chunked:
            self._handler.wfile.write(b"0\r\n\r\n")

    def _send_head(self) -> None:
        handler = self._handler
        if handler.body.left:
            handler.close_connection = True
        code, _, reason = self._status.partition(" ")
        handler.send_response(int(code), reason)
        names = set()
        for name, value in self._headers:
            handler.send_header(name, value)
            names.add(name.lower())
        has_no_body = handler.command == "HEAD" or code in ("204", "304") or code.startswith("1")
        if "content-length" not in names and not has_no_body:
            if handler.request_version >= "HTTP/1.1":
                self._is_chunked = True
                handler.send_header("Transfer-Encoding", "chunked")
            else:
                handler.close_connection = True
        if handler.close_connection:
            handler.send_header("Connection", "close")
        handler.end_headers()
        self._is_sent = True


# -- a client that leaves takes its question along: what was asked for it is stopped inside SQLite --
#
# Only for requests that read. A change is finished, and so is an answer of the chat, which is kept.
# What reads without a deadline is finished, too.


def install(app: Flask) -> None:
    """Watch the connection of every GET while it is answered."""
    app.before_request(_watch)
    app.teardown_request(_unwatch)


def _watch() -> None:
    # Werkzeug's server names it; other servers keep it to themselves.
    connection = request.environ.get("werkzeug.socket")
    if request.method != "GET" or connection is None:
        return
    g.watched = ExitStack()
    g.watched.enter_context(services().database.while_wanted(lambda: is_disconnected(connection)))


def _unwatch(_: BaseException | None) -> None:
    watched: ExitStack | None = g.pop("watched", None)
    if watched is not None:
        watched.close()
