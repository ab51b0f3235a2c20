"""What the timeline page of one day draws: the stage, the band, the selection, and the index to scrub by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

from store.core.database import Database
from store.frames import frames
from store.frames.activity_intervals import Segment
from store.frames.frames import captured_ms_of
from store.memory import insights
from store.memory.insights import InsightFilter
from store.timeline import segments, timeline
from store.timeline.timeline import Mark
from webapp.core import formatting
from webapp.core.services import Viewer
from webapp.pages.timeline import band
from webapp.pages.timeline.band import Window
from webapp.pages.timeline.stage import NO_SELECTION, Selection, Stage, StageQuery, address, stage

_MINUTE_MS = 60_000


def selector(ask: StageQuery, stage: Stage | None, view: Window) -> dict[str, Any]:
    """What `timeline/_selection.html` draws: the selection of a view, and where its buttons lead.

    `begin` and `end` are "" where there is no frame for it; `start_ms` and `end_ms` are what the buttons act
    on, the selection or else the stretch that is shown, and `query` the whole minutes that this touches, for
    forms that can say no less.
    """
    chosen, frame = ask.selected, stage.frame if stage else None
    start_ms, end_ms = chosen.start_ms, chosen.end_ms
    if start_ms is None or end_ms is None:
        start_ms, end_ms = view.start_ms, view.end_ms

    def to(selected: Selection) -> str:
        return address(replace(ask, selected=selected), frame.id if frame else None)

    minutes = {"from": start_ms // _MINUTE_MS * _MINUTE_MS, "to": -(-end_ms // _MINUTE_MS) * _MINUTE_MS}
    return dict(
        selected=chosen,
        start_ms=start_ms,
        end_ms=end_ms,
        query=urlencode(minutes),
        begin=to(chosen.begun_at(frame)) if frame else "",
        end=to(chosen.ended_at(frame)) if frame and chosen.start_ms is not None else "",
        without=to(NO_SELECTION),
    )


EVERY_FRAME_MS = 3_600_000
"""Up to this span the index holds each frame; beyond it, one a minute."""

_MOST = 4000


def scrub_marks(database: Database, start_ms: int, end_ms: int, app_names: Sequence[str] = ()) -> list[Mark]:
    """Marks in order of time; with `app_names` only those of these apps.

    The app is that of the activity at the moment, which is what the band shows.
    """
    if end_ms - start_ms <= EVERY_FRAME_MS:
        marks = timeline.frames_between(database, start_ms, end_ms, _MOST)
    else:
        ids = [frame_id for _, frame_id in timeline.minute_index(database, start_ms, end_ms)]
        marks = _named(ids, segments.segments(database, start_ms, end_ms))
    return [mark for mark in marks if not app_names or mark[2] in app_names]


def _named(ids: Sequence[int], segments: Sequence[Segment]) -> list[Mark]:
    """Both are in order of time, so one walk joins them."""
    marks: list[Mark] = []
    at = 0
    for frame_id in ids:
        ms = captured_ms_of(frame_id)
        while at < len(segments) and segments[at].end_ms < ms:
            at += 1
        covered = at < len(segments) and segments[at].start_ms <= ms
        marks.append((frame_id, ms, segments[at].app_name if covered else None))
    return marks


BAND_PX = 600
"""The band is merged for this width: fine enough for a wide screen, light enough for a phone."""


def page(database: Database, ask: StageQuery, viewer: Viewer) -> dict[str, Any]:
    """What `timeline/timeline.html` draws."""
    day = ask.day
    whole = timeline.timeline(database, day.start_ms, day.end_ms, BAND_PX, now_ms=viewer.now_ms)
    newest_id = frames.newest_shown(database, day.start_ms, day.end_ms, ask.app_names)
    shown_stage = stage(database, ask, newest_id)
    at_ms = _head(ask, shown_stage, viewer)
    view = band.window(day, at_ms, ask.zoom, viewer)
    drawn = whole
    if ask.zoom != "day":
        drawn = timeline.timeline(database, view.start_ms, view.end_ms, BAND_PX, now_ms=viewer.now_ms)
    runs, recorded = drawn.shown, drawn.runs
    covered = (recorded[0].start_ms, recorded[-1].end_ms) if recorded else None
    nearest = (None, None) if whole.frames else timeline.nearest_days(database, day.start_ms, day.end_ms)
    today = viewer.today.date
    frame_id = shown_stage.frame.id if shown_stage else None
    return dict(
        ask=ask,
        to=partial(address, ask),  # another frame in this view
        address=partial(address, ask, frame_id),  # this view with something else in it
        view=view,
        is_today=day.date == today,
        has_frames=whole.frames > 0,
        stage=shown_stage,
        at_ms=at_ms,
        runs=[band.band_run(run, view, ask.app_names) for run in runs],
        lanes=[
            (lane.host, lane.duration_ms, [band.band_run(run, view, ask.app_names) for run in lane.runs])
            for lane in drawn.lanes
        ],
        gap_rects=band.gap_rects(drawn.gaps, view),
        gaps=band.gap_texts(drawn.gaps, covered, (view.end_ms - view.start_ms) // 240),
        ticks=band.ticks(view, viewer),
        insights=insights.list_insights(database, InsightFilter(view.start_ms, view.end_ms)),
        chips=_chips(ask, drawn, shown_stage),
        rows=sorted((*drawn.longest, *drawn.moments), key=lambda row: row.start_ms),
        rows_left_out=drawn.stretches - len(drawn.longest),
        previous_day=day.date - timedelta(days=1),
        next_day=day.date + timedelta(days=1) if day.date < today else None,
        nearest_days=(viewer.date_of(nearest[0]), viewer.date_of(nearest[1])),
        frames=drawn.frames,
        covered_ms=drawn.totals.covered_ms,
        imported=drawn.imported,
        selector=selector(ask, shown_stage, view),
    )


def _head(ask: StageQuery, stage: Stage | None, viewer: Viewer) -> int:
    if stage is not None and stage.missed_ms is None:
        return stage.frame.captured_ms
    if ask.at_ms is not None:
        return ask.at_ms
    return min(max(viewer.now_ms, ask.day.start_ms), max(ask.day.start_ms, ask.day.end_ms - 1))


def _chips(ask: StageQuery, drawn: timeline.Timeline, stage: Stage | None) -> list[dict[str, Any]]:
    """Apps with their time; the address of each toggles the filter."""
    chips = []
    for total in drawn.totals.by_app:
        name = total.name or ""
        is_on = name in ask.app_names
        others = [app for app in ask.app_names if app != name]
        chosen = others if is_on else [*others, name]
        to = address(ask, stage.frame.id if stage else None, app=chosen or None)
        slot = drawn.colour_slots.get(name)
        called, lasted = formatting.app_name(name), total.duration_ms
        chips.append(dict(name=called, colour_slot=slot, duration_ms=lasted, is_on=is_on, address=to))
    return chips
