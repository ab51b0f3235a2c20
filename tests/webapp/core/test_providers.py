"""Providers as forms change them: keys go in and never come out, and nothing leaves before it was allowed."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from assistant.core.endpoints import Endpoint
from assistant.core.errors import UnknownModel
from engines.chat.protocol import ModelUnauthorized, ModelUnreachable
from store.core.database import Database
from store.core.errors import NotFound
from store.core.paths import DataDir
from store.egress import egress_log
from store.egress.providers import HostNotAllowed, Provider, ProviderInvalid
from store.egress.providers import load as stored
from tests.factories import NOON_MS, store_frame
from tests.stub_model import StubModel
from tests.tables import for_each
from tests.webapp.conftest import Actor
from webapp.core import providers
from webapp.core.services import Services

KEY = "sk-very-secret-1234"
CLOUD = Provider(0, "cloud", "https://api.example/v1", "big", KEY)


def add(own: Services, **changes: Any) -> Provider:
    return providers.add(own, replace(CLOUD, **changes))


def change(own: Services, provider: Provider, key: str | None = None, **changes: Any) -> Endpoint:
    providers.change(own, replace(provider, **changes), key)
    return shown(own, provider)


def shown(own: Services, provider: Provider) -> Endpoint:
    """The provider as lists show it."""
    return next(info for info in own.chat_models.listed() if info.provider_id == provider.id)


def test_a_key_goes_in_and_never_comes_out(
    program: Actor, own: Services, data_dir: DataDir, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with StubModel(key="another") as stub:
        added = add(own, base_url=stub.base_url)
        report = providers.test_provider(own, added.id)
        with pytest.raises(ModelUnauthorized) as refused:
            providers.list_models(own, added.id)
        answers = [program.get(f"/api/v1/{path}").get_data(as_text=True) for path in ("models", "sent")]
        assert stub.listed[0]["authorization"] == f"Bearer {KEY}"
    assert shown(own, added).has_key is True
    assert KEY not in " ".join([*answers, str(report), str(refused.value)]) + caplog.text
    assert KEY in data_dir.providers.read_text()
    assert KEY.encode() not in data_dir.database.read_bytes()


def test_a_provider_on_this_machine_can_be_asked_at_once(
    program: Actor, own: Services, database: Database, data_dir: DataDir
) -> None:
    store_frame(database, data_dir, NOON_MS, text="hello")
    with StubModel() as stub:
        stub.reply({"answer_md": "It said hello [[e1]].", "evidence": [{"id": "e1", "quote": "hello"}]})
        info = shown(own, add(own, name="here", base_url=stub.base_url, api_key=""))
        assert (info.is_local, info.is_ready, info.is_default) == (True, True, False)
        body = {"message": "what?", "model": "here", "start_time": NOON_MS / 1000 - 60, "timezone": "UTC"}
        answer = program.post("/api/v1/chat", json=body).get_json()
    assert answer["model"] == "here"
    assert answer["usage"]["is_estimated"] is False
    kept = egress_log.of_turn(database, answer["chat_id"], answer["turn_id"])
    assert [json.loads(each.body or "") for each in kept] == stub.requests
    assert (kept[0].outcome, kept[0].is_local, kept[0].turn) == ("answered", True, 1)


def test_another_machine_is_asked_nothing_before_its_host_was_allowed(
    program: Actor, own: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("assistant.core.endpoints", "engines.chat.network"):
        monkeypatch.setattr(f"{place}.is_local", lambda _: False)  # as if it were another
    with StubModel() as stub:
        added = add(own, base_url=stub.base_url)
        before = shown(own, added)
        assert (before.is_allowed, before.is_ready) == (False, False)
        for ask in (providers.list_models, providers.test_provider):
            with pytest.raises(HostNotAllowed):
                ask(own, added.id)
        chat = {"message": "what?", "start_time": 1, "timezone": "UTC", "model": "cloud"}
        assert program.post("/api/v1/chat", json=chat).get_json()["code"] == "model_not_found"
        assert stub.listed == stub.headers == []
        with pytest.raises(ProviderInvalid):
            providers.allow(own, added.id, "api.example")
        providers.allow(own, added.id, before.host)
        assert (shown(own, added).is_allowed, shown(own, added).is_ready) == (True, True)
        assert providers.test_provider(own, added.id).works is True


def test_a_new_address_takes_key_and_permission_away(own: Services, data_dir: DataDir) -> None:
    added = add(own)
    providers.allow(own, added.id, "api.example")
    kept = change(own, added, base_url="https://api.example/v2")
    assert (kept.has_key, kept.is_allowed) == (True, True)
    for other in ("https://evil.example/v1", "http://evil.example/v1", "https://evil.example:8443/v1"):
        moved = change(own, added, base_url=other)
        assert (moved.has_key, moved.is_allowed, moved.is_ready) == (False, False, False)
    assert KEY not in data_dir.providers.read_text()


def test_a_key_is_kept_replaced_or_removed(own: Services, data_dir: DataDir) -> None:
    added = add(own)
    assert change(own, added).has_key is True
    change(own, added, "sk-new")
    assert stored(data_dir).entries[0].api_key == "sk-new"
    assert change(own, added, "").has_key is False


def test_a_key_may_be_in_a_variable(own: Services) -> None:
    info = shown(own, add(own, api_key="env:WORK_KEY"))
    assert (info.key_source, info.has_key, "WORK_KEY" in info.key_problem) == ("WORK_KEY", False, True)


@for_each(
    ("changes", "field"),
    [
        ({"base_url": "file:///etc/passwd"}, "base_url"),
        ({"base_url": "https://user:pw@api.example"}, "base_url"),
        ({"base_url": "http://[::bad", "name": "", "model": ""}, "base_url"),
        ({"name": "extractive"}, "name"),
        ({"api_key": "env:"}, "api_key"),
        ({"api_key": "sk\r\nHost: evil"}, "api_key"),
        ({"currency": "<b>"}, "currency"),
    ],
)
def test_what_cannot_be_is_refused_by_field(
    own: Services, data_dir: DataDir, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ProviderInvalid) as refused:
        add(own, **changes)
    assert [name for name, _ in refused.value.errors] == [field]
    assert stored(data_dir).entries == ()


def test_a_name_is_made_where_none_is_given(own: Services) -> None:
    names = [add(own, name="").name for _ in range(2)] + [add(own, name="", model="").name]
    assert names == ["big", "big 2", "api.example"]


def test_a_removed_provider_is_gone_with_its_key(own: Services, data_dir: DataDir) -> None:
    added = add(own)
    providers.remove(own, added.id)
    assert KEY not in data_dir.providers.read_text()
    for ask in (providers.remove, providers.list_models, providers.test_provider):
        with pytest.raises(NotFound):
            ask(own, added.id)


def test_the_default_can_be_chosen(program: Actor, own: Services) -> None:
    with StubModel() as stub:
        for name, base_url in (("one", "http://127.0.0.1:9/v1"), ("two", stub.base_url)):
            add(own, name=name, base_url=base_url)
        assert own.chat_models.default == "extractive"  # nothing has answered yet
        assert providers.set_default(own, "two") is None
    unanswered = providers.set_default(own, "one")
    assert unanswered is not None and not unanswered.works
    assert program.get("/api/v1/models").get_json()["data"][0]["name"] == "two"
    with pytest.raises(UnknownModel):
        providers.set_default(own, "three")


def test_a_test_says_what_works_and_what_to_do(program: Actor, own: Services, database: Database) -> None:
    with StubModel(key="sk-right") as stub:
        added = add(own, base_url=stub.base_url, api_key="sk-right", model="stub")
        report = providers.test_provider(own, added.id)
        assert [(step.name, step.verdict) for step in report.steps][-4:] == [
            ("tools", "failed"), ("vision", "failed"), ("json_schema", "ok"), ("window", "unknown"),
        ]  # fmt: skip
        listed = program.get("/api/v1/models").get_json()["data"][0]
        assert listed["found"] == {
            "supports_tools": False, "tool_format": None, "supports_vision": False,
            "supports_json_schema": True, "context_tokens": None,
        }  # fmt: skip
        assert set(listed["chosen"].values()) == {None}
        noted = egress_log.latest(database)
        assert {(each.purpose, each.url.rpartition("/")[2]) for each in noted} == {("test", "completions")}
        change(own, added, "sk-wrong")
        report = providers.test_provider(own, added.id)
        assert (report.works, type(report.error)) == (False, ModelUnauthorized)


def test_a_list_that_cannot_be_had_says_why(own: Services) -> None:
    with pytest.raises(ModelUnreachable):
        providers.list_models(own, add(own, base_url="http://127.0.0.1:9/v1").id)
