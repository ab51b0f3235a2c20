-- Pictures of one screen that share a file (`store.frames.packs`): `media_path` then ends in .zip, and
-- `size_bytes` is a frame's part of it. Frames that are here already stay as they are.
alter table frames add column is_packable integer not null default 0;  -- 1: waits for its pack
create index frames_to_pack on frames (monitor, id) where is_packable = 1 and media_path is not null;
