"""What of a frame's text is of the window in front, and may stand for what was done there.

A frame holds the whole screen. Where capture told the places of the windows, a line is of the one in front
if all of it stands there. Where it did not, the windows behind go on to show what they showed: a line that
stands where a window of another app had shown it before is of that app. Within an app a document keeps its
text while its title changes, so there nothing is told apart.

What stands at one height under nearly all titles of an app is the app's own: tabs, tool bars, menus. It is
compared sign by sign, because tabs come and go and small letters are misread in another way each time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import NamedTuple

import apsw

from store.core import tokenizer
from store.frames import visible_windows
from store.ocr import readings
from store.search.sample import evenly
from store.spool.page_text import Area
from store.spool.queue import PAINTED_OVER

_MOVED_PX = 8  # that a line which stays is read to have moved
_MOST_TITLES = 12
_LEAST_TITLES = 3
"""A document keeps its lines when it gets a name: two titles may be one window's."""
_NEARLY_ALL = 2 / 3  # of the other titles
_ALIKE = 0.5  # of the smaller row's runs of three signs, in the other row
_LEAST_RUNS = 6


class OwnLine(NamedTuple):
    """A line, the height of its middle in its window, and how sure the reader was of it."""

    text: str
    height: int
    confidence: float


@dataclass(frozen=True, slots=True)
class OwnText:
    """The lines of a frame's window, and the reading that they are of."""

    frame_id: int
    reading_id: int
    title: tuple[str, ...]
    lines: tuple[OwnLine, ...]

    def row(self, height: int) -> str:
        return " ".join(line.text for line in self.lines if abs(line.height - height) <= _MOVED_PX)


def own_texts(connection: apsw.Connection, frame_ids: Sequence[int]) -> dict[int, OwnText]:
    """Those of the frames that were read, compared with each other; none of a painted window."""
    known: dict[str, list[tuple[str, Area]]] = {}
    by_app: dict[str, list[OwnText]] = {}
    for frame_id, app, title, reading_id, text, layout in connection.execute(_READ, (json.dumps(frame_ids),)):
        if app in PAINTED_OVER:  # what is read there is of another window
            continue
        windows, lines = visible_windows.windows_of(connection, frame_id), list[OwnLine]()
        top = windows.front.y if windows.front else 0
        for start, end, box, told in readings.places(layout):
            line, confidence = text[start:end], 1.0 if told is None else told
            is_told = bool(windows.places)
            if windows.is_front(box) if is_told else _app_of(known.setdefault(line, []), app, box) == app:
                lines.append(OwnLine(line, box.y + box.h // 2 - top, confidence))
        read = OwnText(frame_id, reading_id, tuple(tokenizer.words(title)), tuple(lines))
        by_app.setdefault(app, []).append(read)
    return {each.frame_id: each for texts in by_app.values() for each in _without_furniture(texts)}


_READ = """
select f.id, coalesce(f.app_name, ''), coalesce(f.window_name, ''), r.id, r.text, r.layout
from json_each(?) j join frames f on f.id = j.value join readings r on r.frame_id = f.id and r.is_current = 1
order by f.id
"""


def _app_of(known: list[tuple[str, Area]], app: str, box: Area) -> str:
    """The app that showed a line here first; this one, from now on, where none did."""
    for other, there in known:
        if abs(there.x - box.x) <= _MOVED_PX and abs(there.y - box.y) <= _MOVED_PX:
            return other
    known.append((app, box))
    return app


def _without_furniture(texts: Sequence[OwnText]) -> Iterator[OwnText]:
    """The frames of an app without what is its own: a line that stands under another title, in a row that
    nearly all of them have. A title goes by its last frame.
    """
    by_title = evenly(list({each.title: each for each in texts}.values()), _MOST_TITLES)

    @cache
    def is_furniture(title: tuple[str, ...], line: str, row: str, height: int) -> bool:
        rows = [each.row(height) for each in by_title if each.title != title]
        alike = sum(_is_alike(row, other) for other in rows)
        return alike >= _NEARLY_ALL * len(rows) and any(_is_alike(line, other, 1) for other in rows)

    for each in texts:
        kept = (
            line
            for line in each.lines
            if len(by_title) < _LEAST_TITLES
            or not is_furniture(each.title, line.text, each.row(line.height), line.height)
        )
        yield replace(each, lines=tuple(kept))


def _is_alike(one: str, other: str, least: int = _LEAST_RUNS) -> bool:
    """Whether most of the smaller one stands in the other."""
    few, many = sorted((_runs(one), _runs(other)), key=len)
    return len(few) >= least and len(few & many) >= _ALIKE * len(few)


@lru_cache(4096)
def _runs(text: str) -> frozenset[str]:
    signs = "".join(tokenizer.words(text))
    return frozenset(signs[at : at + 3] for at in range(len(signs) - 2))
