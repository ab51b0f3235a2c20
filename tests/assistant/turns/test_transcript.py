"""A conversation as messages: in the order of strict providers, with nothing of what was deleted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assistant.core.prompt_blocks import tokens_of
from assistant.core.records import ToolCallEvent
from assistant.turns.model_session import recent
from assistant.turns.plan import TurnServices, admit
from assistant.turns.transcript import TranscriptMessage, transcript
from assistant.turns.turn import run_turn
from engines.cancellation import CancelToken
from engines.chat.protocol import Message, RequestedCall
from store.chats import tool_calls
from store.core.database import Database
from store.deletion import deletion
from store.frames.media import Media
from tests.assistant.agents import agent_deps, asked, run
from tests.assistant.helpers import START_MS, Afternoon
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.voices import Voice


@pytest.fixture
def deps(database: Database, stub: StubModel) -> Iterator[TurnServices]:
    with agent_deps(database, stub) as made:
        yield made


def shape(messages: list[TranscriptMessage]) -> list[tuple[str, str, list[str]]]:
    """(role, content, ids of the calls made or answered)."""
    return [
        (each.role, each.content, [call.call_id for call in (*each.calls, each.answers) if call])
        for each in messages
    ]


def test_calls_stand_before_their_results_and_these_before_the_answer(
    deps: TurnServices, stub: StubModel
) -> None:
    stub.call(("calculator", {"expression": "2+2"}), ("shell", {"command": "ls"}), text="Let me see.")
    stub.call(("calculator", {"expression": "3+3"})).reply("Four and six.")
    chat_id = run(deps, message="What is 2+2?").result.chat_id
    identity, *found = transcript(deps.database, chat_id)
    assert identity.role == "system"
    assert shape(found)[:5] == [
        ("user", "What is 2+2?", []),
        ("assistant", "Let me see.", ["call_1", "call_2"]),
        ("tool", '{"result": 4}', ["call_1"]),
        ("tool", json.dumps({"error": "There is no tool 'shell' in this turn."}), ["call_2"]),
        ("assistant", "", ["call_1"]),
    ]
    assert [message.role for message in found[5:]] == ["tool", "assistant"]
    assert [message.created_ms for message in found] == sorted(message.created_ms for message in found)


def test_what_was_deleted_is_not_in_it(deps: TurnServices, stub: StubModel, afternoon: Afternoon) -> None:
    """The words beside the calls go, too."""
    frame = afternoon.show(5, "secretword", app_name="Editor", window_name="hiddentitle")
    stub.call(("activity_summary", {"start": START_MS / 1000}))
    stub.call(("calculator", {"expression": "1+1"}), text="I saw hiddentitle, now I add up.")
    stub.reply("You had hiddentitle open.")
    chat_id = run(deps).result.chat_id
    assert "hiddentitle" in str(shape(transcript(deps.database, chat_id)))
    deletion.delete_frames(deps.database, Media(deps.database.data_dir.media), [frame.id])
    _, *left = transcript(deps.database, chat_id)
    assert "hiddentitle" not in str(shape(left))
    assert [message.role for message in left] == [
        "user", "assistant", "tool", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert json.loads(left[2].content) == {"error": "deleted"}


def test_a_call_that_ran_when_the_turn_was_stopped_is_over(deps: TurnServices, stub: StubModel) -> None:
    """No call is left without a result, however the turn ends."""
    assert deps.agent
    stop, release = CancelToken(), threading.Event()
    endless = replace(deps.agent.tools["calculator"], run=lambda context, expression: release.wait(60))
    deps.agent.tools["calculator"] = endless
    stub.call(("calculator", {"expression": "2+2"}), text="Let me see.")
    for event in run_turn(deps, asked("What is 2+2?"), stop):
        if isinstance(event, ToolCallEvent) and event.call.state == "executing":
            stop.set()
            chat_id, n = event.call.chat_id, event.call.turn
    release.set()
    [call] = tool_calls.of_turn(deps.database, chat_id, n)
    assert (call.state, call.error) == ("failed", "interrupted")
    assert [message.role for message in transcript(deps.database, chat_id)][1:4] == [
        "user", "assistant", "tool",
    ]  # fmt: skip


@for_each("form", ["", "functionary", "command-r", "llama31"])
def test_a_later_question_is_told_again_what_tools_gave(
    form: str, database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    """Without the ids of the earlier turn, which would mean other frames in this one."""
    afternoon.show(5, "the retention policy")
    voice = Voice(stub.anew(), form)
    voice.call(("search_ocr", {"query": "retention"}))
    voice.reply("Ninety days [[e1]].")
    voice.reply("Still ninety.")
    with agent_deps(database, stub, form) as deps:
        first = run(deps).result
        run(deps, chat_id=first.chat_id, message="And now?")
    _, question, made, result, answer, now = stub.requests[-1]["messages"]
    assert (question["content"], now["content"]) == ("Which policy did I read about?", "And now?")
    assert "search_ocr" in str(made) and "the retention policy" in result["content"]
    assert '"cite"' not in result["content"] and "[[e" not in answer["content"]


def test_the_newest_exchanges_stay_whole_and_older_ones_lose_results_first(deps: TurnServices) -> None:
    def exchange(n: int) -> list[Message]:
        call, result = RequestedCall(f"c{n}", "calculator", "{}"), Message("tool", "word " * 500, (), f"c{n}")
        return [
            Message("user", f"q{n}"),
            Message("assistant", "", (call,)),
            result,
            Message("assistant", f"a{n}"),
        ]

    history, plan = [exchange(n) for n in range(4)], admit(deps, asked())
    whole = tokens_of(exchange(0))
    assert recent(history, 4 * whole, plan) == history
    *brief, third, last = recent(history, 2 * whole + 4, plan)
    assert [third, last] == history[2:] and [len(each) for each in brief] == [2]
    assert recent(history, 0, plan) == []
