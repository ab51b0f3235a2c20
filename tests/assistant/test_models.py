"""Models by name from the settings; keys go in and never come out."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from engines.chat_extractive import ExtractiveModel
from engines.chat_openai import OpenAIChatModel
from store.errors import SettingsError
from store.settings import ChatModelSettings, ChatSettings
from webapp.assistant.models import ChatModels
from webapp.assistant.turn import UnknownModel

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


def test_no_key_is_ever_shown() -> None:  # SEC-11
    models = ChatModels(ChatSettings(**DEFAULT, models=(CLOUD,)), {"BIG_KEY": "sk-2"})  # type: ignore[arg-type]
    shown = repr([asdict(info) for info in models.describe()]) + repr(
        [models.get(n) for n in ("mine", "cloud")]
    )
    for secret in ("sk-1", "sk-2", "sk-3", "pw"):
        assert secret not in shown


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownModel, match="known: mine, extractive"):
        ChatModels(ChatSettings(**DEFAULT), {}).get("yours")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "half", [{"model": "gpt-5"}, {"base_url": "http://localhost:8000/v1"}, {"api_key": "sk-1"}]
)
def test_half_an_endpoint_sends_nothing_anywhere(half: dict[str, str]) -> None:
    assert ChatModels(ChatSettings(**half), {}).default == "extractive"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "entry",
    [
        ChatModelSettings("a", "", "m"),
        ChatModelSettings("a", "http://localhost/v1", ""),
        ChatModelSettings("mine", "http://localhost/v1", "m"),
        ChatModelSettings("extractive", "http://localhost/v1", "m"),
    ],
)
def test_an_entry_that_cannot_be_is_refused_at_the_start(entry: ChatModelSettings) -> None:
    with pytest.raises(SettingsError):
        ChatModels(ChatSettings(**DEFAULT, models=(entry,)), {})  # type: ignore[arg-type]
