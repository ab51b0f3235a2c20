"""As whom the model speaks: the one block of the prompt that a person owns whole and that is stored.

The first that is there: what the request says; the persona that it names; what the chat began with, which
stays authoritative when it is opened again, or in a new chat the active persona; the neutral default. It is
sent byte for byte.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from assistant.core.errors import TurnRefused
from assistant.core.records import MAX_NOTE_CHARS, MAX_PROMPT_CHARS, NO_VOICE, TurnRequest
from assistant.core.strings import PROMPTS
from store.chats import conversations, personas
from store.chats.personas import Persona
from store.core.database import Database
from store.core.errors import NotFound
from store.core.translation import N_
from store.core.translation import gettext as _

NEUTRAL: str = PROMPTS["identity"]


@dataclass(frozen=True, slots=True)
class Voice:
    """As whom the model speaks: the words of a persona (None: of an override, of the chat, or the neutral
    ones), with a note under them after one empty line.
    """

    words: str
    persona: Persona | None = None
    style_note: str = ""

    @property
    def identity(self) -> str:
        """The block of the prompt, byte for byte as it is sent."""
        return f"{self.words}\n\n{self.style_note}" if self.style_note else self.words


def resolve_voice(database: Database, request: TurnRequest) -> Voice:
    """Who speaks in one turn. An override is for this turn alone; a blank one is none.

    A style note stands under whatever speaks, after one empty line. Raises `TurnRefused` and
    `NotFound`.
    """
    override, note = request.system_prompt, request.style_note.strip()
    too_long = (
        (override, MAX_PROMPT_CHARS, N_("the system prompt is longer than %(number)s characters")),
        (note, MAX_NOTE_CHARS, N_("the note is longer than %(number)s characters")),
    )
    for given, limit, sentence in too_long:
        if given and len(given) > limit:
            raise TurnRefused("invalid_system_prompt", "system_prompt", _(sentence, number=limit))
    if override and override.strip():
        return Voice(override, None, note)
    if request.persona_id == NO_VOICE:
        return Voice(NEUTRAL, None, note)
    if request.persona_id is not None:
        persona = personas.get(database, request.persona_id)
        if persona.archived_ms is not None:
            raise NotFound("persona", persona.id)
        return Voice(persona.system_prompt, persona, note)
    if request.chat_id is None:
        active = personas.active(database)
        return Voice(active.system_prompt, active, note) if active else Voice(NEUTRAL, None, note)
    stored = conversations.identity(database, request.chat_id)
    spoken = personas.of_turn(database, request.chat_id, 1).version
    if not (stored and spoken):  # an override, or nobody
        return Voice(stored or NEUTRAL, None, note)
    # Whose words a chat began with, as they were then.
    return Voice(stored, replace(personas.get(database, spoken.persona_id), version=spoken.version), note)
