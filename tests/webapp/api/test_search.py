"""GET /search: what it finds, and every input it refuses."""

from __future__ import annotations

from store.core.database import Database
from store.core.paths import DataDir
from tests.factories import NOON_MS, store_frame
from tests.tables import for_each
from tests.webapp.conftest import Actor, Clock

NOON = NOON_MS / 1000


def test_a_hit_has_the_shape_of_the_contract(program: Actor, database: Database, data_dir: DataDir) -> None:
    frame = store_frame(
        database, data_dir, NOON_MS + 1, text="the retention policy", browser_url="https://example.com/a"
    )
    answer = program.get(f"/api/v1/search?start_time={NOON}&q=retention").get_json()
    (hit,) = answer["data"]
    score = hit.pop("score")
    assert score > 0
    assert hit == {
        "frame_id": frame.id,
        "timestamp": NOON + 0.001,
        "app_name": "Code",
        "window_name": "main.py",
        "browser_url": "https://example.com/a",
        "focused": True,
        "monitor": "DP-1",
        "host": "",
        "snippet": "the retention policy",
        "highlights": [[4, 13]],
        "matched": ["text"],
        "status": "searchable",
        "frame_url": f"/api/v1/frames/{frame.id}",
        "alike": [],
    }
    assert answer["near"] == {"total": 0, "total_is_exact": True}
    assert answer["pagination"] == {"limit": 20, "next_cursor": None, "total": 1, "total_is_exact": True}
    assert set(answer["search"]) == {
        "mode", "strategy", "fallback_reason", "reading", "duration_ms", "index_fresh_to", "meaning_since"
    }  # fmt: skip
    assert answer["search"]["index_fresh_to"] == NOON + 0.001


def test_a_run_of_look_alikes_is_one_row_where_asked(
    program: Actor, database: Database, data_dir: DataDir
) -> None:
    made = [store_frame(database, data_dir, NOON_MS + n, text="the retention policy").id for n in range(3)]
    path = f"/api/v1/search?start_time={NOON}&q=retention"
    assert [hit["alike"] for hit in program.get(path).get_json()["data"]] == [[], [], []]
    folded = program.get(f"{path}&fold=true").get_json()
    assert [(hit["frame_id"], hit["alike"]) for hit in folded["data"]] == [(made[2], made[:2])]
    assert folded["pagination"]["total"] == 3


def test_the_end_defaults_to_now_and_is_not_included(
    program: Actor, database: Database, data_dir: DataDir, now: Clock
) -> None:
    """Ranges are half-open."""
    inside = store_frame(database, data_dir, NOON_MS)
    edge = store_frame(database, data_dir, NOON_MS + 500)
    store_frame(database, data_dir, now.now_ms + 60_000_000)
    ended = program.get(f"/api/v1/search?start_time={NOON}&end_time={NOON + 0.5}").get_json()
    assert [hit["frame_id"] for hit in ended["data"]] == [inside.id]
    open_end = program.get(f"/api/v1/search?start_time={NOON}").get_json()
    assert {hit["frame_id"] for hit in open_end["data"]} >= {inside.id, edge.id}


def test_filters_reach_the_search(program: Actor, database: Database, data_dir: DataDir) -> None:
    """A name is a case-insensitive part."""
    wanted = store_frame(
        database, data_dir, app_name="WeChat", window_name="Anna", browser_url="http://x/1", focused=False,
        monitor="HDMI-1",
    )  # fmt: skip
    store_frame(database, data_dir, NOON_MS + 1)
    for pair in ("app_name=chat", "window_name=ANNA", "browser_url=x/1", "focused=false", "monitor=HDMI-1"):
        answer = program.get(f"/api/v1/search?start_time={NOON}&{pair}").get_json()
        assert [hit["frame_id"] for hit in answer["data"]] == [wanted.id], pair


@for_each(
    ("query", "code", "field"),
    [
        ("", "start_time_required", "start_time"),
        ("q=x", "start_time_required", "start_time"),
        ("start_time=", "start_time_required", "start_time"),
        ("start_time=NaN", "invalid_time", "start_time"),
        ("start_time=inf", "invalid_time", "start_time"),
        ("start_time=-Infinity", "invalid_time", "start_time"),
        ("start_time=1e999", "invalid_time", "start_time"),
        ("start_time=0.5h", "invalid_time", "start_time"),
        ("start_time=yesterday", "invalid_time", "start_time"),
        ("start_time=-1", "invalid_time", "start_time"),
        ("start_time=1_000", "invalid_time", "start_time"),
        ("start_time=0x10", "invalid_time", "start_time"),
        ("start_time=%201", "invalid_time", "start_time"),
        ("start_time=1795176000000", "invalid_time", "start_time"),
        ("start_time=100000000000.1", "invalid_time", "start_time"),
        ("start_time=1&end_time=", "invalid_time", "end_time"),
        ("start_time=1&end_time=NaN", "invalid_time", "end_time"),
        ("start_time=1&end_time=1795176000000", "invalid_time", "end_time"),
        ("start_time=2&end_time=2", "invalid_time_range", "end_time"),
        ("start_time=2&end_time=1", "invalid_time_range", "end_time"),
        ("start_time=2&end_time=2.0001", "invalid_time_range", "end_time"),
        ("start_time=99999999999", "invalid_time_range", "start_time"),
        ("start_time=1&start_time=1", "duplicate_parameter", "start_time"),
        ("start_time=1&q=a&q=b", "duplicate_parameter", "q"),
        ("start_time=1&limit=0", "invalid_limit", "limit"),
        ("start_time=1&limit=201", "invalid_limit", "limit"),
        ("start_time=1&limit=1.5", "invalid_limit", "limit"),
        ("start_time=1&limit=", "invalid_limit", "limit"),
        ("start_time=1&offset=-1", "invalid_offset", "offset"),
        ("start_time=1&offset=10001", "invalid_offset", "offset"),
        ("start_time=1&focused=yes", "invalid_focused", "focused"),
        ("start_time=1&focused=1", "invalid_focused", "focused"),
        ("start_time=1&content_type=audio", "invalid_content_type", "content_type"),
        ("start_time=1&content_type=input", "invalid_content_type", "content_type"),
        ("start_time=1&mode=magic", "invalid_mode", "mode"),
        ("start_time=1&order=random", "invalid_order", "order"),
        ("start_time=1&cursor=zzz", "invalid_cursor", "cursor"),
        ("start_time=1&starttime=2", "unknown_parameter", "starttime"),
        ("start_time=1&%00=2", "unknown_parameter", "\x00"),
        (f"start_time=1&q={'x' * 1001}", "invalid_q", "q"),
    ],
)
def test_bad_input_is_refused_by_name(program: Actor, query: str, code: str, field: str) -> None:
    answer = program.get(f"/api/v1/search?{query}")
    problem = answer.get_json()
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    assert problem["code"] == code
    assert problem["errors"][0]["field"] == field
    assert problem["request_id"] == answer.headers["X-Request-Id"]


def test_a_cursor_for_other_filters_is_refused(program: Actor, database: Database, data_dir: DataDir) -> None:
    for n in range(3):
        store_frame(database, data_dir, NOON_MS + n)
    first = program.get(f"/api/v1/search?start_time={NOON}&limit=1").get_json()
    cursor = first["pagination"]["next_cursor"]
    other = program.get(f"/api/v1/search?start_time={NOON}&limit=1&app_name=x&cursor={cursor}")
    assert (other.status_code, other.get_json()["code"]) == (400, "invalid_cursor")
    both = program.get(f"/api/v1/search?start_time={NOON}&limit=1&offset=1&cursor={cursor}")
    assert (both.status_code, both.get_json()["code"]) == (400, "invalid_cursor")


@for_each("text", ['"', "*", "NEAR(", "-", "C++", "'; --", "😀", "%00", "a OR", "(((", "%FF"])
def test_any_text_is_a_valid_search(program: Actor, text: str) -> None:
    answer = program.client.get(
        "/api/v1/search",
        query_string=f"start_time=0&q={text}",
        headers=program.headers,
        base_url="http://127.0.0.1:8420",
    )
    assert answer.status_code == 200
