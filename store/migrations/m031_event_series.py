"""Which occurrences are of one event, so that a later import of it takes the place of all of them."""

from __future__ import annotations

import apsw


def m031_event_series(connection: apsw.Connection) -> None:
    connection.execute(
        """
        -- `told_in` is the last import that told of an occurrence; `import_id` stays the first.
        alter table calendar_events add column series text not null default '';
        alter table calendar_events add column told_in integer;
        create index calendar_events_by_series on calendar_events (series) where series <> '';
        create index calendar_events_by_telling on calendar_events (told_in);
        """
    )
