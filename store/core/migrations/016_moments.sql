-- A picture that was imported is a moment and no recording: it is on no line of activity. Until now a film that
-- was imported had the same source; its frames alone are lossless WebP.
update frames set source = 'video' where source = 'import' and media_type = 'image/webp';
create index frames_imported on frames (captured_ms) where source = 'import';
delete from segments where first_frame_id in (select id from frames where source = 'import');
insert into memory_hours (hour) select distinct captured_ms / 3600000 from frames where source = 'import'
on conflict (hour) do update set changes = changes + 1;
