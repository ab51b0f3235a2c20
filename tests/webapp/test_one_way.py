"""A question by HTTP, with nothing set but an address: it goes as far as the model behind it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flask import Flask

from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import load
from store.egress import egress_log
from store.frames.frames import FrameRow
from store.sources.calendars import EventRecord
from tests.factories import NOON_MS, store_frame
from tests.sources import put_events
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor

ZONE = {"timezone": "UTC"}


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> FrameRow:
    return store_frame(database, data_dir, NOON_MS, "Weekly report")


@pytest.fixture
def asked(
    make_app: Callable[..., Flask], data_dir: DataDir
) -> Iterator[Callable[..., tuple[dict[str, Any], dict[str, Any]]]]:
    """Asks with a server of such abilities behind OPENAI_BASE_URL: (the answer, the first request)."""
    made: list[Any] = []

    def ask(can: tuple[str, ...], script: Callable[[StubModel], object], **body: Any) -> Any:
        with StubModel(can=can) as stub:
            script(stub)
            own = make_app(load(data_dir, {"OPENAI_BASE_URL": stub.base_url}))
            made.append(own.extensions["recollect"])
            program = Actor(own.test_client(), {"Authorization": f"Bearer {made[-1].token}"})
            answer = program.post("/api/v1/chat", json={**ZONE, **body})
            assert answer.status_code == 200, answer.get_json()
            return answer.get_json(), stub.requests[0]

    yield ask
    for own in made:
        own.chat_models.close()


def parts(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The last message's parts; one of text where it is only that."""
    content = request["messages"][-1]["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def test_a_question_about_a_date_to_come_asks_the_calendar(asked: Any, database: Database) -> None:
    put_events(database, [EventRecord("Dentist visit", NOON_MS + 86_400_000, NOON_MS + 90_000_000)])
    span = {"start": NOON_MS / 1000, "end": NOON_MS / 1000 + 172_800}

    def script(stub: StubModel) -> None:
        stub.call(("get_calendar_events", span)).reply('The calendar says "Dentist".')

    answer, request = asked(("tools", "vision"), script, message="What is planned for tomorrow?")
    assert "get_calendar_events" in {tool["function"]["name"] for tool in request["tools"]}
    assert answer["sources"] == ["calendar"] and answer["way"]["tools"] == 1
    assert "Dentist" in answer["answer_md"]
    # A server without tools is told of the event, though nothing of that day can have been recorded.
    said = 'The calendar says "Dentist visit".'
    answer, request = asked((), lambda stub: stub.reply(said), message="What is planned for tomorrow?")
    assert "tools" not in request and "event: Dentist" in parts(request)[0]["text"]
    assert answer["claims"][0]["state"] == "from_source", answer


def test_a_question_about_a_frame_shows_its_picture(asked: Any, frame: FrameRow, database: Database) -> None:
    def script(stub: StubModel) -> None:
        stub.reply("It is blue.")

    body = {"message": "What colour is the bar on the left?", "frame_id": frame.id}
    for can in (("tools", "vision"), ("vision",)):
        answer, request = asked(can, script, **body)
        assert [part["type"] for part in parts(request)] == ["text", "image_url"], can
        assert "pictures of these frames, in this order: [[e1]]" in parts(request)[0]["text"]
        assert ("tools" in request) == ("tools" in can)
        assert "one frame and what stood around it" in answer["scope"]["text"]
        (sent,) = egress_log.of_turn(database, answer["chat_id"], 1)
        assert f"frame {frame.id}" in sent.body and "base64" not in sent.body


def test_what_a_model_saw_in_a_picture_is_said_to_be_seen(asked: Any, frame: FrameRow) -> None:
    body = {"message": "How high is the bar on the left?", "frame_id": frame.id}
    told = {"answer_md": "The bar stands at 73 [[e1]]. It says “Bar height” [[e1]].", "evidence": []}
    answer, _ = asked(("vision",), lambda stub: stub.reply(told), **body)
    assert [(claim["state"], claim["seen"]) for claim in answer["claims"]] == [
        ("seen", [1]),
        ("not_on_frame", [1]),  # a quotation has to stand on the frame
    ]
    answer, _ = asked((), lambda stub: stub.reply(told), **body)
    assert [(claim["state"], claim["seen"]) for claim in answer["claims"]] == [("not_on_frame", [])] * 2


def test_a_server_that_can_do_neither_still_answers(asked: Any, frame: FrameRow) -> None:
    def script(stub: StubModel) -> None:
        stub.reply({"answer_md": "A report [[e1]].", "evidence": [{"id": "e1", "quote": "Weekly report"}]})

    answer, request = asked((), script, message="Which report did I read?")
    assert "tools" not in request and len(parts(request)) == 1
    assert [item["frame_id"] for item in answer["evidence"]] == [frame.id]
    assert answer["scope"]["everything"] and answer["way"]["frames_read"] == 1
