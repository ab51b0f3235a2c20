"""GET /memory/search and /memory/timeline, and one observation: shapes and refusals."""

from __future__ import annotations

import pytest

from store.core.database import Database
from tests.factories import NOON_MS
from tests.memories import put_observation, put_session
from tests.tables import for_each
from tests.webapp.conftest import Actor

NOON = NOON_MS / 1000
SEARCH, TIMELINE = "/api/v1/memory/search", "/api/v1/memory/timeline"


def test_a_hit_has_the_shape_of_the_contract(program: Actor, database: Database) -> None:
    number = put_observation(database, narrative="Wrote the retention policy.", concepts=["retention"])
    answer = program.get(f"{SEARCH}?q=policy").get_json()
    (hit,) = answer["data"]
    body = hit.pop("body")
    assert hit.pop("score") > 0
    assert hit == {
        "type": "observation", "id": number, "start_time": NOON, "end_time": NOON + 600,
        "title": "Work on something", "snippet": "Wrote the retention policy.", "highlights": [[20, 26]],
    }  # fmt: skip
    assert (body["minutes"], body["source"], body["concepts"]) == (10.0, "rule", ["retention"])
    assert answer["search"].pop("duration_ms") > 0
    assert answer["search"]["strategy"] == "fts"
    assert answer["search"]["fallback_reason"]
    assert answer["search"]["window_days"] == 90


def test_types_concept_file_kind_and_range_narrow(program: Actor, database: Database) -> None:
    """90 days unless a range is given, and none is needed."""
    one = put_observation(database, concepts=["retention"], files=["a/b.py"], kind="mail")
    session = put_session(database, notes="retention")
    old = put_observation(database, start_ms=NOON_MS - 120 * 86_400_000, narrative="retention")
    asked: dict[str, set[tuple[str, int]]] = {
        "": {("observation", one), ("session", session)},
        "types=session": {("session", session)},
        "types=insight": set(),
        "types=insight,session,prompt": {("session", session)},
        "concept=Retention": {("observation", one)},
        "file=b.py": {("observation", one)},
        "kind=mail": {("observation", one)},
        f"start_time=0&end_time={NOON}": {("observation", old)},
        f"start_time={NOON}": {("observation", one), ("session", session)},
    }
    for query, expected in asked.items():
        data = program.get(f"{SEARCH}?{query}").get_json()["data"]
        assert {(hit["type"], hit["id"]) for hit in data} == expected, query


def test_the_lines_of_a_session_have_their_frames(program: Actor, database: Database) -> None:
    put_observation(database, facts=[("a line of the screen", 7)])
    session = put_session(database, learned="a line of the screen\nanother", next_steps="[ ] write")
    around = program.get(f"{TIMELINE}?anchor=session:{session}&format=full&depth_before=0&depth_after=0")
    [entry] = around.get_json()["data"]
    assert entry["body"]["evidence"] == [{"text": "a line of the screen", "frame_id": 7}]


@for_each(
    ("query", "code"),
    [
        ("types=frames", "invalid_types"),
        ("types=", "invalid_types"),
        ("limit=0", "invalid_limit"),
        ("limit=101", "invalid_limit"),
        ("order=newest", "invalid_order"),
        ("start_time=x", "invalid_time"),
        ("start_time=2&end_time=1", "invalid_time_range"),
        ("query=x", "unknown_parameter"),
    ],
)
def test_bad_searches_are_refused_by_name(program: Actor, query: str, code: str) -> None:
    answer = program.get(f"{SEARCH}?{query}")
    assert (answer.status_code, answer.get_json()["code"]) == (400, code)


def test_the_index_is_short_and_full_adds_bodies(program: Actor, database: Database) -> None:
    number = put_observation(database)
    session = put_session(database, NOON_MS - 60_000, notes="three hours")
    answer = program.get(f"{TIMELINE}?anchor={number}").get_json()
    assert answer == {
        "anchor": {"type": "observation", "id": number, "time": NOON},
        "before": 1,
        "data": [
            {"type": "session", "id": session, "time": NOON - 60, "title": "three hours", "is_anchor": False,
             "body": None},
            {"type": "observation", "id": number, "time": NOON, "title": "Work on something",
             "is_anchor": True, "body": None},
        ],
    }  # fmt: skip
    full = program.get(f"{TIMELINE}?anchor=session:{session}&format=full&depth_after=0").get_json()
    assert [entry["body"]["notes"] for entry in full["data"]] == ["three hours"]


@for_each(
    ("query", "status", "code"),
    [
        ("", 400, "anchor_required"),
        ("anchor=", 400, "anchor_required"),
        ("anchor=999", 404, "anchor_not_found"),
        ("anchor=session:999", 404, "anchor_not_found"),
        ("anchor=prompt:999", 404, "anchor_not_found"),
        ("anchor=2026-13-45T00:00:00Z", 400, "invalid_anchor"),
        ("anchor=soon", 400, "invalid_anchor"),
        ("anchor=1&depth_before=51", 400, "invalid_depth_before"),
        ("anchor=1&depth_after=51", 400, "invalid_depth_after"),
        ("anchor=1&depth_after=-1", 400, "invalid_depth_after"),
        ("anchor=1&unit=days", 400, "invalid_unit"),
        ("anchor=1&format=long", 400, "invalid_format"),
    ],
)
def test_bad_anchors_and_depths_are_errors_not_empty_lists(
    program: Actor, query: str, status: int, code: str
) -> None:
    answer = program.get(f"{TIMELINE}?{query}")
    assert (answer.status_code, answer.get_json()["code"]) == (status, code)


@pytest.mark.parametrize("depth", [0, 50])
def test_the_ends_of_the_range_are_depths(program: Actor, database: Database, depth: int) -> None:
    number = put_observation(database)
    for unit in ("records", "hours"):
        query = f"anchor={number}&depth_before={depth}&depth_after={depth}&unit={unit}"
        assert len(program.get(f"{TIMELINE}?{query}").get_json()["data"]) == 1
