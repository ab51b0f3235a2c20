"""The windows in view on a frame beside the one in front, and where each of them is.

A list of them is kept once, for all frames that show the same; a trigger removes that of no frame
(``migrations/017_visible_windows.sql``). A frame goes by the window in front; what stands in another one is
that one's (`Windows.beside`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import apsw

from store.core.database import Database, scalar
from store.privacy.rules import RuleSet
from store.spool.page_text import Area
from store.spool.queue import VisibleWindows, WindowPlaces, visible_windows_of, window_places_of

_GRID = 24
_ACROSS = (0.1, 0.5, 0.9)  # of a line's width: it may be read across the edge of a window


def encode(windows: VisibleWindows) -> str:
    """As it is stored; equal lists give equal texts."""
    return json.dumps(windows, ensure_ascii=False, separators=(",", ":"))


def decode(text: str) -> VisibleWindows:
    return visible_windows_of(json.loads(text))


def keep(connection: apsw.Connection, windows: VisibleWindows) -> int:
    """The id of this list. Call inside `Database.write()`, in the transaction that adds its frame."""
    text = (encode(windows),)
    connection.execute("insert or ignore into visible_windows (windows) values (?)", text)
    return int(scalar(connection, "select id from visible_windows where windows = ?", text))


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


OtherWindow = tuple[str | None, str | None, str | None]
"""(app, title, address) of a window that is not the one in front."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The windows of one frame, and whose a place on it is."""

    places: WindowPlaces = ()
    named: VisibleWindows = ()

    @property
    def front(self) -> Area | None:
        """The window in front without its menus."""
        own = (Area(*place[1:]) for place in self.places if place[0] == 0)
        return max(own, key=lambda area: area.w * area.h, default=None)

    def is_front(self, box: Area) -> bool:
        """Whether all of a line stands in the window in front, or where no window is."""
        return not any(self._owners(box))

    def beside(self, box: Area) -> OtherWindow | None:
        """The other window that most of a line stands in; without a name where nobody named it."""
        [(number, _)] = Counter(self._owners(box)).most_common(1)
        if number == 0:
            return None
        return self.named[number - 1] if 0 < number <= len(self.named) else (None, None, None)

    def of_all(self, boxes: Iterable[Area]) -> OtherWindow | None:
        """The one other window that all of some lines stand in."""
        owners = {self.beside(box) for box in boxes}
        return owners.pop() if len(owners) == 1 else None

    @property
    def others(self) -> list[OtherWindow]:
        """The other windows that show a twentieth of all or more, the largest first: no panels."""
        right = max((x + w for _, x, _, w, _ in self.places), default=0)
        bottom = max((y + h for _, _, y, _, h in self.places), default=0)
        steps = [(n + 0.5) / _GRID for n in range(_GRID)]
        shown = Counter(self._owner(right * across, bottom * down) for across in steps for down in steps)
        numbers = [n for n, count in shown.most_common() if 20 * count >= _GRID**2]
        return [self.named[n - 1] for n in numbers if 0 < n <= len(self.named)]

    def _owners(self, box: Area) -> list[int]:
        return [self._owner(box.x + box.w * share, box.y + box.h / 2) for share in _ACROSS]

    def _owner(self, x: float, y: float) -> int:
        inside = (n for n, left, top, w, h in self.places if left <= x < left + w and top <= y < top + h)
        return next(inside, 0)


UNTOLD = Windows()


def windows_of(connection: apsw.Connection, frame_id: int) -> Windows:
    """Whose the places on a frame are: all of the window in front where nobody told."""
    sql = """
        select f.window_places, v.windows from frames f left join visible_windows v on v.id = f.visible_id
        where f.id = ?
    """
    return windows_from(*(connection.execute(sql, (frame_id,)).fetchone() or (None, None)))


def windows_from(window_places: str | None, windows: str | None) -> Windows:
    """The same of the places in a row of `frames` and the list that belongs to it, as they are stored."""
    if window_places is None:
        return UNTOLD
    return Windows(window_places_of(json.loads(window_places)), decode(windows) if windows else ())


def lies_beside(window_places: str | None, boxes: Collection[Area]) -> bool:
    """Whether all of some lines stand in other windows, by what a row of `frames` says."""
    windows = windows_from(window_places, None)
    return bool(boxes) and all(windows.beside(box) is not None for box in boxes)
