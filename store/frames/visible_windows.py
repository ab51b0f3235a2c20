"""The windows in view on a frame beside the one in front.

A list of them is kept once, for all frames that show the same; a trigger removes that of no frame
(``migrations/017_visible_windows.sql``).
"""

from __future__ import annotations

import json

import apsw

from store.core.database import Database, scalar
from store.privacy.rules import RuleSet
from store.spool.queue import VisibleWindows, visible_windows_of


def encode(windows: VisibleWindows) -> str:
    """As it is stored; equal lists give equal texts."""
    return json.dumps(windows, ensure_ascii=False, separators=(",", ":"))


def decode(text: str) -> VisibleWindows:
    return visible_windows_of(json.loads(text))


def keep(connection: apsw.Connection, windows: VisibleWindows) -> int:
    """The id of this list. Call inside `Database.write()`, in the transaction that adds its frame."""
    text = encode(windows)
    connection.execute("insert or ignore into visible_windows (windows) values (?)", (text,))
    return int(scalar(connection, "select id from visible_windows where windows = ?", (text,)))


def of_frame(database: Database, frame_id: int) -> VisibleWindows:
    """Those of a frame; none where nobody told."""
    text = database.scalar(_OF_FRAME, (frame_id,))
    return () if text is None else decode(text)


def permits(database: Database, rules: RuleSet, frame_id: int, front: tuple[str | None, ...]) -> bool:
    """Whether rules let a frame out, whose window in `front` is (app, title, address): nothing that can be
    seen on it is left out.
    """
    return all(rules.permits(*window) for window in (front, *of_frame(database, frame_id)))


_OF_FRAME = "select windows from visible_windows where id = (select visible_id from frames where id = ?)"
