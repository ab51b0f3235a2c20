"""The life of a chat window, over HTTP and as its page tells it."""

from __future__ import annotations

import threading

import pytest
from flask import Flask

from assistant.context import session_closing
from assistant.context.session_closing import ContextServices, SessionJanitor, look
from store.chats import conversations
from store.core.database import Database
from store.memory import chat_sessions, chat_summaries
from tests.assistant.context.conftest import changed
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS
from tests.webapp.conftest import Actor, Clock, csrf_of

API = "/api/v1/chat"
MINUTE_MS = 60_000


def test_each_window_has_one_session(context: ContextServices, past: Past) -> None:
    first, second = (session_closing.open_window(context, None) for _ in range(2))
    assert first != second
    assert session_closing.open_window(context, None, first) == first  # the same window after a reload


def test_new_opens_a_session_and_closes_the_one_before(program: Actor, database: Database) -> None:
    chat_id = conversations.create(database, "Retention", NOON_MS)
    first = program.post(f"{API}/new", json={"chat_id": chat_id})
    assert first.status_code == 201
    body = first.get_json()
    assert (body["chat_id"], body["state"], body["visible"], body["summary"]) == (
        chat_id,
        "open",
        True,
        "none",
    )
    second = program.post(f"{API}/new", json={"previous_session_id": body["session_id"]}).get_json()
    assert second["session_id"] != body["session_id"]
    before = chat_sessions.get(database, int(body["session_id"]))
    assert before is not None
    assert (before.state, before.closed_by, before.summary_state) == ("closed", "new", "empty")
    assert program.post(f"{API}/new", json={"chat_id": 999}).get_json()["code"] == "chat_not_found"
    assert program.post(f"{API}/new").status_code == 201


def test_a_heartbeat_is_noted(program: Actor, now: Clock) -> None:
    session = program.post(f"{API}/new").get_json()
    now.now_ms += 30_000
    beaten = program.post(f"{API}/heartbeat", json={"session_id": session["session_id"]}).get_json()
    assert beaten["seen_at"] - session["seen_at"] == 30
    for unknown in ("999", "", "x", "1" * 90):
        answer = program.post(f"{API}/heartbeat", json={"session_id": unknown})
        assert (answer.status_code, answer.get_json()["code"]) == (404, "session_not_found")


def test_a_tab_is_visible_or_hidden(program: Actor) -> None:
    session = program.post(f"{API}/new").get_json()["session_id"]
    hidden = program.post(f"{API}/visibility", json={"session_id": session, "visible": False})
    assert hidden.get_json()["visible"] is False
    shown = program.post(f"{API}/visibility", json={"session_id": session, "visible": True})
    assert shown.get_json()["visible"] is True


def test_closing_twice_is_closing_once(past: Past, context: ContextServices, program: Actor) -> None:
    session_id = past.window("What did I set retention to?", closed=False)
    first = program.post(f"{API}/close", json={"session_id": str(session_id)}).get_json()
    made = chat_summaries.get(context.database, [session_id])
    again = program.post(f"{API}/close", json={"session_id": str(session_id)}).get_json()
    assert first == again
    assert (first["state"], first["summary"]) == ("closed", "made")
    assert chat_summaries.get(context.database, [session_id]) == made


def test_a_session_not_heard_of_for_thirty_minutes_closes_by_itself(
    past: Past, context: ContextServices, now: Clock
) -> None:
    session_id = past.window("What did I set retention to?", closed=False)
    now.now_ms += 30 * MINUTE_MS
    look(context)
    assert _state(context, session_id) == ("open", "none")
    now.now_ms += 1
    look(context)
    assert _state(context, session_id) == ("closed", "made")


def test_what_a_crash_left_open_is_closed_at_the_next_start(
    past: Past, context: ContextServices, now: Clock
) -> None:
    """A janitor looks as soon as it starts; the former process is not needed for it."""
    session_id = past.window("What did I set retention to?", closed=False)
    now.now_ms += 31 * MINUTE_MS
    janitor = SessionJanitor(context, "off", every_s=60)
    janitor.start()
    for _ in range(3000):
        if _state(context, session_id) == ("closed", "made"):
            break
        threading.Event().wait(0.02)
    janitor.stop()
    assert _state(context, session_id) == ("closed", "made")


def test_a_window_that_comes_back_in_time_goes_on(past: Past, context: ContextServices, now: Clock) -> None:
    session_id = past.window("What did I set retention to?")
    session = chat_sessions.get(context.database, session_id)
    assert session is not None
    now.now_ms += 5 * MINUTE_MS
    assert session_closing.open_window(context, session.chat_id, session_id) == session_id
    assert _state(context, session_id) == ("open", "made")
    other = conversations.create(context.database, "Another", now())
    assert session_closing.open_window(context, other, session_id) != session_id
    assert _state(context, session_id) == ("closed", "made")


def test_a_window_that_comes_back_too_late_begins_anew(
    past: Past, context: ContextServices, now: Clock
) -> None:
    session_id = past.window("What did I set retention to?")
    session = chat_sessions.get(context.database, session_id)
    assert session is not None
    now.now_ms += 31 * MINUTE_MS
    assert session_closing.open_window(context, session.chat_id, session_id) != session_id


def test_the_page_tells_of_its_window(app: Flask, browser: Actor, context: ContextServices) -> None:
    """With the token of its form, which another site has not."""
    token = {"X-CSRF-Token": csrf_of(app, browser)}
    opened = browser.post(f"{API}/new", json={}, headers=token).get_json()
    window = {"session_id": opened["session_id"]}
    seen, hidden, shown = (
        ("heartbeat", {}),
        ("visibility", {"visible": False}),
        ("visibility", {"visible": True}),
    )
    for what, more in (seen, hidden, shown):
        answer = browser.post(f"{API}/{what}", json={**window, **more}, headers=token)
        assert (answer.status_code, answer.get_json()["state"]) == (200, "open")
    assert browser.post(f"{API}/close", json=window).status_code == 403
    elsewhere = {**token, "Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    assert browser.post(f"{API}/close", json=window, headers=elsewhere).status_code == 403
    assert _state(context, int(window["session_id"]))[0] == "open"
    assert browser.post(f"{API}/close", json=window, headers=token).get_json()["state"] == "closed"
    assert browser.post(f"{API}/heartbeat", json=window, headers=token).get_json()["state"] == "closed"


def test_life_and_sizes_are_kept(past: Past, context: ContextServices) -> None:
    """Life cycle, times and metadata. A message knows its session and its tokens."""
    session_id = past.window("What did I set retention to?", "那天的政策是什么？")
    session = chat_sessions.get(context.database, session_id)
    assert session is not None
    assert (session.state, session.created_ms, session.closed_ms) == ("closed", NOON_MS, NOON_MS)
    with context.database.write() as connection:
        chat_sessions.note(connection, session_id, {"last_context_hash": "abc", "gone": None})
    again = chat_sessions.get(context.database, session_id)
    assert again is not None and again.metadata == {"last_context_hash": "abc"}
    found = context.database.connection().execute(
        "select role, session_id, tokens from messages where conversation_id = ? order by id",
        (session.chat_id,),
    )
    assert found.fetchall() == [
        ("user", session_id, 7),
        ("assistant", session_id, 5),
        ("user", session_id, 9),
        ("assistant", session_id, 5),
    ]


def test_a_chat_that_goes_takes_its_sessions_along(past: Past, context: ContextServices) -> None:
    session_id = past.window("What did I set retention to?")
    session = chat_sessions.get(context.database, session_id)
    assert session is not None and session.chat_id is not None
    conversations.delete(context.database, session.chat_id)
    assert chat_sessions.get(context.database, session_id) is None
    assert chat_summaries.get(context.database, [session_id]) == {}


@pytest.mark.parametrize("minutes", [1, 120])
def test_how_long_a_window_may_be_silent_is_a_setting(
    past: Past, context: ContextServices, now: Clock, minutes: int
) -> None:
    deps = changed(context, session_stale_minutes=float(minutes))
    session_id = past.window("What did I set retention to?", closed=False)
    now.now_ms += minutes * MINUTE_MS + 1
    look(deps)
    assert _state(deps, session_id) == ("closed", "made")


def _state(context: ContextServices, session_id: int) -> tuple[str, str]:
    found = chat_sessions.get(context.database, session_id)
    assert found is not None
    return found.state, found.summary_state
