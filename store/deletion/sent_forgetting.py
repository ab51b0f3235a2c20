"""What has to be forgotten of the ledger of what was sent when frames are deleted.

Only texts go; that something was sent stays. Call inside `Database.write()`, when the index has
lost the frames in ``doomed`` and their rows are still there.
"""

from __future__ import annotations

import json

import apsw

from store.core.database import rows
from store.deletion import chat_hooks
from store.frames.doomed import shown_in

# The text of an answer's request tells of its turn's whole range (apps are counted that no frame in
# it shows), and repeats earlier answers of its chat. So it goes when a doomed frame lies in the
# range of its turn or of one before it: in doubt the text goes.
_AFFECTED = f"""
from sent_requests request
where request.body is not null and (
    exists (
        select 1
        from turns asked
        join turns t on t.conversation_id = asked.conversation_id and t.n <= asked.n
        where asked.id = request.turn_id and {shown_in("t.start_ms", "t.end_ms")}
    )
    or (request.first_ms is not null and {shown_in("request.first_ms", "(request.last_ms + 1)")})
)
"""

EGRESS_COUNT = f"select count(*) {_AFFECTED}"


def forget_egress(connection: apsw.Connection) -> int:
    """Erase the texts that may show one of the frames in ``doomed``; returns how many."""
    connection.execute(f"update sent_requests set body = null where id in (select request.id {_AFFECTED})")
    return connection.changes() + _forget_searches(connection)


def _forget_searches(connection: apsw.Connection) -> int:
    """Erase searches that say what stood on the doomed frames and stands on no other.

    The searches that a chat's question makes go with their turn, above.
    """
    asked = rows(
        connection,
        "select id, body from sent_requests "
        "where purpose = 'search' and body is not null and turn_id is null",
    )
    if not asked:
        return 0
    gone = {
        phrase for texts in rows(connection, _TEXTS) for text in texts for phrase in chat_hooks.trigrams(text)
    }
    erased = 0
    for request_id, body in asked:
        suspects = chat_hooks.trigrams("\n".join(json.loads(body)["input"])) & gone
        if any(not chat_hooks.is_known(connection, phrase) for phrase in sorted(suspects)):
            connection.execute("update sent_requests set body = null where id = ?", (request_id,))
            erased += 1
    return erased


_TEXTS = """
select t.text, t.app_name, t.window_name, t.browser_url
from doomed d
cross join frame_texts t on t.id = d.id
"""
