"""Imported sources: idempotent by natural key, found by time, taken back as a whole or by import."""

from __future__ import annotations

import math

import pytest

from store.chats import conversations, tool_calls
from store.chats.conversations import DELETED_ANSWER
from store.core import preferences
from store.core.database import Database, rows, scalar
from store.core.errors import NotFound
from store.deletion import sources as source_deletion
from store.embeddings import vectors
from store.memory import retrievers
from store.sources import calendars, entities, imports, locations, messages
from store.sources.calendars import EventRecord
from store.sources.entities import Provenance
from store.sources.imports import Upserted
from store.sources.locations import PlaceRecord, PointRecord
from store.sources.messages import Filters, MessageRecord
from store.verify import verify
from tests.factories import NOON_MS
from tests.meanwhile import meanwhile
from tests.sources import message, put_events, put_messages, put_places, put_points

HOUR = 3_600_000
BERLIN = (52.52, 13.405)


def indexed(database: Database) -> int:
    with database.read() as connection:
        return int(scalar(connection, "select count(*) from text_messages_fts_docsize"))


# -- messages -----------------------------------------------------------------------------


def test_messages_again_change_nothing(database: Database) -> None:
    records = [message("hello"), message("hello", NOON_MS + 1), message("hello", is_outgoing=True)]
    assert put_messages(database, records) == Upserted(added=3)
    assert put_messages(database, records) == Upserted(skipped=3)
    assert [found.body for found in messages.browse(database)] == ["hello"] * 3


def test_message_with_an_id_of_its_service_is_updated(database: Database) -> None:
    put_messages(database, [message("helo", external_id="7")])
    assert put_messages(database, [message("hello", external_id="7")]) == Upserted(updated=1)
    assert [found.body for found in messages.browse(database)] == ["hello"]
    with database.read() as connection:
        find = "select rowid from text_messages_fts where text_messages_fts match ?"
        assert (rows(connection, find, ("helo",)), len(rows(connection, find, ("hello",)))) == ([], 1)


def test_equal_messages_of_one_minute_are_told_apart_by_their_occurrence(database: Database) -> None:
    records = [message("ok", occurrence=0), message("ok", occurrence=1), message("ok", occurrence=1)]
    assert put_messages(database, records) == Upserted(added=2, skipped=1)


@pytest.mark.parametrize(
    ("one", "other", "are_same"),
    [
        ("+49 170/123-4567", "0049 (170) 1234567", True),
        ("Anna@Example.org", "anna@example.org", True),
        ("Anna  Bauer", "anna bauer", True),
        ("+49 170 1234567", "+49 170 1234568", False),
        ("112", "110", False),
    ],
)
def test_contact_is_known_by_every_writing_of_an_address(
    database: Database, one: str, other: str, are_same: bool
) -> None:
    put_messages(database, [message("a", address=one), message("b", address=other)])
    ids = {found.contact_id for found in messages.browse(database)}
    assert len(ids) == (1 if are_same else 2)


def test_contact_takes_the_first_name_that_comes(database: Database) -> None:
    put_messages(database, [message("a"), message("b", name="Anna"), message("c", name="Mum")])
    put_messages(database, [message("d", address="", name="Ben"), message("e", address="", name="")])
    found = messages.contacts(database)
    assert [(each.name, each.addresses, each.messages) for each in found] == [
        ("Anna", ("+491701234567",), 3),
        ("Ben", ("ben",), 1),
    ]
    assert [each.contact for each in messages.browse(database)] == ["", "Ben", "Anna", "Anna", "Anna"]
    assert [each.name for each in messages.contacts(database, "170123")] == ["Anna"]


def test_messages_nearest_to_a_moment_come_in_the_order_of_time(database: Database) -> None:
    put_messages(database, [message(f"m{n}", NOON_MS + n * HOUR) for n in range(10)])
    found, total = messages.nearest_to(
        database, NOON_MS + 5 * HOUR, Filters(NOON_MS + HOUR, NOON_MS + 9 * HOUR), 3
    )
    assert ([each.body for each in found], total) == (["m4", "m5", "m6"], 8)


def test_text_with_nul_and_half_a_surrogate_is_stored(database: Database) -> None:
    records = [message("a\0b\ud83d", name="\ud800")]
    assert put_messages(database, records) == Upserted(added=1)
    assert put_messages(database, records) == Upserted(skipped=1)
    assert messages.browse(database)[0].body == "ab?"


def test_messages_wait_for_their_vectors_until_they_go(database: Database) -> None:
    put_messages(database, [message("hello")])
    [found] = messages.browse(database)
    assert retrievers.texts(database, retrievers.MESSAGES, [found.id, 99]) == {found.id: "hello"}
    assert vectors.count_missing(database) == 1
    source_deletion.delete(database, "messages")
    assert (vectors.count_missing(database), indexed(database)) == (0, 0)


# -- calendars ----------------------------------------------------------------------------


def test_occurrences_are_put_by_uid_and_start(database: Database) -> None:
    series = [
        EventRecord("Standup", NOON_MS + n, NOON_MS + n + 10, uid="u1", recurrence=str(n)) for n in (0, 100)
    ]
    assert put_events(database, series) == Upserted(added=2)
    moved = EventRecord("Standup", NOON_MS + 50, NOON_MS + 60, uid="u1", recurrence="0")
    assert put_events(database, [moved, series[1]]) == Upserted(updated=1, skipped=1)


def test_events_that_overlap_a_range_are_found(database: Database) -> None:
    spans = {"before": (0, 10), "into": (5, 15), "at": (10, 10), "inside": (12, 13), "after": (20, 30)}
    put_events(database, [EventRecord(name, *span) for name, span in spans.items()])
    found, total = calendars.events_between(database, 10, 20)
    assert ([event.title for event in found], total) == (["into", "at", "inside"], 3)


def test_events_are_found_by_a_part_of_what_they_say(database: Database) -> None:
    record = EventRecord(
        "Lunch", 0, 10, attendees=("Änne <a@b.c>",), location="Café", description="bring 100%"
    )
    put_events(database, [record, EventRecord("Other", 0, 10)])
    for text in ("lunch", "a@b", "caf", "100%"):
        assert calendars.events_between(database, 0, 10, text)[1] == 1, text
    assert calendars.events_between(database, 0, 10, "1_0")[1] == 0


def test_event_that_ends_before_it_begins_is_refused(database: Database) -> None:
    with pytest.raises(ValueError, match="before it begins"):
        put_events(database, [EventRecord("x", 10, 5)])
    assert imports.total(database, "calendar") == 0


# -- locations and places -----------------------------------------------------------------


def test_points_of_a_long_time_are_spread_over_it(database: Database) -> None:
    put_points(database, [PointRecord(n, 48 + n / 1000, 11.5) for n in range(100)])
    found, total = locations.points_between(database, 0, 100, limit=10)
    assert ([point.at_ms for point in found], total) == (list(range(0, 100, 10)), 100)
    assert put_points(database, [PointRecord(3, 48.003, 11.5)]) == Upserted(skipped=1)


def test_nearest_point_in_time(database: Database) -> None:
    with database.read() as connection:
        assert locations.nearest_in_time(connection, 5) is None
    put_points(database, [PointRecord(n, 1.0, float(n)) for n in (0, 10, 100)])
    with database.read() as connection:
        near = [locations.nearest_in_time(connection, at) for at in (-1, 5, 6, 99, 1000)]
    assert [point and point.at_ms for point in near] == [0, 0, 10, 100, 100]


@pytest.mark.parametrize("position", [(91, 0), (0, 181), (math.nan, 0), (0, math.inf)])
def test_position_off_the_globe_is_refused(database: Database, position: tuple[float, float]) -> None:
    for put, record in ((put_points, PointRecord(0, *position)), (put_places, PlaceRecord("x", *position))):
        with pytest.raises(ValueError, match="globe"):
            put(database, [record])  # type: ignore[operator]


def test_distance_is_that_of_the_globe() -> None:
    """A degree of a great circle is 111.195 km on a sphere of 6,371.0088 km."""
    assert locations.distance_m(0, 0, 0, 1) == pytest.approx(111_195.08, abs=0.01)
    assert locations.distance_m(52.52, 13.405, 48.8566, 2.3522) == pytest.approx(877_464, abs=200)
    assert locations.distance_m(0, 179.9, 0, -179.9) == pytest.approx(22_239.0, abs=1)


def test_nearest_place_across_the_date_line_and_near_a_pole(database: Database) -> None:
    put_places(
        database,
        [
            PlaceRecord("Fiji", -17.0, -179.9),
            PlaceRecord("West", -17.0, 170.0),
            PlaceRecord("North", 89.0, 10.0),
            PlaceRecord("Svalbard", 78.0, 15.0),
        ],
    )
    assert [place.name for _, place in locations.nearest(database, -17.0, 179.9, 2)] == ["Fiji", "West"]
    assert locations.nearest(database, 89.0, -170.0, 1)[0][1].name == "North"


def test_first_place_switches_places_on_and_the_last_one_off(database: Database) -> None:
    assert not locations.are_enabled(database)
    put_places(database, [PlaceRecord("Home", *BERLIN)])
    assert locations.are_enabled(database)
    preferences.set_preference(database, imports.PLACES_ENABLED, False)
    put_places(database, [PlaceRecord("Work", 52.5, 13.4)])
    assert not locations.are_enabled(database), "what a person switched off stays off"
    preferences.set_preference(database, imports.PLACES_ENABLED, True)
    first, last = (made.id for made in imports.listed(database, "places"))
    source_deletion.delete(database, "places", first)
    assert locations.are_enabled(database)
    source_deletion.delete(database, "places", last)
    assert not locations.are_enabled(database)


# -- taking back --------------------------------------------------------------------------


def test_row_goes_with_the_import_that_brought_it_first(database: Database) -> None:
    put_messages(database, [message("one")])
    put_messages(database, [message("one"), message("two")])
    second, first = imports.listed(database)
    assert (second.counts, second.rows, first.rows) == (Upserted(added=1, skipped=1), 1, 1)
    assert source_deletion.delete(database, "messages", second.id).rows == 1
    assert [found.body for found in messages.browse(database)] == ["one"]
    with pytest.raises(NotFound):
        source_deletion.delete(database, "calendar", first.id)


def test_contacts_go_with_their_last_message(database: Database) -> None:
    put_messages(database, [message("a", name="Anna")])
    assert source_deletion.delete(database, "messages").rows == 1
    assert (messages.contacts(database), imports.listed(database)) == ([], [])


def test_deleted_words_are_not_in_the_file_any_more(database: Database) -> None:
    put_messages(database, [message("the password is xylophonequark", name="Zweistein")])
    copy = database.data_dir.backups / "before-m020-1.db"
    copy.write_bytes(b"xylophonequark")
    source_deletion.delete(database, "messages")
    content = b"".join(path.read_bytes() for path in database.data_dir.home.rglob("*") if path.is_file())
    assert b"xylophonequark" not in content
    assert b"Zweistein" not in content


@pytest.mark.parametrize("is_late", [False, True])
def test_what_a_chat_was_shown_of_a_source_goes_with_it(
    database: Database, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    put_messages(database, [message("the password is xylophonequark")])
    chat_id = conversations.create(database, "what?", NOON_MS)

    def show(n: int, tool: str) -> None:
        turn = conversations.add_turn(
            database, chat_id, mode="agent", model="m", question="what?",
            start_ms=None, end_ms=None, timezone="UTC", now_ms=NOON_MS + n,
        )  # fmt: skip
        [call] = tool_calls.add(
            database, turn.id, [tool_calls.NewToolCall(1, "c", tool, {"n": n}, "mode")], NOON_MS
        )
        tool_calls.claim(database, call.id, {"n": n}, NOON_MS)
        tool_calls.finish(
            database, call.turn_id, call.id, tool_calls.Outcome("completed", '{"said": 1}'), NOON_MS
        )
        conversations.finish_turn(database, turn.id, f"answer {n}", {}, [], NOON_MS)

    def show_all() -> None:
        for n, tool in enumerate(("calculator", "search_messages", "calculator")):
            show(n, tool)

    if is_late:  # while rows go
        meanwhile(monkeypatch, Database, "change", show_all, is_before=True)
    else:
        show_all()
    source_deletion.delete(database, "messages")
    assert [each.answer_md for each in conversations.turns(database, chat_id)] == [
        "answer 0", DELETED_ANSWER, DELETED_ANSWER,
    ]  # fmt: skip
    assert [call.is_forgotten for call in tool_calls.of_chat(database, chat_id)] == [False, True, True]
    assert [call.output for call in tool_calls.of_chat(database, chat_id)][1:] == ["", ""]


def test_what_chats_remembered_of_a_source_goes_but_for_what_the_person_said(database: Database) -> None:
    put_messages(database, [message("Zweistein keeps the xylophonequark in the cellar")])
    chat_id = conversations.create(database, "what?", NOON_MS)
    turn = conversations.add_turn(
        database, chat_id, mode="agent", model="m", question="Remember that Anna waters the ferns.",
        start_ms=None, end_ms=None, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    [call] = tool_calls.add(
        database, turn.id, [tool_calls.NewToolCall(1, "c", "search_messages", {}, "mode")], NOON_MS
    )
    tool_calls.claim(database, call.id, {}, NOON_MS)
    tool_calls.finish(database, turn.id, call.id, tool_calls.Outcome("completed", "[]"), NOON_MS)
    by_chat = Provenance(NOON_MS, turn.id)
    with database.write() as connection:
        for name in ("Anna", "Zweistein"):
            entities.store_entity(connection, "person", name, by_chat)
        entities.store_entity(connection, "person", "Ben", Provenance(NOON_MS))
    source_deletion.delete(database, "messages")
    assert sorted(database.column("select name from entities")) == ["Anna", "Ben"]


def test_an_import_of_what_is_deleted_meanwhile_stores_nothing_more(database: Database) -> None:
    with database.write() as connection:
        number = imports.begin(connection, "messages", "sms.xml", "sms-backup", NOON_MS)
        messages.upsert_messages(connection, number, [message("one")])
    source = imports.get(database, number)
    source_deletion.delete(database, "messages")
    for writing in (
        lambda connection: messages.upsert_messages(connection, number, [message("two")]),
        lambda connection: imports.finish(connection, number, NOON_MS),
    ):
        with pytest.raises(NotFound), database.write() as connection:
            writing(connection)
    assert imports.accept_names(database, source, None, NOON_MS) == imports.AcceptedNames()
    assert imports.listed(database) == []


def test_database_stays_whole(database: Database) -> None:
    put_messages(database, [MessageRecord("sms", n, False, f"words {n}", str(1000 + n)) for n in range(50)])
    with database.write() as connection:
        ids = [number for (number,) in rows(connection, "select id from text_messages")]
        vectors.add(connection, "message", ids[0], "m", [])
        connection.execute(
            "insert into text_messages_fts (text_messages_fts, rank) values ('integrity-check', 1)"
        )
        assert rows(connection, "pragma integrity_check") == [("ok",)]
        assert rows(connection, "pragma foreign_key_check") == []


@pytest.mark.parametrize(
    ("break_it", "problem"),
    [
        (
            "insert into text_messages_fts (text_messages_fts) values ('delete-all')",
            "Messages that are not in their index",
        ),
        ("insert into text_messages_fts (rowid, body) values (99, 'x')", "without a message"),
        ("insert into daily_summaries_fts (rowid, text) values (99, 'x')", "without a summary"),
        (
            "insert into vectors (kind, thing_id, model_id, chunk_start, chunk_end, vector) "
            "values ('day', 99, 1, 0, 1, x'01'); insert into vector_counts values ('day', 99, 1)",
            "no message and no day",
        ),
        ("insert into entity_frames (entity_id, frame_id) values (1, 99)", "frames that do not exist"),
        ("insert into frame_tags (frame_id, tag, created_ms) values (99, 'x', 1)", "Tags of frames"),
    ],
)
def test_verify_finds_what_does_not_agree(database: Database, break_it: str, problem: str) -> None:
    put_messages(database, [message("hello")])
    with database.write() as connection:
        entities.store_entity(connection, "person", "Anna", Provenance(NOON_MS))
        connection.execute(
            "insert into embedding_models (id, name, dimension, is_active) values (1, 'm', 1, 1)"
        )
        assert list(verify.row_counts(connection)) == []
        connection.execute(break_it)
        assert [problem in each for each, _ in verify.row_counts(connection)] == [True]
