"""Chats by their words: every word of the search stands in the title, a question or an answer.

Read from the rows themselves, without an index, so what is deleted is nowhere else. Compared without
case; a word may stand inside another.
"""

from __future__ import annotations

import json

from store.chats.records import Chat
from store.core.database import Database, rows

MAX_WORDS = 12

_FOUND = """
select c.id, c.title, c.created_ms, c.updated_ms,
    (select count(*) from turns t where t.conversation_id = c.id)
from conversations c
where (:before_ms is null or (c.updated_ms, c.id) < (:before_ms, :before_id))
    and not exists (
        select 1
        from json_each(:words) word
        where instr(recollect_casefold(c.title), word.value) = 0 and not exists (
            select 1
            from turns t
            where t.conversation_id = c.id
                and instr(recollect_casefold(t.question || char(10) || t.answer_md), word.value) > 0
        )
    )
order by c.updated_ms desc, c.id desc
limit :limit
"""


def find_chats(
    database: Database, text: str, limit: int = 50, before: tuple[int, int] | None = None
) -> list[Chat]:
    """Chats with all words of `text`, the one used last first; all chats where there is no word.

    `before` is (updated_ms, id) of the last chat of a page. Only the first `MAX_WORDS` words count.
    """
    words = text.casefold().split()[:MAX_WORDS]
    before_ms, before_id = before or (None, None)
    values = {"words": json.dumps(words), "before_ms": before_ms, "before_id": before_id, "limit": limit}
    with database.read() as connection:
        return [Chat(*row) for row in rows(connection, _FOUND, values)]
