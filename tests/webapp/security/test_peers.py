"""A cookie is good for programs of the user whose browser was signed in."""

from __future__ import annotations

import os
import socket
import sys

import pytest
from flask import Flask

from tests.tables import for_each
from tests.webapp.conftest import PORT, browser_of
from webapp.security import peers
from webapp.security.access import listen


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
@for_each("host", ["127.0.0.1", "::1"])
def test_the_kernel_tells_whose_a_connection_is(host: str) -> None:
    try:
        listener = listen(host, 0)
    except OSError as error:
        pytest.skip(f"no {host} here: {error}")
    with listener, socket.create_connection((host, listener.getsockname()[1])) as visitor:
        connection, _ = listener.accept()
        with connection:
            assert peers.user_of(connection) == str(os.getuid())
            visitor.close()
    assert peers.user_of(connection) == peers.user_of(None) == ""


@for_each(
    ("signed_in", "asks", "status"),
    [("1000", "1000", 200), ("1000", "1001", 401), ("1000", "", 401), ("", "", 200), ("", "1000", 200)],
)
def test_a_cookie_is_refused_to_another_user(
    app: Flask, monkeypatch: pytest.MonkeyPatch, signed_in: str, asks: str, status: int
) -> None:
    monkeypatch.setattr(peers, "user_of", lambda connection: signed_in)
    browser = browser_of(app)
    monkeypatch.setattr(peers, "user_of", lambda connection: asks)
    assert browser.get("/timeline").status_code == status


@for_each("asks", ["1001", ""])
@for_each("shown", ["{secret}1000", "1000{secret}", "1000\0{secret}"])
def test_a_cookie_with_its_user_beside_it_is_refused_to_another(
    app: Flask, monkeypatch: pytest.MonkeyPatch, shown: str, asks: str
) -> None:
    monkeypatch.setattr(peers, "user_of", lambda connection: "1000")
    browser = browser_of(app)
    cookie = browser.client.get_cookie(f"recollect_{PORT}", domain="127.0.0.1")
    assert cookie
    monkeypatch.setattr(peers, "user_of", lambda connection: asks)
    browser.client.set_cookie(cookie.key, shown.format(secret=cookie.value), domain="127.0.0.1")
    assert browser.get("/timeline").status_code == 401
