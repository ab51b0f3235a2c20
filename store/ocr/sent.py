"""Frames whose picture a cluster reads just now, or whose text it embeds. They are noted before they leave,
so that a deletion can name where else they are; what was noted by a program that was killed stays until the
next one notes its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Literal

import apsw

from store.core.database import Database, column
from store.core.preferences import put_preference, read_preference

What = Literal["pictures", "texts"]
_SENT: dict[What, str] = {"pictures": "cluster.sent", "texts": "cluster.sent_texts"}
_STORED = "select id from frames where id in (select value from json_each(?))"


def stored(database: Database, frame_ids: Collection[int]) -> set[int]:
    """Which of these frames are not deleted."""
    return set(database.column(_STORED, (json.dumps(list(frame_ids)),)))


def note(database: Database, address: str, frame_ids: Collection[int], what: What = "pictures") -> set[int]:
    """Note all that is at an address, or about to go there. Returns what may: the others are deleted."""
    with database.write() as connection:
        may_go = set(column(connection, _STORED, (json.dumps(list(frame_ids)),)))
        put_preference(connection, _SENT[what], {"address": address, "frames": sorted(may_go)})
        return may_go


def places(connection: apsw.Connection, frame_ids: Collection[int]) -> set[str]:
    """Where any of these frames are. Ask in the transaction that deletes them."""
    noted = [read_preference(connection, key, {"address": "", "frames": []}) for key in _SENT.values()]
    return {each["address"] for each in noted if not set(frame_ids).isdisjoint(each["frames"])}
