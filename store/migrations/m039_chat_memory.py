"""Where each sentence of a chat's summary is from, and summaries of chats among the documents of memory."""

from __future__ import annotations

import apsw

_TEXT = """
concat_ws(char(10), {row}.request, {row}.investigated, {row}.learned,
    iif({row}.made_by = 'rules', null, {row}.completed), {row}.next_steps,
    iif({row}.made_by = 'rules', null, {row}.notes))
"""
# Rules say of `completed` and `notes` only how many questions and statements there were.
_INSERT = f"""
insert into memory_documents
    (document_id, doc_type, sqlite_id, field, session_id, created_ms, ended_ms, text)
select 'chat_' || c.id, 'chat_summary', c.id, 'chat', c.conversation_id, c.created_ms, s.ended_ms + 1,
    {_TEXT.format(row="s")}
from chat_summaries s join chat_sessions c on c.id = s.session_id
where s.is_retracted = 0 and c.conversation_id is not null and trim({_TEXT.format(row="s")}) <> ''
    and not exists (
        select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.id
    )
"""


def m039_chat_memory(connection: apsw.Connection) -> None:
    # Null where it was not traced when it was made: then it is traced when it is looked at.
    connection.execute("alter table chat_summaries add column traces text")
    _widen_documents(connection)
    connection.execute(
        f"""
        create trigger chat_summaries_document after insert on chat_summaries
        begin
            {_INSERT} and s.session_id = new.session_id;
        end;
        create trigger chat_summaries_document_changed
        after update of request, investigated, learned, completed, next_steps, notes, made_by, is_retracted,
            ended_ms
        on chat_summaries
        begin
            delete from memory_documents
            where doc_type = 'chat_summary' and sqlite_id = new.session_id
                and (new.is_retracted = 1 or trim({_TEXT.format(row="new")}) = '');
            {_INSERT} and s.session_id = new.session_id;
            update memory_documents set ended_ms = new.ended_ms + 1
            where doc_type = 'chat_summary' and sqlite_id = new.session_id;
            update memory_documents set text = {_TEXT.format(row="new")}
            where doc_type = 'chat_summary' and sqlite_id = new.session_id
                and text <> {_TEXT.format(row="new")};
        end;
        -- Whose summaries a tool gave to the model in a turn; what it gave goes with them, as packs do.
        create table chat_uses (
            turn_id integer not null references turns (id) on delete cascade,
            session_id integer not null,
            primary key (turn_id, session_id)
        ) without rowid;
        create index chat_uses_by_session on chat_uses (session_id);
        create trigger chat_uses_gone after delete on chat_summaries
        begin
            update tool_calls
            set arguments = '{{}}', arguments_sha256 = '', output = '', error = '', said = '', notice = '',
                is_forgotten = 1
            where tool = 'search_chats'
                and turn_id in (select turn_id from chat_uses where session_id = old.session_id);
            update sent_requests set body = null
            where turn_id in (select turn_id from chat_uses where session_id = old.session_id);
        end;

        create trigger chat_summaries_document_gone after delete on chat_summaries
        begin
            delete from memory_documents where doc_type = 'chat_summary' and sqlite_id = old.session_id;
        end;
        {_INSERT};
        """
    )


def _widen_documents(connection: apsw.Connection) -> None:
    """A check cannot be altered in place: the documents move, with their ids, to a table with a wider one.

    What names the table is taken away meanwhile and put back as it was. The index of words knows it by
    name and rowid, so it stays.
    """
    around = connection.execute(
        """
        select type, name, sql from sqlite_schema
        where sql is not null and name <> 'memory_documents' and type in ('index', 'trigger')
            and (tbl_name = 'memory_documents' or sql like '%memory_documents%')
        order by type
        """
    ).fetchall()
    for kind, name, _ in around:
        connection.execute(f"drop {kind} {name}")
    connection.execute(
        """
        create table memory_documents_wider (
            id integer primary key autoincrement,
            document_id text not null unique,
            doc_type text not null check (
                doc_type in ('observation', 'session_summary', 'user_prompt', 'insight', 'chat_summary')
            ),
            sqlite_id integer not null,
            field text not null,
            session_id integer,
            project text,
            created_ms integer not null,
            ended_ms integer not null,
            prompt_number integer not null default 0,
            text text not null
        );
        insert into memory_documents_wider (id, document_id, doc_type, sqlite_id, field, session_id, project,
            created_ms, ended_ms, prompt_number, text)
        select id, document_id, doc_type, sqlite_id, field, session_id, project,
            created_ms, ended_ms, prompt_number, text
        from memory_documents;
        -- Ids are never used again: vectors know documents by id.
        insert into sqlite_sequence (name, seq)
        select 'memory_documents_wider', 0
        where not exists (select 1 from sqlite_sequence where name = 'memory_documents_wider');
        update sqlite_sequence
        set seq = (
            select coalesce(max(seq), 0) from sqlite_sequence
            where name in ('memory_documents', 'memory_documents_wider')
        )
        where name = 'memory_documents_wider';
        drop table memory_documents;
        alter table memory_documents_wider rename to memory_documents;
        """
    )
    for _, _, sql in around:
        connection.execute(str(sql))
