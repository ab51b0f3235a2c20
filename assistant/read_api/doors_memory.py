"""Entries of memory as a call may see them.

An entry is made of frames and says what they said. So it stays back whole when a rule of today
leaves out one of the frames it names, or a window of its app (for a session: any window) that was
in use within its time. That keeps back too much rather than a line too little; a question that
the person typed is nobody's window and is always given.
"""

from __future__ import annotations

from collections.abc import Iterable

from assistant.read_api.calls import ReadCall
from store.frames import frames
from store.memory.chat_summaries import ChatSummary
from store.memory.documents import SessionSummary
from store.memory.entries import MemoryEntry
from store.memory.insights import Insight
from store.memory.observations import Observation
from store.timeline import segments


def shown(call: ReadCall, entries: Iterable[MemoryEntry]) -> list[MemoryEntry]:
    """The entries that the rules let out; those they keep back are counted."""
    found = []
    for entry in entries:
        if _lets_out(call, entry):
            found.append(entry)
        else:
            call.withheld += 1
    return found


def _lets_out(call: ReadCall, entry: MemoryEntry) -> bool:
    match entry.body:
        case Observation() as body:
            facts = {fact.frame_id for fact in body.facts if fact.frame_id is not None}
            rows = frames.get_many(call.database, {*body.frame_ids, *facts})
            if not all(call.lets_out(row) for row in rows.values()):
                return False
            return permits_windows(call, body.start_ms, body.end_ms, body.app_name)
        case SessionSummary() as body:
            return permits_windows(call, body.start_ms, body.end_ms, None)
        case Insight() | ChatSummary():  # it may quote any frame it was shown, in words of its own
            return False
    return True


def permits_windows(call: ReadCall, start_ms: int, end_ms: int, app_name: str | None) -> bool:
    """Whether no window in use in that time is left out; of one app where it is named."""
    return all(
        call.lets_out(segment)
        for segment in segments.segments(call.database, start_ms, end_ms)
        if app_name is None or segment.app_name == app_name
    )
