-- How many vectors a thing was given, so that a lost one is told of, whichever it is. One that waits for new ones
-- keeps its number meanwhile.
create table vector_counts (
    kind text not null,
    thing_id integer not null,
    number integer not null,
    primary key (kind, thing_id)
) without rowid;
insert into vector_counts (kind, thing_id, number) select kind, thing_id, count(*) from vectors group by 1, 2;

create trigger memory_documents_delete_vectors after delete on memory_documents
begin
    delete from vector_counts where kind = 'document' and thing_id = old.id;
end;
create trigger daily_summaries_delete_vectors after delete on daily_summaries
begin
    delete from vector_counts where kind = 'day' and thing_id = old.id;
end;
create trigger text_messages_delete_vectors after delete on text_messages
begin
    delete from vector_counts where kind = 'message' and thing_id = old.id;
end;
