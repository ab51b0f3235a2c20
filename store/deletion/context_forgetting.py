"""What has to be forgotten of the memory of chats when frames are deleted.

A summary may say what an answer said, and an answer what a frame showed. So every session goes in whose
chat was shown one of the frames in ``doomed``, or was asked about their time: its summary, with the digests,
packs and requests made of it (triggers of `chat_summaries`). What is left is summarised again a moment
later. Call inside `Database.write()`, while the frames' rows and the evidence are still there.
"""

from __future__ import annotations

import apsw

from store.frames.doomed import shown_in

_WAS_SHOWN = shown_in("c.shown_from_ms", "c.shown_until_ms")
_CHATS = f"""
select t.conversation_id
from doomed d
cross join evidence e on e.frame_id = d.id
join turns t on t.id = e.turn_id
union
select conversation_id from anchors where frame_id in (select id from doomed)
union
select t.conversation_id
from tool_calls c
join turns t on t.id = c.turn_id
where c.shown_from_ms is not null and {_WAS_SHOWN}
union
select t.conversation_id
from turns t
where t.start_ms is not null
    and t.conversation_id in (select conversation_id from chat_sessions)
    and {shown_in("t.start_ms", "t.end_ms")}
"""
AFFECTED_SESSIONS = f"""
with recursive told (id) as (
    select id from chat_sessions where conversation_id in ({_CHATS})
    union
    -- What a session came to was told in others as background.
    select p.session_id
    from told
    cross join context_pack_sources o on o.session_id = told.id
    join context_packs p on p.turn_id = o.turn_id
    union
    -- Or by a tool.
    select s.id
    from told
    cross join chat_uses u on u.session_id = told.id
    join turns t on t.id = u.turn_id
    join chat_sessions s on s.conversation_id = t.conversation_id
)
select id from told
"""
"""SQL for the sessions whose summaries may say what a doomed frame showed."""

CHAT_SUMMARIES_COUNT = f"select count(*) from chat_summaries where session_id in ({AFFECTED_SESSIONS})"


def forget_chat_summaries(connection: apsw.Connection) -> int:
    """Erase the summaries that may tell of the frames in ``doomed``; returns how many."""
    affected = f"select session_id from chat_summaries where session_id in ({AFFECTED_SESSIONS})"
    connection.execute(
        f"update chat_sessions set summary_state = 'pending' where id in ({affected}) and state = 'closed'"
    )
    # What a model was told to put into words: the questions and answers of the chat.
    connection.execute(
        f"""
        update sent_requests set body = null
        where purpose = 'refine' and turn_id in (
            select id from turns where conversation_id in (
                select conversation_id from chat_sessions where id in ({affected})
            )
        )
        """
    )
    connection.execute(f"delete from chat_summaries where session_id in ({affected})")
    return connection.changes()
