"""System prompts by model and their versions."""

from __future__ import annotations

from typing import Any

import pytest

from store.chats import prompts
from store.chats.prompts import DRAFT_MS, MAX_CHARS, MAX_VERSIONS, PromptChanged, PromptInvalid, PromptVersion
from store.core.database import Database, open_database
from store.core.paths import DataDir
from tests.tables import for_each

QWEN = "library/qwen3:8b"


def save(database: Database, content: str, at_ms: int = 1, model: str = QWEN, **options: object) -> Any:
    return prompts.save(database, model, content, at_ms, **{"saved_by": "person", **options})  # type: ignore[arg-type]


def texts(database: Database) -> list[tuple[int, str]]:
    return [(each.version, each.content) for each in prompts.versions(database, QWEN)]


def test_a_prompt_is_saved_loaded_and_cleared(database: Database) -> None:
    assert save(database, " Be brief.\n") == PromptVersion(
        QWEN, 1, " Be brief.\n", prompts.sha256_of(" Be brief.\n"), "person", False, 1, 1
    )
    assert prompts.get_prompt(database, QWEN) == " Be brief.\n"
    save(database, "", 2)
    assert prompts.get_prompt(database, QWEN) == ""
    assert texts(database) == [(2, ""), (1, " Be brief.\n")]


def test_it_survives_a_restart_and_differs_from_model_to_model(database: Database, data_dir: DataDir) -> None:
    save(database, "One.")
    save(database, "Two.", model="other")
    database.close_thread()
    again = open_database(data_dir)
    assert [prompts.get_prompt(again, model) for model in (QWEN, "other")] == ["One.", "Two."]
    again.close_thread()


def test_an_unknown_model_has_none(database: Database) -> None:
    assert prompts.get_prompt(database, "nobody") == ""
    assert prompts.current(database, "nobody") is None
    assert save(database, "  \n", model="nobody") is None
    assert prompts.versions(database, "nobody") == []


def test_the_same_text_again_is_no_new_version(database: Database) -> None:
    first = save(database, "x")
    assert save(database, "x", 99) == first
    assert texts(database) == [(1, "x")]


def test_what_is_saved_while_somebody_types_goes_into_one_version(database: Database) -> None:
    save(database, "kept")
    for at, text in ((10, "B"), (20, "Be"), (10 + DRAFT_MS - 1, "Be br")):
        save(database, text, at, is_draft=True)
    assert texts(database) == [(2, "Be br"), (1, "kept")]
    save(database, "Be brief", 10 + DRAFT_MS, is_draft=True)
    save(database, "By a program", 11 + DRAFT_MS, is_draft=True, saved_by="program")
    assert [version for version, _ in texts(database)] == [4, 3, 2, 1]


def test_what_was_changed_elsewhere_is_not_overwritten(database: Database) -> None:
    read = save(database, "mine").edition
    save(database, "theirs", 2, based_on=read)
    with pytest.raises(PromptChanged) as caught:
        save(database, "mine, longer", 3, based_on=read)
    assert caught.value.current.content == "theirs"
    assert prompts.get_prompt(database, QWEN) == "theirs"


def test_a_text_that_came_back_meanwhile_is_not_the_one_that_was_read(database: Database) -> None:
    """Cleared, written, cleared again: who began at the first clearing knows nothing of the second."""
    save(database, "old")
    read = save(database, "", 2).edition
    save(database, "typed", 3, is_draft=True, based_on=read)
    save(database, "", 4)
    with pytest.raises(PromptChanged):
        save(database, "typed", 5, is_draft=True, based_on=read)
    assert prompts.get_prompt(database, QWEN) == ""


def test_a_draft_that_went_on_is_not_the_one_that_was_read(database: Database) -> None:
    read = save(database, "a", is_draft=True).edition
    save(database, "ab", 2, is_draft=True, based_on=read)
    with pytest.raises(PromptChanged):
        save(database, "ac", 3, is_draft=True, based_on=read)
    assert texts(database) == [(1, "ab")]


@for_each(
    ("model", "content", "field"),
    [
        (QWEN, "x" * (MAX_CHARS + 1), "system_prompt"),
        (QWEN, "a\0b", "system_prompt"),
        ("", "x", "model_id"),
        ("a\nb", "x", "model_id"),
        ("m" * 201, "x", "model_id"),
    ],
)
def test_what_cannot_be_kept_says_why(database: Database, model: str, content: str, field: str) -> None:
    with pytest.raises(PromptInvalid) as caught:
        save(database, content, model=model)
    assert caught.value.field == field
    assert prompts.versions(database, model) == []


def test_the_longest_prompt_is_kept_whole(database: Database) -> None:
    save(database, "界" * MAX_CHARS)
    assert prompts.get_prompt(database, QWEN) == "界" * MAX_CHARS


def test_the_history_is_bounded(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(MAX_VERSIONS + 3):
        save(database, str(n), n)
    assert [texts(database)[0], texts(database)[-1]] == [(53, "52"), (4, "3")]
    monkeypatch.setattr(prompts, "MAX_MODELS", 1)
    with pytest.raises(PromptInvalid):
        save(database, "x", model="one too many")


def test_a_prompt_follows_its_model_to_another_name(database: Database) -> None:
    save(database, "x")
    save(database, "own", model="taken")
    prompts.rename(database, QWEN, "taken")
    assert prompts.get_prompt(database, "taken") == "own"
    prompts.rename(database, QWEN, "free")
    assert [prompts.get_prompt(database, name) for name in (QWEN, "free")] == ["", "x"]
