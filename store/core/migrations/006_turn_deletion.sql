-- The last deletion (`deletions.id`) when a turn was asked: what came after it may have taken what the turn
-- looked at, whatever the clock says. Turns of before count as asked before every deletion.
alter table turns add column last_deletion_id integer not null default 0;
