"""Topics, packs and their records over HTTP and on pages."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from store.chats import conversations
from store.core.database import Database
from store.memory import chat_digests, chat_sessions
from tests.assistant.context.helpers import Past
from tests.factories import NOON_MS
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, Clock, agent_settings, csrf_of
from webapp.core.services import Services

LEARNED = "It is 14 days."
ASK = {"timezone": "Asia/Shanghai", "mode": "agent", "context_version": "v2"}
STREAM = "/api/v1/ai/chat/stream"


@pytest.fixture
def app(make_app: Callable[..., Flask], stub: StubModel, folder: Path) -> Iterator[Flask]:
    """With a model that can use tools, which says the same to everything; told from the first question."""
    settings = agent_settings(stub, folder)
    stub.reply({"answer_md": "I do not know.", "evidence": []})
    made = make_app(settings)
    yield made
    made.extensions["recollect"].chat_models.close()


@pytest.fixture
def earlier(own: Services, now: Clock) -> int:
    """A window of the past."""
    return Past(own.context, now).window("What did I set retention to?", answers=[LEARNED], days_ago=1)


def asked(program: Actor, message: str = "Is the retention final?", **more: Any) -> Any:
    headers = more.pop("headers", {})
    session = more.pop("session_id", None) or program.post("/api/v1/chat/new").get_json()["session_id"]
    body = {**ASK, "message": message, "session_id": session, **more}
    answer = program.post(STREAM, json=body, headers=headers)
    assert answer.status_code == 200
    return answer


def test_the_stream_says_what_the_window_is_about(program: Actor, earlier: int) -> None:
    headers = asked(program).headers
    assert headers["X-Recollect-Topic"] == "retention"
    assert headers["X-Recollect-Topic-Title"] == "Retention"
    assert 0.35 < float(headers["X-Recollect-Topic-Score"]) <= 1
    assert "X-Reggie-Topic" not in headers


def test_a_conversation_of_the_client_is_taken_as_it_keeps_it(program: Actor, stub: StubModel) -> None:
    said = [("system", "Be brief."), ("user", "Which day?"), ("assistant", "Monday."), ("user", "And then?")]
    body = {**ASK, "messages": [{"role": role, "content": text} for role, text in said]}
    answer = program.post(STREAM, json=body)
    assert answer.status_code == 200, answer.text
    sent = [(each["role"], each["content"]) for each in stub.requests[-1]["messages"]]
    assert "Be brief." in sent[0][1]
    assert [each for each in sent[1:3]] == said[1:3] and sent[3][1].startswith("And then?")
    assert program.post(STREAM, json={**ASK, "messages": body["messages"][:3]}).status_code == 422
    [chat] = program.get("/api/v1/chats").get_json()["data"]
    assert chat["title"] == "And then?"
    said[3:] = [("user", "I speak of May."), ("user", "And then?")]
    said.insert(1, ("user", "The invoice of Wagner."))
    body = {**ASK, "messages": [{"role": role, "content": text} for role, text in said]}
    assert program.post(STREAM, json=body).status_code == 200
    sent = [(each["role"], each["content"]) for each in stub.requests[-1]["messages"]]
    assert sent[1:3] == [("user", "The invoice of Wagner.\n\nWhich day?"), ("assistant", "Monday.")]
    assert sent[3][1].startswith("I speak of May.\n\nAnd then?")


def test_below_the_threshold_there_is_no_header(program: Actor) -> None:
    headers = asked(program, "what did I do").headers
    assert not [name for name in dict(headers) if name.startswith("X-Recollect-Topic")]


def test_a_title_in_any_writing_travels(program: Actor) -> None:
    headers = asked(program, "保留策略").headers
    assert headers["X-Recollect-Topic-Title"].isascii()


def test_the_older_names_are_accepted_and_answered(program: Actor, earlier: int) -> None:
    alias = {"X-Reggie-Context": "preview", "X-Reggie-Context-Debug": "1"}
    headers = asked(program, previous_response_id="resp_1", headers=alias).headers
    for name in ("Topic", "Topic-Title", "Topic-Score", "Context-Hash", "Context-Chars"):
        assert headers[f"X-Reggie-{name}"] == headers[f"X-Recollect-{name}"]
    plain = asked(program, headers={"X-Recollect-Context": "preview"}).headers
    assert "X-Recollect-Topic" in plain and "X-Reggie-Topic" not in plain


def test_who_asks_for_a_preview_is_told_what_came_of_it(program: Actor, earlier: int) -> None:
    preview = {"X-Recollect-Context": "preview"}
    told = asked(program, headers=preview).headers
    assert (told["X-Recollect-Context"], told["X-Recollect-Context-Reason"]) == (
        "v2",
        "made for this question",
    )
    assert "X-Recollect-Context-Hash" not in told, "that is for who debugs"
    none = asked(program, headers=preview, context_version=None).headers
    assert none["X-Recollect-Context"] == "none"
    assert "context_version" in none["X-Recollect-Context-Reason"]
    for headers in ({}, {"X-Recollect-Context": "something else"}):
        assert "X-Recollect-Context" not in asked(program, headers=headers).headers


def test_the_snapshot_says_what_a_pack_would_be_made_from(program: Actor, earlier: int) -> None:
    session = program.post("/api/v1/chat/new").get_json()["session_id"]
    found = program.get(f"/api/v1/summaries/context?session_id={session}&message=retention").get_json()
    assert [line["session_ids"] for line in found["recent"]] == [[str(earlier)]]
    assert found["history"] == []
    assert LEARNED in found["pack"]["text"]
    assert found["pack"]["parts"][0]["session_ids"] == [str(earlier)]
    assert found["topic"]["topic"] == "retention"
    plain = program.get("/api/v1/summaries/context").get_json()
    assert plain["pack"] is None and plain["recent"] == found["recent"]


def test_all_memory_is_exported_and_deleted(
    program: Actor, earlier: int, database: Database, stub: StubModel
) -> None:
    asked(program)
    everything = program.get("/api/v1/summaries/export").get_json()
    [summary] = everything["summaries"]
    assert (summary["session_id"], summary["learned"]) == (str(earlier), LEARNED)
    assert [topic["topic"] for topic in everything["topics"]] == ["retention"]
    gone = chat_digests.delete_everything(database, NOON_MS)
    assert (gone["chat_summaries"], gone["user_topic_summaries"], gone["context_packs"]) == (1, 1, 1)
    assert LEARNED not in program.get("/api/v1/summaries/export").get_data(as_text=True)
    assert len(program.get("/api/v1/chats").get_json()["data"]) == 2


# -- on pages -----------------------------------------------------------------------------------------


def ask_page(app: Flask, browser: Actor, message: str, chat_id: int | None = None) -> int:
    """The chat's id after a question of its page, without scripts."""
    form = {"csrf_token": csrf_of(app, browser), "message": message, "tz": "Asia/Shanghai"}
    answer = browser.post("/chat" if chat_id is None else f"/chat/{chat_id}", data=form)
    assert answer.status_code == 303
    return int(answer.headers["Location"].split("/chat/")[1].split("#")[0])


def test_the_chip_appears_changes_and_is_absent_otherwise(
    app: Flask, browser: Actor, now: Clock, earlier: int
) -> None:
    chat_id = ask_page(app, browser, "what did I do")
    assert f'class="chip" href="/chat/{chat_id}/memory"' not in page_of(browser, chat_id)
    for message in ("What did I set retention to?", "Is retention final?"):
        ask_page(app, browser, message, chat_id)
    assert "</span>Retention</a>" in page_of(browser, chat_id)
    now.now_ms += 120_000
    for message in ("Where is the invoice?", "How much was the invoice?", "Did I pay the invoice?"):
        ask_page(app, browser, message, chat_id)
    assert "</span>Invoice</a>" in page_of(browser, chat_id)
    # A question that htmx sends brings the chip along.
    form = {"csrf_token": csrf_of(app, browser), "message": "And the invoice?", "tz": "UTC"}
    answer = browser.post(f"/chat/{chat_id}", data=form, headers={"HX-Request": "true"})
    assert 'id="topic-chip" class="topic-chip" hx-swap-oob="true"' in answer.text


def test_the_chip_is_corrected_and_dismissed_without_scripts(
    app: Flask, browser: Actor, earlier: int, program: Actor
) -> None:
    chat_id = ask_page(app, browser, "Is the retention final?")
    form = {"csrf_token": csrf_of(app, browser)}
    where = f"/chat/{chat_id}/topic"
    assert browser.post(where, data={**form, "title": "<b>Keeping</b>"}).status_code == 303
    assert "&lt;b&gt;Keeping&lt;/b&gt;</a>" in page_of(browser, chat_id)
    browser.post(where, data={**form, "way": "none"})
    assert "</span>Retention</a>" not in page_of(browser, chat_id)
    assert "You wanted none here." in browser.get(f"/chat/{chat_id}/memory").text
    browser.post(where, data={**form, "way": "automatic"})
    ask_page(app, browser, "Why that retention?", chat_id)
    assert "Keeping" in page_of(browser, chat_id)  # the name that the person gave it stays
    assert browser.post(where, data={**form, "title": "  "}).status_code == 422
    assert browser.post("/chat/999/topic", data={**form, "title": "x"}).status_code == 404


def test_a_question_shows_what_it_was_told_and_the_memory_page_of_its_chat_switches_it_off(
    app: Flask, browser: Actor, earlier: int, stub: StubModel
) -> None:
    chat_id = ask_page(app, browser, "Is the retention final?")
    shown = browser.get(f"/chat/{chat_id}/turns/1/context").text
    assert LEARNED in shown and "made for this question" in shown.lower()
    assert f'href="/memory/sessions/{earlier}"' in shown
    form = {"csrf_token": csrf_of(app, browser)}
    browser.post(f"/chat/{chat_id}/memory", data={**form, "told": "off"})
    ask_page(app, browser, "And now?", chat_id)
    assert "Switched off for this chat" in browser.get(f"/chat/{chat_id}/turns/2/context").text
    assert "given nothing from earlier chats" in browser.get(f"/chat/{chat_id}/memory").text
    assert LEARNED not in str(stub.requests[-1]["messages"][1])
    assert browser.get("/chat/999/memory").status_code == 404


def test_a_page_without_scripts_has_a_window_all_the_same(
    app: Flask, browser: Actor, own: Services, now: Clock
) -> None:
    chat_id = ask_page(app, browser, "Is the retention final?")
    first = chat_sessions.latest_of_chat(own.database, chat_id)
    ask_page(app, browser, "And now?", chat_id)
    assert chat_sessions.latest_of_chat(own.database, chat_id).id == first.id  # type: ignore[union-attr]
    now.now_ms += 31 * 60_000
    ask_page(app, browser, "And later?", chat_id)
    assert chat_sessions.latest_of_chat(own.database, chat_id).id != first.id  # type: ignore[union-attr]


def test_the_pages_window_is_the_one_its_script_opened(
    app: Flask, browser: Actor, own: Services, now: Clock
) -> None:
    form = {"csrf_token": csrf_of(app, browser)}
    session = _opened(browser, form["csrf_token"])
    asking = {**form, "message": "Is the retention final?", "tz": "UTC", "session_id": session}
    assert browser.post("/chat", data=asking).status_code == 303
    assert chat_sessions.user_turns(own.database, int(session)) == ["Is the retention final?"]
    # One of another chat is passed over.
    other = conversations.create(own.database, "Another", NOON_MS)
    browser.post(f"/chat/{other}", data={**asking, "message": "And this?"})
    assert chat_sessions.user_turns(own.database, int(session)) == ["Is the retention final?"]


def test_a_question_that_was_quicker_than_the_script_is_of_its_window(
    app: Flask, browser: Actor, own: Services
) -> None:
    """The page of its answer takes its session over, once; another window of the chat is another."""
    chat_id = ask_page(app, browser, "Is the retention final?")
    asked_in = chat_sessions.latest_of_chat(own.database, chat_id)
    assert asked_in is not None
    csrf = csrf_of(app, browser)
    before = _opened(browser, csrf)
    opened = _opened(browser, csrf, chat_id=chat_id, previous_session_id=before)
    assert int(opened) == asked_in.id
    gone = chat_sessions.get(own.database, int(before))
    assert gone is not None and gone.state == "closed"
    assert int(_opened(browser, csrf, chat_id=chat_id)) != asked_in.id
    # After a reload it goes on as any other.
    assert _opened(browser, csrf, chat_id=chat_id, previous_session_id=opened) == opened


def _opened(browser: Actor, csrf: str, **window: object) -> str:
    """The session that a page opens for its window."""
    answer = browser.post("/api/v1/chat/new", json=window, headers={"X-CSRF-Token": csrf})
    session_id: str = answer.get_json()["session_id"]
    return session_id


# -- what is logged -----------------------------------------------------------------------------------


def test_the_verbose_log_is_off_at_first_and_goes_off_after_a_day(
    app: Flask, browser: Actor, now: Clock, database: Database
) -> None:
    assert chat_sessions.verbose_until_ms(database, now()) is None
    assert "Switch it on" in browser.get("/settings/logging").text
    form = {"csrf_token": csrf_of(app, browser)}
    browser.post("/settings/logging", data={**form, "verbose": "on"})
    assert "On until" in browser.get("/settings/logging").text
    now.now_ms += 24 * 3_600_000 - 1
    assert chat_sessions.verbose_until_ms(database, now()) is not None
    now.now_ms += 1
    assert chat_sessions.verbose_until_ms(database, now()) is None
    assert "Switch it on" in browser.get("/settings/logging").text


def test_the_page_asks_with_the_header_only_when_it_is_on(
    app: Flask, browser: Actor, now: Clock, database: Database
) -> None:
    assert "X-Recollect-Context-Debug" not in browser.get("/chat").text
    chat_sessions.set_verbose(database, True, now())
    shown = browser.get("/chat").text
    assert 'hx-headers=\'{"X-Recollect-Context-Debug": "1"}\'' in shown and "data-verbose" in shown


def test_the_server_logs_number_length_and_topic_only_when_it_is_on(
    program: Actor, earlier: int, database: Database, now: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "assistant.context.background"):
        asked(program)
        assert caplog.records == []
        chat_sessions.set_verbose(database, True, now())
        headers = asked(program).headers
        [line] = [record.getMessage() for record in caplog.records]
        told = r"turn 1 of chat .* characters of background, [1-9]\d? % beside the rules, topic Retention"
        assert re.match(told, line)
        assert int(headers["X-Recollect-Context-Chars"]) > 0
        chat_sessions.set_verbose(database, False, now())
        asked(program)
        assert len(caplog.records) == 1


def page_of(browser: Actor, chat_id: int) -> str:
    return browser.get(f"/chat/{chat_id}").text


# -- what was remembered, in the chat ------------------------------------------------------------------


def test_while_verbose_each_turn_has_a_drawer_with_what_it_was_told(
    app: Flask, browser: Actor, earlier: int, now: Clock, database: Database, stub: StubModel
) -> None:
    chat_id = ask_page(app, browser, "Is the retention final?")
    where = f"/chat/{chat_id}/turns/1/context"
    assert "What was remembered" not in page_of(browser, chat_id)
    chat_sessions.set_verbose(database, True, now())
    shown = page_of(browser, chat_id)
    assert f'hx-get="{where}"' in shown and f'<a href="{where}">' in shown, "a link without scripts"
    sent = stub.requests[-1]["messages"][1]["content"]
    page, drawer = browser.get(where).text, browser.get(where, headers={"HX-Request": "true"}).text
    assert "<html" in page and "<html" not in drawer and '<div class="told-pack" id="told-1">' in drawer
    for text in (page, drawer):
        assert '<pre class="told-text"' in text and LEARNED in text
        assert "score 0." in text and f'href="/memory/sessions/{earlier}"' in text
        assert "Made for this question" in text and "token" in text
    pack = drawer.split('was given">')[1].split("</pre>")[0]
    assert sent.endswith(pack) and pack.startswith("[Recent context]")
    assert browser.get(f"/chat/{chat_id}/turns/9/context").status_code == 404


def test_a_turn_of_no_window_says_that_it_was_told_nothing(program: Actor, browser: Actor) -> None:
    chat_id = program.post("/api/v1/chat", json={**ASK, "context_version": "v2"} | {"message": "Hello?"})
    assert chat_id.status_code == 422  # that is asked of a stream only
    body = {"message": "Hello?", "timezone": "UTC", "mode": "agent"}
    chat = program.post("/api/v1/chat", json=body).get_json()["chat_id"]
    assert "not asked in a chat" in browser.get(f"/chat/{chat}/turns/1/context").text


def test_what_was_left_out_and_why_is_in_the_drawer(
    app: Flask, browser: Actor, own: Services, now: Clock, earlier: int
) -> None:
    past = Past(own.context, now)
    for number in range(12):
        asked = f"retention final {number} " + "and so on " * 12
        past.window(asked, "And then?", answers=["x" * 200, "y" * 200], days_ago=1)
    chat_id = ask_page(app, browser, "Is the retention final?")
    shown = browser.get(f"/chat/{chat_id}/turns/1/context").text
    assert "<h3>Left out</h3>" in shown and "over the cap of its section" in shown
    assert "[truncated]" in shown
