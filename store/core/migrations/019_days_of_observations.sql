-- The points of a day are read from its observations, of which they were a second copy.
create table daily_due (
    hour integer primary key,  -- whose day has to be written anew
    changes integer not null default 1
);
insert into daily_due (hour) select hour from daily_texts_due union select hour from daily_hours_due;
drop trigger daily_hours_observed;
drop trigger daily_hours_changed;
drop trigger daily_hours_gone;
drop table daily_quotes;
drop table daily_points;
drop table daily_hours;
drop table daily_hours_due;
drop table daily_texts_due;
create trigger daily_due_observed after insert on observations
begin
    insert into daily_due (hour) values (new.hour) on conflict (hour) do update set changes = changes + 1;
end;
create trigger daily_due_changed
after update of title, narrative, source, edits, is_hidden, fingerprint, start_ms on observations
begin
    insert into daily_due (hour) values (new.hour) on conflict (hour) do update set changes = changes + 1;
end;
create trigger daily_due_gone after delete on observations
begin
    insert into daily_due (hour) values (old.hour) on conflict (hour) do update set changes = changes + 1;
end;
