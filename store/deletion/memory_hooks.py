"""What has to be forgotten of memory when frames are deleted.

Observations that were made from a doomed frame, or of its app in its hour, go with their facts,
terms and documents; so do the summaries of sessions it was on. Ingest derives the hour again from
the frames that are left. A person's own words stay, except a field that says something which only
the deleted frames said: in doubt it goes, as with answers.
"""

from __future__ import annotations

import json
from typing import Any

import apsw

from store.core.database import rows, scalar
from store.deletion import chat_hooks
from store.memory import observation_writer

MEMORY_COUNT = """
select count(distinct o.observation_id)
from doomed d
cross join observation_frames o on o.frame_id = d.id
"""


def forget_memory(connection: apsw.Connection) -> int:
    """Forget what memory made of the frames in ``doomed``; returns how many entries that are.

    Call when the index has lost these frames and their rows are still there.
    """
    affected = rows(connection, _OBSERVATIONS)
    gone: set[str] | None = None
    for observation_id, edits in affected:
        if not scalar(connection, _FRAMES_LEFT, {"id": observation_id}):
            connection.execute("delete from observations where id = ?", (observation_id,))
            continue
        gone = _said(connection) if gone is None and edits != "{}" else gone
        kept = {
            name: value
            for name, value in json.loads(edits).items()
            if not _tells(connection, value, gone or set())
        }
        connection.execute(
            "update observations set edits = ? where id = ?",
            (json.dumps(kept, ensure_ascii=False, sort_keys=True), observation_id),
        )
        observation_writer.blank(connection, observation_id)
        observation_writer.put_documents(connection, observation_id)
    connection.execute(_DELETE_SESSIONS)
    return len(affected) + connection.changes()


def _said(connection: apsw.Connection) -> set[str]:
    return {
        phrase for texts in rows(connection, _TEXTS) for text in texts for phrase in chat_hooks.trigrams(text)
    }


def _tells(connection: apsw.Connection, value: Any, gone: set[str]) -> bool:
    """Whether an edit says something that stood on the deleted frames and stands on no other."""
    text = "\n".join(value) if isinstance(value, list) else str(value or "")
    suspects = chat_hooks.trigrams(text) & gone
    return any(not chat_hooks.is_known(connection, phrase) for phrase in sorted(suspects))


_OBSERVATIONS = """
select o.id, o.edits
from observations o
where o.id in (
    select m.observation_id from doomed d cross join observation_frames m on m.frame_id = d.id
    union
    select t.id
    from doomed d
    cross join frames f on f.id = d.id
    cross join observations t
        on t.hour between f.captured_ms / 3600000 and f.ended_ms / 3600000 and t.app_name is f.app_name
)
"""

# Without an edit to keep, or without a frame that is left of it, an observation goes as a whole.
_FRAMES_LEFT = """
select 1
from observations o
where o.id = :id and (o.edits <> '{}' or o.is_hidden = 1) and exists (
    select 1 from frames f
    where f.id >= o.start_ms * 1024 and f.id < o.end_ms * 1024 + 1024 and f.app_name is o.app_name
        and f.id not in (select id from doomed)
)
"""

_TEXTS = """
select t.text, t.app_name, t.window_name, t.browser_url
from doomed d
cross join frame_texts t on t.id = d.id
"""

_DELETE_SESSIONS = """
delete from session_summaries
where id in (
    select s.id
    from doomed d
    cross join frames f on f.id = d.id
    cross join session_summaries s on s.start_ms <= f.ended_ms and s.end_ms >= f.captured_ms
)
"""
