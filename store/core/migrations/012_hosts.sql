-- Other machines of the person, which hand in what they capture: each by a token of its own, whose name is theirs.
create table hosts (
    key_id integer primary key,  -- of the token (`access_keys.id`), also once that is revoked
    name text not null,
    instance text not null,  -- which machine: a token is for one
    seen_ms integer not null,  -- by the clock of this machine
    skew_ms integer not null,  -- this clock less the host's; its times stay as it told them
    waiting integer not null default 0,  -- entries in its spool
    problem text not null default '',  -- why it records nothing just now, as a machine word
    rules_sha256 text not null default '',  -- of the rules that it applies
    deletion_id integer not null default 0  -- deletions up to this one are carried out there
);
create table host_receipts (
    deletion_id integer not null,
    key_id integer not null,
    answered_ms integer not null,
    removed integer not null,  -- captures that waited in its spool
    primary key (deletion_id, key_id)
) without rowid;

-- Which machine a frame is of, and what was made of it; '' for this one.
alter table frames add column host text not null default '';
create index frames_by_host on frames (host, id);
alter table segments add column host text not null default '';
create index segments_by_host on segments (host, start_ms);
alter table decisions add column host text not null default '';
