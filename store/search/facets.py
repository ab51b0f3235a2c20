"""What a search's frames are made of: the apps, windows and addresses among them, with counts.

Counted over the newest `COUNTED` matches, so that a word of a million frames costs what others do;
`Facets.is_whole` says whether that was all of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from store.core.database import Database, rows
from store.core.times import now_ms
from store.search import query
from store.search.filters import Filters
from store.search.finder import Finder

COUNTED = 1_000
SHOWN = 6
_DEADLINE_S = 5.0


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
    is_whole: bool


def facets(database: Database, text: str, filters: Filters) -> Facets:
    """The facets of the frames that match by words. Raises `DeadlineExceeded`."""
    with database.read(_DEADLINE_S) as connection:
        asked = query.parse(text)
        if asked.tree is None and not asked.is_browse:
            return Facets((), (), (), True)
        finder = Finder(connection, asked, filters, _end_ms(filters))
        ids = finder.by_time(COUNTED, 0, None, newest_first=True)
        found = rows(
            connection,
            """
            select f.app_name, f.window_name, f.browser_url
            from json_each(?) given
            cross join frames f on f.id = given.value
            """,
            (json.dumps(ids),),
        )
    return Facets(
        apps=_most(app for app, _, _ in found),
        windows=_most(window for _, window, _ in found),
        urls=_most(url for _, _, url in found),
        is_whole=len(ids) < COUNTED,
    )


def _end_ms(filters: Filters) -> int:
    return now_ms() + 1 if filters.end_ms is None else filters.end_ms


def _most(values: Iterable[str | None]) -> tuple[Facet, ...]:
    counts = Counter(value for value in values if value)
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(Facet(value, count) for value, count in ordered[:SHOWN])
