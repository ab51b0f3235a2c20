"""As whom the model speaks: block 2, the one block that a person owns whole and that is stored.

The first that is there: what the request says; what the chat began with, which stays authoritative when
it is opened again (R0.34, C21); the neutral default. It is sent byte for byte (R0.2).
"""

from __future__ import annotations

from store import conversations
from store.database import Database
from webapp.assistant.errors import BadSystemPrompt
from webapp.assistant.records import MAX_PROMPT_CHARS, TurnRequest

NEUTRAL = (
    "You are reconstructing a memory from a moment on the user's screen. Use the gathered context to write "
    "a thoughtful summary; you decide voice, length, and shape."
)
"""Requirements, R0.3."""


def identity_of(database: Database, request: TurnRequest) -> str:
    """The identity of one turn. An override is for this turn alone; a blank one is none (R0.35).

    Raises `BadSystemPrompt`.
    """
    if request.system_prompt and len(request.system_prompt) > MAX_PROMPT_CHARS:
        raise BadSystemPrompt(f"the system prompt is longer than {MAX_PROMPT_CHARS} characters")
    if request.system_prompt and request.system_prompt.strip():
        return request.system_prompt
    stored = "" if request.chat_id is None else conversations.identity(database, request.chat_id)
    return stored or NEUTRAL
