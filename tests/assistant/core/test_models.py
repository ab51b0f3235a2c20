"""Models by name from the settings; keys go in and never come out."""

from __future__ import annotations

import threading
from dataclasses import asdict, replace
from typing import Any

import pytest

from assistant.core.errors import UnknownModel
from assistant.core.models import ChatModels
from engines.chat.completions import OpenAIChatModel
from engines.chat.extractive import ExtractiveModel
from engines.chat.protocol import Message, ModelNoKey, ModelUnknown
from store.core.errors import SettingsError
from store.core.paths import DataDir
from store.core.settings import ChatModelSettings, ChatSettings
from store.egress import providers
from store.egress.providers import Provider
from tests.meanwhile import Beside, meanwhile
from tests.stub_model import StubModel
from tests.tables import for_each

LOCAL = ChatModelSettings("local", "http://127.0.0.1:11434/v1", "qwen3:8b", context_tokens=4096)
CLOUD = ChatModelSettings("cloud", "https://user:pw@api.example/v1?k=sk-3", "big", api_key_env="BIG_KEY")
DEFAULT = {"base_url": "http://localhost:8000/v1", "model": "mine", "api_key": "sk-1"}


def test_without_an_endpoint_the_built_in_model_answers() -> None:
    models = ChatModels(ChatSettings(), {})
    assert isinstance(models.get(), ExtractiveModel)
    assert [(info.name, info.is_default, info.is_local) for info in models.describe()] == [
        ("extractive", True, True)
    ]


def test_the_configured_endpoint_is_the_default_and_the_built_in_one_stays() -> None:
    models = ChatModels(ChatSettings(**DEFAULT, models=(LOCAL, CLOUD)), {"BIG_KEY": "sk-2"})  # type: ignore[arg-type]
    assert models.default == models.get().name == "mine"
    assert isinstance(models.get("extractive"), ExtractiveModel)
    local = models.get("local")
    assert isinstance(local, OpenAIChatModel)
    assert (local.model, local.context_tokens) == ("qwen3:8b", 4096)
    shown = [(info.name, info.is_default, info.is_local, info.has_key) for info in models.describe()]
    assert shown == [
        ("mine", True, True, True), ("local", False, True, False), ("cloud", False, False, True),
        ("extractive", False, True, False),
    ]  # fmt: skip


def test_what_may_not_leave_this_machine_is_asked_of_a_model_on_it() -> None:
    cloud = ChatSettings(models=(CLOUD, LOCAL))
    assert ChatModels(cloud, {"BIG_KEY": "sk-2"}).local_default == LOCAL.name
    assert ChatModels(ChatSettings(models=(CLOUD,)), {"BIG_KEY": "sk-2"}).local_default == "extractive"


def test_no_key_is_ever_shown() -> None:
    models = ChatModels(ChatSettings(**DEFAULT, models=(CLOUD,)), {"BIG_KEY": "sk-2"})  # type: ignore[arg-type]
    shown = repr([asdict(info) for info in models.describe()]) + repr(
        [models.get(n) for n in ("mine", "cloud")]
    )
    for secret in ("sk-1", "sk-2", "sk-3", "pw"):
        assert secret not in shown


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownModel, match="known: mine, extractive"):
        ChatModels(ChatSettings(**DEFAULT), {}).get("yours")  # type: ignore[arg-type]


@for_each("half", [{"model": "gpt-5"}, {"api_key": "sk-1"}])
def test_without_an_address_nothing_is_sent_anywhere(half: dict[str, str]) -> None:
    assert ChatModels(ChatSettings(**half), {}).default == "extractive"  # type: ignore[arg-type]


@for_each(
    "entry",
    [
        ChatModelSettings("a", "", "m"),
        ChatModelSettings("a", "http://localhost/v1", ""),
        ChatModelSettings("mine", "http://localhost/v1", "m"),
        ChatModelSettings("extractive", "http://localhost/v1", "m"),
        ChatModelSettings("a", "http://[::bad/v1", "m"),
        ChatModelSettings("a", "file:///etc/passwd", "m"),
    ],
)
def test_an_entry_that_cannot_be_is_refused_at_the_start(entry: ChatModelSettings) -> None:
    with pytest.raises(SettingsError):
        ChatModels(ChatSettings(**DEFAULT, models=(entry,)), {})  # type: ignore[arg-type]


# -- added in the app -------------------------------------------------------------------------

HERE = Provider(0, "here", "http://127.0.0.1:11434/v1", "qwen3:8b")
THERE = Provider(0, "there", "https://api.example:8443/v1", "big", "sk-9", "api.example:8443")


def with_added(data_dir: DataDir, *added: Provider, **settings: Any) -> ChatModels:
    for provider in added:
        providers.add(data_dir, provider)
    return ChatModels(ChatSettings(**settings), {}, data_dir)


def test_what_was_added_can_be_asked_after_the_configured_ones(data_dir: DataDir) -> None:
    models = with_added(data_dir, HERE, THERE, **DEFAULT)
    assert [info.name for info in models.describe()] == ["mine", "here", "there", "extractive"]
    assert [info.where for info in models.listed()] == [
        "this computer", "this computer", "api.example:8443", "this computer",
    ]  # fmt: skip


@pytest.mark.parametrize("allowed", ["", "api.example", "other.example:8443"])
def test_another_machine_is_asked_only_when_that_very_host_was_allowed(
    data_dir: DataDir, allowed: str
) -> None:
    models = with_added(data_dir, replace(THERE, allowed_host=allowed))
    assert models.default == "extractive"
    with pytest.raises(UnknownModel):
        models.get("there")
    assert [info.is_ready for info in models.listed() if info.name == "there"] == [False]


def test_without_a_model_nothing_can_be_asked(data_dir: DataDir) -> None:
    assert with_added(data_dir, replace(HERE, model="")).default == "extractive"


def test_a_chosen_default_comes_first_while_it_can_be_asked(data_dir: DataDir) -> None:
    models = with_added(data_dir, HERE, THERE, **DEFAULT)
    providers.set_default(data_dir, "there")
    models.reload()
    assert models.default == models.describe()[0].name == models.get().name == "there"
    providers.set_default(data_dir, "extractive")
    models.reload()
    assert isinstance(models.get(), ExtractiveModel)
    providers.set_default(data_dir, "gone")
    models.reload()
    assert models.default == "mine"


def test_reloading_keeps_what_did_not_change(data_dir: DataDir) -> None:
    models = with_added(data_dir, HERE, THERE)
    here, there = models.get("here"), models.get("there")
    providers.change(data_dir, replace(THERE, id=2, model="small"))
    models.reload()
    assert models.get("here") is here
    assert models.get("there") is not there


def test_a_provider_that_is_removed_while_another_page_reads_them_is_gone(
    data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = with_added(data_dir, HERE)

    def remove() -> None:
        providers.remove(data_dir, 1)
        models.reload()

    other = Beside(remove, models._lock.locked)
    meanwhile(monkeypatch, providers, "load", other)
    models.reload()
    other.join()
    assert "here" not in models.names


def test_a_name_of_the_settings_wins(data_dir: DataDir) -> None:
    models = with_added(data_dir, replace(THERE, name="mine"), **DEFAULT)
    found = models.endpoint("mine")
    assert found is not None and found.base_url == DEFAULT["base_url"]


def test_a_key_in_a_variable_is_looked_up_and_its_absence_said(data_dir: DataDir) -> None:
    providers.add(data_dir, replace(THERE, api_key="env:WORK_KEY"))
    for environ, has_key in (({"WORK_KEY": "sk-7"}, True), ({}, False)):
        models = ChatModels(ChatSettings(), environ, data_dir)
        info = next(each for each in models.describe() if each.name == "there")
        assert not info.is_default  # it has not answered
        assert (info.has_key, info.key_source, bool(info.key_problem)) == (has_key, "WORK_KEY", not has_key)
        assert "sk-7" not in repr([asdict(info), models.endpoint("there")])
    model = models.get("there")
    assert isinstance(model, OpenAIChatModel)
    with pytest.raises(ModelNoKey, match="WORK_KEY"):
        model.complete([Message("user", "hello")], timeout_s=1)


def test_a_configured_key_may_be_in_a_variable_too() -> None:
    models = ChatModels(ChatSettings(**{**DEFAULT, "api_key": "env:MINE"}), {"MINE": "sk-5"})  # type: ignore[arg-type]
    found = models.endpoint("mine")
    assert found is not None and (found.api_key, found.key_source) == ("sk-5", "MINE")


def test_a_file_that_cannot_be_read_leaves_the_settings_and_says_so(data_dir: DataDir) -> None:
    data_dir.providers.write_text("{")
    models = ChatModels(ChatSettings(**DEFAULT), {}, data_dir)  # type: ignore[arg-type]
    assert models.default == "mine"
    assert "providers.json" in models.problem


def test_a_model_ends_before_its_name_is_unknown(data_dir: DataDir, monkeypatch: pytest.MonkeyPatch) -> None:
    models = with_added(data_dir, HERE)
    ended: list[str] = []
    monkeypatch.setattr(models.get("here"), "retire", lambda: ended.append(models.endpoint("here").base_url))
    providers.remove(data_dir, 1)
    models.reload()
    assert ended == [HERE.base_url]


def test_a_model_that_went_gives_the_answer_under_way_and_asks_no_more(data_dir: DataDir) -> None:
    may_answer = threading.Event()
    with StubModel() as stub:
        stub.reply("done", wait_for=may_answer)
        models = with_added(data_dir, replace(HERE, base_url=stub.base_url))
        model = models.get("here")
        assert isinstance(model, OpenAIChatModel)
        left = threading.Event()
        answers: list[str] = []

        def ask() -> None:
            answers.append(
                model.complete([Message("user", "?")], timeout_s=60, on_send=lambda _: left.set()).text
            )

        asking = threading.Thread(target=ask)
        asking.start()
        assert left.wait(60)
        providers.remove(data_dir, 1)
        models.reload()
        may_answer.set()
        asking.join(60)
        assert answers == ["done"]
        with pytest.raises(ModelUnknown, match="changed or removed"):
            model.complete([Message("user", "?")], timeout_s=60)
        assert len(stub.requests) == 1
