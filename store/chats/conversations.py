"""Stored conversations: what was asked, what was answered, and the frames that were shown for it.

A turn is entered as `running` before the model is called and finished or failed afterwards, in a
transaction of its own: nothing is held while the model thinks. The row keeps everything
a page needs to show the turn again; `payload` is a JSON object (claims, coverage, usage, warnings,
error) that belongs to the caller, of which this module knows only the key `claims`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import apsw
from peewee import fn

from store.chats import attachments, records
from store.chats.personas import Persona
from store.chats.records import (
    Anchor,
    AnchoredChat,
    Chat,
    Conversation,
    Message,
    StoredEvidence,
    StoredMessage,
    StoredTurn,
    Turn,
)
from store.core import copies, tombstones
from store.core.database import Database, scalar
from store.core.errors import DatabaseDamaged, Outdated
from store.core.records import columns, insert, put
from store.core.tokenizer import estimate_tokens

log = logging.getLogger(__name__)

MAX_TITLE_CHARS = 80
ANSWERED = 20
"""Questions of a chat that a later one may go on from."""

DELETED_ANSWER = "This answer was removed because something it rested on was deleted."
"""Stands in for an answer whose source the person deleted."""


# -- chats --------------------------------------------------------------------------------


def create(
    database: Database, title: str, now_ms: int, identity: str = "", anchored: AnchoredChat | None = None
) -> int:
    """A new chat; returns its id. A title is one line of at most `MAX_TITLE_CHARS`.

    `identity` becomes the first message of the transcript: as whom the model was asked to speak. Raises
    `apsw.ConstraintError` when the frame that it is about has gone.
    """
    query = Conversation.insert(title=title_of(title), created_ms=now_ms, updated_ms=now_ms)
    with database.write() as connection:
        chat_id = int(query.execute(database.peewee))
        if anchored:
            records.bind_anchor(connection, chat_id, anchored)
        if identity:
            _say(database, chat_id, 1, "system", identity, now_ms)
    return chat_id


def identity(database: Database, chat_id: int) -> str:
    """As whom the model speaks in a chat: its first message where that is the system's, else ''."""
    first = Message.select().where(Message.conversation_id == chat_id).order_by(Message.turn, Message.id)
    with database.read():
        row = first.first(database.peewee)
    return row.content if row is not None and row.role == "system" else ""


def title_of(message: str) -> str:
    """A title from what was asked: its first line, cut at a word where it is long."""
    line = next((text.strip() for text in message.splitlines() if text.strip()), "")
    if len(line) <= MAX_TITLE_CHARS:
        return line
    head = line[: MAX_TITLE_CHARS - 1]
    at_word = head.rpartition(" ")[0]
    return (at_word if len(at_word) > MAX_TITLE_CHARS // 2 else head).rstrip() + "…"


def get(database: Database, chat_id: int) -> Chat | None:
    """One chat, or None when there is none with this id."""
    return database.first(Chat, f"{_CHATS} where c.id = ?", (chat_id,))


def delete(database: Database, chat_id: int) -> bool:
    """Remove a chat with its messages, turns, evidence and attached files; False when there is none."""
    with database.write() as connection:
        removed = Conversation.delete().where(Conversation.id == chat_id).execute(database.peewee)
        if removed:
            # A topic is called by the words of its chats; so is one that was dismissed.
            connection.execute(
                "delete from user_topic_summaries where topic not in (select tag from session_tags)"
            )
            copies.outdate(connection)
    if removed:
        attachments.empty_trash(database)
        copies.drop_outdated(database)
        database.checkpoint()
    return bool(removed)


def messages(database: Database, chat_id: int) -> list[StoredMessage]:
    """The transcript as stored, in order."""
    query = Message.select().where(Message.conversation_id == chat_id).order_by(Message.turn, Message.id)
    with database.read():
        found = query.execute(database.peewee)
        return [StoredMessage(row.turn, row.role, row.content, row.created_ms) for row in found]


# -- turns --------------------------------------------------------------------------------


def add_turn(
    database: Database,
    chat_id: int,
    *,
    mode: str,
    model: str,
    question: str,
    start_ms: int | None,
    end_ms: int | None,
    timezone: str,
    now_ms: int,
    persona: Persona | None = None,
    style_note: str = "",
    session_id: int | None = None,
    given: Mapping[str, Any] | None = None,
    attached: Sequence[int] = (),
    last_deletion_id: int | None = None,
) -> StoredTurn:
    """Enter a question as a running turn, the next of its chat, with the person's message.

    `persona` is who was asked to speak, as it stands now; `style_note` what was said to it for this turn,
    `session_id` the window that it was asked in; one of another chat is passed over. `given` is kept as it
    is, to ask the same again. `attached` are ids of files that the question brings. `last_deletion_id` is the
    newest tombstone of before anything was looked up, where that was before now.

    Raises `peewee.IntegrityError` when the chat has gone, `NotFound` when a file has.
    """
    session_id = _of_chat(database, session_id, chat_id)
    with database.write() as connection:
        last = Turn.select(fn.max(Turn.n)).where(Turn.conversation_id == chat_id)
        n = (last.scalar(database.peewee) or 0) + 1
        told: dict[str, Any] = {
            "n": n, "mode": mode, "model": model, "status": "running", "question": question, "answer_md": "",
            "start_ms": start_ms, "end_ms": end_ms, "timezone": timezone, "created_ms": now_ms,
        }  # fmt: skip
        turn_id = Turn.insert(
            **told, conversation_id=chat_id, payload="{}", style_note=style_note,
            persona_id=persona.id if persona else None, persona_version=persona.version if persona else None,
            given=_json(dict(given or {})),
            last_deletion_id=tombstones.newest(connection) if last_deletion_id is None else last_deletion_id,
        ).execute(database.peewee)  # fmt: skip
        _say(database, chat_id, n, "user", question, now_ms, session_id)
        attachments.claim(connection, attached, chat_id, n, now_ms)
    return StoredTurn(id=int(turn_id), chat_id=chat_id, payload={}, given=dict(given or {}), **told)


def finish_turn(
    database: Database,
    turn_id: int,
    answer_md: str,
    payload: dict[str, Any],
    evidence: Iterable[StoredEvidence],
    now_ms: int | None,
    *,
    is_failed: bool = False,
) -> None:
    """Store a turn's answer with its evidence; `is_failed` when it broke off. Without `now_ms` nothing was
    said: the question and what was retrieved are kept, so that it can be asked again.

    Something may have been deleted while the model was thinking. Evidence that it took is then stored as
    deleted. The answer is not stored at all: nobody can tell any more whether it says what was deleted.
    """
    with database.write() as connection:
        is_there = "select 1 from frames where id = ?"
        kept = [item if scalar(connection, is_there, (item.frame_id,)) else blank(item) for item in evidence]
        status = "failed" if is_failed or now_ms is None else "done"
        changes = Turn.update(status=status, answer_md=answer_md, payload=_json(payload))
        if not changes.where(Turn.id == turn_id).execute(database.peewee):
            return  # deleted while it was answered
        for item in kept:
            stored = {each.name: getattr(item, each.name) for each in fields(StoredEvidence)}
            insert(connection, "evidence", **{**stored, "turn_id": turn_id, "boxes": json.dumps(item.boxes)})
        _note_newer_readings(connection, turn_id)
        if now_ms is None:
            return
        row = Turn.select().where(Turn.id == turn_id).first(database.peewee)
        of_turn = (Message.conversation_id == row.conversation_id) & (Message.turn == row.n)
        said = Message.select().where(of_turn & (Message.role == "user")).first(database.peewee)
        session_id = said.session_id if said else None
        _say(database, row.conversation_id, row.n, "assistant", answer_md, now_ms, session_id)
        is_cited_gone = any(item.state == "deleted" and item.n is not None for item in kept)
        if is_cited_gone or not is_current(connection, turn_id):
            redact_answer(connection, turn_id)


def says(connection: apsw.Connection, turn_id: int, answer_md: str) -> bool:
    """Whether a turn still has this answer."""
    sql = "select 1 from turns where id = ? and status = 'done' and answer_md = ?"
    return scalar(connection, sql, (turn_id, answer_md)) is not None


def keep_second_reading(database: Database, turn_id: int, answer_md: str, reading: dict[str, Any]) -> None:
    """Keep what a model thinks of an answer, in place of what it thought before, if that is there."""
    with database.write() as connection:
        if not says(connection, turn_id, answer_md):
            return
        payload = json.loads(scalar(connection, "select payload from turns where id = ?", (turn_id,)))
        others = [each for each in payload.get("second_readings", ()) if each["model"] != reading["model"]]
        payload["second_readings"] = [*others, reading]
        connection.execute("update turns set payload = ? where id = ?", (_json(payload), turn_id))


def is_current(connection: apsw.Connection, turn_id: int) -> bool:
    """Whether a turn is there and nothing was deleted since it was asked, nor of what its tools showed or of
    the earlier chats that it was told of.
    """
    sql = f"""
        select 1 from turns t
        where t.id = :turn and t.last_deletion_id = {tombstones.NEWEST}
            and not exists (select 1 from tool_calls where turn_id = :turn and is_forgotten)
            and not exists (select 1 from context_packs where turn_id = :turn and record = '{{}}')
    """
    return scalar(connection, sql, {"turn": turn_id}) is not None


def require_current(connection: apsw.Connection, turn_id: int) -> None:
    """Raise `Outdated` where a turn's words may be of what was deleted meanwhile, or the turn itself was."""
    if not is_current(connection, turn_id):
        raise Outdated("something was deleted while the question was answered")


def renew(connection: apsw.Connection, turn_id: int) -> None:
    """Let a turn that is over be current again, unless it was shown what was deleted since: what is stored of
    it now is read back from the store, which every deletion has been through.
    """
    newest = f"update turns set last_deletion_id = {tombstones.NEWEST} where id = ? and status <> 'running'"
    connection.execute(newest, (turn_id,))


def fail_interrupted(database: Database, payload: dict[str, Any]) -> int:
    """At the start of the web app: no turn of a former process is running any more."""
    query = Turn.update(status="failed", payload=_json(payload)).where(Turn.status == "running")
    with database.write():
        return int(query.execute(database.peewee))


def turn(database: Database, chat_id: int, n: int) -> StoredTurn | None:
    """One turn with its evidence, or None."""
    return database.first(StoredTurn, f"{TURNS} where t.conversation_id = ? and t.n = ?", (chat_id, n))


def turns(database: Database, chat_id: int) -> list[StoredTurn]:
    """All turns of a chat with their evidence, in order."""
    return database.records(StoredTurn, f"{TURNS} where t.conversation_id = ? order by t.n", (chat_id,))


_EVIDENCE = f"""(
    select json_group_array(json_array({columns(StoredEvidence, "e", boxes="json(e.boxes)")}) order by e.id)
    from evidence e where e.turn_id = t.id
)"""
TURNS = f"select {columns(StoredTurn, 't', chat_id='t.conversation_id', evidence=_EVIDENCE)} from turns t"


def answered(database: Database, chat_id: int) -> list[tuple[str, int, int, dict[str, Any]]]:
    """(question, start_ms, end_ms, what was stored of its scope) of the last `ANSWERED` questions of a chat
    that were answered about a range, the latest first.
    """
    found = database.rows(
        """
        select question, start_ms, end_ms, coalesce(payload -> '$.scope', '{}') from turns
        where conversation_id = ? and status = 'done' and start_ms < end_ms order by n desc limit ?
        """,
        (chat_id, ANSWERED),
    )
    return [(question, start_ms, end_ms, json.loads(scope)) for question, start_ms, end_ms, scope in found]


# -- forgetting (inside `database.write()`) -----------------------------------------------


def blank(item: StoredEvidence) -> StoredEvidence:
    """What is left of an evidence item when its frame was deleted: its number and its time."""
    return StoredEvidence(item.n, None, item.captured_ms, state="deleted")


def redact_answer(connection: apsw.Connection, turn_id: int) -> None:
    """Put `DELETED_ANSWER` where a turn's answer was, also in the transcript; drop claims and durations, and
    quotes that stand on no frame: they are the answer's words.
    """
    less = "json_remove(json_replace(payload, '$.claims', json('[]')), '$.measured', '$.second_readings')"
    connection.execute(
        f"update turns set answer_md = ?, payload = {less} where id = ?", (DELETED_ANSWER, turn_id)
    )
    connection.execute("update evidence set quote = '' where turn_id = ? and state <> 'found'", (turn_id,))
    connection.execute(
        """
        update messages
        set content = :sentence
        from turns
        where turns.id = :turn_id and messages.conversation_id = turns.conversation_id
            and messages.turn = turns.n and messages.role = 'assistant'
        """,
        {"sentence": DELETED_ANSWER, "turn_id": turn_id},
    )


def _of_chat(database: Database, session_id: int | None, chat_id: int) -> int | None:
    """The window, where it is one of this chat or of none yet; it is one of this chat from now on. None where
    windows cannot be read: a question is asked without one. A transaction of its own: one that has met a
    damaged page may write nothing more.
    """
    if session_id is None:
        return None
    sql = """
        update chat_sessions set conversation_id = :chat
        where id = :id and coalesce(conversation_id, :chat) = :chat
            and exists (select 1 from conversations where id = :chat)
        """
    try:
        return session_id if database.change(sql, {"id": session_id, "chat": chat_id}) else None
    except (apsw.SQLError, DatabaseDamaged) as error:
        log.warning("a question is asked in no window: %s", type(error).__name__)
        return None


def _say(
    database: Database,
    chat_id: int,
    n: int,
    role: str,
    content: str,
    now_ms: int,
    session_id: int | None = None,
) -> None:
    Message.insert(
        conversation_id=chat_id, turn=n, role=role, content=content, created_ms=now_ms,
        session_id=session_id, tokens=estimate_tokens(content),
    ).execute(database.peewee)  # fmt: skip
    Conversation.update(updated_ms=now_ms).where(Conversation.id == chat_id).execute(database.peewee)


def _note_newer_readings(connection: apsw.Connection, turn_id: int) -> None:
    """A frame may have been read again while the model was thinking: its quote was checked elsewhere."""
    connection.execute(
        """
        update evidence set state = 'not_checked', needs_check = 1
        where turn_id = ? and n is not null and state in ('found', 'not_found') and exists (
            select 1 from readings r
            where r.frame_id = evidence.frame_id and r.is_current = 1 and r.id <> evidence.reading_id
        )
        """,
        (turn_id,),
    )


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


# -- search -------------------------------------------------------------------------------
# Chats by their words: every word of the search stands in the title, a question or an answer.
#
# Read from the rows themselves, without an index, so what is deleted is nowhere else. Compared without
# case; a word may stand inside another.

MAX_WORDS = 12

# The chat of an insight is called as that is, and one that was to become an insight is listed once it has an
# answer: until then it is of no use but to ask again on its page.
TITLE = """coalesce(
    (
        select nullif(i.title, '')
        from insights i
        join turns t on t.id = i.turn_id
        where t.conversation_id = c.id
    ),
    c.title
)"""
_CHATS = f"""
select c.id, {TITLE}, c.created_ms, c.updated_ms,
    (select count(*) from turns t where t.conversation_id = c.id)
from conversations c
"""
_UNTOLD = """
exists (select 1 from anchors a where a.conversation_id = c.id)
and not exists (select 1 from turns t where t.conversation_id = c.id and t.status <> 'failed')
"""
_FOUND = f"""
{_CHATS}
where (:before_ms is null or (c.updated_ms, c.id) < (:before_ms, :before_id))
    and not ({_UNTOLD})
    and not exists (
        select 1
        from json_each(:words) word
        where instr(recollect_casefold({TITLE}), word.value) = 0 and not exists (
            select 1
            from turns t
            where t.conversation_id = c.id
                and instr(recollect_casefold(t.question || char(10) || t.answer_md), word.value) > 0
        )
    )
order by c.updated_ms desc, c.id desc
limit :limit
"""


def list_chats(
    database: Database, limit: int = 50, before: tuple[int, int] | None = None, text: str = ""
) -> list[Chat]:
    """Chats with all words of `text`, the one used last first; all chats where there is no word.

    `before` is (updated_ms, id) of the last chat of a page. Only the first `MAX_WORDS` words count.
    """
    words = text.casefold().split()[:MAX_WORDS]
    before_ms, before_id = before or (None, None)
    values = {"words": json.dumps(words), "before_ms": before_ms, "before_id": before_id, "limit": limit}
    return database.records(Chat, _FOUND, values)


def untold(database: Database, anchor: Anchor) -> list[int]:
    """The chats in which an insight of this anchor was asked for and none was told."""
    sql = f"""
        select c.id
        from conversations c
        join anchors x on x.conversation_id = c.id
        where {_UNTOLD} and x.kind = :kind
            and (x.frame_id = :frame_id or (x.start_ms = :start_ms and x.end_ms = :end_ms))
        """
    return database.column(sql, asdict(anchor))


# -- drafts -------------------------------------------------------------------------------
# What stands in a chat's composer and is not sent yet: one text for each chat, and one for a new chat.
#
# These are the person's own words, as a question is. They go with their chat, and once they are sent.


def get_draft(database: Database, chat_id: int | None) -> str:
    """The draft of a chat, of a new one for None; "" when there is none."""
    sql = "select message from drafts where coalesce(conversation_id, 0) = coalesce(?, 0)"
    return database.scalar(sql, (chat_id,)) or ""


def save_draft(database: Database, chat_id: int | None, message: str, now_ms: int) -> None:
    """Keep a draft instead of the one before; an empty one goes.

    Raises `apsw.ConstraintError` when the chat has gone.
    """
    if not message.strip():
        delete_draft(database, chat_id)
        return
    with database.write() as connection:
        values = {"conversation_id": chat_id, "message": message, "saved_ms": now_ms}
        put(connection, "drafts", "coalesce(conversation_id, 0)", **values)


def delete_draft(database: Database, chat_id: int | None) -> None:
    """It was sent, or is empty; no error when there is none."""
    sql = "delete from drafts where coalesce(conversation_id, 0) = coalesce(?, 0)"
    database.change(sql, (chat_id,))
