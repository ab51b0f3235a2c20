"""Which page a browser showed, by the address that stands in its address field.

A field says where somebody is or wants to go: an address that is typed, completed by the browser or on its
way stands there above the page that is still shown. So an address counts for a frame only if the page came
with it, and only once that can be told: when the next page has come with another one, or when it stayed for
a while. What is read while a field is edited tells nothing; such a frame carries the address of its page,
if that surely is the same. Where there is a doubt there is no address. One that capture knew, as the
browser's extension told it, is never questioned.

Frames are read in any order. So each one that was read settles those around it, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import urlsplit

from ingest.reading.urls import CHARACTERS, normalise, trimmed
from store.core.database import Database
from store.frames import frames, visible_windows
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Line, Word
from store.privacy.defaults import is_browser
from store.spool.page_text import Area
from store.timeline import segments

# A field shows hosts without a scheme, and file names look like hosts (main.rs, setup.py): without a scheme
# only endings are believed that few files have, and without a path fewer still.
_BELIEVED = re.compile(
    r"com|org|net|edu|gov|mil|int|info|biz|io|dev|app|ai|me|tv|cc|xyz|site|online|tech|wiki|blog|cloud"
    r"|shop|store|page|pro|eu|us|uk|de|fr|es|it|nl|be|at|ch|se|no|dk|fi|pl|cz|pt|gr|ie|ru|ua|tr|il|in"
    r"|id|jp|kr|cn|hk|tw|sg|my|th|vn|au|nz|ca|mx|br|ar|cl|co|za|ng|ke|eg|sa|ae|ir|pk|bd"
)
_ALSO_A_WORD_OR_FILE = re.compile(r"app|ai|at|be|cc|id|in|it|me|my|no|pl|pro|us")
# How far below the upper edge of a window an address field may be, in parts of the height of the screen, and
# how sure its reading must be: no address is in a dictionary, so engines are less sure of one (0.65 to 0.84
# of those in the field of Chromium read right).
_FIELD_SHARE = 0.12
_FIELD_CONFIDENCE = 0.6
_SUGGESTED_BELOW = 4  # times the height of what is typed

SETTLED_MS = 5_000
"""A page that has not come by then, though its address stands above another one, is rare."""
_NEAR_MS = 600_000
_MANY = 12  # frames looked at before one and after it
_FEW_LINES = 3  # tell nothing of whether a page is the same
_SAME, _OTHER, _UNKNOWN = 0.9, 0.4, 0.5  # of the lines


@dataclass(frozen=True, slots=True)
class Seen:
    """What tells of the page on a frame: the window's title, the address that is known, the one that stands
    in the field (in `faint` where its reading is not sure), and the lines of the page: all of them, and those
    in the lower half, which no list of suggestions covers.
    """

    id: int
    captured_ms: int
    ended_ms: int
    title: str | None
    url: str | None = None
    in_field: str | None = None
    lines: frozenset[str] = frozenset()
    lower_lines: frozenset[str] = frozenset()
    is_read: bool = True
    faint: str | None = None

    @property
    def address(self) -> str | None:
        return self.url or self.in_field

    def bears(self, address: str | None) -> bool:
        """Whether this address stands there. What is read faintly bears out what is read well elsewhere."""
        return self.address == address or (self.address is None and self.faint == address)


class _Page:
    """Frames in a row on one page. `address` is the one it came with, None where that is not known."""

    def __init__(self, first: Seen, address: str | None, before: _Page | None) -> None:
        self.frames = [first]
        self.address = address
        self._came_with = first.faint
        # The last frames of the page before may bear the title of this one already.
        self._is_titled = before is None or first.title not in {seen.title for seen in before.at_rest}

    @property
    def at_rest(self) -> list[Seen]:
        """Those with its address in the field, or with none where it came without one."""
        return [seen for seen in self.frames if seen.bears(self.address)]

    def add(self, seen: Seen) -> None:
        self.frames.append(seen)
        if self.address is None and seen.in_field is not None and self._came_with == seen.in_field:
            self.address = seen.in_field

    def is_left_at(self, seen: Seen) -> bool:
        """Whether this frame shows another page. An address alone does not say so, nor a title that blinks
        above the same lines.
        """
        last = self.frames[-1]
        if self.address is not None and seen.bears(self.address):
            return False
        if seen.url is not None:
            return True
        if seen.title != last.title:
            return _share(last.lines, seen.lines) < 1
        shares = _share(last.lines, seen.lines), _share(last.lower_lines, seen.lower_lines)
        return seen.in_field is not None and max(shares) < _OTHER

    @property
    def _is_told(self) -> bool:
        return any(seen.url == self.address for seen in self.frames)

    def settled(self, following: _Page | None) -> Iterator[int]:
        """The frames that surely show this address: the one that stood there for longest."""
        next_address = following.address if following else None
        at_rest = self.at_rest
        others = [seen for seen in self.frames if seen.address not in (None, self.address, next_address)]
        if self.address is None or (not self._is_told and _time(at_rest) <= _time(others)):
            return
        shown = list(self._shown())
        settled_ms = self.frames[0].captured_ms + SETTLED_MS
        # A new tab may bear the address before the page comes, and its title is another one.
        titles = {seen.title for seen in shown if seen.url or seen.ended_ms >= settled_ms}
        if following and self._is_titled:
            titles.add(at_rest[-1].title)
        yield from (seen.id for seen in shown if seen.title in titles)

    def _shown(self) -> Iterator[Seen]:
        """The frames that bear this address, or go on with the page of one that does."""
        known: list[Seen] = []
        is_doubted = False
        for seen in self.frames:
            if seen.bears(self.address):
                is_doubted = False
            elif not any(_goes_on(before, seen, is_doubted=is_doubted) for before in known):
                is_doubted |= seen.in_field is not None
                continue
            known.append(seen)
            yield seen


def _goes_on(before: Seen, seen: Seen, *, is_doubted: bool) -> bool:
    """Whether a frame whose field tells nothing, or something else, shows the page of before all the same."""
    if seen.title != before.title:
        return False
    if _share(before.lines, seen.lines) == 1:
        return True
    is_edited = seen.in_field is None and not is_doubted
    return is_edited and _share(before.lower_lines, seen.lower_lines) >= _SAME


def visited(line: Sequence[Seen], *, is_whole: bool) -> dict[int, str]:
    """The addresses of frames, those that were known included. `line` are the frames of one window in
    order; unless it is whole nobody knows how its first page came, nor how one did after a frame that was not
    read yet.
    """
    pages: list[_Page] = []
    for before, seen in zip([None, *line], line, strict=False):
        if pages and not pages[-1].is_left_at(seen):
            pages[-1].add(seen)
        else:
            is_known = is_whole if before is None else before.is_read
            first = seen if is_known else replace(seen, in_field=None, faint=None)
            pages.append(_Page(first, first.address, pages[-1] if pages else None))
    found = {seen.id: seen.url for seen in line if seen.url is not None}
    for page, following in zip(pages, [*pages[1:], None], strict=True):
        for frame_id in page.settled(following):
            if page.address is not None:
                found.setdefault(frame_id, page.address)
    return found


def _time(shown: Iterable[Seen]) -> int:
    return sum(seen.ended_ms - seen.captured_ms + 1 for seen in shown)


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of two pages is the same, 0 to 1; what tells of neither where there are too few lines."""
    if min(len(one), len(other)) < _FEW_LINES:
        return _UNKNOWN
    return len(one & other) / max(len(one), len(other))


def settle(database: Database, frame: FrameRow) -> None:
    """Give a frame that was read, and those around it, the addresses that are sure now."""
    if not is_browser(frame.app_name):
        return
    before, after = frames.of_window(database, frame, _NEAR_MS, _MANY)
    line = [*before, frame, *after]
    found = visited([_seen(database, each) for each in line], is_whole=len(before) < _MANY)
    news = [each for each in line if each.browser_url is None and each.id in found]
    if not news:
        return
    with database.write() as connection:
        for each in news:
            frames.set_browser_url(connection, each.id, found[each.id])
        segments.rebuild(connection, news[0].captured_ms, max(each.ended_ms for each in news) + 1)


def _seen(database: Database, frame: FrameRow) -> Seen:
    facts = frame.id, frame.captured_ms, frame.ended_ms, frame.window_name, frame.browser_url
    reading_id = readings.current_id(database, frame.id)
    page = None if reading_id is None else _page(database, reading_id, frame.capture_id)
    return Seen(*facts, is_read=False) if page is None else Seen(*facts, *page)


@lru_cache(maxsize=4 * _MANY)  # a frame stands beside each of those around it
def _page(
    database: Database, reading_id: int, capture_id: str
) -> tuple[str | None, frozenset[str], frozenset[str], bool, str | None] | None:
    """The fields of `Seen` from `in_field` on. What is deleted is never asked for by both again."""
    reading, frame = readings.by_id(database, reading_id), frames.by_capture_id(database, capture_id)
    if reading is None or frame is None:
        return None
    with database.read() as connection:
        windows = visible_windows.windows_of(connection, frame.id)
    window = windows.front or Area(0, 0, frame.width_px, frame.height_px)
    lines = [line for line in reading.lines if windows.is_front(line.box)]
    field_end = window.y + frame.height_px * _FIELD_SHARE
    in_field, faint = (
        address_in(lines, frame.window_name, field_end, least) for least in (_FIELD_CONFIDENCE, 0)
    )
    below = _lines_below(lines, field_end), _lines_below(lines, window.y + window.h / 2)
    return in_field, *below, True, None if in_field else faint


def _lines_below(lines: Iterable[Line], y: float) -> frozenset[str]:
    return frozenset(line.text.casefold() for line in lines if line.box.y > y)


def address_in(
    lines: Iterable[Line], title: str | None, end_y: float, least: float = _FIELD_CONFIDENCE
) -> str | None:
    """The address in an address field above `end_y`, or None unless there is exactly one plausible.

    Only words of some confidence count, and two different hosts there mean that nobody knows which one is
    the field's. An address that stands there twice, or once more right below, is completed in the field and
    suggested below it; but one in the window's title is a tab's.
    """
    words = [word for line in lines for word in line.words if word.text.strip()]
    found = [
        (url, word)
        for word in words
        if word.box.y + word.box.h / 2 <= end_y
        and (word.confidence or 0) >= least
        and (url := _in_field(word)) is not None
    ]
    hosts = {(urlsplit(url).hostname or "").removeprefix("www.") for url, _ in found}
    if len(hosts) != 1:
        return None
    named = (title or "").casefold()
    unnamed = [each for each in found if each[1].text.strip().casefold() not in named] or found[-1:]
    longest, field = max(unnamed, key=lambda each: len(each[0]))
    below = max(end_y, field.box.y + _SUGGESTED_BELOW * field.box.h)
    around = (word for word in words if word.box.y <= below and word is not field)
    is_twice = any(_alike(word.text, field.text) and word.text.casefold() not in named for word in around)
    return None if is_twice else longest


def _alike(one: str, other: str) -> bool:
    """Whether two words are one but for signs that a caret or an icon beside it was read as."""
    shorter, longer = sorted((one.casefold(), other.casefold()), key=len)
    return shorter in longer and len(shorter) >= _SAME * len(longer)


def _in_field(word: Word) -> str | None:
    text = word.text.strip()
    if not re.fullmatch(rf"[{CHARACTERS}]+", text) or text.endswith("...") or "@" in text:
        return None
    url = normalise(trimmed(text))
    if url is None or "://" in text:
        return url
    parts = urlsplit(url)
    ending = (parts.hostname or "").rpartition(".")[2]
    if parts.port is not None:
        return url
    if parts.path == "/" and not text.endswith("/") and _ALSO_A_WORD_OR_FILE.fullmatch(ending):
        return None
    return url if _BELIEVED.fullmatch(ending) else None
