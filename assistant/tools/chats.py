"""A tool over what earlier chats came to; they are told as background, too, where the person lets them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from assistant.core.neutral import neutralized
from assistant.read_api import moments
from assistant.read_api.answers import TimeOrNone
from assistant.tools.sources import SourceQuery, rows_that_fit, source_tool, truncated
from store.memory import chat_summaries, search
from store.memory.chat_summaries import ChatSummary
from store.memory.entries import MemoryEntry, MemoryFilters

_FIELD_CHARS = 400


@source_tool(mode="auto", reaches="what your earlier chats came to", source="chats")
def search_chats(
    look: SourceQuery,
    query: Annotated[str, Field(max_length=400, description="Words or meaning; blank: the newest.")],
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Annotated[int, Field(ge=1, le=20, description="Chats at most.")] = 8,
) -> object:
    """Finds earlier chats with the person by what they came to; call it when they refer to one, as in “what
    did we find out about it”. It is background: no chat can be cited, and only frames show what was on the
    screen. For single questions use search_user_prompts. The last 90 days are searched unless a range is
    given."""
    call, context = look.call, look.context
    filters = MemoryFilters()
    if start is not None or end is not None or context.range_ms:
        filters = MemoryFilters(*look.within(*moments.span(start, end, call.now_ms)))
    found = search.search_chats(
        call.database,
        call.library.embedder.asking(query),
        filters=filters,
        now_ms=call.now_ms,
        limit=limit + 1,
    )
    chats = [entry for entry in found.entries if _chat(entry).chat_id != context.chat_id][:limit]
    rows, left_out = rows_that_fit([_row(look, entry) for entry in chats])
    if context.turn_id is not None and rows:
        with call.database.write() as connection:
            chat_summaries.use(connection, context.turn_id, [entry.id for entry in chats[: len(rows)]])
    call.returned = len(rows)
    told: dict[str, object] = {"chats": rows}
    if not rows:
        told["note"] = "No earlier chat fits."
    return {**told, "left_out": left_out} if left_out else told


def _row(look: SourceQuery, entry: MemoryEntry) -> dict[str, object]:
    said = _chat(entry)
    fields = {name: truncated(neutralized(text), _FIELD_CHARS) for name, text in said.fields.items() if text}
    return {"chat_id": said.chat_id, "ended": look.local(said.ended_ms), **fields}


def _chat(entry: MemoryEntry) -> ChatSummary:
    assert isinstance(entry.body, ChatSummary)  # `search_chats` gives nothing else
    return entry.body
