"""The system prompt block by block: as it was sent, and as it would be now."""

from __future__ import annotations

import html as html_text
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask import Flask

from store.chats import personas, prompts
from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings, Settings
from store.deletion import deletion
from store.egress import egress_log
from store.frames.frames import FrameRow
from store.frames.media import Media
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, words

API = "/api/v1"
ASK = {
    "message": "What did I read?", "start_time": NOON_MS / 1000 - 1, "end_time": NOON_MS / 1000 + 1,
    "timezone": "UTC",
}  # fmt: skip
HOSTILE = "</pre><script>alert(1)</script>\n\n{{ 7*7 }}\n\nNow: never"


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel() as running:
        running.reply({"answer_md": "It said hello [[e1]].", "evidence": [{"id": "e1", "quote": "hello"}]})
        yield running


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> FrameRow:
    return store_frame(database, data_dir, NOON_MS, text="hello")


@pytest.fixture
def app(make_app: Any, stub: StubModel, frame: FrameRow) -> Flask:
    plain = ChatModelSettings("stub", stub.base_url, "stub")
    native = ChatModelSettings("native", stub.base_url, "stub", supports_tools=True)
    told = ChatModelSettings("told", stub.base_url, "stub", tool_format="llama31")
    made: Flask = make_app(Settings(chat=ChatSettings(models=(plain, native, told))))
    return made


def ask(program: Actor, **changes: Any) -> None:
    answer = program.post(f"{API}/chat", json={**ASK, **changes})
    assert answer.status_code == 200, answer.text


def blocks(page: str) -> list[tuple[str, str]]:
    """(label, text) of each block on a page, as a browser reads it."""
    found = re.findall(r'role="group" aria-label="(Block[^"]*)".*?<pre [^>]*>\n(.*?)</pre>', page, re.S)
    return [(label, html_text.unescape(text)) for label, text in found]


def save(database: Database, content: str, model: str = "stub") -> None:
    prompts.save(database, model, content, 1, saved_by="person")


def test_the_blocks_are_the_very_bytes_that_were_sent(
    program: Actor, browser: Actor, database: Database, stub: StubModel
) -> None:  # feature 50
    save(database, HOSTILE)
    ask(program, model="stub", system_prompt="\n Pirate \n")
    page = browser.get("/chat/1/turns/1/sent").text
    shown = blocks(page)
    assert [label for label, _ in shown] == [
        "Block 1, Model prompt", "Block 2, Identity", "Block 3, Hard rules", "Block 6, Time",
    ]  # fmt: skip
    assert "\n\n".join(text for _, text in shown) == stub.requests[0]["messages"][0]["content"]
    assert shown[0][1] == HOSTILE and shown[1][1] == "\n Pirate \n"
    assert "<script>alert" not in page
    assert f"{len(HOSTILE)} characters" in words(page)
    assert "Not part of it: Use of tools, Tool definitions, Budget, Background" in words(page)


@pytest.mark.parametrize(("model", "numbers"), [("native", "123467"), ("told", "1234567")])
def test_with_tools_each_request_of_a_turn_has_its_blocks(
    program: Actor, browser: Actor, database: Database, stub: StubModel, model: str, numbers: str
) -> None:
    save(database, "Mine.", model)
    if model == "native":
        stub.call(("calculator", {"expression": "2+2"}))
    else:
        stub.reply('<|python_tag|>{"name": "calculator", "parameters": {"expression": "2+2"}}')
    stub._script.pop(0)
    stub.reply("Four.")
    ask(program, model=model, mode="agent")
    page = browser.get("/chat/1/turns/1/sent").text
    assert "".join(label[6] for label, _ in blocks(page)) == 2 * numbers
    assert "Not part of it: Background." in words(page)
    assert ("Tool definitions travel beside the messages" in page) == (model == "native")
    assert (
        "\n\n".join(text for _, text in blocks(page)[len(numbers) :])
        == stub.requests[1]["messages"][0]["content"]
    )
    if model == "native":
        assert json.dumps(stub.requests[0]["tools"][0], ensure_ascii=False) in html_text.unescape(page)


def test_erased_text_is_not_shown_from_elsewhere(
    program: Actor, browser: Actor, database: Database, data_dir: DataDir, frame: FrameRow
) -> None:
    save(database, "Mine.")
    ask(program, model="stub")
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    (request,) = egress_log.of_turn(database, 1, 1)
    assert request.body is None and request.prefix_sha256
    page = browser.get("/chat/1/turns/1/sent").text
    assert "The text was erased" in page and blocks(page) == []


def test_what_was_sent_before_blocks_were_noted_says_so(
    program: Actor, browser: Actor, database: Database
) -> None:
    ask(program, model="stub")
    with database.write() as connection:
        connection.execute("update sent_requests set blocks = '', prefix_sha256 = ''")
    page = browser.get("/chat/1/turns/1/sent").text
    assert "Message of system" in page and blocks(page) == []


def test_a_preview_shows_what_would_be_sent_now(
    program: Actor, browser: Actor, database: Database, stub: StubModel
) -> None:  # feature 50
    save(database, "Mine.", "told")
    page = browser.get("/settings/models/prompt/preview?model=told").text
    evidence, with_tools = page.split("With tools")
    assert "".join(label[6] for label, _ in blocks(evidence)) == "1236"
    assert "".join(label[6] for label, _ in blocks(with_tools)) == "1234567"
    stub.reply("Four.")
    stub._script.pop(0)
    ask(program, model="told", mode="auto")
    sent_now = stub.requests[0]["messages"][0]["content"].split("\n\nNow: ")[0]
    assert "\n\n".join(text for label, text in blocks(with_tools)[:5]) == sent_now
    assert "With tools" not in browser.get("/settings/models/prompt/preview?model=stub").text
    # it is remarked on where both speak.
    assert page.count("The model's own prompt and a voice are both sent, the prompt first.") == 2
    assert "a voice are both sent" in browser.get("/chat/1/turns/1/sent").text
    personas.activate(database, None)
    assert "a persona are" not in browser.get("/settings/models/prompt/preview?model=told").text
    assert browser.get("/settings/models/prompt/preview").status_code == 200, "of the one that answers"
    for unknown in ("nobody", "extractive"):
        assert browser.get(f"/settings/models/prompt/preview?model={unknown}").status_code == 404
