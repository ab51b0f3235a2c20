"""Ways out of an empty result: other spellings, and what each filter takes away.

Every suggestion is asked of the index as it is now and carries the number of frames it would give.
Words come from nowhere but the index; what was deleted cannot be among them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw

from store.core import tokenizer
from store.core.database import Database, rows, scalar
from store.core.times import now_ms
from store.search import fuzzy, query
from store.search.filters import Filters
from store.search.finder import Finder
from store.search.search import search

MAX_SPELLINGS = 3
_MAX_UNKNOWN = 3
_MIN_LETTERS = 3
_MAX_LETTERS = 16
_TWO_SLIPS_LETTERS = 6
_MAX_LOOKS = 2_000  # at 0.05 ms each, five times that in an index of ten million frames
_LAST = chr(0x10FFFF)
# Beyond this a word is simply common.
_COUNTED = 50

_ALWAYS = Filters(0)
_DEADLINE_S = 2.0
_NAMED = ("app_name", "window_name", "browser_url", "monitor", "focused", "host")


@dataclass(frozen=True, slots=True)
class Spelling:
    """Another text and how many frames it gives, under the same filters or without any."""

    text: str
    total: int
    without_filters: bool = False


@dataclass(frozen=True, slots=True)
class Widening:
    """The same text without these filters (``time`` is the range), and how many frames that gives."""

    without: tuple[str, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    spellings: tuple[Spelling, ...]
    widenings: tuple[Widening, ...]


def suggest(database: Database, text: str, filters: Filters) -> Suggestions:
    """What would give more than `text` with `filters`. Raises `DeadlineExceeded`."""
    with database.read(_DEADLINE_S) as connection:
        return Suggestions(
            tuple(_spellings(database, connection, text, filters)), tuple(_widenings(database, text, filters))
        )


def _spellings(
    database: Database, connection: apsw.Connection, text: str, filters: Filters
) -> Iterator[Spelling]:
    others = list(_respelled(connection, text))
    found = [Spelling(other, total) for other in others if (total := _total(database, other, filters))]
    if found or filters == _ALWAYS:
        yield from found
        return
    for other in others:
        if total := _total(database, other, _ALWAYS):
            yield Spelling(other, total, without_filters=True)


def _total(database: Database, text: str, filters: Filters) -> int:
    return search(database, text, filters, mode="fts", order="newest", limit=1).total


def _respelled(connection: apsw.Connection, text: str) -> Iterator[str]:
    """`text` with every word that no frame holds replaced by its likeliest neighbours."""
    asked = query.parse(text)
    known = {token for phrase in asked.words for token in phrase.tokens}
    unknown = [
        token
        for token in tokenizer.tokens(text[: query.MAX_QUERY_CHARS])
        if token.text in known and not fuzzy.is_known(connection, token.text)
    ]
    if not unknown or len(unknown) > _MAX_UNKNOWN:
        return
    choices = [_neighbours(connection, token.text) for token in unknown]
    for rank in range(MAX_SPELLINGS):
        if any(not choice for choice in choices) or all(rank >= len(choice) for choice in choices):
            return
        other, shift = text, 0
        for token, choice in zip(unknown, choices, strict=True):
            word = choice[min(rank, len(choice) - 1)]
            other = other[: token.start + shift] + word + other[token.end + shift :]
            shift += len(word) - (token.end - token.start)
        yield other


def _neighbours(connection: apsw.Connection, word: str) -> list[str]:
    """Words of the index a slip away, or two from a long word; else its two halves, else its beginning."""
    if not _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
        return []
    near = _Vocabulary(connection).near(word, 1)
    if not near and len(word) >= _TWO_SLIPS_LETTERS:
        near = _Vocabulary(connection).near(word, 2)
    halves = near or [f'"{word[:at]} {word[at:]}"' for at in range(1, len(word))]
    best = sorted((-count, each) for each in halves if (count := _frequency(connection, each)))
    if best:
        return [each for _, each in best[:MAX_SPELLINGS]]
    return [f"{word}*"] if fuzzy.is_known(connection, word, is_prefix=True) else []


def _frequency(connection: apsw.Connection, word: str) -> int:
    """In how many frames, counted no further than needed to compare."""
    sql = "select count(*) from (select 1 from frames_fts where frames_fts match ? limit ?)"
    return int(scalar(connection, sql, (word if word[0] == '"' else f'"{word}"', _COUNTED)))


class _Vocabulary:
    """The words of the index, walked as a tree of their beginnings, so in whatever script they are.

    A slip is a letter more, less, another one, or two exchanged. Below a beginning that is too far from every
    beginning of the word nothing is looked at (K. Oflazer, "Error-tolerant Finite-state Recognition", 1996).
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection, self._looks = connection, 0
        connection.execute(
            "create virtual table if not exists temp.words using fts5vocab ('main', 'frames_fts', 'instance')"
        )

    def near(self, word: str, slips: int) -> set[str]:
        """The words at most so many slips from `word`. A second slip is not in the first letter."""
        found: set[str] = set()
        rows = [[*range(len(word) + 1)]]  # of each beginning of `start`, how far it is from those of `word`

        def walk(start: str) -> None:
            if min(rows[-1]) == slips:
                found.update(each for each in _endings(word, start, rows, slips) if self._first(each) == each)
                return
            if rows[-1][-1] <= slips and self._first(start) == start:
                found.add(start)
            for letter in [word[0]] if slips > 1 and not start else self._letters(start):
                rows.append(_distances(word, start + letter, rows))
                if min(rows[-1]) <= slips and self._looks < _MAX_LOOKS:
                    walk(start + letter)
                rows.pop()

        walk("")
        return found

    def _letters(self, start: str) -> Iterator[str]:
        """What follows `start` in the index."""
        at = start
        while (term := self._first(at)) and term.startswith(start):
            if term == start:
                at = start + "\0"
                continue
            if tokenizer.is_single(term[0]):
                return  # a word by itself: these stand behind the letters of all alphabets
            yield term[len(start)]
            at = term[: len(start) + 1] + _LAST

    def _first(self, at: str) -> str:
        """The first word that is not before `at`; "" behind the last."""
        self._looks += 1
        sql = "select term from temp.words where term >= ? limit 1"
        return next((term for (term,) in self._connection.execute(sql, (at,))), "")


def _endings(word: str, start: str, rows: Sequence[Sequence[int]], slips: int) -> Iterator[str]:
    """The words that begin with `start`, where all slips were made."""
    for at, far in enumerate(rows[-1]):
        if far == slips:
            yield start + word[at:]
        if 0 < at < len(word) and start[-1] == word[at] and rows[-2][at - 1] + 1 == slips:
            yield start + word[at - 1] + word[at + 1 :]  # its last two letters, exchanged


def _distances(word: str, start: str, rows: Sequence[Sequence[int]]) -> list[int]:
    """How far `start` is from each beginning of `word`, of the same for its own beginnings."""
    above, letter = rows[-1], start[-1]
    row = [above[0] + 1]
    for at, other in enumerate(word, 1):
        far = min(row[-1] + 1, above[at] + 1, above[at - 1] + (letter != other))
        if at > 1 and len(start) > 1 and (letter, start[-2]) == (word[at - 2], other):
            far = min(far, rows[-2][at - 2] + 1)
        row.append(far)
    return row


def _widenings(database: Database, text: str, filters: Filters) -> Iterator[Widening]:
    given = [name for name in _NAMED if getattr(filters, name) not in (None, "")]
    is_timed = (filters.start_ms, filters.end_ms) != (_ALWAYS.start_ms, _ALWAYS.end_ms)
    tries: list[tuple[str, ...]] = [(name,) for name in given]
    if is_timed:
        tries.append(("time",))
    if len(tries) > 1:
        tries.append((*given, "time") if is_timed else tuple(given))
    for without in tries:
        total = _total(database, text, _without(filters, without))
        if total:
            yield Widening(without, total)


def _without(filters: Filters, names: tuple[str, ...]) -> Filters:
    changes: dict[str, Any] = dict.fromkeys(name for name in names if name != "time")
    if "time" in names:
        changes |= {"start_ms": _ALWAYS.start_ms, "end_ms": _ALWAYS.end_ms}
    return replace(filters, **changes)


# -- facets -------------------------------------------------------------------------------
# What a search's frames are made of: the apps, windows and addresses among them, with counts.
#
# Counted over the newest `COUNTED` matches, so that a word of a million frames costs what others do;
# `Facets.is_whole` says whether that was all of them.

COUNTED = 1_000
SHOWN = 6
_FACETS_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True)
class Facet:
    """One value of a column and on how many of the counted frames it is."""

    value: str
    count: int


@dataclass(frozen=True, slots=True)
class Facets:
    """Each list the most frequent first, at most `SHOWN` long."""

    apps: tuple[Facet, ...]
    windows: tuple[Facet, ...]
    urls: tuple[Facet, ...]
    hosts: tuple[Facet, ...]
    is_whole: bool


def facets(database: Database, text: str, filters: Filters) -> Facets:
    """The facets of the frames that match by words. Raises `DeadlineExceeded`."""
    with database.read(_FACETS_DEADLINE_S) as connection:
        asked = query.parse(text)
        if asked.tree is None and not asked.is_browse:
            return Facets((), (), (), (), True)
        end_ms = now_ms() + 1 if filters.end_ms is None else filters.end_ms
        finder = Finder(connection, asked, filters, end_ms)
        ids = finder.by_time(COUNTED, 0, None, newest_first=True)
        found = rows(
            connection,
            """
            select f.app_name, f.window_name, f.browser_url, f.host from json_each(?) given
            cross join frames f on f.id = given.value
            """,
            (json.dumps(ids),),
        )
    return Facets(
        apps=_most(app for app, _, _, _ in found),
        windows=_most(window for _, window, _, _ in found),
        urls=_most(url for _, _, url, _ in found),
        hosts=_most(host for _, _, _, host in found),
        is_whole=len(ids) < COUNTED,
    )


def _most(values: Iterable[str | None]) -> tuple[Facet, ...]:
    counts = Counter(value for value in values if value)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(Facet(value, count) for value, count in ordered[:SHOWN])
