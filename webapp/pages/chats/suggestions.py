"""Questions that the last day with frames can answer, for a page on which nothing was asked yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assistant.core.texts import Language, language_of
from store.core.database import Database
from store.core.times import Day
from store.frames import frames
from store.timeline import timeline
from store.timeline.totals import Total, Totals
from webapp.core import formatting
from webapp.core.services import Viewer

MAX_TITLE_CHARS = 60
"""A longer title of a window makes no question that a person would ask."""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Questions about one day, ``[start_ms, end_ms)``, and for each in a few words what answers it; `day` is
    its name in a sentence.
    """

    day: str
    start_ms: int
    end_ms: int
    questions: tuple[tuple[str, str], ...]


def of_last_day(database: Database, viewer: Viewer) -> Suggestions | None:
    """None where there is no frame yet."""
    newest = frames.newest_id(database)
    if newest is None:
        return None
    day = viewer.day_of(frames.captured_ms_of(newest))
    end_ms = max(min(day.end_ms, viewer.now_ms), day.start_ms + 1)
    held = timeline.timeline(database, day.start_ms, end_ms, now_ms=viewer.now_ms)
    name = _name(day, viewer)
    return Suggestions(name, day.start_ms, end_ms, tuple(_questions(held.totals, name)))


def _name(day: Day, viewer: Viewer) -> str:
    back = (viewer.today.date - day.date).days
    return {0: "today", 1: "yesterday"}.get(back) or f"on {formatting.date_short(day.date)}"


def _questions(totals: Totals, day: str) -> Iterator[tuple[str, str]]:
    """The day, a duration, a moment, and what stood in a window, in the language of its title."""
    used = [total.name for total in totals.by_app if total.name]
    if used:
        yield (
            f"What did I do {day}?",
            f"{formatting.count(len(used), 'app')}, {formatting.duration(totals.covered_ms)}",
        )
    for asked, app in zip(("How long did I use", "When did I use"), used, strict=False):
        windows = sum(total.app_name == app for total in totals.by_window)
        yield f"{asked} {app} {day}?", formatting.count(windows, "window")
    by_language: dict[Language, Total] = {}
    for total in totals.by_window:
        if 0 < len(total.name or "") <= MAX_TITLE_CHARS:
            by_language.setdefault(language_of(total.name or ""), total)
    for language, total in by_language.items():
        asked = f"“{total.name}”里写了什么？" if language == "zh" else f"What does “{total.name}” say?"
        yield asked, total.app_name or ""
