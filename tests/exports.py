"""Files as other programs export them, of as many made-up records as wanted, in their published formats.

Written a line at a time, so that a file may be larger than memory. The same number of records gives the
same file. `WRITERS` has one writer for each kind and format that `ingest.importers.sources.source_import`
reads.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import quoteattr

START = datetime(2023, 1, 2, 8, 0, tzinfo=UTC)
_STEP = timedelta(minutes=7)
_WORDS = (
    "lunch", "meeting", "train", "late", "tomorrow", "photos", "thanks", "sure", "maybe", "dinner", "report",
    "invoice", "keys", "garden", "tickets", "doctor", "birthday", "weekend", "airport", "coffee", "明天见",
    "好的", "übermorgen", "café",
)  # fmt: skip
_PICTURE = "QUJD" * 5_000
_NAMES = ("Anna Berg", "Ben Ito", "Carla Núñez", "Dana 李", "Emil Roth", "Fay O'Neil")

Writer = Callable[[Path, int], None]


class _Story:
    """Times, people and words, the same for every format."""

    def __init__(self, count: int) -> None:
        self._rng = random.Random(11)
        self.count = count

    def __iter__(self) -> Iterator[tuple[int, datetime, int, str, bool]]:
        """(number, time, who, words, is outgoing)."""
        for n in range(self.count):
            words = " ".join(self._rng.choices(_WORDS, k=self._rng.randint(2, 25)))
            yield n, START + _STEP * n, n % len(_NAMES), f"{words} {n}", self._rng.random() < 0.4

    def position(self) -> tuple[float, float]:
        return round(48 + self._rng.random(), 7), round(11 + self._rng.random(), 7)


def _write(path: Path, lines: Iterator[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines)


# -- messages -----------------------------------------------------------------------------


def sms_backup(path: Path, count: int) -> None:
    """Every tenth is an MMS with a picture, every third has an emoji in two halves, as the app writes."""

    def lines() -> Iterator[str]:
        yield "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n"
        yield '<?xml-stylesheet type="text/xsl" href="sms.xsl"?>\n'
        yield f'<smses count="{count}" backup_set="1" backup_date="1700000000000" type="full">\n'
        for n, at, who, words, out in _Story(count):
            ms, kind, name = round(at.timestamp() * 1000), 2 if out else 1, quoteattr(_NAMES[who])
            emoji = " &#55357;&#56832;" if n % 3 == 0 else ""
            text = quoteattr(words)[:-1] + emoji + '"'
            if n % 10:
                yield (
                    f'  <sms protocol="0" address="+4917000000{who}" date="{ms}" type="{kind}" subject="null"'
                    f' body={text} toa="null" sc_toa="null" service_center="null" read="1" status="-1" '
                    f'locked="0" date_sent="{ms}" sub_id="1" readable_date="x" contact_name={name} />\n'
                )
            else:
                yield (
                    f'  <mms date="{ms}" msg_box="{kind}" address="+4917000000{who}" m_type="132" sub="null" '
                    f'read="1" contact_name={name}>\n    <parts>\n'
                    f'      <part seq="0" ct="image/jpeg" name="a.jpg" text="null" data="{_PICTURE}" />\n'
                    f'      <part seq="0" ct="text/plain" name="null" chset="106" text={text} />\n'
                    f'    </parts>\n    <addrs>\n      <addr address="+4917000000{who}" type="137" '
                    f'charset="106" />\n    </addrs>\n  </mms>\n'
                )
        yield "</smses>\n"

    _write(path, lines())


def telegram(path: Path, count: int) -> None:
    """An export of everything: a chat for each person, one after the other."""

    def lines() -> Iterator[str]:
        yield '{"personal_information": {"user_id": 1, "first_name": "Me"}, "chats": {"list": [\n'
        each = -(-count // len(_NAMES))
        story = iter(_Story(count))
        for who, name in enumerate(_NAMES):
            chat = {"name": name, "type": "personal_chat", "id": 100 + who}
            yield ("," if who else "") + json.dumps(chat, ensure_ascii=False)[:-1] + ', "messages": [\n'
            for place in range(each):
                found = next(story, None)
                if found is None:
                    break
                n, at, _, words, out = found
                message = {
                    "id": n,
                    "type": "message",
                    "date": at.strftime("%Y-%m-%dT%H:%M:%S"),
                    "date_unixtime": str(round(at.timestamp())),
                    "from": "Me" if out else name,
                    "from_id": "user1" if out else f"user{100 + who}",
                    "text": [words, {"type": "link", "text": " https://example.org"}]
                    if n % 5 == 0
                    else words,
                    "text_entities": [{"type": "plain", "text": words}],
                }
                yield ("," if place else "") + json.dumps(message, ensure_ascii=False, indent=1) + "\n"
            yield "]}\n"
        yield "]}}\n"

    _write(path, lines())


def mbox(path: Path, count: int) -> None:
    with path.open("wb") as file:
        for n, at, who, words, out in _Story(count):
            message = EmailMessage()
            message["Subject"] = f"{words[:40]}"
            me, other = "me@example.org", f"{who}@example.net"
            message["From"], message["To"] = (me, other) if out else (other, me)
            message["Date"], message["Message-ID"] = format_datetime(at), f"<{n}@example.net>"
            message.set_content(f"{words}\n\nFrom here on\nBest\n")
            if n % 4 == 0:
                message.add_alternative(f"<p>{words}</p>", subtype="html")
            stamp = at.strftime("%a %b %d %H:%M:%S %Y")
            body = message.as_bytes().replace(b"\nFrom ", b"\n>From ")
            file.write(f"From {other} {stamp}\n".encode() + body + b"\n")


def imessage(path: Path, count: int) -> None:
    def lines() -> Iterator[str]:
        for _, at, _, words, out in _Story(count):
            hour = f"{int(at.strftime('%I')):>2}"
            yield f"{at:%b %d, %Y} {hour}:{at:%M:%S %p} (Read by you after 1 minute)\n"
            yield f"{'Me' if out else 'Anna Berg'}\n{words}\n\n"

    _write(path, lines())


def whatsapp(path: Path, count: int) -> None:
    def lines() -> Iterator[str]:
        yield "02/01/2023, 07:00 - Messages and calls are end-to-end encrypted.\n"
        for n, at, who, words, out in _Story(count):
            more = "\nand a second line" if n % 7 == 0 else ""
            yield f"{at:%d/%m/%Y, %H:%M} - {'Me' if out else _NAMES[who]}: {words}{more}\n"

    _write(path, lines())


def message_csv(path: Path, count: int) -> None:
    def lines() -> Iterator[str]:
        yield "time,direction,address,name,text\r\n"
        for _, at, who, words, out in _Story(count):
            direction = "sent" if out else "received"
            yield f'{at.isoformat()},{direction},+4917000000{who},{_NAMES[who]},"{words}, ""so""\n"\r\n'

    _write(path, lines())


# -- calendars ----------------------------------------------------------------------------

_ZONE = """BEGIN:VTIMEZONE\r
TZID:W. Europe Standard Time\r
BEGIN:STANDARD\r
DTSTART:16010101T030000\r
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=10\r
TZOFFSETFROM:+0200\r
TZOFFSETTO:+0100\r
END:STANDARD\r
BEGIN:DAYLIGHT\r
DTSTART:16010101T020000\r
RRULE:FREQ=YEARLY;BYDAY=-1SU;BYMONTH=3\r
TZOFFSETFROM:+0100\r
TZOFFSETTO:+0200\r
END:DAYLIGHT\r
END:VTIMEZONE\r
"""


def ics(path: Path, count: int) -> None:
    """Every twentieth repeats ten times, every fifth takes a whole day, every third has a zone of its own."""

    def lines() -> Iterator[str]:
        yield f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//bench//EN\r\nX-WR-CALNAME:Work\r\n{_ZONE}"
        for n, at, who, words, _ in _Story(count):
            yield f"BEGIN:VEVENT\r\nUID:{n}@example.org\r\nDTSTAMP:20230101T000000Z\r\n"
            if n % 5 == 0:
                end = at + timedelta(days=1)
                yield f"DTSTART;VALUE=DATE:{at:%Y%m%d}\r\nDTEND;VALUE=DATE:{end:%Y%m%d}\r\n"
            else:
                zone = ";TZID=W. Europe Standard Time" if n % 3 == 0 else ";TZID=Europe/Berlin"
                end = at + timedelta(hours=1)
                yield f"DTSTART{zone}:{at:%Y%m%dT%H%M%S}\r\nDTEND{zone}:{end:%Y%m%dT%H%M%S}\r\n"
            if n % 20 == 0:
                yield "RRULE:FREQ=WEEKLY;COUNT=10\r\n"
            folded = words[:60] + "\r\n " + words[60:]
            yield f"SUMMARY:{folded}\r\nDESCRIPTION:Bring\\, please\\n{words}\r\nLOCATION:Room {who}\r\n"
            yield f"ATTENDEE;CN={_NAMES[who]};ROLE=REQ-PARTICIPANT:mailto:{who}@example.net\r\n"
            yield "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT10M\r\nEND:VALARM\r\nEND:VEVENT\r\n"
        yield "END:VCALENDAR\r\n"

    _write(path, lines())


# -- positions ----------------------------------------------------------------------------


def gpx(path: Path, count: int) -> None:
    def lines() -> Iterator[str]:
        yield '<?xml version="1.0"?>\n<gpx version="1.1" creator="b" xmlns="http://www.topografix.com/GPX/1/1">\n'
        yield "<trk><name>Walk</name><trkseg>\n"
        story = _Story(count)
        for _, at, *_ in story:
            latitude, longitude = story.position()
            yield f'<trkpt lat="{latitude}" lon="{longitude}"><ele>519.2</ele>'
            yield f"<time>{at:%Y-%m-%dT%H:%M:%SZ}</time></trkpt>\n"
        yield "</trkseg></trk></gpx>\n"

    _write(path, lines())


def _json_array(before: str, each: Iterator[dict[str, object]], after: str) -> Iterator[str]:
    yield before
    for n, item in enumerate(each):
        yield ("," if n else "") + json.dumps(item, ensure_ascii=False) + "\n"
    yield after


def geojson_points(path: Path, count: int) -> None:
    story = _Story(count)

    def features() -> Iterator[dict[str, object]]:
        for _, at, *_ in story:
            latitude, longitude = story.position()
            yield {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [longitude, latitude, 519.2]},
                "properties": {"time": at.isoformat(), "accuracy": 12},
            }

    _write(path, _json_array('{"type": "FeatureCollection", "features": [', features(), "]}"))


def records_json(path: Path, count: int) -> None:
    """Takeout's Records.json."""
    story = _Story(count)

    def records() -> Iterator[dict[str, object]]:
        for n, at, *_ in story:
            latitude, longitude = story.position()
            yield {
                "latitudeE7": round(latitude * 1e7),
                "longitudeE7": round(longitude * 1e7),
                "accuracy": 20,
                "activity": [
                    {"activity": [{"type": "STILL", "confidence": 90}], "timestamp": at.isoformat()}
                ],
                "source": "WIFI",
                "deviceTag": n % 3,
                "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
            }

    _write(path, _json_array('{"locations": [', records(), "]}"))


def timeline_json(path: Path, count: int) -> None:
    """What Android's Timeline exports: paths of ten positions, and raw signals."""
    story = _Story(count)

    def segments() -> Iterator[dict[str, object]]:
        found = iter(story)
        while points := [at for _, at, *_ in (each for _, each in zip(range(10), found, strict=False))]:
            yield {
                "startTime": points[0].isoformat(timespec="milliseconds"),
                "endTime": points[-1].isoformat(timespec="milliseconds"),
                "timelinePath": [
                    {
                        "point": "{}°, {}°".format(*story.position()),
                        "time": at.isoformat(timespec="milliseconds"),
                    }
                    for at in points
                ],
            }

    _write(path, _json_array('{"semanticSegments": [', segments(), '], "rawSignals": []}'))


def location_csv(path: Path, count: int) -> None:
    story = _Story(count)

    def lines() -> Iterator[str]:
        yield "timestamp,lat,lon,accuracy\n"
        for _, at, *_ in story:
            latitude, longitude = story.position()
            yield f"{at.timestamp():.0f},{latitude},{longitude},12.5\n"

    _write(path, lines())


# -- places -------------------------------------------------------------------------------


def geojson_places(path: Path, count: int) -> None:
    story = _Story(count)

    def features() -> Iterator[dict[str, object]]:
        for n, _, _, words, _ in story:
            latitude, longitude = story.position()
            yield {
                "type": "Feature",
                "geometry": {"type": "Point", "coordinates": [longitude, latitude]},
                "properties": {"name": f"{words[:20]} {n}", "address": f"{n} Street", "category": "shop"},
            }

    _write(path, _json_array('{"type": "FeatureCollection", "features": [', features(), "]}"))


def place_csv(path: Path, count: int) -> None:
    story = _Story(count)

    def lines() -> Iterator[str]:
        yield "name,latitude,longitude,address\n"
        for n, _, _, words, _ in story:
            latitude, longitude = story.position()
            yield f'{words[:20]} {n},{latitude},{longitude},"{n} Street, Town"\n'

    _write(path, lines())


WRITERS: dict[tuple[str, str, str], Writer] = {
    ("messages", "sms-backup", "sms.xml"): sms_backup,
    ("messages", "telegram", "result.json"): telegram,
    ("messages", "mbox", "mail.mbox"): mbox,
    ("messages", "imessage", "+491700000.txt"): imessage,
    ("messages", "whatsapp", "WhatsApp Chat with Club.txt"): whatsapp,
    ("messages", "csv", "messages.csv"): message_csv,
    ("calendar", "ics", "work.ics"): ics,
    ("location", "gpx", "walk.gpx"): gpx,
    ("location", "geojson", "points.geojson"): geojson_points,
    ("location", "takeout", "Records.json"): records_json,
    ("location", "takeout", "Timeline.json"): timeline_json,
    ("location", "csv", "points.csv"): location_csv,
    ("places", "geojson", "places.geojson"): geojson_places,
    ("places", "csv", "places.csv"): place_csv,
}
"""(kind, format, file name) of each."""
