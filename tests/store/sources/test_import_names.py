"""Names in imported files: remembered when asked, once, with their file, and forgotten with it."""

from __future__ import annotations

import pytest

from store.chats import conversations
from store.core.database import Database
from store.deletion import sources as source_deletion
from store.sources import entities, fact_curation, imports
from store.sources.entities import Entity, Provenance
from store.sources.imports import AcceptedNames, Forgotten, Import, Name
from store.sources.locations import PlaceRecord
from store.sources.messages import MessageRecord
from tests.factories import NOON_MS
from tests.sources import put_messages, put_places


def sent(name: str, n: int, address: str = "") -> MessageRecord:
    return MessageRecord("sms", NOON_MS + n, False, f"words {n}", address or f"+4917{name}0{len(name)}", name)


def messages_import(database: Database, *records: MessageRecord) -> Import:
    put_messages(database, records)
    return imports.listed(database, "messages")[0]


@pytest.fixture
def source(database: Database) -> Import:
    """Anna twice under two addresses, Bob once, and three that have no name."""
    return messages_import(
        database,
        sent("Anna Bauer", 1, "+49170111"),
        sent("anna  bauer", 2, "anna@example.org"),
        sent("Bob", 3, "+49170222"),
        sent("", 4, "+49170333"),
        sent("+49 170 444", 5, "+49170444"),
        sent("carl@example.org", 6, "carl@example.org"),
    )


def everybody(database: Database) -> dict[str, Entity]:
    return {each.name: each for each in entities.find_entities(database)}


def by_a_person(database: Database, name: str, description: str = "") -> int:
    with database.write() as connection:
        return entities.store_entity(connection, "person", name, Provenance(NOON_MS), description)[0]


def test_an_import_alone_remembers_nobody(database: Database, source: Import) -> None:
    assert everybody(database) == {}
    assert imports.names(database, source) == [
        Name("Anna Bauer", 2, None, False),
        Name("Bob", 1, None, False),
    ]


def test_names_are_remembered_once_with_the_import_they_stand_in(database: Database, source: Import) -> None:
    done = imports.accept_names(database, source, None, NOON_MS)
    again = imports.accept_names(database, source, None, NOON_MS + 1)
    assert (done, again) == (AcceptedNames(added=2), AcceptedNames(known=2))
    found = everybody(database)
    assert {name: (each.kind, each.origin, each.description) for name, each in found.items()} == {
        "Anna Bauer": ("person", "import", ""),
        "Bob": ("person", "import", ""),
    }
    assert [(by.import_id, by.kind, by.name) for by in found["Bob"].imports] == [
        (source.id, "messages", "sms.xml")
    ]


def test_only_those_that_are_chosen_and_only_names_of_the_file(database: Database, source: Import) -> None:
    assert imports.accept_names(database, source, {"Bob"}, NOON_MS) == AcceptedNames(added=1)
    assert set(everybody(database)) == {"Bob"}
    with pytest.raises(LookupError, match="Eve"):
        imports.accept_names(database, source, {"Eve"}, NOON_MS)


def test_who_is_known_by_the_name_gets_the_import_as_well(database: Database, source: Import) -> None:
    anna = by_a_person(database, "ANNA BAUER", "my sister")
    assert imports.accept_names(database, source, None, NOON_MS) == AcceptedNames(added=1, noted=1)
    found = entities.get(database, anna)
    assert (found.name, found.origin, found.description) == ("ANNA BAUER", "person", "my sister")
    assert [by.import_id for by in found.imports] == [source.id]
    assert imports.names(database, source)[0] == Name("Anna Bauer", 2, anna, True)


def test_places_become_places(database: Database) -> None:
    put_places(database, [PlaceRecord("Home", 48.1, 11.5), PlaceRecord("Old Mill", 48.2, 11.6)])
    [source] = imports.listed(database, "places")
    assert imports.accept_names(database, source, None, NOON_MS) == AcceptedNames(added=2)
    assert {each.kind for each in everybody(database).values()} == {"place"}
    source_deletion.delete(database, "places")
    assert everybody(database) == {}


def test_what_is_known_from_the_import_alone_goes_with_it(database: Database, source: Import) -> None:
    described = by_a_person(database, "Anna Bauer", "my sister")
    imports.accept_names(database, source, None, NOON_MS)
    assert imports.would_go(database, source) == Forgotten(gone=1, kept=1)
    deleted = source_deletion.delete(database, "messages", source.id)
    assert (deleted.rows, deleted.entities, deleted.kept) == (6, 1, 1)
    assert {name: (each.id, each.imports) for name, each in everybody(database).items()} == {
        "Anna Bauer": (described, ())
    }


@pytest.mark.parametrize("more", ["fact", "retracted", "frame", "description", "chat", "merge", "import"])
def test_who_more_is_known_of_stays(database: Database, source: Import, more: str) -> None:
    imports.accept_names(database, source, {"Bob"}, NOON_MS)
    bob = everybody(database)["Bob"].id
    with database.write() as connection:
        if more in ("fact", "retracted"):
            fact, _ = entities.store_fact(connection, bob, "likes", Provenance(NOON_MS), object_value="tea")
            if more == "retracted":
                fact_curation.retract(connection, fact, "no", NOON_MS)
        elif more == "frame":
            connection.execute("insert into entity_frames (entity_id, frame_id) values (?, 7)", (bob,))
        elif more == "description":
            entities.store_entity(connection, "person", "Bob", Provenance(NOON_MS), "the plumber")
    if more == "chat":
        chat = conversations.create(database, "who?", NOON_MS)
        turn = conversations.add_turn(
            database, chat, mode="agent", model="m", question="who?", start_ms=None, end_ms=None,
            timezone="UTC", now_ms=NOON_MS,
        )  # fmt: skip
        with database.write() as connection:
            entities.store_entity(connection, "person", "Bob", Provenance(NOON_MS, turn.id))
    elif more == "merge":
        robert = by_a_person(database, "Robert")
        with database.write() as connection:
            fact_curation.merge(connection, bob, robert, NOON_MS)
    elif more == "import":
        later = messages_import(database, sent("Bob", 99, "+49170222"))
        assert imports.accept_names(database, later, None, NOON_MS) == AcceptedNames(noted=1)
    deleted = source_deletion.delete(database, "messages", source.id)
    assert (deleted.entities, deleted.kept) == (0, 1)
    assert "Bob" in {alias for each in everybody(database).values() for alias in
                     (each.name, *(name for _, name in each.aliases))}  # fmt: skip


def test_the_whole_source_forgets_as_its_imports_do(database: Database, source: Import) -> None:
    imports.accept_names(database, source, None, NOON_MS)
    source_deletion.delete(database, "messages")
    assert everybody(database) == {}
    with database.read() as connection:
        assert connection.execute("select count(*) from entity_imports").fetchone() == (0,)


def test_other_sources_name_nobody(database: Database) -> None:
    with database.write() as connection:
        number = imports.begin(connection, "location", "track.gpx", "gpx", NOON_MS)
    source = imports.get(database, number)
    assert imports.names(database, source) == []
    assert imports.accept_names(database, source, None, NOON_MS) == AcceptedNames()
