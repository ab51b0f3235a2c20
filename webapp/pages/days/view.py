"""The page of a day: its week, the band, a row for each episode and gap, and the time spent beside them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any

from assistant.core.texts import terms_of
from store.core import times
from store.core.database import Database
from store.core.translation import gettext as _
from store.core.translation import translated
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.memory import episodes, observations
from store.memory.episodes import Episode
from store.memory.observations import HOUR_MS, Fact
from store.ocr import readings
from store.ocr.readings import Box
from store.spool.queue import NO_APPS
from store.timeline import segments
from store.timeline.gaps import Gap
from store.timeline.timeline import Run, Timeline, timeline
from store.timeline.totals import Total
from webapp.core import formatting
from webapp.core.services import Viewer
from webapp.pages.timeline import band
from webapp.views.frames import contact_sheet, crop_around

_BULLETS = "•▪◦*–- "
_MORE = re.compile(r"(.+) and (\d+) more", re.DOTALL)
_BAND_PX = 1_200
_HOURS = 8, 18
"""The band shows these hours, and more where a day needs more."""
_MOST_ROWS = 20
"""The longest episodes of a day have a row each and the others fold: a day is two screens at most."""
_MOST_APPS = 8
_MOST_NAMED = 3
_STEPS_MIN = 120, 180, 240
_MOST_STEPS = 6
"""More times than one more than these run into each other on a phone of 360 px."""
_WEEK_MS = 7 * 24 * HOUR_MS
_MOST_QUOTES = 6
_MOST_SHOTS = 4
_PIECE_PX = 96, 56
_CROP_PX = 384, 224
"""Four pixels of the screen for one of the row: a few lines, told apart by their shape."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """An episode as it is drawn. `title` is what was open, `where` the app with the site, if it had one.
    `quotes` stand on frames that still are; `shot` shows the first of them, else the middle of the episode,
    `crop` where on it: whole pictures of one program look alike.
    """

    episode: Episode
    title: str
    where: str
    css_class: str
    quotes: tuple[Fact, ...]
    shot: FrameRow | None
    crop: Box | None
    shots: tuple[FrameRow, ...]

    @property
    def start_ms(self) -> int:
        return self.episode.start_ms


def page(database: Database, day: times.Day, who: Viewer, *, is_month: bool = False) -> dict[str, Any]:
    """What `days/day.html` draws of a day on the viewer's clock, with its week or its month above as `cells`.

    Each of `rows` is an episode, a list of short ones one after the other, folded, or a gap. `first_ms` and
    `last_ms` bound what was recorded or else imported, None for nothing; `running` is the last window where
    no episode tells of it yet.
    """
    line = timeline(database, day.start_ms, day.end_ms, _BAND_PX, now_ms=who.now_ms)
    done = episodes.episodes(observations.between(database, day.start_ms, day.end_ms, limit=-1))
    shown_runs = line.runs or line.moments
    slots, view = line.colour_slots, _window(day, line.shown, who)
    longest = sorted(done, key=lambda each: each.active_ms, reverse=True)[:_MOST_ROWS]
    shown = {each.start_ms for each in longest}
    drawn = _drawn(database, done, slots, shown)
    recorded = (line.runs[0].start_ms, line.runs[-1].end_ms) if line.runs else None
    earlier, later = observations.nearest_days(database, day.start_ms, day.end_ms)
    last = line.runs[-1] if line.runs else None
    is_running = (
        last is not None
        and who.now_ms < day.end_ms  # what is not written up of a day that is over never will be
        and all(each.end_ms <= last.start_ms for each in done)
    )
    pictured = [(row.shot, row.crop) for row in drawn if row.start_ms in shown]
    return dict(
        day=day,
        cells=_cells(database, line, day.date, who, is_month),
        line=line,
        view=view,
        runs=[band.band_run(run, view, ()) for run in line.shown],
        ticks=times.hour_marks(view.start_ms, view.end_ms, who.zone, _tick_min(view)),
        gap_rects=band.gap_rects(line.gaps, view),
        rows=_rows(drawn, shown, [gap for gap in line.gaps if band.is_worth_naming(gap, recorded)]),
        sheet=contact_sheet(pictured, *_PIECE_PX),
        episodes=sum(each.lead.kind != observations.PICTURE for each in done),
        first_ms=shown_runs[0].start_ms if shown_runs else None,
        last_ms=shown_runs[-1].end_ms if shown_runs else None,
        running=last if is_running else None,
        totals=_spent(line.totals.by_app[:_MOST_APPS], slots),
        lines=_lines(drawn, observations.places(database, day.start_ms - _WEEK_MS, day.start_ms)),
        earlier=who.date_of(earlier),
        later=who.date_of(later),
    )


def _lines(drawn: Sequence[EpisodeRow], earlier: frozenset[str]) -> dict[str, Any]:
    """What `days/_lines.html` draws of a day: all that took time under a name, the longest first, and of it
    the most in all, and what was not there earlier, where that is known.
    """
    timed = sorted((row for row in drawn if row.episode.active_ms), key=lambda row: -row.episode.active_ms)
    named = [row for row in timed if row.episode.lead.app_name not in (None, *NO_APPS)]
    longest = {(row.title, row.where): row for row in reversed(named)}
    spent = Counter[tuple[str, str]]()
    for row in named:
        spent[row.title, row.where] += row.episode.active_ms
    new = [longest[key] for key in spent if earlier and longest[key].episode.lead.place not in earlier]
    most = [(longest[key], total_ms) for key, total_ms in spent.most_common(_MOST_NAMED)]
    return {"named": named, "most": most, "new": new[:_MOST_NAMED]}


def _spent(totals: Sequence[Total], slots: Mapping[str, int | None]) -> list[tuple[Total, str, float]]:
    """Totals, longest first, with class and length in percent of the longest."""
    return [
        (
            each,
            formatting.slot_class(slots.get(each.name or "")),
            round(100 * each.duration_ms / max(1, totals[0].duration_ms), 1),
        )
        for each in totals
    ]


def latest(database: Database, who: Viewer) -> times.Day:
    """The last day that has something to tell; today where none has."""
    earlier, __ = observations.nearest_days(database, who.today.end_ms, who.today.end_ms)
    return who.day_of(earlier) if earlier is not None else who.today


def _cells(database: Database, line: Timeline, on: date, who: Viewer, is_month: bool) -> list[dict[str, Any]]:
    """The days of whole weeks around a date, or around its month, from the viewer's first weekday on. `line`
    is that of the date; `bars` are (x, width, class) in percent of the longest day's length.
    """
    first = on.replace(day=1) if is_month else on
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1) if is_month else on
    first -= timedelta(days=(first.weekday() - who.week_start) % 7)
    weeks = (last - first).days // 7 + 1
    slots = apps.colour_slots(database)
    days = [times.day(first + timedelta(days=n), who.zone, who.day_start_min) for n in range(7 * weeks)]
    totals = [
        line.totals if each.date == on else segments.totals(database, each.start_ms, each.end_ms)
        for each in days
    ]
    moments = segments.moments(database, days[0].start_ms, days[-1].end_ms)
    imported = Counter(who.day_of(moment.start_ms).date for moment in moments)
    longest = max(each.covered_ms for each in totals) or 1
    cells = []
    for day, spent in zip(days, totals, strict=True):
        x, bars = 0.0, list[tuple[float, float, str]]()
        for each in spent.by_app:
            width = 100 * each.duration_ms / longest
            bars.append((round(x, 2), round(width, 2), formatting.slot_class(slots.get(each.name or ""))))
            x += width
        cells.append(dict(on=day.date, duration_ms=spent.covered_ms, imported=imported[day.date], bars=bars))
    return cells


def opened(database: Database, day: times.Day, start_ms: int) -> EpisodeRow | None:
    """The episode of a day that began then; None where none did, or does any more."""
    done = episodes.episodes(observations.between(database, day.start_ms, day.end_ms, limit=-1))
    found = [each for each in done if each.start_ms == start_ms]
    return next(iter(_drawn(database, found, apps.colour_slots(database), {start_ms})), None)


def _window(day: times.Day, shown: Sequence[Run], who: Viewer) -> band.Window:
    marks = times.hour_marks(day.start_ms, day.end_ms, who.zone)
    usual = [mark for mark in marks if times.to_local(mark, who.zone).hour in _HOURS] or [day.start_ms]
    start_ms = min([usual[0], *(run.start_ms for run in shown[:1])])
    end_ms = max([usual[-1], *(run.end_ms for run in shown)])
    return band.Window(
        max((mark for mark in marks if mark <= start_ms), default=day.start_ms),
        min((mark for mark in marks if mark >= end_ms), default=day.end_ms),
        "day",
    )


def _tick_min(view: band.Window) -> int:
    minutes = (view.end_ms - view.start_ms) / 60_000
    return next((step for step in _STEPS_MIN if minutes <= step * _MOST_STEPS), _STEPS_MIN[-1])


def _drawn(
    database: Database, done: Sequence[Episode], slots: Mapping[str, int | None], shown: set[int]
) -> list[EpisodeRow]:
    """Rows in order. Those that fold are titles alone: no frame of theirs is looked up or cropped."""
    pictured = (each for each in done if each.start_ms in shown)
    known = frames.get_many(database, sorted({number for each in pictured for number in each.frame_ids}))
    return [_row(database, each, known, slots) for each in done]


def _row(
    database: Database, episode: Episode, known: Mapping[int, FrameRow], slots: Mapping[str, int | None]
) -> EpisodeRow:
    lead, app = episode.lead, episode.lead.app_name or ""
    title, where = lead.title, app
    if "title" not in lead.edited and " – " in title:  # a rule's title ends in the app or the site
        title, __, where = title.rpartition(" – ")
        where = where if where == app or not app else f"{app} · {where}"
        if title.startswith("“"):  # a line of the screen, by older rules: it may say anything
            title = where
    if "title" not in lead.edited and (more := _MORE.fullmatch(title)):
        title = _("%(title)s and %(number)s more", title=more[1], number=more[2])
    if not app or app in NO_APPS:  # the rules say so in English
        said = {name: formatting.app_name(name) for name in NO_APPS}
        said |= {name: translated(name) for name in ("Unknown app", observations.IMPORTED)}
        title, where = said.get(title, title), said.get(where, where)
    stand = (fact for fact in episode.facts if fact.frame_id is None or fact.frame_id in known)
    told = (replace(fact, text=fact.text.lstrip(_BULLETS)) for fact in stand)
    quotes = tuple(sorted(told, key=lambda fact: not _is_of(title, fact.text)))
    shots = [known[number] for number in episode.frame_ids if number in known]
    best = next((fact for fact in quotes if fact.frame_id is not None), None)
    shown = known[best.frame_id] if best and best.frame_id else shots[len(shots) // 2] if shots else None
    return EpisodeRow(
        episode,
        title,
        where,
        formatting.slot_class(slots.get(app)),
        quotes[:_MOST_QUOTES],
        shown,
        _crop(database, shown, best.text) if shown and best else None,
        tuple(shots[:: max(1, -(-len(shots) // _MOST_SHOTS))]),
    )


def _is_of(title: str, line: str) -> bool:
    """Whether a line says more of what a title names: anything may stand on a page."""
    named, said = set(terms_of(title)), set(terms_of(line))
    return bool(said & named) and len(said - named) > 1


def _crop(database: Database, frame: FrameRow, text: str) -> Box | None:
    """Around the beginning of a line of the frame; None where no picture is, or it is read otherwise now."""
    reading = readings.current_reading(database, frame.id) if frame.media_path else None
    box = next((line.box for line in reading.lines if text in line.text), None) if reading else None
    if box is None:
        return None
    beginning = box._replace(w=min(box.w, _CROP_PX[0] // 2))
    return crop_around([beginning], frame.width_px, frame.height_px, *_CROP_PX)


def _rows(
    drawn: Sequence[EpisodeRow], shown: set[int], gaps: Sequence[Gap]
) -> list[EpisodeRow | list[EpisodeRow] | Gap]:
    rows: list[EpisodeRow | list[EpisodeRow] | Gap] = []
    all_rows: list[EpisodeRow | Gap] = [*drawn, *gaps]
    for each in sorted(all_rows, key=lambda row: row.start_ms):
        if isinstance(each, Gap) or each.start_ms in shown:
            rows.append(each)
        elif rows and isinstance(rows[-1], list):
            rows[-1].append(each)
        else:
            rows.append([each])
    return rows
