-- How many frames there are and what their pictures take, so that nobody has to walk over all of them to say it.
create table frame_totals (
    reading_state text primary key,
    frames integer not null default 0,
    picture_bytes integer not null default 0,
    preview_bytes integer not null default 0
) without rowid;
insert into frame_totals (reading_state) values ('pending'), ('read'), ('failed'), ('unavailable');
insert into frame_totals (reading_state, frames, picture_bytes, preview_bytes)
select reading_state, count(*), sum(iif(media_path is null, 0, size_bytes)),
    sum(iif(preview_path is null, 0, coalesce(preview_bytes, 0)))
from frames where true group by 1
on conflict (reading_state) do update
set (frames, picture_bytes, preview_bytes) = (excluded.frames, excluded.picture_bytes, excluded.preview_bytes);

create trigger frame_totals_insert after insert on frames
begin
    update frame_totals
    set frames = frames + 1,
        picture_bytes = picture_bytes + iif(new.media_path is null, 0, new.size_bytes),
        preview_bytes = preview_bytes + iif(new.preview_path is null, 0, coalesce(new.preview_bytes, 0))
    where reading_state = new.reading_state;
end;
create trigger frame_totals_delete after delete on frames
begin
    update frame_totals
    set frames = frames - 1,
        picture_bytes = picture_bytes - iif(old.media_path is null, 0, old.size_bytes),
        preview_bytes = preview_bytes - iif(old.preview_path is null, 0, coalesce(old.preview_bytes, 0))
    where reading_state = old.reading_state;
end;
create trigger frame_totals_update
after update of reading_state, media_path, size_bytes, preview_path, preview_bytes on frames
begin
    update frame_totals
    set frames = frames - 1,
        picture_bytes = picture_bytes - iif(old.media_path is null, 0, old.size_bytes),
        preview_bytes = preview_bytes - iif(old.preview_path is null, 0, coalesce(old.preview_bytes, 0))
    where reading_state = old.reading_state;
    update frame_totals
    set frames = frames + 1,
        picture_bytes = picture_bytes + iif(new.media_path is null, 0, new.size_bytes),
        preview_bytes = preview_bytes + iif(new.preview_path is null, 0, coalesce(new.preview_bytes, 0))
    where reading_state = new.reading_state;
end;
