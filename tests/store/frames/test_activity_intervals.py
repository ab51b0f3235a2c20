"""Activity: one ordered line, the same however its frames arrived."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.database import Database, open_database, rows
from store.core.paths import DataDir
from store.frames import frames
from store.frames.activity_intervals import CONTINUOUS_MS, MERGE_GAP_MS, PIECE_MS, Segment, fold_intervals
from store.frames.frames import Still
from store.timeline import gaps, segments, timeline
from store.timeline.totals import Kind, Total, Totals, intervals, of_segments, site
from tests.factories import NOON_MS, capture
from tests.tables import for_each

SECOND = 1_000
MINUTE = 60_000
STILL = Still("none", "image/webp", 1, "0" * 64, "0" * 64, 1, 1)


def put(
    database: Database,
    at_ms: int,
    app: str | None,
    *,
    ended_ms: int | None = None,
    focused: bool | None = True,
    monitor: str = "DP-1",
    window: str | None = "w",
    url: str | None = None,
    source: str = "screen",
) -> int:
    """A frame as ingest stores it; with `ended_ms` also the report that extends it."""
    record = capture(
        NOON_MS + at_ms,
        app_name=app,
        window_name=window,
        browser_url=url,
        focused=focused,
        monitor=monitor,
        source=source,
    )
    with database.write() as connection:
        frame_id = frames.insert(connection, record, STILL, 0)
        segments.heartbeat(connection, frames.get(database, frame_id))
    if ended_ms is not None:
        stay(database, frame_id, ended_ms)
    return frame_id


def stay(database: Database, frame_id: int, ended_ms: int) -> None:
    row = frames.get(database, frame_id)
    with database.write() as connection:
        frames.extend(connection, row.capture_id, NOON_MS + ended_ms)
        segments.extend(connection, frame_id)


def line(database: Database, start_ms: int = 0, end_ms: int = 3_600_000) -> list[tuple[int, int, str | None]]:
    """(start, end, app) of the segments, counted from noon."""
    return [
        (segment.start_ms - NOON_MS, segment.end_ms - NOON_MS, segment.app_name)
        for segment in segments.segments(database, NOON_MS + start_ms, NOON_MS + end_ms)
    ]


def stored(database: Database) -> list[tuple[object, ...]]:
    with database.read() as connection:
        return rows(
            connection,
            "select start_ms, end_ms, app_name, window_name, browser_url, first_frame_id, last_frame_id, "
            "frames from segments order by start_ms, first_frame_id",
        )


def test_same_window_extends_the_segment(database: Database) -> None:
    for second in range(5):
        put(database, second * SECOND, "Code")
    assert line(database) == [(0, 4 * SECOND, "Code")]


@pytest.mark.parametrize("change", [{"app": "Chrome"}, {"window": "other"}, {"url": "https://a.example/"}])
def test_another_window_starts_a_segment_where_the_one_before_ends(
    database: Database, change: dict[str, str]
) -> None:
    put(database, 0, "Code")
    put(database, 2 * SECOND, **{"app": "Code", **change})
    put(database, 3 * SECOND, **{"app": "Code", **change})
    assert [(start, end) for start, end, _ in line(database)] == [(0, 2 * SECOND), (2 * SECOND, 3 * SECOND)]


def test_gap_of_a_minute_is_bridged_and_a_longer_one_is_not(database: Database) -> None:
    put(database, 0, "Code")
    put(database, MERGE_GAP_MS, "Code")
    put(database, 2 * MERGE_GAP_MS + 1, "Code")
    assert line(database) == [(0, MERGE_GAP_MS, "Code"), (2 * MERGE_GAP_MS + 1, 2 * MERGE_GAP_MS + 1, "Code")]


def test_longer_gap_before_another_window_belongs_to_nobody(database: Database) -> None:
    put(database, 0, "Code")
    put(database, CONTINUOUS_MS + 1, "Chrome")
    assert line(database)[0] == (0, 0, "Code")


def test_ten_still_minutes_are_one_interval(database: Database) -> None:
    """Looks that found nothing new extend the frame, and with it the segment."""
    frame_id = put(database, 0, "Reader")
    for minute in range(1, 11):
        stay(database, frame_id, minute * MINUTE)
    assert line(database) == [(0, 10 * MINUTE, "Reader")]


def test_app_change_in_between_starts_a_new_interval(database: Database) -> None:
    put(database, 0, "Reader", ended_ms=5 * MINUTE)
    put(database, 5 * MINUTE + 500, "Mail", ended_ms=5 * MINUTE + 900)
    put(database, 5 * MINUTE + 1_000, "Reader", ended_ms=10 * MINUTE)
    assert [app for _, _, app in line(database)] == ["Reader", "Mail", "Reader"]


def test_long_stretch_is_stored_in_pieces_and_read_as_one(database: Database) -> None:
    for second in range(0, 900, 30):
        put(database, second * SECOND, "Code")
    assert line(database) == [(0, 870 * SECOND, "Code")]
    assert len(stored(database)) == 900_000 // PIECE_MS
    assert segments.segments(database, NOON_MS, NOON_MS + 900 * SECOND)[0].frames == 30


def test_frame_of_a_monitor_without_the_focus_is_not_activity(database: Database) -> None:
    put(database, 0, "Film", focused=False)
    assert line(database) == []


def test_known_focus_beats_a_frame_that_cannot_tell(database: Database) -> None:
    """At any moment focus decides the app."""
    put(database, 0, "Code", ended_ms=60 * SECOND)
    put(database, 30 * SECOND, "Film", focused=None, monitor="DP-2")
    assert line(database) == [(0, 60 * SECOND, "Code")]


def test_pictures_that_were_imported_are_moments_in_no_total_and_no_gap(database: Database) -> None:
    def told() -> tuple[object, ...]:
        span = NOON_MS - 60 * MINUTE, NOON_MS + 60 * MINUTE
        whole = timeline.timeline(database, *span, now_ms=NOON_MS + 60 * MINUTE)
        return whole.runs, whole.totals, whole.gaps, segments.spans(database, *span)

    put(database, 0, None, window=None, ended_ms=MINUTE)
    put(database, 2 * MINUTE, None, window=None, ended_ms=3 * MINUTE)
    before = told()
    for at_ms in (-30 * MINUTE, 30 * SECOND, 30 * SECOND, 90 * SECOND, 30 * MINUTE):
        put(database, at_ms, None, window=None, focused=None, source="import")
    assert told() == before
    found = timeline.timeline(
        database, NOON_MS - 60 * MINUTE, NOON_MS + 60 * MINUTE, 120, now_ms=NOON_MS + 60 * MINUTE
    )
    assert [(m.start_ms - NOON_MS, m.frames) for m in found.moments] == [
        (-30 * MINUTE, 1), (30 * SECOND, 2), (90 * SECOND, 1), (30 * MINUTE, 1),
    ]  # fmt: skip
    assert (found.imported, found.frames) == (5, 7)
    with database.read() as connection:
        assert segments.stored_line(connection) == segments.folded_line(connection)


def test_mirror_on_a_second_monitor_changes_no_total(database: Database, data_dir: DataDir) -> None:

    def day(where: Database, monitors: Sequence[str]) -> Totals:
        for second in range(0, 600, 7):
            for monitor in monitors:
                put(where, second * SECOND, "ABC"[second // 100 % 3], focused=None, monitor=monitor)
        return segments.totals(where, NOON_MS, NOON_MS + 600 * SECOND)

    mirrored = open_database(DataDir(data_dir.home / "mirrored"))
    assert day(mirrored, ["DP-1", "DP-2"]) == day(database, ["DP-1"])
    mirrored.close_thread()


def test_six_minutes_in_four_cannot_happen(database: Database) -> None:
    """A-B-B-B-A over four minutes."""
    for minute, app in enumerate("ABBBA"):
        put(database, minute * MINUTE, app)
    found = segments.totals(database, NOON_MS, NOON_MS + 4 * MINUTE)
    assert found.covered_ms <= found.wall_ms == 4 * MINUTE
    assert {total.name: total.duration_ms for total in found.by_app} == {"A": 0, "B": 2 * MINUTE}


@pytest.mark.parametrize("switch_s", [1, 7, 30, 60])
def test_four_minutes_of_alternation_are_four_minutes(database: Database, switch_s: int) -> None:
    """Two windows in turn, looked at twice a second as capture does."""
    for start in range(0, 240, switch_s):
        put(database, start * SECOND, "AB"[start // switch_s % 2], ended_ms=(start + switch_s) * SECOND - 500)
    stay(database, max(frame for frame in _ids(database)), 240 * SECOND)
    found = segments.totals(database, NOON_MS, NOON_MS + 4 * MINUTE)
    assert found.covered_ms == 4 * MINUTE
    assert sum(total.duration_ms for total in found.by_app) == 4 * MINUTE
    if 240 % (2 * switch_s) == 0:
        assert {total.name: total.duration_ms for total in found.by_app} == {"A": 2 * MINUTE, "B": 2 * MINUTE}


def _ids(database: Database) -> list[int]:
    with database.read() as connection:
        return [frame_id for (frame_id,) in rows(connection, "select id from frames")]


def test_the_intervals_of_a_total_are_its_sum(database: Database) -> None:
    put(database, 0, "Chrome", window="News", url="https://www.news.example/a", ended_ms=20 * SECOND)
    put(database, 20 * SECOND, "Code", ended_ms=30 * SECOND)
    put(database, 30 * SECOND, "Firefox", window="News", url="https://news.example/b", ended_ms=50 * SECOND)
    line_ = segments.segments(database, NOON_MS, NOON_MS + MINUTE)
    found = of_segments(line_, NOON_MS, NOON_MS + MINUTE)
    assert [(total.name, total.duration_ms) for total in found.by_site] == [("news.example", 40_000)]
    kinds: tuple[tuple[Kind, tuple[Total, ...]], ...] = (
        ("app", found.by_app), ("window", found.by_window), ("url", found.by_url), ("site", found.by_site),
    )  # fmt: skip
    for kind, totals in kinds:
        for total in totals:
            parts = intervals(line_, kind, total.name, total.app_name)
            assert sum(part.duration_ms for part in parts) == total.duration_ms
            assert (parts[0].start_ms, parts[-1].end_ms) == (total.first_ms, total.last_ms)


@for_each(
    ("address", "name"),
    [
        ("https://www.News.example:8443/a?b#c", "news.example"),
        ("news.example/a", "news.example"),
        ("file:///home/a", None),
        ("about:blank", None),
        ("http://[broken", None),
        ("", None),
        (None, None),
    ],
)
def test_a_site_is_the_host_of_an_address(address: str | None, name: str | None) -> None:
    assert site(address) == name


def test_idle_and_locked_time_is_nobodys(database: Database) -> None:
    """Ten active minutes, ten idle, ten locked."""
    for second in range(0, 601, 10):
        put(database, second * SECOND, "Code")
    put(database, 30 * MINUTE, "Code")
    found = segments.totals(database, NOON_MS, NOON_MS + 30 * MINUTE)
    assert found.covered_ms == 10 * MINUTE


def test_totals_name_windows_and_urls_of_their_app(database: Database) -> None:
    put(database, 0, "Chrome", window="News", url="https://news.example/")
    put(database, 8 * SECOND, "Chrome", window="Mail", url="https://mail.example/")
    put(database, 10 * SECOND, "Code", window="main.py")
    found = segments.totals(database, NOON_MS, NOON_MS + MINUTE)
    assert [(total.name, total.duration_ms) for total in found.by_app] == [("Chrome", 10_000), ("Code", 0)]
    assert [(total.app_name, total.name) for total in found.by_window] == [
        ("Chrome", "News"), ("Chrome", "Mail"), ("Code", "main.py"),
    ]  # fmt: skip
    assert [total.name for total in found.by_url] == ["https://news.example/", "https://mail.example/"]
    assert (found.by_app[0].first_ms, found.by_app[0].last_ms) == (NOON_MS, NOON_MS + 10 * SECOND)


def test_segment_of_a_frame_reaches_over_its_pieces(database: Database) -> None:
    ids = [put(database, second * SECOND, "Code") for second in range(0, 900, 30)]
    found = segments.segment_of(database, frames.get(database, ids[15]))
    assert found is not None
    assert (found.first_frame_id, found.last_frame_id) == (ids[0], ids[-1])


def test_segments_are_clipped_to_the_range(database: Database) -> None:
    put(database, 0, "Code", ended_ms=40 * SECOND)
    assert line(database, 10 * SECOND, 20 * SECOND) == [(10 * SECOND, 20 * SECOND, "Code")]


def test_ten_thousand_random_histories_never_exceed_the_wall_clock() -> None:
    """Bursts, pauses, monitors and overlapping looks; the pure line, so that many fit."""
    draw = random.Random(4)
    for _ in range(10_000):
        frames_ = _history(draw)
        looked = [(each.start_ms, each.end_ms) for each, _ in frames_]  # before they are folded
        start_ms, end_ms = sorted((draw.randrange(600_000), draw.randrange(600_000)))
        segments = [
            replace(each, start_ms=max(each.start_ms, start_ms), end_ms=min(each.end_ms, end_ms))
            for each in fold_intervals(frames_)
            if each.start_ms < end_ms and each.end_ms > start_ms
        ]
        found = of_segments(segments, start_ms, end_ms)
        assert found.covered_ms <= found.wall_ms
        for totals in (found.by_app, found.by_window):
            assert sum(total.duration_ms for total in totals) == found.covered_ms
        assert sum(total.duration_ms for total in found.by_site) <= found.covered_ms
        covered = gaps.merge_intervals([(each.start_ms, each.end_ms) for each in segments])
        assert sum(end - start for start, end in covered) == found.covered_ms  # no moment counts twice
        shown = gaps.merge_intervals(looked, MERGE_GAP_MS)
        assert not gaps.subtract_intervals(covered, shown)  # and none that no frame is within a minute of


def _history(draw: random.Random) -> list[tuple[Segment, bool]]:
    found, at_ms = [], 0
    for number in range(draw.randrange(1, 18)):
        at_ms += draw.choice((0, 1, 500, 2_000, 9_999, 10_001, 59_999, 60_001, 200_000)) * (number > 0)
        stays_ms = draw.choice((0, 0, 500, 9_000, 70_000, 250_000))
        app, window = draw.choice(("A", "B", None)), draw.choice(("1", "2", None))
        url = draw.choice((None, "https://a.example/x", "https://www.a.example/y"))
        shown = Segment(at_ms, at_ms + stays_ms, app, window, url, number + 1, number + 1, 1)
        found.append((shown, draw.random() < 0.5))
    return found


# -- laws ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Look:
    at_ms: int
    stays_ms: int
    app: str | None
    focused: bool | None
    monitor: str


LOOKS = st.lists(
    st.builds(
        Look,
        at_ms=st.integers(0, 40).map(lambda n: n * 17_300),
        stays_ms=st.sampled_from([0, 0, 500, 9_000, 15_000, 70_000, 200_000]),
        app=st.sampled_from(["A", "B", None]),
        focused=st.sampled_from([True, True, None, None, False]),
        monitor=st.sampled_from(["DP-1", "DP-2"]),
    ),
    max_size=25,
)
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """One database for all examples: emptied before each, which is quicker than made anew."""
    database = open_database(DataDir(tmp_path_factory.mktemp("shared")))
    database.connection().execute("pragma synchronous = off").fetchall()
    yield database
    database.close_thread()


def fill(database: Database, looks: Sequence[Look], order: Sequence[int], late_reports: bool) -> None:
    with database.write() as connection:
        connection.execute(
            """
            insert into frames_fts (frames_fts) values ('delete-all');
            delete from segments;
            delete from frames;
            delete from ingest_records;
            """
        )
    reports = []
    for index in order:
        look = looks[index]
        frame_id = put(database, look.at_ms, look.app, focused=look.focused, monitor=look.monitor)
        if look.stays_ms:
            reports.append((frame_id, look.at_ms + look.stays_ms))
            if not late_reports:
                stay(database, *reports[-1])
    if late_reports:
        for frame_id, ended_ms in reports:
            stay(database, frame_id, ended_ms)


def rebuilt(database: Database) -> list[tuple[object, ...]]:
    with database.write() as connection:
        connection.execute("delete from segments")
        segments.rebuild(connection, 0, 2**42)
    return stored(database)


@SLOW
@given(looks=LOOKS, data=st.data(), late_reports=st.booleans())
def test_any_order_of_arrival_gives_the_line_of_a_rebuild(
    shared: Database, looks: list[Look], data: st.DataObject, late_reports: bool
) -> None:
    order = data.draw(st.permutations(range(len(looks))))
    fill(shared, looks, order, late_reports)
    incremental = stored(shared)
    assert incremental == rebuilt(shared)


@SLOW
@given(looks=LOOKS, data=st.data())
def test_rebuild_of_what_was_touched_is_the_rebuild_of_all(
    shared: Database, looks: list[Look], data: st.DataObject
) -> None:
    fill(shared, looks, range(len(looks)), False)
    with shared.read() as connection:
        found = rows(connection, "select id, captured_ms, ended_ms from frames order by id")
    if not found:
        return
    gone = data.draw(st.lists(st.sampled_from(found), unique=True, min_size=1))
    with shared.write() as connection:
        connection.executemany("delete from frames where id = ?", [(frame_id,) for frame_id, _, _ in gone])
        segments.rebuild(connection, min(g[1] for g in gone), max(g[2] for g in gone) + 1)
    partial = stored(shared)
    assert partial == rebuilt(shared)


@SLOW
@given(looks=LOOKS)
def test_segments_never_overlap_and_totals_never_exceed_the_wall_clock(
    shared: Database, looks: list[Look]
) -> None:
    """Any frames, any order."""
    fill(shared, looks, range(len(looks)), False)
    found = segments.segments(shared, NOON_MS, NOON_MS + 400_000)
    for before, after in pairwise(found):
        assert before.end_ms <= after.start_ms
    total = segments.totals(shared, NOON_MS, NOON_MS + 400_000)
    assert sum(t.duration_ms for t in total.by_app) == total.covered_ms <= total.wall_ms
    assert sum(t.duration_ms for t in total.by_window) == total.covered_ms
