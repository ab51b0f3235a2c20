"""A turn while it runs, on its page: frames before the answer, decisions about calls, an end by hand."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from assistant.context.background import NO_CONTEXT
from assistant.core.records import FinalEvent, TextEvent
from assistant.turns.live import LiveTurn
from assistant.turns.stored_turns import stored_turn
from assistant.turns.voices import NEUTRAL
from engines.cancellation import CancelToken
from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.meanwhile import meanwhile
from tests.stub_model import StubModel
from tests.webapp.conftest import Actor, csrf_of, set_patience
from webapp.api import event_stream
from webapp.core.services import Services
from webapp.views import turns
from webapp.views.evidence import call_rounds

QUOTE = "retention set to 14 days"
RANGE = {"from_ms": str(NOON_MS), "to_ms": str(NOON_MS + 3_600_000), "when": "custom"}
HTMX = {"HX-Request": "true"}


@pytest.fixture
def app(agent_app: Flask) -> Flask:
    return agent_app


@pytest.fixture
def form(app: Flask, browser: Actor) -> dict[str, str]:
    browser.client.set_cookie("tz", "Asia/Shanghai", domain="127.0.0.1")
    return {"csrf_token": csrf_of(app, browser), "model": "stub"}


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> int:
    return store_frame(database, data_dir, NOON_MS + 60_000, QUOTE).id


@pytest.fixture
def blocked(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A model that does not answer before this is set, and pages that do not wait for it."""
    set_patience(monkeypatch, 0.0)
    event = threading.Event()
    yield event
    event.set()


def asked(browser: Actor, form: dict[str, str], message: str, **more: str) -> str:
    """The address of the new turn, after a question without scripts."""
    answer = browser.post("/chat", data={**form, "message": message, **more})
    assert answer.status_code == 303
    found = re.fullmatch(r"/chat/(\d+)#t(\d+)", answer.headers["Location"])
    assert found
    return f"/chat/{found[1]}/turns/{found[2]}"


def settled(browser: Actor, address: str) -> str:
    """The turn as soon as it does not run any more."""
    for _ in range(1200):
        html = browser.get(address, headers=HTMX).text
        if 'aria-busy="false"' in html:
            return html
        time.sleep(0.05)
    raise AssertionError("the turn did not end")


def test_frames_are_shown_before_the_model_answers(
    browser: Actor, form: dict[str, str], stub: StubModel, frame: int, blocked: threading.Event
) -> None:
    answer = {"answer_md": "Fourteen days [[e1]].", "evidence": [{"id": "e1", "quote": QUOTE}]}
    stub.reply(answer, wait_for=blocked)
    address = asked(browser, form, "What did I set?", **RANGE)
    deadline, running = time.monotonic() + 60, ""
    while "Reading 1 frame…" not in running and time.monotonic() < deadline:
        running = browser.get(address, headers=HTMX).text
    assert "Reading 1 frame…" in running and "<figure" not in running
    assert 'aria-busy="true"' in running and f'href="/frames/{frame}"' in running
    page = browser.get(address.partition("/turns")[0]).text
    assert (
        '<noscript><meta http-equiv="refresh" content="3; url=/chat/1?look=1#t1">' in page
        and f"/frames/{frame}" in page
    )
    blocked.set()
    done = settled(browser, address)
    assert "Fourteen days" in done and "<figure" in done and "Reading" not in done


def test_a_turn_is_ended_by_hand(
    browser: Actor, form: dict[str, str], stub: StubModel, frame: int, blocked: threading.Event
) -> None:
    stub.reply("never", wait_for=blocked)
    address = asked(browser, form, "What did I set?", **RANGE)
    assert browser.post(f"{address}/stop", data=form).status_code == 303
    assert "stopped" in settled(browser, address)
    assert browser.post(f"{address}/stop", data=form, headers=HTMX).status_code == 204  # again: nothing


def asking(browser: Actor, address: str) -> str:
    """The turn as soon as a call of it waits for a decision."""
    for _ in range(1200):
        html = browser.get(address, headers=HTMX).text
        if "Waits for you" in html:
            return html
        time.sleep(0.05)
    raise AssertionError("no call waited")


def waiting(browser: Actor, form: dict[str, str], stub: StubModel, folder: Path) -> tuple[str, str]:
    """(address of the turn, address of the decision) of a call that asks for a file."""
    stub.call(("read_file", {"path": str(folder / "plan.txt")})).reply("It is for monday.")
    address = asked(browser, form, "What is my plan?")
    html = asking(browser, address)
    assert "plan.txt" in html and "Its results stay on this computer." in html
    assert html.index(">Deny<") < html.index(">Allow once<")
    found = re.search(r'action="(/chat/\d+/turns/\d+/calls/\d+)"', html)
    assert found
    return address, found[1]


def test_an_allowed_call_runs_and_the_answer_follows(
    browser: Actor, form: dict[str, str], stub: StubModel, folder: Path
) -> None:
    address, decision = waiting(browser, form, stub, folder)
    assert browser.post(decision, data={**form, "decision": "once"}, headers=HTMX).status_code == 204
    done = settled(browser, address)
    assert "It is for monday" in done and "1 tool" in done
    assert "the plan &lt;b&gt;for monday&lt;/b&gt;" in done and "<b>for monday</b>" not in done
    assert browser.post(decision, data={**form, "decision": "once"}).status_code == 409


def test_a_denied_call_does_not_run(
    browser: Actor, form: dict[str, str], stub: StubModel, folder: Path
) -> None:
    address, decision = waiting(browser, form, stub, folder)
    assert browser.post(decision, data={**form, "decision": "deny"}).status_code == 303
    done = settled(browser, address)
    assert "Denied" in done and "for monday&lt;" not in done


def test_only_known_decisions_with_a_csrf_token_count(
    browser: Actor, form: dict[str, str], stub: StubModel, folder: Path
) -> None:
    address, decision = waiting(browser, form, stub, folder)
    assert browser.post(decision, data={**form, "decision": "yes"}).status_code == 400
    assert browser.post(decision, data={"decision": "once"}).status_code == 403
    assert "Waits for you" in browser.get(address, headers=HTMX).text
    browser.post(decision, data={**form, "decision": "deny"})
    settled(browser, address)


def test_a_draft_stays_with_its_chat_until_it_is_sent(
    browser: Actor, form: dict[str, str], stub: StubModel
) -> None:
    stub.reply("Four.")
    token = {"csrf_token": form["csrf_token"]}
    assert browser.post("/chat/draft", data={**token, "message": "What <b>"}).status_code == 204
    assert ">What &lt;b&gt;</textarea>" in browser.get("/chat").text
    assert ">Something else</textarea>" in browser.get("/chat?q=Something+else").text
    settled(browser, asked(browser, form, "How many?"))
    assert "What &lt;b&gt;" not in browser.get("/chat").text
    browser.post("/chat/1/draft", data={**token, "message": "And"})
    browser.post("/chat/1/draft", data={**token, "message": "And then?"})
    page = browser.get("/chat/1").text
    assert ">And then?</textarea>" in page and 'data-draft="/chat/1/draft"' in page
    assert "And then?" not in browser.get("/chat").text
    assert browser.post("/chat/1", data={**form, "message": "And then?"}).status_code == 303
    assert ">And then?</textarea>" not in browser.get("/chat/1").text
    browser.post("/chat/1/draft", data={**token, "message": "Later"})
    browser.post("/chat/1/draft", data={**token, "message": " "})
    assert "Later" not in browser.get("/chat/1").text


def test_a_draft_for_no_chat_or_from_nobody_is_refused(browser: Actor, form: dict[str, str]) -> None:
    token = {"csrf_token": form["csrf_token"]}
    assert browser.post("/chat/99/draft", data={**token, "message": "x"}).status_code == 404
    assert browser.post("/chat/draft", data={**token, "message": "x" * 8_001}).status_code == 413
    assert browser.post("/chat/draft", data={"message": "x"}).status_code == 403


def test_a_question_is_changed_and_asked_below_the_first(
    browser: Actor, form: dict[str, str], stub: StubModel, frame: int
) -> None:
    stub.reply({"answer_md": "Fourteen days [[e1]].", "evidence": [{"id": "e1", "quote": QUOTE}]})
    settled(browser, asked(browser, form, "What did I set?", **RANGE))
    browser.post("/chat/1/draft", data={"csrf_token": form["csrf_token"], "message": "a draft"})
    page = browser.get("/chat/1?edit=1").text
    assert ">What did I set?</textarea>" in page and "Question 1 and its answer stay" in page
    assert '<option value="custom" selected>' in page and "data-draft=" not in page
    assert '<option value="stub" selected>' in page
    changed = {**form, **RANGE, "message": "What did I set at last?", "edited": "1"}
    answer = browser.post("/chat/1", data=changed, headers=HTMX)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/chat/1#t2")
    page = settled(browser, "/chat/1/turns/1") + settled(browser, "/chat/1/turns/2")
    assert page.count("Fourteen days") == 2 and "What did I set at last?" in page
    assert ">a draft</textarea>" in browser.get("/chat/1").text
    assert browser.get("/chat/1?edit=9").status_code == 404


def test_the_model_that_answered_last_is_chosen_again(
    browser: Actor, form: dict[str, str], stub: StubModel, frame: int
) -> None:
    stub.reply("never asked")
    settled(browser, asked(browser, {**form, "model": "extractive"}, "What did I set?", **RANGE))
    assert '<option value="extractive" selected>' in browser.get("/chat/1").text


def test_a_turn_with_tools_that_failed_is_tried_again_without_a_range(
    browser: Actor, form: dict[str, str], stub: StubModel
) -> None:
    stub.fail(401, "wrong key").reply("Done.")
    html = settled(browser, asked(browser, form, "How many?"))
    assert "Retry" in html and 'type="hidden" name="from_ms"' not in html
    again = browser.post("/chat/1", data={**form, "message": "How many?"})
    assert again.status_code == 303 and "Done." in settled(browser, "/chat/1/turns/2")


def test_what_failed_is_tried_again_in_no_voice_and_of_the_frame_as_it_was_asked(
    browser: Actor, form: dict[str, str], stub: StubModel, database: Database, frame: int
) -> None:
    stub.reply("Done.").fail(401, "wrong key").reply("Done.")
    settled(browser, asked(browser, form, "How many?", persona_id="1"))
    again = {**form, "message": "What stands here?", "persona_id": "", "frame": str(frame)}
    assert browser.post("/chat/1", data=again).status_code == 303
    assert "Retry" in settled(browser, "/chat/1/turns/2")
    assert browser.post("/chat/1/turns/2/retry", data=form).status_code == 303
    settled(browser, "/chat/1/turns/3")
    assert stub.requests[-1]["messages"][0]["content"].startswith(NEUTRAL)
    again_asked = conversations.turn(database, 1, 3)
    assert again_asked and again_asked.given["frame_id"] == frame


@pytest.mark.parametrize("given", [RANGE, {}], ids=["range", "no_range"])
def test_a_turn_whose_model_failed_is_answered_with_quotes_only(
    browser: Actor, form: dict[str, str], stub: StubModel, frame: int, given: dict[str, str]
) -> None:
    stub.fail(401, "wrong key")
    html = settled(browser, asked(browser, form, "What did I set the retention to?", **given))
    assert 'name="model" value="extractive"' in html
    token = {"csrf_token": form["csrf_token"], "model": "extractive"}
    assert browser.post("/chat/1/turns/1/retry", data=token).status_code == 303
    html = settled(browser, "/chat/1/turns/2")
    assert QUOTE in unescape(html) and "wrong key" not in html


def events_of(browser: Actor, address: str, heard: int | None = None) -> list[tuple[str, str, str]]:
    """(number or '', name, content) of each event of a turn's stream."""
    headers = {} if heard is None else {"Last-Event-ID": str(heard)}
    body = browser.get(f"{address}/events", headers=headers).text
    found = re.findall(r"^(?:id: (\d+)\n)?event: (\w+)\ndata: (.*)$", body, re.M)
    return [(number, name, json.loads(content)) for number, name, content in found]


def test_a_turn_is_told_as_a_stream_that_goes_on_where_it_was_lost(
    browser: Actor, form: dict[str, str], stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_patience(monkeypatch, 0.0)
    said = "One line.\nAnother\r\n<b>line</b>, " + "and words behind it " * 20 + "完。"
    stub.reply(said, pace_s=0.02)
    address = asked(browser, form, "How many?")
    events = events_of(browser, address)
    assert events[0][1] == "turn" and events[-1][:2] == ("", "turn")
    assert 'aria-busy="true"' in events[0][2] and 'aria-busy="false"' in events[-1][2]
    words = [(int(number), text) for number, name, text in events if name == "text"]
    drawn = events[[name for _, name, _ in events].index("text") - 1][2]
    begun = "".join(
        re.findall(r"<div>(.*?)</div>", drawn.partition('class="draft"')[2].partition("<p")[0], re.S)
    )
    assert len(words) > 3 and unescape(begun) + "".join(text for _, text in words) == said.replace("\r", "")
    number = words[0][0]
    assert [name for _, name, _ in events_of(browser, address, number)] == ["turn"]  # it is over
    assert browser.get("/chat/1/turns/9/events").status_code == 404


def test_what_happens_while_a_turn_is_drawn_is_told_after_it(
    app: Flask,
    browser: Actor,
    form: dict[str, str],
    stub: StubModel,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, decision = waiting(browser, form, stub, folder)
    live = app.extensions["recollect"].turns.get(1, 1)
    told = len(live.after(0))

    def denied_meanwhile(*arguments: Any) -> Any:
        rounds = call_rounds(*arguments)
        monkeypatch.setattr(turns, "call_rounds", call_rounds)
        assert browser.post(decision, data={**form, "decision": "deny"}, headers=HTMX).status_code == 204
        assert live.after(told, 60)
        return rounds

    monkeypatch.setattr(turns, "call_rounds", denied_meanwhile)
    (number, _, drawn), *_, (_, _, last) = events_of(browser, address)
    assert "Waits for you" in drawn and int(number) == told
    assert "Denied" in last


def test_the_stream_of_a_turn_that_is_deleted_says_so_and_ends(
    app: Flask, browser: Actor, form: dict[str, str], stub: StubModel, blocked: threading.Event
) -> None:
    stub.reply("Four.", wait_for=blocked)
    address = asked(browser, form, "How many?")
    found: list[tuple[str, str, str]] = []
    reader = threading.Thread(target=lambda: found.extend(events_of(browser, address)))
    reader.start()
    taken = app.extensions["recollect_followers"]
    while taken._value == event_stream.MAX_FOLLOWERS:  # it has its place, and is told the turn
        time.sleep(0.01)
    live = app.extensions["recollect"].turns.get(1, 1)
    assert browser.post("/chat/1/delete", data=form).status_code == 303
    blocked.set()
    reader.join(60)
    assert not reader.is_alive() and found[-1] == ("", "turn", "")
    live.settle(60)  # what is left of it looks into the home, which is gone after this


def test_without_a_place_a_stream_is_the_turn_as_it_is(
    app: Flask, browser: Actor, form: dict[str, str], stub: StubModel, blocked: threading.Event
) -> None:
    stub.reply("Four.", wait_for=blocked)
    address = asked(browser, form, "How many?")
    free = app.extensions["recollect_followers"]
    for _ in range(event_stream.MAX_FOLLOWERS):
        assert free.acquire(blocking=False)
    assert browser.get(f"{address}/events").text.startswith("retry: 2000\n")
    [(_, name, html)] = events_of(browser, address)
    assert name == "turn" and 'aria-busy="true"' in html
    free.release()
    blocked.set()
    settled(browser, address)
    assert [browser.get(f"{address}/events").text[:11] for _ in range(3)] == ["retry: 250\n"] * 3


def test_a_call_that_failed_is_tried_again_and_asked_about_again(
    browser: Actor, form: dict[str, str], stub: StubModel, folder: Path
) -> None:
    path = {"path": str(folder / "late.txt")}
    stub.call(("read_file", path), ("calculator", {"expression": "6*7"})).reply("It is not there.")
    address = asked(browser, form, "What is in it?")
    decision = re.findall(r'action="(/chat/1/turns/1/calls/\d+)"', asking(browser, address))
    browser.post(decision[0], data={**form, "decision": "once"})
    html = settled(browser, address)
    retry = re.findall(r'action="(/chat/1/turns/1/calls/\d+/retry)"', html)
    assert len(retry) == 1 and "Try again" in html
    calculator = f"{address}/calls/2/retry"
    assert browser.post(calculator, data=form).status_code == 409  # it did not fail
    assert browser.post(f"{address}/calls/9/retry", data=form).status_code == 404
    assert browser.post(retry[0]).status_code == 403  # no CSRF token

    (folder / "late.txt").write_text("it is here now", encoding="utf-8")
    stub._script.clear()
    stub.reply("Now it is there.")
    before = len(stub.requests)
    assert 'id="t2"' in browser.post(retry[0], data=form, headers=HTMX).text
    again = asking(browser, "/chat/1/turns/2")
    assert "late.txt" in again
    assert len(stub.requests) == before, "the model was asked before the call was made"
    decision = re.findall(r'action="(/chat/1/turns/2/calls/\d+)"', again)
    browser.post(decision[0], data={**form, "decision": "once"})
    html = settled(browser, "/chat/1/turns/2")
    assert "Now it is there." in html and "it is here now" in html
    roles = [message["role"] for message in stub.requests[-1]["messages"][-3:]]
    assert roles == ["user", "assistant", "tool"]
    assert "It is not there." in browser.get("/chat/1").text


@pytest.mark.parametrize("is_deleted", [False, True])
def test_a_follower_hears_what_came_just_before_the_end(
    own: Services, database: Database, monkeypatch: pytest.MonkeyPatch, is_deleted: bool
) -> None:
    chat_id = conversations.create(database, "What?", NOON_MS)
    turn = conversations.add_turn(
        database, chat_id, mode="agent", model="m", question="What?", start_ms=None, end_ms=None,
        timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    conversations.finish_turn(database, turn.id, "Nothing.", {}, [], NOON_MS)
    live = LiveTurn(CancelToken(), NO_CONTEXT)
    own.turns._turns[chat_id, 1] = live

    def end() -> None:
        live.add(TextEvent("Nothing."))
        live.add(FinalEvent(stored_turn(database, chat_id, 1)))

    if is_deleted:  # between two looks at what is stored
        live.close()
        meanwhile(monkeypatch, conversations, "turn", lambda: conversations.delete(database, chat_id))
    else:
        meanwhile(monkeypatch, live, "after", end)
    told = [message["type"] for message in event_stream.replay_events(own, chat_id, 1, 0) if message]
    assert told == (["final"] if is_deleted else ["block", "final"])


def test_a_chat_that_is_deleted_while_a_call_waits_is_no_failure(
    browser: Actor, form: dict[str, str], stub: StubModel, folder: Path, own: Services,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    waiting(browser, form, stub, folder)
    live = own.turns.get(1, 1)
    assert live is not None
    assert browser.post("/chat/1/delete", data=form).status_code == 303
    live.after(1_000, 60)
    assert live.is_over and not [record for record in caplog.records if record.exc_info]
