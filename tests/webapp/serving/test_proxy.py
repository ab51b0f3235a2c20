"""Behind a reverse proxy with TLS: pages, changes and sockets work at the address that is configured."""

from __future__ import annotations

import http.client
import re
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from email.message import Message
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from simple_websocket import Client

from assistant.core.models import ChatModels
from store.core.database import Database
from store.core.errors import SettingsError
from store.core.settings import Settings, WebSettings
from tests.end_to_end.relay import Relay
from tests.tables import for_each
from tests.webapp.mouths import SocketClient
from webapp import create_app
from webapp.security.access import check_address, launch_link, listen, public_host
from webapp.serving.server import Server


@dataclass(frozen=True, slots=True)
class Proxied:
    url: str
    port: int  # of the proxy
    inner_port: int
    trust: ssl.SSLContext
    database: Database

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, Message, str]:
        """Status, headers and text of the answer; `_` in a name of a header is a hyphen."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPSConnection("localhost", self.port, context=self.trust, timeout=60)
        with closing(connection):
            connection.request(method, path, body or None, named)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def sign_in(self) -> str:
        """The cookie that a launch link of the proxy's address gives."""
        link = launch_link(self.database.data_dir, self.url)
        status, headers, _ = self.ask("GET", link.removeprefix(self.url), Sec_Fetch_Site="none")
        assert status == 303
        return headers["Set-Cookie"]


@pytest.fixture
def proxied(database: Database, tmp_path: Path) -> Iterator[Proxied]:
    files = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(files[0]), "-out", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(files[1], files[0])
    with listen("127.0.0.1", 0) as listener, Relay(own) as relay:
        relay.target = listener.getsockname()[1]
        url = f"https://localhost:{relay.port}"
        settings = Settings(web=replace(WebSettings(), port=relay.target, public_url=url))
        app = create_app(settings, database, chat_models=ChatModels(settings.chat, {}))
        server = Server(app, listener, thread_done=database.close_thread)
        thread = threading.Thread(target=server.run)
        thread.start()
        trust = ssl.create_default_context(cafile=files[1])
        yield Proxied(url, relay.port, relay.target, trust, database)
        server.stop()
        thread.join(60)


def test_a_browser_signs_in_reads_and_changes_through_the_proxy(proxied: Proxied) -> None:
    cookie = proxied.sign_in()
    kept = SimpleCookie(cookie)
    name, morsel = next(iter(kept.items()))
    assert name == f"__Host-recollect_{proxied.port}"
    assert morsel["secure"] and morsel["httponly"] and morsel["path"] == "/" and not morsel["domain"]
    mine = {"Cookie": f"{name}={morsel.value}", "Sec_Fetch_Site": "same-origin"}
    status, _, page = proxied.ask("GET", "/settings/display", **mine)
    csrf = re.search(r'name="csrf_token" value="(\w+)"', page)
    assert status == 200 and csrf is not None
    form = {**mine, "Content_Type": "application/x-www-form-urlencoded"}
    change = f"zone=Europe/Berlin&csrf_token={csrf[1]}"
    assert proxied.ask("POST", "/settings/display", change, Origin=proxied.url, **form)[0] == 303
    for origin in (f"http://localhost:{proxied.port}", f"http://127.0.0.1:{proxied.inner_port}"):
        assert proxied.ask("POST", "/settings/display", change, Origin=origin, **form)[0] == 403

    headers = {"Cookie": mine["Cookie"], "Origin": proxied.url}
    ws: Client = SocketClient(
        proxied.url.replace("https", "wss") + "/ws/chat/1", headers=headers, ssl_context=proxied.trust
    )
    ws.send("nonsense")
    assert "invalid_message" in ws.receive(timeout=60)
    ws.close()


def test_a_cookie_of_the_proxy_opens_nothing_beside_it(proxied: Proxied) -> None:
    name, _, secret = proxied.sign_in().partition(";")[0].partition("=")
    for shown in (f"{name}={secret}", f"recollect_{proxied.inner_port}={secret}"):
        connection = http.client.HTTPConnection("127.0.0.1", proxied.inner_port, timeout=60)
        with closing(connection):
            connection.request("GET", "/timeline", headers={"Cookie": shown})
            assert connection.getresponse().status == 401


@for_each("host", ["localhost", "recollect.example", "localhost:443", "evil.example"])
def test_a_host_that_is_not_configured_is_refused(proxied: Proxied, host: str) -> None:
    told = {"X_Forwarded_Host": proxied.url[8:], "X_Forwarded_Proto": "https"}
    assert proxied.ask("GET", "/timeline", Host=host, **told)[0] == 403
    assert proxied.ask("GET", "/timeline", Host=proxied.url[8:])[0] == 401


@for_each(
    "url",
    [
        *("http://box.lan", "box.lan", "https://", "https://a/b", "https://u@a", "https://a b"),
        *("https://a:0", "https://a:99999", "https://[::::]"),
    ],
)
def test_only_an_address_with_tls_can_be_configured(url: str) -> None:
    with pytest.raises(SettingsError, match=r"https://recollect\.example"):
        check_address(WebSettings(public_url=url, allow_lan=True))


def test_an_address_beyond_this_machine_is_permitted_by_name() -> None:
    with pytest.raises(SettingsError, match="allow_lan"):
        check_address(WebSettings(public_url="https://box.lan"))
    check_address(WebSettings(public_url="https://Box.lan:443/", allow_lan=True))
    check_address(WebSettings(public_url="https://[::1]:8443"))
    with pytest.raises(SettingsError, match="another port"):
        check_address(WebSettings(public_url="https://localhost:8420"))
    assert public_host(WebSettings(public_url="https://Box.lan:443/")) == "box.lan"
