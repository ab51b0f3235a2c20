"""Questions that the last day with frames can answer, for a page on which nothing was asked yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from assistant.core.texts import language_of
from store.core.database import Database
from store.core.times import Day
from store.frames import frames
from store.timeline import timeline
from store.timeline.totals import Totals
from webapp.core import formatting
from webapp.core.services import Viewer


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
    """The day, a duration, a count, and another duration in Chinese where a window's title is Chinese."""
    used = [total.name for total in totals.by_app if total.name]
    windows = Counter(total.app_name for total in totals.by_window)
    if used:
        recorded = formatting.duration(totals.covered_ms)
        yield f"What did I do {day}?", f"{formatting.count(len(used), 'app')}, {recorded}"
    for asked, app in zip(("How long", "How often"), used, strict=False):
        yield f"{asked} did I use {app} {day}?", formatting.count(windows[app], "window")
    chinese = (
        total for total in totals.by_window if total.app_name and language_of(total.name or "") == "zh"
    )
    for total in islice(chinese, 1):
        yield f"我用了多久 {total.app_name}？", total.name or ""
