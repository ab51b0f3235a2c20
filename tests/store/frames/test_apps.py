"""App colours: twelve slots, distinct among the most used, kept for good."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from store.core.database import Database
from store.frames import apps
from store.frames.apps import SLOTS, free_slot, preferred_slot
from tests.factories import NOON_MS
from tests.store.frames.test_activity_intervals import SECOND, put
from tests.tables import for_each

COMMON = [
    "Code", "Google Chrome", "Firefox", "Slack", "Terminal", "Zoom", "Mail", "Finder", "Notion", "Spotify",
    "Figma", "Preview",
]  # fmt: skip


def fnv1a(name: str) -> int:
    """The reference: http://www.isthe.com/chongo/tech/comp/fnv/"""
    value = 2_166_136_261
    for byte in name.encode():
        value = ((value ^ byte) * 16_777_619) % 2**32
    return value


def test_reference_hash_is_the_published_one() -> None:
    assert fnv1a("") == 0x811C9DC5
    assert fnv1a("foobar") == 0xBF9CF968


@for_each("name", COMMON)
def test_wish_is_the_hash_of_the_normalised_name(name: str) -> None:
    assert preferred_slot(name) == fnv1a(name.casefold()) % SLOTS
    assert preferred_slot(f" {name.upper()}.exe ") == preferred_slot(name)


@given(st.text(), st.sets(st.integers(0, SLOTS - 1), max_size=SLOTS - 1))
def test_walk_finds_a_free_slot_while_there_is_one(name: str, taken: set[int]) -> None:
    slot = free_slot(name, taken)
    assert slot not in taken
    assert slot == preferred_slot(name) or preferred_slot(name) in taken


def test_first_twelve_apps_have_twelve_colours_and_the_next_is_other(database: Database) -> None:
    for n, name in enumerate([*COMMON, "Thirteenth"]):
        put(database, n * SECOND, name)
    slots = apps.colour_slots(database)
    assert {slots[name] for name in COMMON} == set(range(SLOTS))
    assert slots["Thirteenth"] is None


def test_app_that_enters_the_most_used_gets_a_slot_free_among_them(database: Database) -> None:
    for n, name in enumerate([*COMMON, "Newcomer"]):
        put(database, n * SECOND, name)
    put(database, 100 * SECOND, "Newcomer", ended_ms=500 * SECOND)
    before = apps.colour_slots(database)
    with database.write() as connection:
        assert apps.assign_slots(connection, NOON_MS + 600 * SECOND) == 1
        assert apps.assign_slots(connection, NOON_MS + 600 * SECOND) == 0
    after = apps.colour_slots(database)
    assert {name: slot for name, slot in after.items() if name != "Newcomer"} == {
        name: slot for name, slot in before.items() if name != "Newcomer"
    }
    assert after["Newcomer"] is not None


def test_use_of_long_ago_earns_no_slot(database: Database) -> None:
    for n, name in enumerate([*COMMON, "Newcomer"]):
        put(database, n * SECOND, name)
    with database.write() as connection:
        assert apps.assign_slots(connection, NOON_MS + 31 * 24 * 3_600_000) == 0
