"""The windows in view on a frame beside the one in front.

A list of them is kept once, for all frames that show the same; a trigger removes that of no frame
(``migrations/017_visible_windows.sql``).
"""

from __future__ import annotations

import json

import apsw

from store.core.database import scalar
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
