"""What a person chose about the memory of chats: whether a model is told of it, and how much is logged."""

from __future__ import annotations

from store.core import preferences
from store.core.database import Database

OFF = "context_off"
VERBOSE = "context_verbose_logging"
VERBOSE_FOR_MS = 24 * 3_600_000
"""What is meant for a moment's look does not stay on unnoticed."""


def is_off(database: Database) -> bool:
    """Whether the person wants no model to be told of earlier chats."""
    return bool(preferences.get_preference(database, OFF, False))


def set_off(database: Database, is_off: bool) -> None:
    preferences.set_preference(database, OFF, is_off)


def verbose_until_ms(database: Database, now_ms: int) -> int | None:
    """Until when what is told is logged; None when it is not (R1.39)."""
    until_ms = preferences.get_preference(database, VERBOSE)
    return until_ms if isinstance(until_ms, int) and now_ms < until_ms else None


def set_verbose(database: Database, is_on: bool, now_ms: int) -> None:
    """From now on, for a day at most."""
    preferences.set_preference(database, VERBOSE, now_ms + VERBOSE_FOR_MS if is_on else None)
