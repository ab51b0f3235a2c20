-- The whole schema of a home folder's database, grouped by noun.
--
-- Times are milliseconds since 1970 (UTC) in columns that end in `_ms`; an `hour` counts clock hours since
-- then. A name in `references` or in a trigger may be that of a table further down.
--
-- Four patterns return:
-- * `without rowid` where the key is all there is to look for;
-- * `autoincrement` where an id is known outside its table (a vector, an index in memory, an open page), so
--   that it must never be given twice;
-- * triggers where something derived must follow its row, so that no way of writing or deleting forgets it;
-- * an index `where ...` holds only the rows that are asked for: the few that wait, or those that refer to
--   something, so that deleting what they refer to need not read the whole table.
--
-- An index of words has its text elsewhere (`content`): the words are stored once, and to take a row out the
-- index must be shown the old words. `secure-delete` takes deleted words out of the file at once
-- (https://sqlite.org/fts5.html#the_secure_delete_configuration_option).


-- == frames ==================================================================================

-- One stored picture of one monitor. The id carries the time, `captured_ms * 1024 + n`: ids sort by time,
-- also those of imports and late uploads, stay below 2**53 (safe in JavaScript), and a range of time is a
-- range of rowids, which the index of words can use directly.
create table frames (
    id integer primary key,
    capture_id text not null unique,
    captured_ms integer not null,
    ended_ms integer not null,  -- last look at which this was still on the screen
    utc_offset_min integer,  -- zone offset in force where it was captured
    monitor text not null default '',  -- stable name of the monitor, '' when unknown
    width_px integer not null,
    height_px integer not null,
    app_name text,
    window_name text,
    browser_url text,
    focused integer check (focused in (0, 1)),  -- 1, 0, or null when the source cannot tell
    pid integer,
    trigger text,
    source text not null,  -- screen, folder, video, import, upload
    batch_id text,  -- look batch that counted this frame as kept
    media_path text,  -- below media/, null once the pixels are gone
    media_type text not null,
    size_bytes integer not null,
    sha256 text not null,  -- of the file as captured
    pixels_sha256 text not null,  -- of width, height and the RGB bytes
    media_gone_reason text,
    reading_state text not null default 'pending'
        check (reading_state in ('pending', 'read', 'failed', 'unavailable')),
    reading_attempts integer not null default 0,
    reading_error text,
    reading_next_ms integer,
    stored_ms integer not null,
    read_ms integer
);
create index frames_by_monitor on frames (monitor, captured_ms, id);
create index frames_by_app on frames (app_name collate nocase, id);
create index frames_to_read on frames (id) where reading_state = 'pending';
create index frames_by_batch on frames (batch_id);
create index frames_by_window_name on frames (window_name, id) where window_name is not null;
create index frames_by_browser_url on frames (browser_url, id) where browser_url is not null;
create index frames_by_focus on frames (focused, id);
create index frames_by_screen on frames (monitor, id);

-- The different window titles and addresses, of which there are far fewer than frames: a filter is a piece of
-- one, and is looked for among these before frames are.
create table window_names (name text primary key) without rowid;
create trigger window_names_insert after insert on frames when new.window_name is not null
begin
    insert or ignore into window_names (name) values (new.window_name);
end;
create trigger window_names_update after update of window_name on frames
begin
    insert or ignore into window_names (name) select new.window_name where new.window_name is not null;
    delete from window_names
    where name = old.window_name and not exists (
        select 1 from frames where window_name = old.window_name
    );
end;
create trigger window_names_delete after delete on frames when old.window_name is not null
begin
    delete from window_names
    where name = old.window_name and not exists (
        select 1 from frames where window_name = old.window_name
    );
end;

create table browser_urls (name text primary key) without rowid;
create trigger browser_urls_insert after insert on frames when new.browser_url is not null
begin
    insert or ignore into browser_urls (name) values (new.browser_url);
end;
create trigger browser_urls_update after update of browser_url on frames
begin
    insert or ignore into browser_urls (name) select new.browser_url where new.browser_url is not null;
    delete from browser_urls
    where name = old.browser_url and not exists (
        select 1 from frames where browser_url = old.browser_url
    );
end;
create trigger browser_urls_delete after delete on frames when old.browser_url is not null
begin
    delete from browser_urls
    where name = old.browser_url and not exists (
        select 1 from frames where browser_url = old.browser_url
    );
end;

-- An app that was seen, with its colour for good.
create table apps (
    name text primary key,
    colour_slot integer,
    first_ms integer not null
) without rowid;

-- What became of each capture: makes ingest idempotent.
create table ingest_records (
    capture_id text primary key,
    outcome text not null
        check (outcome in ('stored', 'deduplicated', 'excluded', 'failed', 'deleted')),
    frame_id integer,
    reason text,
    captured_ms integer not null,
    recorded_ms integer not null
) without rowid;
create index ingest_records_by_frame on ingest_records (frame_id);

-- Files to unlink: written in the transaction that removes the rows, emptied by a sweep, so that a crash
-- between the two leaves no picture behind.
create table media_trash (path text primary key) without rowid;

-- Frames that a person wants kept whatever retention says; cited ones are kept beside them.
create table pins (
    frame_id integer primary key references frames (id) on delete cascade,
    pinned_ms integer not null
);

-- What a person (`source`) or a rule marked a frame with.
create table frame_tags (
    frame_id integer not null,
    tag text not null collate nocase,
    created_ms integer not null,
    source text not null default 'person',  -- rule, person
    primary key (frame_id, tag)
) without rowid;
create index frame_tags_by_tag on frame_tags (tag);

-- Which frames came in before rules marked frames: one row while there are any, ids from `below` on are done.
-- Frames that were stored later were marked as they came in, and a tag that a person took off stays off.
create table frame_tag_backfill (
    below integer not null,  -- frames from this id on are done
    stored_before_ms integer not null
);


-- == readings ================================================================================

-- A frame's text as one engine read it: lines joined by newlines, their boxes in `layout`
-- (`store.ocr.readings`). A frame may be read again; the current reading is the one that is searched and
-- shown, and a citation keeps the one it quoted.
create table readings (
    id integer primary key,
    frame_id integer not null references frames (id) on delete cascade,
    engine text not null,
    language text not null,
    text text not null,
    layout blob not null,
    words integer not null,
    confidence real,  -- mean over words, 0..1
    duration_ms integer not null,
    read_ms integer not null,
    is_current integer not null check (is_current in (0, 1))
);
create index readings_by_frame on readings (frame_id);
create unique index readings_current on readings (frame_id) where is_current = 1;

-- A URL that stands in a frame's text.
create table frame_urls (
    frame_id integer not null references frames (id) on delete cascade,
    url text not null,
    primary key (frame_id, url)
) without rowid;

-- The rowid is the frame's id, so deleting goes by rowid and a time range is a rowid range. The lists for
-- beginnings of one to three letters (`prefix`) answer `e*` at once, which took half a second per million
-- frames (https://sqlite.org/fts5.html#prefix_indexes).
create view frame_texts as
select f.id, coalesce(r.text, '') as text, coalesce(f.app_name, '') as app_name,
    coalesce(f.window_name, '') as window_name, coalesce(f.browser_url, '') as browser_url
from frames f
left join readings r on r.frame_id = f.id and r.is_current = 1;

create virtual table frames_fts using fts5 (
    text, app_name, window_name, browser_url,
    content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect', prefix = '1 2 3'
);
insert into frames_fts (frames_fts, rank) values ('secure-delete', 1);

-- The index in the making, empty but for a rebuild, after which it takes the place of the other.
create virtual table frames_fts_next using fts5 (
    text, app_name, window_name, browser_url,
    content = 'frame_texts', content_rowid = 'id', tokenize = 'recollect', prefix = '1 2 3'
);
insert into frames_fts_next (frames_fts_next, rank) values ('secure-delete', 1);


-- == what capture saw and decided ============================================================

-- A stretch of looks as the capture daemon counted them.
create table look_batches (
    id text primary key,
    start_ms integer not null,
    end_ms integer not null,
    looks integer not null
) without rowid;
create index look_batches_by_time on look_batches (start_ms);

-- The time that looks cover, from which gaps are told: a year has three million batches and some thousand
-- spans. Each new batch is joined with the spans it touches, in whatever order batches arrive; holes of up to
-- ten seconds are closed (`CONTINUOUS_MS` of the activity line), and spans never touch each other.
create table look_spans (start_ms integer primary key, end_ms integer not null);
create trigger look_batches_join after insert on look_batches
begin
    insert or replace into look_spans (start_ms, end_ms)
    select
        min(new.start_ms, coalesce(min(start_ms), new.start_ms)),
        max(new.end_ms, coalesce(max(end_ms), new.end_ms))
    from look_spans
    where start_ms >= coalesce(
            (select max(start_ms) from look_spans where start_ms <= new.start_ms), new.start_ms
        )
        and start_ms <= new.end_ms + 10000
        and end_ms >= new.start_ms - 10000;
    delete from look_spans
    where start_ms > (select max(start_ms) from look_spans where start_ms <= new.start_ms)
        and start_ms <= new.end_ms + 10000;
end;

-- A run of equal capture decisions; never a title, app or URL of what was left out.
create table decisions (
    id integer primary key,
    batch_id text,
    monitor text not null default '',
    decision text not null
        check (decision in ('kept', 'deduped', 'excluded', 'paused', 'failed')),
    reason text not null,
    start_ms integer not null,
    end_ms integer not null,
    looks integer not null
);
create index decisions_by_time on decisions (start_ms, end_ms);
create index decisions_by_batch on decisions (batch_id);
create index decisions_idle on decisions (start_ms, end_ms) where reason = 'idle';

-- Stretches of activity in one window: derived from frames, can be made again.
create table segments (
    id integer primary key,
    start_ms integer not null,
    end_ms integer not null,
    app_name text,
    window_name text,
    browser_url text,
    first_frame_id integer not null,
    last_frame_id integer not null,
    frames integer not null
);
create index segments_by_time on segments (start_ms);
create index segments_by_end on segments (end_ms);


-- == vectors =================================================================================

-- A model that vectors are or were made with; one is active.
create table embedding_models (
    id integer primary key,
    name text not null unique,
    dimension integer not null,
    is_active integer not null check (is_active in (0, 1))
);

-- The meaning of one chunk of a thing's text, one byte per number. An index in memory knows rows by id, so
-- an id must never come back.
create table vectors (
    id integer primary key autoincrement,
    kind text not null check (kind in ('frame', 'document', 'message', 'day')),
    thing_id integer not null,  -- of that kind
    model_id integer not null references embedding_models (id),
    chunk_start integer not null,
    chunk_end integer not null,
    vector blob not null
);
create index vectors_by_thing on vectors (kind, thing_id, model_id);

-- What waits for its vectors. A row goes in the transaction that stores them, so a restart goes on where the
-- last run ended.
create table embedding_queue (
    kind text not null,
    thing_id integer not null,
    primary key (kind, thing_id)
) without rowid;


-- == memory: observations and summaries of work sessions =====================================

-- What was done: derived from the frames of one clock hour, so it can be derived again. `edits` is what a
-- person wrote instead; deriving never touches it.
create table observations (
    id integer primary key autoincrement,
    hour integer not null,  -- start of the hour, in hours since the epoch
    place text not null,  -- a hash of the app with the site or the window: one of each in an hour
    start_ms integer not null,
    end_ms integer not null,
    active_ms integer not null,  -- the time really spent there between the two
    app_name text,
    kind text not null,  -- coding, browsing, messages, …
    project text,
    title text not null,
    narrative text not null,
    source text not null check (source in ('rule', 'model')),
    edits text not null default '{}',  -- JSON: fields a person wrote instead
    is_hidden integer not null default 0 check (is_hidden in (0, 1)),
    fingerprint text not null,  -- of what the rules made: changes when the frames say something else
    refine_attempts integer not null default 0,
    refine_next_ms integer,  -- null: not to be refined (any more)
    refine_error text,
    updated_ms integer not null,
    unique (hour, place)
);
create index observations_by_time on observations (start_ms, id);
create index observations_to_refine on observations (refine_next_ms)
where refine_next_ms is not null;

-- A frame that an observation was made from.
create table observation_frames (
    observation_id integer not null references observations (id) on delete cascade,
    frame_id integer not null,
    primary key (observation_id, frame_id)
) without rowid;
create index observation_frames_by_frame on observation_frames (frame_id);

-- A line that stood on a frame, word for word.
create table observation_facts (
    observation_id integer not null references observations (id) on delete cascade,
    n integer not null,
    frame_id integer not null,
    text text not null,
    primary key (observation_id, n)
) without rowid;
create index observation_facts_by_frame on observation_facts (frame_id);

-- Concepts, files and addresses, as they are now with the person's edits.
create table observation_terms (
    observation_id integer not null references observations (id) on delete cascade,
    term text not null check (term in ('concept', 'file', 'url')),
    n integer not null,
    value text not null,
    primary key (observation_id, term, n)
) without rowid;
create index observation_terms_by_value on observation_terms (term, value collate nocase);

-- The summary of a stretch of use; null where nothing honest can be said.
create table session_summaries (
    id integer primary key autoincrement,
    start_ms integer not null,
    end_ms integer not null,
    request text,
    investigated text,
    learned text,
    completed text,
    next_steps text,
    notes text,
    project text,
    updated_ms integer not null
);
create index session_summaries_by_time on session_summaries (start_ms, id);

-- Hours whose frames or texts changed since they were derived; `changes` tells whether one changed again
-- meanwhile. Idle time comes late: when it is entered, the frames on both sides may be old news.
create table memory_hours (
    hour integer primary key,
    changes integer not null default 1
);
create trigger memory_hours_frame after insert on frames
begin
    insert into memory_hours (hour) values (new.captured_ms / 3600000)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger memory_hours_shown
after update of ended_ms, browser_url, window_name, app_name on frames
begin
    insert into memory_hours (hour) values (new.captured_ms / 3600000), (new.ended_ms / 3600000)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger memory_hours_gone after delete on frames
begin
    insert into memory_hours (hour) values (old.captured_ms / 3600000), (old.ended_ms / 3600000)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger memory_hours_read after insert on readings
begin
    insert into memory_hours (hour) values (new.frame_id / 1024 / 3600000)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger memory_hours_idle after insert on decisions when new.reason = 'idle'
begin
    insert into memory_hours (hour) values (new.start_ms / 3600000), (new.end_ms / 3600000)
    on conflict (hour) do update set changes = changes + 1;
end;

-- One searchable text per field of what is remembered.
create table memory_documents (
    id integer primary key autoincrement,
    document_id text not null unique,  -- obs_7_facts, summary_3_notes, prompt_12
    doc_type text not null check (  -- as in `store.memory.documents.DocType`
        doc_type in ('observation', 'session_summary', 'user_prompt', 'insight', 'chat_summary')
    ),
    sqlite_id integer not null,
    field text not null,
    session_id integer,
    project text,
    created_ms integer not null,  -- when it began
    ended_ms integer not null,  -- exclusive
    prompt_number integer not null default 0,
    text text not null
);
create index memory_documents_by_thing on memory_documents (doc_type, sqlite_id);
create index memory_documents_by_time on memory_documents (created_ms);

create virtual table memory_fts using fts5 (
    text, content = 'memory_documents', content_rowid = 'id', tokenize = 'recollect'
);
insert into memory_fts (memory_fts, rank) values ('secure-delete', 1);

create trigger memory_documents_insert after insert on memory_documents
begin
    insert into memory_fts (rowid, text) values (new.id, new.text);
    insert or ignore into embedding_queue (kind, thing_id) values ('document', new.id);
end;
create trigger memory_documents_update after update of text on memory_documents
begin
    insert into memory_fts (memory_fts, rowid, text) values ('delete', old.id, old.text);
    insert into memory_fts (rowid, text) values (new.id, new.text);
    delete from vectors where kind = 'document' and thing_id = old.id;
    insert or ignore into embedding_queue (kind, thing_id) values ('document', new.id);
end;
create trigger memory_documents_delete after delete on memory_documents
begin
    insert into memory_fts (memory_fts, rowid, text) values ('delete', old.id, old.text);
    delete from vectors where kind = 'document' and thing_id = old.id;
    delete from embedding_queue where kind = 'document' and thing_id = old.id;
end;
create trigger observations_document_gone after delete on observations
begin
    delete from memory_documents where doc_type = 'observation' and sqlite_id = old.id;
end;
create trigger session_summaries_document_gone after delete on session_summaries
begin
    delete from memory_documents where doc_type = 'session_summary' and sqlite_id = old.id;
end;


-- == days ====================================================================================

-- One row per clock hour of a day with activity; one without is a placeholder without points. `model_next_ms`
-- says when a chat model is to be asked for better words; null: not any more, which only an answer that was
-- kept brings about.
create table daily_hours (
    hour integer primary key,  -- since 1970, UTC
    source text not null check (source in ('none', 'rule', 'model')),
    fingerprint text not null,
    model_next_ms integer,  -- null: no model is to be asked (any more)
    model_attempts integer not null default 0,
    model_error text,
    updated_ms integer not null
);
create index daily_hours_to_tell on daily_hours (model_next_ms) where model_next_ms is not null;

-- One thing that was done in an hour.
create table daily_points (
    hour integer not null references daily_hours (hour) on delete cascade,
    n integer not null,
    at_ms integer not null,
    text text not null,
    primary key (hour, n)
) without rowid;

-- `text` stands word for word on the frame; '' where the frame as such shows it.
create table daily_quotes (
    hour integer not null references daily_hours (hour) on delete cascade,
    n integer not null,
    k integer not null,
    frame_id integer not null,
    text text not null,
    primary key (hour, n, k)
) without rowid;
create index daily_quotes_by_frame on daily_quotes (frame_id);

-- Hours whose observations changed, and hours whose days have to be written anew.
create table daily_hours_due (
    hour integer primary key,
    changes integer not null default 1
);

-- An hour whose day has to be written anew.
create table daily_texts_due (
    hour integer primary key
);
create trigger daily_hours_observed after insert on observations
begin
    insert into daily_hours_due (hour) values (new.hour)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger daily_hours_changed
after update of title, narrative, source, edits, is_hidden, fingerprint, start_ms on observations
begin
    insert into daily_hours_due (hour) values (new.hour)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger daily_hours_gone after delete on observations
begin
    insert into daily_hours_due (hour) values (old.hour)
    on conflict (hour) do update set changes = changes + 1;
end;
create trigger daily_hours_forgotten after delete on daily_hours
begin
    insert into daily_hours_due (hour) values (old.hour)
    on conflict (hour) do update set changes = changes + 1;
    insert into daily_texts_due (hour) values (old.hour) on conflict do nothing;
end;

-- One row per local day, made of the hours of that day, which may begin after midnight.
create table daily_summaries (
    id integer primary key autoincrement,
    day text not null unique,  -- 2026-11-20
    zone text not null,  -- IANA name
    start_ms integer not null,
    end_ms integer not null,
    text text not null,
    source text not null check (source in ('rule', 'model')),
    updated_ms integer not null,
    day_start_min integer not null default 0
);
create index daily_summaries_by_time on daily_summaries (start_ms);

create virtual table daily_summaries_fts using fts5 (
    text, content = 'daily_summaries', content_rowid = 'id', tokenize = 'recollect'
);
insert into daily_summaries_fts (daily_summaries_fts, rank) values ('secure-delete', 1);

create trigger daily_summaries_insert after insert on daily_summaries
begin
    insert into daily_summaries_fts (rowid, text) values (new.id, new.text);
    insert into embedding_queue (kind, thing_id) values ('day', new.id)
    on conflict do nothing;
end;
create trigger daily_summaries_update after update of text on daily_summaries
begin
    insert into daily_summaries_fts (daily_summaries_fts, rowid, text)
    values ('delete', old.id, old.text);
    insert into daily_summaries_fts (rowid, text) values (new.id, new.text);
    delete from vectors where kind = 'day' and thing_id = old.id;
    insert into embedding_queue (kind, thing_id) values ('day', new.id)
    on conflict do nothing;
end;
create trigger daily_summaries_delete after delete on daily_summaries
begin
    insert into daily_summaries_fts (daily_summaries_fts, rowid, text)
    values ('delete', old.id, old.text);
    delete from vectors where kind = 'day' and thing_id = old.id;
    delete from embedding_queue where kind = 'day' and thing_id = old.id;
end;


-- == chats ===================================================================================

create table conversations (
    id integer primary key autoincrement,
    title text not null,
    created_ms integer not null,
    updated_ms integer not null,
    without_context integer not null default 0  -- whether the person switched memory off for this chat
);
create index conversations_by_update on conversations (updated_ms);

create table messages (
    id integer primary key,
    conversation_id integer not null references conversations (id) on delete cascade,
    turn integer not null,
    role text not null,
    content text not null,
    created_ms integer not null,
    session_id integer references chat_sessions (id) on delete set null,
    tokens integer
);
create index messages_by_conversation on messages (conversation_id, id);
create index messages_asked on messages (created_ms, id) where role = 'user';
create index messages_by_session on messages (session_id) where session_id is not null;

-- A question is a document of memory as soon as it is asked, and none when its chat goes.
create trigger messages_document after insert on messages
when new.role = 'user' and trim(new.content) <> ''
begin
    insert into memory_documents (document_id, doc_type, sqlite_id, field, session_id, created_ms,
        ended_ms, prompt_number, text)
    values ('prompt_' || new.id, 'user_prompt', new.id, 'prompt', new.conversation_id,
        new.created_ms, new.created_ms + 1, new.turn, new.content);
end;
create trigger messages_document_gone after delete on messages when old.role = 'user'
begin
    delete from memory_documents where doc_type = 'user_prompt' and sqlite_id = old.id;
end;

-- `given` is what a question was given beside its words (JSON: range, filters, frames), so that it can be
-- asked again as it was; `payload` the claims, coverage and usage of the answer.
create table turns (
    id integer primary key,
    conversation_id integer not null references conversations (id) on delete cascade,
    n integer not null,
    mode text not null,
    model text not null,
    status text not null check (status in ('running', 'done', 'failed')),
    question text not null,
    answer_md text not null default '',
    start_ms integer,
    end_ms integer,
    timezone text not null,
    payload text not null default '{}',  -- JSON: claims, coverage, usage, warnings, error
    created_ms integer not null,
    persona_id integer references personas (id) on delete set null,
    persona_version integer,
    style_note text not null default '',
    given text not null default '{}',  -- JSON: what was given beside the words
    unique (conversation_id, n)
);
create index turns_personas on turns (persona_id) where persona_id is not null;

-- What was shown for a turn; with `n` it is a citation. `confidence` is that of the least sure of the quoted
-- words, null where the reader did not say.
create table evidence (
    id integer primary key,
    turn_id integer not null references turns (id) on delete cascade,
    n integer,  -- citation number; null = retrieved, not cited
    frame_id integer references frames (id) on delete set null,
    reading_id integer,
    captured_ms integer not null,
    app_name text,
    window_name text,
    focused integer,
    browser_url text,
    snippet text not null,
    quote text not null,
    boxes text not null default '[]',  -- JSON [[x, y, w, h], …] pixels of the frame
    state text not null,
    needs_check integer not null default 0,  -- 1: the frame was read again since its quote was looked for
    checked_ms integer,  -- when it was looked for in a later reading
    confidence real  -- 0..1, of the least sure of the quoted words
);
create index evidence_by_turn on evidence (turn_id, n);
create index evidence_by_frame on evidence (frame_id);
create index evidence_cited on evidence (frame_id) where n is not null and frame_id is not null;
create index evidence_to_check on evidence (turn_id) where needs_check = 1;

-- A citation was found in one reading of its frame. When another becomes the current one, it has to be looked
-- for again, and until then nothing is said about it.
create trigger evidence_read_again after insert on readings when new.is_current = 1
begin
    update evidence set state = 'not_checked', needs_check = 1
    where frame_id = new.frame_id and n is not null and state <> 'deleted';
end;
create trigger evidence_reading_chosen after update of is_current on readings
when new.is_current = 1 and old.is_current <> 1
begin
    update evidence set state = 'not_checked', needs_check = 1
    where frame_id = new.frame_id and n is not null and state <> 'deleted';
end;

-- A citation has n > 0, the answer as a whole n = 0. What was cited stands in `evidence`, so that deleting a
-- frame or a chat leaves nothing of it here.
create table answer_reports (
    turn_id integer not null references turns (id) on delete cascade,
    n integer not null check (n >= 0),  -- citation number; 0 = the answer as a whole
    verdict text not null check (verdict in ('right', 'wrong')),
    note text not null default '',
    reported_ms integer not null,
    primary key (turn_id, n)
) without rowid;

-- Files that somebody attached to a question; without a chat they are not asked about yet. A composer that
-- stands open for a day must not name another file by then, so ids are never given twice.
create table attachments (
    id integer primary key autoincrement,
    -- null, as the turn, until the question is asked
    conversation_id integer references conversations (id) on delete cascade,
    turn integer,
    sha256 text not null,  -- the file's name on the disk
    name text not null,
    kind text not null check (kind in ('text', 'html', 'pdf', 'docx', 'image')),
    media_type text not null,
    size_bytes integer not null,
    text text not null,
    is_whole integer not null,  -- 0: there is more in the file than `text`
    pages integer,
    width_px integer,
    height_px integer,
    added_ms integer not null,
    check ((conversation_id is null) = (turn is null))
);
create index attachments_of_chat on attachments (conversation_id, turn);
create index attachments_of_file on attachments (sha256);

-- The file of the last row that named it has to go from the disk, also where a chat's cascade deleted it.
create table attachment_trash (sha256 text primary key) without rowid;
create trigger attachments_gone after delete on attachments
when not exists (select 1 from attachments where sha256 = old.sha256)
begin
    insert or ignore into attachment_trash (sha256) values (old.sha256);
end;

-- One for each chat, and one for a chat that is not begun.
create table drafts (
    id integer primary key,
    conversation_id integer references conversations (id) on delete cascade,
    message text not null,
    saved_ms integer not null
);
create unique index drafts_place on drafts (coalesce(conversation_id, 0));


-- == personas and prompts ====================================================================

-- Who may speak, as it stands now. `builtin` is the key of one that came with Recollect.
create table personas (
    id integer primary key autoincrement,
    builtin text unique,
    name text not null,
    description text not null default '',
    system_prompt text not null,
    version integer not null default 1,
    is_edited integer not null default 0,
    archived_ms integer,
    created_ms integer not null,
    updated_ms integer not null
);
create unique index personas_names on personas (name collate nocase) where archived_ms is null;

-- What a turn names stays readable, whatever the persona says now.
create table persona_versions (
    persona_id integer not null references personas (id) on delete cascade,
    version integer not null,
    name text not null,
    description text not null,
    system_prompt text not null,
    saved_ms integer not null,
    primary key (persona_id, version)
) without rowid;

-- What a model is always told first; an empty version is a prompt that was cleared.
create table model_prompts (
    model_id text not null,
    version integer not null,
    content text not null,
    sha256 text not null,
    saved_by text not null check (saved_by in ('person', 'program')),
    is_draft integer not null,  -- saved by the editor while somebody typed
    begun_ms integer not null,
    saved_ms integer not null,
    primary key (model_id, version)
) without rowid;


-- == tools of a chat =========================================================================

-- `shown_from_ms` to `shown_until_ms` is the stretch of the screen that the output shows: when something of it
-- is deleted, what was asked and given goes (`is_forgotten`). `said` is what the model said beside the calls.
create table tool_calls (
    id integer primary key autoincrement,
    turn_id integer not null references turns (id) on delete cascade,
    iteration integer not null,
    call_id text not null,
    tool text not null,
    arguments text not null,
    arguments_sha256 text not null,
    state text not null check (state in (
        'pending', 'approved', 'executing', 'completed', 'failed', 'denied', 'timed_out', 'expired'
    )),
    decided_by text not null default '',
    output text not null default '',
    error text not null default '',
    shown_from_ms integer,
    shown_until_ms integer,
    is_forgotten integer not null default 0,
    created_ms integer not null,
    expires_ms integer,
    started_ms integer,
    finished_ms integer,
    said text not null default '',
    notice text not null default '',  -- what the person was told it would do
    scope text not null default '',  -- what a standing approval of it would cover
    unique (turn_id, iteration, call_id)
);
create index tool_calls_pending on tool_calls (turn_id) where state = 'pending';
create index tool_calls_shown on tool_calls (shown_from_ms) where shown_from_ms is not null;

-- `hosts` (joined by blanks) are those a tool that sends something had when it was allowed to run without
-- asking; at another one it asks again.
create table tool_modes (
    tool text primary key,
    mode text not null check (mode in ('auto', 'ask', 'off')),
    changed_ms integer not null,
    hosts text not null default ''  -- where one that sends something may run without asking
) without rowid;

-- Standing approvals, in one chat or, without one, in all.
create table tool_rules (
    id integer primary key autoincrement,
    tool text not null,
    conversation_id integer references conversations (id) on delete cascade,
    scope text not null,  -- what it reaches, in words
    allowed_ms integer not null,
    uses integer not null default 0
);
create unique index tool_rules_once on tool_rules (tool, coalesce(conversation_id, 0), scope);
create index tool_rules_by_conversation on tool_rules (conversation_id)
where conversation_id is not null;

-- What was run and decided, without what it said.
create table tool_log (
    id integer primary key autoincrement,
    at_ms integer not null,
    tool text not null,
    event text not null,
    duration_ms integer
);


-- == insights ================================================================================

-- What a conversation is about, where it is about a frame or a moment.
create table anchors (
    conversation_id integer primary key references conversations (id) on delete cascade,
    kind text not null check (kind in ('frame', 'moment')),
    frame_id integer references frames (id) on delete cascade,
    start_ms integer not null,
    end_ms integer not null,
    amends_id integer references insights (id) on delete set null,
    check ((kind = 'frame') = (frame_id is not null))
);
create index anchors_by_frame on anchors (frame_id) where frame_id is not null;
create index anchors_by_amended on anchors (amends_id) where amends_id is not null;

-- A narrative of an anchor; of each anchor one is current.
create table insights (
    id integer primary key autoincrement,
    anchor_kind text not null check (anchor_kind in ('frame', 'moment')),
    frame_id integer references frames (id) on delete cascade,
    start_ms integer not null,
    end_ms integer not null,
    turn_id integer not null unique references turns (id) on delete cascade,
    persona_id integer references personas (id) on delete set null,
    title text not null,
    summary text not null,
    training_messages text not null,
    is_current integer not null check (is_current in (0, 1)),
    is_forgotten integer not null default 0 check (is_forgotten in (0, 1)),
    created_ms integer not null,
    check ((anchor_kind = 'frame') = (frame_id is not null))
);
create unique index insights_current_of_frame on insights (frame_id)
where is_current = 1 and anchor_kind = 'frame';
create unique index insights_current_of_moment on insights (start_ms, end_ms)
where is_current = 1 and anchor_kind = 'moment';
create index insights_by_frame on insights (frame_id, id) where frame_id is not null;
create index insights_by_time on insights (start_ms, id);
create index insights_by_persona on insights (persona_id) where persona_id is not null;

-- When the current one goes, the newest of the same anchor takes its place.
create trigger insights_succeeded after delete on insights when old.is_current = 1
begin
    update insights set is_current = 1
    where id = (
        select max(id) from insights
        where anchor_kind = old.anchor_kind and frame_id is old.frame_id
            and (anchor_kind = 'frame' or (start_ms = old.start_ms and end_ms = old.end_ms))
    );
end;

-- A document of memory of each current insight, and of no other.
create trigger insights_document after insert on insights when new.is_current = 1
begin
    insert into memory_documents (document_id, doc_type, sqlite_id, field, created_ms, ended_ms, text)
    values ('insight_' || new.id, 'insight', new.id, 'insight', new.start_ms, new.end_ms,
        new.title || char(10) || new.summary);
end;
create trigger insights_document_changed after update of is_current, title, summary on insights
begin
    delete from memory_documents
    where doc_type = 'insight' and sqlite_id = new.id and new.is_current = 0;
    insert or ignore into memory_documents
        (document_id, doc_type, sqlite_id, field, created_ms, ended_ms, text)
    select 'insight_' || new.id, 'insight', new.id, 'insight', new.start_ms, new.end_ms,
        new.title || char(10) || new.summary
    where new.is_current = 1;
    update memory_documents set text = new.title || char(10) || new.summary
    where doc_type = 'insight' and sqlite_id = new.id
        and text <> new.title || char(10) || new.summary;
end;
create trigger insights_document_gone after delete on insights
begin
    delete from memory_documents where doc_type = 'insight' and sqlite_id = old.id;
end;


-- == memory of chats =========================================================================

-- A chat as one window looked at it, from its opening to its closing.
create table chat_sessions (
    id integer primary key autoincrement,
    conversation_id integer references conversations (id) on delete cascade,
    state text not null default 'open' check (state in ('open', 'closed')),
    is_visible integer not null default 1,
    created_ms integer not null,
    seen_ms integer not null,
    closed_ms integer,
    closed_by text not null default '',  -- window, stale, new, or ''
    summary_state text not null default 'none'
        check (summary_state in ('none', 'pending', 'made', 'empty')),
    metadata text not null default '{}'
);
create index chat_sessions_by_chat on chat_sessions (conversation_id, id);
create index chat_sessions_open on chat_sessions (seen_ms) where state = 'open';
create index chat_sessions_pending on chat_sessions (id) where summary_state = 'pending';

-- `traces` says where each sentence is from; null where that was not looked for when it was made.
create table chat_summaries (
    session_id integer primary key references chat_sessions (id) on delete cascade,
    ended_ms integer not null,
    request text,
    investigated text,
    learned text,
    completed text,
    next_steps text,
    notes text,
    tokens integer not null default 0,
    made_by text not null,
    is_edited integer not null default 0,
    is_retracted integer not null default 0,
    vector blob,
    vector_model text,
    updated_ms integer not null,
    traces text
);
create index chat_summaries_by_time on chat_summaries (ended_ms, session_id);

-- What a session was about, from the person's own words.
create table session_tags (
    session_id integer not null references chat_sessions (id) on delete cascade,
    tag text not null,
    confidence real not null,
    primary key (session_id, tag)
) without rowid;
create index session_tags_by_tag on session_tags (tag);

-- Digests: `lines` is a JSON list of {text, sessions, at_ms}, `session_ids` all they rest on.
create table user_chat_summaries (
    kind text primary key check (kind in ('recent', 'history')),
    lines text not null,
    session_ids text not null,
    until_ms integer not null,
    built_ms integer not null
) without rowid;

-- A digest of what was said about one topic.
create table user_topic_summaries (
    id integer primary key autoincrement,
    topic text not null unique,
    title text not null,
    lines text not null,
    session_ids text not null,
    score real not null,
    is_dismissed integer not null default 0,
    built_ms integer not null,
    expires_ms integer not null
);

-- What a turn told the model as background; the text goes with what it was made of.
create table context_packs (
    turn_id integer primary key references turns (id) on delete cascade,
    session_id integer not null references chat_sessions (id) on delete cascade,
    hash text not null,
    text text not null,
    record text not null,
    tokens integer not null,
    build_ms real not null,
    created_ms integer not null
);
create index context_packs_by_session on context_packs (session_id, hash);

-- Whose summaries a pack was made of; those may be gone.
create table context_pack_sources (
    turn_id integer not null references context_packs (turn_id) on delete cascade,
    session_id integer not null,
    primary key (turn_id, session_id)
) without rowid;
create index context_pack_sources_by_session on context_pack_sources (session_id);

-- Sizes and times of a sampled turn; no words.
create table context_samples (
    turn_id integer primary key references turns (id) on delete cascade,
    pack_tokens integer not null,
    prompt_tokens integer not null,
    build_ms real not null,
    helpfulness real,
    created_ms integer not null
);

-- Whose summaries a tool gave to the model in a turn; what it gave goes with them, as packs do.
create table chat_uses (
    turn_id integer not null references turns (id) on delete cascade,
    session_id integer not null,
    primary key (turn_id, session_id)
) without rowid;
create index chat_uses_by_session on chat_uses (session_id);

-- Digests say what summaries said: they are made anew when one changes or goes.
create trigger chat_summaries_changed
after update of request, investigated, learned, completed, next_steps, notes, is_retracted
on chat_summaries
begin
    delete from user_chat_summaries
    where new.is_retracted <> old.is_retracted
        or exists (select 1 from json_each(session_ids) where value = new.session_id);
    update user_topic_summaries set lines = '[]', session_ids = '[]', expires_ms = 0
    where exists (select 1 from json_each(session_ids) where value = new.session_id)
        or topic in (select tag from session_tags where session_id = new.session_id);
end;
create trigger chat_summaries_gone after delete on chat_summaries
begin
    delete from user_chat_summaries
    where exists (select 1 from json_each(session_ids) where value = old.session_id);
    update user_topic_summaries set lines = '[]', session_ids = '[]', expires_ms = 0
    where exists (select 1 from json_each(session_ids) where value = old.session_id);
    update sent_requests set body = null
    where turn_id in (
        select turn_id from context_pack_sources where session_id = old.session_id
    );
    update context_packs set text = '', record = '{}', hash = ''
    where turn_id in (
        select turn_id from context_pack_sources where session_id = old.session_id
    );
end;

-- A document of memory of each summary that was not retracted and says something. Rules say of `completed`
-- and `notes` only how many questions and statements there were, which is nothing to search for.
create trigger chat_summaries_document after insert on chat_summaries
begin
    insert into memory_documents
        (document_id, doc_type, sqlite_id, field, session_id, created_ms, ended_ms, text)
    select 'chat_' || c.id, 'chat_summary', c.id, 'chat', c.conversation_id, c.created_ms, s.ended_ms + 1,
        concat_ws(char(10), s.request, s.investigated, s.learned,
            iif(s.made_by = 'rules', null, s.completed), s.next_steps,
            iif(s.made_by = 'rules', null, s.notes))
    from chat_summaries s join chat_sessions c on c.id = s.session_id
    where s.is_retracted = 0 and c.conversation_id is not null
        and trim(concat_ws(char(10), s.request, s.investigated, s.learned,
            iif(s.made_by = 'rules', null, s.completed), s.next_steps,
            iif(s.made_by = 'rules', null, s.notes))) <> ''
        and not exists (
            select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.id
        )
        and s.session_id = new.session_id;
end;
create trigger chat_summaries_document_changed
after update of request, investigated, learned, completed, next_steps, notes, made_by, is_retracted, ended_ms
on chat_summaries
begin
    delete from memory_documents
    where doc_type = 'chat_summary' and sqlite_id = new.session_id
        and (new.is_retracted = 1
            or trim(concat_ws(char(10), new.request, new.investigated, new.learned,
                iif(new.made_by = 'rules', null, new.completed), new.next_steps,
                iif(new.made_by = 'rules', null, new.notes))) = '');
    insert into memory_documents
        (document_id, doc_type, sqlite_id, field, session_id, created_ms, ended_ms, text)
    select 'chat_' || c.id, 'chat_summary', c.id, 'chat', c.conversation_id, c.created_ms, s.ended_ms + 1,
        concat_ws(char(10), s.request, s.investigated, s.learned,
            iif(s.made_by = 'rules', null, s.completed), s.next_steps,
            iif(s.made_by = 'rules', null, s.notes))
    from chat_summaries s join chat_sessions c on c.id = s.session_id
    where s.is_retracted = 0 and c.conversation_id is not null
        and trim(concat_ws(char(10), s.request, s.investigated, s.learned,
            iif(s.made_by = 'rules', null, s.completed), s.next_steps,
            iif(s.made_by = 'rules', null, s.notes))) <> ''
        and not exists (
            select 1 from memory_documents d where d.doc_type = 'chat_summary' and d.sqlite_id = c.id
        )
        and s.session_id = new.session_id;
    update memory_documents set ended_ms = new.ended_ms + 1
    where doc_type = 'chat_summary' and sqlite_id = new.session_id;
    update memory_documents
    set text = concat_ws(char(10), new.request, new.investigated, new.learned,
        iif(new.made_by = 'rules', null, new.completed), new.next_steps,
        iif(new.made_by = 'rules', null, new.notes))
    where doc_type = 'chat_summary' and sqlite_id = new.session_id
        and text <> concat_ws(char(10), new.request, new.investigated, new.learned,
            iif(new.made_by = 'rules', null, new.completed), new.next_steps,
            iif(new.made_by = 'rules', null, new.notes));
end;
create trigger chat_summaries_document_gone after delete on chat_summaries
begin
    delete from memory_documents where doc_type = 'chat_summary' and sqlite_id = old.session_id;
end;

-- What a tool told of a chat goes with its summary.
create trigger chat_uses_gone after delete on chat_summaries
begin
    update tool_calls
    set arguments = '{}', arguments_sha256 = '', output = '', error = '', said = '', notice = '',
        is_forgotten = 1
    where tool = 'search_chats'
        and turn_id in (select turn_id from chat_uses where session_id = old.session_id);
    update sent_requests set body = null
    where turn_id in (select turn_id from chat_uses where session_id = old.session_id);
end;


-- == imported sources ========================================================================

-- One file that was imported; `finished_ms` is null while it is, or when it was cut short.
create table imports (
    id integer primary key autoincrement,
    kind text not null check (kind in ('messages', 'calendar', 'location', 'places')),
    name text not null,
    format text not null,
    started_ms integer not null,
    finished_ms integer,
    added integer not null default 0,
    updated integer not null default 0,
    skipped integer not null default 0
);

-- Somebody messages were exchanged with.
create table contacts (
    id integer primary key autoincrement,
    name text not null  -- '' while only an address is known
);

-- A number, an e-mail address, or a name where a file has nothing else.
create table contact_addresses (
    address text primary key,
    contact_id integer not null references contacts (id) on delete cascade
) without rowid;
create index contact_addresses_by_contact on contact_addresses (contact_id);

-- `natural_key` tells, here and below, that a later import brings the same again.
create table text_messages (
    id integer primary key autoincrement,
    natural_key text not null unique,
    import_id integer not null references imports (id),  -- the import that brought it first
    service text not null,  -- sms, imessage, whatsapp, telegram, email, …
    conversation text not null,  -- name of a group, '' for an exchange of two
    contact_id integer references contacts (id),  -- the other one; null for one's own words in a group
    is_outgoing integer not null check (is_outgoing in (0, 1)),
    sent_ms integer not null,
    subject text not null,
    body text not null
);
create index text_messages_by_time on text_messages (sent_ms, id);
create index text_messages_by_contact on text_messages (contact_id, sent_ms);
create index text_messages_by_import on text_messages (import_id);

create virtual table text_messages_fts using fts5 (
    subject, body, content = 'text_messages', content_rowid = 'id', tokenize = 'recollect'
);
insert into text_messages_fts (text_messages_fts, rank) values ('secure-delete', 1);

create trigger text_messages_insert after insert on text_messages
begin
    insert into text_messages_fts (rowid, subject, body) values (new.id, new.subject, new.body);
    insert into embedding_queue (kind, thing_id) values ('message', new.id)
    on conflict do nothing;
end;
create trigger text_messages_update after update of subject, body on text_messages
begin
    insert into text_messages_fts (text_messages_fts, rowid, subject, body)
    values ('delete', old.id, old.subject, old.body);
    insert into text_messages_fts (rowid, subject, body) values (new.id, new.subject, new.body);
    delete from vectors where kind = 'message' and thing_id = old.id;
    insert into embedding_queue (kind, thing_id) values ('message', new.id)
    on conflict do nothing;
end;
create trigger text_messages_delete after delete on text_messages
begin
    insert into text_messages_fts (text_messages_fts, rowid, subject, body)
    values ('delete', old.id, old.subject, old.body);
    delete from vectors where kind = 'message' and thing_id = old.id;
    delete from embedding_queue where kind = 'message' and thing_id = old.id;
end;

-- `series` says which occurrences are of one event, so that a later import of it takes the place of all of
-- them; `told_in` is the last import that told of an occurrence, `import_id` stays the first.
create table calendar_events (
    id integer primary key autoincrement,
    natural_key text not null unique,
    import_id integer not null references imports (id),
    calendar text not null,
    title text not null,
    description text not null,
    location text not null,
    attendees text not null,  -- JSON list of names or addresses
    start_ms integer not null,
    end_ms integer not null,  -- exclusive; start_ms for an event without a length
    is_all_day integer not null check (is_all_day in (0, 1)),
    status text not null,  -- confirmed, tentative, cancelled or ''
    series text not null default '',  -- the same for all occurrences of an event, '' where it has no id
    told_in integer  -- the last import that told of it
);
create index calendar_events_by_time on calendar_events (start_ms, end_ms);
create index calendar_events_by_import on calendar_events (import_id);
create index calendar_events_by_series on calendar_events (series) where series <> '';
create index calendar_events_by_telling on calendar_events (told_in);

-- Degrees times ten million, as whole numbers: the same point is the same row.
create table location_points (
    id integer primary key autoincrement,
    at_ms integer not null,
    latitude_e7 integer not null,  -- degrees times 10,000,000
    longitude_e7 integer not null,
    import_id integer not null references imports (id),
    accuracy_m real,
    altitude_m real,
    source text not null,
    unique (at_ms, latitude_e7, longitude_e7)
);
create index location_points_by_import on location_points (import_id);

-- A place of one's own.
create table places (
    id integer primary key autoincrement,
    natural_key text not null unique,
    import_id integer not null references imports (id),
    name text not null,
    category text not null,
    address text not null,
    note text not null,
    latitude_e7 integer not null,
    longitude_e7 integer not null,
    radius_m real not null
);
create index places_by_import on places (import_id);


-- == entities and facts ======================================================================

-- `name_key` is the name as the index of words sees it. The span is of what the chat had been shown of the
-- screen when this was stored; it outlives the chat. Two that are one: `merged_into` is what was decided,
-- `merged_root` where that ends. Facts stay with the entity they were stored for, so that a merge can be
-- undone.
create table entities (
    id integer primary key autoincrement,
    kind text not null check (kind in ('person', 'place', 'event', 'thing')),
    name text not null,
    name_key text not null,  -- its tokens, joined by blanks
    description text not null,
    turn_id integer references turns (id) on delete set null,  -- the turn of a chat that stored it
    shown_from_ms integer,  -- what that chat had been shown of the screen
    shown_until_ms integer,
    created_ms integer not null,
    updated_ms integer not null,
    origin text not null default 'person',  -- chat, person, import
    described_by text not null default 'person',  -- chat, person, import
    merged_into integer references entities (id) on delete set null,  -- it is the same as that one
    merged_root integer references entities (id) on delete set null,  -- where merging ends
    unique (kind, name_key)
);
create index entities_by_root on entities (merged_root) where merged_root is not null;
create index entities_by_target on entities (merged_into) where merged_into is not null;

create table entity_frames (
    entity_id integer not null references entities (id) on delete cascade,
    frame_id integer not null,
    primary key (entity_id, frame_id)
) without rowid;
create index entity_frames_by_frame on entity_frames (frame_id);

create table entity_imports (
    entity_id integer not null references entities (id) on delete cascade,
    import_id integer not null references imports (id) on delete cascade,
    primary key (entity_id, import_id)
) without rowid;
create index entity_imports_by_import on entity_imports (import_id);

-- What was retracted stays, so that it is not learned again.
create table facts (
    id integer primary key autoincrement,
    subject_id integer not null references entities (id) on delete cascade,
    predicate text not null,
    object_entity_id integer references entities (id) on delete cascade,
    object_value text,
    source_frame_id integer,
    turn_id integer references turns (id) on delete set null,
    shown_from_ms integer,
    shown_until_ms integer,
    created_ms integer not null,
    origin text not null default 'person',  -- chat, person
    retracted_ms integer,
    retract_reason text not null default '',
    check ((object_entity_id is null) <> (object_value is null))
);
create unique index facts_said_once on facts (
    subject_id, predicate, coalesce(object_entity_id, 0), coalesce(object_value, ''),
    coalesce(source_frame_id, 0)
);
create index facts_by_object on facts (object_entity_id) where object_entity_id is not null;
create index facts_by_frame on facts (source_frame_id) where source_frame_id is not null;

-- What a tool gave to the model in a turn.
create table knowledge_uses (
    turn_id integer not null references turns (id) on delete cascade,
    kind text not null check (kind in ('entity', 'fact')),
    thing_id integer not null,
    primary key (turn_id, kind, thing_id)
) without rowid;
create index knowledge_uses_by_thing on knowledge_uses (kind, thing_id);
create trigger knowledge_uses_entity after delete on entities
begin
    delete from knowledge_uses where kind = 'entity' and thing_id = old.id;
end;
create trigger knowledge_uses_fact after delete on facts
begin
    delete from knowledge_uses where kind = 'fact' and thing_id = old.id;
end;


-- == what left the machine, and who asked ====================================================

-- A row per request to a model or a search engine; `body` is its text until that has to be forgotten.
create table sent_requests (
    id integer primary key autoincrement,
    purpose text not null check (purpose in (
        'answer', 'test', 'refine', 'embed', 'search', 'describe', 'web_search'
    )),
    turn_id integer references turns (id) on delete set null,
    at_ms integer not null,
    provider text not null,  -- the name it was chosen by
    model text not null,
    url text not null,
    is_local integer not null,
    size_bytes integer not null,  -- of the body
    body text,
    outcome text not null default 'sent',  -- sent, answered, or the code of an error
    input_tokens integer,
    output_tokens integer,
    is_estimated integer not null default 0,
    cost real,
    currency text not null default '',
    texts integer not null default 0,  -- to be embedded
    first_ms integer,  -- when the screens were taken that it shows
    last_ms integer,
    pictures integer not null default 0,
    blocks text not null default '',  -- JSON: [name, characters] of each block of the system prompt
    prefix_sha256 text not null default ''  -- of the system prompt up to the time
);
create index sent_requests_by_turn on sent_requests (turn_id) where turn_id is not null;
create index sent_requests_by_time on sent_requests (at_ms);
create index sent_requests_by_purpose on sent_requests (purpose, id);
create index sent_requests_with_text on sent_requests (purpose, id) where body is not null;

-- A chat that goes takes the texts along; that something was sent stays.
create trigger sent_requests_forgotten before delete on turns
begin
    update sent_requests set body = null where turn_id = old.id;
end;

-- What other programs asked for: counts and names of tools, never content, so nothing belongs to a frame.
create table access_log (
    id integer primary key,
    at_ms integer not null,
    door text not null,  -- mcp, mcp_http or screenpipe
    tool text not null,
    outcome text not null check (outcome in ('answered', 'refused', 'failed')),
    returned integer not null,
    withheld integer not null  -- kept back by the exclusion rules of that moment
);


-- == the home itself =========================================================================

-- Receipts of deletions: what went, in numbers.
create table deletions (
    id integer primary key,
    start_ms integer not null,
    end_ms integer not null,
    deleted_ms integer not null,
    receipt text not null
);
create index deletions_by_time on deletions (start_ms);

create table preferences (key text primary key, value text not null) without rowid;

-- A launch link opens the door once.
create table used_launch_codes (code_hash text primary key, expires_ms integer not null)
without rowid;
