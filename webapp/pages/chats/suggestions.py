"""Questions to begin with, made of what the last day holds: each names something that answers it.

What has no answer is not offered. A matter is what a window is called and other programs show, too; a person
is one whose message came; a file or page is what was open longest. No list knows a subject.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Any

from assistant.core.texts import asked_in, own_language
from store.core.database import Database
from store.core.translation import gettext as _
from store.frames import frames
from store.search.filters import Filters
from store.search.suggestions import facets
from store.sources import calendars, messages
from store.spool.queue import NO_APPS
from store.timeline import segments
from store.timeline.totals import Total
from webapp.core import formatting
from webapp.core.services import Viewer

_OFFERED = 5
_TRIED = 12
"""So many windows, the longest open first, are looked for in other programs."""
_MESSAGES = 200
_PART = re.compile(r"\s+[-–—|·]\s+")
_MARK = re.compile(r"[*●•]\s*|\(\d+\)\s+")  # of a file that is not saved, and of what is not read
_NAMED = 3
_MAX_CHARS = 60
"""Of what a question names."""

Suggestion = tuple[str, str]
"""A question, and in a few words what answers it."""


def suggestions(database: Database, viewer: Viewer) -> dict[str, Any] | None:
    """Questions about the last day with frames; None without any."""
    newest = frames.newest_id(database)
    if newest is None:
        return None
    day = viewer.day_of(frames.captured_ms_of(newest))
    end_ms = max(min(day.end_ms, viewer.now_ms), day.start_ms + 1)
    back = viewer.today.date - day.date
    on = formatting.weekday_long if back < timedelta(weeks=1) else formatting.date_short
    near = {0: _("today"), 1: _("yesterday")}.get(back.days)
    name = near or _("on %(day)s", day=on(day.date))
    asked = _questions(database, Filters(day.start_ms, end_ms), name)
    return dict(day=name, start_ms=day.start_ms, end_ms=end_ms, questions=list(islice(asked, _OFFERED)))


def _questions(database: Database, range_: Filters, day: str) -> Iterator[Suggestion]:
    start_ms, end_ms = range_.start_ms, range_.end_ms or range_.start_ms
    totals = segments.totals(database, start_ms, end_ms)
    # Counted as Timeline lists them, and as the answer does.
    held = f"{formatting.count(len(totals.by_app), 'app')} · {formatting.duration(totals.covered_ms)}"
    yield _("What did I do %(day)s?", day=day), held if totals.covered_ms else ""
    windows = [
        (subject, each)
        for each in totals.by_window
        if each.app_name and each.app_name not in NO_APPS and (subject := _subject(each))
    ]
    matter, shown_by = _matter(database, range_, windows)
    if matter:
        named = " · ".join(shown_by[:_NAMED])
        yield _("What did I see about %(matter)s %(day)s?", matter=matter, day=day), named
    received = messages.browse(database, messages.Filters(start_ms, end_ms), _MESSAGES)
    writers = Counter(each.contact for each in received if each.contact and not each.is_outgoing)
    for writer, number in writers.most_common(1):
        yield _("What did %(name)s write %(day)s?", name=writer, day=day), formatting.count(number, "message")
    for title, window in [each for each in windows if each[0] != matter][:1]:
        yield _("How long did I have %(title)s open %(day)s?", title=title, day=day), window.app_name or ""
    for title, window in _in_chinese(windows, totals.by_app)[: own_language() != "zh"]:
        yield f"“{title}”说了什么？", window.app_name or ""
    if number := calendars.events_between(database, start_ms, end_ms, limit=1)[1]:
        yield _("What was in my calendar %(day)s?", day=day), formatting.count(number, "event")


def _subject(window: Total) -> str:
    """What a window shows, by its title: not which app it is of, nor what the app adds to each."""
    parts = [_MARK.sub("", part, 1).strip() for part in _PART.split(window.name or "")]
    app = (window.app_name or "").casefold()
    named = next((part for part in parts if part and part.casefold() != app), "")
    return named if len(named) <= _MAX_CHARS else ""


def _matter(
    database: Database, range_: Filters, windows: Sequence[tuple[str, Total]]
) -> tuple[str, list[str]]:
    """(what most programs show, which they are), of all that is as wide the rarest; nothing of one alone."""
    found = []
    for subject in dict.fromkeys(subject for subject, _total in windows[:_TRIED]):
        shown = facets(database, '"{}"'.format(subject.replace('"', " ")), range_).apps
        found.append(
            (len(shown), -sum(each.count for each in shown), subject, [each.value for each in shown])
        )
    width, _rarity, subject, apps = max(found, default=(0, 0, "", []))
    return (subject, apps) if width > 1 else ("", [])


def _in_chinese(windows: Sequence[tuple[str, Total]], apps: Sequence[Total]) -> list[tuple[str, Total]]:
    """Those of apps whose windows had Chinese titles for most of the time: a look at a page is no reason."""
    spent = Counter[str | None]()
    for subject, window in windows:
        spent[window.app_name] += window.duration_ms if asked_in(subject) == "zh" else 0
    most = {app.name for app in apps if 2 * spent[app.name] > app.duration_ms}
    return [each for each in windows if each[1].app_name in most and asked_in(each[0]) == "zh"]
