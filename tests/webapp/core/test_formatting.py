"""Times and numbers in words, on the clock of the viewer."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest
from flask import Flask

from store.core import preferences, times
from store.core.preferences import zone_named
from store.spool.page_text import Area
from tests.tables import for_each
from webapp.core import formatting, services
from webapp.core.parameters import bounds, clock_on, moment
from webapp.core.services import Viewer, viewer

SHANGHAI = ZoneInfo("Asia/Shanghai")
NEW_YORK = ZoneInfo("America/New_York")
FRI_1432 = 1_795_156_328_000  # 2026-11-20 14:32:08 +08:00
HOUR = 3_600_000


@for_each(
    ("zone", "expected"),
    [
        (SHANGHAI, ("2026-11-20T14:32:08+08:00", "14:32:08", "Fri 20 Nov 2026, 14:32:08", "UTC+08:00")),
        (NEW_YORK, ("2026-11-20T01:32:08-05:00", "01:32:08", "Fri 20 Nov 2026, 01:32:08", "UTC-05:00")),
    ],
)
def test_one_instant_reads_differently_in_two_zones(zone: ZoneInfo, expected: tuple[str, ...]) -> None:
    """Two zones show the same frame under different labels."""
    found = tuple(
        each(FRI_1432, zone)
        for each in (times.rfc3339, formatting.clock, formatting.moment, preferences.utc_offset)
    )
    assert found == expected


def test_the_repeated_hour_carries_its_offset() -> None:
    first = 1_793_511_000_000  # 2026-11-01 01:30 EDT
    stamps = [times.rfc3339(ms, NEW_YORK) for ms in (first, first + HOUR)]
    assert stamps == ["2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00"]


@for_each(
    ("lasting_ms", "expected"),
    [(0, "14:32"), (1, "14:32 (1 s)"), (15_000, "14:32 (15 s)"), (60_000, "14:32–14:33")],
)
def test_a_stretch_within_a_minute_is_one_time(lasting_ms: int, expected: str) -> None:
    start_ms = FRI_1432 // 60_000 * 60_000
    assert formatting.stretch(start_ms, start_ms + lasting_ms, SHANGHAI) == expected


@for_each(
    ("start", "end", "expected"),
    [
        (FRI_1432, FRI_1432 + HOUR, "Today 14:32–15:32"),
        (FRI_1432 - 24 * HOUR, FRI_1432 - 23 * HOUR, "Yesterday 14:32–15:32"),
        (1_795_104_000_000, 1_795_190_400_000, "Today"),
        (1_795_017_600_000, 1_795_190_400_000, "Yesterday – Today"),
        (FRI_1432 - 48 * HOUR, FRI_1432, "Wed 18 Nov 14:32 – Today 14:32"),
        (FRI_1432, 1_795_190_400_000, "Today 14:32–24:00"),
        (FRI_1432, FRI_1432 + 1, "Today 14:32"),
        (FRI_1432, FRI_1432 + 60_000, "Today 14:32–14:33"),
        (0, 1_795_017_600_000, "until Wed 18 Nov"),
    ],
)
def test_a_range_reads_as_a_person_would_write_it(start: int, end: int, expected: str) -> None:
    assert formatting.span(start, end, SHANGHAI, FRI_1432) == expected


@for_each(
    ("ms", "expected"),
    [
        (-5, "0 s"),
        (1_499, "1 s"),
        (59_400, "59 s"),
        (60_000, "1 min"),
        (9_660_000, "2 h 41 min"),
        (7_200_000, "2 h"),
    ],
)
def test_a_duration_has_two_units_at_most(ms: int, expected: str) -> None:
    assert formatting.duration(ms) == expected


def test_counts_and_sizes_are_grouped() -> None:
    assert (formatting.count(1204, "frame"), formatting.count(1, "frame")) == ("1,204 frames", "1 frame")
    assert (formatting.size(38_200_000_000), formatting.size(999)) == ("38.2 GB", "999 B")


@for_each("name", ["../../etc/passwd", "/etc/localtime", "Nowhere/City", "", "a" * 300, "UTC\n"])
def test_a_zone_that_is_none_is_none(name: str) -> None:
    assert zone_named(name) is None


@pytest.mark.parametrize(
    ("cookies", "query", "expected"),
    [
        ("", "", "server"),
        ("tz=Asia/Shanghai", "", "browser"),
        ("tz=Asia/Shanghai; zone=Europe/Berlin", "", "chosen"),
        ("tz=Asia/Shanghai; zone=Europe/Berlin", "?tz=America/New_York", "link"),
        ("tz=Not/AZone", "?tz=../x", "server"),
    ],
)
def test_the_zone_comes_from_the_nearest_choice(app: Flask, cookies: str, query: str, expected: str) -> None:
    with app.test_request_context(f"/timeline{query}", headers={"Cookie": cookies}):
        assert viewer().zone_origin == expected


@pytest.mark.parametrize(
    ("languages", "weekday"),
    [("en-US,en;q=0.9", 6), ("de-DE", 0), ("zh-CN", 0), ("xx, *;q=0.5, ar-EG;q=0.1", 5), ("", 0)],
)
def test_a_week_begins_where_the_language_of_the_browser_is_spoken(
    app: Flask, languages: str, weekday: int
) -> None:
    with app.test_request_context("/", headers={"Accept-Language": languages}):
        assert viewer().calendar.week_start == weekday


@for_each(
    ("text", "expected"),
    [
        ("1795156328000", FRI_1432),
        ("2026-11-20T14:32:08+08:00", FRI_1432),
        ("2026-11-20T14:32:08", FRI_1432),
        ("yesterday", None),
        ("99999999999999999999", None),
        ("9999-12-31T23:59", None),
        ("9999-12-31T23:59:00Z", None),
        ("", None),
    ],
)
def test_a_moment_in_an_address_is_read_or_refused(app: Flask, text: str, expected: int | None) -> None:
    with app.test_request_context("/", headers={"Cookie": "tz=Asia/Shanghai"}):
        assert moment(text, viewer()) == expected


def test_digits_are_milliseconds_at_either_end_of_a_range(app: Flask) -> None:
    """``1795030800000`` is also 8 March 1795 in ISO 8601's short form, and was once read as that."""
    with app.test_request_context():
        for ms in range(1_795_000_000_000, 1_795_400_000_000, 60_000):
            assert moment(str(ms), viewer()) == moment(f" {ms}", viewer(), is_end=True) == ms


def test_a_typed_clock_time_belongs_to_the_logical_day(app: Flask) -> None:
    with app.test_request_context("/", headers={"Cookie": "tz=Asia/Shanghai; day_start=4"}):
        day = viewer().day_of(FRI_1432)
        late = clock_on(day, "02:00", viewer())
    assert late is not None and formatting.moment(late, SHANGHAI) == "Sat 21 Nov 2026, 02:00:00"


def test_a_browser_in_utc_is_doubted_only_where_the_server_has_another_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for host, is_doubted in (("Etc/UTC", False), ("Africa/Abidjan", False), ("Europe/London", True)):
        monkeypatch.setattr(services, "host_zone", lambda host=host: ZoneInfo(host))
        for own in ("UTC", "Etc/UTC"):
            who = Viewer(ZoneInfo(own), "browser", FRI_1432, "", 0, 0, True)
            assert who.zone_is_doubtful is is_doubted, (host, own)


@for_each(("locale", "days"), [("en-US", 5), ("en-GB", 4)])
def test_this_week_begins_when_the_week_of_the_viewer_does(app: Flask, locale: str, days: int) -> None:
    with app.test_request_context(headers={"Accept-Language": locale, "Cookie": "tz=Asia/Shanghai"}):
        who = viewer()
        start_ms, end_ms = bounds("week", who)
        back = times.to_local(end_ms, who.zone).date() - times.to_local(start_ms, who.zone).date()
    assert back.days == days  # the clock of the tests stands on a Friday


def test_lines_that_nearly_fill_a_box_together_share_it() -> None:
    lines = Area(10, 10, 300, 14), Area(10, 27, 280, 14), Area(10, 44, 40, 14), Area(10, 200, 300, 14)
    assert formatting.outlines(reversed(lines)) == [
        Area(10, 10, 300, 31), Area(10, 44, 40, 14), Area(10, 200, 300, 14)
    ]  # fmt: skip
