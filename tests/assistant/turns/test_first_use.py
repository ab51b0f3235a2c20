"""The first question to a model of which only the address is known."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assistant.core.models import ChatModels
from assistant.core.query_embedder import LOADING, QueryEmbedder
from assistant.core.records import EvidenceEvent, FinalEvent, TurnResult
from assistant.turns.plan import TurnServices
from assistant.turns.turn import run_turn
from store.core.database import Database
from store.core.settings import ChatSettings, EmbeddingSettings
from store.egress import egress_log
from tests.assistant.agents import agent_deps, asked
from tests.assistant.helpers import NOW_MS, Afternoon
from tests.end_to_end.programs import eventually
from tests.fake_embedder import FakeEmbedder
from tests.stub_model import StubModel


@pytest.fixture
def services(database: Database, stub: StubModel) -> Iterator[TurnServices]:
    settings = ChatSettings(base_url=stub.base_url)
    models = ChatModels(settings, {}, database=database, clock=lambda: NOW_MS, waits_s=())
    with agent_deps(database, stub) as made:
        yield replace(made, models=models)
    models.close()


def test_the_first_frames_stand_before_the_model_is_asked_and_it_gets_all_it_can(
    services: TurnServices, stub: StubModel, afternoon: Afternoon, database: Database
) -> None:
    afternoon.show(5, "def main(): pass")
    stub.can = ("tools", "vision", "json_schema")
    stub.may_show.clear()
    stub.reply("You wrote code.")
    events = run_turn(services, asked("What did I do?", mode="auto"))
    assert any(isinstance(event, EvidenceEvent) for event in events)  # as far as that one
    assert stub.requests == []
    stub.may_show.set()
    services.models.find_out(services.models.default, 60)  # however slow this machine is
    *_, final = events
    assert isinstance(final, FinalEvent) and final.result.error is None
    assert [tool for tool in stub.requests[0]["tools"] if tool["function"]["name"] == "describe_frame"]
    assert stub.requests[0]["model"] == "stub"
    assert {each.purpose for each in egress_log.latest(database)} == {"answer", "test"}


def test_the_first_frames_stand_while_a_model_of_vectors_is_loaded(
    services: TurnServices, stub: StubModel, afternoon: Afternoon, database: Database
) -> None:
    """By their words; then what is near in meaning is among them."""
    afternoon.show(5, "the boiler is repaired")
    stub.reply("It is repaired.")
    is_loaded = threading.Event()

    def load() -> FakeEmbedder:
        assert is_loaded.wait(60)
        return FakeEmbedder()

    embedder = QueryEmbedder(EmbeddingSettings(), database, load)
    events = run_turn(replace(services, embedder=embedder), asked("What of the boiler?", mode="auto"))
    first = next(event for event in events if isinstance(event, EvidenceEvent))
    assert first.coverage.queries[0].fallback == LOADING
    is_loaded.set()
    second = next(event for event in events if isinstance(event, EvidenceEvent))
    assert second.coverage.queries[0].fallback != LOADING
    *_, final = events
    assert isinstance(final, FinalEvent) and final.result.coverage.queries[0].fallback != LOADING
    embedder.close()


def test_finding_out_makes_way_for_the_question_and_goes_on_after_its_answer(
    services: TurnServices, stub: StubModel, afternoon: Afternoon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers one request at a time would keep it waiting."""
    monkeypatch.setattr(ChatModels.find_out, "__defaults__", (0.2,))
    afternoon.show(5, "def main(): pass")
    stub.can = ("tools", "vision", "json_schema")
    stub.may_show.clear()
    searches: list[bool] = []

    def answer(_: object) -> str:
        searches.append(any(thread.name == "abilities" for thread in threading.enumerate()))
        return "You wrote code."

    stub.reply(answer)
    *_, final = run_turn(services, asked("What did I do?", mode="auto"))
    assert isinstance(final, FinalEvent) and final.result.answer_md and searches == [False]
    stub.may_show.set()
    eventually(lambda: services.models.endpoint("stub").supports_vision, what="what it can")


def test_evidence_mode_asks_for_no_abilities(
    services: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    afternoon.show(5, "def main(): pass")
    stub.reply({"answer_md": "You wrote code.", "evidence": []})
    *_, final = run_turn(services, asked(mode="evidence", start_ms=NOW_MS - 86_400_000))
    assert isinstance(final, FinalEvent) and final.result.error is None
    assert stub.probes == [] and len(stub.requests) == 1


def test_a_model_that_can_do_nothing_still_answers(
    services: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    afternoon.show(5, "def main(): pass")
    stub.can = ()
    stub.reply("You wrote code.")
    *_, final = run_turn(services, asked("What did I do?", mode="auto"))
    assert isinstance(final, FinalEvent) and final.result.answer_md
    assert "tools" not in stub.requests[0]


@pytest.mark.parametrize(("mode", "status"), [("auto", 400), ("agent", 400), ("auto", 500)])
def test_what_a_server_takes_no_more_is_left_out_in_the_same_turn(
    services: TurnServices, stub: StubModel, afternoon: Afternoon, mode: str, status: int
) -> None:
    """What it refused is kept; a failure may pass."""
    afternoon.show(5, "def main(): pass")
    stub.can, stub.refuse_status = ("tools", "json_schema"), status
    stub.reply({"answer_md": "You wrote code [[e1]].", "evidence": [{"id": "e1", "quote": "def main()"}]})
    name = services.models.default
    assert services.models.find_out(name, 60).supports_tools
    stub.refuses = ("tools", "json_schema", "json_object")

    def answered(mode: str) -> TurnResult:
        *_, final = run_turn(services, asked("What did I do?", mode=mode))
        assert isinstance(final, FinalEvent) and final.result.error is None
        assert final.result.answer_md == "You wrote code [1]."
        return final.result

    assert [each for each in answered(mode).warnings if "did not take tools (HTTP" in each]
    assert services.models.endpoint(name).supports_tools is (status == 500)
    assert not services.models.endpoint(name).supports_json_schema
    stub.refused.clear()
    has_warned = any("did not take tools" in each for each in answered("auto").warnings)
    assert (has_warned, len(stub.refused)) == (status == 500, int(status == 500))
    again = ChatModels(ChatSettings(base_url=stub.base_url), {}, database=services.database)
    assert again.find_out(name, 60) == services.models.endpoint(name)
    again.close()


def test_who_does_not_wait_leaves_others_the_search(services: TurnServices, stub: StubModel) -> None:
    stub.can = ("tools",)
    stub.may_show.clear()
    waiting = threading.Thread(target=services.models.find_out, args=(services.models.default, 0.0))
    waiting.start()
    waiting.join()
    stub.may_show.set()
    endpoint = services.models.find_out(services.models.default, 20)
    assert endpoint is not None and endpoint.supports_tools


def test_a_model_of_which_only_the_address_was_set_is_called_by_its_name(
    services: TurnServices, stub: StubModel, afternoon: Afternoon
) -> None:
    """Once that is known; who has its address for a name finds it as well."""
    afternoon.show(5, "def main(): pass")
    stub.reply("You wrote code.")
    address = services.models.default
    services.models.find_out(address, 60)
    for name in (None, address, "stub"):
        *_, final = run_turn(services, asked("What did I do?", mode="auto", model=name))
        assert isinstance(final, FinalEvent) and final.result.model == "stub"
    again = ChatModels(ChatSettings(base_url=stub.base_url), {}, database=services.database)
    for models in (services.models, again):  # also in the next process, before it is asked anything
        assert [info.name for info in models.describe() if info.is_default] == ["stub"]
        assert models.get("stub").name == models.get(address).name == "stub"
