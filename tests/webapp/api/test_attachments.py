"""Files over HTTP: uploaded, bounded, refused with a reason, brought by a question through every mouth."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from assistant.core.records import ATTACHMENT_SOURCE
from store.chats import attachments, conversations
from store.core.database import Database
from tests import documents
from tests.assistant.helpers import reply
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import API, Actor, Clock, agent_settings, csrf_of
from tests.webapp.mouths import Form, Json, Mouth, Running, Socket, Sse, serve
from webapp.core import uploads
from webapp.core.errors import Problem

ASK = {"message": "What does it say?", "timezone": "UTC", "mode": "agent", "model": "stub"}


@pytest.fixture
def app(agent_app: Flask) -> Flask:
    return agent_app


def upload(actor: Actor, content: bytes, name: str = "plan.txt", **form: str) -> TestResponse:
    parts = [(f'name="{key}"', value.encode()) for key, value in form.items()]
    parts.append((f'name="file"; filename="{name}"', content))
    body = b"".join(
        b"--b\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (head.encode(), value)
        for head, value in parts
    )
    kind = "multipart/form-data; boundary=b"
    return actor.post(f"{API}/attachments", data=body + b"--b--\r\n", content_type=kind)


def test_a_file_is_uploaded_told_of_served_and_taken_back(program: Actor, database: Database) -> None:
    made = upload(program, documents.pdf("First", "Second"), "../docs/the\u202e plan.pdf")
    assert made.status_code == 201
    told = made.get_json()
    assert (told["name"], told["kind"], told["pages"], told["characters"]) == ("the plan.pdf", "pdf", 2, 13)
    assert (told["chat_id"], told["turn_id"], told["is_whole"]) == (None, None, True)
    address = f"{API}/attachments/{told['id']}"
    assert program.get(address).get_json() == told
    served = program.get(f"{address}/file")
    assert served.data == documents.pdf("First", "Second")
    assert served.content_type == "application/octet-stream"
    assert served.headers["Content-Disposition"] == 'attachment; filename="the plan.pdf"'
    assert served.headers["X-Content-Type-Options"] == "nosniff"
    assert program.ask("DELETE", address).get_json() == {"id": told["id"], "deleted": True}
    assert program.get(address).get_json()["code"] == "attachment_not_found"
    assert attachments.files(database.data_dir) == []


def test_a_page_never_comes_under_its_own_type(program: Actor) -> None:
    page = upload(program, b"<html><script>alert(1)</script><p>words", "a.html").get_json()
    served = program.get(f"{API}/attachments/{page['id']}/file")
    assert served.content_type == "application/octet-stream"
    image = upload(program, documents.image(), "a.png").get_json()
    served = program.get(f"{API}/attachments/{image['id']}/file")
    assert (served.content_type, image["width"], image["height"]) == ("image/png", 40, 30)


@for_each(
    ("content", "status", "code", "words"),
    [
        (b"", 422, "attachment_refused", "it is empty"),
        (b"\x7fELF\0\0\0", 415, "unsupported_media_type", "only text, HTML, PDF"),
        (b"%PDF-1.4 nothing", 422, "attachment_refused", "cannot be attached"),
        (documents.docx(body=" " * 60_000_000), 422, "attachment_refused", "unpacks to more than 50 MB"),
        (b"x" * 25_000_001, 413, "too_large", "25 MB"),
    ],
)
def test_a_refused_file_leaves_nothing(
    program: Actor, database: Database, content: bytes, status: int, code: str, words: str
) -> None:
    answer = upload(program, content, "bad file")
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert words in answer.get_json()["detail"]
    assert attachments.usage(database) == (0, 0)
    assert [p for p in database.data_dir.attachments.rglob("*") if p.is_file()] == []


def test_a_body_of_a_hundred_megabytes_is_refused_before_it_is_read(program: Actor) -> None:
    answer = upload(program, b"x" * 100_000_000)
    assert (answer.status_code, answer.get_json()["code"]) == (413, "too_large")


def test_what_is_no_upload_is_refused(program: Actor) -> None:
    def code(**options: object) -> tuple[int, str]:
        answer = program.post(f"{API}/attachments", **options)
        return answer.status_code, answer.get_json()["code"]

    assert code(json={}) == (415, "unsupported_media_type")
    assert code(data={"other": "1"}, content_type="multipart/form-data") == (422, "unknown_field")
    nameless = b"--x\r\nContent-Disposition: form-data\r\n\r\nv\r\n--x--\r\n"
    answer = program.post(f"{API}/attachments", data=nameless, content_type="multipart/form-data; boundary=x")
    assert answer.get_json()["errors"] == [{"field": "", "message": "is not a part of this form"}]
    assert code(data={}, content_type="multipart/form-data") == (422, "file_required")


def test_a_file_that_takes_too_long_is_ended() -> None:
    with pytest.raises(Problem) as refused:
        uploads.contents(b"words", "a.txt", timeout_s=0.001)
    assert (refused.value.status, refused.value.code) == (422, "attachment_refused")
    assert uploads.contents(b"words", "a.txt").text == "words"


def test_only_who_is_signed_in_uploads_and_a_browser_shows_its_token(
    app: Flask, stranger: Actor, browser: Actor
) -> None:
    assert upload(stranger, b"words").status_code == 401
    assert upload(browser, b"words").get_json()["code"] == "csrf_token_required"
    assert upload(browser, b"words", csrf_token=csrf_of(app, browser)).status_code == 201


def test_a_question_brings_it_through_json_and_the_stream(program: Actor, stub: StubModel) -> None:
    stub.reply(reply("It says four words."))
    found = upload(program, b"these are four words").get_json()
    answered = program.post(f"{API}/chat", json={**ASK, "attachments": [found["id"]]}).get_json()
    assert "| these are four words" in stub.prompt()
    assert [each["name"] for each in answered["attachments"]] == ["plan.txt"]
    assert answered["sources"] == ["attachments"]
    stored = program.get(f"{API}/chats/{answered['chat_id']}/turns/1").get_json()
    assert stored["attachments"] == answered["attachments"]
    body = {**ASK, "chat_id": answered["chat_id"], "attachments": [found["id"]]}
    streamed = program.post(f"{API}/ai/chat/stream", json=body).get_data(as_text=True)
    last = json.loads(streamed.strip().rpartition("data: ")[2])
    assert [each["sha256"] for each in last["answer"]["attachments"]] == [found["sha256"]]
    gone = program.ask("DELETE", f"{API}/attachments/{found['id']}")
    assert (gone.status_code, gone.get_json()["code"]) == (409, "attachment_sent")


def test_a_question_is_refused_for_its_files_before_anything_is_stored(
    program: Actor, stub: StubModel
) -> None:
    image = upload(program, documents.image(), "a.png").get_json()
    for ids, code in (([image["id"]], "attachment_refused"), ([10**9], "attachment_not_found")):
        answer = program.post(f"{API}/chat", json={**ASK, "attachments": ids})
        assert (answer.status_code, answer.get_json()["code"]) == (422, code)
        assert answer.get_json()["errors"][0]["field"] == "attachments"
    assert program.post(f"{API}/chat", json={**ASK, "attachments": list(range(1, 12))}).status_code == 422
    assert program.get(f"{API}/chats").get_json()["data"] == []
    assert stub.requests == []


def test_an_export_names_the_files_and_brings_them_when_wanted(program: Actor, stub: StubModel) -> None:
    stub.reply(reply("It says words."))
    found = upload(program, b"the very words", "../odd: name?.txt").get_json()
    asked = program.post(f"{API}/chat", json={**ASK, "attachments": [found["id"]]}).get_json()
    address = f"{API}/chats/{asked['chat_id']}/turns/1/export"
    for wanted, name in (("0", None), ("1", "attachments/01-odd_ name_.txt")):
        with zipfile.ZipFile(io.BytesIO(program.get(f"{address}?files={wanted}").data)) as bundle:
            names = [each for each in bundle.namelist() if each.startswith("attachments/")]
            assert names == ([name] if name else [])
            told = json.loads(bundle.read("evidence.json"))["attachments"]
            assert told == [{"name": "odd: name?.txt", "size_bytes": 14, "sha256": found["sha256"]}]
            assert found["sha256"] in bundle.read("answer.md").decode()
            if name:
                assert bundle.read(name) == b"the very words"
                assert found["sha256"] in bundle.read("SHA256SUMS").decode()
    assert program.get(f"{API}/stats").get_json()["attachments_bytes"] == 14


# -- the page, without scripts ----------------------------------------------------------------------


def test_the_form_carries_files_by_itself(app: Flask, browser: Actor, stub: StubModel) -> None:
    stub.reply(reply("It says words."))
    form = {"csrf_token": csrf_of(app, browser), "model": "stub", "message": "What do they say?"}
    files = [(io.BytesIO(b"first words"), "a.txt"), (io.BytesIO(b"second words"), "b.txt")]
    asked = browser.post("/chat", data={**form, "files": files}, content_type="multipart/form-data")
    assert asked.status_code == 303, asked.get_data(as_text=True)
    assert "| first words" in stub.prompt() and "| second words" in stub.prompt()
    page = browser.get(asked.headers["Location"].partition("#")[0]).get_data(as_text=True)
    assert page.count('class="chip file" href="/api/v1/attachments/') == 2
    edited = browser.get(f"{asked.headers['Location'].partition('#')[0]}?edit=1").get_data(as_text=True)
    assert edited.count('name="attachments"') == 3  # two files, and the pattern for more


def test_a_refused_question_keeps_the_files_that_came_along(app: Flask, browser: Actor) -> None:
    form = {"csrf_token": csrf_of(app, browser), "model": "stub", "message": "What do they say?"}
    files = [(io.BytesIO(b"words"), "good.txt"), (io.BytesIO(b"\x7fELF\0\0"), "bad <b>.bin")]
    refused = browser.post("/chat", data={**form, "files": files}, content_type="multipart/form-data")
    page = refused.get_data(as_text=True)
    assert refused.status_code == 422
    assert "bad &lt;b&gt;.bin cannot be attached" in page and "good.txt" in page
    assert 'value="1" checked' in page


def test_an_unticked_file_stays_behind(app: Flask, browser: Actor, stub: StubModel) -> None:
    stub.reply(reply("Nothing."))
    form = {"csrf_token": csrf_of(app, browser), "model": "stub", "message": "What do they say?"}
    one, two = (
        upload(browser, text, csrf_token=form["csrf_token"]).get_json()["id"] for text in (b"1", b"2")
    )
    browser.post("/chat", data={**form, "attachments": [str(two)]})
    assert "| 2" in stub.prompt() and f"file {one}:" not in stub.prompt()


@pytest.fixture
def running(database: Database, stub: StubModel, folder: Path, now: Clock) -> Iterator[Running]:
    with serve(database, agent_settings(stub, folder), now) as served:
        yield served


def put(running: Running, content: bytes, name: str) -> int:
    """Upload a file to the real server; its id."""
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\n' % name.encode()
    headers = {
        "Authorization": f"Bearer {running.own.token}",
        "Content-Type": "multipart/form-data; boundary=b",
    }
    with running.send("POST", f"{API}/attachments", body + content + b"\r\n--b--\r\n", **headers) as answer:
        assert answer.status == 201, answer.read()
        return int(json.loads(answer.read())["id"])


def test_a_question_brings_it_over_the_socket(running: Running, stub: StubModel) -> None:
    stub.reply(reply("It says four words."))
    mouth = Socket(running)
    more = {"mode": "agent", "attachments": [put(running, b"these are four words", "plan.txt")]}
    chat_id, n = mouth.ask("What does it say?", **more)
    assert "| these are four words" in stub.prompt()
    # The next one is asked by the socket itself; the file before is there to be read.
    more = {"mode": "agent", "attachments": [put(running, b"another five words are here", "next.txt")]}
    assert mouth.ask("And this?", chat_id=chat_id, **more) == (chat_id, n + 1)
    assert "| another five words are here" in stub.prompt() and "plan.txt" in stub.prompt()
    answer = mouth.events[-1]["answer"]
    assert ([each["name"] for each in answer["attachments"]], answer["sources"]) == (
        ["next.txt"],
        [ATTACHMENT_SOURCE],
    )


def test_a_socket_refuses_a_file_that_is_not_there(running: Running, stub: StubModel) -> None:
    stub.reply(reply("Hello."))
    chat_id, _ = Json(running).ask("Hello?", mode="agent")
    client = running.socket(chat_id)
    asked = {"type": "ask", "message": "What?", "timezone": "UTC", "attachments": [10**9]}
    client.send(json.dumps(asked))
    told = json.loads(client.receive(timeout=60))
    assert (told["type"], told["code"]) == ("refused", "attachment_not_found")
    client.close()
    assert conversations.turn(running.own.database, chat_id, 2) is None


@pytest.mark.parametrize("made", [Form, Json, Sse, Socket])
def test_retry_brings_the_files_again(
    running: Running, stub: StubModel, made: Callable[[Running], Mouth]
) -> None:
    """Whichever mouth the question came from: the page asks it again with all that it was asked with."""
    stub.fail(401, "no").reply(reply("It says four words."))
    found = put(running, b"these are four words", "plan.txt")
    chat_id, n = made(running).ask(
        "What does it say?", mode="agent", attachments=found if made is Form else [found]
    )
    assert conversations.turn(running.own.database, chat_id, n).status == "failed"  # type: ignore[union-attr]
    page = Form(running)
    page.open(chat_id)
    assert page.press("Retry") == (chat_id, n + 1)
    assert "| these are four words" in stub.prompt()
    told = running.api("GET", f"/chats/{chat_id}/turns/{n + 1}").json()
    assert [each["name"] for each in told["attachments"]] == ["plan.txt"]
    conversations.delete(running.own.database, chat_id)
    assert attachments.usage(running.own.database) == (0, 0)
