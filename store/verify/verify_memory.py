"""Does memory agree with itself and with the frames: documents, words, and quoted lines.

Observations are derived again when frames change, which ingest does a moment later: hours that
wait for it (`memory_hours`) are under way and not a difference.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from store.core import tokenizer
from store.core.database import rows, scalar


def memory_problems(connection: apsw.Connection) -> Iterator[str]:
    """Every difference as a sentence."""
    for sentence, sql in _QUESTIONS.items():
        number = scalar(connection, sql)
        if number:
            yield f"{number} {sentence}."
    lines = rows(connection, _FACTS)
    untrue = sum(not _stands(text, reading) for text, reading in lines)
    if untrue:
        yield f"{untrue} facts of memory do not stand on the frames they name."


def _stands(line: str, text: str) -> bool:
    """Whether a line's words stand in a text, one after the other."""
    words, there = ([token.text for token in tokenizer.tokens(each)] for each in (line, text))
    return any(there[at : at + len(words)] == words for at in range(len(there) - len(words) + 1))


_QUESTIONS = {
    "memory documents are not in their index":
        """
        select count(*) from memory_documents d
        where not exists (select 1 from memory_fts_docsize i where i.id = d.id)
        """,
    "rows of the memory index have no document":
        """
        select count(*) from memory_fts_docsize i
        where not exists (select 1 from memory_documents d where d.id = i.id)
        """,
    "memory documents belong to nothing":
        """
        select count(*) from memory_documents d
        where not case d.doc_type
            when 'observation' then
                exists (select 1 from observations o where o.id = d.sqlite_id and o.is_hidden = 0)
            when 'session_summary' then exists (select 1 from session_summaries s where s.id = d.sqlite_id)
            when 'insight' then
                exists (select 1 from insights i where i.id = d.sqlite_id and i.is_current = 1)
            when 'chat_summary' then exists (
                select 1 from chat_summaries c where c.session_id = d.sqlite_id and c.is_retracted = 0
            )
            else exists (select 1 from messages m where m.id = d.sqlite_id and m.role = 'user')
        end
        """,
    "current insights are not in memory":
        """
        select count(*) from insights i
        where i.is_current = 1 and not exists (
            select 1 from memory_documents d where d.doc_type = 'insight' and d.sqlite_id = i.id
        )
        """,
    "summaries of chats are not in memory":
        """
        select count(*) from chat_summaries c
        where c.is_retracted = 0 and trim(concat(c.request, c.learned)) <> '' and not exists (
            select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.session_id
        )
        """,
    "frames or moments have insights of which none, or more than one, is current":
        """
        select count(*) from (
            select 1 from insights
            group by anchor_kind, frame_id, iif(anchor_kind = 'moment', start_ms, 0),
                iif(anchor_kind = 'moment', end_ms, 0)
            having sum(is_current) <> 1
        )
        """,
    "insights say something else than the answer they are":
        """
        select count(*) from insights i join turns t on t.id = i.turn_id where t.answer_md <> i.summary
        """,
    "vectors belong to no memory document":
        """
        select count(distinct v.thing_id) from vectors v
        where v.kind = 'document'
            and not exists (select 1 from memory_documents d where d.id = v.thing_id)
        """,
    "observations name frames that do not exist":
        """
        select count(distinct m.observation_id) from observation_frames m
        where not exists (select 1 from frames f where f.id = m.frame_id)
        """,
}  # fmt: skip

# A reading that was replaced has put its hour on the list.
_FACTS = """
select f.text, coalesce(r.text, '')
from observation_facts f
join observations o on o.id = f.observation_id
left join readings r on r.frame_id = f.frame_id and r.is_current = 1
where not exists (select 1 from memory_hours h where h.hour = o.hour)
"""
