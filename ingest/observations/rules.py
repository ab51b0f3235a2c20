"""The rules that make observations of one clock hour from its activity and its texts.

One observation for each place (a site, or a window of an app) that was worked in, its visits
merged. Everything it says was seen: durations come from the line of activity, words from titles,
addresses and a sample of the texts, and facts are lines quoted with their frames. The same frames
give the same drafts, so an hour can be derived as often as needed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import apsw

from ingest.observations import keyword_extraction, places
from store.core.database import Database
from store.memory.observations import HOUR_MS, Draft, Fact
from store.timeline import segments
from store.timeline import segments as stored_visits
from store.timeline.segments import Segment

MAX_OF_HOUR = 20
"""Places of one hour that get an observation: those with the most time."""
MAX_FRAMES = 24
"""Frames of an observation whose texts are looked at, spread over its visits."""
_MAX_URLS = 20
_NAMED = 4


def drafts_of(database: Database, hour: int, until_ms: int) -> list[Draft]:
    """The observations of an hour, of activity that had ended by `until_ms`, in the order of time."""
    start_ms = hour * HOUR_MS
    visits: dict[str, list[Segment]] = {}
    with database.read() as connection:
        for segment in segments.segments(database, start_ms, start_ms + HOUR_MS):
            if segment.end_ms <= until_ms:
                where = places.place(segment.app_name, segment.window_name, segment.browser_url)
                visits.setdefault(where, []).append(segment)
        chosen = sorted(visits, key=lambda where: -_active_ms(visits[where]))[:MAX_OF_HOUR]
        drafts = [_draft(connection, hour, where, visits[where]) for where in chosen]
    return sorted(drafts, key=lambda draft: (draft.start_ms, draft.place))


def _draft(connection: apsw.Connection, hour: int, where: str, visits: list[Segment]) -> Draft:
    frame_ids = _spread(_frames(connection, hour, visits), MAX_FRAMES)
    texts = _texts(connection, frame_ids)
    titles = _titles(visits)
    lines = keyword_extraction.distinct_lines((frame_id, text) for frame_id, _, text in texts)
    words = keyword_extraction.concepts(titles, lines)
    urls = _urls(connection, visits, frame_ids)
    of_urls = [name for url in urls if (name := places.file_of_url(url))]
    files = list(dict.fromkeys([*places.files([*titles, *(line.text for line in lines)]), *of_urls]))
    first = visits[0]
    longest = max(visits, key=lambda visit: visit.duration_ms)
    return Draft(
        hour=hour,
        place=where,
        start_ms=first.start_ms,
        # A single look has no duration, and still happened.
        end_ms=max(visits[-1].end_ms, first.start_ms + 1),
        active_ms=_active_ms(visits),
        app_name=first.app_name,
        kind=places.kind(first.app_name, first.browser_url),
        project=places.project(longest.app_name, longest.window_name),
        title=_title(first, titles),
        narrative=_narrative(visits, titles, files, words),
        facts=tuple(Fact(line.text, line.frame_id) for line in keyword_extraction.facts(lines, words)),
        concepts=tuple(words),
        files=tuple(files[: places.MAX_FILES]),
        urls=tuple(urls),
        frame_ids=tuple(frame_ids),
        fingerprint=_fingerprint(visits, [(frame_id, reading_id) for frame_id, reading_id, _ in texts]),
    )


# -- what was there -----------------------------------------------------------------------


def _frames(connection: apsw.Connection, hour: int, visits: Sequence[Segment]) -> list[int]:
    """The frames of the visits within the hour, in order."""
    found: dict[int, None] = {}
    for visit in visits:
        ids = stored_visits.frames_of(connection, visit, hour * HOUR_MS, (hour + 1) * HOUR_MS)
        found.update(dict.fromkeys(ids))
    return list(found)


def _spread(ids: Sequence[int], most: int) -> list[int]:
    """At most `most` of some ids, evenly spread, the first and the last among them."""
    if len(ids) <= most:
        return list(ids)
    return [ids[round(n * (len(ids) - 1) / (most - 1))] for n in range(most)]


def _texts(connection: apsw.Connection, frame_ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """(frame, reading, text) of the frames that were read."""
    found = (stored_visits.text_of(connection, frame_id) for frame_id in frame_ids)
    return [text for text in found if text is not None]


def _urls(connection: apsw.Connection, visits: Sequence[Segment], frame_ids: Sequence[int]) -> list[str]:
    """Addresses: of the browser by time spent, then those that stood in the texts."""
    spent: Counter[str] = Counter()
    for visit in visits:
        if visit.browser_url:
            spent[visit.browser_url] += max(1, visit.duration_ms)
    found = [url for url, _ in spent.most_common()]
    for frame_id in frame_ids:
        found += stored_visits.urls_of(connection, frame_id)
    return list(dict.fromkeys(found))[:_MAX_URLS]


# -- words --------------------------------------------------------------------------------


def _titles(visits: Sequence[Segment]) -> list[str]:
    """Titles of the windows, those with the most time first."""
    spent: Counter[str] = Counter()
    for visit in visits:
        title = places.stable_title(visit.window_name, visit.app_name)
        if title:
            spent[title] += max(1, visit.duration_ms)
    return [title for title, _ in spent.most_common()]


def _title(first: Segment, titles: Sequence[str]) -> str:
    host = places.host(first.browser_url)
    app = first.app_name or "Unknown app"
    if not titles:
        return host or app
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    return f"{titles[0]}{more} – {host or app}"


def _narrative(
    visits: Sequence[Segment], titles: Sequence[str], files: Sequence[str], words: Sequence[str]
) -> str:
    first = visits[0]
    host = places.host(first.browser_url)
    where = f"{host} in {first.app_name or 'a browser'}" if host else first.app_name or "an unknown app"
    times = "" if len(visits) == 1 else f" in {len(visits)} visits"
    parts = [f"{duration_text(_active_ms(visits))} on {where}{times}."]
    if titles:
        parts.append(f"Windows: {_listed(titles)}.")
    if files:
        parts.append(f"Files: {_listed(files)}.")
    if words:
        parts.append(f"On the screen: {_listed(words, len(words))}.")
    return " ".join(parts)


def _listed(names: Sequence[str], most: int = _NAMED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return "; ".join(names[:most]) + more


def duration_text(duration_ms: int) -> str:
    """``45 s``, ``12 min``, ``2 h 5 min``"""
    minutes = round(duration_ms / 60_000)
    if minutes == 0:
        return f"{round(duration_ms / 1000)} s"
    hours, minutes = divmod(minutes, 60)
    return " ".join(
        part for part in (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "") if part
    )


def _active_ms(visits: Sequence[Segment]) -> int:
    return sum(visit.duration_ms for visit in visits)


def _fingerprint(visits: Sequence[Segment], readings: Sequence[tuple[int, int]]) -> str:
    """Equal for equal frames and texts, and other rules make another one."""
    return hashlib.sha256(repr((_RULES, visits, readings)).encode()).hexdigest()[:32]


_RULES = 1
"""Counted up when the rules change, so that a later derivation writes its words."""
