"""Ways out of an empty result: other spellings, and what each filter takes away.

Every suggestion is asked of the index as it is now and carries the number of frames it would give.
Words come from nowhere but the question itself, changed by a letter; what was deleted cannot be
among them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from string import ascii_lowercase, digits
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
    """Words of the index one edit away, the more frequent first; else its beginning."""
    if not _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
        return []
    counted = ((_frequency(connection, each), each) for each in set(_edits(word)))
    best = sorted(((count, each) for count, each in counted if count), key=lambda pair: (-pair[0], pair[1]))
    if best:
        return [each for _, each in best[:MAX_SPELLINGS]]
    return [f"{word}*"] if fuzzy.is_known(connection, word, is_prefix=True) else []


def _frequency(connection: apsw.Connection, word: str) -> int:
    """In how many frames, counted no further than needed to compare."""
    sql = "select count(*) from (select 1 from frames_fts where frames_fts match ? limit ?)"
    return int(scalar(connection, sql, (f'"{word}"', _COUNTED)))


def _edits(word: str) -> Iterator[str]:
    """Everything one slip away (P. Norvig, "How to Write a Spelling Corrector"): at most 1,300 words."""
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
        if after:
            yield before + after[1:]
        for letter in ascii_lowercase + digits:
            yield before + letter + after
            if after:
                yield before + letter + after[1:]


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
