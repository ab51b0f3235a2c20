"""POST /imports/<kind>: real files through the real process, and what is refused."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import TestResponse

from assistant.tools.registry import ToolGateOpts, offered
from store.deletion import sources as source_deletion
from store.sources import imports, messages
from store.sources.imports import Kind
from tests.exports import WRITERS
from tests.tables import for_each
from tests.webapp.conftest import Actor
from webapp.core import uploads
from webapp.core.services import Services

CSV = b"time,direction,address,name,text\n2025-11-20T13:00:00,sent,+491,Anna,Lunch?\nsoon,sent,+491,Anna,b\n"


def upload(actor: Actor, kind: str, content: bytes, name: str = "m.csv", **parts: str) -> TestResponse:
    return actor.post(f"/api/v1/imports/{kind}", data={"file": (io.BytesIO(content), name), **parts})


def leavings(own: Services) -> list[str]:
    return [each.name for each in (own.data_dir.spool / "tmp").iterdir()]


SAMPLES: tuple[tuple[Kind, str, str], ...] = (
    ("messages", "sms-backup", "sms.xml"),
    ("calendar", "ics", "work.ics"),
    ("location", "gpx", "walk.gpx"),
    ("places", "csv", "places.csv"),
)


@pytest.mark.parametrize("key", SAMPLES)
def test_an_uploaded_file_is_imported_and_answered_with_its_receipt(
    program: Actor, own: Services, tmp_path: Path, key: tuple[Kind, str, str]
) -> None:
    kind, _, name = key
    WRITERS[key](tmp_path / name, 20)
    answer = upload(program, kind, (tmp_path / name).read_bytes(), name)
    receipt = answer.get_json()
    assert answer.status_code == 200, receipt
    assert (receipt["kind"], receipt["format"], receipt["name"]) == key
    assert receipt["added"] == imports.total(own.database, kind) >= 20
    assert receipt["records"] == receipt["reasons"] == []
    assert leavings(own) == []
    again = upload(program, kind, (tmp_path / name).read_bytes(), name).get_json()
    assert (again["added"], again["updated"], again["unchanged"]) == (0, 0, receipt["added"])


def test_what_was_left_out_is_told_and_the_zone_is_that_of_the_form(program: Actor, own: Services) -> None:
    receipt = upload(program, "messages", CSV, timezone="Asia/Tokyo").get_json()
    assert (receipt["added"], receipt["skipped"], receipt["records"][0]["where"]) == (1, 1, "line 3")
    (message,) = messages.browse(own.database)
    assert message.sent_ms == 1_763_611_200_000  # 13:00 in Tokyo


def test_a_chat_asks_who_one_is_and_takes_the_answer(program: Actor) -> None:
    chat = b"20/11/2025, 13:01 - Anna: Lunch?\n20/11/2025, 13:02 - Ben O'Neil: Yes\n"
    refused = upload(program, "messages", chat, "chat.txt")
    assert (refused.status_code, refused.get_json()["code"]) == (422, "import_refused")
    assert "Say who of these you are with --me: Anna, Ben O'Neil." in refused.get_json()["detail"]
    assert upload(program, "messages", chat, "chat.txt", me="ben o'neil, else").get_json()["added"] == 2


@for_each(
    ("parts", "status", "code"),
    [
        ({}, 422, "file_required"),
        ({"file": "no file"}, 422, "unknown_field"),
        ({"file": (io.BytesIO(CSV), "m.csv"), "extra": "1"}, 422, "unknown_field"),
        ({"file": (io.BytesIO(CSV), "m.csv"), "timezone": "Nowhere/Atlantis"}, 400, "invalid_timezone"),
        ({"file": (io.BytesIO(CSV), "m.csv"), "dates": "xyz"}, 422, "invalid_dates"),
        ({"file": (io.BytesIO(CSV), "m.csv"), "format": "--help"}, 422, "import_refused"),
        ({"file": (io.BytesIO(b""), "m.csv")}, 422, "import_refused"),
        ({"file": (io.BytesIO(b"<!DOCTYPE x [<!ENTITY a 'b'>]><smses/>"), "m.xml")}, 422, "import_refused"),
    ],
)  # fmt: skip
def test_a_bad_request_is_refused_and_leaves_nothing(
    program: Actor, own: Services, parts: dict[str, Any], status: int, code: str
) -> None:
    for part in parts.values():
        if isinstance(part, tuple):
            part[0].seek(0)
    parts = {name: (io.BytesIO(part[0].getvalue()), part[1]) if isinstance(part, tuple) else part
             for name, part in parts.items()}  # fmt: skip
    answer = program.post("/api/v1/imports/messages", data=parts, content_type="multipart/form-data")
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert answer.content_type == "application/problem+json"
    assert imports.listed(own.database) == [] and leavings(own) == []


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "-x.csv", "a\x00b\n.csv", "'; drop table imports.csv", ""]
)
def test_a_name_is_shown_and_never_a_path(program: Actor, own: Services, name: str) -> None:
    answer = upload(program, "messages", CSV, name)
    if answer.status_code == 200:
        (made,) = imports.listed(own.database)
        assert made.name and "/" not in made.name and "\n" not in made.name
    assert leavings(own) == []


def test_a_file_that_is_too_large_is_pointed_to_the_command(
    program: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.api.imports.MAX_IMPORT_BYTES", 100)
    answer = upload(program, "messages", CSV)
    assert (answer.status_code, answer.get_json()["code"]) == (413, "too_large")
    assert "recollect import messages FILE" in answer.get_json()["detail"]


def test_nobody_without_the_token_gets_a_byte_onto_the_disk(stranger: Actor, own: Services) -> None:
    assert upload(stranger, "messages", CSV).status_code == 401
    assert leavings(own) == []


def test_an_import_that_breaks_is_told_without_its_words(
    program: Actor, own: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads.sys, "executable", "/bin/false")
    answer = upload(program, "messages", CSV)
    assert (answer.status_code, answer.get_json()["code"]) == (500, "import_failed")
    assert leavings(own) == []


def test_after_an_import_the_next_turn_has_its_tool_and_after_deleting_it_has_not(
    program: Actor, own: Services, tmp_path: Path
) -> None:
    """Without a restart."""

    def tools() -> set[str]:
        found = offered(own.database, own.agent.tools, ToolGateOpts(own.database, has_vision=False))
        return {tool.name for tool in found} & {"get_calendar_events", "get_place_at", "get_location_history"}

    assert tools() == set()
    for key in SAMPLES[1:]:
        WRITERS[key](tmp_path / key[2], 3)
        upload(program, key[0], (tmp_path / key[2]).read_bytes(), key[2])
    assert tools() == {"get_calendar_events", "get_place_at", "get_location_history"}
    kinds: tuple[Kind, ...] = ("calendar", "location", "places")
    for kind in kinds:
        source_deletion.delete(own.database, kind)
    assert tools() == set()
