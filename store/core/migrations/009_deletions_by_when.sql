-- Each screen capture that is stored asks what was deleted in the minute after it.
create index deletions_by_when on deletions (deleted_ms);
