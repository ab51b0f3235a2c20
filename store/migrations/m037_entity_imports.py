"""Which imported files an entity is known from."""

from __future__ import annotations

import apsw


def m037_entity_imports(connection: apsw.Connection) -> None:
    connection.execute(
        """
        create table entity_imports (
            entity_id integer not null references entities (id) on delete cascade,
            import_id integer not null references imports (id) on delete cascade,
            primary key (entity_id, import_id)
        ) without rowid;
        create index entity_imports_by_import on entity_imports (import_id);
        """
    )
