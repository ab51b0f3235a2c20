"""The pages of imported sources: looked through, added to and taken back, with scripts off."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from store.sources import imports
from store.sources.calendars import EventRecord
from store.sources.imports import KINDS, Kind
from store.sources.locations import PlaceRecord, PointRecord
from store.sources.messages import MessageRecord
from store.timeline import segments
from tests.exports import WRITERS
from tests.factories import NOON_MS, picture, webp
from tests.sources import put_events, put_messages, put_places, put_points
from tests.tables import for_each
from tests.webapp.conftest import Actor, words
from webapp.core.services import Services

HOUR_MS = 3_600_000
HOSTILE = "<script>alert(1)</script>"


def fill(own: Services) -> None:
    def message(n: int) -> MessageRecord:
        text = f"lunch number {n} {HOSTILE}"
        return MessageRecord("sms", NOON_MS + n * 1000, n % 2 == 0, text, "+4917012345", "Anna")

    def event(n: int) -> EventRecord:
        start_ms = NOON_MS + n * 24 * HOUR_MS
        return EventRecord(f"Review {n}", start_ms, start_ms + HOUR_MS, str(n), description=HOSTILE)

    put_messages(own.database, map(message, range(120)))
    put_events(own.database, map(event, range(-40, 40)))
    put_points(own.database, (PointRecord(NOON_MS + n * 60_000, 48.1, 11.5, 12.0) for n in range(300)))
    put_places(own.database, (PlaceRecord(f"Place {n:03d} {HOSTILE}", 48.1, n / 100) for n in range(70)))


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_source_says_how_to_export_from_the_phone(program: Actor, kind: Kind) -> None:
    html = program.get(f"/sources/{kind}").text
    assert "Nothing imported yet" in html and "How to get one" in html
    assert f'action="/sources/{kind}/import"' in html and 'enctype="multipart/form-data"' in html


def test_the_overview_counts_each_source(program: Actor, own: Services) -> None:
    assert program.get("/sources").text.count("nothing yet") == 5
    fill(own)
    html = program.get("/sources").text
    for amount in ("120 messages", "80 events", "300 positions", "70 places"):
        assert amount in html
    assert program.get("/sources/films").status_code == 404


def test_pictures_are_imported_at_the_times_of_their_names_and_the_others_left_out(
    program: Actor, own: Services
) -> None:
    shot, name = webp(picture(1)), f"2026-11-20 12-00-00 {HOSTILE.replace('/', '')}"
    given = ((shot, f"../{name}"), (shot, "20261120_130000.png"), (b"text", "2026-11-20 14-00-00.png"),
             (b"", "2026-11-20 15-00-00.jpg"), (shot, "0000-00-00 00-00-00.png"))  # fmt: skip

    def answer() -> str:
        files = [(io.BytesIO(content), called) for content, called in given]
        return words(program.post("/sources/pictures/import", data={"files": files, "timezone": "UTC"}).text)

    told = answer()
    assert "2 pictures imported." in told and told.count("Left out:") == 1
    for reason in ("14-00-00.png : not a PNG", "15-00-00.jpg : the file has 0", "00-00-00.png : neither"):
        assert reason.replace(" :", ":") in told.replace(" :", ":")
    assert segments.imported_ms(own.database) == [NOON_MS + HOUR_MS, NOON_MS]
    assert "0 pictures imported. There already: 2." in answer()
    assert not list((own.data_dir.spool / "tmp").iterdir())
    page = program.get("/sources/pictures").text
    assert 'href="/days/2026-11-20">' in page and HOSTILE not in page
    nothing = program.post("/sources/pictures/import", data={"timezone": "UTC"})
    assert nothing.status_code == 422 and "Choose a file first" in nothing.text


def test_messages_are_paged_without_gap_and_searched(program: Actor, own: Services) -> None:
    fill(own)
    seen: list[str] = []
    address = "/sources/messages"
    for _ in range(3):
        html = program.get(address).text
        seen += re.findall(r"lunch number (\d+)", html)
        following = re.search(r'href="(/sources/messages\?before=[^"]+)"', html)
        address = following[1] if following else ""
    assert seen == [str(n) for n in range(119, -1, -1)] and address == ""
    found = program.get("/sources/messages?q=number+17").text
    assert re.findall(r"lunch number (\d+)", found) == ["17"]
    assert "Nothing is found" in program.get("/sources/messages?q=zzzz").text


@for_each("kind", KINDS)
def test_what_a_file_said_is_never_markup(program: Actor, own: Services, kind: Kind) -> None:
    fill(own)
    assert "<script>alert" not in program.get(f"/sources/{kind}").text


def test_the_calendar_goes_by_months_and_finds_words_anywhere(program: Actor, own: Services) -> None:
    fill(own)
    html = program.get("/sources/calendar").text
    assert "Nov 2026" in html and "Review 0<" in html
    assert (
        'href="/sources/calendar?day=2026-10-01"' in html
        and 'href="/sources/calendar?day=2026-12-01"' in html
    )
    last = program.get("/sources/calendar?day=2026-12-15").text
    assert "Review 39<" in last and "day=2027" not in last
    assert "Review -40<" in program.get("/sources/calendar?q=review+-40").text


def test_positions_are_shown_by_day_spread_over_it(program: Actor, own: Services) -> None:
    fill(own)
    html = program.get("/sources/location").text
    assert "150 of 300 shown" in html and html.count("48.10000") == 150
    assert "Nothing on" in program.get("/sources/location?day=2020-01-01").text


def test_places_are_paged_and_searched(program: Actor, own: Services) -> None:
    fill(own)
    html = program.get("/sources/places").text
    assert "Place 049" in html and "Place 050" not in html and "offset=50" in html
    assert "Place 069" in program.get("/sources/places?offset=50").text
    assert "Place 069" in program.get("/sources/places?q=place+069").text


ODD = [
    *(("before=x", 200), ("before=1.2.3", 200), ("offset=-1", 200), ("offset=99999999999999", 200)),
    *(("q=%00", 200), ("q=" + "x" * 3_000, 200)),
    *(("day=yesterday", 400), ("day=9999-12-31", 400), ("day=0001-01-01", 400)),
]


@for_each(("query", "status"), ODD)
@for_each("kind", KINDS)
def test_an_odd_address_is_answered(
    program: Actor, own: Services, kind: Kind, query: str, status: int
) -> None:
    fill(own)
    assert program.get(f"/sources/{kind}?{query}").status_code == status


def test_a_file_is_imported_by_the_form_and_its_receipt_shown(
    program: Actor, own: Services, tmp_path: Path
) -> None:
    WRITERS["messages", "csv", "messages.csv"](tmp_path / "m.csv", 5)
    content = (tmp_path / "m.csv").read_bytes() + b"soon,sent,+491,Anna,x\r\n"
    answer = program.post("/sources/messages/import", data={"file": (io.BytesIO(content), "m.csv"), "me": ""})
    assert answer.status_code == 200
    assert "5 added, 0 updated, 0 there already" in answer.text and "its time cannot be read" in answer.text
    assert imports.total(own.database, "messages") == 5
    assert list((own.data_dir.spool / "tmp").iterdir()) == []


def test_a_refused_file_says_why_in_words_of_the_form_and_keeps_what_was_typed(
    program: Actor, own: Services
) -> None:
    chat = b"20/11/2025, 13:01 - Anna: Lunch?\n20/11/2025, 13:02 - Ben: Yes\n"
    answer = program.post(
        "/sources/messages/import", data={"file": (io.BytesIO(chat), "c.txt"), "me": "Nobody", "dates": "dmy"}
    )
    assert answer.status_code == 422
    assert "in the field “You”: Anna, Ben. Nothing was imported." in answer.text
    assert 'value="Nobody"' in answer.text and 'value="dmy" selected' in answer.text
    empty = program.post("/sources/messages/import", data={"me": ""})
    assert (empty.status_code, "Choose a file first." in empty.text) == (422, True)
    assert imports.listed(own.database) == []


def test_a_source_goes_only_when_the_word_is_typed_and_an_import_at_once(
    program: Actor, own: Services
) -> None:
    fill(own)
    refused = program.post("/sources/places/delete", data={"confirm": "delete"})
    assert refused.status_code == 422 and "Type DELETE" in refused.text
    assert imports.total(own.database, "places") == 70
    (made,) = imports.listed(own.database, "calendar")
    assert (
        "80 events deleted" in program.post("/sources/calendar/delete", data={"import_id": str(made.id)}).text
    )
    assert program.post("/sources/calendar/delete", data={"import_id": str(made.id)}).status_code == 404
    assert "70 places deleted" in program.post("/sources/places/delete", data={"confirm": "DELETE"}).text
    assert [imports.total(own.database, kind) for kind in KINDS] == [120, 0, 300, 0]
