"""Providers: what was entered comes back, keys stay in one private file, nothing is half saved."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from typing import Any

import pytest

from store.core.errors import NotFound, StoreError
from store.core.paths import DataDir
from store.egress import providers
from store.egress.providers import Provider, ProviderInvalid, key_of
from tests.tables import for_each

OWN = Provider(
    0, "work", "https://api.example/v1", "big", "sk-secret", "api.example", 32_768, True, True, False,
    "llama31", 2.5, 10.0, "EUR",
)  # fmt: skip


def test_what_was_added_comes_back_under_an_id(data_dir: DataDir) -> None:
    first = providers.add(data_dir, OWN)
    second = providers.add(data_dir, replace(OWN, name="home"))
    assert providers.load(data_dir).entries == (replace(OWN, id=1), replace(OWN, id=2, name="home"))
    providers.remove(data_dir, second.id)
    assert providers.add(data_dir, replace(OWN, name="third")).id == 3  # ids are never used again
    assert providers.load(data_dir).get(first.id) == first


def test_nothing_added_is_nothing(data_dir: DataDir) -> None:
    assert providers.load(data_dir).entries == ()


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_only_the_owner_can_read_the_keys(data_dir: DataDir) -> None:
    providers.add(data_dir, OWN)
    assert stat.S_IMODE(data_dir.providers.stat().st_mode) == 0o600
    data_dir.providers.chmod(0o644)
    providers.load(data_dir)
    assert stat.S_IMODE(data_dir.providers.stat().st_mode) == 0o600


def test_a_key_is_not_in_the_text_of_a_provider() -> None:
    assert "sk-secret" not in repr(OWN)


@for_each(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " work"}, "name"),
        ({"name": "x" * 61}, "name"),
        ({"name": "a<b"}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "TAKEN"}, "name"),
        ({"model": "a\nb"}, "model"),
        ({"model": "m" * 501}, "model"),
        ({"api_key": "ключ"}, "api_key"),
        ({"api_key": "a\rb"}, "api_key"),
        ({"api_key": "env:"}, "api_key"),
        ({"api_key": "env:A-B"}, "api_key"),
        ({"context_tokens": 100}, "context_tokens"),
        ({"input_price": -1.0}, "input_price"),
        ({"output_price": float("nan")}, "output_price"),
        ({"currency": "dollars"}, "currency"),
        ({"tool_format": "xml"}, "tool_format"),
    ],
)
def test_what_cannot_be_is_refused_by_field_and_nothing_is_saved(
    data_dir: DataDir, changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(ProviderInvalid) as caught:
        providers.add(data_dir, replace(OWN, **changes), taken=["taken"])
    assert [name for name, _ in caught.value.errors] == [field]
    assert "sk-secret" not in str(caught.value)
    assert not data_dir.providers.exists()


def test_a_change_replaces_and_a_renamed_default_stays_the_default(data_dir: DataDir) -> None:
    own = providers.add(data_dir, OWN)
    providers.set_default(data_dir, own.name)
    providers.change(data_dir, replace(own, name="job", model="small"))
    known = providers.load(data_dir)
    assert (known.entries, known.default) == ((replace(own, name="job", model="small"),), "job")
    providers.remove(data_dir, own.id)
    assert (providers.load(data_dir).entries, providers.load(data_dir).default) == ((), "")


def test_a_provider_that_is_not_there_cannot_be_changed(data_dir: DataDir) -> None:
    for attempt in (lambda: providers.remove(data_dir, 4), lambda: providers.change(data_dir, OWN)):
        with pytest.raises(NotFound):
            attempt()


def test_a_name_can_be_kept_and_cannot_be_taken_from_another(data_dir: DataDir) -> None:
    own = providers.add(data_dir, OWN)
    other = providers.add(data_dir, replace(OWN, name="home"))
    assert providers.change(data_dir, own) == own
    with pytest.raises(ProviderInvalid, match="is taken"):
        providers.change(data_dir, replace(other, name="Work"))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"providers": []}', b"[" * 100_000,
        b'{"providers": [{"id": 1}], "default": "", "next_id": 2}',
        b'{"providers": [{"id": "1", "name": "a", "base_url": "u"}], "default": "", "next_id": 2}',
        b'{"providers": [{"id": 1, "name": "a", "base_url": "u", "k": "sk-9"}], "default": "", "next_id": 2}',
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_told_and_not_written_over(data_dir: DataDir, content: bytes) -> None:
    data_dir.providers.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        providers.load(data_dir)
    assert "sk-9" not in str(caught.value)
    with pytest.raises(StoreError):
        providers.add(data_dir, OWN)
    assert data_dir.providers.read_bytes() == content


def test_a_file_of_a_version_with_the_responses_protocol_is_read(data_dir: DataDir) -> None:
    own = providers.add(data_dir, OWN)
    document = json.loads(data_dir.providers.read_text())
    document["providers"][0]["supports_responses"] = True
    data_dir.providers.write_text(json.dumps(document))
    assert providers.load(data_dir).entries == (own,)


def test_a_file_of_numbers_without_fractions_is_read(data_dir: DataDir) -> None:
    document = {
        "providers": [{"id": 1, "name": "a", "base_url": "http://127.0.0.1/v1", "input_price": 2}],
        "default": "",
        "next_id": 2,
    }
    data_dir.providers.write_text(json.dumps(document))
    assert providers.load(data_dir).entries[0].input_price == 2


def test_a_key_may_be_in_a_variable() -> None:
    assert key_of("sk-1", {}) == ("sk-1", "")
    assert key_of("", {}) == ("", "")
    assert key_of("env:WORK_KEY", {"WORK_KEY": " sk-2\n"}) == ("sk-2", "")
    key, problem = key_of("env:WORK_KEY", {})
    assert key == "" and "WORK_KEY" in problem
