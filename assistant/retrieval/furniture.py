"""What programs show beside what they are used for: bars of menus and tabs, lists of chats, the clock.

Such a line stands in most windows of its program, or of all, and on one day as on another. A question may be
about one evening or one chat, where everything is on most frames: so other windows that the same programs
showed next to them are looked at as well (`other_windows`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from assistant.core.texts import HAN_RUN, normalize
from assistant.language import cldr
from assistant.language.values import values
from assistant.retrieval.retrieval import Entry, entries_of
from store.core.database import Database
from store.search import sample

BARS, BAR = 4, 3
"""Of so many lines at the top of a frame one that is so many names alone is a bar of menus or tabs; two are
somebody's.
"""
FEW_SHOWINGS = 3
"""What fewer showings of windows share may be what they are about."""
LOOKED_AROUND = 100
"""Frames of a program, before and after, among which its other windows are looked for."""
DAY_MS = 86_400_000
ZONES_APART = 15
"""Minutes: the clocks of all zones agree in what is left of these."""

_SAYS = re.compile(r"[^\W_]{2}|\d|[\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"[^\W\d_]{2,}|[\u3400-\u9fff]")
_LONG_NAME = re.compile(r"[^\W\d_]{3,}|[\u3400-\u9fff]{2,}")
_DIGITS = re.compile(r"\d+")
_COUNT = re.compile(r"\(\d+\)")


class Furniture:
    """The lines of programs among some frames, told from what was shown. `around` are frames beside them."""

    def __init__(self, entries: Sequence[Entry], around: Iterable[Entry] = ()) -> None:
        # Of each line of a program, and of all programs (None), where it stood: a window, on a day.
        places: defaultdict[tuple[str | None, str], set[tuple[str, str, int]]] = defaultdict(set)
        for entry in (*entries, *around):
            place = _app(entry), title_of(entry), entry.frame.captured_ms // DAY_MS
            for form in {"", *map(_bare, lines_of(entry.frame.text))}:
                places[None, form].add(place)
                places[_app(entry), form].add(place)
        self._forms = {
            (of, form)
            for (of, form), shown in places.items()
            if form and len(shown) >= FEW_SHOWINGS and len(shown) > len(places[of, ""]) / 2
            # A document that is opened every day is no furniture.
            if len({(app, title) for app, title, _ in shown}) > 1
        }

    def has(self, entry: Entry, at: int, line: str) -> bool:
        """Whether a line is of the program and not of what it shows: a bar, icons, an address."""
        if (
            (at < BARS and _is_bar(line))
            or not _SAYS.search(line)
            or _is_clock(line, entry.frame.captured_ms)
        ):
            return True
        form = _bare(line)
        is_bar = any((of, form) in self._forms for of in (None, _app(entry)))
        return is_bar or _is_address(line, entry.frame.browser_url)


def other_windows(database: Database, entries: Sequence[Entry]) -> list[Entry]:
    """Other windows of the programs that show few among these frames, as they were shown next to them."""
    shown: defaultdict[str, set[str]] = defaultdict(set)
    ends: dict[str, tuple[int, int]] = {}
    for entry in entries:
        app, number = _app(entry), entry.frame.id
        shown[app].add(title_of(entry))
        low, high = ends.get(app, (number, number))
        ends[app] = min(low, number), max(high, number)
    with database.read() as connection:
        ids: list[int] = []
        for app, titles in shown.items():
            if app and len(titles) < FEW_SHOWINGS:
                found = sample.other_windows(connection, app, ends[app], titles, LOOKED_AROUND)
                ids += found[: 2 * FEW_SHOWINGS]
        return list(entries_of(sample.load(connection, ids)))


def lines_of(text: str) -> list[str]:
    """The lines of a frame's text, but for those of a single letter, which are mostly misread icons."""
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if len(line) > 1 or line.isdecimal()]


def title_of(entry: Entry) -> str:
    return entry.frame.window_name or ""


@lru_cache(maxsize=65536)
def without_figures(line: str) -> str:
    """A line in normal form, each figure and each name of a month or weekday as 0: a menu with the clock
    is the same menu.
    """
    form = _DIGITS.sub("0", normalize(line))
    return _WORD.sub(lambda word: "0" if cldr.is_day_or_month(word[0]) else word[0], form)


@lru_cache(maxsize=65536)
def _bare(line: str) -> str:
    """The words of a line without figures: an icon read as a sign or a letter makes it no other line."""
    form = without_figures(line)
    return " ".join(_NAME.findall(form)) or form


def _app(entry: Entry) -> str:
    return entry.frame.app_name or ""


def _is_bar(line: str) -> bool:
    # Signs stand between some, and counts in brackets behind.
    names = [word for word in line.split() if any(map(str.isalnum, word)) and not _COUNT.fullmatch(word)]
    is_name = (name.isalpha() and (name[0].isupper() or HAN_RUN.fullmatch(name)) for name in names)
    return len(names) >= BAR and all(is_name)


def _is_clock(line: str, captured_ms: int) -> bool:
    """Whether a line says nothing but the day and the minute in which it was captured, in whatever zone."""
    if _LONG_NAME.search(without_figures(line)):
        return False
    told = values(line, is_read=True)
    minutes = (each for value in told if value.kind == "clock" for each in value.readings)
    is_now = any((each - captured_ms // 60_000) % ZONES_APART in (ZONES_APART - 1, 0, 1) for each in minutes)
    around = [datetime.fromtimestamp(captured_ms / 1000, UTC) + timedelta(days=n) for n in (-1, 0, 1)]
    days = {(day.month, day.day) for day in around}
    dates = (each for value in told if value.kind == "date" for each in value.readings)
    return is_now and any(each[1:] in days for each in dates)


def _is_address(line: str, url: str | None) -> bool:
    """Whether a line is the address of the page, as it stands in the bar above it, with signs beside it."""
    words = [word.removesuffix("/") for word in normalize(line).split() if re.search(r"[^\W_]..", word)]
    return url is not None and len(words) == 1 and "." in words[0] and words[0] in normalize(url)
