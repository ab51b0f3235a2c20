"""A conversation with an endpoint that keeps it goes on from its last response."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from assistant.turns.plan import TurnServices
from store.core.database import Database
from store.deletion import deletion
from store.egress import egress_log
from store.frames.media import Media
from tests.assistant.agents import agent_deps, run
from tests.assistant.helpers import NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel
from webapp.pages import egress
from webapp.pages.models import prompt_blocks

HOURS = {"start_ms": START_MS, "end_ms": START_MS + 3_600_000}


@pytest.fixture
def stub() -> Iterator[StubModel]:
    with StubModel(has_responses=True) as running:
        yield running


@pytest.fixture
def deps(database: Database, stub: StubModel) -> Iterator[TurnServices]:
    with agent_deps(database, stub, flags={"supports_responses": True}) as made:
        yield made


def told(stub: StubModel, n: int = -1) -> list[str]:
    return [str(item.get("content", item.get("output"))) for item in stub.requests[n]["input"]]


def test_tools_and_the_next_question_go_on_from_the_last_response(
    deps: TurnServices, stub: StubModel
) -> None:
    stub.call(("calculator", {"expression": "6*7"})).reply(reply("It is 42.")).reply(reply("Still 42."))
    first = run(deps, message="What is 6*7?").result
    assert first.response_id == "resp_2" and first.answer_md.endswith("It is 42.")
    assert [request.get("previous_response_id") for request in stub.requests] == [None, None]
    assert stub.requests[1]["input"][-1]["type"] == "function_call_output"
    second = run(deps, message="And again?", chat_id=first.chat_id).result
    assert stub.requests[2]["previous_response_id"] == "resp_2"
    assert told(stub) == ["And again?"], "what the endpoint has is not sent again"
    assert stub.requests[2]["instructions"].startswith(stub.requests[0]["instructions"][:200])
    assert second.response_id == "resp_3"


def test_evidence_mode_goes_on_too(deps: TurnServices, stub: StubModel, afternoon: Afternoon) -> None:
    afternoon.show(5, "the retention policy")
    stub.reply(reply("The policy [[e1]].", ("e1", "retention policy")))
    first = run(deps, message="What did I read?", mode="evidence", **HOURS).result
    assert [claim.state for claim in first.claims] == ["cited"]
    run(deps, message="What else?", mode="evidence", chat_id=first.chat_id, **HOURS)
    assert stub.requests[1]["previous_response_id"] == first.response_id
    assert len(stub.requests[1]["input"]) == 1


def test_a_forgotten_response_is_dropped_and_the_answer_comes(deps: TurnServices, stub: StubModel) -> None:
    stub.reply(reply("First.")).reply(reply("Second."))
    first = run(deps, message="One?").result
    stub.known.clear()
    second = run(deps, message="Two?", chat_id=first.chat_id).result
    assert second.answer_md.endswith("Second.") and len(stub.refused) == 1
    assert told(stub)[0] == "One?" and told(stub)[-1] == "Two?"


def test_nothing_goes_on_after_a_deletion(deps: TurnServices, stub: StubModel, database: Database) -> None:
    stub.reply(reply("First."))
    first = run(deps, message="One?").result
    deletion.delete_range(database, Media(database.data_dir.media), START_MS, NOW_MS, now_ms=NOW_MS)
    run(deps, message="Two?", chat_id=first.chat_id)
    assert "previous_response_id" not in stub.requests[1]


def test_a_given_response_is_passed_on_and_ignored_where_unsupported(
    database: Database, stub: StubModel
) -> None:
    stub.reply(reply("First.")).reply(reply("Second."))
    stub.known.add("resp_mine")
    with agent_deps(database, stub, flags={"supports_responses": True}) as deps:
        first = run(deps, message="One?").result
        run(deps, message="Two?", chat_id=first.chat_id, previous_response_id="resp_mine")
    assert stub.requests[1]["previous_response_id"] == "resp_mine"
    with agent_deps(database, stub) as plain:
        answered = run(plain, message="One?", chat_id=first.chat_id, previous_response_id="resp_mine").result
    assert answered.response_id == "" and "previous_response_id" not in stub.requests[2]


def test_what_was_sent_is_shown_as_messages(deps: TurnServices, stub: StubModel, database: Database) -> None:
    stub.call(("calculator", {"expression": "6*7"})).reply(reply("It is 42."))
    first = run(deps, message="What is 6*7?").result
    last = egress_log.of_turn(database, first.chat_id, 1)[-1]
    roles = [role for role, _ in egress._parts(last.body or "")]
    assert roles == ["system", "user", "function_call", "function_call_output"]
    assert prompt_blocks.prompt_sent(last), "its system prompt is taken apart again"
