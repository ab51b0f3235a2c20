"""The rules that make memory of what was seen: observations of an hour, sessions, points of a day.

One observation for each place (a site, or a window of an app) that was worked in, its visits
merged. Everything it says was seen: durations come from the line of activity, words from titles,
addresses and a sample of the texts, and facts are lines quoted with their frames. The same frames
give the same drafts, so an hour can be derived as often as needed.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from zoneinfo import ZoneInfo

import apsw

from ingest.observations import keyword_extraction, places
from ingest.observations.keyword_extraction import Background, Box, Line, Window, box
from ingest.observations.places import Titles
from store.core import times, tombstones
from store.core.database import Database
from store.core.times import Day
from store.frames.activity_intervals import Segment
from store.memory import documents, observations
from store.memory.daily_hours import Hour, Point, duration_text
from store.memory.documents import SESSION_GAP_MS
from store.memory.observations import HOUR_MS, IMPORTED, PICTURE, Draft, Fact, Observation
from store.memory.own_lines import OwnText, own_texts
from store.search import search
from store.search.filters import Filters
from store.search.sample import evenly
from store.timeline import segments
from store.timeline.gaps import Interval, merge_intervals
from store.timeline.totals import Totals

MAX_OF_HOUR = 20
"""Places of one hour that get an observation: those with the most time; and so many imported pictures."""
MAX_FRAMES = 24
"""Frames of an observation whose texts are looked at, spread over its visits."""
_MAX_URLS = 20
COMPARED_WITH = 240
"""Frames from all over what is remembered that an hour is compared with."""
_NAMED = 4


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an hour is compared with: texts and titles of all places of the person."""

    background: Background = field(default_factory=Background)
    titles: Titles = field(default_factory=Titles)


def surroundings(database: Database) -> Surroundings:
    """What hours are compared with now."""
    shown = observations.spread_texts(database, COMPARED_WITH)
    return Surroundings(
        Background((_window(app, window, url), text) for app, window, url, text in shown),
        Titles((app, window, url) for app, window, url, _ in shown),
    )


def _window(app_name: str | None, window_name: str | None, browser_url: str | None) -> Window:
    title = places.stable_title(window_name, app_name)
    return Window(app_name or "", places.where(app_name, browser_url), title)


def drafts_of(database: Database, hour: int, until_ms: int, around: Surroundings) -> list[Draft]:
    """The observations of an hour, of activity that had ended by `until_ms`, in the order of time.

    What they say comes from the hour's own frames; `around` only tells what of it is nothing special.
    """
    start_ms = hour * HOUR_MS
    visits: dict[str, list[Segment]] = {}
    with database.read() as connection:
        for segment in segments.segments(database, start_ms, start_ms + HOUR_MS):
            if segment.end_ms <= until_ms:
                where = places.place(segment.app_name, segment.window_name, segment.browser_url)
                if places.is_nameless(segment.app_name, segment.window_name, segment.browser_url):
                    where = f"{where}\n{segment.first_frame_id}"  # two of them need not be the same
                visits.setdefault(where, []).append(segment)
        chosen = sorted(visits, key=lambda where: -_active_ms(visits[where]))[:MAX_OF_HOUR]
        frame_ids = {where: evenly(_frames(connection, hour, visits[where]), MAX_FRAMES) for where in chosen}
        own = own_texts(connection, [frame_id for where in chosen for frame_id in frame_ids[where]])
        drafts = [
            _draft(connection, around, hour, where, visits[where], frame_ids[where], own) for where in chosen
        ]
        moments = evenly(segments.moments(database, start_ms, start_ms + HOUR_MS), MAX_OF_HOUR)
        drafts += [_moment(connection, around, hour, moment) for moment in moments]
    return sorted(drafts, key=lambda draft: (draft.start_ms, draft.place))


def _moment(connection: apsw.Connection, around: Surroundings, hour: int, moment: Segment) -> Draft:
    """A picture that was imported, by itself: of which window, and so part of what, nobody knows."""
    frame_ids = [moment.first_frame_id]
    texts = own_texts(connection, frame_ids)
    draft = _draft(connection, around, hour, f"{IMPORTED}\n{frame_ids[0]}", [moment], frame_ids, texts)
    return replace(draft, kind=PICTURE, title=IMPORTED, narrative="A picture that was imported.")


def _draft(
    connection: apsw.Connection,
    around: Surroundings,
    hour: int,
    where: str,
    visits: list[Segment],
    frame_ids: list[int],
    own: Mapping[int, OwnText],
) -> Draft:
    first = visits[0]
    texts = [own[frame_id] for frame_id in frame_ids if frame_id in own]
    titles, place_name = _titles(visits, around.titles)
    lines = keyword_extraction.distinct_lines(
        Line(line.text, each.frame_id, line.confidence) for each in texts for line in each.lines
    )
    weight = around.background.weight({_window(v.app_name, v.window_name, v.browser_url) for v in visits})
    words = keyword_extraction.concepts(titles, lines, weight)
    whole_titles = dict.fromkeys(visit.window_name for visit in visits if visit.window_name)
    told = keyword_extraction.facts(lines, [*titles, *whole_titles, place_name, first.app_name or ""], weight)
    urls = _urls(connection, visits, frame_ids)
    of_urls = [name for url in urls if (name := places.file_of_url(url))]
    of_titles = places.files_of_titles(titles)
    of_lines = places.files([*titles, *(line.text for line in lines)])
    named = [name for name in [*of_lines, *of_urls] if not any(whole.endswith(name) for whole in of_titles)]
    files = list(dict.fromkeys([*of_titles, *named]))
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
        title=_title(titles, place_name),
        narrative=_narrative(visits, titles, files),
        facts=tuple(Fact(line.text, line.frame_id) for line in told),
        concepts=tuple(words),
        files=tuple(files[: places.MAX_FILES]),
        urls=tuple(urls),
        frame_ids=tuple(frame_ids),
        fingerprint=_fingerprint(visits, [(each.frame_id, each.reading_id) for each in texts], told),
    )


def _frames(connection: apsw.Connection, hour: int, visits: Sequence[Segment]) -> list[int]:
    """The frames of the visits within the hour, in order."""
    frame_ids: dict[int, None] = {}
    for visit in visits:
        ids = segments.frames_of(connection, visit, hour * HOUR_MS, (hour + 1) * HOUR_MS)
        frame_ids.update(dict.fromkeys(ids))
    return list(frame_ids)


def _texts(connection: apsw.Connection, frame_ids: Sequence[int]) -> list[str]:
    """All that was read on the frames."""
    texts = (segments.text_of(connection, frame_id) for frame_id in frame_ids)
    return [text for text in texts if text is not None]


def _urls(connection: apsw.Connection, visits: Sequence[Segment], frame_ids: Sequence[int]) -> list[str]:
    """Addresses: of the browser by time spent, then those that stood in the texts."""
    urls = _by_time((visit.browser_url, visit.duration_ms) for visit in visits if visit.browser_url)
    for frame_id in frame_ids:
        urls += segments.urls_of(connection, frame_id)
    return list(dict.fromkeys(urls))[:_MAX_URLS]


def _titles(visits: Sequence[Segment], known: Titles) -> tuple[list[str], str]:
    """Titles of the windows, those with the most time first; and the app or site they are of."""
    told = [known.told(v.app_name, v.window_name, v.browser_url) for v in visits]
    titles = _by_time((title, v.duration_ms) for (title, _), v in zip(told, visits, strict=True) if title)
    return titles, _by_time((where, v.duration_ms) for (_, where), v in zip(told, visits, strict=True))[0]


def _title(titles: Sequence[str], where: str) -> str:
    """What was open longest; where no window says it, the app or the site. Never a line of the screen: that
    may say anything, and stands below as a quote.
    """
    if not titles:
        return where
    more = f" and {len(titles) - 1} more" if len(titles) > 1 else ""
    return f"{titles[0]}{more} – {where}"


def _narrative(visits: Sequence[Segment], titles: Sequence[str], files: Sequence[str]) -> str:
    first = visits[0]
    host = places.host(first.browser_url)
    where = f"{host} in {first.app_name or 'a browser'}" if host else first.app_name or "an unknown app"
    active_ms = _active_ms(visits)
    times = "" if len(visits) == 1 else f" in {len(visits)} visits"
    parts = [f"{duration_text(active_ms)} on {where}{times}." if active_ms else f"A look at {where}{times}."]
    if titles:
        parts.append(f"Windows: {_listed(titles)}.")
    if files:
        parts.append(f"Files: {_listed(files)}.")
    return " ".join(parts)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return "; ".join(names[:_NAMED]) + more


def _by_time(times: Iterable[tuple[str, int]]) -> list[str]:
    """Names of (name, milliseconds), those with the most time first; a single look counts a little."""
    spent: Counter[str] = Counter()
    for name, duration_ms in times:
        spent[name] += max(1, duration_ms)
    return [name for name, _ in spent.most_common()]


def _apps(totals: Totals, most: int) -> str:
    apps = [app for app in totals.by_app if app.duration_ms >= 1000][:most]
    return ", ".join(f"{app.name or 'unknown app'} {duration_text(app.duration_ms)}" for app in apps)


def _active_ms(visits: Sequence[Segment]) -> int:
    return sum(visit.duration_ms for visit in visits)


def _fingerprint(visits: Sequence[Segment], readings: Sequence[tuple[int, int]], told: Sequence[Line]) -> str:
    """Equal for equal frames and texts with the same lines to tell; other rules make another one."""
    return hashlib.sha256(
        repr((_RULES, visits, readings, told)).encode("utf-8", "surrogatepass")
    ).hexdigest()[:32]


_RULES = 6
"""Counted up when the rules change, so that a later derivation writes its words."""


# Summaries of capture sessions by rules: what was looked at, the lines that told most, what was ticked off
# and what is still to tick, and for how long.
#
# What cannot be seen from outside a head, such as what was wanted, stays null, and null is no document. The
# lines stand word for word on frames (`observations.frames_of_lines`).

_REACH_MS = 7 * 24 * HOUR_MS
"""A session that is longer is cut here, seen from the hour that changed."""
_MOST = 8
_OPEN_FOR_MS = 14 * 24 * HOUR_MS
"""What was seen with an open box so long ago, and is ticked, was done meanwhile."""
_MOST_BEFORE = 20


def summarize_sessions(database: Database, hour: int, now_ms: int) -> int:
    """Summarise the sessions of an hour anew; returns how many there are. One still under way waits."""
    since = tombstones.newest_now(database)
    over = [bounds for bounds in _sessions(database, hour) if bounds[1] + SESSION_GAP_MS <= now_ms]
    fields = [(bounds, *_summary(database, *bounds)) for bounds in over]
    with database.write() as connection:
        if tombstones.newest(connection) != since:
            return 0  # the deletion has put the hour on the list again
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
    longest_first = sorted(seen, key=lambda o: -o.active_ms)
    was_open, last = _boxes(database, seen)
    projects = _by_time((o.project, o.active_ms) for o in seen if o.project)
    lines: dict[str, list[str]] = {
        "investigated": [o.title for o in longest_first],
        "learned": [next(_sentences(o), "") for o in longest_first],
        "completed": [
            text
            for found, text in last
            if found.is_ticked and (found.begins_as(was_open) or _was_open_before(database, found, start_ms))
        ],
        "next_steps": [text for found, text in last if not found.is_ticked],
    }
    fields = {name: "\n".join(dict.fromkeys(filter(None, of[:_MOST]))) or None for name, of in lines.items()}
    return {**fields, "notes": " ".join(filter(None, notes)) or None}, projects[0] if projects else None


def _boxes(database: Database, seen: Sequence[Observation]) -> tuple[set[str], list[tuple[Box, str]]]:
    """What was seen with an open box, and the boxes that each window had last, with their lines."""
    was_open: set[str] = set()
    last: dict[str, list[tuple[Box, str]]] = {}
    for observation in seen:
        if not any(box(fact.text) for fact in observation.facts):
            continue
        with database.read() as connection:
            texts = _texts(connection, observation.frame_ids)
        for text in texts:
            lines = [line.strip() for line in text.split("\n")]
            boxes = [(found, line) for line in lines if (found := box(line))]
            was_open |= {found.what for found, _ in boxes if not found.is_ticked}
            last[observation.title] = boxes or last.get(observation.title, [])
    return was_open, [each for boxes in last.values() for each in boxes]


def _sentences(observation: Observation) -> Iterator[str]:
    """The lines of an observation that stand on a frame and are no box to tick."""
    return (fact.text for fact in observation.facts if fact.frame_id is not None and not box(fact.text))


def _was_open_before(database: Database, ticked: Box, start_ms: int) -> bool:
    """Whether it stood with an open box on a frame of the time before."""
    before = Filters(start_ms - _OPEN_FOR_MS, start_ms)
    phrase = '"' + ticked.what.replace('"', " ") + '"'
    page = search.search(database, phrase, before, mode="fts", order="newest", limit=_MOST_BEFORE)
    with database.read() as connection:
        texts = _texts(connection, [hit.frame_id for hit in page.hits])
    boxes = (box(line.strip()) for text in texts for line in text.split("\n"))
    return any(found and not found.is_ticked and found.what == ticked.what for found in boxes)


# -- the text of a day: how long which app was used, and the points by the clock ------------------

_TOP_APPS = 5


def day_text(day: Day, zone: ZoneInfo, hours: Sequence[Hour], totals: Totals, imported: int = 0) -> str:
    """The summary of a day with so many imported pictures; "" for one without points."""
    points = [point for hour in hours for point in hour.points]
    if not points:
        return ""
    apps = _apps(totals, _TOP_APPS)
    spent = f"{duration_text(totals.covered_ms)} at the screen: {apps}. " if apps else ""
    brought = f"{imported} picture{'s'[imported == 1 :]} imported." if imported else ""
    named = f"{day.date.strftime('%A')}, {day.date.day} {day.date.strftime('%B %Y')}"
    return "\n".join([f"{named}. {spent}{brought}".rstrip(), *(_line(point, zone) for point in points)])


def _line(point: Point, zone: ZoneInfo) -> str:
    at = times.to_local(point.at_ms, zone)
    quotes = " ".join(f"“{quote.text}”" for quote in point.quotes if quote.text)
    return f"{at:%H:%M} {point.text} {quotes}".rstrip()
