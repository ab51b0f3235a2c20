"""Care of what is remembered: who said it, taken back with a reason, two that are one, used in answers."""

from __future__ import annotations

import apsw


def m033_remembered(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- Two that are one: `merged_into` is what was decided, `merged_root` where that ends. Facts stay with
        -- the entity they were stored for, so that a merge can be undone.
        alter table entities add column origin text not null default 'person';
        alter table entities add column described_by text not null default 'person';
        alter table entities add column merged_into integer references entities (id) on delete set null;
        alter table entities add column merged_root integer references entities (id) on delete set null;
        create index entities_by_root on entities (merged_root) where merged_root is not null;
        create index entities_by_target on entities (merged_into) where merged_into is not null;

        -- What was taken back stays, so that it is not learned again.
        alter table facts add column origin text not null default 'person';
        alter table facts add column retracted_ms integer;
        alter table facts add column retract_reason text not null default '';

        update entities set origin = 'chat', described_by = 'chat'
        where turn_id is not null or shown_from_ms is not null;
        update facts set origin = 'chat' where turn_id is not null or shown_from_ms is not null;

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
        """
    )
