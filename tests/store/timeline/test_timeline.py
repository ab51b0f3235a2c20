"""The timeline: bounded, however long the day."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.database import Database, rows
from store.timeline import segments, timeline
from store.timeline.timeline import MAX_RUNS, Run, merged
from tests.factories import NOON_MS
from tests.store.frames.test_activity_intervals import MINUTE, SECOND, put
from tests.store.search.plans import plans

DAY = 24 * 3_600_000
HOUR = 3_600_000


def band(
    database: Database, start_ms: int, end_ms: int, width_px: int | None = None
) -> list[tuple[int, int, str | None]]:
    found = timeline.timeline(database, NOON_MS + start_ms, NOON_MS + end_ms, width_px, now_ms=NOON_MS + DAY)
    return [(run.start_ms - NOON_MS, run.end_ms - NOON_MS, run.app_name) for run in found.runs]


def run(start_ms: int, end_ms: int, app: str | None = "A", window: str | None = "w") -> Run:
    return Run(start_ms, end_ms, app, window, None, start_ms, end_ms, 1, None)


def fill_day(database: Database, count: int) -> None:
    """A day of frames and their segments, without the detour through pictures."""
    step = DAY // count
    with database.write() as connection:
        connection.execute(
            """
            with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < :count)
            insert into frames (id, capture_id, captured_ms, ended_ms, monitor, width_px, height_px, app_name,
                window_name, focused, source, media_type, size_bytes, sha256, pixels_sha256, stored_ms)
            select (:noon + i * :step) * 1024, 'c' || i, :noon + i * :step, :noon + i * :step, '', 1, 1,
                'app' || (i / 10 % 20), 'window' || (i / 5), 1, 'screen', 'image/webp', 1, '', '', 0
            from n
            """,
            {"count": count, "noon": NOON_MS, "step": step},
        )
        segments.rebuild(connection, NOON_MS, NOON_MS + DAY)


def test_stretches_under_a_pixel_are_listed_the_longest_of_them_all(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeline, "LISTED", 3)
    for n, (app, seconds) in enumerate([("A", 40), ("B", 5), ("C", 20), ("D", 30)]):
        put(database, n * MINUTE, app, ended_ms=n * MINUTE + seconds * SECOND)
    found = timeline.timeline(database, NOON_MS, NOON_MS + DAY, 600, now_ms=NOON_MS + DAY)
    assert len(found.runs) < 4
    assert [run.app_name for run in found.longest] == ["A", "C", "D"]
    assert found.stretches == 4


def test_a_window_whose_address_changes_is_one_stretch_of_the_list(database: Database) -> None:
    for n, url in enumerate(["http://a", None, "http://b"]):
        put(database, n * SECOND, "Web", window="page", url=url, ended_ms=(n + 1) * SECOND)
    put(database, 3 * SECOND, "Web", window="other", ended_ms=4 * SECOND)
    [page, _] = timeline.timeline(database, NOON_MS, NOON_MS + MINUTE, 60, now_ms=NOON_MS + DAY).longest
    assert (page.duration_ms, page.frames, page.window_name, page.browser_url) == (
        3 * SECOND,
        3,
        "page",
        None,
    )


# -- merging ------------------------------------------------------------------------------


def test_runs_of_one_app_are_one_run(database: Database) -> None:
    put(database, 0, "Chrome", window="a")
    put(database, 10 * SECOND, "Chrome", window="b")
    put(database, 20 * SECOND, "Code", window="c", ended_ms=40 * SECOND)
    assert band(database, 0, MINUTE, 60) == [(0, 20 * SECOND, "Chrome"), (20 * SECOND, 40 * SECOND, "Code")]
    assert len(band(database, 0, MINUTE)) == 3


def test_merged_run_names_its_window_only_when_it_has_one() -> None:
    [found] = merged([run(0, 50, window="a"), run(50, 100, window="b")], 0, 100, 10)
    assert (found.window_name, found.frames, found.first_frame_id, found.last_frame_id) == (None, 2, 0, 100)
    [same] = merged([run(0, 50), run(50, 100)], 0, 100, 10)
    assert same.window_name == "w"


def test_pixel_goes_to_the_app_with_most_time_in_it() -> None:
    found = merged([run(0, 40, "A"), run(40, 47, "B"), run(47, 100, "A")], 0, 100, 5)
    assert [(r.start_ms, r.end_ms, r.app_name) for r in found] == [(0, 100, "A")]


def test_hole_under_a_pixel_is_closed_and_a_longer_one_stays() -> None:
    found = merged([run(0, 30, "A"), run(35, 60, "B"), run(90, 100, "B")], 0, 100, 10)
    assert [(r.start_ms, r.end_ms) for r in found] == [(0, 35), (35, 60), (90, 100)]


def test_single_look_is_not_lost_where_it_is_alone() -> None:
    assert len(merged([run(50, 50)], 0, 100, 10)) == 1


def spans(parts: Sequence[tuple[int, int, str]]) -> list[Run]:
    at, found = 0, []
    for gap, length, app in parts:
        found.append(run(at + gap, at + gap + length, app))
        at += gap + length
    return found


PARTS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 60), st.sampled_from("ABC")), max_size=60)


@given(PARTS, st.integers(1, 2_000))
def test_merged_runs_are_ordered_bounded_and_inside_the_range(
    parts: Sequence[tuple[int, int, str]], width_px: int
) -> None:
    runs = spans(parts)
    end_ms = max([r.end_ms for r in runs], default=0) + 1
    found = merged(runs, 0, end_ms, width_px)
    assert len(found) <= min(width_px, MAX_RUNS)
    at = 0
    for r in found:
        assert at <= r.start_ms <= r.end_ms <= end_ms
        at = r.end_ms
    assert bool(found) == bool(runs)


@given(PARTS)
def test_at_a_pixel_per_millisecond_nothing_is_merged_away(parts: Sequence[tuple[int, int, str]]) -> None:
    runs = [r for r in spans(parts) if r.end_ms > r.start_ms]
    end_ms = max([r.end_ms for r in runs], default=0) + 1
    found = merged(runs, 0, end_ms, end_ms) if end_ms <= MAX_RUNS else []
    if found:
        assert sum(r.end_ms - r.start_ms for r in found) == sum(r.end_ms - r.start_ms for r in runs)


# -- a day --------------------------------------------------------------------------------


def test_day_of_thirty_thousand_frames_is_a_few_hundred_rectangles(database: Database) -> None:
    """Buckets first, then the frames in view."""
    fill_day(database, 30_000)
    found = timeline.timeline(database, NOON_MS, NOON_MS + DAY, 1_440, now_ms=NOON_MS + DAY)
    assert found.frames == 30_000
    assert 0 < len(found.runs) <= MAX_RUNS
    assert len(timeline.minute_index(database, NOON_MS, NOON_MS + DAY)) == 24 * 60
    assert len(timeline.frames_between(database, NOON_MS, NOON_MS + DAY, 7_000)) == 7_000


def test_totals_and_colours_come_with_the_band(database: Database) -> None:
    put(database, 0, "Code", ended_ms=MINUTE)
    found = timeline.timeline(database, NOON_MS, NOON_MS + HOUR, 100, now_ms=NOON_MS + HOUR)
    assert found.totals.by_app[0].duration_ms == MINUTE
    assert found.runs[0].colour_slot == found.colour_slots["Code"] is not None


def test_empty_day_has_no_runs_and_one_gap(database: Database) -> None:
    found = timeline.timeline(database, NOON_MS, NOON_MS + HOUR, 100, now_ms=NOON_MS + HOUR)
    assert (found.runs, found.frames, len(found.gaps)) == ((), 0, 1)


# -- frames -------------------------------------------------------------------------------


def test_frames_of_one_monitor_never_include_another(database: Database) -> None:
    """Same moment on two monitors are two frames; the filter holds everywhere."""
    one = put(database, 0, "Code")
    two = put(database, 0, "Film", monitor="DP-2", focused=False)
    both = timeline.frames_between(database, NOON_MS, NOON_MS + 1, 10)
    assert both == [(one, NOON_MS, "Code"), (two, NOON_MS, "Film")]
    assert timeline.frames_between(database, NOON_MS, NOON_MS + 1, 10, monitor="DP-2") == both[1:]


def test_minute_shows_the_frame_with_the_focus(database: Database) -> None:
    put(database, 0, "Film", monitor="DP-2", focused=False)
    focused = put(database, 5 * SECOND, "Code")
    assert timeline.minute_index(database, NOON_MS, NOON_MS + MINUTE) == [(NOON_MS, focused)]


def test_no_query_of_the_timeline_reads_a_whole_table(database: Database) -> None:
    """Every table is searched by an index; only the handful of apps is read whole."""
    fill_day(database, 100)

    def ask() -> None:
        start_ms, end_ms = NOON_MS + HOUR, NOON_MS + 2 * HOUR
        timeline.timeline(database, start_ms, end_ms, 600, now_ms=NOON_MS + DAY)
        timeline.frames_between(database, start_ms, end_ms, 10)
        timeline.minute_index(database, start_ms, end_ms)
        timeline.nearest_days(database, start_ms, end_ms)

    scans = {plan for plan in plans(database, ask) if plan.startswith("SCAN")}
    sql = "select name from pragma_table_list where type = 'table' union values ('f'), ('b')"
    tables = {name for (name,) in rows(database.connection(), sql)}
    assert {scan for scan in scans if scan.split()[1] in tables} <= {"SCAN apps"}


# -- days ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("day", "expected"), [(0, (None, 1)), (1, (None, 3)), (2, (1, 3)), (4, (3, None))])
def test_nearest_days_of_an_empty_one(
    database: Database, day: int, expected: tuple[int | None, int | None]
) -> None:
    for n in (1, 3):
        put(database, n * DAY + HOUR, "Code")
    found = timeline.nearest_days(database, NOON_MS + day * DAY, NOON_MS + (day + 1) * DAY)
    assert tuple(None if ms is None else (ms - NOON_MS) // DAY for ms in found) == expected
