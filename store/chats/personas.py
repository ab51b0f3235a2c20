"""Personas: who speaks. A name and a system prompt that says voice, shape and length.

Every change makes a version, because a turn names the persona *and* the version it spoke with: what
an old turn names can always be read again. So a persona that turns name is archived, never deleted.
The built-in ones can be changed and reset, not removed. The active one is a preference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType

import apsw

from store.chats.versioned_texts import VersionTable
from store.core import preferences
from store.core.database import Database, rows, scalar
from store.core.errors import NotFound, StoreError, existing
from store.core.records import columns, insert
from store.core.translation import N_
from store.core.translation import gettext as _

MAX_PERSONAS = 200

_ACTIVE = "persona.active"

DEFAULT = "assistant"
"""The built-in one that is active until another is chosen."""


@dataclass(frozen=True, slots=True)
class PersonaText:
    """What a person writes of a persona: all of it, and nothing else."""

    name: str
    system_prompt: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Persona:
    """`builtin` is its key, None for a person's own. `turns` is how many turns spoke with it."""

    id: int
    builtin: str | None
    name: str
    description: str
    system_prompt: str
    version: int
    archived_ms: int | None
    updated_ms: int
    turns: int

    @property
    def words(self) -> PersonaText:
        return PersonaText(self.name, self.system_prompt, self.description)

    @property
    def shown_name(self) -> str:
        """Its name in the person's language, where it came with the program."""
        return shown(self.name)

    @property
    def shown_description(self) -> str:
        """What it is in a few words, or how it begins."""
        return shown(self.description) or self.system_prompt.splitlines()[0]

    @property
    def is_changed(self) -> bool:
        """Whether a built-in one says something else than it came with."""
        return self.builtin is not None and self.words != BUILT_IN[self.builtin]


@dataclass(frozen=True, slots=True)
class Version:
    """What a persona said at one time."""

    persona_id: int
    version: int
    name: str
    description: str
    system_prompt: str
    saved_ms: int

    @property
    def words(self) -> PersonaText:
        return PersonaText(self.name, self.system_prompt, self.description)


_VERSIONS = VersionTable("persona_versions", "persona_id", Version)
versions = _VERSIONS.all


@dataclass(frozen=True, slots=True)
class TurnPersona:
    """With whose words a turn was asked: None for a turn that names no persona."""

    version: Version | None
    style_note: str


NOBODY = TurnPersona(None, "")


class BuiltInPersona(StoreError):
    """A built-in persona was to be removed, or one that is none was to be reset."""


_TURNS = "(select count(*) from turns t where t.persona_id = p.id)"
_SELECT = f"select {columns(Persona, 'p', turns=_TURNS)} from personas p"


def list_personas(database: Database, *, archived: bool = False) -> list[Persona]:
    """All that can be chosen, or with `archived` those that were put away; the built-in ones first."""
    sql = f"""
        {_SELECT} where (p.archived_ms is not null) = ?
        order by p.builtin is null, p.name collate nocase, p.id
        """
    return database.records(Persona, sql, (archived,))


def get(database: Database, persona_id: int) -> Persona:
    """One persona, archived or not. Raises `NotFound`."""
    return existing(
        database.first(Persona, f"{_SELECT} where p.id = ?", (persona_id,)), "persona", persona_id
    )


def active(database: Database) -> Persona | None:
    """The persona that speaks when none is named; None when the person chose to have none."""
    chosen = preferences.get_preference(database, _ACTIVE, DEFAULT)
    which = "p.builtin = ?" if chosen == DEFAULT else "p.id = ? and p.archived_ms is null"
    return database.first(Persona, f"{_SELECT} where {which}", (chosen,))


def of_turn(database: Database, chat_id: int, n: int) -> TurnPersona:
    """Who spoke in a turn, in the words of that time; nobody for a turn that is not there."""
    sql = f"""
        select t.style_note, {columns(Version, "v")}
        from turns t
        left join persona_versions v on v.persona_id = t.persona_id and v.version = t.persona_version
        where t.conversation_id = ? and t.n = ?
        """
    for note, *version in database.rows(sql, (chat_id, n)):
        return TurnPersona(Version(*version) if version[0] is not None else None, note)
    return NOBODY


def ensure_built_in(database: Database, now_ms: int) -> None:
    """Have the built-in personas there. One that nobody changed follows what it comes with."""
    sql = "select builtin, id, name, system_prompt, description from personas where is_edited = 0"
    with database.read() as connection:
        unedited = {row[0]: (row[1], PersonaText(*row[2:])) for row in rows(connection, sql)}
        known = {row[0] for row in rows(connection, "select builtin from personas where builtin is not null")}
    stale = [key for key, words in BUILT_IN.items() if key in unedited and unedited[key][1] != words]
    missing = [key for key in BUILT_IN if key not in known]
    if not stale and not missing:
        return
    with database.write() as connection:
        for key in missing:
            _insert(connection, BUILT_IN[key], now_ms, key)
        for key in stale:
            _keep(connection, unedited[key][0], BUILT_IN[key], now_ms, is_edited=False)


def create(database: Database, words: PersonaText, now_ms: int) -> Persona:
    """A new persona. Raises `PersonaInvalid`."""
    with database.write() as connection:
        if scalar(connection, "select count(*) from personas where archived_ms is null") >= MAX_PERSONAS:
            problem = _("is one too many: at most %(number)s are kept", number=MAX_PERSONAS)
            raise PersonaInvalid([("name", problem)])
        return get(database, _insert(connection, _checked(database, words), now_ms, None))


class PersonaInvalid(StoreError, ValueError):
    """What was written cannot be kept; `errors` is (field, message) by field."""

    def __init__(self, errors: Sequence[tuple[str, str]]) -> None:
        super().__init__("; ".join(f"{name} {message}" for name, message in errors))
        self.errors = tuple(errors)


def update_persona(database: Database, persona_id: int, words: PersonaText, now_ms: int) -> Persona:
    """Keep new words as a new version; the same words are no version.

    Raises `NotFound` and `PersonaInvalid`.
    """
    with database.write() as connection:
        before = get(database, persona_id)
        words = _checked(database, words, persona_id)
        if words != before.words:
            _keep(connection, persona_id, words, now_ms, is_edited=True)
        return get(database, persona_id)


def restore(database: Database, persona_id: int, version: int, now_ms: int) -> Persona:
    """Say again what an earlier version said, as a new version. Raises `NotFound`."""
    earlier = existing(_VERSIONS.get(database, persona_id, version), "persona", persona_id)
    return update_persona(database, persona_id, earlier.words, now_ms)


def reset(database: Database, persona_id: int, now_ms: int) -> Persona:
    """Let a built-in persona say what it came with. Raises `NotFound` and `BuiltInPersona`."""
    with database.write() as connection:
        before = get(database, persona_id)
        if before.builtin is None:
            raise BuiltInPersona(_("%(name)s is your own: it can be removed, not reset", name=before.name))
        words = _checked(database, BUILT_IN[before.builtin], persona_id)
        if words != before.words:
            _keep(connection, persona_id, words, now_ms, is_edited=False)
        return get(database, persona_id)


def duplicate(database: Database, persona_id: int, now_ms: int) -> Persona:
    """A persona of one's own that says the same, under a free name. Raises `NotFound`."""
    original = get(database, persona_id)
    taken = {persona.name.casefold() for persona in list_personas(database)}
    room = MAX_NAME_CHARS - len(_("%(name)s copy", name="")) - len(" 999")
    stem = _("%(name)s copy", name=original.shown_name[:room])
    names = (stem, *(f"{stem} {n}" for n in range(2, 1000)))
    name = next(candidate for candidate in names if candidate.casefold() not in taken)
    return create(database, PersonaText(name, original.system_prompt, original.description), now_ms)


def remove(database: Database, persona_id: int, now_ms: int) -> bool:
    """Delete a persona, or put it away when turns name it; True when it is gone for good.

    Raises `NotFound`, and `BuiltInPersona` for one that came with Recollect.
    """
    with database.write() as connection:
        before = get(database, persona_id)
        if before.builtin is not None:
            raise BuiltInPersona(
                _("%(name)s came with Recollect: it can be reset, not removed", name=before.shown_name)
            )
        if before.turns:
            connection.execute("update personas set archived_ms = ? where id = ?", (now_ms, persona_id))
        else:
            connection.execute("delete from personas where id = ?", (persona_id,))
        # Another may have been chosen meanwhile.
        connection.execute("delete from preferences where key = ? and value = ?", (_ACTIVE, str(persona_id)))
    return not before.turns


def unarchive(database: Database, persona_id: int) -> Persona:
    """Let an archived persona be chosen again. Raises `NotFound` and `PersonaInvalid`."""
    with database.write() as connection:
        _checked(database, get(database, persona_id).words, persona_id)
        connection.execute("update personas set archived_ms = null where id = ?", (persona_id,))
        return get(database, persona_id)


def activate(database: Database, persona_id: int | None) -> None:
    """Let a persona speak from the next turn on; None lets nobody. Raises `NotFound`."""
    with database.write() as connection:
        if persona_id is not None and get(database, persona_id).archived_ms is not None:
            raise NotFound("persona", persona_id)
        preferences.put_preference(connection, _ACTIVE, persona_id)


def _checked(database: Database, words: PersonaText, persona_id: int = 0) -> PersonaText:
    """The words as they are kept, under a name that no other persona has. Raises `PersonaInvalid`."""
    kept = PersonaText(
        " ".join(words.name.split()),
        words.system_prompt.replace("\r\n", "\n").strip(),
        " ".join(words.description.split()),
    )
    limits = {
        "name": MAX_NAME_CHARS, "system_prompt": MAX_PROMPT_CHARS, "description": MAX_DESCRIPTION_CHARS,
    }  # fmt: skip
    errors: list[tuple[str, str]] = []
    for field, most in limits.items():
        text = getattr(kept, field)
        if not text and field != "description":
            errors.append((field, _("is missing")))
        if len(text) > most:
            errors.append((field, _("may have %(number)s characters", number=f"{most:,}")))
        if any(ord(letter) < 32 and letter not in "\n\t" for letter in text):
            errors.append((field, _("has a character that no text has")))
    sql = "select 1 from personas where name = ? collate nocase and archived_ms is null and id <> ?"
    if database.scalar(sql, (kept.name, persona_id)):
        errors.append(("name", "is taken"))
    if errors:
        raise PersonaInvalid(errors)
    return kept


def _insert(connection: apsw.Connection, words: PersonaText, now_ms: int, builtin: str | None) -> int:
    persona_id = insert(
        connection, "personas", builtin=builtin, **asdict(words), version=0,
        created_ms=now_ms, updated_ms=now_ms,
    )  # fmt: skip
    _keep(connection, persona_id, words, now_ms, is_edited=False)
    return persona_id


def _keep(
    connection: apsw.Connection, persona_id: int, words: PersonaText, now_ms: int, *, is_edited: bool
) -> None:
    """Make `words` the persona's next version."""
    number = scalar(
        connection,
        """
        update personas
        set name = :name, description = :description, system_prompt = :system_prompt, updated_ms = :now,
            is_edited = :is_edited, version = version + 1
        where id = :id
        returning version
        """,
        {**asdict(words), "now": now_ms, "is_edited": is_edited, "id": persona_id},
    )
    _VERSIONS.put(connection, Version(persona_id, number, **asdict(words), saved_ms=now_ms))


# -- what a persona says, as a person writes it ------------------------------------------------

MAX_NAME_CHARS = 60
MAX_DESCRIPTION_CHARS = 200
MAX_PROMPT_CHARS = 4_000


BUILT_IN = MappingProxyType(
    {
        "assistant": PersonaText(
            N_("Assistant"),
            "Voice: plain and matter-of-fact, in the language of the question and the second person, without "
            "praise and without filler.\n"
            "Shape: the answer to the question first, in one or two sentences; then, only where there is "
            "more to tell, bullets in the order of time, one thing each.\n"
            "Length: under 120 words for a question, under 250 for a summary of a day or more.",
            N_("Answers first, details after. Short."),
        ),
        "journal": PersonaText(
            N_("Journal"),
            "Voice: the first person, as the one whose day it was; warm and unhurried, never sentimental, "
            "and honest about what went wrong.\n"
            "Shape: flowing paragraphs that follow the day, without headings, bullets or advice.\n"
            "Length: two to four paragraphs of three to six sentences each.",
            N_("The day as you would write it down yourself."),
        ),
    }
)
"""The personas that are always there, by the key that marks them."""


_TRANSLATED = tuple(text for words in BUILT_IN.values() for text in (words.name, words.description))


def shown(text: str) -> str:
    """A voice's name or description in the person's language: what it came with is stored English."""
    return _(text) if text in _TRANSLATED else text


def stored(text: str) -> str:
    """What `shown` shows so."""
    return next((english for english in _TRANSLATED if _(english) == text), text)
