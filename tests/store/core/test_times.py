"""Local days and wall times agree with the shared vectors."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from store.core import times
from tests.factories import CASES
from tests.tables import for_each

VECTORS = json.loads((CASES / "local_days.json").read_text(encoding="utf-8"))
ZONES = sorted({case["tz"] for case in VECTORS["days"]})


@for_each("case", VECTORS["days"], ids=lambda c: f"{c['tz']}-{c['date']}-{c['day_start']}")
def test_a_local_day_has_the_bounds_of_the_vector(case: dict[str, Any]) -> None:
    hours, minutes = map(int, case["day_start"].split(":"))
    found = times.day(date.fromisoformat(case["date"]), ZoneInfo(case["tz"]), hours * 60 + minutes)
    expected = case["expect"]
    assert (found.start_ms, found.end_ms, found.exists) == (
        expected["start_ms"],
        expected["end_ms"],
        expected["exists"],
    )


@for_each("case", VECTORS["walls"], ids=lambda c: f"{c['tz']}-{c['wall']}")
def test_a_wall_time_starts_early_and_ends_late(case: dict[str, Any]) -> None:
    wall, zone = datetime.fromisoformat(case["wall"]), ZoneInfo(case["tz"])
    found = (times.wall_to_ms(wall, zone), times.wall_to_ms(wall, zone, later=True))
    assert found == (case["expect"]["start_ms"], case["expect"]["end_ms"])


@given(
    on=st.dates(date(1990, 1, 1), date(2037, 12, 30)),
    zone=st.sampled_from(ZONES),
    start_min=st.sampled_from([0, 180, 240, 360]),
)
def test_days_tile(on: date, zone: str, start_min: int) -> None:
    today = times.day(on, ZoneInfo(zone), start_min)
    tomorrow = times.day(on + timedelta(days=1), ZoneInfo(zone), start_min)
    assert today.end_ms == tomorrow.start_ms or not today.exists


@given(ms=st.integers(600_000_000_000, 2_100_000_000_000), zone=st.sampled_from(ZONES))
def test_every_instant_lies_in_the_day_found_for_it(ms: int, zone: str) -> None:
    found = times.day_of(ms, ZoneInfo(zone))
    assert found.start_ms <= ms < found.end_ms


@for_each(
    ("zone", "on", "marks"),
    [
        ("America/New_York", date(2026, 3, 8), 24),
        ("America/New_York", date(2026, 11, 1), 26),
        ("Asia/Shanghai", date(2026, 11, 20), 25),
        ("Asia/Kathmandu", date(2026, 11, 20), 25),
    ],
)
def test_a_day_has_a_tick_for_each_hour_that_existed(zone: str, on: date, marks: int) -> None:
    day = times.day(on, ZoneInfo(zone))
    assert len(times.hour_marks(day.start_ms, day.end_ms, ZoneInfo(zone))) == marks
