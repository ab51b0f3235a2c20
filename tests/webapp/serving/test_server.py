"""The HTTP server on a real socket: kept connections, bodies, sockets, an end."""

from __future__ import annotations

import functools
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace

import pytest
from flask import Flask, request
from flask_sock import Sock

from assistant.core.models import ChatModels
from store.core.database import Database
from store.core.errors import SettingsError
from store.core.settings import Settings, WebSettings
from tests.tables import for_each
from webapp import create_app
from webapp.security.access import PortInUse, check_address, listen, make_launch_code, public
from webapp.serving import server as server_module
from webapp.serving.server import MAX_CONNECTIONS, Server


@dataclass
class Running:
    app: Flask
    server: Server
    port: int
    thread: threading.Thread

    @property
    def token(self) -> str:
        return str(self.app.extensions["recollect"].token)

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def auth(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def stop(self) -> None:
        self.server.stop()
        self.thread.join(60)
        assert not self.thread.is_alive()


Start = Callable[..., Running]


@pytest.fixture
def start(database: Database) -> Iterator[Start]:
    started: list[Running] = []

    def run(prepare: Callable[[Flask], None] = lambda app: None) -> Running:
        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        settings = Settings(web=replace(WebSettings(), port=port))
        app = create_app(settings, database, chat_models=ChatModels(settings.chat, {}))
        prepare(app)
        with listener:
            server = Server(app, listener, thread_done=database.close_thread)
        thread = threading.Thread(target=server.run)
        thread.start()
        started.append(Running(app, server, port, thread))
        return started[-1]

    yield run
    for running in started:
        if running.thread.is_alive():
            running.stop()


@pytest.fixture
def running(start: Start) -> Running:
    """One server for all cases of a table."""
    return start()


# -- the address ----------------------------------------------------------------------------


@for_each("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_this_machine_may_be_listened_on(host: str) -> None:
    check_address(WebSettings(host=host))


@for_each("host", ["0.0.0.0", "::", "", "192.168.1.5", "example.com", "127.0.0.1.evil"])
def test_any_other_address_needs_two_words(host: str) -> None:
    with pytest.raises(SettingsError, match="allow_lan"):
        check_address(WebSettings(host=host))
    with pytest.raises(SettingsError, match="tls_acknowledged"):
        check_address(WebSettings(host=host, allow_lan=True))
    with pytest.raises(SettingsError, match="allow_lan"):
        check_address(WebSettings(host=host, tls_acknowledged=True))
    check_address(WebSettings(host=host, allow_lan=True, tls_acknowledged=True))


def test_a_port_in_use_is_said_in_a_sentence() -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortInUse, match=f"127.0.0.1:{port}"):
            listen("127.0.0.1", port)


# -- connections ----------------------------------------------------------------------------


def test_one_connection_serves_many_requests(start: Start) -> None:
    """Also after a body, where the answer came when all of that was read."""
    running = start()
    connection = running.connect()
    window = json.dumps({"app_name": "Code", "window_name": "main.py"})
    requests = (
        ("GET", "/api/v1/stats", None, 200),
        ("POST", "/api/v1/privacy/test", window, 200),
        ("GET", "/api/v1/frames/1", None, 404),
        ("POST", "/api/v1/privacy/test", "{", 400),
        ("GET", "/static/favicon.svg", None, 200),
    )
    sockets = set()
    for method, path, body, status in requests:
        headers = {**running.auth(), "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        sockets.add(connection.sock)
        answer = connection.getresponse()
        answer.read()
        assert (answer.status, answer.version, answer.will_close) == (status, 11, False)
    assert len(sockets) == 1 and connection.sock in sockets
    connection.close()


def test_head_and_304_leave_the_connection_in_step(start: Start) -> None:
    running = start()
    connection = running.connect()
    connection.request("HEAD", "/static/favicon.svg")
    answer = connection.getresponse()
    tag = answer.headers["ETag"]
    assert (answer.status, answer.read()) == (200, b"")
    connection.request("GET", "/static/favicon.svg", headers={"If-None-Match": tag})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (304, b"")
    connection.request("GET", "/api/v1/stats", headers=running.auth())
    assert json.loads(connection.getresponse().read())["frames"] == 0
    connection.close()


@pytest.mark.parametrize("before", [b"", b"Foo : bar\r\n", b"Foo\r\n", b"Content-Length: 0\r\n"])
def test_after_an_unread_body_the_connection_is_closed_and_nothing_of_it_is_a_request(
    start: Start, before: bytes
) -> None:
    """Request smuggling: a refused body must not be read as the next request, whatever its head."""
    running = start()
    hidden = b"GET /api/v1/stats HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        raw.sendall(
            b"GET /api/v1/nothing HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%sContent-Length: %d\r\n\r\n%s"
            % (running.port, before, len(hidden), hidden)
        )
        raw.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.startswith(b"HTTP/1.1 401")
    assert b"Connection: close" in answer


@pytest.mark.parametrize("chunked", [False, True])
def test_a_hundred_megabytes_are_answered_with_413(start: Start, chunked: bool) -> None:
    running = start()
    connection = running.connect()
    chunk = bytes(1_000_000)
    headers = {**running.auth(), "Content-Type": "multipart/form-data; boundary=x"}
    if not chunked:
        headers["Content-Length"] = str(100 * len(chunk))
    connection.request(
        "POST", "/api/v1/ingest", body=(chunk for _ in range(100)), headers=headers, encode_chunked=chunked
    )
    answer = connection.getresponse()
    assert (answer.status, json.loads(answer.read())["code"]) == (413, "too_large")
    connection.close()


@pytest.mark.parametrize(
    "head",
    [
        "GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: 127.0.0.1:{port}\r\n\r\n",
        "GET http://evil.example/api/v1/health HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
    ],
    ids=["two hosts", "an absolute target counts as the host"],
)
def test_a_request_that_names_another_host_is_refused(start: Start, head: str) -> None:
    running = start()
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        raw.sendall(head.format(port=running.port).encode())
        assert raw.recv(65536).startswith(b"HTTP/1.1 403")


def test_a_line_that_is_no_request_gets_400_and_no_traceback(start: Start) -> None:
    running = start()
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        raw.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        answer = raw.recv(65536)
    assert b"400" in answer and b"Traceback" not in answer


ODD = [
    b"OPTIONS * HTTP/1.1\r\n{host}\r\n",
    b"CONNECT evil.example:80 HTTP/1.1\r\n{host}\r\n",
    b"TRACE / HTTP/1.1\r\n{host}\r\n",
    b"get / HTTP/1.1\r\n{host}\r\n",
    b"G\xc3\x89T / HTTP/1.1\r\n{host}\r\n",
    b"GET http:///api/v1/stats HTTP/1.1\r\n{host}\r\n",
    b"GET http://[::1/ HTTP/1.1\r\n{host}\r\n",
    b"GET //evil.example/%2e%2e HTTP/1.1\r\n{host}\r\n",
    b"GET /%00%ff%c0%ae HTTP/1.1\r\n{host}\r\n",
    b"GET /static/%2e%2e%2f%2e%2e%2fpyproject.toml HTTP/1.1\r\n{host}\r\n",
    b"GET /static/..%5c..%5cpyproject.toml HTTP/1.1\r\n{host}\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\n{host}\r\n",
    b"GET /timeline#x HTTP/1.1\r\n{host}\r\n",
    b"GET /api/v1/stats?%ff=%00&a[]=1 HTTP/1.1\r\n{host}\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET /\r\n",
    b"GET / HTTP/9.9\r\n{host}\r\n",
    b"GET / HTTP/1.1\r\n{host} \r\n evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Host: evil.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: [::1%25lo]\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost.\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Authorization: Bearer \xff\x00\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Cookie: " + b"a=b; " * 12_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Cookie: " + b"\\" * 60_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Cookie: " + b"x" * 80_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}" + b"X: 1\r\n" * 200 + b"\r\n",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n{host}\r\n",
    b"GET / HTTP/1.1\r\n{host}X-Forwarded-Host: a\r\nX-Original-URL: /api/v1/stats\r\n\r\n",
    b"GET / HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET /ws/chat/1 HTTP/1.1\r\n{host}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"GET /ws/chat/1 HTTP/1.1\r\n{host}\r\n",
    b"GET / HTTP/1.1\r\n{host}Range: bytes=0-1,2-3\r\nIf-Modified-Since: \xff\r\n\r\n",
    b"POST /launch HTTP/1.1\r\n{host}Content-Length: -5\r\n\r\n",
    b"POST /launch HTTP/1.1\r\n{host}Content-Length: +5\r\n\r\nabcde",
    b"POST /launch HTTP/1.1\r\n{host}Content-Length: 99999999999999999999\r\n\r\n",
    b"POST /launch HTTP/1.1\r\n{host}Content-Length: " + b"0" * 5_000 + b"5\r\n\r\nabcde",
    b"POST /launch HTTP/1.1\r\n{host}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    b"POST /launch HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /launch HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
    b"POST /launch HTTP/1.1\r\n{host}Transfer-Encoding: \x0bchunked\r\n\r\nzz\r\n",
    b"POST /sign-out HTTP/1.1\r\n{host}X-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n\r\n",
]  # fmt: skip


@for_each("request", ODD, ids=lambda request: repr(request[:90]))
def test_odd_requests_are_refused_and_break_nothing(
    running: Running, caplog: pytest.LogCaptureFixture, request: bytes
) -> None:
    caplog.clear()
    host = b"Host: 127.0.0.1:%d\r\n" % running.port
    for authorization in (b"", b"Authorization: Bearer %s\r\n" % running.token.encode()):
        with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
            answer = b""
            with suppress(OSError):  # what is too long is not read to its end
                raw.sendall(request.replace(b"{host}", host + authorization))
                raw.shutdown(socket.SHUT_WR)
                for part in iter(functools.partial(raw.recv, 65536), b""):
                    answer += part
        status = answer.split(b" ", 2)[1] if answer.startswith(b"HTTP/") else b""
        assert not status.startswith(b"5") or status in (b"501", b"505"), answer[:200]
        assert b"Traceback" not in answer and b"[project]" not in answer
        assert authorization or not status.startswith(b"2"), answer[:200]
    assert [record for record in caplog.records if record.exc_info] == []


def test_the_server_does_not_say_what_it_is_made_of(start: Start) -> None:
    running = start()
    connection = running.connect()
    connection.request("GET", "/api/v1/health")
    answer = connection.getresponse()
    answer.read()
    assert answer.headers["Server"] == "recollect"
    connection.close()


def test_what_was_searched_for_is_not_logged(start: Start, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    running = start()
    connection = running.connect()
    connection.request("GET", "/api/v1/search?start_time=0&q=topsecret", headers=running.auth())
    connection.getresponse().read()
    connection.close()
    running.stop()
    assert "topsecret" not in caplog.text
    assert "/api/v1/search" in caplog.text


def test_an_answer_without_a_length_comes_in_chunks(start: Start) -> None:
    def stream(app: Flask) -> None:
        @app.get("/stream")
        def parts() -> Iterator[bytes]:
            yield from (b"one ", b"", b"two")

    running = start(stream)
    connection = running.connect()
    for _ in range(2):
        connection.request("GET", "/stream", headers=running.auth())
        answer = connection.getresponse()
        assert (answer.headers["Transfer-Encoding"], answer.read()) == ("chunked", b"one two")
    connection.close()


def being_answered(start: Start) -> tuple[Running, http.client.HTTPConnection, threading.Event]:
    """A server, a connection whose request it has begun to answer, and the event that lets it go on."""
    entered, go_on = threading.Event(), threading.Event()

    def slow(app: Flask) -> None:
        @app.get("/slow")
        def wait() -> str:
            entered.set()
            go_on.wait(60)
            return "done"

    running = start(slow)
    connection = running.connect()
    connection.request("GET", "/slow", headers=running.auth())
    assert entered.wait(60)
    return running, connection, go_on


def test_a_request_that_is_being_answered_is_finished_before_the_end(start: Start) -> None:
    running, connection, go_on = being_answered(start)
    running.server.stop()
    go_on.set()
    assert connection.getresponse().read() == b"done"
    running.thread.join(60)
    assert not running.thread.is_alive()
    connection.close()


# -- connections that say little --------------------------------------------------------------

BEGINNINGS = [
    b"",
    b"G",
    b"GET / HTTP/1.1\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
    b"POST /launch HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nx",
]


@for_each("beginning", BEGINNINGS)
def test_many_connections_that_say_little_keep_nobody_out(start: Start, beginning: bytes) -> None:
    """More of them than there are places: the one that was waited for longest makes room, every time."""
    running = start()
    with ExitStack() as slow:
        for _ in range(MAX_CONNECTIONS + 36):
            raw = slow.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=60))
            raw.sendall(beginning)
        connection = running.connect()
        connection.request("GET", "/api/v1/stats", headers=running.auth())
        assert connection.getresponse().status == 200
        connection.close()


def test_who_is_being_answered_is_not_ended_to_make_room(start: Start) -> None:
    running, asked, go_on = being_answered(start)
    with ExitStack() as others:
        for _ in range(2 * MAX_CONNECTIONS):
            others.enter_context(socket.create_connection(("127.0.0.1", running.port), timeout=60))
        go_on.set()
        assert asked.getresponse().read() == b"done"
    asked.close()


@for_each("beginning", [each for each in BEGINNINGS if each])
def test_a_request_that_drips_in_is_given_up(
    start: Start, monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    """However often a byte comes: with a limit for each of them it would never end."""
    monkeypatch.setattr(server_module, "REQUEST_S", 0.3)
    running = start()
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        raw.sendall(beginning)
        raw.settimeout(0.05)
        answer = b"?"
        while answer:
            try:
                raw.sendall(b"x")
                answer = raw.recv(65536)
            except TimeoutError:
                continue
            except ConnectionError:
                break


def _upload(running: Running, begun: bytes, length: int) -> tuple[int, str]:
    """The status and text of an answer to a body of this length that begins so."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
        head = f"POST /upload HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\nContent-Length: {length}\r\n"
        raw.sendall(f"{head}Authorization: Bearer {running.token}\r\n\r\n".encode())
        raw.sendall(begun)
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2].decode()


def test_a_body_may_come_slowly_but_not_drip_in(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has come counts however long the door took."""
    monkeypatch.setattr(server_module, "REQUEST_S", 0.3)

    def upload(app: Flask) -> None:
        app.before_request(lambda: time.sleep(0.5))
        app.add_url_rule("/upload", "upload", lambda: str(len(request.get_data())), methods=["POST"])

    running = start(upload)
    assert _upload(running, bytes(3_000), 3_000) == (200, "3000")
    status, page = _upload(running, b"x", 3_000)
    assert status == 408 and "arrived too slowly" in page


class _Paced:
    """A connection on which so many bytes come every tenth of a second, by a clock of its own."""

    def __init__(self, count: int) -> None:
        self.count, self.now_s = count, 0.0

    def settimeout(self, seconds: float) -> None:
        self.timeout_s = seconds

    def recv_into(self, _: object) -> int:
        if self.timeout_s < 0.1:
            raise TimeoutError
        self.now_s += 0.1
        return self.count

    def monotonic(self) -> float:
        return self.now_s


def test_what_comes_steadily_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 40 kB a second for an hour; at ten bytes a second no longer than was allowed."""
    for count, most in ((4_000, 36_000), (1, 3)):
        paced = _Paced(count)
        monkeypatch.setattr(server_module, "time", paced)
        waiting = server_module._Input(paced)  # type: ignore[arg-type]
        waiting.allow(0.35)
        for _ in range(most):
            assert waiting.readinto(b"") == count
    with pytest.raises(TimeoutError):
        waiting.readinto(b"")


# -- sockets --------------------------------------------------------------------------------


def _echo(app: Flask) -> None:
    sock = Sock(app)

    @sock.route("/ws/echo")
    def echo(socket: object) -> None:
        socket.send(socket.receive())  # type: ignore[attr-defined]


HELLO = b"\x81\x85\0\0\0\0hello"
"""A text message as a client sends it: masked, here with zeros (RFC 6455, 5.3)."""


def _handshake(port: int, *headers: str) -> bytes:
    """The whole answer to a handshake; a message is sent once it was accepted."""
    lines = (
        "GET /ws/echo HTTP/1.1",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        *headers,
    )
    with socket.create_connection(("127.0.0.1", port), timeout=60) as raw:
        raw.sendall("".join(f"{line}\r\n" for line in lines).encode() + b"\r\n")
        answer = raw.recv(65536)
        if answer.startswith(b"HTTP/1.1 101"):
            raw.sendall(HELLO)
        return answer + b"".join(iter(lambda: raw.recv(65536), b""))


def test_a_handshake_passes_the_same_guards_as_a_page(start: Start) -> None:
    running = start(_echo)
    port, own = running.port, running.app.extensions["recollect"]
    connection = running.connect()
    connection.request("GET", f"/launch?code={make_launch_code(own.token, own.clock())}")
    answer = connection.getresponse()
    answer.read()
    connection.close()
    cookie = f"Cookie: {answer.headers['Set-Cookie'].partition(';')[0]}"
    host, origin = f"Host: 127.0.0.1:{port}", f"Origin: http://127.0.0.1:{port}"
    welcome = _handshake(
        port, host, origin, cookie, "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: websocket"
    )
    assert welcome.startswith(b"HTTP/1.1 101") and b"hello" in welcome
    assert _handshake(port, host, origin).startswith(b"HTTP/1.1 401")
    evil = "Origin: https://evil.example"
    assert _handshake(port, host, evil, cookie).startswith(b"HTTP/1.1 403")
    assert _handshake(port, host, origin, cookie, "Sec-Fetch-Site: cross-site").startswith(b"HTTP/1.1 403")
    assert _handshake(port, "Host: evil.example", cookie).startswith(b"HTTP/1.1 403")


def test_a_view_can_only_be_public_by_saying_so(start: Start) -> None:

    def two(app: Flask) -> None:
        app.add_url_rule("/said", "said", public(lambda: "said"))
        app.add_url_rule("/silent", "silent", lambda: "silent")

    running = start(two)
    for path, status in (("/said", 200), ("/silent", 401)):
        connection = running.connect()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
        connection.close()
