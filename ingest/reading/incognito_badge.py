"""A browser window that may be private shows its toolbar before any picture of it is stored.

Capture names the windows of a picture whose state nobody knows, and where their toolbars are. The first
frames of each window wait until its toolbar was read, enlarged if need be; after `READINGS` toolbars that did
not say "private" a window counts as ordinary and is read again once in `AGAIN_MS`, in case it had none
at first (full screen, or not painted yet). A frame of a private window is left out, capture is told
(`store.spool.window_hints`), and so are the frames of that window that were stored since its toolbar was last
read.

Fails closed: without an engine, or before a toolbar has been painted, the frame is left out.
"""

from __future__ import annotations

import logging
import re
import time
import unicodedata
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Literal

from PIL import Image, ImageStat

from engines.ocr.protocol import Box, OcrEngine, OcrError, OcrLine, OcrWord
from store.core.paths import DataDir
from store.privacy.defaults import private_toolbar_words as labels_of
from store.spool import window_hints
from store.spool.window_hints import Toolbar

log = logging.getLogger(__name__)

READINGS = 3
AGAIN_MS = 60_000
_MANY_WINDOWS = 1000
_PATIENCE_S = 20.0
_END = 900  # pixels at the right end: the whole chip at a scale factor of two
_NEAR_END, _NEAR_HEIGHT = 450, 110  # the same at a factor of one, small enough to be enlarged
_PAINTED = 4.0  # levels of standard deviation: an unpainted window is of one colour

BadgeReading = Literal["private", "ordinary", "nothing"]
"""``nothing``: no toolbar was there to read, or nobody could read it."""

PrivacyVerdict = Literal["", "private_window", "may_be_private"]


class ReaderBusy(Exception):
    """No reader had time: the frame waits."""


@dataclass(slots=True)
class _Window:
    """What is known of one window.

    `since` are the frames stored after its toolbar was last read; all of them, before `READINGS`.
    """

    readings: int = 0
    read_ms: int = 0
    since: list[int] = field(default_factory=list)


class BadgeReader:
    """Asked by the thread that stores, answered by the threads that read: engines belong to those."""

    def __init__(self, data_dir: DataDir, wake: Callable[[], None] = lambda: None) -> None:
        self._spool = data_dir.spool
        self._wake = wake
        self._asked: deque[tuple[Image.Image, str, Future[BadgeReading]]] = deque()
        self._windows: OrderedDict[str, _Window] = OrderedDict()

    def is_known_private(self, toolbars: tuple[Toolbar, ...]) -> bool:
        """Whether one of these windows has said before that it is private."""
        return bool(toolbars) and not {t.window for t in toolbars}.isdisjoint(self._known().private)

    def is_due(self, toolbars: tuple[Toolbar, ...], captured_ms: int) -> bool:
        """Whether one of these toolbars is to be read before the picture is stored."""
        return any(self._is_due(self._window(toolbar.window), captured_ms) for toolbar in toolbars)

    def judge(self, toolbars: tuple[Toolbar, ...], image: Image.Image, captured_ms: int) -> PrivacyVerdict:
        """Why this picture is left out, or "". Raises `ReaderBusy`."""
        for toolbar in toolbars:
            window = self._window(toolbar.window)
            if not self._is_due(window, captured_ms):
                continue
            reading = self._ask(_strip(image, toolbar), toolbar.app)
            if reading == "private":
                if toolbar.window:
                    window_hints.record_toolbar(self._spool, toolbar.window, is_private=True)
                return "private_window"
            if reading == "ordinary":
                window.readings, window.read_ms = window.readings + 1, captured_ms
                if window.readings >= READINGS:
                    window.since.clear()
                if toolbar.window:
                    window_hints.record_toolbar(self._spool, toolbar.window, is_private=False)
            elif not window.readings:
                return "may_be_private"
        return ""

    def stored(self, toolbars: tuple[Toolbar, ...], frame_id: int, captured_ms: int) -> None:
        """A frame that shows these windows was stored."""
        for toolbar in toolbars:
            window = self._window(toolbar.window)
            if window.readings < READINGS or window.read_ms != captured_ms:
                window.since.append(frame_id)

    def take_since_read(self, toolbars: tuple[Toolbar, ...]) -> list[int]:
        """Frames stored since the toolbars of these windows, as far as they are private, were last read."""
        private = self._known().private
        windows = [self._window(toolbar.window) for toolbar in toolbars if toolbar.window in private]
        frame_ids = sorted({frame_id for window in windows for frame_id in window.since})
        for window in windows:
            window.since.clear()
        return frame_ids

    def _is_due(self, window: _Window, captured_ms: int) -> bool:
        return window.readings < READINGS or abs(captured_ms - window.read_ms) >= AGAIN_MS

    def _window(self, key: str) -> _Window:
        """A window that the system gives no number is new each time."""
        window = self._windows.pop(key, None) or _Window()
        if key:
            self._windows[key] = window
            while len(self._windows) > _MANY_WINDOWS:
                self._windows.popitem(last=False)
        return window

    def _known(self) -> window_hints.ToolbarHints:
        try:
            return window_hints.read(self._spool)
        except ValueError as error:
            log.error("what was read in toolbars is read again: %s", error)
            return window_hints.ToolbarHints()

    def _ask(self, strip: Image.Image, app: str) -> BadgeReading:
        if min(strip.size) < 1 or max(ImageStat.Stat(strip.convert("L")).stddev) < _PAINTED:
            return "nothing"
        answer: Future[BadgeReading] = Future()
        self._asked.append((strip, app, answer))
        self._wake()
        try:
            return answer.result(_PATIENCE_S)
        except FutureTimeout:
            answer.cancel()
            raise ReaderBusy("no reader has time for a browser's toolbar") from None

    def serve(self, engine: OcrEngine | None) -> bool:
        """Answer one question, if there is one."""
        try:
            strip, app, answer = self._asked.popleft()
        except IndexError:
            return False
        if answer.set_running_or_notify_cancel():
            answer.set_result(_read_strip(engine, strip, app))
        return True


def _strip(image: Image.Image, toolbar: Toolbar) -> Image.Image:
    right, bottom = min(image.width, toolbar.x + toolbar.w), min(image.height, toolbar.y + toolbar.h)
    return image.crop((min(toolbar.x, right), min(toolbar.y, bottom), right, bottom))


def _read_strip(engine: OcrEngine | None, strip: Image.Image, app: str) -> BadgeReading:
    """What a toolbar says. `strip` is the window's upper edge as far as it is in the picture."""
    if engine is None:
        return "nothing"
    labels = labels_of(app)
    started = time.monotonic()
    try:
        is_private = _is_private(engine, strip, labels)
    except OcrError as error:
        log.warning("a browser's toolbar could not be read: %s", error)
        return "nothing"
    log.debug("a browser's toolbar was read in %.0f ms", (time.monotonic() - started) * 1000)
    return "private" if is_private else "ordinary"


def _is_private(engine: OcrEngine, strip: Image.Image, labels: Sequence[str]) -> bool:
    """Reads the right end, enlarges what is nearest to it, and asks the rest when that says so."""
    end = strip.crop((max(0, strip.width - _END), 0, *strip.size))
    lines = engine.read(end)
    if not shows_incognito(lines, end.width, labels):
        near = strip.crop((max(0, strip.width - _NEAR_END), 0, strip.width, min(_NEAR_HEIGHT, strip.height)))
        end = near.resize((2 * near.width, 2 * near.height), Image.Resampling.LANCZOS)
        lines = engine.read(end)
        return shows_incognito(lines, end.width, labels)
    # What stands beside and above it, an address or a page's own words, may lie further to the left.
    left_width = strip.width - end.width
    if not left_width:
        return True
    left = engine.read(strip.crop((0, 0, left_width, strip.height)))
    moved = [replace(line, words=tuple(word.moved(-left_width, 0) for word in line.words)) for line in left]
    return shows_incognito([*moved, *lines], end.width, labels)


# Does a browser's toolbar say that its window is private?
#
# Chrome and its relatives draw a chip at the right end of the toolbar: an icon and "Incognito",
# "Incognito (2)", "Private" or the like in the browser's language. The words alone prove nothing, for any
# page may say them; what counts is where they stand. Lengths below are in heights of the chip's own
# word, so that they hold at every scale factor. Measured on Chromium 156 at factors 1 and 2: the chip
# is 4.5 heights below the window's edge (7 under a title bar of the window manager), ends 4.5 heights
# from the right edge and stands 6 heights from the address. Page content begins 8 heights down. All
# functions here are pure.

_HIGHEST, _LOWEST = 2.5, 7.2  # of its middle, from the upper edge
_FROM_RIGHT = 12.0  # of its right end: an invitation to restart the browser may stand there
_APART = 1.5  # nothing else of its row is nearer, but for its icon
_SAME_SIZE = 0.7  # what stands above is a tab's title or the window's, of about the same size
_ALIKE = 0.88  # one wrong letter of nine; "Cognito" is not "Incognito"
_LONG_ENOUGH_TO_MISREAD = 7


def shows_incognito(lines: Iterable[OcrLine], width: int, labels: Sequence[str]) -> bool:
    """Whether one of `labels` stands where a chip would.

    `lines` were read in a picture whose upper edge is the window's and whose right edge, `width`, is
    the window's too.
    """
    words = [word for line in lines for word in line.words]
    rows = _rows(word for word in words if len(_letters(word.text)) >= 1)
    for number, row in enumerate(rows):
        above = [word for earlier in rows[:number] for word in earlier if _is_text(word)]
        for group in _groups(row):
            label = _chip(group, labels)
            if label is not None and _is_placed(label, above, width):
                return True
    return False


def _is_text(word: OcrWord) -> bool:
    """Not an icon or an edge that was taken for a few letters."""
    return len(_letters(word.text)) >= 4 and word.confidence >= 0.5


def _is_placed(chip: Box, above: Sequence[OcrWord], width: int) -> bool:
    height = max(1, chip.h)
    middle = (chip.y + chip.h / 2) / height
    if not _HIGHEST <= middle <= _LOWEST or width - chip.right > _FROM_RIGHT * height:
        return False
    is_heading = any(word.box.h < _SAME_SIZE * height for word in above)
    return len(_rows(above)) <= 1 and not is_heading


def _chip(group: Sequence[OcrWord], labels: Sequence[str]) -> Box | None:
    """Where the label is that this group consists of, but for an icon taken for letters and a count.

    The box is that of its longest word: an icon or a line beside it may be taller.
    """
    for skipped in range(min(3, len(group))):
        if any(len(word.text) > 3 for word in group[:skipped]):
            return None
        words = group[skipped:]
        letters = _letters("".join(word.text for word in words))
        if any(_is_alike(letters, _letters(label)) for label in labels):
            return max(words, key=lambda word: len(_letters(word.text))).box
    return None


def _is_alike(letters: str, label: str) -> bool:
    if letters == label:
        return True
    if len(label) < _LONG_ENOUGH_TO_MISREAD or not label.isascii():
        return False
    return SequenceMatcher(None, letters, label, autojunk=False).ratio() >= _ALIKE


def _letters(text: str) -> str:
    """Letters only, without case and accents: neither a count in brackets nor a bracket counts."""
    plain = unicodedata.normalize("NFKD", re.sub(r"[1|!]", "i", text)).casefold()
    return "".join(character for character in plain if character.isalpha())


def _rows(words: Iterable[OcrWord]) -> list[list[OcrWord]]:
    """Words that stand beside each other, from the top down, each row from the left."""
    rows: list[list[OcrWord]] = []
    for word in sorted(words, key=lambda word: word.box.y + word.box.h / 2):
        middle = word.box.y + word.box.h / 2
        if rows and any(other.box.y <= middle <= other.box.bottom for other in rows[-1]):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.box.x) for row in rows]


def _groups(row: Sequence[OcrWord]) -> list[list[OcrWord]]:
    """A row, cut where a gap is wider than `_APART` heights of the lower of two words."""
    groups: list[list[OcrWord]] = []
    for word in row:
        gap = word.box.x - groups[-1][-1].box.right if groups else 0
        if groups and gap < _APART * min(word.box.h, groups[-1][-1].box.h):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups
