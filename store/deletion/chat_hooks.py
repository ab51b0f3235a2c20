"""Answers that rest on deleted frames: what has to be forgotten of a conversation.

An answer that cites a deleted frame goes as a whole, its claims with it: prose cannot be cut
safely. An answer for which the frame was only retrieved, or a later one in the same conversation,
goes when it still says something that only the deleted frames said: a word, or three words in a
row, that stands in them, in no remaining frame and not in the person's own question. In doubt the
answer goes. The question stays; it is the person's own.
"""

from __future__ import annotations

import apsw

from store.chats.conversations import DELETED_ANSWER, redact_answer
from store.core import tokenizer
from store.core.database import rows, scalar
from store.deletion import context_forgetting
from store.frames.activity_intervals import MERGE_GAP_MS
from store.frames.doomed import shown_in

_RUN = 3


def forget_answers(connection: apsw.Connection) -> int:
    """Forget the answers that rest on the frames in ``doomed``; returns how many.

    Call when the index has lost these frames and their texts are still there.
    """
    gone: set[str] = set()
    for texts in rows(connection, _TEXTS):
        for text in texts:
            gone |= trigrams(text)
    forgotten = 0
    for turn_id, question, answer, is_cited in rows(connection, _TURNS, {"removed": DELETED_ANSWER}):
        suspects = (trigrams(answer) & gone) - trigrams(question)
        if is_cited or any(not is_known(connection, phrase) for phrase in sorted(suspects)):
            redact_answer(connection, turn_id)
            forgotten += 1
    return forgotten


def trigrams(text: str) -> set[str]:
    """The words of a text, and every three tokens that follow each other.

    One Chinese character is a token but says nothing by itself: it counts only in a run.
    """
    words = [token.text for token in tokenizer.tokens(text)]
    runs = {" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
    return runs | {word for word in words if len(word) > 1}


# A tool's result may show a frame that is no evidence: a title in a summary of the time.
_WAS_SHOWN = shown_in("c.shown_from_ms", "c.shown_until_ms")

_TEXTS = f"""
select t.text, t.app_name, t.window_name, t.browser_url
from doomed d
cross join frame_texts t on t.id = d.id
where exists (select 1 from evidence e where e.frame_id = d.id) or exists (
    select 1
    from tool_calls c
    cross join frames f on f.id = d.id
    where c.shown_from_ms is not null
        and f.captured_ms < c.shown_until_ms and f.ended_ms >= c.shown_from_ms - {MERGE_GAP_MS}
)
"""

_TURNS = f"""
with touched as (
    select e.turn_id, max(e.n is not null) as is_cited
    from doomed d
    cross join evidence e on e.frame_id = d.id
    group by e.turn_id
),
chats as (
    select t.conversation_id from touched join turns t on t.id = touched.turn_id
    union
    select t.conversation_id
    from tool_calls c
    join turns t on t.id = c.turn_id
    where c.shown_from_ms is not null and {_WAS_SHOWN}
    union
    -- What an earlier chat came to was told here as background, or by a tool.
    select t.conversation_id
    from context_pack_sources o
    join turns t on t.id = o.turn_id
    where o.session_id in ({context_forgetting.AFFECTED_SESSIONS})
    union
    select t.conversation_id
    from chat_uses u
    join turns t on t.id = u.turn_id
    where u.session_id in ({context_forgetting.AFFECTED_SESSIONS})
)
select t.id, t.question, t.answer_md, coalesce(touched.is_cited, 0)
from chats
join turns t on t.conversation_id = chats.conversation_id
left join touched on touched.turn_id = t.id
where t.answer_md not in ('', :removed)
order by t.id
"""


def is_known(connection: apsw.Connection, phrase: str) -> bool:
    """Whether a remaining frame says this."""
    quoted = '"' + phrase.replace('"', '""') + '"'
    found = scalar(connection, "select 1 from frames_fts where frames_fts match ? limit 1", (quoted,))
    return found is not None
