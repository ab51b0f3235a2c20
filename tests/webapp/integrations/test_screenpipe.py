"""The screenpipe-shaped port: parameters, shapes and times as its clients know them."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from werkzeug.test import TestResponse

from store.core.database import Database
from store.core.paths import DataDir
from store.core.settings import CompatSettings, Settings
from store.egress import access_log
from store.frames import tags
from store.frames.frames import FrameRow
from store.privacy.rules import Rule
from store.timeline.segments import heartbeat
from tests.factories import NOON_MS, save_rules, store_frame
from tests.tables import for_each
from tests.webapp.conftest import make_token
from webapp.integrations.screenpipe.app import create_compat_app
from webapp.integrations.screenpipe.search import shortened
from webapp.security.access import load_token

PORT = 3030
NOON = "2026-11-20T12:00:00Z"


class Screenpipe:
    """A client of theirs: it knows a port, sends a key, and gets JSON."""

    def __init__(self, app: Flask, token: str) -> None:
        self.app = app
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def ask(
        self, path: str, method: str = "GET", host: str = f"localhost:{PORT}", **sent: str
    ) -> TestResponse:
        headers = {**self.headers, **sent}
        return self.app.test_client().open(
            path, method=method, base_url=f"http://{host}", headers=headers, buffered=True
        )

    def get(self, path: str, **query: Any) -> Any:
        answer = self.app.test_client().get(
            path, query_string=query, base_url=f"http://localhost:{PORT}", headers=self.headers
        )
        assert answer.status_code == 200, answer.get_json()
        return answer.get_json()


@pytest.fixture
def compat(make_app: Callable[..., Flask]) -> Callable[..., Flask]:
    def make(**changes: Any) -> Flask:
        main = make_app(Settings(compat=replace(CompatSettings(screenpipe_port=PORT), **changes)))
        app = create_compat_app(main.extensions["recollect"], PORT)
        app.config["TESTING"] = False
        return app

    return make


@pytest.fixture
def theirs(compat: Callable[..., Flask], database: Database) -> Screenpipe:
    return Screenpipe(compat(), make_token(database, "read", "a viewer"))


def put(database: Database, captured_ms: int = NOON_MS, text: str | None = "", **changes: Any) -> FrameRow:
    frame = store_frame(database, database.data_dir, captured_ms, text, **changes)
    with database.write() as connection:
        heartbeat(connection, frame)
    return frame


# -- /search ----------------------------------------------------------------------------------


def test_a_frame_has_the_shape_of_their_ocr_content(theirs: Screenpipe, database: Database) -> None:
    frame = put(database, NOON_MS + 250, "the retention policy", browser_url="https://example.com/a")
    assert theirs.get("/search", q="retention") == {
        "data": [
            {
                "type": "OCR",
                "content": {
                    "frame_id": frame.id,
                    "text": "the retention policy",
                    "timestamp": "2026-11-20T12:00:00.250Z",
                    "file_path": "",
                    "offset_index": 0,
                    "app_name": "Code",
                    "window_name": "main.py",
                    "tags": [],
                    "frame": None,
                    "frame_name": None,
                    "browser_url": "https://example.com/a",
                    "focused": True,
                    "device_name": "DP-1",
                },
            }
        ],
        "pagination": {"limit": 20, "offset": 0, "total": 1},
    }


def test_names_they_never_leave_out_are_never_null(theirs: Screenpipe, database: Database) -> None:
    put(database, app_name=None, window_name=None, focused=None, text=None)
    (item,) = theirs.get("/search")["data"]
    content = item["content"]
    assert (content["app_name"], content["window_name"], content["text"], content["focused"]) == (
        "",
        "",
        "",
        None,
    )


@pytest.mark.parametrize(
    "kind", ["audio", "input", "accessibility", "memory", "ui", "audio+input", "nonsense"]
)
def test_kinds_that_are_not_recorded_answer_with_empty_data(
    theirs: Screenpipe, database: Database, kind: str
) -> None:
    put(database, text="words")
    assert theirs.get("/search", content_type=kind, q="words", speaker_ids="1,2", limit=5) == {
        "data": [],
        "pagination": {"limit": 5, "offset": 0, "total": 0},
    }


@pytest.mark.parametrize("kind", ["all", "ocr", "OCR", "vision", "vision+input", "vision+audio+input"])
def test_kinds_with_the_screen_answer_with_frames(theirs: Screenpipe, database: Database, kind: str) -> None:
    put(database, text="words")
    assert len(theirs.get("/search", content_type=kind, q="words")["data"]) == 1


@pytest.fixture
def three(database: Database) -> None:
    put(database, NOON_MS, "aaa")
    put(
        database, NOON_MS + 1000, "bb",
        app_name="Firefox", window_name="Inbox", browser_url="https://mail.example/x",
        host="laptop",
    )  # fmt: skip
    put(database, NOON_MS + 2000, "c", focused=False, monitor="DP-2")


@for_each(
    ("filters", "found"),
    [
        ({}, ["c", "bb", "aaa"]),
        ({"app_name": "fire"}, ["bb"]),
        ({"window_name": "inbox"}, ["bb"]),
        ({"browser_url": "mail.example"}, ["bb"]),
        ({"focused": "false"}, ["c"]),
        ({"device_name": "DP-2"}, ["c"]),
        ({"frame_name": "anything"}, []),
        ({"machine_id": "anything"}, []),
        ({"machine_id": "laptop"}, ["bb"]),
        ({"min_length": 2}, ["bb", "aaa"]),
        ({"min_length": 2, "max_length": 2}, ["bb"]),
        ({"start_time": "2026-11-20T12:00:01Z"}, ["c", "bb"]),
        ({"start_time": "2026-11-20T13:00:01+01:00", "end_time": "2026-11-20T12:00:01Z"}, ["bb"]),
        ({"start_time": "2h ago", "end_time": "now"}, ["c", "bb", "aaa"]),
        ({"start_time": "59m ago"}, []),
        ({"start_time": "", "app_name": ""}, ["c", "bb", "aaa"]),
        ({"unknown": "ignored", "include_cloud": "false"}, ["c", "bb", "aaa"]),
        ({"limit": 1}, ["c"]),
        ({"limit": 1, "offset": 1}, ["bb"]),
        ({"offset": 3}, []),
    ],
    ids=str,
)
def test_their_filters_find(
    theirs: Screenpipe, three: None, filters: dict[str, Any], found: list[str]
) -> None:
    assert [item["content"]["text"] for item in theirs.get("/search", **filters)["data"]] == found


def test_pages_by_offset_join_and_count(theirs: Screenpipe, database: Database) -> None:
    ids = [put(database, NOON_MS + n, "page").id for n in range(7)]
    pages = [theirs.get("/search", q="page", limit=3, offset=offset) for offset in (0, 3, 6)]
    found = [item["content"]["frame_id"] for page in pages for item in page["data"]]
    assert sorted(found) == ids
    assert [page["pagination"]["total"] for page in pages] == [7, 7, 7]


def test_frames_come_with_the_list_when_asked(theirs: Screenpipe, database: Database) -> None:
    kept, gone = put(database, NOON_MS + 1), put(database, NOON_MS)
    theirs.app.extensions["recollect"].media.remove([str(gone.media_path)])
    with_picture, without = theirs.get("/search", include_frames="true")["data"]
    image = Image.open(io.BytesIO(base64.b64decode(with_picture["content"]["frame"])))
    assert (image.format, image.size) == ("JPEG", (kept.width_px, kept.height_px))
    assert without["content"]["frame"] is None


@for_each(
    ("text", "most", "expected"),
    [
        ("abcdef", None, "abcdef"),
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 4, "ab...(truncated 3 chars)...fg"),
        ("abcdefg", 3, "a...(truncated 4 chars)...fg"),
        ("界界界界", 1, "...(truncated 3 chars)...界"),
    ],
)
def test_long_texts_lose_their_middle(text: str, most: int | None, expected: str) -> None:
    assert shortened(text, most) == expected


@for_each(
    "query",
    [
        {"limit": "-1"}, {"limit": "x"}, {"offset": "99999"}, {"start_time": "yesterday"},
        {"start_time": "2026-11-20T12:00:00"}, {"focused": "maybe"}, {"max_content_length": "0"},
        {"start_time": "now", "end_time": "1h ago"},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_understood_is_refused_by_name(theirs: Screenpipe, query: dict[str, str]) -> None:
    name = next(iter(query))
    answer = theirs.app.test_client().get(
        "/search", query_string=query, base_url=f"http://localhost:{PORT}", headers=theirs.headers
    )
    assert answer.status_code == 400
    assert name in answer.get_json()["error"] or "end_time" in answer.get_json()["error"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(q=st.text(max_size=40), app_name=st.text(max_size=10), limit=st.integers(0, 3))
def test_no_text_is_an_error(theirs: Screenpipe, q: str, app_name: str, limit: int) -> None:
    try:
        q.encode(), app_name.encode()
    except UnicodeEncodeError:
        return  # no client can send it
    theirs.get("/search", q=q, app_name=app_name, limit=limit)
    theirs.get("/elements", q=q, app_name=app_name, limit=limit)


# -- frames -----------------------------------------------------------------------------------


def test_a_frame_is_the_exact_picture(theirs: Screenpipe, database: Database) -> None:
    frame = put(database)
    answer = theirs.ask(f"/frames/{frame.id}")
    assert (answer.status_code, answer.mimetype) == (200, "image/webp")
    assert len(answer.data) == frame.size_bytes


def test_a_frame_that_is_not_there_says_so(theirs: Screenpipe, database: Database) -> None:
    frame = put(database)
    theirs.app.extensions["recollect"].media.remove([str(frame.media_path)])
    assert theirs.ask(f"/frames/{frame.id}").status_code == 410
    for path in ("/frames/7", "/frames/7/context", "/tags/vision/7", "/frames/x", "/frames/-1"):
        assert theirs.ask(path).status_code == 404, path


def test_a_redacted_picture_is_refused_not_replaced(theirs: Screenpipe, database: Database) -> None:
    frame = put(database)
    assert theirs.ask(f"/frames/{frame.id}?redact_pii=true").status_code == 400


def test_context_has_their_nodes(theirs: Screenpipe, database: Database) -> None:
    frame = put(database, text="one two\nthree")
    assert theirs.get(f"/frames/{frame.id}/context") == {
        "frame_id": frame.id,
        "text": "one two\nthree",
        "nodes": [
            {
                "role": "line",
                "text": "one two",
                "depth": 0,
                "bounds": {"left": 0.0, "top": 0.0, "width": 70 / 64, "height": 16 / 48},
            },
            {
                "role": "line",
                "text": "three",
                "depth": 0,
                "bounds": {"left": 0.0, "top": 20 / 48, "width": 50 / 64, "height": 16 / 48},
            },
        ],
        "urls": [],
        "text_source": "ocr",
    }


def test_tags_are_read_only(theirs: Screenpipe, database: Database) -> None:
    frame = put(database)
    assert theirs.get(f"/tags/vision/{frame.id}") == {"tags": []}
    with database.write() as connection:
        tags.add(connection, frame.id, "budget", NOON_MS)
    assert theirs.get(f"/tags/vision/{frame.id}") == {"tags": ["budget"]}
    for method in ("POST", "DELETE"):
        assert theirs.ask(f"/tags/vision/{frame.id}", method).status_code == 405


# -- /elements --------------------------------------------------------------------------------


def test_elements_are_lines_with_their_places(theirs: Screenpipe, database: Database) -> None:
    frame = put(database, text="first line\nthe balance\nlast")
    answer = theirs.get("/elements", q="balance")
    assert answer["pagination"] == {"limit": 50, "offset": 0, "total": 1}
    (element,) = answer["data"]
    assert element.pop("id") < 2**53
    assert element.pop("confidence") == pytest.approx(0.9)
    assert element == {
        "frame_id": frame.id,
        "source": "ocr",
        "role": "line",
        "text": "the balance",
        "parent_id": None,
        "depth": 0,
        "bounds": {"left": 0.0, "top": 20 / 48, "width": 110 / 64, "height": 16 / 48},
        "sort_order": 1,
    }


def test_elements_page_over_frames(theirs: Screenpipe, database: Database) -> None:
    for n in range(3):
        put(database, NOON_MS + n, f"a{n}\nb{n}")
    pages = [theirs.get("/elements", limit=4, offset=offset) for offset in (0, 4)]
    assert [each["text"] for page in pages for each in page["data"]] == ["a2", "b2", "a1", "b1", "a0", "b0"]
    assert len({each["id"] for page in pages for each in page["data"]}) == 6
    assert pages[1]["pagination"]["total"] == 6


@pytest.mark.parametrize("query", [{"source": "accessibility"}, {"role": "AXButton"}], ids=str)
def test_elements_of_other_kinds_do_not_exist(
    theirs: Screenpipe, database: Database, query: dict[str, str]
) -> None:
    put(database, text="words")
    assert theirs.get("/elements", **query)["data"] == []


def test_elements_of_one_frame(theirs: Screenpipe, database: Database) -> None:
    frame = put(database, text="a\nb")
    put(database, NOON_MS + 1, "c")
    assert [each["text"] for each in theirs.get("/elements", frame_id=frame.id)["data"]] == ["a", "b"]


def test_a_frame_tells_its_lines_under_each_of_their_addresses(
    theirs: Screenpipe, database: Database
) -> None:
    frame = put(database, text="first line\nthe balance")
    for path in ("text", "ocr"):
        told = theirs.get(f"/frames/{frame.id}/{path}")
        assert told["frame_id"] == frame.id
        assert [each["text"] for each in told["text_positions"]] == ["first line", "the balance"]
    second = told["text_positions"][1]
    assert second["bounds"] == {"left": 0.0, "top": 20 / 48, "width": 110 / 64, "height": 16 / 48}
    lines = theirs.get(f"/frames/{frame.id}/elements", q="balance")["data"]
    assert [each["text"] for each in lines] == ["the balance"]


def test_a_keyword_is_found_with_its_places(theirs: Screenpipe, database: Database) -> None:
    first = put(database, text="the balance of May")
    put(database, NOON_MS + 1000, "balance", app_name="Firefox")
    found = theirs.get("/search/keyword", query="balance")
    assert [each["app_name"] for each in found] == ["Firefox", "Code"]
    assert theirs.get("/search/keyword", query="balance", limit=1, offset=1) == found[1:]
    assert theirs.get("/search/keyword", query="balance", order="ascending") == found[::-1]
    [only] = theirs.get("/search/keyword", query="balance", app_names="code,mail")
    assert (only["frame_id"], only["timestamp"], only["text"]) == (first.id, NOON, "the balance of May")
    [place] = only["text_positions"]
    assert place["text"] == "balance" and place["bounds"]["left"] == 40 / 64
    assert theirs.get("/search/keyword", query="quartz") == []


def test_monitors_are_listed_and_no_sound(theirs: Screenpipe, database: Database) -> None:
    assert theirs.get("/vision/list") == theirs.get("/audio/list") == theirs.get("/meetings") == []
    put(database, text="a")
    [monitor] = theirs.get("/vision/list")
    assert (monitor["id"], monitor["width"], monitor["height"], monitor["is_default"]) == (1, 64, 48, True)


# -- activity and health ----------------------------------------------------------------------


def test_activity_has_their_shape(theirs: Screenpipe, database: Database) -> None:
    for n in range(3):
        put(database, NOON_MS + n * 30_000, "the retention policy")
    put(database, NOON_MS + 90_000, "other", app_name="Firefox")
    answer = theirs.get("/activity-summary", start_time=NOON, end_time="2026-11-20T12:10:00Z")
    code = next(app for app in answer["apps"] if app["name"] == "Code")
    assert set(code) == {"name", "frame_count", "minutes", "first_seen", "last_seen"}
    assert (code["frame_count"], code["first_seen"]) == (3, NOON)
    assert sum(app["minutes"] for app in answer["apps"]) <= 10
    assert [(each["text"], each["app_name"]) for each in answer["recent_texts"]] == [
        ("other", "Firefox"),
        ("the retention policy", "Code"),
    ]
    assert answer["key_texts"] == answer["recent_texts"]
    assert (answer["windows"][0]["app_name"], answer["windows"][0]["frame_count"]) == ("Code", 3)
    assert set(answer["windows"][0]) == {"app_name", "window_name", "browser_url", "minutes", "frame_count"}
    assert answer["audio_summary"] == {"segment_count": 0, "speakers": [], "top_transcriptions": []}
    assert (answer["data_status"], answer["query_status"]) == ("ok", "not_requested")
    assert answer["recording"]["frames_in_range"] == 4 and answer["memories"] == answer["edited_files"] == []
    assert answer["total_frames"] == 4
    assert answer["time_range"] == {"start": NOON, "end": "2026-11-20T12:10:00Z"}
    asked = theirs.get(
        "/activity-summary", start_time=NOON, end_time="now", q="retention", include_memories="false",
        max_snippet_chars=7,
    )  # fmt: skip
    assert asked["query_status"] == "matched" and "memories" not in asked
    assert [(each["text"], each["source"]) for each in asked["snippets"]] == [("the ret", "screen")]
    none = theirs.get("/activity-summary", start_time=NOON, end_time="now", q="quartz")
    assert none["query_status"] == "no_query_matches" and none["snippets"] == []
    only = theirs.get("/activity-summary", start_time=NOON, end_time="now", app_name="firefox")
    assert [app["name"] for app in only["apps"]] == ["Firefox"]


def test_health_has_their_shape_and_no_time_without_a_token(theirs: Screenpipe, database: Database) -> None:
    put(database)
    known = theirs.get("/health")
    assert {"status", "status_code", "frame_status", "audio_status", "message"} <= set(known)
    assert (known["last_frame_timestamp"], known["audio_status"]) == (NOON, "disabled")
    stranger = Screenpipe(theirs.app, "").get("/health")
    assert stranger == {**known, "last_frame_timestamp": None}


# -- the door ---------------------------------------------------------------------------------

DATA = (
    "/search",
    "/elements",
    "/activity-summary?start_time=1h%20ago&end_time=now",
    "/frames/1",
    "/frames/1/context",
    "/tags/vision/1",
)


@pytest.mark.parametrize("path", DATA)
def test_without_a_token_only_health_answers(theirs: Screenpipe, path: str) -> None:
    for token in ("", "wrong"):
        answer = Screenpipe(theirs.app, token).ask(path)
        assert answer.status_code == 401
        assert list(answer.get_json()) == ["error"]


def test_the_token_may_stand_in_the_address_and_a_wrong_header_beats_it(
    theirs: Screenpipe, database: Database, data_dir: DataDir
) -> None:
    token = load_token(data_dir)
    stranger = Screenpipe(theirs.app, "")
    assert stranger.ask(f"/search?token={make_token(database, 'read')}").status_code == 200
    assert stranger.ask(f"/search?token={make_token(database, 'mcp')}").status_code == 401
    assert stranger.ask(f"/search?token={token}").status_code == 200
    assert stranger.ask(f"/search?token={token}", Authorization="Bearer wrong").status_code == 401
    assert stranger.ask(f"/search?token={token}", Authorization="Basic eDp5").status_code == 401


def test_a_person_may_let_old_clients_in_without_a_token(compat: Callable[..., Flask]) -> None:
    stranger = Screenpipe(compat(token_required=False), "")
    assert stranger.ask("/search").status_code == 200
    assert stranger.ask("/search", host="evil.example").status_code == 403
    assert stranger.ask("/search", Origin="http://localhost:3000").status_code == 403


@for_each(
    ("host", "headers"),
    [
        ("evil.example:3030", {}),
        ("localhost:8420", {}),
        ("localhost", {}),
        (f"localhost:{PORT}", {"Origin": "https://evil.example"}),
        (f"localhost:{PORT}", {"Origin": "null"}),
        (f"localhost:{PORT}", {"Sec-Fetch-Site": "cross-site"}),
        (f"localhost:{PORT}", {"Sec-Fetch-Site": "same-site"}),
    ],
)
def test_other_hosts_and_sites_are_refused_with_a_token_too(
    theirs: Screenpipe, host: str, headers: dict[str, str]
) -> None:
    for path in ("/search", "/health"):
        assert theirs.ask(path, host=host, **headers).status_code == 403


def test_nothing_is_offered_to_other_sites(theirs: Screenpipe) -> None:
    answer = theirs.ask("/search")
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]
    assert answer.headers["Cache-Control"] == "private, no-store"


def test_a_newer_rule_hides_frames_from_every_address(
    theirs: Screenpipe, database: Database, data_dir: DataDir
) -> None:
    """Pages are filled past what is hidden."""
    shown = put(database, NOON_MS, "policy")
    secret = put(database, NOON_MS + 1000, "balance policy", app_name="Bank", window_name="Accounts")
    save_rules(data_dir, [Rule(title="accounts")])
    found = theirs.get("/search", q="policy", limit=1)
    assert [item["content"]["frame_id"] for item in found["data"]] == [shown.id]
    assert found["pagination"]["total"] == 1
    assert [each["text"] for each in theirs.get("/elements")["data"]] == ["policy"]
    for path in ("", "/context", "/text", "/elements"):
        assert theirs.ask(f"/frames/{secret.id}{path}").status_code == 403, path
    assert theirs.ask(f"/elements?frame_id={secret.id}").status_code == 403
    assert [each["frame_id"] for each in theirs.get("/search/keyword", query="policy")] == [shown.id]
    summary = theirs.ask(f"/activity-summary?start_time={NOON}&end_time=now").get_data(as_text=True)
    assert "Code" in summary
    assert "Bank" not in summary and "balance" not in summary


def test_every_read_leaves_one_row(theirs: Screenpipe, database: Database) -> None:
    frame = put(database, text="a\nb")
    theirs.get("/search")
    theirs.ask(f"/frames/{frame.id}")
    theirs.get("/elements")
    theirs.ask("/frames/7")
    Screenpipe(theirs.app, "").ask("/search")  # not let in: nothing was read
    rows = access_log.latest(database)[::-1]
    assert {row.caller for row in rows} == {"a viewer"}
    assert [(row.door, row.tool, row.outcome, row.returned) for row in rows] == [
        ("screenpipe", "search", "answered", 1),
        ("screenpipe", "picture", "answered", 1),
        ("screenpipe", "elements", "answered", 2),
        ("screenpipe", "picture", "refused", 0),
    ]
