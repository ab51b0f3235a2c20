"""Whole conversations with tools: every format, by every mouth, with one and the same transcript.

The model is a real HTTP server that speaks the protocol from a script, the web app runs on a real
socket, and each mouth asks as its clients do. What the store has in the end, and every word that
reached the model, must not depend on the mouth.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from store.chats import conversations
from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.voices import FORMS, Voice
from tests.webapp.conftest import agent_settings
from tests.webapp.mouths import Form, Mouth, Running, mouths, serve

POLICY = "the retention policy was changed to ninety days"
INVOICE = "invoice from Wagner about 420 EUR"
PROVEN = {"answer_md": "Ninety days [[e1]].", "evidence": [{"id": "e1", "quote": POLICY}]}
BOTH = {
    "answer_md": "Ninety days [[e1]], and 420 EUR [[e2]].",
    "evidence": [{"id": "e1", "quote": POLICY}, {"id": "e2", "quote": INVOICE}],
}
POLICY_SEARCH = ("search_ocr", {"query": "policy"})
INVOICE_SEARCH = ("search_ocr", {"query": "invoice"})
SUM = ("calculator", {"expression": "2+2"})
QUESTION = "Which policy did I read about?"


@dataclass(frozen=True)
class Scenario:
    """`script` is what the model says to each of `questions`; the rest is what must come of it.

    `states` are those of the calls in order, `said` stands in the last answer; with `error` the last
    turn failed with this code, and what was `said` until then is kept.
    """

    script: Callable[[Voice], None]
    states: tuple[str, ...]
    said: str = ""
    error: str = ""
    questions: tuple[str, ...] = (QUESTION,)
    allows: bool = False
    tools: dict[str, Any] = field(default_factory=dict)
    is_slow: bool = False


PLAN = ("read_file", {"path": "plan.txt"})
_REFUSED = {"error": {"message": "This model's maximum context length is 4096 tokens", "code": None}}


def _single(voice: Voice) -> None:
    voice.call(POLICY_SEARCH, text="Let me look.")
    voice.reply(PROVEN)


def _two_turns(voice: Voice) -> None:
    _single(voice)
    voice.call(INVOICE_SEARCH)
    voice.call(SUM, text="Now I add up.")
    voice.reply({"answer_md": "420 EUR [[e1]].", "evidence": [{"id": "e1", "quote": INVOICE}]})


def _parallel(voice: Voice) -> None:
    voice.call(POLICY_SEARCH, INVOICE_SEARCH, SUM, text="Three at once.")
    voice.reply(BOTH)


def _asking(voice: Voice) -> None:
    voice.call(PLAN, SUM, text="I would like to read it.")
    voice.reply("It is about monday.")


def _slow(voice: Voice) -> None:
    voice.call(SUM)
    voice.reply("I do not know.")


def _malformed(voice: Voice) -> None:
    voice.garble()
    voice.call(SUM, ("shell", {"command": "ls"}), ("calculator", {"expr": "1"}))
    voice.reply("Four, I think.")


def _capped(voice: Voice) -> None:
    voice.call(SUM)
    voice.call(SUM)
    voice.reply("Four, as far as I got.")


def _dropped(voice: Voice) -> None:
    voice.call(SUM, text="Let me see.")
    voice.reply("The answer is four, and many more words follow here.", breaks_after=900)


def _overflowing(voice: Voice) -> None:
    voice.call(POLICY_SEARCH)
    voice.stub.raw(json.dumps(_REFUSED).encode(), status=400)


def _overflowing_once(voice: Voice) -> None:
    voice.call(INVOICE_SEARCH)
    voice.call(POLICY_SEARCH)
    voice.stub.raw(json.dumps(_REFUSED).encode(), status=400)
    voice.reply({"answer_md": "Ninety days.", "evidence": []})


def _chunks(*chunks: str) -> Callable[[Voice], None]:
    def script(voice: Voice) -> None:
        voice.call(SUM)
        body = "".join(f"data: {chunk}\n\n" for chunk in chunks)
        voice.stub.raw(body.encode(), content_type="text/event-stream")

    return script


def _piece(text: str, finish: str | None = None) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return json.dumps({"choices": [choice]})


_END = _piece("", "stop")

SCENARIOS = {
    "single": Scenario(_single, ("completed",), "Ninety days [1]."),
    "two turns": Scenario(
        _two_turns, ("completed",) * 3, "420 EUR [1].", questions=(QUESTION, "And who sent it?")
    ),
    "parallel": Scenario(_parallel, ("completed",) * 3, "Ninety days [1], and 420 EUR [2]."),
    "denied": Scenario(_asking, ("denied", "completed"), "It is about monday."),
    "allowed": Scenario(_asking, ("completed", "completed"), "It is about monday.", allows=True),
    "timed out": Scenario(_slow, ("timed_out",), "I do not know.", tools={"timeout_s": 0.3}, is_slow=True),
    "malformed": Scenario(_malformed, ("failed", "completed", "failed", "failed"), "Four, I think."),
    "cap reached": Scenario(
        _capped, ("completed", "completed"), "Four, as far as I got.", tools={"max_iterations": 2}
    ),
    "provider dropped": Scenario(
        _dropped, ("completed",), "The answer is four, and", error="model_unreachable"
    ),
    "context overflow": Scenario(_overflowing, ("completed",), error="context_too_long"),
    "context overflow once": Scenario(_overflowing_once, ("completed",) * 2, "Ninety days"),
    "broken chunk": Scenario(
        _chunks(_piece("The answer"), "{no json"), ("completed",), "The answer", error="model_malformed"
    ),
    "strange chunks": Scenario(
        _chunks("[]", '{"choices": 7}', '{"choices": [{"delta": []}]}', _piece("Four."), _END, "[DONE]"),
        ("completed",),
        "Four.",
    ),
    "error as a chunk": Scenario(
        _chunks(_piece("The answer"), '{"error": {"message": "out of memory"}}'),
        ("completed",),
        "The answer",
        error="model_failed",
    ),
}  # fmt: skip


@pytest.fixture
def memory(database: Database, data_dir: DataDir) -> None:
    """Two frames to be found."""
    store_frame(database, data_dir, NOON_MS + 1_000, POLICY)
    store_frame(database, data_dir, NOON_MS + 60_000, INVOICE, window_name="mail")


@dataclass(frozen=True)
class Held:
    """A conversation as it was held by one mouth."""

    chat: dict[str, Any]
    turns: list[dict[str, Any]]
    sent: list[Any]
    """Every message that reached the model."""


def clock() -> int:
    """An hour after noon, for as long as a conversation takes."""
    return NOON_MS + 3_600_000


def _held(mouth: Mouth, scenario: Scenario, voice: Voice) -> Held:
    scenario.script(Voice(voice.stub.anew(), voice.form))
    asked: list[tuple[int, int]] = []
    for question in scenario.questions:
        asked.append(mouth.ask(question, chat_id=asked[-1][0] if asked else None, allows=scenario.allows))
    running = mouth.running
    turns = [running.api("GET", f"/chats/{chat}/turns/{n}").json() for chat, n in asked]
    chat = running.api("GET", f"/chats/{asked[0][0]}").json()
    return Held(chat, turns, [request["messages"] for request in voice.stub.requests])


def _without(value: Any, *names: str) -> Any:
    """The value without what differs from conversation to conversation: its numbers."""
    if isinstance(value, dict):
        return {key: _without(each, *names) for key, each in value.items() if key not in names}
    return [_without(each, *names) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_every_mouth_leaves_the_same_transcript(
    name: str, form: str, database: Database, memory: None, stub: StubModel, folder: Path
) -> None:
    scenario = SCENARIOS[name]
    release = threading.Event()
    with serve(
        database, agent_settings(stub, folder, form, **scenario.tools), lambda: NOON_MS + 3_600_000
    ) as running:
        if scenario.is_slow:
            _never_ends(running, release)
        used = _some(mouths(running), name, form)
        held = [_held(mouth, scenario, Voice(stub, form)) for mouth in used]
        release.set()
    _check(held[0], scenario, form)
    for other in held[1:]:
        assert other.sent == held[0].sent
        assert _without(other.turns, "chat_id", "request_id") == _without(
            held[0].turns, "chat_id", "request_id"
        )
        assert _without(other.chat, "id", "tool_call") == _without(held[0].chat, "id", "tool_call")
    for mouth in used:
        _check_told(mouth, scenario)


def _some(all_of_them: list[Mouth], name: str, form: str) -> list[Mouth]:
    """Every mouth where a model calls natively; in a text format the first and each other one in its turn."""
    if not form:
        return all_of_them
    first, *others = all_of_them
    return [first, others[(list(SCENARIOS).index(name) + list(FORMS).index(form)) % len(others)]]


def _never_ends(running: Running, release: threading.Event) -> None:
    tools = running.own.agent.tools
    tools["calculator"] = replace(tools["calculator"], run=lambda context, expression: release.wait(60))


def _check(held: Held, scenario: Scenario, form: str) -> None:
    """Valid for a strict provider, and what the scenario is about."""
    messages = held.chat["messages"]
    calls = [call for message in messages for call in message["tool_calls"] or ()]
    assert tuple(call["state"] for call in calls) == scenario.states
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            waiting.remove(message["tool_call_id"])
            json.loads(message["content"])
            continue
        assert not waiting, "a call is left without a result"
        waiting = [call["id"] for call in message["tool_calls"] or ()]
    assert not waiting
    assert [m["content"] for m in messages if m["role"] == "user"] == list(scenario.questions)
    last = held.turns[-1]
    assert [m["cut_off"] for m in messages] == [False] * (len(messages) - 1) + [
        bool(scenario.error and scenario.said)
    ]
    if scenario.error:
        assert (last["error"] if scenario.said else last)["code"] == scenario.error
        assert messages[-1]["role"] == ("assistant" if scenario.said else "tool")
        assert messages[-1]["content"] == last.get("answer_md", messages[-1]["content"])
        assert scenario.said in last.get("answer_md", "")
    else:
        assert scenario.said in last["answer_md"]
        assert messages[-1]["content"] == last["answer_md"]
    if not form:
        _check_protocol(held.sent[-1])


def _check_protocol(messages: list[dict[str, Any]]) -> None:
    """What was sent to a native model: every call has its result, right behind the message that made it."""
    assert messages[0]["role"] == "system"
    owed: list[str] = []
    for message in messages[1:]:
        assert bool(owed) == (message["role"] == "tool")
        if message["role"] == "tool":
            owed.remove(message["tool_call_id"])
        owed += [call["id"] for call in message.get("tool_calls", ())]


def _check_told(mouth: Mouth, scenario: Scenario) -> None:
    """What the client heard meanwhile: in order, typed, and to its end; on the page in words."""
    events = mouth.events
    if events:
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert [event["type"] for event in events].count("final") == 1
        assert [event["code"] for event in events if event["type"] == "error"] == (
            [scenario.error] if scenario.error else []
        )
        said = "".join(event["text"] for event in events if event["type"] == "text")
        assert "<" not in said
        assert "Action" not in said
    if isinstance(mouth, Form):
        assert ("Retry</button>" in mouth.page) == bool(scenario.error)
        assert ("broke off here" in mouth.page) == bool(scenario.error and scenario.said)


def test_after_a_failed_turn_the_conversation_goes_on(
    database: Database, memory: None, stub: StubModel, folder: Path
) -> None:
    """A usable transcript: the next question is answered, and the failed turn is not told as an answer."""
    with serve(database, agent_settings(stub, folder), clock) as running:
        for mouth in mouths(running):
            _dropped(Voice(stub.anew(), ""))
            chat_id, _ = mouth.ask(QUESTION)
            _single(Voice(stub.anew(), ""))
            assert mouth.ask("And now?", chat_id=chat_id) == (chat_id, 2)
            turn = running.api("GET", f"/chats/{chat_id}/turns/2").json()
            assert turn["answer_md"] == "Ninety days [1]."
            assert [message["role"] for message in stub.requests[0]["messages"]] == ["system", "user"]


def test_a_failed_turn_is_tried_again_as_it_was_asked(
    database: Database, memory: None, stub: StubModel, folder: Path
) -> None:
    """The button repeats the question with tools, not over the times that its tools happened to show."""
    with serve(database, agent_settings(stub, folder), clock) as running:
        form = Form(running)
        _overflowing(Voice(stub, ""))
        chat_id, _ = form.ask(QUESTION)
        _single(Voice(stub.anew(), ""))
        assert form.press("Retry") == (chat_id, 2)
        turn = running.api("GET", f"/chats/{chat_id}/turns/2").json()
        assert (turn["mode"], turn["answer_md"]) == ("auto", "Ninety days [1].")


def test_what_is_asked_again_keeps_the_range_and_the_filters_it_was_given(
    database: Database, memory: None, data_dir: DataDir, stub: StubModel, folder: Path
) -> None:
    """A failed call and a failed turn are tried again within what the question was given."""
    outside = store_frame(database, data_dir, NOON_MS + 1_800_000, "the policy was read again")
    given = {"start_time": NOON_MS / 1000, "end_time": NOON_MS / 1000 + 600, "filters": {"app_name": "App"}}
    asked = {"message": QUESTION, "timezone": "Asia/Shanghai", "model": "stub", "mode": "agent", **given}
    with serve(database, agent_settings(stub, folder), clock) as running:
        form = Form(running)
        form._come_in()
        Voice(stub, "").call(("calculator", {"expression": "7/0"}))
        _overflowing(Voice(stub, ""))
        stub._script.pop(1)
        assert running.api("POST", "/chat", asked).json()["code"] == "context_too_long"
        assert not form._is_busy(1)
        for n, button in ((2, "Try again"), (3, "Retry")):
            if button == "Retry":
                _overflowing(Voice(stub.anew(), ""))
                assert form.press("Try again") == (1, 3)
                n = 4
            Voice(stub.anew(), "").call(("get_frame", {"frame_id": outside.id}))
            Voice(stub, "").reply("Nothing more.")
            assert form.press(button) == (1, n)
            turn = running.api("GET", f"/chats/1/turns/{n}").json()
            assert (turn["mode"], turn["time_range"]["start_time"]) == ("agent", given["start_time"])
            assert turn["time_range"]["end_time"] == given["end_time"]
            told = json.loads(stub.requests[-1]["messages"][-1]["content"])
            assert "outside" in told["error"]
            kept = conversations.turn(database, 1, n)
            assert kept and kept.given == {
                "filters": {"app_name": "App"},
                "start_ms": NOON_MS,
                "end_ms": NOON_MS + 600_000,
            }
