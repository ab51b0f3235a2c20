"""What a model can do is found out from a real server: once, within bounds, and never against it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from assistant.core import abilities
from assistant.core import models as core_models
from assistant.core.abilities import Report
from assistant.core.endpoints import Endpoint
from assistant.core.models import ChatModels
from engines.chat.protocol import Abilities, ModelNoKey, ModelUnauthorized, ModelUnknown, ModelUnreachable
from store.core.database import Database
from store.core.errors import StoreBusy
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings
from store.egress import egress_log, providers
from store.egress.providers import Provider
from tests.stub_model import StubModel
from tests.tables import for_each

ALL = ("tools", "vision", "json_schema")


@pytest.fixture
def models(database: Database) -> Iterator[Any]:
    """Makes models of an endpoint; what was found out is kept in the one database."""
    made: list[ChatModels] = []

    def make(base_url: str, **settings: Any) -> ChatModels:
        made.append(ChatModels(ChatSettings(base_url=base_url, **settings), {}, database=database))
        return made[-1]

    yield make
    for each in made:
        each.close()


def found(models: ChatModels, name: str = "") -> Endpoint:
    return models.find_out(name or models.default, patience_s=60)


def verdicts(report: Report) -> dict[str, str]:
    return {step.name: step.verdict for step in report.steps}


@for_each(
    ("can", "expected"),
    [
        (ALL, Abilities(True, "", True, True)),
        (("tools",), Abilities(True, "", False, False)),
        (("functionary", "json_schema"), Abilities(True, "functionary", False, True)),
        (("command-r",), Abilities(True, "command-r", False, False)),
        (("llama31", "vision"), Abilities(True, "llama31", True, False)),
        ((), Abilities(False, None, False, False)),
    ],
)
def test_a_model_that_was_only_named_shows_what_it_can(
    models: Any, can: tuple[str, ...], expected: Abilities
) -> None:
    """Whether it follows a schema is not asked for before a test: its first answer shows that."""
    with StubModel(can=can) as stub:
        made = models(stub.base_url, model=f"stub {can}")
        assert made.endpoint(f"stub {can}").found == Abilities()
        assert found(made).found == replace(expected, supports_json_schema=None)
        report = made.test(f"stub {can}")
        assert report and report.found == made.endpoint(f"stub {can}").found == expected
        assert stub.requests == []


def test_an_address_alone_is_enough(models: Any) -> None:
    listed = ({"id": "first", "max_model_len": 16_384}, {"id": "second"})
    with StubModel(can=ALL, models=listed) as stub:
        endpoint = found(models(stub.base_url))
        assert (endpoint.model, endpoint.context_tokens) == ("first", 16_384)
        assert endpoint.supports_tools and endpoint.supports_vision


def test_what_was_found_survives_a_restart_and_ends_with_the_model(models: Any) -> None:
    with StubModel(can=ALL) as stub:
        found(models(stub.base_url, model="stub"))
        asked = len(stub.probes)
        again = models(stub.base_url, model="stub")
        assert again.endpoint("stub").supports_vision
        assert found(again).supports_tools and len(stub.probes) == asked
        assert not models(stub.base_url, model="other").endpoint("other").supports_tools


def test_what_was_found_of_a_provider_goes_with_its_model(models: Any, data_dir: DataDir) -> None:
    with StubModel(can=ALL) as stub:
        own = providers.add(data_dir, Provider(0, "own", stub.base_url, "stub"))
        made = models("")
        assert found(made, "own").supports_vision
        for model in ("other", "stub"):
            providers.change(data_dir, replace(own, model=model))
            made.reload()
            assert made.endpoint("own").found == Abilities()
        assert found(made, "own").supports_vision


def test_what_is_found_of_a_provider_that_has_gone_meanwhile_is_not_kept(
    models: Any, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_out = abilities.find_out

    def late(*arguments: Any, **options: Any) -> Report:
        report = find_out(*arguments, **options)
        providers.remove(data_dir, own.id)
        made.reload()
        return report

    monkeypatch.setattr(abilities, "find_out", late)
    with StubModel(can=ALL) as stub:
        own = providers.add(data_dir, Provider(0, "own", stub.base_url, "stub"))
        made = models("")
        assert made.test("own").found.supports_vision
        providers.add(data_dir, own)
        made.reload()
        assert made.endpoint("own").found == Abilities()


def test_nobody_waits_until_what_was_found_is_written(
    models: Any, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what goes while it is written is forgotten after."""
    remember = abilities.remember

    def slowly(database: Database, endpoint: Endpoint, known: Endpoint) -> None:
        assert not made._lock.locked()
        providers.remove(data_dir, own.id)
        going.start()
        while "own" in made.names:
            going.join(0.001)
        remember(database, endpoint, known)

    monkeypatch.setattr(abilities, "remember", slowly)
    with StubModel(can=ALL) as stub:
        own = providers.add(data_dir, Provider(0, "own", stub.base_url, "stub"))
        made = models("")
        going = threading.Thread(target=made.reload)
        assert made.test("own").found.supports_vision
        going.join()
        providers.add(data_dir, own)
        made.reload()
        assert made.endpoint("own").found == Abilities()


def test_what_cannot_be_kept_is_told_all_the_same(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object) -> None:
        raise StoreBusy("another program writes")

    monkeypatch.setattr(abilities, "remember", busy)
    with StubModel(can=ALL) as stub:
        made = models(stub.base_url, model="stub")
        assert made.test("stub").is_complete and made.endpoint("stub").supports_vision


def test_what_is_set_counts_and_is_not_asked_for(models: Any) -> None:
    with StubModel(can=ALL) as stub:
        entry = ChatModelSettings(
            "own", stub.base_url, "stub", supports_tools=False, supports_vision=True, context_tokens=9_000
        )
        endpoint = found(models("", models=(entry,)), "own")
        assert (endpoint.supports_tools, endpoint.supports_vision, endpoint.context_tokens) == (
            False, True, 9_000,
        )  # fmt: skip
        assert len(stub.probes) == 1  # whether it answers


def test_turns_at_the_same_time_ask_once(models: Any) -> None:
    with StubModel(can=ALL) as stub:
        made = models(stub.base_url, model="stub")
        threads = [threading.Thread(target=found, args=(made,)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(stub.probes) == 2


def test_background_work_that_is_over_ends_no_search(models: Any) -> None:
    with StubModel(can=ALL) as stub:
        stub.may_show.clear()
        made = models(stub.base_url, model="stub")
        with made.for_a_person(), made.in_background():
            made.find_out("stub", patience_s=0.05)
        stub.may_show.set()
        assert found(made).supports_vision and len(stub.probes) == 2


def test_a_server_that_is_down_can_do_everything_later(models: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        endpoint = found(models(f"http://127.0.0.1:{closed.getsockname()[1]}/v1", model="stub"))
    assert endpoint.found == Abilities()


def test_what_stayed_unknown_is_tried_again(models: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_models, "PAUSE_S", 0.0)
    with StubModel(can=ALL) as stub:
        stub.knows = ("another",)
        made = models(stub.base_url, model="stub")
        assert found(made).found == Abilities()
        stub.knows = ()
        assert found(made).supports_tools


def test_every_question_is_noted_before_it_leaves(models: Any, database: Database) -> None:
    with StubModel(can=("tools", "json_schema")) as stub:
        found(models(stub.base_url, model="stub"))
    noted = egress_log.latest(database)
    assert {each.purpose for each in noted} == {"test"}
    assert sorted(each.outcome for each in noted) == ["answered", "model_refused"]


def test_a_test_finds_out_anew_and_says_how_it_knows(models: Any) -> None:
    with StubModel(can=(), key="sk-1") as stub:
        made = models(stub.base_url, model="stub", api_key="sk-1")
        found(made)
        stub.can = ALL
        report = made.test("stub")
        assert set(verdicts(report).values()) == {"ok", "unknown"}
        assert [step.name for step in report.steps if step.verdict == "unknown"] == ["window"]
        assert report.works and report.error is None
        assert made.endpoint("stub").supports_tools


def test_a_wrong_key_is_found_before_anything_is_asked(models: Any) -> None:
    with StubModel(key="sk-1") as stub:
        for key, error in (("sk-2", ModelUnauthorized), ("", ModelNoKey)):
            made = models(stub.base_url, model="stub", api_key=key)
            report = made.test("stub")
            assert verdicts(report) == {"address": "ok", "key": "failed"}
            assert isinstance(report.error, error)
        assert stub.probes == stub.headers == []


def test_a_model_that_is_not_there_is_named(models: Any) -> None:
    with StubModel() as stub:
        stub.knows = ("stub",)
        made = models(stub.base_url, model="x")
        report = made.test("x")
        assert verdicts(report)["model"] == "failed"
        assert isinstance(report.error, ModelUnknown) and report.found == Abilities()


def test_a_closed_port_is_the_address_at_fault(models: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        made = models(f"http://127.0.0.1:{closed.getsockname()[1]}/v1", model="stub")
        report = made.test("stub")
    assert verdicts(report) == {"address": "failed"}
    assert isinstance(report.error, ModelUnreachable)


def test_a_window_that_a_refusal_names_stays_when_the_rest_is_found_out_beside_it(models: Any) -> None:
    with StubModel(can=("tools", "json_schema")) as stub:
        stub.may_show.clear()
        made = models(stub.base_url, model="stub")
        made.find_out("stub", patience_s=0)
        made.note("stub", Abilities(context_tokens=2_048))
        stub.may_show.set()
        endpoint = found(made, "stub")
        assert (endpoint.supports_tools, endpoint.context_tokens) == (True, 2_048)
        assert made.get("stub").context_tokens == 2_048
