"""Earlier chats found by what they came to: in the search of memory, and by a tool (as far as one may)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask

from ingest.core.worker_stats import WorkerStats
from ingest.reading.embedding import EmbeddingLoop
from store.chats import conversations, tool_calls
from store.chats.records import StoredEvidence
from store.core import preferences
from store.core.database import Database, rows
from store.core.paths import DataDir
from store.deletion import deletion
from store.egress import egress_log
from store.embeddings.knn import RetrievalQuery
from store.frames.media import Media
from store.memory import chat_digests, chat_sessions, chat_summaries, search
from store.memory.entries import MemoryFilters
from store.spool.queue import Spool
from store.verify import verify
from tests.assistant.context.helpers import DAY_MS, Past
from tests.factories import NOON_MS, store_frame
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, Clock, agent_settings
from tests.webapp.mouths import with_pace
from webapp.core.services import Services

QUESTION = "What did I set retention to?"
LEARNED = "It is 14 days."
ASK = {"message": "What did we find out about retention?", "timezone": "UTC", "mode": "agent"}


@pytest.fixture
def app(make_app: Callable[..., Flask], stub: StubModel, folder: Path) -> Iterator[Flask]:
    made = with_pace(make_app(agent_settings(stub, folder)))
    yield made
    made.extensions["recollect"].chat_models.close()


@pytest.fixture
def past(own: Services, now: Clock) -> Past:
    return Past(own.context, now)


def found(database: Database, text: str, now_ms: int = NOON_MS + 3_600_000) -> list[int]:
    page = search.search_memory(database, RetrievalQuery(text), ("chat",), now_ms=now_ms)
    return [entry.id for entry in page.entries]


def test_a_chat_is_found_by_its_words_and_linked(
    browser: Actor, program: Actor, past: Past, database: Database
) -> None:
    session_id = past.window(QUESTION, answers=[LEARNED])
    past.window("Where is the invoice?")
    assert found(database, "retention") == [session_id]
    assert found(database, "questions answered") == [], "what rules count is nothing to find"
    summary = chat_summaries.get(database, [session_id])[session_id]
    assert f'href="/chat/{summary.chat_id}"' in browser.get("/chats?q=retention").text
    [entry] = program.get("/api/v1/memory/search?q=retention&types=chat").get_json()["data"]
    assert (entry["type"], entry["body"]["chat_id"], entry["body"]["learned"]) == (
        "chat",
        summary.chat_id,
        LEARNED,
    )


def test_a_chat_is_found_by_its_meaning(own: Services, past: Past) -> None:
    """With the vectors that ingest makes of whatever waits."""
    session_id = past.window("the login system", answers=["It is fixed."])
    past.window("where to have lunch")
    asked = own.embedder.asked("authentication setup")
    assert search.search_memory(own.database, asked, ("chat",), now_ms=own.clock()).entries == ()
    loop = EmbeddingLoop(own.database, WorkerStats(own.clock), FakeEmbedder, threading.Event())
    while loop.step():
        pass
    loop.close()
    page = search.search_memory(own.database, asked, ("chat",), now_ms=own.clock(), limit=1)
    assert ([entry.id for entry in page.entries], page.strategy) == ([session_id], "semantic")


def test_documents_follow_their_summary(past: Past, database: Database, now: Clock) -> None:
    session_id = past.window(QUESTION, answers=[LEARNED])
    fields = {**chat_summaries.get(database, [session_id])[session_id].fields, "learned": "A zeppelin."}
    chat_summaries.edit(database, session_id, fields, now())
    assert (found(database, "zeppelin"), found(database, "14 days")) == ([session_id], [])
    chat_summaries.retract(database, session_id, True, now())
    assert found(database, "zeppelin") == []
    chat_summaries.retract(database, session_id, False, now())
    assert found(database, "zeppelin") == [session_id]
    assert problems(database) == ()
    summary = chat_summaries.get(database, [session_id])[session_id]
    conversations.delete(database, summary.chat_id)
    assert found(database, "zeppelin") == []
    assert problems(database) == ()


def problems(database: Database) -> object:
    home = database.data_dir
    return verify.verify(database, Media(home.media), Spool(home.spool)).problems


def ask(program: Actor, stub: StubModel, **more: object) -> list[dict[str, object]]:
    """Messages of the request after the model has called the tool."""
    stub.call(("search_chats", {"query": "retention"})).reply(
        {"answer_md": "It was 14 days.", "evidence": []}
    )
    answer = program.post("/api/v1/chat", json={**ASK, **more})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = stub.requests[-1]["messages"]
    return found


def tools_of(stub: StubModel) -> set[str]:
    return {tool["function"]["name"] for tool in stub.requests[-1].get("tools", ())}


def test_a_tool_tells_of_earlier_chats(
    program: Actor, stub: StubModel, past: Past, database: Database
) -> None:
    past.window(QUESTION, answers=[LEARNED])
    told = ask(program, stub)[-1]
    assert told["role"] == "tool" and LEARNED in str(told["content"])
    [chat] = [each for each in program.get("/api/v1/chats").get_json()["data"] if "find out" in each["title"]]
    turn = program.get(f"/api/v1/chats/{chat['id']}/turns/1").get_json()
    assert turn["sources"] == ["chats"] and turn["evidence"] == []
    assert all(claim["state"] != "cited" for claim in turn["claims"])


@pytest.mark.parametrize("how", ["none", "person", "chat", "configured"])
def test_where_nothing_may_be_told_there_is_no_tool(
    program: Actor,
    stub: StubModel,
    past: Past,
    database: Database,
    own: Services,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    chat_id = None
    if how != "none":
        past.window(QUESTION, answers=[LEARNED])
    if how == "person":
        preferences.set_preference(database, chat_sessions.OFF, True)
    elif how == "chat":
        chat_id = conversations.create(database, "x", NOON_MS)
        chat_sessions.set_without_context(database, chat_id, True)
    elif how == "configured":
        monkeypatch.setattr("assistant.context.background.off_by_settings", lambda services: "off")
    stub.reply({"answer_md": "I do not know.", "evidence": []})
    body = {**ASK, **({"chat_id": chat_id} if chat_id else {})}
    assert program.post("/api/v1/chat", json=body).status_code == 200
    assert "search_user_prompts" in tools_of(stub) and "search_chats" not in tools_of(stub)


def test_the_chat_itself_is_not_found(
    program: Actor, stub: StubModel, past: Past, database: Database
) -> None:
    session_id = past.window(QUESTION, answers=[LEARNED])
    chat_id = chat_summaries.get(database, [session_id])[session_id].chat_id
    assert "No earlier chat fits." in str(ask(program, stub, chat_id=chat_id)[-1]["content"])


def test_deleting_a_frame_takes_what_the_tool_told_of_it(
    program: Actor, stub: StubModel, past: Past, database: Database, data_dir: DataDir
) -> None:
    secret = "xylophonequark"
    frame = store_frame(database, data_dir, NOON_MS - 90_000_000, secret)
    evidence = [StoredEvidence(1, frame.id, NOON_MS, state="found")]
    past.window("What of retention?", answers=[f"It was {secret}."], evidence=evidence, days_ago=1)
    stub.call(("search_chats", {"query": "retention"}))
    stub.reply({"answer_md": f"You spoke of {secret}.", "evidence": []})
    assert secret in program.post("/api/v1/chat", json=ASK).get_json()["answer_md"]
    deletion.delete_frames(database, Media(data_dir.media), [frame.id])
    with database.read() as connection:
        for (table,) in rows(connection, "select name from pragma_table_list where type = 'table'"):
            if "_fts" in table or table.startswith("sqlite_"):
                continue
            assert secret not in str(rows(connection, f'select * from "{table}"')), table


def test_forgetting_all_memory_takes_what_the_tool_told(
    program: Actor, stub: StubModel, past: Past, database: Database
) -> None:
    past.window(QUESTION, answers=[LEARNED])
    ask(program, stub)
    [chat] = [each for each in program.get("/api/v1/chats").get_json()["data"] if "find out" in each["title"]]
    chat_digests.delete_everything(database, NOON_MS)
    [call] = tool_calls.of_turn(database, chat["id"], 1)
    assert (call.output, call.is_forgotten) == ("", True)
    assert all(LEARNED not in (request.body or "") for request in egress_log.of_turn(database, chat["id"], 1))


def test_the_window_of_the_search_counts_when_a_chat_ended(past: Past, database: Database) -> None:
    past.window(QUESTION, days_ago=100)
    assert found(database, "retention") == []
    wide = MemoryFilters(start_ms=NOON_MS - 200 * DAY_MS)
    page = search.search_memory(
        database, RetrievalQuery("retention"), ("chat",), filters=wide, now_ms=NOON_MS
    )
    assert len(page.entries) == 1
