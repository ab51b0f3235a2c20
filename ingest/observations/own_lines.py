"""What of a frame's text is of the window in front.

A frame holds the whole screen. Where capture told the places of the windows, a line is of the one in front
if all of it stands there. Where it did not, the windows behind go on to show what they showed: a line that
stands where a window of another app had shown it before is of that app. Within an app a document keeps its
text while its title changes, so there nothing is told apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from store.core.database import scalar
from store.frames import visible_windows
from store.ocr import readings
from store.spool.page_text import Area

Text = tuple[int, int, str]
"""(frame, reading, text) of a frame that was read."""
_MOVED_PX = 8  # that a line which stays is read to have moved
_LAYOUT = "select layout from readings where id = ?"


def own_lines(connection: apsw.Connection, shown: Sequence[tuple[str, Sequence[Text]]]) -> list[list[Text]]:
    """The texts of some places, each with its app, without what windows of other apps behind them show."""
    own: list[list[Text]] = [[] for _ in shown]
    known: dict[str, list[tuple[str, Area]]] = {}
    in_time = sorted((text, number) for number, (_, texts) in enumerate(shown) for text in texts)
    for (frame_id, reading_id, text), number in in_time:
        app, kept = shown[number][0], list[str]()
        windows = visible_windows.windows_of(connection, frame_id)
        for start, end, box, _ in readings.places(scalar(connection, _LAYOUT, (reading_id,))):
            line = text[start:end]
            if windows.places:
                is_own = windows.is_front(box)
            else:
                is_own = _app_of(known.setdefault(line, []), app, box) == app
            if is_own:
                kept.append(line)
        own[number].append((frame_id, reading_id, "\n".join(kept)))
    return own


def _app_of(known: list[tuple[str, Area]], app: str, box: Area) -> str:
    """The app that showed a line here first; this one, from now on, where none did."""
    for other, there in known:
        if abs(there.x - box.x) <= _MOVED_PX and abs(there.y - box.y) <= _MOVED_PX:
            return other
    known.append((app, box))
    return app
