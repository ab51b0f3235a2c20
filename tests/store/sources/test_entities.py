"""Entities and facts: stored once, recalled by name and by frame, forgotten with their frames."""

from __future__ import annotations

from datetime import date

import pytest

from store.chats import conversations, tool_calls
from store.core.database import Database, scalar
from store.core.errors import NotFound
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames import tags
from store.frames.media import Media
from store.memory import daily_summaries, retrievers
from store.sources import entities, fact_curation
from store.sources.entities import Provenance
from store.sources.fact_curation import CannotMerge
from tests.factories import NOON_MS, store_frame

DAY_MS = 86_400_000


def remember(
    database: Database, name: str, kind: entities.EntityKind = "person", description: str = "",
    frame_id: int | None = None, turn_id: int | None = None,
) -> int:  # fmt: skip
    learned = Provenance(NOON_MS, turn_id, frame_id)
    with database.write() as connection:
        return entities.store_entity(connection, kind, name, learned, description)[0]


def say(
    database: Database, subject: int, predicate: str, value: str | None = None, entity: int | None = None,
    frame_id: int | None = None, turn_id: int | None = None,
) -> tuple[int, bool]:  # fmt: skip
    learned = Provenance(NOON_MS, turn_id, frame_id)
    with database.write() as connection:
        return entities.store_fact(
            connection, subject, predicate, learned, object_entity_id=entity, object_value=value
        )


def turn_that_was_shown(database: Database, start_ms: int, end_ms: int) -> int:
    """A turn whose tool has shown the screens of a time."""
    chat_id = conversations.create(database, "what?", NOON_MS)
    turn = conversations.add_turn(
        database, chat_id, mode="agent", model="m", question="what?",
        start_ms=None, end_ms=None, timezone="UTC", now_ms=NOON_MS,
    )  # fmt: skip
    [call] = tool_calls.add(
        database, turn.id, [tool_calls.NewToolCall(1, "c", "get_frame", {}, "mode")], NOON_MS
    )
    tool_calls.claim(database, call.id, {}, NOON_MS)
    shown = tool_calls.Outcome("completed", "{}", shown_from_ms=start_ms, shown_until_ms=end_ms)
    tool_calls.finish(database, call.turn_id, call.id, shown, NOON_MS)
    return turn.id


def names(database: Database, text: str = "") -> list[str]:
    return sorted(entity.name for entity in entities.find_entities(database, text))


def days_with(database: Database, word: str) -> int:
    sql = "select count(*) from daily_summaries_fts where daily_summaries_fts match ?"
    with database.read() as connection:
        return int(scalar(connection, sql, (word,)))


# -- storing ------------------------------------------------------------------------------


def test_two_writings_of_a_name_are_one_entity(database: Database) -> None:
    first = remember(database, "Anna  Bauer")
    assert remember(database, "anna bauer", description="a colleague") == first
    assert remember(database, "Anna Bauer", "thing") != first
    assert entities.get(database, first).name == "Anna Bauer"
    assert entities.get(database, first).description == "a colleague"


def test_fact_is_stored_once(database: Database) -> None:
    anna = remember(database, "Anna")
    first, is_new = say(database, anna, "likes", "tea")
    assert is_new
    assert say(database, anna, "likes", " tea ") == (first, False)
    assert say(database, anna, "likes", "coffee")[1]
    assert [fact.object_value for fact in entities.facts_of(database, [anna])] == ["coffee", "tea"]


def test_facts_go_with_an_entity_they_name(database: Database) -> None:
    anna, ben = remember(database, "Anna"), remember(database, "Ben")
    say(database, anna, "knows", entity=ben)
    with database.write() as connection:
        assert entities.delete_entity(connection, ben)
        assert not entities.delete_entity(connection, ben)
    assert entities.facts_of(database) == []


# -- recalling ----------------------------------------------------------------------------


def test_entities_are_recalled_by_every_word(database: Database) -> None:
    for name, description in (("Anna Bauer", "colleague in Köln"), ("Anna Berg", ""), ("Ben", "")):
        remember(database, name, description=description)
    assert names(database) == ["Anna Bauer", "Anna Berg", "Ben"]
    assert names(database, "ANNA") == ["Anna Bauer", "Anna Berg"]
    assert names(database, "anna köln") == ["Anna Bauer"]
    assert names(database, "'; drop table entities; --") == []


def test_subjects_of_a_frame_are_linked_or_named_on_it(database: Database) -> None:
    linked, named, part, other = (remember(database, name) for name in ("Anna", "Ben Ho", "Ben Hor", "Cy"))
    fact_subject = remember(database, "Dora")
    remember(database, "Anna", frame_id=1)
    say(database, fact_subject, "likes", "tea", frame_id=1)
    found = {entity.id for entity in entities.on_frame(database, 1, "Mail to BEN  HO, cyan")}
    assert found == {linked, named, fact_subject}
    assert not found & {part, other}


# -- forgetting ---------------------------------------------------------------------------


def test_what_was_learned_from_a_deleted_frame_goes(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    frame = store_frame(database, data_dir, NOON_MS, "Anna likes tea")
    kept = store_frame(database, data_dir, NOON_MS + DAY_MS, "Ben")
    turn_id = turn_that_was_shown(database, NOON_MS, NOON_MS + 1000)
    anna = remember(database, "Anna", frame_id=frame.id, turn_id=turn_id)
    both = remember(database, "Ben", frame_id=frame.id, turn_id=turn_id)
    remember(database, "Ben", frame_id=kept.id, turn_id=turn_id)
    say(database, anna, "likes", "tea", frame_id=frame.id, turn_id=turn_id)
    say(database, both, "likes", "rum", frame_id=kept.id)
    with database.write() as connection:
        assert tags.add(connection, frame.id, "Work", NOON_MS)
        assert not tags.add(connection, frame.id, "work", NOON_MS)
        assert tags.add(connection, kept.id, "work", NOON_MS)
    receipt = deletion.delete_range(database, media, NOON_MS, NOON_MS + 1000)
    assert (receipt.verified, receipt.counts.knowledge, receipt.counts.tags) == (True, 2, 1)
    assert names(database) == ["Ben"]
    assert [fact.object_value for fact in entities.facts_of(database)] == ["rum"]
    assert entities.get(database, both).frames == (kept.id,)
    assert tags.of_frame(database, kept.id) == ["work"]


@pytest.mark.parametrize("is_elsewhere", [False, True])
def test_what_a_chat_stored_that_only_the_deleted_frame_said_goes(
    database: Database, data_dir: DataDir, media: Media, is_elsewhere: bool
) -> None:
    """Also without the frame's id, and after the chat is gone."""
    store_frame(database, data_dir, NOON_MS, "project xylophonequark budget")
    if is_elsewhere:
        store_frame(database, data_dir, NOON_MS + DAY_MS, "project xylophonequark budget")
    turn_id = turn_that_was_shown(database, NOON_MS, NOON_MS + 1000)
    anna = remember(database, "Anna")
    say(database, anna, "works on", "xylophonequark", turn_id=turn_id)
    say(database, anna, "likes", "tea", turn_id=turn_id)
    remember(database, "xylophonequark", "thing", turn_id=turn_id)
    for chat in conversations.list_chats(database):
        conversations.delete(database, chat.id)
    deletion.delete_range(database, media, NOON_MS, NOON_MS + 1000)
    values = sorted(fact.object_value or "" for fact in entities.facts_of(database))
    assert values == (["tea", "xylophonequark"] if is_elsewhere else ["tea"])
    assert names(database, "xylophonequark") == (["xylophonequark"] if is_elsewhere else [])


def test_summary_of_a_day_goes_with_a_frame_of_it(
    database: Database, data_dir: DataDir, media: Media
) -> None:
    store_frame(database, data_dir, NOON_MS, "hello")
    with database.write() as connection:
        for n in (0, 1):
            start_ms = NOON_MS // DAY_MS * DAY_MS + n * DAY_MS
            daily_summaries.put(
                connection, date(2026, 11, 20 + n), "UTC", start_ms, start_ms + DAY_MS, "xylophonequark",
                "rule", NOON_MS,
            )  # fmt: skip
    assert daily_summaries.of_day(database, date(2026, 11, 20)) is not None
    receipt = deletion.delete_range(database, media, NOON_MS, NOON_MS + 1000)
    assert receipt.counts.summaries == 1
    assert daily_summaries.of_day(database, date(2026, 11, 20)) is None
    assert daily_summaries.of_day(database, date(2026, 11, 21)) is not None
    assert days_with(database, "xylophonequark") == 1


def test_new_text_of_a_day_replaces_the_old_one(database: Database) -> None:
    for text in ("first words", "second words"):
        with database.write() as connection:
            number = daily_summaries.put(connection, date(2026, 11, 20), "UTC", 0, DAY_MS, text, "rule", 1)
    assert (days_with(database, "first"), days_with(database, "second")) == (0, 1)
    assert retrievers.texts(database, retrievers.DAYS, [number, 99]) == {number: "second words"}
    with database.write() as connection:
        with pytest.raises(ValueError, match="needs a text"):
            daily_summaries.put(connection, date(2026, 11, 21), "UTC", 0, 1, " ", "rule", 1)
        assert daily_summaries.delete(connection, date(2026, 11, 20))
        assert not daily_summaries.delete(connection, date(2026, 11, 20))


def values(database: Database, *about: int) -> list[str | None]:
    return sorted(fact.object_value or "" for fact in entities.facts_of(database, about))


def test_two_that_are_one_are_merged_and_parted_again(database: Database) -> None:
    anna, bauer, ben = (remember(database, name) for name in ("Anna", "A. Bauer", "Ben"))
    say(database, anna, "likes", "tea"), say(database, bauer, "lives in", "Ulm")
    with database.write() as connection:
        fact_curation.merge(connection, bauer, anna, NOON_MS)
    # Asked for the one, the other answers; what is stored for either is of both.
    assert entities.get(database, bauer).aliases == ((bauer, "A. Bauer"),)
    assert entities.get(database, bauer).id == remember(database, "a. bauer") == anna
    assert (values(database, anna), names(database, "bauer")) == (["Ulm", "tea"], ["Anna"])
    # A merge of a merge, undone in the middle.
    with database.write() as connection:
        fact_curation.merge(connection, anna, ben, NOON_MS)
        assert fact_curation.unmerge(connection, anna)
    assert (values(database, ben), values(database, anna)) == ([], ["Ulm", "tea"])
    with database.write() as connection:
        assert fact_curation.unmerge(connection, bauer)
    assert values(database, anna) == ["tea"]


def test_a_merge_that_makes_no_sense_is_refused(database: Database) -> None:
    anna, ben, carla = (remember(database, name) for name in ("Anna", "Ben", "Carla"))
    with database.write() as connection:
        fact_curation.merge(connection, ben, carla, NOON_MS)
        for into, error in ((anna, CannotMerge), (ben, CannotMerge), (99, NotFound)):
            with pytest.raises(error):
                fact_curation.merge(connection, anna, into, NOON_MS)


def test_what_a_person_takes_back_and_says_again_is_remembered(database: Database) -> None:
    anna = remember(database, "Anna")
    number, _ = say(database, anna, "lives in", "Ulm")
    with database.write() as connection:
        fact_curation.retract(connection, number, "oops", NOON_MS)
    assert say(database, anna, "lives in", "Ulm") == (number, False)
    assert [fact.retract_reason for fact in entities.facts_of(database, [anna])] == [""]
