"""Room in a conversation with tools: older results go, the newest keep their beginnings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assistant.core.models import ChatModels
from assistant.core.prompt_blocks import tokens_of
from assistant.core.texts import estimate_tokens
from assistant.tools.registry import EVERY_NAME, SOURCES, WINDOW_SHARE
from assistant.turns.model_session import LEFT_OUT, RESULTS, fit
from assistant.turns.plan import TurnServices
from engines.chat.protocol import Message, RequestedCall
from store.core.database import Database
from store.core.settings import ChatSettings
from store.sources import entities
from store.sources.calendars import EventRecord
from store.sources.entities import Provenance
from store.sources.locations import PlaceRecord
from tests.assistant.agents import agent_deps, offered, run
from tests.assistant.helpers import NOW_MS, Afternoon
from tests.sources import message, put_events, put_messages, put_places
from tests.stub_model import StubModel
from tests.tables import for_each

TOO_LONG = "This model's maximum context length is exceeded"
NAMED = "This model's maximum context length is 2048 tokens. However, you requested 5121 tokens."


def rounds(*results: str, is_text: bool = False) -> list[Message]:
    """A conversation with one result a round."""
    messages = [Message("system", "rules"), Message("user", "question")]
    for n, result in enumerate(results):
        call = RequestedCall(f"c{n}", "search_ocr", "{}")
        messages.append(Message("assistant", "", () if is_text else (call,)))
        told = (
            Message("user", f"{RESULTS}\n{result}") if is_text else Message("tool", result, call_id=call.id)
        )
        messages.append(told)
    return messages


def of(words: int) -> str:
    return json.dumps({"text": "word " * words})


@for_each("is_text", [False, True])
def test_the_oldest_results_go_first_and_the_newest_keep_their_beginnings(is_text: bool) -> None:
    messages = rounds(of(900), of(900), of(900), is_text=is_text)
    one, *counts = fit(messages, tokens_of(messages) - 100)
    assert counts == [1, 0]
    assert [LEFT_OUT in message.content for message in one[3::2]] == [True, False, False]
    most, *counts = fit(messages, tokens_of(messages) // 4)
    assert counts == [2, 1]
    assert tokens_of(most) <= tokens_of(messages) // 4
    told = most[-1].content.removeprefix(RESULTS)
    assert of(900).startswith(json.loads(told)["beginning"])
    assert [message.role for message in most] == [message.role for message in messages]
    assert [message.tool_calls for message in most] == [message.tool_calls for message in messages]


def test_what_fits_stays_and_what_cannot_shrink_is_told() -> None:
    messages = rounds(of(10))
    for given, room in ((messages, tokens_of(messages)), (messages, 1), (messages[:2], 1)):
        assert fit(given, room) == (given, 0, 0)


@pytest.fixture
def deps(database: Database, stub: StubModel, afternoon: Afternoon) -> Iterator[TurnServices]:
    for minute in range(8):
        afternoon.show(minute, f"policy {minute} " + "words and words " * 60)
    with agent_deps(database, stub) as deps:
        yield deps


def test_a_request_that_is_refused_as_too_long_is_made_smaller(deps: TurnServices, stub: StubModel) -> None:
    """Said in the turn; a typed error only when that is too long as well."""
    search = ("search_ocr", {"query": "policy", "limit": 20})
    stub.call(search).call(search).fail(400, TOO_LONG, code="context_length_exceeded").reply("Eight.")
    ran = run(deps)
    assert ran.result.error is None and "Eight." in ran.result.answer_md
    assert [warning.split()[0] for warning in ran.result.warnings[:2]] == ["1", "1"]
    first, second = (json.dumps(stub.requests[n]["messages"]) for n in (1, 2))
    assert "left out" not in first and "left out" in second and "only its beginning" in second
    stub.anew().call(search).fail(400, TOO_LONG, code="context_length_exceeded")
    ran = run(deps)
    assert ran.result.error and ran.result.error.code == "context_too_long"
    assert any("lost their ends" in warning for warning in ran.result.warnings)
    assert [call.state for call in ran.calls] == ["completed"]


def test_a_window_that_a_refusal_names_is_what_all_is_chosen_for_and_is_kept(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    """A server that tells its window nowhere else: tools, frames and the chat are chosen anew for that."""
    for minute in range(40):
        afternoon.show(minute, f"policy {minute} " + "words and words " * 60)
    stub.can = ("tools", "json_schema")
    settings = ChatSettings(base_url=stub.base_url, model="stub", timeout_s=60)
    models = ChatModels(settings, {}, database=database, waits_s=())
    models.find_out("stub", 60)
    with agent_deps(database, stub) as made:
        deps = replace(made, models=models)
        stub.fail(400, NAMED, code="context_length_exceeded").reply("Eight.")
        ran = run(deps, message="What was the policy?", mode="auto")
        assert ran.result.error is None and "Eight." in ran.result.answer_md
        assert any("tools" in warning for warning in ran.result.warnings)
        assert len(json.dumps(stub.requests[0])) / 4 < 2048 and "policy" in stub.prompt(0)
        assert models.endpoint("stub").context_tokens == 2048 and models.endpoint("stub").supports_tools
        run(deps, message="What was the policy?", mode="auto")
        assert len(stub.requests) == 2
    models.close()
    again = ChatModels(settings, {}, database=database)
    assert again.endpoint("stub").context_tokens == 2048
    again.close()


def test_a_small_window_is_told_of_fewer_tools_and_still_of_frames(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    """Those stay that find in this home what is asked for most, and what is not on offer is said."""
    for minute in range(20):
        afternoon.show(minute, f"policy {minute} " + "words and words " * 20)
    stub.reply("Twenty.")
    with agent_deps(database, stub, context_tokens=8_192) as deps:
        run(deps, mode="auto")
        assert {"search_ocr", "get_frame", "activity_summary"} <= offered(stub)
        assert not offered(stub) & SOURCES.keys()  # this home has none of them
        assert stub.prompt().count("[[e") > 5
        put_messages(database, [message("Die Lieferung kommt am Dienstag", NOW_MS - 1)])
        put_events(database, [EventRecord("Lieferung", NOW_MS, NOW_MS + 1)])
        put_places(database, [PlaceRecord("Hof", 1, 1)])
        with database.write() as connection:
            entities.store_entity(connection, "person", "Ada", Provenance(NOW_MS))
        ran = run(deps, mode="auto")
    wanted = {"search_ocr", "get_frame", "search_messages", "get_sms_messages", "get_calendar_events"}
    assert wanted <= offered(stub) and "reverse_geocode" not in offered(stub)
    told = json.dumps(stub.requests[-1]["tools"])
    assert estimate_tokens(told) < 8_192 / WINDOW_SHARE * 1.2
    assert not {name for name in EVERY_NAME - offered(stub) if name in told}
    assert any("tools were not on offer" in warning for warning in ran.result.warnings)


def test_a_window_with_no_room_for_both_has_frames_and_no_tools(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    for minute in range(6):
        afternoon.show(minute, f"policy {minute} is settled")
    stub.reply({"answer_md": "It is settled [[e1]].", "evidence": []})
    with agent_deps(database, stub, context_tokens=1_024) as deps:
        ran = run(deps, message="What of the policy?", mode="auto")
    assert "tools" not in stub.requests[0] and "[[e1]]" in stub.prompt(0)
    assert ran.result.claims[0].state == "cited"
    assert any("tools were not on offer" in warning for warning in ran.result.warnings)


def test_frames_have_all_the_room_until_tools_have_given_something(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    for minute in range(60):
        afternoon.show(minute, f"policy {minute} " + "words and words " * 40)
    stub.call(("search_ocr", {"query": "policy", "limit": 10})).reply("Sixty.")
    with agent_deps(database, stub, context_tokens=8_192) as deps:
        ran = run(deps, mode="auto")
    first, second = (request["messages"][1]["content"].count("[[e") for request in stub.requests)
    assert 5 < second < first and "results" not in " ".join(ran.result.warnings)
    assert f"{60 - first} of the 60 selected frames" in " ".join(ran.result.warnings)


def test_screens_full_of_figures_fit_into_the_window_as_models_count_them(
    database: Database, stub: StubModel, afternoon: Afternoon
) -> None:
    """Tokenizers keep digits and signs apart: figures take more than a quarter of a token each."""
    for minute in range(40):
        afternoon.show(minute, "\n".join(f"policy 18,430.{n:02} | 2026-11-{n:02}T14:05" for n in range(12)))
    stub.can = ("json_schema",)
    window, apart = 2_048, re.compile(r"\d|[A-Za-z]+|[^\w\s]")
    with agent_deps(database, stub, context_tokens=window) as deps:
        stub.reply("Many figures.")
        asked_at = {"mode": "evidence", "start_ms": NOW_MS - 86_400_000, "end_ms": NOW_MS}
        assert run(deps, message="What was the policy?", **asked_at).result.error is None
    assert "policy" in stub.prompt(0) and len(apart.findall(stub.prompt(0))) < window * 3 // 4
