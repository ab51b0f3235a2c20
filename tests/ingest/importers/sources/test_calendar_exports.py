"""Calendars as the programs that people have write them: their zones, their properties, their habits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.ics import read as read_ics
from ingest.importers.sources.source_file import opened
from store.sources.calendars import EventRecord
from tests.ingest.importers.sources.reading import at, options, read

GOOGLE = """BEGIN:VCALENDAR
PRODID:-//Google Inc//Google Calendar 70.9054//EN
VERSION:2.0
CALSCALE:GREGORIAN
METHOD:PUBLISH
X-WR-CALNAME:Work
X-WR-TIMEZONE:Europe/Berlin
BEGIN:VTIMEZONE
TZID:Europe/Berlin
X-LIC-LOCATION:Europe/Berlin
BEGIN:DAYLIGHT
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
TZNAME:GMT+2
DTSTART:19700329T020000
RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU
END:DAYLIGHT
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
TZNAME:GMT+1
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20251013T093000
DTEND;TZID=Europe/Berlin:20251013T100000
RRULE:FREQ=WEEKLY;WKST=MO;UNTIL=20251103T225959Z;BYDAY=MO
EXDATE;TZID=Europe/Berlin:20251020T093000
DTSTAMP:20251120T120000Z
ORGANIZER;CN=Work:mailto:c_1234@group.calendar.google.com
UID:4k2m8@google.com
ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;CN=ben@ex
 ample.net;X-NUM-GUESTS=0:mailto:ben@example.net
DESCRIPTION:Join: https://meet.google.com/abc\\n\\n<b>Agenda</b>
LAST-MODIFIED:20251101T080000Z
SEQUENCE:1
STATUS:CONFIRMED
SUMMARY:Stand-up
TRANSP:OPAQUE
END:VEVENT
BEGIN:VEVENT
DTSTART;TZID=Europe/Berlin:20251027T110000
DTEND;TZID=Europe/Berlin:20251027T113000
UID:4k2m8@google.com
RECURRENCE-ID;TZID=Europe/Berlin:20251027T093000
SEQUENCE:2
STATUS:CONFIRMED
SUMMARY:Stand-up\\, later
END:VEVENT
BEGIN:VEVENT
DTSTART:20251120T120000Z
DTEND:20251120T130000Z
UID:77ab@google.com
SUMMARY:Lunch
END:VEVENT
END:VCALENDAR
"""
OUTLOOK = """BEGIN:VCALENDAR
PRODID:-//Microsoft Corporation//Outlook 16.0 MIMEDIR//EN
VERSION:2.0
METHOD:PUBLISH
X-CALSTART:20251013T070000Z
X-WR-RELCALID:{0000002E-B7E1-4E5D-BC35-B3E4C1A2F7B8}
X-WR-CALNAME:Calendar
BEGIN:VTIMEZONE
TZID:Customized Time Zone
BEGIN:STANDARD
DTSTART:16011028T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
END:STANDARD
BEGIN:DAYLIGHT
DTSTART:16010325T020000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3
TZOFFSETFROM:+0100
TZOFFSETTO:+0200
END:DAYLIGHT
END:VTIMEZONE
BEGIN:VEVENT
CLASS:PUBLIC
DESCRIPTION:\\n
DTEND;TZID="Customized Time Zone":20251013T110000
DTSTAMP:20251120T120000Z
DTSTART;TZID="Customized Time Zone":20251013T100000
LOCATION:Room 1
RRULE:FREQ=WEEKLY;COUNT=3;BYDAY=MO
SUMMARY;LANGUAGE=en-us:Review
UID:040000008200E00074C5B7101A82E00800000000C0A8D9D4F4E5DB01000000000000000
\t010000000A1B2C3
X-ALT-DESC;FMTTYPE=text/html:<html><body>: " ; =\\n</body></html>
X-MICROSOFT-CDO-BUSYSTATUS:BUSY
BEGIN:VALARM
TRIGGER:-PT15M
ACTION:DISPLAY
DESCRIPTION:Reminder
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20251120
DTEND;VALUE=DATE:20251121
RRULE:FREQ=DAILY;UNTIL=20251121T230000Z
SUMMARY:Holiday
UID:b
X-MICROSOFT-CDO-ALLDAYEVENT:TRUE
END:VEVENT
BEGIN:VEVENT
DTSTART;TZID=W. Europe Standard Time:20250720T130000
DURATION:PT45M
SUMMARY:Call
UID:c
END:VEVENT
END:VCALENDAR
"""
APPLE = """BEGIN:VCALENDAR
CALSCALE:GREGORIAN
PRODID:-//Apple Inc.//macOS 15.1//EN
VERSION:2.0
X-APPLE-CALENDAR-COLOR:#1BADF8
X-WR-CALNAME:Home
BEGIN:VEVENT
CREATED:20251001T080000Z
DTEND;TZID=Europe/Berlin:20251120T140000
DTSTAMP:20251120T120000Z
DTSTART;TZID=Europe/Berlin:20251120T130000
ATTACH;FILENAME=a.pdf;ENCODING=BASE64;VALUE=BINARY:JVBERi0xLjQKJcOkw7zDtsOf
 CjIgMCBvYmoKPDwvTGVuZ3RoIDMgMCBSL0ZpbHRlci9GbGF0ZURlY29kZT4+CnN0cmVhbQp4nA==
LOCATION:Café\\nMain Street 1\\, Berlin
SUMMARY:Coffee
UID:5A6B7C8D-0000-0000-0000-000000000001
X-APPLE-STRUCTURED-LOCATION;VALUE=URI;X-ADDRESS="Main Street 1, Berlin";X
 -APPLE-RADIUS=70;X-TITLE=Café:geo:52.520000,13.405000
X-APPLE-TRAVEL-ADVISORY-BEHAVIOR:AUTOMATIC
BEGIN:VALARM
ACTION:NONE
TRIGGER;VALUE=DATE-TIME:19760401T005545Z
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:16040412
DTEND;VALUE=DATE:16040413
RRULE:FREQ=YEARLY;UNTIL=19730101
SUMMARY:Anna’s birthday
TRANSP:TRANSPARENT
UID:B1
END:VEVENT
END:VCALENDAR
"""
THUNDERBIRD = """BEGIN:VCALENDAR
PRODID:-//Mozilla.org/NONSGML Mozilla Calendar V1.1//EN
VERSION:2.0
BEGIN:VTIMEZONE
TZID:/mozilla.org/20071231_1/Europe/Berlin
X-LIC-LOCATION:Europe/Berlin
BEGIN:STANDARD
TZOFFSETFROM:+0200
TZOFFSETTO:+0100
DTSTART:19701025T030000
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
CREATED:20251001T080000Z
UID:1f2e
SUMMARY:Yoga
RRULE:FREQ=DAILY;COUNT=3
DTSTART;TZID=/mozilla.org/20071231_1/Europe/Berlin:20251120T180000
DTEND;TZID=/mozilla.org/20071231_1/Europe/Berlin:20251120T190000
X-MOZ-GENERATION:3
X-MOZ-LASTACK:20251120T170000Z
END:VEVENT
BEGIN:VEVENT
UID:1f2e
SUMMARY:Yoga outside
RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=/mozilla.org/20071231_1/Europe/Berlin:20251121T180000
DTSTART;TZID=/mozilla.org/20071231_1/Europe/Berlin:20251121T170000
DTEND;TZID=/mozilla.org/20071231_1/Europe/Berlin:20251121T190000
SEQUENCE:1
END:VEVENT
END:VCALENDAR
"""
NEXTCLOUD = """BEGIN:VCALENDAR
VERSION:2.0
CALSCALE:GREGORIAN
PRODID:-//SabreDAV//SabreDAV//EN
X-WR-CALNAME:Club
X-APPLE-CALENDAR-COLOR:#0082c9
REFRESH-INTERVAL;VALUE=DURATION:PT4H
X-PUBLISHED-TTL:PT4H
BEGIN:VEVENT
CREATED:20251001T080000Z
DTSTAMP:20251120T120000Z
SEQUENCE:3
UID:e7d1
DTSTART;TZID=Europe/Berlin:20251120T200000
DTEND;TZID=Europe/Berlin:20251120T220000
STATUS:CONFIRMED
SUMMARY:Chess
CATEGORIES:Club,Games
RRULE:FREQ=MONTHLY;COUNT=3;BYDAY=3TH
EXDATE;TZID=Europe/Berlin:20251218T200000
END:VEVENT
BEGIN:VTODO
UID:t
SUMMARY:not an event
END:VTODO
END:VCALENDAR
"""
EXPORTS = [GOOGLE, OUTLOOK, APPLE, THUNDERBIRD, NEXTCLOUD]
FOUND = [
    [
        ("Stand-up", "2025-10-13T09:30:00", 30),
        ("Stand-up, later", "2025-10-27T11:00:00", 30),
        ("Stand-up", "2025-11-03T09:30:00", 30),
        ("Lunch", "2025-11-20T12:00:00+00:00", 60),
    ],
    [
        ("Call", "2025-07-20T13:00:00", 45),
        ("Review", "2025-10-13T10:00:00", 60),
        ("Review", "2025-10-20T10:00:00", 60),
        ("Review", "2025-10-27T10:00:00", 60),
        ("Holiday", "2025-11-20T00:00:00", 1440),
        ("Holiday", "2025-11-21T00:00:00", 1440),
        ("Holiday", "2025-11-22T00:00:00", 1440),
    ],
    [
        ("Anna’s birthday", "1970-04-12T00:00:00", 1440),
        ("Anna’s birthday", "1971-04-12T00:00:00", 1440),
        ("Anna’s birthday", "1972-04-12T00:00:00", 1440),
        ("Coffee", "2025-11-20T13:00:00", 60),
    ],
    [
        ("Yoga", "2025-11-20T18:00:00", 60),
        ("Yoga outside", "2025-11-21T17:00:00", 120),
        ("Yoga outside", "2025-11-22T17:00:00", 120),
    ],
    [("Chess", "2025-11-20T20:00:00", 120), ("Chess", "2026-01-15T20:00:00", 120)],
]


@pytest.mark.parametrize(
    ("text", "expected"),
    list(zip(EXPORTS, FOUND, strict=True)),
    ids=[e.split("PRODID:")[1][:20] for e in EXPORTS],
)
def test_an_export_is_read_whole(tmp_path: Path, text: str, expected: list[tuple[str, str, int]]) -> None:
    records, skipped = read(tmp_path, "calendar", "c.ics", text.replace("\n", "\r\n"))
    assert skipped == []
    found = sorted((each.start_ms, each.title, (each.end_ms - each.start_ms) // 60_000) for each in records)
    assert found == [(at(start), title, minutes) for title, start, minutes in expected]
    assert len({(each.uid, each.recurrence) for each in records}) == len(records)


def test_names_places_and_people_of_an_export_are_read(tmp_path: Path) -> None:
    records, _ = read(tmp_path, "calendar", "c.ics", GOOGLE)
    assert {(each.calendar, each.attendees, each.description) for each in records if each.status} == {
        ("Work", ("ben@example.net",), "Join: https://meet.google.com/abc\n\n<b>Agenda</b>"),
        ("Work", (), ""),
    }
    records, _ = read(tmp_path, "calendar", "c.ics", APPLE)
    assert {each.location for each in records} == {"Café Main Street 1, Berlin", ""}


@settings(max_examples=60, deadline=None)
@given(
    text=st.sampled_from([text.encode() for text in EXPORTS]),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.binary(max_size=6)), max_size=4),
)
def test_a_damaged_export_gives_records_or_reasons(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, damage: list[tuple[float, bytes]]
) -> None:
    for place, put in damage:
        start = int(place * len(text))
        text = text[:start] + put + text[start + len(put) :]
    path = tmp_path_factory.mktemp("damaged") / "c.ics"
    path.write_bytes(text)
    try:
        with opened(path, frozenset({".ics"})) as source:
            found = list(read_ics(source, options()))
    except CannotImport:
        return
    for each in found:
        assert isinstance(each, Skipped) or (isinstance(each, EventRecord) and each.end_ms >= each.start_ms)
