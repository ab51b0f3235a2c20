"""Summaries of capture sessions by rules: what was looked at, what is still to do, and for how long.

A request, what was learned and what was completed cannot be seen from outside a head: these stay
null, and null is no document (R4.32).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ingest.observations.keyword_extraction import is_to_do
from ingest.observations.rules import duration_text
from store.core.database import Database
from store.memory import documents, observations
from store.memory.documents import SESSION_GAP_MS
from store.memory.observations import HOUR_MS, Observation
from store.timeline import segments
from store.timeline.gaps import Interval, merge_intervals

_REACH_MS = 7 * 24 * HOUR_MS
"""A session that is longer is cut here, seen from the hour that changed."""
_MOST = 8


def summarize_sessions(database: Database, hour: int, now_ms: int) -> int:
    """Summarise the sessions of an hour anew; returns how many there are. One still under way waits."""
    found = [bounds for bounds in _sessions(database, hour) if bounds[1] + SESSION_GAP_MS <= now_ms]
    fields = [(bounds, *_summary(database, *bounds)) for bounds in found]
    with database.write() as connection:
        kept = [
            documents.put_session(connection, start, end, values, project, now_ms)
            for (start, end), values, project in fields
        ]
        documents.keep_only(connection, hour * HOUR_MS, (hour + 1) * HOUR_MS, kept)
    return len(kept)


def _sessions(database: Database, hour: int) -> list[Interval]:
    """Stretches of use without a pause of `SESSION_GAP_MS` that touch the hour."""
    start_ms, end_ms = hour * HOUR_MS, (hour + 1) * HOUR_MS
    parts = segments.spans(database, start_ms - _REACH_MS, end_ms + _REACH_MS)
    islands = merge_intervals(parts, SESSION_GAP_MS)
    return [(start, end) for start, end in islands if start < end_ms and end > start_ms]


def _summary(database: Database, start_ms: int, end_ms: int) -> tuple[dict[str, str | None], str | None]:
    """(fields, project) of a session."""
    found = observations.between(database, start_ms, end_ms)
    totals = segments.totals(database, start_ms, end_ms)
    apps = ", ".join(
        f"{app.name or 'unknown app'} {duration_text(app.duration_ms)}" for app in totals.by_app[:_MOST]
    )
    files = _by_time(found, lambda one: one.files)
    notes = [f"{duration_text(totals.covered_ms)} at the screen: {apps}." if apps else ""]
    notes.append(f"Files: {'; '.join(files[:_MOST])}." if files else "")
    sites = [one.title for one in sorted(found, key=lambda one: -one.active_ms) if one.kind == "browsing"]
    to_do = list(dict.fromkeys(fact.text for one in found for fact in one.facts if is_to_do(fact.text)))
    projects = _by_time(found, lambda one: (one.project,) if one.project else ())
    fields: dict[str, str | None] = {
        "investigated": "\n".join(dict.fromkeys(sites[:_MOST])) or None,
        "next_steps": "\n".join(to_do[:_MOST]) or None,
        "notes": " ".join(note for note in notes if note) or None,
    }
    return fields, projects[0] if projects else None


def _by_time(found: Sequence[Observation], names: Callable[[Observation], Sequence[str]]) -> list[str]:
    """Names of observations, those with the most time first."""
    spent: Counter[str] = Counter()
    for one in found:
        for name in names(one):
            spent[name] += max(1, one.active_ms)
    return [name for name, _ in spent.most_common()]
