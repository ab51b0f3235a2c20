"""The sampler: the shared cases, and the law that the database selects what the rule says."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.retrieval.sampling import MAX_FRAMES, Rule, select_in, spread_in
from store.core.database import Database
from store.frames.frames import ID_STEP
from store.search.filters import Filters
from store.search.sample import count, ends_per_bucket
from tests.assistant.helpers import insert_bare_frames
from tests.assistant.retrieval.even_selection import even_selection
from tests.factories import CASES
from tests.tables import for_each

CASE_LIST = json.loads((CASES / "sampler.json").read_text(encoding="utf-8"))["cases"]


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def frame_ids(times_ms: list[int]) -> list[int]:
    """Ids as the store gives them: the time, and a count within a millisecond."""
    seen: dict[int, int] = {}
    ids = []
    for at in times_ms:
        seen[at] = seen.get(at, -1) + 1
        ids.append(at * ID_STEP + seen[at])
    return ids


@for_each("case", CASE_LIST, ids=lambda case: case["id"])
def test_the_rule_selects_what_the_case_says(case: dict[str, Any]) -> None:
    rule = Rule(case["default_bucket_seconds"], case["frames_per_bucket"], case["max_frames"])
    start, end = ms(case["start"]), ms(case["end"])
    times = {number: ms(at) for number, at in enumerate(case["frames"], 1)}
    chosen = even_selection([(at, number) for number, at in times.items()], start, end, rule)
    assert rule.bucket_s(start, end) == case["expect"]["bucket_seconds"]
    assert [times[number] for number in chosen] == [ms(at) for at in case["expect"]["selected"]]


SQL_CASES = [c for c in CASE_LIST if (c["default_bucket_seconds"], c["frames_per_bucket"]) == (300, 2)]


@pytest.mark.parametrize("case", SQL_CASES, ids=lambda case: case["id"])
def test_the_database_selects_what_the_case_says(case: dict[str, Any], database: Database) -> None:
    insert_bare_frames(database, frame_ids([ms(at) for at in case["frames"]]))
    filters = Filters(ms(case["start"]), ms(case["end"]))
    with database.read() as connection:
        chosen = select_in(connection, filters, case["max_frames"])
    assert [number // ID_STEP for number in chosen] == [ms(at) for at in case["expect"]["selected"]]


@given(
    times=st.lists(st.integers(0, 20_000_000), max_size=200),
    start=st.integers(0, 10_000_000),
    length=st.integers(1, 20_000_000),
    max_frames=st.sampled_from([7, 24, MAX_FRAMES]),
    app=st.sampled_from([None, "Even", "odd"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_database_and_the_rule_select_the_same_frames(
    database: Database, times: list[int], start: int, length: int, max_frames: int, app: str | None
) -> None:
    ids = frame_ids(times)
    apps = {number: "Odd" if number // ID_STEP % 2 else "Even" for number in ids}
    with database.write() as connection:
        connection.execute("delete from frames")
    insert_bare_frames(database, ids, app_name=apps.__getitem__)
    filters = Filters(start, start + length, app_name=app)
    matching = [n for n in ids if app is None or apps[n].lower() == app.lower()]
    expected = even_selection(
        [(n // ID_STEP, n) for n in matching], start, start + length, Rule(max_frames=max_frames)
    )
    with database.read() as connection:
        assert select_in(connection, filters, max_frames) == expected
        assert count(connection, filters) == sum(start <= n // ID_STEP < start + length for n in matching)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, 4),
        ({"app_name": "code"}, 2),
        ({"app_name": "firefoxes"}, 0),
        ({"window_name": "MAIN"}, 1),
        ({"window_name": "%"}, 0),
        ({"browser_url": "example.org/a"}, 1),
        ({"browser_url": "_"}, 0),
        ({"focused": True}, 1),
        ({"focused": False}, 1),
        ({"app_name": "Code", "focused": True}, 1),
    ],
)
def test_filters_decide_in_the_database(filters: dict[str, Any], expected: int, database: Database) -> None:
    columns = [
        {"app_name": "Code", "window_name": "main.py", "focused": 1},
        {"app_name": "CODE", "window_name": "notes", "focused": 0},
        {"app_name": "Firefox", "browser_url": "https://example.org/a"},
        {},
    ]
    for n, values in enumerate(columns):
        insert_bare_frames(database, [n * ID_STEP], **{k: lambda _, v=v: v for k, v in values.items()})
    narrowed = replace(Filters(0, 10), **filters)
    with database.read() as connection:
        assert len(select_in(connection, narrowed)) == count(connection, narrowed) == expected


def test_a_frame_at_the_start_counts_and_one_at_the_end_does_not(database: Database) -> None:
    insert_bare_frames(database, [1000 * ID_STEP, 2000 * ID_STEP])
    with database.read() as connection:
        assert select_in(connection, Filters(1000, 2000)) == [1000 * ID_STEP]


def test_selecting_from_a_long_range_seeks_instead_of_scanning(database: Database) -> None:
    steps = []
    with database.read() as connection:
        connection.exec_trace = lambda _, sql, bindings: steps.append((sql, bindings)) or True
        ends_per_bucket(connection, Filters(0, 86_400_000), 2_400_000)
        connection.exec_trace = None
        sql, bindings = steps[-1]
        plan = [row[3] for row in connection.execute(f"explain query plan {sql}", bindings)]
    touching = [detail for detail in plan if detail.startswith(("SEARCH f", "SCAN f"))]
    assert len(touching) >= 2
    assert all(d == "SEARCH f USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" for d in touching)


def test_places_of_empty_stretches_go_to_the_busy_ones(database: Database) -> None:
    """Two hours of frames in a year: the rule sees four of them, the spread as many as there are places."""
    hour_ms, year_ms = 3_600_000, 365 * 86_400_000
    for begin in (100 * 86_400_000, 300 * 86_400_000):
        insert_bare_frames(database, frame_ids([begin + at for at in range(0, hour_ms, 10_000)]))
    filters = Filters(0, year_ms)
    with database.read() as connection:
        chosen, spread = select_in(connection, filters), spread_in(connection, filters)
    assert len(chosen) == 4 and set(chosen) < set(spread)
    assert len(set(spread)) == MAX_FRAMES and spread == sorted(spread)
    steps_s = [(high - low) // ID_STEP // 1000 for low, high in pairwise(spread)]
    within = [step for step in steps_s if step < 3_600]
    assert max(within) <= 2 * min(within) + 10
