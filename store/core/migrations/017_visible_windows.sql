-- Which windows could be seen on a picture beside the one in front, as a JSON list of [app, title, address]: the
-- same list is kept once for many frames. Null where nobody told, as of all frames of before.
create table visible_windows (id integer primary key, windows text not null unique);
alter table frames add column visible_id integer references visible_windows (id);
create index frames_by_visible on frames (visible_id, id);
create trigger visible_windows_delete after delete on frames when old.visible_id is not null
begin
    delete from visible_windows
    where id = old.visible_id and not exists (select 1 from frames where visible_id = old.visible_id);
end;
