"""POST /ingest: what is queued, what is refused, and what became of it."""

from __future__ import annotations

import io
import json
import random
import tempfile
import uuid
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image
from werkzeug.test import TestResponse

from store.core.database import Database
from store.core.paths import DataDir
from store.frames import frames
from store.privacy.rules import Rule
from store.spool.queue import Capture
from store.timeline import ledger
from tests.factories import NOON_MS, picture, save_rules, store_frame, webp
from tests.meanwhile import meanwhile
from tests.tables import for_each
from tests.webapp.conftest import Actor
from webapp.core.services import Services

ID = "0b1f6c1e-8f2a-4c57-9a3e-5d2f1c7e9b10"


def upload(actor: Actor, image: bytes | None = None, **metadata: Any) -> TestResponse:
    document = {"capture_id": ID, "captured_at": NOON_MS / 1000, **metadata}
    parts: dict[str, Any] = {"metadata": json.dumps(document)}
    parts["image"] = (io.BytesIO(webp(picture(1)) if image is None else image), "screen.webp")
    return actor.post("/api/v1/ingest", data=parts)


def raw_upload(actor: Actor, image: bytes) -> TestResponse:
    """The same, with a body made here: the test client would put a large one into a temporary file."""
    content_type = "multipart/form-data; boundary=x"
    return actor.post("/api/v1/ingest", data=raw_body(image), content_type=content_type)


def raw_body(image: bytes, capture_id: str = ID) -> bytes:
    metadata = json.dumps({"capture_id": capture_id, "captured_at": NOON_MS / 1000}).encode()
    return (
        b'--x\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n%s\r\n'
        b'--x\r\nContent-Disposition: form-data; name="image"; filename="a"\r\n\r\n%s\r\n--x--\r\n'
    ) % (metadata, image)


def encoded(kind: str, size: tuple[int, int] = (8, 8)) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", size).save(buffer, kind)
    return buffer.getvalue()


def test_an_upload_is_in_the_spool_when_it_is_answered(program: Actor, own: Services) -> None:
    image = webp(picture(1))
    answer = upload(program, image, app_name="Code", monitor="DP-1", focused=True, trigger="manual")
    assert (answer.status_code, answer.get_json()) == (
        202,
        {"capture_id": ID, "status": "queued", "frame_id": None},
    )
    (name,) = own.spool.waiting()
    entry = own.spool.take(name)
    assert entry is not None and entry.image is not None
    assert entry.image.read_bytes() == image
    assert entry.record == Capture(
        capture_id=ID,
        captured_ms=NOON_MS,
        source="upload",
        image_type="image/webp",
        monitor="DP-1",
        app_name="Code",
        focused=True,
        trigger="manual",
    )


def test_a_large_upload_never_touches_the_systems_temp_folder(
    program: Actor, own: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    noise = Image.frombytes("RGB", (800, 800), random.Random(1).randbytes(800 * 800 * 3))
    buffer = io.BytesIO()
    noise.save(buffer, "PNG")
    assert len(buffer.getvalue()) > 1_000_000
    assert raw_upload(program, buffer.getvalue()).status_code == 202
    assert len(own.spool.waiting()) == 1


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_the_bytes_say_what_the_picture_is(program: Actor, own: Services, kind: str) -> None:
    """Whatever its name or the part's type claims."""
    assert upload(program, encoded(kind)).status_code == 202
    entry = own.spool.take(own.spool.waiting()[0])
    assert entry is not None and isinstance(entry.record, Capture)
    assert entry.record.image_type == f"image/{kind.lower()}"


def test_metadata_may_be_a_file_part(program: Actor, own: Services) -> None:
    document = json.dumps({"capture_id": ID, "captured_at": 1.0}).encode()
    parts = {
        "image": (io.BytesIO(encoded("PNG")), "a.png"),
        "metadata": (io.BytesIO(document), "metadata.json", "application/json"),
    }
    assert program.post("/api/v1/ingest", data=parts).status_code == 202
    assert len(own.spool.waiting()) == 1


def test_the_same_id_twice_is_one_capture(
    program: Actor, own: Services, database: Database, data_dir: DataDir
) -> None:
    assert upload(program).get_json()["status"] == "queued"
    for again in (upload(program), upload(program, captured_at=5.0), upload(program, capture_id=ID.upper())):
        assert (again.status_code, again.get_json()["status"]) == (202, "duplicate")
    assert len(own.spool.waiting()) == 1
    stored = store_frame(database, data_dir)
    known = upload(program, capture_id=stored.capture_id).get_json()
    assert (known["status"], known["frame_id"]) == ("duplicate", stored.id)
    assert len(own.spool.waiting()) == 1


def half(kind: str) -> bytes:
    whole = encoded(kind, (300, 300))
    return whole[: len(whole) // 2]


def of_a_gigabyte() -> bytes:
    """A few kilobytes may claim a gigabyte of pixels: the header is looked at first."""
    buffer = io.BytesIO()
    Image.new("1", (20_000, 20_000)).save(buffer, "PNG")
    return buffer.getvalue()


@for_each(
    "image",
    [
        b"", b"x", b"plain text", b"<svg/>", b"RIFF\x00\x00\x00\x00WEBPVP8 ", encoded("GIF"), encoded("BMP"),
        half("PNG"), half("JPEG"), half("WEBP"), of_a_gigabyte(),
    ],
    ids=["empty", "byte", "text", "svg", "header", "gif", "bmp", "png cut", "jpeg cut", "webp cut", "huge"],
)  # fmt: skip
def test_what_is_no_picture_is_415_and_not_kept(program: Actor, own: Services, image: bytes) -> None:
    answer = upload(program, image)
    assert (answer.status_code, answer.get_json()["code"]) == (415, "not_an_image")
    assert own.spool.usage() == (0, 0)


def test_more_than_25_mb_is_413(program: Actor, own: Services) -> None:
    for size in (25 * 1024 * 1024 + 1, 30_000_000):
        answer = raw_upload(program, b"\x89PNG" + bytes(size))
        assert (answer.status_code, answer.get_json()["code"]) == (413, "too_large")
    assert own.spool.usage() == (0, 0)


@for_each(
    ("change", "code"),
    [
        ({"capture_id": "7"}, "invalid_capture_id"),
        ({"capture_id": "../../etc"}, "invalid_capture_id"),
        ({"capture_id": None}, "invalid_capture_id"),
        ({"captured_at": "now"}, "invalid_time"),
        ({"captured_at": 1795176000000}, "invalid_time"),
        ({"captured_at": -1}, "invalid_time"),
        ({"captured_at": None}, "invalid_time"),
        ({"captured_at": 0}, "invalid_time"),
        ({"captured_at": 9e9}, "invalid_time"),  # the year 2255: beyond what a frame id holds
        ({"window_name": "a\0b"}, "invalid_window_name"),
        ({"focused": "yes"}, "invalid_focused"),
        ({"app_name": 7}, "invalid_app_name"),
        ({"app_name": "x" * 1001}, "invalid_app_name"),
        ({"pid": 7}, "unknown_field"),
    ],
)
def test_bad_metadata_is_422_and_nothing_is_kept(
    program: Actor, own: Services, change: dict[str, Any], code: str
) -> None:
    answer = upload(program, **change)
    assert (answer.status_code, answer.get_json()["code"]) == (422, code)
    assert own.spool.usage() == (0, 0)


@for_each(
    ("metadata", "code"),
    [
        (None, "metadata_required"),
        ("", "metadata_required"),
        ("{", "invalid_json"),
        ("[]", "invalid_body"),
        (f'{{"capture_id": "{ID}"}}', "captured_at_required"),
        (f'{{"capture_id": "{ID}", "captured_at": NaN}}', "invalid_json"),
    ],
)
def test_metadata_that_is_no_document_is_422(program: Actor, metadata: str | None, code: str) -> None:
    parts: dict[str, Any] = {"image": (io.BytesIO(encoded("PNG")), "a.png")}
    if metadata is not None:
        parts["metadata"] = metadata
    answer = program.post("/api/v1/ingest", data=parts)
    assert (answer.status_code, answer.get_json()["code"]) == (422, code)


def test_an_upload_without_a_picture_is_422(program: Actor) -> None:
    answer = program.post(
        "/api/v1/ingest",
        data={"metadata": json.dumps({"capture_id": ID, "captured_at": 1.0}), "x": (io.BytesIO(), "y")},
    )
    assert answer.status_code == 422


@for_each("content_type", ["application/json", "image/webp", "text/plain", ""])
def test_an_upload_of_another_kind_is_415(program: Actor, content_type: str) -> None:
    answer = program.post("/api/v1/ingest", data=b"{}", content_type=content_type)
    assert (answer.status_code, answer.get_json()["code"]) == (415, "unsupported_media_type")


def test_a_full_spool_says_when_to_come_back(program: Actor, own: Services) -> None:
    own.spool.max_entries = 0
    answer = upload(program)
    assert (answer.status_code, answer.get_json()["code"]) == (503, "spool_full")
    assert int(answer.headers["Retry-After"]) > 0
    assert own.spool.waiting() == []


# -- privacy --------------------------------------------------------------------------------


def test_a_window_that_a_rule_leaves_out_is_not_kept(
    program: Actor, own: Services, database: Database, data_dir: DataDir
) -> None:
    """Rules decide here too; the ledger says so without a name."""
    save_rules(data_dir, [Rule(app="Bank")])
    answer = upload(program, app_name="Bank", window_name="Account 12345")
    assert (answer.status_code, answer.get_json()["status"]) == (202, "excluded")
    assert own.spool.usage() == (0, 0)
    assert program.get(f"/api/v1/ingest/{ID}").get_json()["status"] == "excluded"
    (count,) = ledger.daily(database, NOON_MS, NOON_MS + 1)
    assert (count.decision, count.looks) == ("excluded", 1)
    assert "Bank" not in count.reason and "12345" not in count.reason
    assert upload(program, app_name="Bank").get_json()["status"] == "duplicate"


def test_rules_that_cannot_be_read_keep_nothing(program: Actor, own: Services, data_dir: DataDir) -> None:
    data_dir.privacy_rules.write_text("{")
    answer = upload(program)
    assert (answer.status_code, answer.get_json()["code"]) == (503, "rules_unreadable")
    assert own.spool.usage() == (0, 0)


# -- what became of it ----------------------------------------------------------------------


def test_a_capture_is_queued_then_stored_then_searchable(
    program: Actor, own: Services, database: Database, data_dir: DataDir
) -> None:
    upload(program)
    assert program.get(f"/api/v1/ingest/{ID}").get_json()["status"] == "queued"
    name = own.spool.waiting()[0]
    own.spool.take(name)
    assert program.get(f"/api/v1/ingest/{ID}").get_json()["status"] == "queued"
    stored = store_frame(database, data_dir, capture_id=ID)
    answer = program.get(f"/api/v1/ingest/{ID}").get_json()
    assert (answer["status"], answer["frame_id"]) == ("stored", stored.id)
    read = store_frame(database, data_dir, text="words")
    assert program.get(f"/api/v1/ingest/{read.capture_id}").get_json()["status"] == "searchable"


def test_a_capture_that_is_stored_while_it_is_asked_for_is_never_unknown(
    program: Actor, own: Services, database: Database, data_dir: DataDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(program)

    def store() -> None:
        own.spool.take(own.spool.waiting()[0])
        store_frame(database, data_dir, capture_id=ID)
        own.spool.finish(next((own.spool.folder / "taken").iterdir()).name)

    meanwhile(monkeypatch, frames, "outcome", store)
    assert program.get(f"/api/v1/ingest/{ID}").get_json()["status"] == "queued"
    assert program.get(f"/api/v1/ingest/{ID}").get_json()["status"] == "stored"


def test_a_capture_that_was_set_aside_has_failed_with_its_reason(program: Actor, own: Services) -> None:
    upload(program)
    name = own.spool.waiting()[0]
    own.spool.take(name)
    own.spool.fail(name, "the picture cannot be decoded")
    answer = program.get(f"/api/v1/ingest/{ID}").get_json()
    assert (answer["status"], answer["reason"]) == ("failed", "the picture cannot be decoded")


def test_a_duplicate_names_the_frame_it_equals(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    with database.write() as connection:
        frames.record_outcome(connection, ID, "deduplicated", NOON_MS, frame.id)
    answer = program.get(f"/api/v1/ingest/{ID}").get_json()
    assert (answer["status"], answer["frame_id"]) == ("deduplicated", frame.id)


def test_a_deleted_capture_is_gone_for_good(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    program.ask("DELETE", f"/api/v1/frames/{frame.id}")
    answer = program.get(f"/api/v1/ingest/{frame.capture_id}")
    assert (answer.status_code, answer.get_json()["code"]) == (410, "capture_deleted")
    assert upload(program, capture_id=frame.capture_id).get_json()["status"] == "duplicate"


def test_an_unknown_capture_is_not_found(program: Actor) -> None:
    answer = program.get(f"/api/v1/ingest/{uuid.uuid4()}")
    assert (answer.status_code, answer.get_json()["code"]) == (404, "capture_not_found")
    assert program.get("/api/v1/ingest/..").status_code == 404
    assert program.get("/api/v1/ingest/not-a-uuid").status_code == 404


def test_the_limits_of_the_spool_come_from_the_settings(own: Services) -> None:
    limits = replace(own.settings.spool)
    assert own.spool.max_entries == limits.max_entries
    assert own.spool.max_bytes == limits.max_gb * 1e9
