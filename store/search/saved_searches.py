"""Searches that somebody keeps: an address of the search page and the words that name it.

They live among the preferences. What was typed to be found is the person's own and stays until they
forget it; a title, an address or an app in a filter is mostly taken from the screen, so such a search
goes with the last frame that has it.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from urllib.parse import parse_qs, urlsplit

import apsw

from store.core import preferences
from store.core.database import Database
from store.core.translation import gettext as _
from store.search import filters

MAX_SAVED = 50
_KEY = "saved_searches"
_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class SavedSearch:
    name: str
    address: str


def everything(database: Database) -> tuple[SavedSearch, ...]:
    """The saved searches by name."""
    with database.read() as connection:
        return tuple(_read(connection))


def save(database: Database, saved: SavedSearch) -> None:
    """Keep a search; one of the same address gets its new name. Raises `ValueError` for what is none."""
    if not saved.name.strip() or not is_search(saved.address):
        raise ValueError(_("not a search: %(address)s", address=repr(saved.address)))
    with database.write() as connection:
        others = [each for each in _read(connection) if each.address != saved.address]
        if len(others) >= MAX_SAVED:
            raise ValueError(_("at most %(most)s searches are kept", most=MAX_SAVED))
        _put(connection, [*others, saved])


def forget(database: Database, address: str) -> None:
    """Keep it no longer; no error when it is not there."""
    with database.write() as connection:
        _put(connection, [each for each in _read(connection) if each.address != address])


def is_search(address: str) -> bool:
    """Whether an address is one of the search page, with something in it."""
    return address.startswith("/search?") and "\n" not in address and len(address) <= _MAX_CHARS


def forget_deleted(connection: apsw.Connection) -> int:
    """Forget those whose filter names what only frames in ``deletion_scope`` had; returns how many.

    Call while these frames are still there (`store.deletion.registry`).
    """
    saved = _read(connection)
    kept = [each for each in saved if not _names_what_goes(connection, each)]
    if len(kept) < len(saved):
        _put(connection, kept)
    return len(saved) - len(kept)


# The filters of an address and the columns of their frames.
_FILTERS = {"app": "app_name", "win": "window_name", "url": "browser_url"}


def _names_what_goes(connection: apsw.Connection, saved: SavedSearch) -> bool:
    asked = parse_qs(urlsplit(saved.address).query)
    return any(
        filters.is_going(connection, column, value)
        for name, column in _FILTERS.items()
        for value in asked.get(name, ())
    )


def _read(connection: apsw.Connection) -> list[SavedSearch]:
    return [SavedSearch(**each) for each in preferences.read_preference(connection, _KEY, [])]


def _put(connection: apsw.Connection, saved: list[SavedSearch]) -> None:
    """Keep these, in the transaction that read what they are made of: a deletion may take some."""
    saved.sort(key=lambda each: each.name.casefold())
    preferences.put_preference(connection, _KEY, [asdict(each) for each in saved])
