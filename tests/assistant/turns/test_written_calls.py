"""A model that calls in another way than was found out, and one that says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from assistant.core.models import ChatModels
from assistant.core.records import DeltaEvent
from assistant.turns.plan import TurnServices
from store.core.database import Database
from store.core.settings import ChatSettings
from tests.assistant.agents import agent_deps, offered, run
from tests.assistant.helpers import Afternoon, reply
from tests.stub_model import Request, StubModel
from tests.tables import for_each

POLICY = "Die Ruderanlage wird am Freitag um 07:30 Uhr geprüft"
CALL = '{"name": "search_ocr", "arguments": {"query": "Ruderanlage"}}'


@pytest.fixture
def deps(database: Database, stub: StubModel, afternoon: Afternoon) -> Iterator[TurnServices]:
    afternoon.show(5, POLICY)
    with agent_deps(database, stub) as made:
        yield made


@for_each(
    "written",
    [
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"Ich sehe nach.\n<tool_call>{CALL}</tool_call>",
        f"[{CALL}]",
        f"```json\n{CALL}\n```",
        '<function=search_ocr>{"query": "Ruderanlage"}</function>',
        f"<think>I need a look.</think>{CALL}",
    ],
)
def test_a_call_written_as_text_by_a_model_that_calls_natively_is_made(
    deps: TurnServices, stub: StubModel, written: str
) -> None:
    """And it is told back as the endpoint's own, with an id of its own for each round."""
    stub.anew().reply(written).reply(written).reply(reply("Freitag um 07:30 Uhr [[e1]].", ("e1", POLICY)))
    ran = run(deps, message="Wann wird die Ruderanlage geprüft?")
    assert [(call.tool, call.state) for call in ran.calls] == [("search_ocr", "completed")] * 2
    assert ran.result.answer_md == "Freitag um 07:30 Uhr [1]."
    told = stub.requests[2]["messages"]
    wanted = [call["id"] for message in told for call in message.get("tool_calls", ())]
    assert wanted == [message["tool_call_id"] for message in told if message["role"] == "tool"]
    assert len(set(wanted)) == 2
    shown = "".join(event.text for event in ran.events if isinstance(event, DeltaEvent) and event.part < 3)
    assert not set("{<[`") & set(shown)


def test_that_a_model_writes_its_calls_is_remembered(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    """It is told its tools in that format from the next question on."""
    afternoon.show(5, POLICY)
    stub.can = ("tools", "json_schema")
    models = ChatModels(ChatSettings(base_url=stub.base_url), {}, database=database, waits_s=())
    with agent_deps(database, stub) as made:
        deps = replace(made, models=models)
        assert models.find_out(models.default, 60).tool_format == ""
        stub.reply(f"<tool_call>{CALL}</tool_call>").reply("Freitag.")
        run(deps)
        assert models.endpoint(models.default).tool_format == "hermes"
        run(deps)
    models.close()
    assert "tools" not in stub.requests[-1] and "<tool_call>" in stub.prompt()


def test_who_calls_natively_too_is_not_remembered_for_a_slip(deps: TurnServices, stub: StubModel) -> None:
    stub.call(("search_ocr", {"query": "Ruder"})).reply(f"<tool_call>{CALL}</tool_call>").reply("Freitag.")
    run(deps)
    run(deps)
    assert offered(stub)


@for_each(
    "useless",
    [
        "",
        " \n",
        "<think>Hm.</think>",
        '<tool_call>{"name": "make_coffee", "arguments": {}}</tool_call>',
        'Moment.\n<tool_call>{"name": "search_ocr", "argu',
        '[{"name": "make_coffee", "parameters": {}}]',
        '{"evidence": []}',
    ],
)
def test_what_says_nothing_is_followed_by_one_last_call_without_tools(
    deps: TurnServices, stub: StubModel, useless: str
) -> None:
    stub.anew().reply(useless).reply("Freitag um 07:30 Uhr.")
    ran = run(deps)
    assert ran.result.answer_md.endswith("Freitag um 07:30 Uhr.") and ran.result.status == "done"
    assert [bool(request.get("tools")) for request in stub.requests] == [True, False]
    assert "No more tools can be called" in stub.prompt()


@for_each("mode", ["agent", "evidence"])
def test_a_model_that_never_says_anything_fails_the_turn(
    deps: TurnServices, stub: StubModel, mode: str
) -> None:
    stub.anew().reply("")
    result = run(deps, mode=mode, message="What was on it today?").result
    assert (result.status, result.error and result.error.code) == ("failed", "model_malformed")
    assert len(stub.requests) == 2


def test_nothing_is_asked_twice_in_vain(deps: TurnServices, stub: StubModel) -> None:
    """Where a text alone is wanted an empty one is asked for once more."""
    stub.reply("").reply("Freitag.")
    assert run(deps, mode="evidence", message="What was on it today?").result.status == "done"


def test_markup_behind_the_cap_is_not_shown(database: Database, stub: StubModel) -> None:
    def again(_: Request) -> str:
        return f"Noch einmal.\n<tool_call>{CALL}</tool_call>"

    stub.reply(again)
    with agent_deps(database, stub, max_iterations=2) as deps:
        ran = run(deps)
    assert len(stub.requests) == 3 and "tool_call" not in ran.result.answer_md
    assert ran.result.answer_md.endswith("Noch einmal.")
