from __future__ import annotations

import json
import zipfile
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest

from ingest.core.home import Home
from ingest.importers.items import CannotImport
from ingest.importers.sources.ics import MAX_OCCURRENCES
from ingest.importers.sources.source_import import Receipt, import_file
from store.sources import calendars
from store.sources.calendars import EventRecord
from tests.ingest.importers.sources.reading import NOW_MS, at, options, read
from tests.tables import for_each

OUTLOOK = """BEGIN:VTIMEZONE
TZID:W. Europe Standard Time
BEGIN:STANDARD
DTSTART:16010101T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010101T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
"""


_PARTS = (
    "".join(
        f"BEGIN:STANDARD\nDTSTART:1970{month:02}01T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nEND:STANDARD\n"
        for month in range(1, 13)
    )
    * 2
)


def ics(*events: str, before: str = "") -> str:
    bodies = "".join(f"BEGIN:VEVENT\n{event.strip()}\nEND:VEVENT\n" for event in events)
    return f"BEGIN:VCALENDAR\nVERSION:2.0\n{before}{bodies}END:VCALENDAR\n".replace("\n", "\r\n")


def starts(folder: Path, *events: str, before: str = "") -> list[int]:
    records, skipped = read(folder, "calendar", "c.ics", ics(*events, before=before))
    assert skipped == []
    return [each.start_ms for each in records]


def test_an_event_with_everything_is_read(tmp_path: Path) -> None:
    text = ics(
        """UID:1@example.org
DTSTART;TZID=Europe/Berlin:20251120T130000
DTEND;TZID=Europe/Berlin:20251120T140000
SUMMARY:Lunch\\, long and
  folded
DESCRIPTION:one\\ntwo
LOCATION:Room 1
ATTENDEE;CN="Berg, Anna";ROLE=REQ-PARTICIPANT:mailto:anna@example.net
ATTENDEE:mailto:ben@example.net
STATUS:CONFIRMED
BEGIN:VALARM
SUMMARY:not this
END:VALARM""",
        before="X-WR-CALNAME:Work\n",
    )
    records, _ = read(tmp_path, "calendar", "c.ics", text)
    assert records == [
        EventRecord(
            "Lunch, long and folded", at("2025-11-20T13:00:00"), at("2025-11-20T14:00:00"),
            uid="1@example.org", calendar="Work", description="one\ntwo", location="Room 1",
            attendees=("Berg, Anna", "ben@example.net"), status="confirmed",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("DTSTART:20251120T120000Z", "2025-11-20T12:00:00+00:00"),
        ("DTSTART:20251120T130000", "2025-11-20T13:00:00"),
        ("DTSTART;TZID=America/New_York:20251120T130000", "2025-11-20T13:00:00-05:00"),
        ("DTSTART;TZID=/example.org/1/America/New_York:20251120T130000", "2025-11-20T13:00:00-05:00"),
        ("DTSTART;TZID=W. Europe Standard Time:20250720T130000", "2025-07-20T13:00:00+02:00"),
        ("DTSTART;TZID=W. Europe Standard Time:20251120T130000", "2025-11-20T13:00:00+01:00"),
        ("DTSTART;VALUE=DATE:20251120", "2025-11-20T00:00:00"),
    ],
)
def test_times_are_read_in_the_zone_they_name(tmp_path: Path, written: str, expected: str) -> None:
    assert starts(tmp_path, f"UID:1\n{written}", before=OUTLOOK) == [at(expected)]


def test_the_calendars_own_zone_holds_for_times_without_one(tmp_path: Path) -> None:
    found = starts(tmp_path, "DTSTART:20251120T130000", before="X-WR-TIMEZONE:Asia/Tokyo\n")
    assert found == [at("2025-11-20T13:00:00+09:00")]


def test_a_day_is_as_long_as_its_clock_says(tmp_path: Path) -> None:
    text = ics(
        "DTSTART;VALUE=DATE:20251026", "DTSTART:20251120T130000\nDURATION:PT1H30M", "DTSTART:20251120T130000"
    )
    records, _ = read(tmp_path, "calendar", "c.ics", text)
    assert [(each.end_ms - each.start_ms) / 3_600_000 for each in records] == [25, 1.5, 0]
    assert [each.is_all_day for each in records] == [True, False, False]


def test_nine_oclock_stays_nine_oclock_when_the_clocks_change(tmp_path: Path) -> None:
    event = "UID:1\nDTSTART;TZID=Europe/Berlin:20251013T090000\nRRULE:FREQ=WEEKLY;COUNT=4"
    assert starts(tmp_path, event) == [
        at(f"2025-{day}T09:00:00") for day in ("10-13", "10-20", "10-27", "11-03")
    ]


@for_each(
    ("rule", "days"),
    [
        ("RRULE:FREQ=WEEKLY;BYDAY=MO,WE;COUNT=3", ["10-13", "10-15", "10-20"]),
        ("RRULE:FREQ=DAILY;UNTIL=20251015T070000Z", ["10-13", "10-14", "10-15"]),
        ("RRULE:FREQ=DAILY;UNTIL=20251014", ["10-13", "10-14"]),
        ("RRULE:FREQ=MONTHLY;BYDAY=2MO;COUNT=3", ["10-13", "11-10", "12-08"]),
        ("RRULE:FREQ=DAILY;COUNT=4\nEXDATE:20251014T090000,20251015T090000", ["10-13", "10-16"]),
        ("RDATE:20251020T090000", ["10-13", "10-20"]),
        ("RRULE:FREQ=DAILY;UNTIL=20251014T090000", ["10-13", "10-14"]),
        ("RRULE:FREQ=DAILY;UNTIL=20251014;COUNT=9", ["10-13", "10-14"]),
        ("RRULE:FREQ=DAILY;COUNT=2\nRRULE:FREQ=WEEKLY;COUNT=2", ["10-13", "10-14", "10-20"]),
    ],
)
def test_rules_dates_and_exceptions_are_worked_out(tmp_path: Path, rule: str, days: list[str]) -> None:
    assert starts(tmp_path, f"UID:1\nDTSTART:20251013T090000\n{rule}") == [
        at(f"2025-{day}T09:00:00") for day in days
    ]


@pytest.mark.parametrize("is_first", [True, False])
def test_a_changed_occurrence_takes_the_place_of_its_own_wherever_it_stands(
    tmp_path: Path, is_first: bool
) -> None:
    series = "UID:1\nSUMMARY:Series\nDTSTART:20251013T090000\nRRULE:FREQ=DAILY;COUNT=3"
    moved = "UID:1\nSUMMARY:Moved\nRECURRENCE-ID:20251014T090000\nDTSTART:20251014T110000"
    cancelled = "UID:1\nRECURRENCE-ID:20251015T090000\nDTSTART:20251015T090000\nSTATUS:CANCELLED"
    events = [moved, cancelled, series] if is_first else [series, moved, cancelled]
    records, skipped = read(tmp_path, "calendar", "c.ics", ics(*events))
    assert sorted((each.title, each.start_ms, each.recurrence) for each in records) == [
        ("Moved", at("2025-10-14T11:00:00"), str(at("2025-10-14T09:00:00"))),
        ("Series", at("2025-10-13T09:00:00"), str(at("2025-10-13T09:00:00"))),
    ]
    assert [reason for _, reason in skipped] == ["this occurrence was cancelled"]


def test_an_event_without_an_end_goes_on_for_two_years(tmp_path: Path) -> None:
    found = starts(tmp_path, "UID:1\nDTSTART:20201120T090000\nRRULE:FREQ=YEARLY")
    assert found == [at(f"{year}-11-20T09:00:00") for year in range(2020, 2029)]


@for_each(
    ("event", "why"),
    [
        ("DTSTART:20251013T090000\nRRULE:FREQ=SECONDLY", "more often than daily"),
        ("DTSTART:19300101T090000\nRRULE:FREQ=DAILY", f"more than {MAX_OCCURRENCES:,}"),
        (
            "DTSTART:20251013T090000\nRRULE:FREQ=DAILY;BYMINUTE=0,10,20,30,40;BYSECOND=0,9,19,29,39",
            "than daily",
        ),
        ("DTSTART:20251013T090000\nRRULE:FREQ=DAILY;BYHOUR=99", "cannot be worked out"),
        ("DTSTART:20251013T090000\nRRULE:FREQ=DAILY;UNTIL=20251001", "never takes place"),
        ("DTSTART:20251013T090000\nRDATE:20251013T0900", "cannot be read"),
        ("DTSTART:20251013T090000\nRRULE:FREQ=DAILY;INTERVAL=0", "cannot be read"),
        ("DTSTART:20251013T090000\nRRULE:FREQ=DAILY;INTERVAL=-1", "cannot be read"),
        ("DTSTART:20251013T090000\nRRULE:FREQ=DAILY;BYMONTHDAY=" + "1," * 500 + "1", "cannot be read"),
        ("DTSTART:20251013T090000\nRRULE:COUNT=3", "cannot be read"),
        ("DTSTART:20251013T090000" + "\nRRULE:FREQ=DAILY;COUNT=2" * 6, "more than 5 rules"),
        ("DTSTART:20251013T090000\nDTSTART:20251014T090000", "cannot be read"),
        ("DTSTART;TZID=Europe:20251013T090000", "cannot be read"),  # a folder of zones
        ("DTSTART:20251399T090000", "cannot be read"),
        ("DTSTART:00010101T000000", "before 2 January 1970"),
        ("DTSTART:99991231T235959\nDURATION:P9999W", "cannot be worked out"),
        ("DTSTART;TZID=Nowhere/Atlantis:20251013T090000", "zone is not known"),
        ("SUMMARY:when?", "no start"),
    ],
)
def test_an_event_that_cannot_be_taken_is_left_out_with_its_line(
    tmp_path: Path, event: str, why: str
) -> None:
    good = "UID:2\nDTSTART:20251013T090000"
    records, skipped = read(tmp_path, "calendar", "c.ics", ics(f"UID:1\n{event}", good))
    assert [each.uid for each in records if not each.recurrence] == ["2"]
    assert [where for where, _ in skipped] == ["line 3"]
    assert why in skipped[0][1]


@pytest.mark.parametrize("rule", ["FREQ=MONTHLY;BYDAY=6MO", "", "FREQ=DAILY;COUNT=0"])
def test_an_event_whose_rule_never_comes_true_takes_place_once(tmp_path: Path, rule: str) -> None:
    assert starts(tmp_path, f"UID:1\nDTSTART:20251013T090000\nRRULE:{rule}") == [at("2025-10-13T09:00:00")]


def test_a_calendar_that_takes_too_long_to_work_out_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Looking for a sixth Monday of a month until the year 9999 takes a second for each event."""
    monkeypatch.setattr("ingest.importers.sources.ics._MAX_REPEATING_S", 0.1)
    event = "DTSTART:20251013T090000\nRRULE:FREQ=MONTHLY;BYDAY=6MO"
    with pytest.raises(CannotImport, match="takes too long"):
        read(tmp_path, "calendar", "c.ics", ics(event, event))


@pytest.mark.parametrize(
    ("limit", "events", "why"),
    [
        ("_MAX_REPEATING", 3, "of its events repeat"),
        ("_MAX_REPEATING_BYTES", 1, "of its events repeat"),
        ("_MAX_ALL_BYTES", 1, "larger than"),
        ("_MAX_ZONES", 3, "time zones"),
    ],
)
def test_a_calendar_beyond_a_bound_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, events: int, why: str
) -> None:
    monkeypatch.setattr(f"ingest.importers.sources.ics.{limit}", 2)
    zones = ("Europe/Berlin", "Europe/Rome", "Asia/Tokyo")
    each = [
        f"UID:{n}\nDTSTART;TZID={zones[n]}:20251013T090000\nRRULE:FREQ=DAILY;COUNT=3" for n in range(events)
    ]
    with pytest.raises(CannotImport, match=why):
        read(tmp_path, "calendar", "c.ics", ics(*each))


@pytest.mark.parametrize(
    "damage",
    [("FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10", "FREQ=SECONDLY"), ("END:DAYLIGHT\n", "END:DAYLIGHT\n" + _PARTS)],
    ids=["every second", "too many parts"],
)
def test_a_zone_that_would_keep_the_reader_busy_is_not_believed(
    tmp_path: Path, damage: tuple[str, str]
) -> None:
    zone = OUTLOOK.replace("W. Europe Standard Time", "Our own").replace(*damage)
    event = "DTSTART;TZID=Our own:20251120T130000"
    _, skipped = read(tmp_path, "calendar", "c.ics", ics(event, before=zone))
    assert "zone is not known" in skipped[0][1]


def test_a_zone_that_the_file_describes_holds_for_that_file_alone(tmp_path: Path) -> None:
    event = "DTSTART;TZID=Our own:20250720T130000"
    zone = OUTLOOK.replace("W. Europe Standard Time", "Our own")
    assert starts(tmp_path, event, before=zone) == [at("2025-07-20T13:00:00+02:00")]
    assert starts(tmp_path, event, before=zone.replace("+0200", "+0500")) == [at("2025-07-20T13:00:00+05:00")]
    _, skipped = read(tmp_path, "calendar", "c.ics", ics(event))
    assert "zone is not known" in skipped[0][1]


def test_an_end_that_a_clock_set_forward_puts_first_is_the_start(tmp_path: Path) -> None:
    text = ics("DTSTART;TZID=Europe/Berlin:20250330T023000\nDTEND;TZID=Europe/Berlin:20250330T030000")
    records, _ = read(tmp_path, "calendar", "c.ics", text)
    assert [each.end_ms - each.start_ms for each in records] == [0]


def test_a_character_cut_by_folding_is_whole_again(tmp_path: Path) -> None:
    folded = ics("UID:1\nDTSTART:20251120T130000\nSUMMARY:über").encode()
    folded = folded.replace("ü".encode(), "ü".encode()[:1] + b"\r\n " + "ü".encode()[1:])
    records, _ = read(tmp_path, "calendar", "c.ics", folded)
    assert records[0].title == "über"


def test_an_attached_file_of_many_lines_is_passed_over(tmp_path: Path) -> None:
    attached = "ATTACH;ENCODING=BASE64;VALUE=BINARY:" + "".join(f"\n {'QUJD' * 18}" for _ in range(20_000))
    records, _ = read(tmp_path, "calendar", "c.ics", ics(f"UID:1\nDTSTART:20251120T130000\n{attached}"))
    assert [each.uid for each in records] == ["1"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20251120T130000\n", "ends in the middle"),
        ("BEGIN:VCALENDAR\nEND:VEVENT\n", "has not begun"),
        ("BEGIN:VCALENDAR\n" + "BEGIN:X\n" * 20, "nested"),
        ("BEGIN:VCALENDAR\nEND:VCALENDAR\n", "no events"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:" + "x\n x" * 300_000 + "\n", "more than 1,000,000"),
    ],
)
def test_a_broken_calendar_is_refused_as_a_whole(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(CannotImport, match=why):
        read(tmp_path, "calendar", "c.ics", text)


def test_an_event_that_changed_leaves_none_of_its_old_occurrences(home: Home, tmp_path: Path) -> None:
    """Moved by an hour and cut short: the file is imported again, and the calendar says what it says."""
    other = "UID:2\nSUMMARY:Other\nDTSTART:20251013T120000\nRRULE:FREQ=DAILY;COUNT=2"
    path = tmp_path / "c.ics"

    def take(*events: str) -> Receipt:
        path.write_text(ics(*events), encoding="utf-8")
        return import_file(home, "calendar", path, options())

    def starts_now() -> list[tuple[str, int]]:
        found, _ = calendars.events_between(home.database, 0, 2 * NOW_MS)
        return [(event.title, event.start_ms) for event in found]

    take("UID:1\nSUMMARY:Series\nDTSTART:20251013T090000\nRRULE:FREQ=DAILY;COUNT=5", other)
    changed = "UID:1\nSUMMARY:Series\nDTSTART:20251013T100000\nRRULE:FREQ=DAILY;COUNT=2"
    receipt = take(changed)
    assert (receipt.added, receipt.replaced) == (2, 5)
    # An event that the file says nothing of stays.
    assert starts_now() == [
        ("Series", at("2025-10-13T10:00:00")), ("Other", at("2025-10-13T12:00:00")),
        ("Series", at("2025-10-14T10:00:00")), ("Other", at("2025-10-14T12:00:00")),
    ]  # fmt: skip
    again = take(changed)
    assert (again.added, again.unchanged, again.replaced) == (0, 2, 0)
    once = take("UID:1\nSUMMARY:Series\nDTSTART:20251014T100000")
    assert (once.added, once.replaced) == (1, 2)


def test_windows_of_activitywatch_are_events_without_looks_of_seconds(tmp_path: Path) -> None:
    def event(begin: str, seconds: object, **data: object) -> dict[str, object]:
        return {"timestamp": f"2026-11-27T{begin}+00:00", "duration": seconds, "data": data}

    window = {"app": "Inkscape", "title": "poster.svg"}
    events = [
        event("18:12:00", 4, app="Mail", title="Inbox"), event("18:10:00", 90.0, **window),
        event("18:00:00", 600, **window), event("soon", 60, **window), event("17:00:00", 60, app="Code"),
    ]  # fmt: skip
    buckets = {
        "aw-watcher-window_box": {"type": "currentwindow", "events": events},
        "aw-watcher-afk_box": {"events": [event("18:00:00", 900, status="afk")]},
    }
    records, skipped = read(tmp_path, "calendar", "aw.json", json.dumps({"buckets": buckets}))
    assert [(each.title, each.location, each.start_ms, each.end_ms) for each in records] == [
        ("poster.svg", "Inkscape", at("2026-11-27T18:00+00:00"), at("2026-11-27T18:11:30+00:00")),
        ("Code", "Code", at("2026-11-27T17:00+00:00"), at("2026-11-27T17:01+00:00")),
    ]
    assert skipped == [
        ("aw-watcher-window_box", "open for less than ten seconds"),
        ("event 4", "when it was open cannot be read"),
    ]


def test_a_database_of_activitywatch_is_the_same_as_its_export(home: Home, tmp_path: Path) -> None:
    """The tables are those that aw-core 0.5 and aw-server-rust 0.13 make."""
    window = {"app": "Übersicht", "title": "报告 – draft"}
    begins = datetime(2026, 11, 27, 18, 0, 15, 623_000, UTC)
    event = {"timestamp": begins.isoformat(), "duration": 600.123456, "data": window}
    (tmp_path / "export.json").write_text(
        json.dumps({"buckets": {"aw-watcher-window_box": {"events": [event]}}})
    )
    with closing(apsw.Connection(str(tmp_path / "peewee-sqlite.v2.db"))) as python:
        python.execute("""
            create table bucketmodel ("key" integer primary key, id varchar(255) not null);
            create table eventmodel (id integer primary key, bucket_id integer not null,
                                     timestamp datetime not null, duration decimal(10, 5) not null,
                                     datastr varchar(255) not null);
            insert into bucketmodel values (3, 'aw-watcher-window_box');""")
        row = (str(begins), event["duration"], json.dumps(window))
        python.execute("insert into eventmodel values (1, 3, ?, ?, ?)", row)
        python.execute("insert into eventmodel values (2, 3, ?, ?, 'cut')", row[:2])
    with closing(apsw.Connection(str(tmp_path / "sqlite.db"))) as rust:
        rust.execute("""
            create table buckets (id integer primary key, name text not null);
            create table events (id integer primary key, bucketrow integer not null,
                                 starttime integer not null, endtime integer not null, data text not null);
            insert into buckets values (7, 'aw-watcher-window_box');""")
        start = round(begins.timestamp() * 1000) * 1_000_000
        rust.execute(
            "insert into events values (1, 7, ?, ?, ?)", (start, start + 600_123_456_000, json.dumps(window))
        )
    took = []
    for name in ("export.json", "peewee-sqlite.v2.db", "sqlite.db"):
        receipt = import_file(home, "calendar", tmp_path / name, options())
        took.append((receipt.added, receipt.unchanged, receipt.replaced))
    assert took == [(1, 0, 0), (0, 1, 0), (0, 1, 0)]


def test_another_database_is_refused_in_words(home: Home, tmp_path: Path) -> None:
    with closing(apsw.Connection(str(tmp_path / "other.db"))) as other:
        other.execute("create table notes (text)")
    with pytest.raises(
        CannotImport, match=r"'other.db' cannot be read as ActivityWatch's database: .*eventmodel"
    ):
        import_file(home, "calendar", tmp_path / "other.db", options())
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as packed:
        packed.write(tmp_path / "other.db", "other.db")
    with pytest.raises(CannotImport, match="unpack it first"):
        import_file(home, "calendar", tmp_path / "other.zip", options())
