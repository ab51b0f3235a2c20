"""What has to be forgotten of chats when something of an imported source is deleted.

A result of a tool over the source, and what was said after it in the same chat, may show what goes.
Nobody can tell for how long an answer still rests on it, so all of it goes: results and arguments of
calls, answers, and texts of requests. Questions stay; they are the person's own.
"""

from __future__ import annotations

import apsw

from store.chats.conversations import DELETED_ANSWER, redact_answer
from store.core.database import rows

SHOWN_BY: dict[str, tuple[str, ...]] = {
    "messages": ("get_sms_messages", "search_messages"),
    "calendar": ("get_calendar_events",),
    "location": ("get_location_history",),
    "places": ("get_place_at", "reverse_geocode"),
}
"""Which tools show which source."""


def forget_shown(connection: apsw.Connection, kind: str) -> int:
    """Forget the turns that may show the source; returns how many. Call inside `Database.write()`."""
    tools = SHOWN_BY[kind]
    affected = [number for (number,) in rows(connection, _TURNS.format(", ".join("?" * len(tools))), tools)]
    for turn_id in affected:
        connection.execute(
            """
            update tool_calls
            set arguments = '{}', arguments_sha256 = '', output = '', error = '', is_forgotten = 1
            where turn_id = ?
            """,
            (turn_id,),
        )
        connection.execute("update sent_requests set body = null where turn_id = ?", (turn_id,))
        if rows(connection, "select 1 from turns where id = ? and answer_md not in ('', ?)",
                (turn_id, DELETED_ANSWER)):  # fmt: skip
            redact_answer(connection, turn_id)
    return len(affected)


_TURNS = """
select t.id
from turns t
where exists (
    select 1
    from tool_calls c
    join turns shown on shown.id = c.turn_id
    where shown.conversation_id = t.conversation_id and shown.n <= t.n and c.tool in ({})
        and (c.output <> '' or c.state = 'executing')
)
"""
