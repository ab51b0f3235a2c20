"""As whom the model speaks: block 2, the one block that a person owns whole and that is stored.

The first that is there: what the request says; the persona that it names; what the chat began with, which
stays authoritative when it is opened again (R0.34, C21), or in a new chat the active persona; the neutral
default. It is sent byte for byte (R0.2).
"""

from __future__ import annotations

from dataclasses import dataclass

from assistant.core.errors import BadSystemPrompt
from assistant.core.records import MAX_NOTE_CHARS, MAX_PROMPT_CHARS, TurnRequest
from store.chats import conversations, personas
from store.chats.personas import Persona, UnknownPersona
from store.core.database import Database

NEUTRAL = (
    "You are reconstructing a memory from a moment on the user's screen. Use the gathered context to write "
    "a thoughtful summary; you decide voice, length, and shape."
)
"""Requirements, R0.3."""


@dataclass(frozen=True, slots=True)
class Voice:
    """The identity as it is sent, and what it was made of."""

    identity: str
    persona: Persona | None = None
    style_note: str = ""


def resolve_voice(database: Database, request: TurnRequest) -> Voice:
    """Who speaks in one turn. An override is for this turn alone; a blank one is none (R0.35).

    A style note stands under whatever speaks, after one empty line (R0.37). Raises `BadSystemPrompt` and
    `UnknownPersona`.
    """
    override, note = request.system_prompt, request.style_note.strip()
    for text, most, name in ((override, MAX_PROMPT_CHARS, "system prompt"), (note, MAX_NOTE_CHARS, "note")):
        if text and len(text) > most:
            raise BadSystemPrompt(f"the {name} is longer than {most} characters")
    if override and override.strip():
        return Voice(_with_note(override, note), None, note)
    persona = _persona(database, request)
    if persona is not None:
        return Voice(_with_note(persona.system_prompt, note), persona, note)
    stored = "" if request.chat_id is None else conversations.identity(database, request.chat_id)
    return Voice(_with_note(stored or NEUTRAL, note), None, note)


def _persona(database: Database, request: TurnRequest) -> Persona | None:
    """The persona that a request names, or for a new chat the active one."""
    if request.persona_id is not None:
        named = personas.get(database, request.persona_id)
        if named.archived_ms is not None:
            raise UnknownPersona(named.id)
        return named
    return personas.active(database) if request.chat_id is None else None


def _with_note(identity: str, note: str) -> str:
    return f"{identity}\n\n{note}" if note else identity
