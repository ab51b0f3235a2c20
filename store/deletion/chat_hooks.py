"""What chats know of the frames that are deleted: answers, summaries, tool calls, what was sent, and facts.

An answer that cites a deleted frame goes as a whole, its claims with it: prose cannot be cut safely. An
answer for which the frame was only retrieved, or a later one in the same conversation, goes when it still
says something that only the deleted frames said: a word, or three words in a row, that stands in them, in no
remaining frame, and neither in the question nor in what code says in the first line of an answer without a
model. In doubt the answer goes. The question stays; it is the person's own.

Call everything here inside `Database.write()`, when the index has lost the frames in ``deletion_scope``
while their rows, their texts and the evidence are still there.
"""

from __future__ import annotations

import json
from functools import cached_property

import apsw

from store.chats.conversations import DELETED_ANSWER, redact_answer
from store.core import tokenizer
from store.core.database import rows, scalar
from store.core.records import insert
from store.frames.activity_intervals import MERGE_GAP_MS, overlaps_deletion
from store.memory.documents import SUMMARY_FIELDS

_RUN = 3


def trigrams(text: str) -> set[str]:
    """The words of a text, and every three tokens that follow each other.

    One Chinese character is a token but says nothing by itself: it counts only in a run.
    """
    words = tokenizer.words(text)
    runs = {" ".join(words[at : at + _RUN]) for at in range(len(words) - _RUN + 1)}
    return runs | {word for word in words if len(word) > 1}


class DeletedWords:
    """What the frames in ``deletion_scope`` say, or those that meet a condition; read when it is needed.

    Those of ``deletion_request`` go too, if only in a later transaction: that they say it keeps nothing.
    """

    def __init__(self, connection: apsw.Connection, condition: str = "") -> None:
        self._connection = connection
        self._sql = f"""
            select t.text, t.app_name, t.window_name, t.browser_url
            from deletion_scope d
            cross join frame_texts t on t.id = d.id
            {condition}
        """

    @cached_property
    def _phrases(self) -> set[str]:
        texts = {text for row in rows(self._connection, self._sql) for text in row}
        return set().union(*map(trigrams, texts))

    def are_in(self, text: str, *, own: str = "") -> bool:
        """Whether a text says something that stands on no other frame, nor in the person's `own` words."""
        suspects = (trigrams(text) & self._phrases) - trigrams(own)
        return any(not self._is_on_another(phrase) for phrase in sorted(suspects))

    def _is_on_another(self, phrase: str) -> bool:
        quoted = '"' + phrase.replace('"', '""') + '"'
        sql = """
            select 1 from frames_fts
            where frames_fts match ? and rowid not in (select id from deletion_request) limit 1
        """
        return scalar(self._connection, sql, (quoted,)) is not None


# -- what was told of what a turn was shown ---------------------------------------------------


def telling(looked: str) -> str:
    """SQL to begin a query with: ``telling (chat, turn)``, the turns `t` for which `looked` (SQL) holds and
    those that may repeat what these were shown: all that follow in their chat, and those that were told what
    came of them. Each chat has a row with a null for the turn, too.
    """
    return f"""
with recursive telling (chat, turn) as (
    select t.conversation_id, t.id from turns t where {looked}
    union
    select chat, null from telling
    union
    select t.conversation_id, t.id
    from telling
    cross join turns o on o.id = telling.turn
    cross join turns t on t.conversation_id = o.conversation_id and t.n = (
        select min(n) from turns where conversation_id = o.conversation_id and n > o.n
    )
    union
    -- As background.
    select t.conversation_id, t.id
    from telling
    cross join chat_sessions s on telling.turn is null and s.conversation_id = telling.chat
    cross join context_pack_sources p on p.session_id = s.id
    cross join turns t on t.id = p.turn_id
    union
    -- By a tool.
    select t.conversation_id, t.id
    from telling
    cross join chat_sessions s on telling.turn is null and s.conversation_id = telling.chat
    cross join chat_uses u on u.session_id = s.id
    cross join turns t on t.id = u.turn_id
    union
    -- To amend it.
    select t.conversation_id, t.id
    from telling
    cross join insights i on i.turn_id = telling.turn
    cross join anchors a on a.amends_id = i.id
    cross join turns t on t.conversation_id = a.conversation_id
)
"""


# -- summaries of chats -------------------------------------------------------------------
# A summary may say what an answer said, and an answer what a frame showed. So every session goes in whose
# chat was shown one of the frames, or was asked about their time: its summary, with the digests, packs and
# requests made of it (triggers of `chat_summaries`). What is left is summarised again a moment later.

SHOWN_TURNS = f"""
select e.turn_id
from deletion_scope d
cross join evidence e on e.frame_id = d.id
union
select c.turn_id
from tool_calls c
where c.shown_from_ms is not null and {overlaps_deletion("c.shown_from_ms", "c.shown_until_ms")}
"""
"""SQL for the turns that looked at one of the frames, or at their time."""

_CHATS = f"""
select conversation_id from turns where id in ({SHOWN_TURNS})
union
select conversation_id from anchors where frame_id in (select id from deletion_scope)
union
select t.conversation_id
from turns t
where t.start_ms is not null
    and t.conversation_id in (select conversation_id from chat_sessions)
    and {overlaps_deletion("t.start_ms", "t.end_ms")}
"""
_AFFECTED_SESSIONS = f"""
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
"""SQL for the sessions whose summaries may say what a deleted frame showed."""

# What an earlier chat came to is told as background, or by a tool.
_TOLD_TURNS = f"""
{SHOWN_TURNS}
union
select turn_id from context_pack_sources where session_id in ({_AFFECTED_SESSIONS})
union
select turn_id from chat_uses where session_id in ({_AFFECTED_SESSIONS})
"""

# `traces` names what a summary said before a person wrote in it; the rest was typed, and stays.
_SUMMARIES = """
from chat_summaries
where session_id in ({sessions}) and (is_edited = 0 or coalesce(traces, '{{}}') <> '{{}}')
"""
CHAT_SUMMARIES_COUNT = f"select count(*) {_SUMMARIES.format(sessions=_AFFECTED_SESSIONS)}"


def forget_chat_summaries(connection: apsw.Connection) -> int:
    """Erase the summaries that may tell of the frames in ``deletion_scope``; returns how many."""
    return forget_summaries_of(connection, _AFFECTED_SESSIONS)


def forget_summaries_of(connection: apsw.Connection, sessions: str) -> int:
    """Erase what the summaries of these sessions (SQL) say, but for what a person typed; returns how many."""
    summaries = _SUMMARIES.format(sessions=sessions)
    affected = f"select session_id {summaries}"
    names = ", ".join(SUMMARY_FIELDS)
    found = f"select session_id, ended_ms, is_retracted, traces, {names} {summaries}"
    edited = rows(connection, f"{found} and is_edited = 1")
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
    gone = connection.changes()
    for session_id, ended_ms, is_retracted, traces, *texts in edited:
        fields = zip(SUMMARY_FIELDS, texts, strict=True)
        typed = {name: text for name, text in fields if text and name not in json.loads(traces)}
        if typed:
            insert(
                connection, "chat_summaries", session_id=session_id, ended_ms=ended_ms, made_by="person",
                is_edited=1, is_retracted=is_retracted, updated_ms=ended_ms, traces="{}", **typed,
            )  # fmt: skip
    return gone


# -- answers ------------------------------------------------------------------------------


def forget_answers(connection: apsw.Connection) -> int:
    """Forget the answers that rest on the frames in ``deletion_scope``; returns how many."""
    words = DeletedWords(connection, _ARE_SHOWN_IN_CHATS)
    forgotten = 0
    for turn_id, own, answer, is_cited in rows(connection, _TURNS, {"removed": DELETED_ANSWER}):
        if is_cited or words.are_in(answer, own=own):
            redact_answer(connection, turn_id)
            forgotten += 1
    return forgotten


# A tool's result may show a frame that is no evidence: a title in a summary of the time.
_ARE_SHOWN_IN_CHATS = f"""
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
    from deletion_scope d
    cross join evidence e on e.frame_id = d.id
    group by e.turn_id
),
chats as (
    select distinct conversation_id from turns where id in ({_TOLD_TURNS})
)
select
    t.id, iif(t.model = 'extractive', substr(t.answer_md, 1, instr(t.answer_md, char(10))), '') || t.question,
    t.answer_md, coalesce(touched.is_cited, 0)
from chats
join turns t on t.conversation_id = chats.conversation_id
left join touched on touched.turn_id = t.id
where t.answer_md not in ('', :removed)
order by t.id
"""


# -- what tools were asked, and gave ----------------------------------------------------------
# A later turn of a chat may repeat what an earlier one was shown, by a tool or before, or was told of another
# chat: in its arguments and in what it would remember, too.

_AFFECTED_CALLS = f"""
from tool_calls c
join turns asked on asked.id = c.turn_id
where not c.is_forgotten and exists (
    select 1
    from turns t
    where t.conversation_id = asked.conversation_id and t.n <= asked.n and t.id in ({_TOLD_TURNS})
)
"""

CALLS_COUNT = f"select count(*) {_AFFECTED_CALLS}"


def forget_calls(connection: apsw.Connection) -> None:
    """Empty the calls that may show one of the frames in ``deletion_scope``."""
    empty_calls(connection, f"select c.id {_AFFECTED_CALLS}")


def empty_calls(connection: apsw.Connection, calls: str) -> None:
    """Empty the calls with these ids (SQL); that they were made stays."""
    connection.execute(
        f"""
        update tool_calls
        set arguments = '{{}}', arguments_sha256 = '', output = '', error = '', said = '', notice = '',
            is_forgotten = 1, state = iif(state = 'pending' and expires_ms is null, 'expired', state)
        where id in ({calls})
        """
    )


# -- what was sent ------------------------------------------------------------------------
# Only texts go; that something was sent stays.
# The text of an answer's request tells of its turn's whole range (apps are counted that no frame in
# it shows), and repeats earlier answers of its chat. So it goes when a deleted frame lies in the
# range of its turn or of one before it: in doubt the text goes.
_AFFECTED = f"""
from sent_requests request
where request.body is not null and (
    exists (
        select 1
        from turns asked
        join turns t on t.conversation_id = asked.conversation_id and t.n <= asked.n
        where asked.id = request.turn_id and {overlaps_deletion("t.start_ms", "t.end_ms")}
    )
    or (request.first_ms is not null and {overlaps_deletion("request.first_ms", "(request.last_ms + 1)")})
)
"""

EGRESS_COUNT = f"select count(*) {_AFFECTED}"


def forget_egress(connection: apsw.Connection) -> int:
    """Erase the texts that may show one of the frames in ``deletion_scope``; returns how many."""
    connection.execute(f"update sent_requests set body = null where id in (select request.id {_AFFECTED})")
    return connection.changes() + _forget_searches(connection)


def _forget_searches(connection: apsw.Connection) -> int:
    """Erase searches that say what stood on the deleted frames and stands on no other.

    The searches that a chat's question makes go with their turn, above.
    """
    sql = (
        "select id, body from sent_requests where purpose = 'search' and body is not null and turn_id is null"
    )
    words = DeletedWords(connection)
    erased = [
        (number,)
        for number, body in rows(connection, sql)
        if words.are_in("\n".join(json.loads(body)["input"]))
    ]
    connection.executemany("update sent_requests set body = null where id = ?", erased)
    return len(erased)


# -- measured facts -----------------------------------------------------------------------
# What code had measured for an answer is kept with its turn, so that its claims can be judged again.
# It is the JSON value ``measured`` of a turn's payload and names the apps, windows and sites of the
# turn's whole range, not only those of the frames it shows. So it goes when any frame of that range
# is deleted, also one that was deleted while the model was thinking.

_MEASURED_AFFECTED = f"""
from turns t
where json_type(t.payload, '$.measured') is not null and {overlaps_deletion("t.start_ms", "t.end_ms")}
"""

MEASURED_FACTS_COUNT = f"select count(*) {_MEASURED_AFFECTED}"


def forget_measured_facts(connection: apsw.Connection) -> None:
    """Erase what may tell of the frames in ``deletion_scope``."""
    connection.execute(
        f"""
        update turns
        set payload = json_remove(payload, '$.measured')
        where id in (select t.id {_MEASURED_AFFECTED})
        """
    )
