"""The one call: noted before it leaves, made smaller when it is too long, counted and priced."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from assistant.core.models import ChatModels
from assistant.core.records import TurnRequest, TurnResult
from assistant.core.texts import estimate_tokens
from assistant.turns.plan import TurnServices
from assistant.turns.turn import answer
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.settings import ChatModelSettings, ChatSettings
from store.egress import egress_log
from tests.assistant.conftest import Ask
from tests.assistant.helpers import HOUR_MS, NOW_MS, START_MS, Afternoon, reply
from tests.stub_model import StubModel

LINE = "The quick brown fox jumps over the lazy dog and runs away"


def test_what_was_sent_is_kept_to_the_byte(
    ask: Ask, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    afternoon.show(1, "a line on the screen")
    stub.reply(reply("It said so [[e1]].", ("e1", "a line on the screen")))
    result = ask()
    (kept,) = egress_log.of_turn(database, result.chat_id, result.turn_id)
    assert kept.body is not None
    assert json.loads(kept.body) == stub.requests[0]
    assert kept.size_bytes == len(kept.body.encode()) == int(stub.headers[0]["content-length"])
    assert (kept.outcome, kept.provider, kept.is_local) == ("answered", "stub", True)
    assert kept.url == f"{stub.base_url}/chat/completions"
    assert (kept.at_ms, kept.input_tokens) == (NOW_MS, stub_tokens(result))


def stub_tokens(result: TurnResult) -> int | None:
    assert result.usage is not None
    return result.usage.input_tokens


def test_it_is_noted_before_it_leaves(
    ask: Ask, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    afternoon.show(1, "hello")
    noted: list[str] = []

    def look(_: object) -> str:
        noted.extend(each.outcome for each in egress_log.latest(database))
        database.close_thread()
        return "nothing"

    stub.reply(look)
    ask()
    assert noted == ["sent"]


def test_what_cannot_be_noted_is_not_sent(
    ask: Ask, afternoon: Afternoon, stub: StubModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    afternoon.show(1, "hello")
    stub.reply("ok")

    def busy(*_: object) -> int:
        raise StoreBusy("another process writes")

    monkeypatch.setattr(egress_log, "record", busy)
    error = ask().error
    assert error is not None and error.code == "store_busy"
    assert stub.headers == []


def test_each_request_has_its_outcome(afternoon: Afternoon, stub: StubModel, database: Database) -> None:
    afternoon.show(1, "hello")
    models = ChatModels(ChatSettings(base_url=stub.base_url, model="stub"), {}, waits_s=(0.0,))
    stub.fail(503, "loading").fail(401, "no key")
    result = answer(TurnServices(database, models, lambda: NOW_MS), question())
    models.close()
    found = egress_log.of_turn(database, result.chat_id, result.turn_id)
    assert [each.outcome for each in found] == ["asked_again", "model_no_key"]


def test_the_built_in_model_sends_nothing(ask: Ask, afternoon: Afternoon, database: Database) -> None:
    afternoon.show(1, "hello")
    ask(model="extractive")
    assert egress_log.latest(database) == []


def question(**changes: object) -> TurnRequest:
    request = TurnRequest("What did I do?", "UTC", NOW_MS, START_MS, START_MS + 3 * HOUR_MS)
    return replace(request, **changes)  # type: ignore[arg-type]


# -- too long -------------------------------------------------------------------------------


def too_long(stub: StubModel, times: int) -> None:
    for _ in range(times):
        stub.fail(400, "maximum context length exceeded", code="context_length_exceeded")


def filled(afternoon: Afternoon) -> None:
    for n in range(60):
        afternoon.show(n, f"{n} {LINE}")


def test_a_request_that_is_too_long_is_made_smaller_and_the_answer_says_so(
    ask: Ask, afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    filled(afternoon)
    too_long(stub, 1)
    stub.reply(reply("Foxes ran [[e1]].", ("e1", LINE)))
    result = ask()
    assert result.status == "done"
    assert len(stub.requests) == 1
    first, second = egress_log.of_turn(database, result.chat_id, result.turn_id)
    assert second.size_bytes < 0.65 * first.size_bytes
    assert (first.outcome, second.outcome) == ("context_too_long", "answered")
    assert any("refused the first request as too long" in warning for warning in result.warnings)
    assert any("frames did not fit" in warning for warning in result.warnings)
    assert all(item.state != "not_found" for item in result.evidence if item.n)


def test_it_is_made_smaller_at_most_twice(ask: Ask, afternoon: Afternoon, stub: StubModel) -> None:
    filled(afternoon)
    too_long(stub, 9)
    error = ask().error
    assert error is not None and error.code == "context_too_long"
    assert len(stub.headers) == 3


# -- what it took ---------------------------------------------------------------------------


def test_an_endpoint_that_does_not_count_is_counted_for_and_marked(
    ask: Ask, afternoon: Afternoon, stub: StubModel
) -> None:
    afternoon.show(1, "hello")
    stub.raw(b'{"choices": [{"message": {"role": "assistant", "content": "nothing to say"}}]}')
    usage = ask().usage
    assert usage is not None and usage.is_estimated
    assert usage.output_tokens == estimate_tokens("nothing to say")
    assert (usage.input_tokens or 0) > 300
    assert usage.cost is None


def test_the_cost_is_by_the_persons_own_prices(
    afternoon: Afternoon, stub: StubModel, database: Database
) -> None:
    afternoon.show(1, "hello")
    entry = ChatModelSettings(
        "priced", stub.base_url, "stub", input_price=2.0, output_price=8.0, currency="EUR"
    )
    models = ChatModels(ChatSettings(models=(entry,)), {})
    stub.reply("nothing")
    result = answer(TurnServices(database, models, lambda: NOW_MS), question())
    models.close()
    usage = result.usage
    assert usage is not None and usage.cost is not None
    assert not usage.is_estimated
    expected = ((usage.input_tokens or 0) * 2 + (usage.output_tokens or 0) * 8) / 1e6
    assert (usage.cost, usage.currency) == (pytest.approx(expected), "EUR")
    (kept,) = egress_log.of_turn(database, result.chat_id, result.turn_id)
    assert (kept.cost, kept.currency) == (usage.cost, "EUR")
