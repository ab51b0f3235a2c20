"""Ways out of an empty result: other spellings, and what each filter takes away.

Every suggestion is asked of the index as it is now and carries the number of frames it would give.
Words come from nowhere but the index; what was deleted cannot be among them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import apsw

from store.core.database import Database, rows
from store.search import query
from store.search.filters import Filters, end_of
from store.search.finder import Finder
from store.search.search import search
from store.search.spelling import MAX_SPELLINGS, respelled

_MAX_LESS = 8

_ALWAYS = Filters(0)
_DEADLINE_S = 2.0
_NAMED = ("app_name", "window_name", "browser_url", "monitor", "focused", "host")


@dataclass(frozen=True, slots=True)
class Spelling:
    """Another text and how many frames it gives, under the same filters or without any."""

    text: str
    total: int
    without_filters: bool = False
    less_word: str = ""
    """The word that was left out of it."""


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
    others = list(respelled(connection, text))
    found = [Spelling(other, total) for other in others if (total := _total(database, other, filters))]
    if not found and filters != _ALWAYS:
        for other in others:
            if total := _total(database, other, _ALWAYS):
                found.append(Spelling(other, total, without_filters=True))
    yield from found or _with_one_word_less(database, text, filters)


def _total(database: Database, text: str, filters: Filters) -> int:
    return search(database, text, filters, mode="fts", order="newest", limit=1).total


def _with_one_word_less(database: Database, text: str, filters: Filters) -> Iterator[Spelling]:
    """`text` without the one word that keeps it from frames, the fewest of them first: they say the most."""
    asked, words = query.parse(text), text.split()
    if asked.is_exact or not 1 < len(words) <= _MAX_LESS:
        return
    texts = [(word, " ".join(words[:at] + words[at + 1 :])) for at, word in enumerate(words)]
    found = [
        Spelling(less, total, less_word=word)
        for word, less in texts
        if query.parse(less).tree and (total := _total(database, less, filters))
    ]
    yield from sorted(found, key=lambda each: each.total)[:MAX_SPELLINGS]


def _widenings(database: Database, text: str, filters: Filters) -> Iterator[Widening]:
    given: list[str] = [name for name in _NAMED if getattr(filters, name) not in (None, "")]
    if (filters.start_ms, filters.end_ms) != (_ALWAYS.start_ms, _ALWAYS.end_ms):
        given.append("time")
    for without in [*((name,) for name in given), *([tuple(given)] if len(given) > 1 else [])]:
        fields = [field for name in without for field in _TIMES.get(name, (name,))]
        total = _total(database, text, replace(filters, **{name: getattr(_ALWAYS, name) for name in fields}))
        if total:
            yield Widening(without, total)


_TIMES = {"time": ("start_ms", "end_ms")}


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
        finder = Finder(connection, asked, filters, end_of(filters))
        ids = finder.by_time(COUNTED, 0, None, newest_first=True)
        found = rows(
            connection,
            """
            select f.app_name, f.window_name, f.browser_url, f.host from json_each(?) given
            cross join frames f on f.id = given.value
            """,
            (json.dumps(ids),),
        )
    apps, windows, urls, machines = (_most(row[column] for row in found) for column in range(4))
    return Facets(apps, windows, urls, machines, is_whole=len(ids) < COUNTED)


def _most(values: Iterable[str | None]) -> tuple[Facet, ...]:
    counts = Counter(value for value in values if value)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(Facet(value, count) for value, count in ordered[:SHOWN])
