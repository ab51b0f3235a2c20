"""Real faults at each step of a window's life: another program holds the lock, the disk is full.

Each fault begins where the step under test reaches for the embedder or the clock, in the thread that does,
and ends when the first line about it is logged. So one line is all there may be, the question is answered,
nothing is lost, and the next close makes up for it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import apsw
import pytest
from flask import Flask
from werkzeug.test import TestResponse

from assistant.context import session_closing, topics
from assistant.context.session_closing import ContextServices, look
from assistant.core.models import ChatModels
from assistant.turns.plan import TurnServices
from store.core.database import Database
from store.core.settings import ChatModelSettings, ChatSettings
from store.embeddings.knn import RetrievalQuery
from store.memory import chat_sessions, chat_summaries, context_packs
from tests.assistant.context.conftest import paced
from tests.assistant.context.helpers import Past
from tests.assistant.context.test_turns import LEARNED, QUESTIONS, Window, deps, now
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, Clock, csrf_of
from webapp.core.services import Services

__all__ = ["deps", "now"]

NO_LIMIT = 2**32 - 2


class Fault(logging.Handler):
    """One real fault of the store, from `begin` to the first warning of the assistant."""

    def __init__(self, database: Database, kind: str) -> None:
        super().__init__(logging.WARNING)
        self.database, self.kind = database, kind
        self.lines: list[str] = []
        self._other: apsw.Connection | None = None

    def begin(self) -> None:
        connection = self.database.connection()
        if self.kind == "the disk is full":
            connection.execute("vacuum")  # no page is left over
            pages = connection.execute("pragma page_count").fetchall()[0][0]
            connection.execute(f"pragma max_page_count = {pages}")
            return
        connection.set_busy_timeout(50)
        self._other = apsw.Connection(str(self.database.data_dir.database))
        self._other.execute("begin immediate")

    def end(self) -> None:
        connection = self.database.connection()
        connection.set_busy_timeout(10_000)
        connection.execute(f"pragma max_page_count = {NO_LIMIT}")
        if self._other is not None:
            self._other.close()  # its transaction ends with it
            self._other = None

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        self.end()


@pytest.fixture(params=["the database is locked", "the disk is full"])
def fault(database: Database, request: pytest.FixtureRequest) -> Iterator[Fault]:
    made = Fault(database, request.param)
    log = logging.getLogger("assistant")
    log.addHandler(made)
    yield made
    log.removeHandler(made)
    made.end()


def at_embedding(context: ContextServices, fault: Fault) -> ContextServices:
    """The fault begins when the meaning of a text is asked for, which is before anything is written."""

    def embed(text: str) -> RetrievalQuery:
        fault.begin()
        return context.embed(text)

    return replace(context, embed=embed, embed_soon=embed)


def after_embedding(context: ContextServices, fault: Fault, calls: int) -> ContextServices:
    """The fault begins with so many looks at the clock after a meaning was asked for."""
    left = [0]

    def embed(text: str) -> RetrievalQuery:
        left[0] = calls
        return context.embed(text)

    def clock() -> int:
        left[0] -= 1
        if left[0] == 0:
            fault.begin()
        return context.clock()

    return replace(context, embed=embed, embed_soon=embed, clock=clock)


def long_windows(past: Past, count: int, **more: Any) -> list[int]:
    """Windows with much to say, of which many pages are needed."""
    words = "保留策略的一切细节都在这里面写着" * 7
    return [past.window(f"retention {n} {words}", answers=[f"{n} {words}"], **more) for n in range(count)]


def are_summarised(context: ContextServices, *sessions: int) -> bool:
    return set(sessions) <= set(chat_summaries.get(context.database, sessions))


# -- closing ------------------------------------------------------------------------------------------


def test_a_locked_database_at_the_change_of_state(
    past: Past, context: ContextServices, database: Database
) -> None:
    session_id = past.window(QUESTIONS[0], closed=False)
    fault = Fault(database, "the database is locked")
    log = logging.getLogger("assistant")
    log.addHandler(fault)
    fault.begin()
    try:
        assert not session_closing.close(context, session_id, "window")
    finally:
        log.removeHandler(fault)
        fault.end()
    assert len(fault.lines) == 1 and "closed later" in fault.lines[0]
    assert session_closing.close(context, session_id, "window")
    assert are_summarised(context, session_id)


def closed_under(past: Past, context: ContextServices, fault: Fault) -> int:
    """A session whose summary could not be written. On a full disk some still find room."""

    def clock() -> int:
        fault.end()  # what comes after the summary looks at the clock first
        return context.clock()

    deps = replace(at_embedding(context, fault), clock=clock)
    for _ in range(30):
        [session_id] = long_windows(past, 1, closed=False)
        assert session_closing.close(deps, session_id, "window")
        if fault.lines:
            return session_id
    raise AssertionError("thirty summaries found room on a full disk")


def test_the_summary_waits_and_the_next_close_makes_it(
    past: Past, context: ContextServices, fault: Fault
) -> None:
    session_id = closed_under(past, context, fault)
    assert len(fault.lines) == 1 and "1 session is summarised later" in fault.lines[0]
    session = chat_sessions.get(context.database, session_id)
    assert session and (session.state, session.summary_state) == ("closed", "pending")
    another = past.window("another question")
    assert are_summarised(context, session_id, another)


def test_the_keeper_makes_up_for_it_too(past: Past, context: ContextServices, fault: Fault) -> None:
    session_id = closed_under(past, context, fault)
    look(context)
    assert len(fault.lines) == 1 and are_summarised(context, session_id)


def test_the_roll_up_waits_and_is_made_when_it_is_wanted(
    past: Past, context: ContextServices, fault: Fault
) -> None:
    long_windows(past, 30)
    [session_id] = long_windows(past, 1, closed=False)
    assert session_closing.close(after_embedding(context, fault, 1), session_id, "window")
    assert len(fault.lines) == 1 and "digests of chats are made later" in fault.lines[0]
    assert are_summarised(context, session_id)
    lines = topics.roll_up(context.database, "recent", context.clock()).lines
    assert session_id in {number for line in lines for number in line.sessions}


# -- asking -------------------------------------------------------------------------------------------


def asked(
    deps: TurnServices, stub: StubModel, context: ContextServices, question: str = "retention?"
) -> Window:
    """A window in which this was asked while the fault was on."""
    window = Window(replace(deps, context=context), stub)
    assert window.ask(question).status == "done"
    return window


def check_repaired(context: ContextServices, window: Window) -> None:
    """The question belongs to its window, whose close summarises it; the next one is told as ever."""
    assert chat_sessions.user_turns(context.database, window.session_id) == ["retention?"]
    window.deps = replace(window.deps, context=context)
    window.ask("And is that retention final?")
    assert "[Recent context]" in window.told()
    assert session_closing.close(context, window.session_id, "window")
    assert are_summarised(context, window.session_id)


def test_the_topic_fails_and_the_answer_comes_without_a_pack(
    deps: TurnServices, stub: StubModel, past: Past, context: ContextServices, fault: Fault
) -> None:
    long_windows(past, 12)
    topics.roll_up(
        context.database, "history", context.clock()
    )  # so that the topic's is the first to be written
    window = asked(deps, stub, at_embedding(context, fault))
    assert (window.told(), len(fault.lines)) == ("", 1)
    assert fault.lines[0].startswith("no background: ")
    check_repaired(context, window)


def test_what_cannot_be_noted_is_not_told_and_the_answer_comes(
    deps: TurnServices, stub: StubModel, past: Past, context: ContextServices, fault: Fault
) -> None:
    long_windows(past, 12)
    # The first look at the clock after the meaning is that of `note`.
    window = asked(deps, stub, after_embedding(context, fault, 1))
    assert len(fault.lines) == 1 and "is told of no earlier chat" in fault.lines[0]
    assert window.chat_id is not None
    assert context_packs.of_turn(context.database, window.chat_id, 1) is None
    check_repaired(context, window)


def test_an_embedder_that_raises_costs_the_pack_only(
    deps: TurnServices,
    stub: StubModel,
    past: Past,
    context: ContextServices,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def raises(text: str) -> RetrievalQuery:
        raise RuntimeError("a plug-in with a defect")

    past.window(QUESTIONS[0], answers=[LEARNED], days_ago=1)
    window = asked(deps, stub, replace(context, embed=raises))
    assert (window.told(), len(caplog.records)) == ("", 1)
    check_repaired(context, window)


def test_the_answering_model_times_out_while_there_is_a_pack(
    deps: TurnServices, stub: StubModel, past: Past, context: ContextServices
) -> None:
    """A real server that does not answer: the question is kept with its pack, and stays open."""
    never = threading.Event()
    past.window(QUESTIONS[0], answers=[LEARNED], days_ago=1)
    stub.reply({"answer_md": "late", "evidence": []}, wait_for=never)
    entry = ChatModelSettings("stub", stub.base_url, "stub", supports_tools=True, context_tokens=32_768)
    models = ChatModels(ChatSettings(models=(entry,), timeout_s=0.5), {}, waits_s=())
    window = Window(replace(deps, context=context, models=models), stub)
    result = window.ask("Is the retention 14 days?")
    never.set()
    models.close()
    assert result.error is not None and (result.status, result.error.code) == ("failed", "model_timeout")
    stored = context_packs.of_turn(context.database, result.chat_id, 1)
    assert stored is not None and LEARNED in stored.text
    assert session_closing.close(context, window.session_id, "window")
    found = chat_summaries.get(context.database, [window.session_id])[window.session_id]
    assert found.next_steps == "Not answered: Is the retention 14 days?"


# -- over HTTP ----------------------------------------------------------------------------------------


@pytest.fixture
def app(agent_app: Flask) -> Flask:
    return agent_app


def test_the_life_of_a_window_under_a_lock_loses_nothing(
    program: Actor, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be written is said to be so (503); a close is accepted and made up for."""
    session = program.post("/api/v1/chat/new").get_json()["session_id"]
    named = {"session_id": session}
    database.connection().set_busy_timeout(50)
    other = apsw.Connection(str(database.data_dir.database))
    other.execute("begin immediate")
    answers = {
        "new": program.post("/api/v1/chat/new"),
        "heartbeat": program.post("/api/v1/chat/heartbeat", json=named),
        "visibility": program.post("/api/v1/chat/visibility", json={**named, "visible": False}),
        "close": program.post("/api/v1/chat/close", json=named),
    }
    other.close()
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "new": 503,
        "heartbeat": 503,
        "visibility": 503,
        "close": 200,
    }
    assert "Retry-After" in answers["heartbeat"].headers
    assert answers["close"].get_json()["state"] == "open"
    assert program.post("/api/v1/chat/heartbeat", json=named).get_json()["state"] == "open"
    assert program.post("/api/v1/chat/close", json=named).get_json()["state"] == "closed"


def test_the_whole_way_a_fault_costs_the_pack_and_not_the_answer(
    app: Flask, program: Actor, stub: StubModel, database: Database
) -> None:
    """200, no pack, one line; and the next question is told."""
    own: Services = app.extensions["recollect"]
    context = paced(own.context, build_budget_ms=60_000.0)
    Past(context, Clock(own.clock())).window(QUESTIONS[0], answers=[LEARNED], days_ago=1)
    with database.write() as connection:
        connection.execute("delete from user_chat_summaries")
    fault = Fault(database, "the database is locked")
    log = logging.getLogger("assistant")
    log.addHandler(fault)
    stub.reply({"answer_md": "I do not know.", "evidence": []})
    told = []
    for each in (at_embedding(context, fault), context):
        app.extensions["recollect"] = replace(own, context=each)
        answer = ask_in_window(program)
        assert answer.status_code == 200 and "I do not know." in answer.get_data(as_text=True)
        told.append(LEARNED in str(stub.requests[-1]["messages"]))
    log.removeHandler(fault)
    assert (told, len(fault.lines)) == ([False, True], 1)


MOVED = """
update sqlite_schema set rootpage = (select rootpage from sqlite_schema where name = 'chat_sessions_by_chat')
where name = 'chat_sessions'
"""


@pytest.mark.parametrize("is_damaged", [False, True])
def test_without_the_table_of_windows_there_is_an_answer_and_its_page(
    app: Flask, browser: Actor, program: Actor, stub: StubModel, database: Database, is_damaged: bool
) -> None:
    """Also where a page of it is damaged: then SQLite lets nothing more be written in that transaction."""
    session = program.post("/api/v1/chat/new").get_json()["session_id"]
    stub.reply({"answer_md": "I do not know.", "evidence": []})
    with database.write() as connection:
        if is_damaged:
            connection.execute("pragma writable_schema = on")
            connection.execute(MOVED)
            connection.execute("pragma schema_version = 4242")
        else:
            connection.execute("pragma legacy_alter_table = on")
            connection.execute("alter table chat_sessions rename to lost_sessions")
    body = {"message": "Is it final?", "timezone": "UTC", "mode": "agent", "context_version": "v2"}
    answer = program.post("/api/v1/ai/chat/stream", json={**body, "session_id": session})
    assert answer.status_code == 200, answer.text
    assert "I do not know." in answer.text
    assert "I do not know." in browser.get("/chat/1").text
    form = {"csrf_token": csrf_of(app, browser), "message": "And now?", "tz": "UTC"}
    assert browser.post("/chat/1", data=form).status_code == 303


def ask_in_window(program: Actor) -> TestResponse:
    session = program.post("/api/v1/chat/new").get_json()["session_id"]
    body = {
        "message": "Is the retention 14 days?", "timezone": "UTC", "mode": "agent",
        "session_id": session, "context_version": "v2",
    }  # fmt: skip
    answer = program.post("/api/v1/ai/chat/stream", json=body)
    answer.get_data()  # to its end
    return answer
