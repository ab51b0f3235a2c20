-- Who may come in besides who has the token file: browsers that were signed in, and tokens for other programs.
-- Ids are never used again, so that a page that is out of date revokes nobody else.
create table access_keys (
    id integer primary key autoincrement,
    secret_hash blob not null unique,
    scope text not null check (scope in ('pages', 'read', 'ingest', 'mcp')),
    name text not null,
    port integer not null,  -- of the pages that a browser was signed in to; 0 for a token
    made_ms integer not null,
    used_ms integer  -- to some minutes; null: never
);
alter table access_log add column caller text not null default '';  -- the name of the token, where it has one
