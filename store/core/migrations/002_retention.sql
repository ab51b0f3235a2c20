-- What retention takes away, and what it leaves in its place.

-- When the picture went; a small one may be left (`store.deletion.retention`).
alter table frames add column media_gone_ms integer;
alter table frames add column preview_path text;  -- below media/
alter table frames add column preview_sha256 text;
alter table frames add column preview_bytes integer;

-- Pictures by age, with what they take: the oldest go first.
create index frames_with_picture on frames (id, size_bytes) where media_path is not null;
create index frames_with_preview on frames (id, preview_bytes) where preview_path is not null;

-- Files that are being written and that no row names yet; what a crash leaves here goes to `media_trash`.
create table media_pending (path text primary key) without rowid;

-- What each run took. Of runs that took nothing only the last is kept.
create table retention_runs (
    id integer primary key,
    run_ms integer not null,
    pictures integer not null default 0,  -- pictures that went
    previews integer not null default 0,  -- small pictures that went
    frames integer not null default 0,  -- frames that went whole, with their text
    bytes_freed integer not null default 0,
    problem text not null default ''  -- why it stopped before its end
);
