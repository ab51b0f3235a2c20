"""Do imported sources and what is remembered agree with their indexes, vectors and frames."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from store.core.database import scalar


def source_problems(connection: apsw.Connection) -> Iterator[str]:
    """Every difference as a sentence."""
    for sentence, sql in _QUESTIONS.items():
        number = scalar(connection, sql)
        if number:
            yield f"{number} {sentence}."


_QUESTIONS = {
    "messages are not in their index":
        """
        select count(*) from text_messages m
        where not exists (select 1 from text_messages_fts_docsize i where i.id = m.id)
        """,
    "rows of the index of messages have no message":
        """
        select count(*) from text_messages_fts_docsize i
        where not exists (select 1 from text_messages m where m.id = i.id)
        """,
    "summaries of days are not in their index":
        """
        select count(*) from daily_summaries s
        where not exists (select 1 from daily_summaries_fts_docsize i where i.id = s.id)
        """,
    "rows of the index of days have no summary":
        """
        select count(*) from daily_summaries_fts_docsize i
        where not exists (select 1 from daily_summaries s where s.id = i.id)
        """,
    "vectors belong to no message and no day":
        """
        select count(distinct v.kind || v.thing_id) from vectors v
        where (v.kind = 'message' and not exists (select 1 from text_messages m where m.id = v.thing_id))
            or (v.kind = 'day' and not exists (select 1 from daily_summaries s where s.id = v.thing_id))
        """,
    "facts and entities name frames that do not exist":
        """
        select
            (select count(*) from facts f where f.source_frame_id is not null
                and not exists (select 1 from frames r where r.id = f.source_frame_id))
            + (select count(*) from entity_frames e
                where not exists (select 1 from frames r where r.id = e.frame_id))
        """,
    "points of days name frames that do not exist":
        """
        select count(*) from daily_quotes q where not exists (select 1 from frames r where r.id = q.frame_id)
        """,
    "tags are of frames that do not exist":
        """
        select count(*) from frame_tags t where not exists (select 1 from frames r where r.id = t.frame_id)
        """,
}  # fmt: skip
