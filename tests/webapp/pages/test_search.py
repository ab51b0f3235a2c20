"""What stands around the hits: facets, chips, spellings."""

from __future__ import annotations

import html as html_text
import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from flask import Flask

from store.chats import conversations
from store.core.database import Database
from store.deletion import deletion
from store.embeddings import vectors
from store.frames.frames import FrameRow
from store.sources import entities
from store.sources.calendars import EventRecord
from store.sources.entities import Provenance
from tests.factories import NOON_MS
from tests.fake_embedder import FakeEmbedder
from tests.sources import put_events
from tests.tables import for_each
from tests.webapp.conftest import Actor
from tests.webapp.pages.test_pages import page, shoot, visitor, words  # noqa: F401  # two are fixtures

Shoot = Callable[..., FrameRow]


def links(html: str) -> dict[str, str]:
    """Address by words of every link."""
    found = re.findall(r'<a [^>]*href="([^"]*)"[^>]*>(.*?)</a>', html, re.DOTALL)
    return {words(text).strip(): address.replace("&amp;", "&") for address, text in found}


def test_facets_count_the_frames_and_narrow_to_them(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot(0, app_name="Code"), shoot(1, app_name="Code"), shoot(2, app_name="Zoom", window_name="a call")
    found = links(page(visitor, "/search?q=retention"))
    assert found["Code 2"] == "/search?q=retention&app=Code"
    assert found["a call 1"] == "/search?q=retention&win=a+call"
    assert "1 frame with the word" in words(page(visitor, found["Zoom 1"]))


def test_every_filter_that_is_set_is_a_chip_that_removes_it(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot(0, app_name="Code", window_name="main.py")
    found = links(page(visitor, "/search?q=retention&app=Code&win=main&when=today&sort=new"))
    assert found["App: Code"] == "/search?q=retention&win=main&when=today&sort=new"
    assert found["Window: main"] == "/search?q=retention&app=Code&when=today&sort=new"
    assert any(name.startswith("Time: ") and "when" not in address for name, address in found.items())


@pytest.fixture
def think(database: Database) -> Callable[[FrameRow, str], None]:
    """Gives a frame the vector of a text, as ingest does."""

    def store(frame: FrameRow, text: str) -> None:
        with database.write() as connection:
            [vector] = vectors.quantize(FakeEmbedder().embed([text]))
            vectors.add(connection, "frame", frame.id, "fake", [(0, len(text), vector)])

    return store


def test_a_run_of_look_alikes_is_one_card(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    for minute in range(0, 20, 4):
        shoot(minute)
    html = page(visitor, "/search?q=retention")
    assert html.count("data-result") == 1
    assert "5 frames with the word, in 1 run" in words(html) and "5 moments that look alike" in words(html)
    assert re.search(r"20:00</time>–<time[^>]*>20:16", html)


def test_the_best_come_in_order_and_days_stand_together_only_by_time(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    day = 24 * 60
    kept, other = "retention retention retention\nof days", "\n".join(f"another line {n}" for n in range(40))
    shoot(0, kept)
    shoot(day, f"retention\n{other}")
    shoot(day + 60, kept.replace("days", "weeks"))

    def listed(sort: str) -> list[str]:
        html = page(visitor, f"/search?q=retention&sort={sort}")
        return re.findall(r"<h2>(?:Fri|Sat)|<strong>(?:[A-Z][a-z]{2} \d+ [A-Z][a-z]{2} )?<time", html)

    best = ["<strong>Sat 21 Nov <time", "<strong>Fri 20 Nov <time", "<strong>Sat 21 Nov <time"]
    assert listed("best") == best == listed("")
    assert listed("new") == ["<h2>Sat", "<strong><time", "<strong><time", "<h2>Fri", "<strong><time"]


def test_a_run_over_midnight_tells_the_day_that_it_began(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    for minute in (236, 240, 244):
        shoot(minute)
    assert "Fri 20 Nov 23:56 – 00:04" in words(page(visitor, "/search?q=retention"))


def test_what_is_near_is_shown_beneath_where_no_frame_has_the_words(
    visitor: Actor,  # noqa: F811
    shoot: Shoot,  # noqa: F811
    think: Callable[[FrameRow, str], None],
) -> None:
    think(shoot(0, "the login system"), "the login system")
    text = words(page(visitor, "/search?q=authentication+setup"))
    assert "0 frames with the words, 1 near in meaning" in text
    assert (
        text.index("No frame shows “authentication setup”")
        < text.index("Near in meaning")
        < text.index("login system")
    )


def test_where_nothing_is_found_it_says_what_was_not_recorded(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot()
    range_ = f"from={NOON_MS - 3_600_000}&to={NOON_MS + 1}"
    text = words(page(visitor, f"/search?q=zzzz&{range_}"))
    assert "Not recorded in this range: 1 h not recording" in text
    assert "Not recorded" not in words(page(visitor, "/search?q=zzzz"))


def test_blanks_are_no_words_and_a_long_search_is_not_repeated(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot()
    assert "1 frame , newest first" in words(page(visitor, "/search?q=+%20+"))
    assert f"No frame shows “{'x' * 79}…”" in words(page(visitor, f"/search?q={'x' * 500}"))


def test_no_hits_offer_another_spelling(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot()
    found = links(page(visitor, "/search?q=retentoin"))
    assert found["Did you mean “retention”? 1 frame"] == "/search?q=retention"
    narrowed = links(page(visitor, "/search?q=retentoin&app=Zoom"))
    assert narrowed["Did you mean “retention” without filters? 1 frame"] == "/search?q=retention"


def test_what_else_has_the_words_is_counted_a_row_for_each_kind(
    visitor: Actor,  # noqa: F811
    shoot: Shoot,  # noqa: F811
    database: Database,
) -> None:
    frame = shoot()
    for n in range(2):
        conversations.create(database, f"Retention of part {n}", NOON_MS)
    with database.write() as connection:
        entities.store_entity(connection, "thing", "Retention plan", Provenance(NOON_MS, frame_id=frame.id))
    over, ahead = (EventRecord(f"{n}. retention talk", at, at + 1) for n, at in ((1, 0), (2, NOON_MS * 2)))
    put_events(database, [over, ahead])
    html = page(visitor, "/search?q=retention")
    found = links(html)
    assert (found["2 chats"], found["1 person or thing"]) == (
        "/chats?q=retention",
        "/memory/entities?q=retention",
    )
    assert found["2 events"] == "/sources/calendar?q=retention" and "2. retention talk" in html
    assert "Retention of part 1" in words(html) and "Retention plan" in words(html)
    # A filter is about frames.
    assert "2 chats" not in links(page(visitor, "/search?q=retention&app=Code"))


def test_what_looks_alike_says_so_and_is_marked(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot(0, "the modem router")
    html = page(visitor, f"/search?q={quote('modern router')}")
    assert "looks alike" in words(html) and "<mark>modem</mark>" in html


def test_words_apart_say_so_and_are_marked(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot(0, "青禾上个月的账单")
    html = page(visitor, f"/search?q={quote('青禾账单')}")
    assert "in parts" in words(html) and "No frame has these whole words" in words(html)
    assert "<mark>青禾</mark>上个月的<mark>账单</mark>" in html


def options(html: str) -> list[str]:
    return [html_text.unescape(value) for value in re.findall(r'<option value="([^"]*)">', html)]


def test_window_and_address_are_offered_while_they_are_typed(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot(0, window_name='"Notes" <b>', browser_url="https://notes.example/a")
    shoot(1, window_name="Release notes", browser_url="https://notes.example/b")
    shoot(2, window_name='"Notes" <b>', browser_url=None)
    shoot(3, window_name="Mail")
    assert options(page(visitor, "/search/names?win=NOTES")) == ['"Notes" <b>', "Release notes"]
    assert options(page(visitor, "/search/names?url=notes.ex")) == [
        "https://notes.example/b",
        "https://notes.example/a",
    ]
    for nothing in ("", "?win=", "?win=++", "?url=100%25", "?win=" + quote("\x00'\"%_")):
        assert options(page(visitor, f"/search/names{nothing}")) == []
    field = re.search(r'<input[^>]*name="win"[^>]*>', page(visitor, "/search"))
    assert field is not None and 'list="names-win"' in field[0] and 'hx-get="/search/names"' in field[0]


def test_deleted_titles_are_not_offered(
    app: Flask,
    visitor: Actor,  # noqa: F811
    shoot: Shoot,  # noqa: F811
) -> None:
    frame = shoot(0, window_name="a secret plan")
    assert options(page(visitor, "/search/names?win=secret")) == ["a secret plan"]
    own = app.extensions["recollect"]
    deletion.delete_frames(own.database, own.media, [frame.id])
    assert options(page(visitor, "/search/names?win=secret")) == []


@for_each(
    ("asked", "said"),
    [
        ("url=glass.html", "No frame in this time has a known address"),
        ("q=%25", "There is no word in “%” to look for"),
        ("q=%F0%9F%98%80&app=Code", "There is no word in “😀” to look for"),
        ("q=%EB%8B%A8%ED%8C%A5", "Korean was not read: see Settings, Recording."),
        ("q=retention+-days", "write NOT before it, not a minus"),
    ],
)
def test_a_page_says_why_a_question_finds_nothing_or_too_much(
    visitor: Actor,  # noqa: F811
    shoot: Shoot,  # noqa: F811
    asked: str,
    said: str,
) -> None:
    shoot(0, app_name="Code", browser_url=None)
    found = words(page(visitor, f"/search?{asked}"))
    assert said in found
    assert "All of them have been read" not in found
    assert "url=" in asked or "No frame was captured" not in found
    shoot(1, browser_url="https://notes.example/a")
    assert "has a known address" not in words(page(visitor, f"/search?{asked}"))


def test_a_card_names_the_window_that_its_words_stand_in(visitor: Actor, shoot: Shoot) -> None:  # noqa: F811
    shoot(
        0, "plums\nthe ferry captain", app_name="Mousepad", window_name="shopping",
        visible=(("Zathura", "tides.pdf", None),), places=((0, 0, 0, 900, 18), (1, 0, 18, 900, 500)),
    )  # fmt: skip
    assert "Zathura tides.pdf · beside Mousepad" in words(page(visitor, "/search?q=ferry"))
    assert "beside" not in words(page(visitor, "/search?q=plums"))
