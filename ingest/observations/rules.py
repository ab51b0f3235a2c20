"""The rules that make memory of what was seen: observations of an hour, sessions, points of a day.

One observation for each place (a site, or a window of an app) that was worked in, its visits
merged. Everything it says was seen: durations come from the line of activity, words from titles,
addresses and a sample of the texts, and facts are lines quoted with their frames. The same frames
give the same drafts, so an hour can be derived as often as needed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from zoneinfo import ZoneInfo

import apsw

from ingest.observations import keyword_extraction, places
from ingest.observations.keyword_extraction import is_to_do
from store.core import times
from store.core.database import Database
from store.core.times import Day
from store.frames.activity_intervals import Segment
from store.memory import documents, observations
from store.memory.daily_hours import Hour, Point, Quote
from store.memory.documents import SESSION_GAP_MS
from store.memory.observations import HOUR_MS, Draft, Fact, Observation
from store.timeline import segments
from store.timeline.gaps import Interval, merge_intervals
from store.timeline.totals import Totals

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


def _frames(connection: apsw.Connection, hour: int, visits: Sequence[Segment]) -> list[int]:
    """The frames of the visits within the hour, in order."""
    frame_ids: dict[int, None] = {}
    for visit in visits:
        ids = segments.frames_of(connection, visit, hour * HOUR_MS, (hour + 1) * HOUR_MS)
        frame_ids.update(dict.fromkeys(ids))
    return list(frame_ids)


def _spread(ids: Sequence[int], most: int) -> list[int]:
    """At most `most` of some ids, evenly spread, the first and the last among them."""
    if len(ids) <= most:
        return list(ids)
    return [ids[round(n * (len(ids) - 1) / (most - 1))] for n in range(most)]


def _texts(connection: apsw.Connection, frame_ids: Sequence[int]) -> list[tuple[int, int, str]]:
    """(frame, reading, text) of the frames that were read."""
    texts = (segments.text_of(connection, frame_id) for frame_id in frame_ids)
    return [text for text in texts if text is not None]


def _urls(connection: apsw.Connection, visits: Sequence[Segment], frame_ids: Sequence[int]) -> list[str]:
    """Addresses: of the browser by time spent, then those that stood in the texts."""
    urls = _by_time((visit.browser_url, visit.duration_ms) for visit in visits if visit.browser_url)
    for frame_id in frame_ids:
        urls += segments.urls_of(connection, frame_id)
    return list(dict.fromkeys(urls))[:_MAX_URLS]


def _titles(visits: Sequence[Segment]) -> list[str]:
    """Titles of the windows, those with the most time first."""
    titles = ((places.stable_title(v.window_name, v.app_name), v.duration_ms) for v in visits)
    return _by_time((title, duration_ms) for title, duration_ms in titles if title)


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
    hours, minutes = divmod(round(duration_ms / 60_000), 60)
    if not hours and not minutes:
        return f"{round(duration_ms / 1000)} s"
    return f"{f'{hours} h' if hours else ''} {f'{minutes} min' if minutes else ''}".strip()


def _by_time(times: Iterable[tuple[str, int]]) -> list[str]:
    """Names of (name, milliseconds), those with the most time first; a single look counts a little."""
    spent: Counter[str] = Counter()
    for name, duration_ms in times:
        spent[name] += max(1, duration_ms)
    return [name for name, _ in spent.most_common()]


def _apps(totals: Totals, most: int) -> str:
    apps = totals.by_app[:most]
    return ", ".join(f"{app.name or 'unknown app'} {duration_text(app.duration_ms)}" for app in apps)


def _active_ms(visits: Sequence[Segment]) -> int:
    return sum(visit.duration_ms for visit in visits)


def _fingerprint(visits: Sequence[Segment], readings: Sequence[tuple[int, int]]) -> str:
    """Equal for equal frames and texts, and other rules make another one."""
    return hashlib.sha256(repr((_RULES, visits, readings)).encode()).hexdigest()[:32]


_RULES = 1
"""Counted up when the rules change, so that a later derivation writes its words."""


# Summaries of capture sessions by rules: what was looked at, what is still to do, and for how long.
#
# A request, what was learned and what was completed cannot be seen from outside a head: these stay
# null, and null is no document.

_REACH_MS = 7 * 24 * HOUR_MS
"""A session that is longer is cut here, seen from the hour that changed."""
_MOST = 8


def summarize_sessions(database: Database, hour: int, now_ms: int) -> int:
    """Summarise the sessions of an hour anew; returns how many there are. One still under way waits."""
    over = [bounds for bounds in _sessions(database, hour) if bounds[1] + SESSION_GAP_MS <= now_ms]
    fields = [(bounds, *_summary(database, *bounds)) for bounds in over]
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
    seen = observations.between(database, start_ms, end_ms)
    totals = segments.totals(database, start_ms, end_ms)
    apps = _apps(totals, _MOST)
    files = _by_time((name, o.active_ms) for o in seen for name in o.files)
    notes = [f"{duration_text(totals.covered_ms)} at the screen: {apps}." if apps else ""]
    notes.append(f"Files: {'; '.join(files[:_MOST])}." if files else "")
    sites = [o.title for o in sorted(seen, key=lambda o: -o.active_ms) if o.kind == "browsing"]
    to_do = list(dict.fromkeys(fact.text for o in seen for fact in o.facts if is_to_do(fact.text)))
    projects = _by_time((o.project, o.active_ms) for o in seen if o.project)
    fields: dict[str, str | None] = {
        "investigated": "\n".join(dict.fromkeys(sites[:_MOST])) or None,
        "next_steps": "\n".join(to_do[:_MOST]) or None,
        "notes": " ".join(note for note in notes if note) or None,
    }
    return fields, projects[0] if projects else None


# Summaries of days by rules: the points of an hour from its observations, a day's text from its hours.
#
# Pure functions. A point says what an observation says, a person's own words included, and names the
# frames that show it: the lines that were quoted on them, else a frame of its time. The text of a day
# begins with how long which app was used and goes on with the points by the clock.

MAX_POINTS = 8
"""Points of an hour: the observations with the most time."""
MAX_QUOTES = 3
_MAX_POINT_CHARS = 300
_TOP_APPS = 5


def points_of(observations: Sequence[Observation]) -> tuple[Point, ...]:
    """What an hour was about, in the order of time."""
    worded = [o for o in observations if o.title or o.narrative]
    longest = sorted(worded, key=lambda o: -o.active_ms)[:MAX_POINTS]
    return tuple(_point(o) for o in sorted(longest, key=lambda o: (o.start_ms, o.id)))


def fingerprint_of(observations: Sequence[Observation]) -> str:
    """Equal for observations that say the same; "" for none."""
    if not observations:
        return ""
    content = [
        (o.start_ms, o.end_ms, o.active_ms, o.title, o.narrative, o.facts, o.frame_ids) for o in observations
    ]
    return hashlib.sha256(repr((_RULES, content)).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def day_text(day: Day, zone: ZoneInfo, hours: Sequence[Hour], totals: Totals) -> str:
    """The summary of a day; "" for one without points."""
    points = [point for hour in hours for point in hour.points]
    if not points:
        return ""
    apps = _apps(totals, _TOP_APPS)
    spent = f"{duration_text(totals.covered_ms)} at the screen" + (f": {apps}." if apps else ".")
    named = f"{day.date.strftime('%A')}, {day.date.day} {day.date.strftime('%B %Y')}"
    return "\n".join([f"{named}. {spent}", *(_line(point, zone) for point in points)])


def _point(observation: Observation) -> Point:
    quotes = [Quote(fact.frame_id, fact.text) for fact in observation.facts if fact.frame_id is not None]
    if not quotes:
        quotes = [Quote(frame_id, "") for frame_id in observation.frame_ids[:1]]
    return Point(observation.start_ms, _sentence(observation), tuple(quotes[:MAX_QUOTES]))


def _sentence(observation: Observation) -> str:
    """A sentence of a person or a model as it is; of the rules, what was open and for how long."""
    is_edited = observation.source == "user" and "narrative" in observation.edited
    sentence = observation.narrative if is_edited or observation.source == "model" else ""
    sentence = sentence or f"{observation.title}, {duration_text(observation.active_ms)}."
    return " ".join(sentence.split())[:_MAX_POINT_CHARS]


def _line(point: Point, zone: ZoneInfo) -> str:
    at = times.to_local(point.at_ms, zone)
    quotes = " ".join(f"“{quote.text}”" for quote in point.quotes if quote.text)
    return f"{at:%H:%M} {point.text} {quotes}".rstrip()
