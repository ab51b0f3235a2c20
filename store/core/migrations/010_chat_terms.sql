-- The words that chats are found again by, shortened so that forms of one word meet; they go with the summary.
create table chat_terms (
    term text not null,
    session_id integer not null references chat_summaries (session_id) on delete cascade,
    number integer not null,
    primary key (term, session_id)
) without rowid;
create index chat_terms_by_session on chat_terms (session_id);

-- All that a summary says is a document of memory: rules say now what was decided, not how much was asked.
drop trigger chat_summaries_document;
drop trigger chat_summaries_document_changed;
create trigger chat_summaries_document after insert on chat_summaries
begin
    insert into memory_documents
        (document_id, doc_type, sqlite_id, field, session_id, created_ms, ended_ms, text)
    select 'chat_' || c.id, 'chat_summary', c.id, 'chat', c.conversation_id, c.created_ms, new.ended_ms + 1,
        concat_ws(char(10), new.request, new.completed, new.learned, new.next_steps, new.investigated,
            new.notes)
    from chat_sessions c
    where c.id = new.session_id and c.conversation_id is not null and new.is_retracted = 0
        and concat(new.request, new.completed, new.learned, new.next_steps, new.investigated, new.notes) <> ''
        and not exists (
            select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.id
        );
end;
create trigger chat_summaries_document_changed
after update of request, investigated, learned, completed, next_steps, notes, is_retracted, ended_ms
on chat_summaries
begin
    delete from memory_documents
    where doc_type = 'chat_summary' and sqlite_id = new.session_id
        and (new.is_retracted = 1 or concat(new.request, new.completed, new.learned, new.next_steps,
            new.investigated, new.notes) = '');
    insert into memory_documents
        (document_id, doc_type, sqlite_id, field, session_id, created_ms, ended_ms, text)
    select 'chat_' || c.id, 'chat_summary', c.id, 'chat', c.conversation_id, c.created_ms, new.ended_ms + 1, ''
    from chat_sessions c
    where c.id = new.session_id and c.conversation_id is not null and new.is_retracted = 0
        and concat(new.request, new.completed, new.learned, new.next_steps, new.investigated, new.notes) <> ''
        and not exists (
            select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.id
        );
    update memory_documents set ended_ms = new.ended_ms + 1
    where doc_type = 'chat_summary' and sqlite_id = new.session_id;
    update memory_documents
    set text = concat_ws(char(10), new.request, new.completed, new.learned, new.next_steps, new.investigated,
        new.notes)
    where doc_type = 'chat_summary' and sqlite_id = new.session_id
        and text <> concat_ws(char(10), new.request, new.completed, new.learned, new.next_steps,
            new.investigated, new.notes);
end;

-- What rules wrote before is written again, a few with each look of the web process.
update chat_sessions set summary_state = 'pending'
where state = 'closed'
    and id in (select session_id from chat_summaries where made_by = 'rules' and is_edited = 0);
delete from user_chat_summaries;
