"""The chat's socket on the real server: dropped and taken up again, full, and closed to strangers."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask
from simple_websocket import Client, ConnectionClosed

from assistant.core.models import ChatModels
from store.core.database import Database
from store.core.settings import ChatModelSettings, ChatSettings, Settings, ToolsSettings, WebSettings
from store.core.times import now_ms
from store.egress import access_keys
from tests.stub_model import StubModel
from tests.webapp.mouths import SocketClient
from webapp import create_app
from webapp.api import event_stream
from webapp.security import login
from webapp.security.access import listen
from webapp.security.keys import Keyring
from webapp.serving import sockets
from webapp.serving.server import Server

SAID = " ".join(f"word{n}" for n in range(150)) + " 完。"


@dataclass(frozen=True, slots=True)
class Running:
    port: int
    token: str

    def ask(self, **changes: Any) -> tuple[int, int]:
        """(chat, turn) of a question that is being answered by a turn of its own."""
        body = json.dumps({"message": "Hello?", "timezone": "UTC", "mode": "agent", **changes}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/api/v1/ai/chat/stream",
            body,
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # left after the first event
            for line in answer:
                if line.startswith(b"data: "):
                    event = json.loads(line[6:])
                    return event["chat_id"], event["turn"]
        raise AssertionError("no event came")

    def socket(self, chat_id: int, **headers: str) -> Client:
        headers = headers or {"Authorization": f"Bearer {self.token}"}
        return SocketClient(f"ws://127.0.0.1:{self.port}/ws/chat/{chat_id}", headers=headers)


@pytest.fixture
def running(database: Database, stub: StubModel, tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "plan.txt").write_text("the plan for monday", encoding="utf-8")
    listener = listen("127.0.0.1", 0)
    entry = ChatModelSettings("stub", stub.base_url, "stub", supports_tools=True, context_tokens=32_000)
    settings = Settings(
        web=replace(WebSettings(), port=listener.getsockname()[1]),
        chat=ChatSettings(models=(entry,), timeout_s=120),
        tools=ToolsSettings(read_file_roots=(str(tmp_path),)),
    )
    models = ChatModels(settings.chat, {})
    app: Flask = create_app(settings, database, chat_models=models)
    with listener:
        server = Server(app, listener, thread_done=database.close_thread)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield Running(settings.web.port, app.extensions["recollect"].token)
    server.stop()
    thread.join(60)
    models.close()


def heard(client: Client, until: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
    """Messages up to the first that is waited for."""
    found = []
    while True:
        message = client.receive(timeout=60)
        assert message is not None, "nothing came"
        found.append(json.loads(message))
        if until(found[-1]):
            return found


def is_final(message: dict[str, Any]) -> bool:
    return bool(message["type"] == "final")


def drop(client: Client) -> None:
    """Cut the connection as a network does: without a word."""
    client.sock.shutdown(socket.SHUT_RDWR)
    client.thread.join(60)
    client.sock.close()


def test_fifty_drops_lose_and_double_nothing(running: Running, stub: StubModel) -> None:
    stub.reply(SAID, pace_s=0.002)
    chat_id, turn = running.ask()
    events: list[dict[str, Any]] = []
    for _ in range(50):
        client = running.socket(chat_id)
        client.send(json.dumps({"type": "resume", "turn": turn, "after": len(events)}))
        events += heard(client, lambda message: True)
        drop(client)
    client = running.socket(chat_id)
    client.send(json.dumps({"type": "resume", "turn": turn, "after": len(events)}))
    events += heard(client, is_final)
    client.close()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert "".join(event["text"] for event in events if event["type"] == "text") == SAID
    assert SAID in events[-1]["answer"]["answer_md"]


def test_a_person_decides_and_stops_over_the_socket(
    running: Running, stub: StubModel, tmp_path: Path
) -> None:
    stub.call(("read_file", {"path": str(tmp_path / "plan.txt")})).reply("It is for monday.")
    chat_id, turn = running.ask()
    client = running.socket(chat_id)
    client.send(json.dumps({"type": "resume", "turn": turn}))
    asked = heard(client, lambda message: message["type"] == "approve")[-1]
    client.send(json.dumps({"type": "approve", "id": asked["approvals"][0]["id"]}))
    events = heard(client, is_final)
    assert [event["call"]["state"] for event in events if event["type"] == "tool"] == [
        "executing",
        "completed",
    ]
    client.send(json.dumps({"type": "deny", "id": asked["approvals"][0]["id"]}))
    assert heard(client, lambda message: True)[0]["code"] == "tool_call_decided"
    stub.reply("Never told to its end. " * 200, pace_s=0.05)
    stub._script.pop(0)
    _, second = running.ask(chat_id=chat_id)
    client.send(json.dumps({"type": "resume", "turn": second}))
    heard(client, lambda message: message["type"] == "text")
    client.send(json.dumps({"type": "stop", "turn": second}))
    final = heard(client, is_final)[-1]
    assert any("stopped" in warning for warning in final["answer"]["warnings"])
    client.close()


def test_what_is_over_is_told_from_the_store(running: Running, stub: StubModel, database: Database) -> None:
    stub.reply("Four.")
    chat_id, turn = running.ask()
    client = running.socket(chat_id)
    client.send(json.dumps({"type": "resume", "turn": turn}))
    first = heard(client, is_final)[-1]
    client.send(json.dumps({"type": "resume", "turn": turn}))
    assert heard(client, is_final)[-1] == first
    client.close()


def test_a_socket_asks_follows_stops_and_goes_on(running: Running, stub: StubModel) -> None:
    """It begins a turn as POST /chat does; another socket takes it up by turn and number."""
    stub.reply("Four.")
    chat_id, _ = running.ask()
    stub.anew().reply(SAID, pace_s=0.005)
    client = running.socket(chat_id)
    client.send(json.dumps({"type": "ask", "message": "And then?", "timezone": "UTC", "mode": "agent"}))
    begun = heard(client, lambda message: message["type"] == "text")
    assert [event["seq"] for event in begun] == list(range(1, len(begun) + 1))
    assert {event["turn"] for event in begun} == {2}
    drop(client)
    client = running.socket(chat_id)
    client.send(json.dumps({"type": "resume", "turn": 2, "after": len(begun)}))
    events = begun + heard(client, is_final)
    assert "".join(event["text"] for event in events if event["type"] == "text") == SAID
    stub.anew().reply("Never told to its end. " * 200, pace_s=0.05)
    client.send(json.dumps({"type": "ask", "message": "Go on", "timezone": "UTC", "mode": "agent"}))
    heard(client, lambda message: message["type"] == "text")
    client.send(json.dumps({"type": "stop", "turn": 3}))
    final = heard(client, is_final)[-1]
    assert (final["turn"], "stopped" in str(final["answer"]["warnings"])) == (3, True)
    client.close()


@pytest.mark.parametrize(
    "changes",
    [
        {"message": ""},
        {"message": "x" * 8_001},
        {"timezone": "Nowhere/Else"},
        {"start_time": 2.0, "end_time": 1.0},
        {"model": "no-such-model"},
        {"mode": "evidence"},
        {"tools": []},
        {"system_prompt": "x" * 20_001},
    ],
)
def test_a_question_by_socket_is_refused_as_by_http(
    running: Running, stub: StubModel, changes: dict[str, Any]
) -> None:
    stub.reply("Four.")
    chat_id, _ = running.ask()
    asked = {"message": "Why?", "timezone": "UTC", "mode": "agent", **changes}
    with pytest.raises(urllib.error.HTTPError) as refused:
        running.ask(chat_id=chat_id, **asked)
    with refused.value as answer:
        problem = json.loads(answer.read())
    client = running.socket(chat_id)
    client.send(json.dumps({"type": "ask", **asked}))
    [told] = heard(client, lambda each: True)
    assert (told["type"], told["code"], told["message"]) == ("refused", problem["code"], problem["detail"])
    assert told["errors"] == problem["errors"]
    client.close()


def test_a_socket_asks_in_its_own_chat_only(running: Running, stub: StubModel) -> None:
    stub.reply("Four.")
    chat_id, _ = running.ask()
    asked = {"type": "ask", "message": "Why?", "timezone": "UTC", "mode": "agent"}
    for number, chat, code in ((chat_id, 77, "invalid_request"), (99, None, "chat_not_found")):
        client = running.socket(number)
        client.send(json.dumps({**asked, "chat_id": chat}))
        assert heard(client, lambda each: True)[0]["code"] == code
        client.close()


@pytest.mark.parametrize(
    "message",
    ["no json", "[]", '{"type": "run"}', '{"type": "resume", "turn": 999}', '{"type": "approve", "id": 999}',
     '{"type": "resume", "turn": "1"}', '{"type": "approve", "id": 1, "arguments": {}}'],
)  # fmt: skip
def test_other_messages_are_refused(running: Running, stub: StubModel, message: str) -> None:
    stub.reply("Four.")
    chat_id, _ = running.ask()
    client = running.socket(chat_id)
    client.send(message)
    assert heard(client, lambda each: True)[0]["type"] == "refused"
    client.close()


def test_the_seventeenth_is_sent_away(running: Running) -> None:
    opened = [running.socket(1) for _ in range(event_stream.MAX_FOLLOWERS)]
    for client in opened:  # answered, so it has its place
        client.send("?")
        assert heard(client, lambda message: True)[0]["type"] == "refused"
    late = running.socket(1)
    with pytest.raises(ConnectionClosed) as told:
        late.receive(timeout=60)
    assert told.value.reason == sockets.TRY_AGAIN_LATER
    for client in opened:
        client.close()


def test_strangers_and_other_sites_stay_out(running: Running) -> None:
    bearer = f"Authorization: Bearer {running.token}"
    for status, headers in (
        (b"401", ()),
        (b"401", ("Authorization: Bearer wrong",)),
        (b"403", (bearer, "Origin: https://evil.example")),
        (b"403", (bearer, "Sec-Fetch-Site: cross-site")),
        (b"101", (bearer, f"Origin: http://127.0.0.1:{running.port}")),
    ):
        lines = [
            "GET /ws/chat/1 HTTP/1.1",
            f"Host: 127.0.0.1:{running.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            *headers,
        ]
        with socket.create_connection(("127.0.0.1", running.port), timeout=60) as raw:
            raw.sendall("\r\n".join([*lines, "", ""]).encode())
            assert raw.recv(64).split()[1] == status


def test_a_browser_that_went_before_its_socket_was_taken_over_is_no_error() -> None:
    with socket.socket() as gone, Flask(__name__).test_request_context():
        gone.close()
        connection: Any = SimpleNamespace(sock=gone)
        sockets._take_over(connection)


def test_who_is_signed_out_keeps_no_socket(
    running: Running, stub: StubModel, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither to ask in, nor to follow a turn."""
    keyring = Keyring(database, running.token, now_ms)
    monkeypatch.setattr(login, "LOOK_AGAIN_S", 0.2)
    stub.reply("Never told to its end. " * 200, pace_s=0.05)
    chat_id, turn = running.ask()
    clients = []
    for _ in range(2):
        with database.write() as connection:
            secret = keyring.make(connection, "pages", "a browser", running.port)
        clients.append(running.socket(chat_id, Cookie=f"recollect_{running.port}={secret}"))
        clients[-1].send(json.dumps({"type": "resume", "turn": turn}))
        heard(clients[-1], lambda message: message["type"] == "text")
    with database.write() as connection:
        access_keys.sign_out_browsers(connection, 0)
    clients[0].send(json.dumps({"type": "stop", "turn": turn}))
    for client in clients:
        with pytest.raises(ConnectionClosed) as told:
            heard(client, is_final)
        assert told.value.reason == sockets.POLICY_VIOLATION
    own = running.socket(chat_id)
    own.send(json.dumps({"type": "stop", "turn": turn}))
    own.close()
