"""A question ends when who asked it leaves, on a real socket."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import closing

import pytest
from flask import Flask

from store.core.database import Database, scalar
from store.core.errors import Abandoned, DeadlineExceeded
from tests.webapp.serving.test_server import Start, start  # noqa: F401  # a fixture
from webapp.core.services import is_disconnected, services

_ENDLESS = "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n"


class Asked:
    """How the endless question ended. Its deadline comes late where it should be left before that."""

    def __init__(self, deadline_s: float) -> None:
        self.deadline_s = deadline_s
        self.has_begun, self.has_ended = threading.Event(), threading.Event()
        self.error: Exception | None = None

    def install(self, app: Flask) -> None:
        app.add_url_rule("/api/v1/endless", view_func=self._endless, methods=["GET", "POST"])

    def _endless(self) -> str:
        database = services().database
        try:
            with database.read(self.deadline_s) as connection:
                self.has_begun.set()
                connection.execute(_ENDLESS).fetchall()
        except DeadlineExceeded as error:
            self.error = error
        with database.read(deadline_s=60) as connection:
            answer = connection.execute("select 1").fetchone()
        self.has_ended.set()
        return json.dumps(answer)


def request_line(method: str, token: str, port: int) -> bytes:
    head = f"{method} /api/v1/endless HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    return (head + "Content-Length: 0\r\n\r\n").encode()


@pytest.mark.parametrize(
    ("method", "deadline_s", "expected"), [("GET", 60, Abandoned), ("POST", 1, DeadlineExceeded)]
)
def test_a_client_that_leaves_ends_its_question_and_no_other(
    start: Start,  # noqa: F811
    method: str,
    deadline_s: float,
    expected: type[Exception],
) -> None:
    """A change is carried on with until its own deadline."""
    asked = Asked(deadline_s)
    running = start(asked.install)
    with socket.create_connection(("127.0.0.1", running.port)) as client:
        client.sendall(request_line(method, running.token, running.port))
        assert asked.has_begun.wait(60)
    assert asked.has_ended.wait(60), "nothing stopped the question, or the next one was stopped as well"
    assert type(asked.error) is expected
    with closing(running.connect()) as connection:
        connection.request("GET", "/api/v1/search?start_time=0&q=word", headers=running.auth())
        assert connection.getresponse().status == 200


def test_a_client_that_waits_is_answered_at_the_deadline(start: Start) -> None:  # noqa: F811
    asked = Asked(deadline_s=1)
    running = start(asked.install)
    with closing(running.connect()) as connection:
        connection.request("GET", "/api/v1/endless", headers=running.auth())
        assert json.loads(connection.getresponse().read()) == [1]
    assert type(asked.error) is DeadlineExceeded


def test_one_that_says_more_has_not_left() -> None:
    here, there = socket.socketpair()
    with here:
        with there:
            assert not is_disconnected(here)
            there.sendall(b"GET")
            assert not is_disconnected(here)
            assert here.recv(3) == b"GET"
        assert is_disconnected(here)
    assert is_disconnected(here)


def test_a_read_without_a_deadline_is_finished(database: Database) -> None:
    with database.while_wanted(lambda: True), database.read() as connection:
        time.sleep(0.03)
        assert scalar(connection, _ENDLESS.replace("from n)", "from n limit 90000)")) == 90_000


def test_leaving_is_over_with_its_block(database: Database) -> None:
    with database.while_wanted(lambda: True), pytest.raises(Abandoned):
        _count_for_ever(database, deadline_s=60)
    with pytest.raises(DeadlineExceeded) as caught:
        _count_for_ever(database, deadline_s=0.05)
    assert type(caught.value) is DeadlineExceeded


def _count_for_ever(database: Database, deadline_s: float) -> None:
    with database.read(deadline_s) as connection:
        connection.execute(_ENDLESS).fetchall()
