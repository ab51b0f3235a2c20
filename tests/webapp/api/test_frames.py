"""One frame over HTTP: the exact bytes or an explicit no, its text, its surroundings, its end."""

from __future__ import annotations

import hashlib
import io

import pytest
from PIL import Image

from store.core.database import Database
from store.core.paths import DataDir
from store.ocr import readings
from store.ocr.readings import DraftLine, DraftWord, TextDraft
from tests.factories import NOON_MS, picture, store_frame, webp
from tests.tables import for_each
from tests.webapp.conftest import Actor

API = "/api/v1/frames"


def test_the_picture_is_byte_for_byte_what_was_captured(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    image = picture(7)
    frame = store_frame(database, data_dir, image=image)
    answer = program.get(f"{API}/{frame.id}")
    assert answer.data == webp(image)
    assert answer.content_type == "image/webp"
    assert answer.headers["ETag"] == f'"{hashlib.sha256(answer.data).hexdigest()}"'
    assert answer.content_length == len(answer.data)


def test_a_known_picture_is_not_sent_again(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    tag = program.get(f"{API}/{frame.id}").headers["ETag"]
    again = program.get(f"{API}/{frame.id}", headers={"If-None-Match": tag})
    assert (again.status_code, again.data, again.headers["ETag"]) == (304, b"", tag)
    other = program.get(f"{API}/{frame.id}", headers={"If-None-Match": '"0"'})
    assert other.status_code == 200


def test_a_gone_picture_is_told_even_to_a_browser_that_knows_it(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir)
    tag = program.get(f"{API}/{frame.id}").headers["ETag"]
    assert frame.media_path is not None
    (data_dir.media / frame.media_path).unlink()
    assert program.get(f"{API}/{frame.id}", headers={"If-None-Match": tag}).status_code == 410


def test_a_preview_is_smaller_and_has_a_tag_of_its_own(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, image=picture(1, (640, 480)))
    answer = program.get(f"{API}/{frame.id}?width=64")
    assert Image.open(io.BytesIO(answer.data)).size == (64, 48)
    assert answer.headers["ETag"] == f'"{frame.sha256}-w64"'
    again = program.get(f"{API}/{frame.id}?width=64", headers={"If-None-Match": answer.headers["ETag"]})
    assert again.status_code == 304
    whole = program.get(f"{API}/{frame.id}", headers={"If-None-Match": answer.headers["ETag"]})
    assert whole.status_code == 200


def test_a_crop_has_the_very_pixels(program: Actor, database: Database, data_dir: DataDir) -> None:
    image = picture(1, (64, 48))
    image.putpixel((10, 20), (1, 2, 3))
    frame = store_frame(database, data_dir, image=image)
    answer = program.get(f"{API}/{frame.id}?crop=8,16,10,10")
    cropped = Image.open(io.BytesIO(answer.data))
    assert cropped.size == (10, 10)
    assert cropped.convert("RGB").getpixel((2, 4)) == (1, 2, 3)


@for_each(
    "query",
    [
        "width=0",
        "width=15",
        "width=5000",
        "width=a",
        "width=",
        "crop=1,2,3",
        "crop=0,0,0,5",
        "crop=-1,0,5,5",
        "crop=a,b,c,d",
        "crop=64,0,5,5",
        "crop=99999,99999,9,9",
        "width=64&crop=0,0,8,8",
        "size=3",
        "width=64&width=64",
    ],
)
def test_other_sizes_are_refused(program: Actor, database: Database, data_dir: DataDir, query: str) -> None:
    frame = store_frame(database, data_dir)
    assert program.get(f"{API}/{frame.id}?{query}").status_code == 400


@pytest.mark.parametrize("spoil", ["unlink", "truncate", "swap", "link"])
def test_pixels_that_are_not_its_own_are_gone_and_never_a_neighbours(
    program: Actor, database: Database, data_dir: DataDir, spoil: str
) -> None:
    """410 with a code, whatever happened to the file."""
    frame = store_frame(database, data_dir, NOON_MS, text="kept words")
    other = store_frame(database, data_dir, NOON_MS + 1)
    assert frame.media_path is not None and other.media_path is not None
    path, neighbour = data_dir.media / frame.media_path, data_dir.media / other.media_path
    if spoil == "truncate":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        path.unlink()
    if spoil == "swap":
        path.write_bytes(neighbour.read_bytes())
    if spoil == "link":
        path.symlink_to(neighbour)
    for query in ("", "?width=64", "?crop=0,0,8,8"):
        answer = program.get(f"{API}/{frame.id}{query}")
        assert (answer.status_code, answer.get_json()["code"]) == (410, "media_gone")
    text = program.get(f"{API}/{frame.id}/text").get_json()
    assert text["lines"][0]["text"] == "kept words"
    context = program.get(f"{API}/{frame.id}/context").get_json()
    assert context["frame"]["picture"] == ("missing" if spoil == "unlink" else "altered")


@pytest.mark.parametrize("tail", ["", "/context", "/text"])
def test_an_unknown_frame_is_not_found(program: Actor, tail: str) -> None:
    answer = program.get(f"{API}/999{tail}")
    assert (answer.status_code, answer.get_json()["code"]) == (404, "frame_not_found")


@for_each(
    "name",
    [
        "..",
        "../token",
        "%2e%2e%2ftoken",
        "..%2f..%2ftoken",
        "%00",
        "1%00",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "+1",
        "-1",
        "01",
        "1.0",
        "1e3",
        "0x1",
        " 1",
        "1 ",
        "１",
        "٣",
        "1/",
        "1;2",
        "9" * 19,
        "9" * 400,
        "",
    ],
)
def test_only_canonical_ids_are_addresses(
    program: Actor, database: Database, data_dir: DataDir, name: str
) -> None:
    """Path tricks are 404, and no file is ever reached by a name."""
    store_frame(database, data_dir)
    for tail in ("", "/context", "/text"):
        answer = program.get(f"{API}/{name}{tail}")
        assert answer.status_code == 404, name
        assert b"Traceback" not in answer.data


def test_the_context_has_text_neighbours_and_activity(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    before = store_frame(database, data_dir, NOON_MS)
    frame = store_frame(database, data_dir, NOON_MS + 1, text="two\nlines")
    store_frame(database, data_dir, NOON_MS + 2, monitor="HDMI-1")
    after = store_frame(database, data_dir, NOON_MS + 3)
    context = program.get(f"{API}/{frame.id}/context").get_json()
    assert context["text"] == "two\nlines"
    assert (context["previous_frame_id"], context["next_frame_id"]) == (before.id, after.id)
    assert context["status"] == "searchable"
    assert context["frame"]["timestamp"] == (NOON_MS + 1) / 1000
    assert context["frame"]["sha256"] == frame.sha256


def test_no_answer_names_a_path(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, text="words")
    assert frame.media_path is not None
    for tail in ("/context", "/text"):
        text = program.get(f"{API}/{frame.id}{tail}").text
        assert frame.media_path not in text and str(data_dir.home) not in text


def test_words_that_a_search_finds_are_marked_in_the_text(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, text="one retention policy\nanother line")
    answer = program.get(f"{API}/{frame.id}/text?q=Retention").get_json()
    first, second = answer["lines"]
    assert first["highlights"] == [[4, 13]]
    assert [word["hit"] for word in first["words"]] == [False, True, False]
    assert first["words"][1]["box"] == {"x": 40, "y": 0, "w": 90, "h": 16}
    assert second["highlights"] == []
    assert (answer["engine"], answer["language"]) == ("test", "eng")


def test_a_word_says_who_told_it(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir)
    box = readings.Box(1, 2, 30, 10)
    words = (DraftWord("read", box, 0.9), DraftWord("told", box, None, "browser", "ink"))
    draft = TextDraft((DraftLine(box, 0.9, words),), "test", "eng", 1)
    with database.write() as connection:
        readings.add(connection, frame.id, draft, (), NOON_MS)
    [line] = program.get(f"{API}/{frame.id}/text").get_json()["lines"]
    assert [(w["source"], w["checked"]) for w in line["words"]] == [("read", "read"), ("browser", "ink")]


def test_a_frame_that_was_not_read_has_no_lines_and_says_so(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir)
    answer = program.get(f"{API}/{frame.id}/text?q=x").get_json()
    assert (answer["lines"], answer["engine"], answer["status"]) == ([], None, "stored")


# -- deletion -------------------------------------------------------------------------------


def test_a_deleted_frame_is_gone_everywhere(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, text="topsecret")
    kept = store_frame(database, data_dir, NOON_MS + 1, text="kept")
    receipt = program.ask("DELETE", f"{API}/{frame.id}").get_json()
    assert receipt["counts"]["frames"] == 1
    assert receipt["verification"] == {"ok": True, "left": [], "elsewhere": []}
    assert receipt["bytes"] >= frame.size_bytes
    for tail in ("", "/context", "/text"):
        assert program.get(f"{API}/{frame.id}{tail}").status_code == 404
    assert program.get("/api/v1/search?start_time=0&q=topsecret").get_json()["data"] == []
    assert program.get(f"{API}/{kept.id}").status_code == 200
    assert program.ask("DELETE", f"{API}/{frame.id}").status_code == 404


def test_a_dry_run_counts_and_deletes_nothing(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, text="words")
    body = {"start_time": NOON_MS / 1000, "end_time": NOON_MS / 1000 + 1, "dry_run": True}
    receipt = program.post("/api/v1/delete", json=body).get_json()
    assert (receipt["dry_run"], receipt["counts"]["frames"], receipt["deleted_at"]) == (True, 1, None)
    assert receipt["verification"] is None
    assert program.get(f"{API}/{frame.id}").status_code == 200
    done = program.post("/api/v1/delete", json={**body, "dry_run": False}).get_json()
    assert (done["dry_run"], done["counts"]["frames"]) == (False, 1)
    assert program.get(f"{API}/{frame.id}").status_code == 404


def test_only_the_named_app_is_deleted(program: Actor, database: Database, data_dir: DataDir) -> None:
    code = store_frame(database, data_dir, app_name="Code")
    mail = store_frame(database, data_dir, NOON_MS + 1, app_name="Mail")
    body = {"start_time": 0, "end_time": NOON_MS / 1000 + 1, "app_name": "Mail"}
    assert program.post("/api/v1/delete", json=body).get_json()["counts"]["frames"] == 1
    assert program.get(f"{API}/{code.id}").status_code == 200
    assert program.get(f"{API}/{mail.id}").status_code == 404


@for_each(
    ("body", "status", "code"),
    [
        ("", 400, "invalid_json"),
        ("{", 400, "invalid_json"),
        ("[]", 422, "invalid_body"),
        ("null", 422, "invalid_body"),
        ('{"start_time": 1}', 422, "end_time_required"),
        ('{"start_time": NaN, "end_time": 2}', 400, "invalid_json"),
        ('{"start_time": Infinity, "end_time": 2}', 400, "invalid_json"),
        ('{"start_time": 1, "end_time": 1e999}', 400, "invalid_time"),
        ('{"start_time": 1, "end_time": 1795176000000}', 400, "invalid_time"),
        ('{"start_time": "1", "end_time": 2}', 400, "invalid_time"),
        ('{"start_time": true, "end_time": 2}', 400, "invalid_time"),
        ('{"start_time": 2, "end_time": 2}', 400, "invalid_time_range"),
        ('{"start_time": 3, "end_time": 2}', 400, "invalid_time_range"),
        ('{"start_time": 1, "end_time": 2, "start_time": 0}', 400, "invalid_json"),
        ('{"start_time": 1, "end_time": 2, "everything": true}', 422, "unknown_field"),
        ('{"start_time": 1, "end_time": 2, "dry_run": "yes"}', 422, "invalid_dry_run"),
        ('{"start_time": 1, "end_time": 2, "app_name": 3}', 422, "invalid_app_name"),
        ('{"start_time": 1, "end_time": 2, "app_name": ""}', 422, "invalid_app_name"),
        ("[" * 100_000, 400, "invalid_json"),
        ('{"start_time": ' + "9" * 5000 + ', "end_time": 2}', 400, "invalid_json"),
        ('{"app_name": "\\ud800", "start_time": 1, "end_time": 2}', 400, "invalid_json"),
    ],
)
def test_a_bad_deletion_deletes_nothing(
    program: Actor, database: Database, data_dir: DataDir, body: str, status: int, code: str
) -> None:
    frame = store_frame(database, data_dir, 1_500)
    answer = program.post("/api/v1/delete", data=body, content_type="application/json")
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
    assert program.get(f"{API}/{frame.id}").status_code == 200


@for_each(
    ("body", "content_type", "status", "code"),
    [
        *((b"{}", kind, 415, "unsupported_media_type") for kind in ("text/plain", "", "application/xml")),
        (b"{}", "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        (b'{"app_name": "\xff"}', "application/json", 400, "invalid_json"),
        (b'{"app_name": "' + b"x" * 1_100_000 + b'"}', "application/json", 413, "too_large"),
    ],
)
def test_a_body_that_is_no_json_of_some_size_is_refused(
    program: Actor, body: bytes, content_type: str, status: int, code: str
) -> None:
    answer = program.post("/api/v1/delete", data=body, content_type=content_type)
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)
