"""Tags by rule for frames that came in before there were any: a few at a time, the newest first."""

from __future__ import annotations

from collections.abc import Callable

from ingest.observations import places
from store.core.database import Database
from store.frames import tags

AT_ONCE = 200
"""Frames in one transaction: about 20 ms."""


def tag_some(database: Database, clock: Callable[[], int]) -> bool:
    """Mark some of the frames that still wait; False when none does.

    Reading, marking and noting how far it went are one transaction: killed in between, it is done again.
    """
    with database.read() as connection:
        if not tags.is_backfilling(connection):
            return False
    with database.write() as connection:
        for frame in tags.unmarked(connection, AT_ONCE):
            found = places.tags(frame.app_name, frame.window_name, frame.browser_url)
            tags.add_by_rule(connection, frame.id, found, clock())
    return True
