"""Questions that are sent for their vectors: noted to the byte, forgotten with what they tell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from flask import Flask

from assistant.core.models import ChatModels
from assistant.core.query_embedder import QueryEmbedder
from engines.cancellation import Cancellation
from store.chats import conversations
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.paths import DataDir
from store.core.settings import EmbeddingSettings, Settings
from store.deletion import deletion
from store.egress import egress_log
from store.frames.media import Media
from tests.factories import NOON_MS, store_frame
from tests.stub_embeddings import Endpoint
from tests.webapp.conftest import PORT, Actor, Clock
from webapp import create_app
from webapp.ops import doctor

QUESTION = "where is the xylophonequark"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture
def asking(database: Database, endpoint: Endpoint) -> Iterator[QueryEmbedder]:
    embedder = QueryEmbedder(chosen(endpoint), database, clock=lambda: NOON_MS)
    yield embedder
    embedder.close()


def chosen(endpoint: Endpoint) -> EmbeddingSettings:
    options = endpoint.options
    return EmbeddingSettings("openai", options.model, options.base_url, options.api_key, 5)


def test_a_question_is_kept_to_the_byte(
    asking: QueryEmbedder, database: Database, endpoint: Endpoint
) -> None:
    assert asking.asked(QUESTION).model == "m"
    assert asking.asked(QUESTION).model == "m"  # known: nothing is sent
    newest, first = egress_log.latest(database)
    assert [each.body.encode() for each in (first, newest) if each.body] == endpoint.bodies
    assert json.loads(endpoint.bodies[1])["input"] == [QUESTION]
    assert (newest.purpose, newest.outcome, newest.texts, newest.turn) == ("search", "answered", 1, None)
    assert (newest.at_ms, newest.provider, newest.model) == (NOON_MS, "embedding", "m")


def test_a_question_that_is_stopped_takes_the_embedder_from_nobody(asking: QueryEmbedder) -> None:
    stopped = Cancellation()
    stopped.now()
    with stopped.here():
        assert asking.asked(QUESTION).problem == "embedder_unavailable"
    assert asking.asked(QUESTION).vector is not None
    assert asking.problem == ""


def test_what_cannot_be_noted_is_not_sent(
    asking: QueryEmbedder, database: Database, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> int:
        raise StoreBusy("another process writes")

    asking.asked("known before")
    with monkeypatch.context() as patched:
        patched.setattr(egress_log, "record", busy)
        assert asking.asked(QUESTION).problem == "embedder_unavailable"
        assert "could not be noted" in asking.problem
    assert len(endpoint.bodies) == 2
    assert asking.asked(QUESTION).problem is None and asking.problem == ""


def test_a_search_that_says_what_only_a_deleted_frame_said_is_erased(
    asking: QueryEmbedder, database: Database, data_dir: DataDir
) -> None:
    gone = store_frame(database, data_dir, NOON_MS, text="the xylophonequark is the secret of the house")
    store_frame(database, data_dir, NOON_MS + 1, text="the house where it is")
    for question in (QUESTION, "the house", "never on any screen"):
        asking.asked(question)
    receipt = deletion.delete_frames(database, Media(data_dir.media), [gone.id])
    assert (receipt.verified, receipt.counts.sent) == (True, 1)
    left = [json.loads(each.body)["input"][0] for each in egress_log.latest(database) if each.body]
    assert left == ["never on any screen", "the house", "dimension"]
    database.close_thread()
    assert b"xylophonequark" not in data_dir.database.read_bytes()


def test_the_question_of_a_chat_goes_with_its_turn(asking: QueryEmbedder, database: Database) -> None:
    chat_id = conversations.create(database, QUESTION, NOON_MS)
    turn = conversations.add_turn(
        database, chat_id, mode="evidence", model="extractive", question=QUESTION,
        start_ms=NOON_MS, end_ms=NOON_MS + 1, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    asking.asked("opened before")
    asking.asked(QUESTION, turn.id)
    [kept] = egress_log.of_turn(database, chat_id, 1)
    assert kept.body is not None and QUESTION in kept.body
    conversations.delete(database, chat_id)
    after = egress_log.get(database, kept.id)
    assert after is not None and after.body is None


@pytest.fixture
def app(database: Database, now: Clock, endpoint: Endpoint) -> Flask:
    settings = replace(Settings(), embedding=chosen(endpoint), web=replace(Settings().web, port=PORT))
    return create_app(settings, database, chat_models=ChatModels(settings.chat, {}), clock=now)


def test_pages_tell_questions_and_screens_apart(
    browser: Actor, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, NOON_MS, text="hello there")
    browser.get(f"/search?q={QUESTION}")
    egress_log.record(database, egress_log.OutgoingRequest(
        "embed", NOON_MS, "openai", "m", "https://api.example/v1/embeddings", False, None, 900, None, 7,
        NOON_MS, NOON_MS + 60_000,
    ))  # fmt: skip
    page = browser.get("/settings/sent").text
    assert "search by meaning" in page and "7 texts" in page
    only = browser.get("/settings/sent?purpose=embed").text
    assert "7 texts" in only and "/settings/sent/2" not in only
    assert browser.get("/settings/sent?purpose=<x>").status_code == 200
    assert QUESTION in browser.get("/settings/sent/2").text
    screens = browser.get("/settings/sent/3").text
    assert "not kept a second time" in screens and "was erased" not in screens


def test_the_doctor_notes_what_it_asks(data_dir: DataDir, database: Database, endpoint: Endpoint) -> None:
    assert doctor.check_embeddings(data_dir, chosen(endpoint)).verdict == "OK"
    [kept] = egress_log.latest(database)
    assert kept.body is not None and kept.body.encode() == endpoint.bodies[0]
    assert (kept.purpose, kept.outcome) == ("test", "answered")
