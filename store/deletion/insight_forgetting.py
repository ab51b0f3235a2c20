"""What has to be forgotten of insights when frames are deleted.

An insight of a deleted frame goes, with what its conversation knew of the frame (`store.deletion.chat_hooks`
sees to
its answers). One of a moment, or one that looked at a deleted frame on the way, loses the messages that
made it, which quote what was on the screen; its title and summary when its answer was forgotten; and its
title alone when that says something that only the deleted frames said.

Call inside `Database.write()`, after the answers and before the evidence and the tool calls.
"""

from __future__ import annotations

import apsw

from store.chats.conversations import DELETED_ANSWER
from store.core.database import rows
from store.deletion import chat_hooks
from store.frames.doomed import shown_in
from store.memory.insights import redacted

_TOUCHED = f"""
from insights i
join turns t on t.id = i.turn_id
where i.frame_id in (select id from doomed) or (
    i.is_forgotten = 0 and (
        {shown_in("i.start_ms", "i.end_ms")}
        or exists (
            select 1
            from turns o
            join evidence e on e.turn_id = o.id
            where o.conversation_id = t.conversation_id and e.frame_id in (select id from doomed)
        )
        or exists (
            select 1
            from turns o
            join tool_calls c on c.turn_id = o.id
            where o.conversation_id = t.conversation_id and c.shown_from_ms is not null
                and {shown_in("c.shown_from_ms", "c.shown_until_ms")}
        )
    )
)
"""

INSIGHTS_COUNT = f"select count(*) {_TOUCHED}"


def forget_insights(connection: apsw.Connection) -> int:
    """Forget what insights tell of the frames in ``doomed``; returns how many are touched."""
    touched = rows(connection, f"select i.id, i.training_messages, i.title {_TOUCHED}")
    gone = {
        phrase for said in rows(connection, _TEXTS) for text in said for phrase in chat_hooks.trigrams(text)
    }
    connection.execute("delete from insights where frame_id in (select id from doomed)")
    connection.execute("delete from anchors where frame_id in (select id from doomed)")
    for number, messages, title in touched:
        suspects = chat_hooks.trigrams(title) & gone
        is_told = any(not chat_hooks.is_known(connection, phrase) for phrase in sorted(suspects))
        connection.execute(
            "update insights set training_messages = ?, title = ?, is_forgotten = 1 where id = ?",
            (redacted(messages), "" if is_told else title, number),
        )
    connection.execute(_FORGET_SUMMARIES, {"removed": DELETED_ANSWER})
    _forget_amended(connection)
    return len(touched)


def _forget_amended(connection: apsw.Connection) -> None:
    """Whoever amended a forgotten insight was told its summary: those messages go too, to the last one."""
    while found := rows(connection, _AMENDED):
        for number, messages in found:
            connection.execute(
                "update insights set training_messages = ?, is_forgotten = 1 where id = ?",
                (redacted(messages), number),
            )


_TEXTS = """
select t.text, t.app_name, t.window_name, t.browser_url
from doomed d
cross join frame_texts t on t.id = d.id
"""

_FORGET_SUMMARIES = """
update insights
set title = '', summary = :removed
where summary <> :removed and exists (
    select 1 from turns t where t.id = insights.turn_id and t.answer_md = :removed
)
"""

_AMENDED = """
select i.id, i.training_messages
from insights i
join turns t on t.id = i.turn_id
join anchors a on a.conversation_id = t.conversation_id
join insights base on base.id = a.amends_id
where base.is_forgotten = 1 and i.is_forgotten = 0
"""
