"""From what was imported to its day and back: the same items on both sides."""

from __future__ import annotations

import re

import pytest

from store.core.database import Database
from store.sources import inventory
from store.sources.calendars import EventRecord
from store.sources.inventory import SourceCounts
from store.sources.locations import PlaceRecord, PointRecord
from tests.factories import NOON_MS
from tests.sources import message, put_events, put_messages, put_places, put_points
from tests.webapp.conftest import Actor
from tests.webapp.pages.test_days import FRIDAY, page, words
from webapp.core.services import Services

HOUR_MS = 3_600_000
NOTHING = SourceCounts(0, 0, 0, ())


@pytest.fixture
def filled(own: Services) -> Database:
    """Friday, 20 November 2026 in UTC: two messages, an event over midnight, a walk from Home to the Mill."""
    put_messages(
        own.database, [message("one"), message("two", NOON_MS + 1), message("later", NOON_MS + 13 * HOUR_MS)]
    )
    night = NOON_MS + 11 * HOUR_MS
    put_events(own.database, [EventRecord("Night train", night, night + 4 * HOUR_MS, "a"),
                              EventRecord("A moment", NOON_MS, NOON_MS, "b")])  # fmt: skip
    put_points(own.database, [PointRecord(NOON_MS, 48.1, 11.5), PointRecord(NOON_MS + 60_000, 48.2, 11.6)])
    put_places(own.database, [PlaceRecord("Home", 48.1005, 11.5), PlaceRecord("Old Mill", 48.2, 11.601),
                              PlaceRecord("Far", 48.102, 11.5)])  # fmt: skip
    return own.database


def test_a_stretch_of_time_holds_what_overlaps_it(filled: Database) -> None:
    day = (NOON_MS - 12 * HOUR_MS, NOON_MS + 12 * HOUR_MS)
    assert inventory.held_between(filled, *day) == SourceCounts(2, 2, 2, ("Home", "Old Mill"))
    assert inventory.held_between(filled, day[1], day[1] + 24 * HOUR_MS) == SourceCounts(1, 1, 0, ())
    assert inventory.held_between(filled, NOON_MS + 1, NOON_MS + 1) == NOTHING
    assert not NOTHING


def test_places_are_reached_across_the_date_line_and_only_within_their_radius(database: Database) -> None:
    put_points(database, [PointRecord(NOON_MS, 0.0, 179.9995), PointRecord(NOON_MS + 1, 60.0, 10.0)])
    put_places(database, [PlaceRecord("West", 0.0, -179.9999, radius_m=100),
                          PlaceRecord("East", 0.0, 179.99, radius_m=100),
                          PlaceRecord("North, 84 m", 60.0, 10.0015, radius_m=100),
                          PlaceRecord("North, 167 m", 60.0, 10.003, radius_m=100)])  # fmt: skip
    assert inventory.held_between(database, NOON_MS, NOON_MS + 2).places == ("North, 84 m", "West")


def test_the_day_says_what_was_imported_and_leads_there(browser: Actor, filled: Database) -> None:
    html = page(browser, FRIDAY)  # nothing was captured that day
    assert "Nothing was recorded on" in words(html) or "Nothing recorded yet today" in html
    named = (
        "2 messages",
        "one",
        "two",
        "2 events",
        "A moment",
        "Night train",
        "2 positions at Home , Old Mill",
    )
    places = [words(html).find(each) for each in named]
    assert -1 not in places and places == sorted(places)
    for kind, what in (("messages", "one"), ("calendar", "A moment")):
        [address] = re.findall(rf'href="(/sources/{kind}/rows/\d+)">{what}<', html)
        around = browser.get(address)
        assert around.status_code == 302
        listed, _, anchor = around.headers["Location"].partition("#")
        assert re.search(rf'id="{anchor}">.*?{what}', page(browser, listed), re.DOTALL)
    found = page(browser, "/sources/messages?day=2026-11-20")
    assert re.findall(r'class="said">(\w+)<', found) == ["two", "one"]
    assert f'href="{FRIDAY}"' in found
    for kind in ("calendar", "location"):
        assert f'href="{FRIDAY}"' in page(browser, f"/sources/{kind}?day=2026-11-20")


def test_a_day_without_anything_is_still_none(browser: Actor, filled: Database) -> None:
    assert "Imported</h2>" not in page(browser, "/days/2026-11-18")
    assert "Nothing on" in words(page(browser, "/sources/messages?day=2026-11-18"))


def test_each_item_leads_to_a_day_that_counts_it(browser: Actor, filled: Database) -> None:
    listed = page(browser, "/sources/messages?tz=UTC")
    addresses = re.findall(r'href="(/days/[\d-]+)"><time', listed)
    assert len(addresses) == 3
    for address in set(addresses):
        assert f"{addresses.count(address)} message" in words(page(browser, f"{address}?tz=UTC"))
        of_day = page(browser, f"/sources/messages?day={address.rpartition('/')[2]}&tz=UTC")
        assert of_day.count('class="said"') == addresses.count(address)


def test_a_day_of_many_messages_is_paged(browser: Actor, own: Services) -> None:
    put_messages(own.database, (message(f"n{n}", NOON_MS + n) for n in range(60)))
    html = page(browser, "/sources/messages?day=2026-11-20")
    further = re.search(r'href="(/sources/messages\?day=2026-11-20&(?:amp;)?before=[^"]+)"', html)
    assert further is not None
    assert page(browser, further[1].replace("&amp;", "&")).count('class="said"') == 10
