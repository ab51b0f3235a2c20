"""How answers read what the rest of the program hands them."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from pydantic import Field, ValidationError

from webapp.api.values import Answer, Minutes, Timestamp


@dataclass(frozen=True, slots=True)
class Row:
    id: int
    started_ms: int
    ended_ms: int | None
    duration_ms: int
    width_px: int
    is_local: bool
    secret: str = "never listed, so never sent"


class Fetched(Answer):
    id: int
    started_at: Timestamp
    ended_at: Timestamp | None
    minutes: Minutes = Field(validation_alias="duration_ms")
    width: int
    local: bool
    note: str = ""


ROW = Row(7, 1_795_156_328_123, None, 90_000, 640, True)


def test_an_answer_finds_a_row_s_names_and_tells_seconds() -> None:
    assert Fetched.of(ROW).model_dump() == {
        "id": 7, "started_at": 1_795_156_328.123, "ended_at": None, "minutes": 1.5, "width": 640,
        "local": True, "note": "",
    }  # fmt: skip


def test_what_is_given_beside_a_row_wins() -> None:
    fetched = Fetched.of(ROW, id=8, ended_at=1_000, note="beside it")
    assert (fetched.id, fetched.width, fetched.note) == (8, 640, "beside it")
    assert fetched.model_dump()["ended_at"] == 1.0


def test_a_row_without_a_field_is_refused() -> None:
    with pytest.raises(ValidationError, match="width"):
        Fetched.of(SimpleNamespace(id=1))
