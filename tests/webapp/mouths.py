"""The four mouths of the chat, each used as its clients use it, on the real server.

A mouth asks a question, decides about calls that wait, and returns once the turn is over::

    for mouth in mouths(running):
        chat_id, n = mouth.ask("What is 2+2?", allows=True)
"""

from __future__ import annotations

import html
import http.client
import json
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from flask import Flask
from simple_websocket import Client

from assistant.context.session_closing import ContextPace
from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from store.core.database import Database
from store.core.settings import Settings, WebSettings
from tests.fake_embedder import FakeEmbedder
from webapp import create_app
from webapp.core.services import Services
from webapp.security.access import listen, make_launch_code
from webapp.serving.server import Server

ZONE = "Asia/Shanghai"
_PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Running:
    """A web app on a real socket."""

    port: int
    own: Services

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> http.client.HTTPResponse:
        """The response, its body still to be read; closing it closes the connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_S)
        connection.request(method, path, body, {"Connection": "close", **headers})
        return connection.getresponse()

    def api(self, method: str, path: str, body: Any = None) -> Answered:
        with self.open_api(method, path, body) as answer:
            return Answered(answer.status, answer.headers, answer.read())

    def open_api(self, method: str, path: str, body: Any = None) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self.own.token}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return self.send(method, f"/api/v1{path}", json.dumps(body).encode() if body else None, **headers)

    def socket(self, chat_id: int, **headers: str) -> Client:
        headers = headers or {"Authorization": f"Bearer {self.own.token}"}
        return SocketClient(f"ws://127.0.0.1:{self.port}/ws/chat/{chat_id}", headers=headers)

    def decide(self, call: int, allows: bool) -> None:
        answer = self.api("POST", f"/tool-calls/{call}/{'approve' if allows else 'deny'}")
        assert answer.status == 200, answer.body


class SocketClient(Client):  # type: ignore[misc]  # simple_websocket is untyped
    """Names the port in its Host header, as browsers do."""

    def handshake(self) -> None:
        self.host = f"{self.host}:{self.port}"
        super().handshake()

    def _thread(self) -> None:
        # What came in one packet with the answer to the handshake was taken in, and waits to be looked at.
        self.connected = self._handle_events()
        super()._thread()


def with_pace(app: Flask, **pace: float) -> Flask:
    """The app with background at this pace, and time enough for a busy machine to make it."""
    own = app.extensions["recollect"]
    context = replace(own.context, pace=ContextPace(**{"build_budget_ms": 60_000.0, **pace}))
    app.extensions["recollect"] = replace(own, context=context)
    return app


@contextmanager
def serve(
    database: Database, settings: Settings, clock: Callable[[], int], **pace: float
) -> Iterator[Running]:
    """The web app of these settings, served on a free port until the block ends; `pace` as in `with_pace`."""
    listener = listen("127.0.0.1", 0)
    settings = replace(settings, web=replace(WebSettings(), port=listener.getsockname()[1]))
    models = ChatModels(settings.chat, {}, database.data_dir, waits_s=())
    embedder = QueryEmbedder(settings.embedding, database, FakeEmbedder)
    app: Flask = create_app(settings, database, chat_models=models, embedder=embedder, clock=clock)
    if pace:
        with_pace(app, **pace)
    with listener:
        server = Server(app, listener, thread_done=database.close_thread)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        yield Running(settings.web.port, app.extensions["recollect"])
    finally:
        server.stop()
        thread.join(60)
        models.close()


Asked = tuple[int, int]
"""(chat, turn)"""


class Mouth(Protocol):
    """`events` are those of the last turn, where the mouth tells them."""

    running: Running
    events: list[dict[str, Any]]

    def ask(
        self, message: str, *, chat_id: int | None = None, allows: bool = False, **more: Any
    ) -> Asked: ...


@dataclass
class Json:
    """``POST /chat``, then the turn's own address until it is over."""

    running: Running
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, message: str, *, chat_id: int | None = None, allows: bool = False, **more: Any) -> Asked:
        answer = self.running.api("POST", "/chat", _body(message, chat_id, **more))
        told = answer.json()  # of a turn that failed, too
        asked = told["chat_id"], told["turn_id"]
        decided: set[int] = set()
        while answer.status == 202:
            for call in answer.json()["approvals"]:
                if call["id"] not in decided:
                    self.running.decide(call["id"], allows)
                    decided.add(call["id"])
            time.sleep(0.02)
            answer = self.running.api("GET", "/chats/{}/turns/{}".format(*asked))
        return asked


@dataclass
class Sse:
    """``POST /ai/chat/stream``, read to its end."""

    running: Running
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, message: str, *, chat_id: int | None = None, allows: bool = False, **more: Any) -> Asked:
        self.events = []
        with _streaming(self.running, message, chat_id, **more) as lines:
            for event in lines:
                self.events.append(event)
                for call in event["approvals"] if event["type"] == "approve" else ():
                    self.running.decide(call["id"], allows)
        return event["chat_id"], event["turn"]


@dataclass
class Socket:
    """Asked and followed by socket; a new chat is begun by a stream that is left at once."""

    running: Running
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, message: str, *, chat_id: int | None = None, allows: bool = False, **more: Any) -> Asked:
        self.events = []
        if chat_id is None:
            with _streaming(self.running, message, None, **more) as lines:
                first = next(lines)
            chat_id = first["chat_id"]
            client = self.running.socket(chat_id)
            client.send(json.dumps({"type": "resume", "turn": first["turn"], "after": 0}))
        else:
            client = self.running.socket(chat_id)
            client.send(json.dumps({"type": "ask", **_body(message, None, **more)}))
        while not self.events or self.events[-1]["type"] != "final":
            told = client.receive(timeout=_PATIENCE_S)
            assert told is not None, "nothing came"
            self.events.append(json.loads(told))
            for call in self.events[-1].get("approvals", ()):
                client.send(json.dumps({"type": "approve" if allows else "deny", "id": call["id"]}))
        client.close()
        return self.events[-1]["chat_id"], self.events[-1]["turn"]


@dataclass
class Form:
    """The page's forms in a browser with scripts off, which loads the page until nothing is busy."""

    running: Running
    events: list[dict[str, Any]] = field(default_factory=list)
    page: str = ""
    _cookies: str = ""

    def ask(self, message: str, *, chat_id: int | None = None, allows: bool = False, **more: Any) -> Asked:
        if not self._cookies:
            self._come_in()
        path = "/chat" if chat_id is None else f"/chat/{chat_id}"
        self.page = self._get(path)
        fields = {name: str(value) for name, value in more.items()}
        return self._followed(self._post(path, message=message, model="stub", **fields), allows)

    def open(self, chat_id: int) -> None:
        """Look at a chat that was asked otherwise."""
        if not self._cookies:
            self._come_in()
        self.page = self._get(f"/chat/{chat_id}")

    def press(self, button: str) -> Asked:
        """Send the form of a button as the last page has it; the turn that this begins."""
        found = re.search(
            rf'<form action="([^"]+)"((?:(?!</form>).)*)>[^<]*{button}</button>', self.page, re.S
        )
        assert found
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', found[2])
        fields = {name: html.unescape(value) for name, value in hidden}
        return self._followed(self._post(found[1], **fields), allows=False)

    def _followed(self, address: str, allows: bool) -> Asked:
        found = re.fullmatch(r"/chat/(\d+)#t(\d+)", address)
        assert found
        asked = int(found[1]), int(found[2])
        until_s = time.monotonic() + _PATIENCE_S
        while self._is_busy(asked[0]):
            assert time.monotonic() < until_s, "the turn did not end"
            for action in re.findall(r'<form action="(/chat/\d+/turns/\d+/calls/\d+)"', self.page):
                self._post(action, decision="once" if allows else "deny")
            time.sleep(0.02)
        return asked

    def _is_busy(self, chat_id: int) -> bool:
        self.page = self._get(f"/chat/{chat_id}")
        return bool(re.search(r'data-turn="\d+" aria-busy="true"', self.page))

    def _come_in(self) -> None:
        own = self.running.own
        code = make_launch_code(own.token, own.clock())
        with self.running.send("GET", f"/launch?code={code}", **{"Sec-Fetch-Site": "none"}) as answer:
            cookie = answer.headers["Set-Cookie"].split(";")[0]
        self._cookies = f"{cookie}; tz={ZONE}"

    def _get(self, path: str) -> str:
        with self.running.send("GET", path, **self._headers()) as answer:
            assert answer.status == 200, answer.read()
            return answer.read().decode()

    def _post(self, path: str, **fields: str) -> str:
        """Where the form leads to."""
        token = re.search(r'name="csrf_token" value="([0-9a-f]+)"', self.page)
        assert token
        body = urllib.parse.urlencode({"csrf_token": token[1], **fields}).encode()
        headers = self._headers() | {"Content-Type": "application/x-www-form-urlencoded"}
        with self.running.send("POST", path, body, **headers) as answer:
            assert answer.status == 303, answer.read()
            return str(answer.headers["Location"])

    def _headers(self) -> dict[str, str]:
        return {"Cookie": self._cookies, "Sec-Fetch-Site": "same-origin"}


def mouths(running: Running) -> list[Mouth]:
    return [Json(running), Sse(running), Socket(running), Form(running)]


def _body(message: str, chat_id: int | None, **more: Any) -> dict[str, Any]:
    body: dict[str, Any] = {"message": message, "timezone": ZONE, "model": "stub", **more}
    return body if chat_id is None else {**body, "chat_id": chat_id}


@contextmanager
def _streaming(
    running: Running, message: str, chat_id: int | None, **more: Any
) -> Iterator[Iterator[dict[str, Any]]]:
    """The events of a question as they come."""
    with running.open_api("POST", "/ai/chat/stream", _body(message, chat_id, **more)) as answer:
        assert answer.status == 200, answer.read()
        yield (json.loads(line[6:]) for line in answer if line.startswith(b"data: "))
