"""Searches that somebody keeps: an address of the search page and the words that name it.

They live among the preferences, in a person's own words, and are theirs to delete.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from store import preferences
from store.database import Database
from webapp.fragments import is_local

MAX_SAVED = 50
_KEY = "saved_searches"
_MAX_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Saved:
    name: str
    address: str


def everything(database: Database) -> tuple[Saved, ...]:
    """The saved searches by name."""
    return tuple(Saved(**each) for each in preferences.get(database, _KEY, []))


def save(database: Database, saved: Saved) -> None:
    """Keep a search; one of the same address gets its new name. Raises `ValueError` for what is none."""
    if not saved.name.strip() or not is_search(saved.address):
        raise ValueError(f"not a search: {saved.address!r}")
    others = [each for each in everything(database) if each.address != saved.address]
    if len(others) >= MAX_SAVED:
        raise ValueError(f"at most {MAX_SAVED} searches are kept")
    _write(database, [*others, saved])


def forget(database: Database, address: str) -> None:
    """Keep it no longer; no error when it is not there."""
    _write(database, [each for each in everything(database) if each.address != address])


def is_search(address: str) -> bool:
    """Whether an address is one of the search page, with something in it."""
    return is_local(address) and address.startswith("/search?") and len(address) <= _MAX_CHARS


def _write(database: Database, saved: list[Saved]) -> None:
    saved.sort(key=lambda each: each.name.casefold())
    preferences.set(database, _KEY, [asdict(each) for each in saved])
