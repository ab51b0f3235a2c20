"""Personas: versions, built-in ones, and what happens to one that answers name."""

from __future__ import annotations

import pytest

from store.chats import conversations, personas
from store.chats.personas import BUILT_IN, BuiltInPersona, Persona, PersonaInvalid, PersonaText
from store.core import preferences
from store.core.database import Database
from store.core.errors import NotFound
from tests.meanwhile import meanwhile
from tests.tables import for_each

NOW_MS = 1_795_000_000_000
ANALYST = PersonaText("Analyst", "Voice: dry.\nShape: bullets.\nLength: 80 words.", "Numbers first")


@pytest.fixture(autouse=True)
def built_in(database: Database) -> None:
    personas.ensure_built_in(database, NOW_MS)


def named(database: Database, name: str) -> Persona:
    return next(each for each in personas.list_personas(database) if each.name == name)


def spoken(database: Database, persona: Persona) -> None:
    """A turn that names the persona."""
    chat = conversations.create(database, "What did I do?", NOW_MS)
    with database.write() as connection:
        connection.execute(
            """
            insert into turns (conversation_id, n, mode, model, status, question, answer_md, timezone,
                payload, created_ms, persona_id, persona_version)
            values (?, 1, 'evidence', 'm', 'done', 'q', 'a', 'UTC', '{}', ?, ?, ?)
            """,
            (chat, NOW_MS, persona.id, persona.version),
        )


def test_the_built_in_personas_are_assistant_and_journal(database: Database) -> None:
    assert [each.builtin for each in personas.list_personas(database)] == ["assistant", "journal"]
    for words in BUILT_IN.values():
        assert [line.partition(":")[0] for line in words.system_prompt.splitlines()] == [
            "Voice", "Shape", "Length"
        ]  # fmt: skip


def test_the_journal_is_warm_and_in_the_first_person() -> None:
    prompt = BUILT_IN["journal"].system_prompt
    assert "first person" in prompt and "warm" in prompt


def test_no_built_in_persona_says_what_it_is() -> None:
    assert not any("memory assistant" in words.system_prompt.casefold() for words in BUILT_IN.values())


def test_the_assistant_speaks_until_another_is_chosen(database: Database) -> None:
    assert personas.active(database) == named(database, "Assistant")
    journal = named(database, "Journal")
    personas.activate(database, journal.id)
    assert personas.active(database) == journal
    personas.activate(database, None)
    assert personas.active(database) is None


def test_personas_are_created_read_changed_and_deleted(database: Database) -> None:
    added = personas.create(database, ANALYST, NOW_MS)
    assert (added.words, added.version, added.builtin) == (ANALYST, 1, None)
    changed = personas.update_persona(database, added.id, PersonaText("Analyst", "Voice: drier."), NOW_MS + 5)
    assert (changed.version, changed.system_prompt, changed.description) == (2, "Voice: drier.", "")
    assert personas.get(database, added.id) == changed
    assert personas.remove(database, added.id, NOW_MS)
    with pytest.raises(NotFound):
        personas.get(database, added.id)
    assert personas.versions(database, added.id) == []


def test_the_same_words_are_no_version(database: Database) -> None:
    added = personas.create(database, ANALYST, NOW_MS)
    assert personas.update_persona(database, added.id, ANALYST, NOW_MS + 5) == added


def test_every_version_stays_readable_and_can_be_said_again(database: Database) -> None:
    added = personas.create(database, ANALYST, NOW_MS)
    personas.update_persona(database, added.id, PersonaText("Analyst", "Voice: drier."), NOW_MS + 5)
    assert [each.system_prompt for each in personas.versions(database, added.id)] == [
        "Voice: drier.", ANALYST.system_prompt
    ]  # fmt: skip
    restored = personas.restore(database, added.id, 1, NOW_MS + 9)
    assert (restored.words, restored.version) == (ANALYST, 3)
    with pytest.raises(NotFound):
        personas.restore(database, added.id, 9, NOW_MS)


def test_built_in_ones_are_edited_and_reset_and_never_removed(database: Database) -> None:
    journal = named(database, "Journal")
    edited = personas.update_persona(database, journal.id, PersonaText("Diary", "Voice: mine."), NOW_MS)
    assert edited.is_changed and edited.builtin == "journal"
    with pytest.raises(BuiltInPersona):
        personas.remove(database, journal.id, NOW_MS)
    reset = personas.reset(database, journal.id, NOW_MS)
    assert reset.words == BUILT_IN["journal"] and not reset.is_changed and reset.version == 3
    own = personas.create(database, ANALYST, NOW_MS)
    with pytest.raises(BuiltInPersona):
        personas.reset(database, own.id, NOW_MS)


def test_a_built_in_one_follows_an_update_unless_it_was_edited(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, assistant = named(database, "Journal"), named(database, "Assistant")
    personas.update_persona(database, journal.id, PersonaText("Journal", "Voice: mine."), NOW_MS)
    later = {key: PersonaText(words.name, f"{words.system_prompt}!") for key, words in BUILT_IN.items()}
    monkeypatch.setattr(personas, "BUILT_IN", later)
    personas.ensure_built_in(database, NOW_MS + 5)
    personas.ensure_built_in(database, NOW_MS + 6)
    assert personas.get(database, journal.id).system_prompt == "Voice: mine."
    followed = personas.get(database, assistant.id)
    assert (followed.words, followed.version) == (later["assistant"], 2)


def test_one_that_answers_name_is_put_away_and_can_come_back(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = personas.create(database, ANALYST, NOW_MS)
    spoken(database, added)
    personas.activate(database, added.id)
    assert not personas.remove(database, added.id, NOW_MS)
    assert personas.active(database) == named(database, "Assistant")
    assert added.id not in {each.id for each in personas.list_personas(database)}
    assert [each.id for each in personas.list_personas(database, archived=True)] == [added.id]
    with pytest.raises(NotFound):
        personas.activate(database, added.id)
    again = personas.create(database, ANALYST, NOW_MS)
    with pytest.raises(PersonaInvalid):
        personas.unarchive(database, added.id)
    personas.remove(database, again.id, NOW_MS)
    assert personas.unarchive(database, added.id).archived_ms is None
    meanwhile(
        monkeypatch, Database, "write", lambda: personas.remove(database, added.id, NOW_MS), is_before=True
    )
    with pytest.raises(NotFound):
        personas.activate(database, added.id)
    assert personas.active(database) == named(database, "Assistant")


def test_a_copy_says_the_same_under_a_free_name(database: Database) -> None:
    journal = named(database, "Journal")
    first, second = (personas.duplicate(database, journal.id, NOW_MS) for _ in range(2))
    assert (first.name, second.name) == ("Journal copy", "Journal copy 2")
    assert first.system_prompt == journal.system_prompt and first.builtin is None


@for_each(
    ("words", "field"),
    [
        (PersonaText("", "Voice."), "name"),
        (PersonaText("  \n ", "Voice."), "name"),
        (PersonaText("A" * 61, "Voice."), "name"),
        (PersonaText("journal", "Voice."), "name"),
        (PersonaText("Analyst", " \n"), "system_prompt"),
        (PersonaText("Analyst", "V" * 4_001), "system_prompt"),
        (PersonaText("Analyst", "Voice\0."), "system_prompt"),
        (PersonaText("Analyst", "Voice.", "D" * 201), "description"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_field(database: Database, words: PersonaText, field: str) -> None:
    before = personas.list_personas(database)
    with pytest.raises(PersonaInvalid) as refusal:
        personas.create(database, words, NOW_MS)
    assert [name for name, _ in refusal.value.errors] == [field]
    assert personas.list_personas(database) == before


def test_there_is_an_end_to_their_number(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(personas, "MAX_PERSONAS", 2)
    with pytest.raises(PersonaInvalid):
        personas.create(database, ANALYST, NOW_MS)
    assert len(personas.list_personas(database)) == 2


def test_the_choice_is_a_preference(database: Database) -> None:
    journal = named(database, "Journal")
    personas.activate(database, journal.id)
    assert preferences.get_preference(database, "persona.active") == journal.id
