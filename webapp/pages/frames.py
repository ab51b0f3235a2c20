"""One frame: the exact picture with the words that were searched or cited, what lies near, and its end."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta, timezone
from urllib.parse import urlencode

from flask import request
from werkzeug.wrappers import Response

from store.chats import records
from store.core import preferences
from store.core.database import Database
from store.core.translation import gettext as _
from store.deletion import deletion
from store.deletion.request import EVER, Request
from store.frames import apps, frames, tags
from store.frames.frames import FrameRow
from store.frames.media import PREVIEW_TYPE
from store.memory import insights
from store.ocr import readings
from store.ocr.readings import Box
from store.search import search
from store.search.filters import Filters
from store.sources import entities
from store.timeline import timeline
from webapp.core import formatting, markdown, templating
from webapp.core.errors import Problem
from webapp.core.services import Viewer, services, viewer
from webapp.pages.privacy import previewed, receipt_page
from webapp.views.frames import (
    citation_text,
    crop_around,
    frame_highlights,
    highlight_request,
    lines_of,
    sources_of,
    unavailable_reason,
    unavailable_text,
)

NEAR_MS = 5 * 60_000
NEAR_SHOWN = 9
SIMILAR_SHOWN = 8
_SIZE = re.compile(r"([1-3][0-9]{2})x([1-3][0-9]{2})", re.ASCII)
_PIECE = re.compile(r"([0-9]{1,17})(?:,([0-9]{1,5}),([0-9]{1,5}),([0-9]{2,5}),([0-9]{2,5}))?", re.ASCII)
_MOST_PIECES = 40
_TELLING_LINES = 5
"""The longest lines of a frame say what it is about; short ones are of windows and menus."""


@templating.get("/frames/<id:frame_id>")
def show(frame_id: int) -> Response:
    """The frame; 410 with its text when the picture is gone, and never another frame in its place."""
    own, who = services(), viewer()
    database = own.database
    frame = frames.get(database, frame_id)
    reading = readings.current_reading(database, frame_id)
    versions = readings.of_frame(database, frame_id)
    marks = frame_highlights(database, frame, reading, highlight_request(request.args))
    gone_reason = unavailable_reason(own.media, frame)
    previous_id, next_id = frames.neighbours(database, frame)
    words = {"q": marks.wanted.q} if marks.wanted.q else {}
    anchor = records.anchors_of_frame(frame_id, frame.captured_ms, frame.ended_ms)
    return templating.render_page(
        "frames/frame.html",
        410 if gone_reason else 200,
        frame=frame,
        colour_slot=apps.colour_slots(database).get(frame.app_name or ""),
        reading=reading,
        text=markdown.highlight(reading.text, marks.spans) if reading else "",
        gone=unavailable_text(gone_reason),
        gone_reason=gone_reason,
        q=marks.wanted.q,
        marks=marks,
        close_up=crop_around(marks.boxes, frame.width_px, frame.height_px),
        in_timeline=f"/timeline?{urlencode({'frame': frame_id, **words, **marks.wanted.on_frame})}",
        previous_id=previous_id,
        next_id=next_id,
        near=_near(database, frame),
        captured_clock=_captured_clock(frame, who),
        quote=_quote(frame, who, marks.words),
        lines=lines_of(reading),
        sources=sources_of(reading),
        hold=tags.retention_reason(database, frame_id),
        readings=versions if len(versions) > 1 else (),
        insight=insights.current(database, anchor),
        tags=tags.listed(database, frame_id),
        known=entities.on_frame(database, frame_id, ""),
        facts=entities.of_frame(database, frame_id),
        is_waiting=frame.reading_state == "pending",
    )


@templating.get("/frames/sheet")
def sheet() -> Response:
    """Small pieces of frames below one another: each ``of=ID`` or ``of=ID,x,y,w,h``, of one ``size=WxH``."""
    own, asked = services(), request.args.getlist("of")
    size = _SIZE.fullmatch(request.args.get("size", ""))
    found = [match.groups() for text in asked if (match := _PIECE.fullmatch(text))]
    if size is None or not 0 < len(found) == len(asked) <= _MOST_PIECES:
        raise Problem(400, "invalid_sheet", _("This is no list of pictures."))
    known = frames.get_many(own.database, {int(number) for number, *_area in found})
    pieces = [(known.get(int(number)), Box(*map(int, area)) if area[0] else None) for number, *area in found]
    content = own.media.contact_sheet(pieces, int(size[1]), int(size[2]))
    return Response(content, content_type=PREVIEW_TYPE)


@templating.get("/frames/<id:frame_id>/similar")
def similar(frame_id: int) -> Response:
    """Frames of other times that say nearly what this one says, nearest first; for htmx the list alone."""
    own = services()
    frame = frames.get(own.database, frame_id)
    reading = readings.current_reading(own.database, frame_id)
    lines = sorted((line.text for line in reading.lines), key=len)[-_TELLING_LINES:] if reading else []
    text = " ".join(lines)
    found = search.search(
        own.database, text, Filters(0), mode="semantic", limit=SIMILAR_SHOWN + 1, fold=True,
        meaning=replace(own.embedder.asked(text), likeness=None),
    ) if text else None  # fmt: skip
    # Nearness itself is what is asked, not words that say the same. Its own run stands beside it anyway.
    hits = [hit for hit in found.hits if frame_id not in (hit.frame_id, *hit.alike)] if found else []
    rows = frames.get_many(own.database, [hit.frame_id for hit in hits[:SIMILAR_SHOWN]])
    return templating.render(
        "frames/similar.html", "frames/_similar.html", frame=frame, similar=list(rows.values())
    )


@templating.post("/frames/<id:frame_id>/pin")
def pin(frame_id: int) -> Response:
    """Keep the frame whatever retention says, or let go of it (``pinned=0``)."""
    own = services()
    if request.form.get("pinned") == "0":
        tags.unpin(own.database, frames.get(own.database, frame_id).id)
    else:
        tags.pin(own.database, frame_id, own.clock())
    return templating.redirect_back(f"/frames/{frame_id}")


@templating.post("/frames/<id:frame_id>/tags")
def tag(frame_id: int) -> Response:
    """Mark the frame with ``tag``, or take the tag ``off``."""
    own = services()
    frame = frames.get(own.database, frame_id)
    words, off = request.form.get("tag", ""), request.form.get("off", "")
    try:
        with own.database.write() as connection:
            if off:
                tags.remove(connection, frame.id, off)
            else:
                tags.add(connection, frame.id, words, own.clock())
    except ValueError as error:
        raise Problem(422, "invalid_tag", formatting.sentence(error)) from error
    return templating.redirect_back(f"/frames/{frame_id}")


@templating.post("/frames/<id:frame_id>/read-again")
def read_again(frame_id: int) -> Response:
    """Queue the frame for reading; quotes that cite it are then checked against the new reading."""
    readings.read_again(services().database, frames.get(services().database, frame_id).id)
    return templating.redirect_back(f"/frames/{frame_id}")


@templating.post("/frames/<id:frame_id>/readings/<id:reading_id>")
def use_reading(frame_id: int, reading_id: int) -> Response:
    """Let an earlier reading be the one that search and citations use."""
    own = services()
    reading = readings.by_id(own.database, reading_id)
    if reading is None or reading.frame_id != frame_id:
        problem = _("Frame %(frame)s has no reading %(number)s.", frame=frame_id, number=reading_id)
        raise Problem(404, "reading_not_found", problem)
    with own.database.write() as connection:
        readings.make_current(connection, reading_id)
    return templating.redirect_back(f"/frames/{frame_id}")


@templating.get("/frames/<id:frame_id>/delete")
def confirm(frame_id: int) -> Response:
    """What deleting this frame takes along; nothing is done yet."""
    frame = frames.get(services().database, frame_id)
    goes = previewed(Request(*EVER, frame_ids=(frame.id,)))
    return templating.ask_first("frames/_delete.html", "timeline", _("Delete a frame"), frame=frame, **goes)


@templating.post("/frames/<id:frame_id>/delete")
def delete(frame_id: int) -> Response:
    """Delete the frame and lead to the receipt."""
    own = services()
    frame = frames.get(own.database, frame_id)
    receipt = deletion.delete_frames(own.database, own.media, [frame.id])
    if not receipt.frames:
        raise Problem(404, "frame_not_found", _("There is no frame %(number)s.", number=frame_id))
    return receipt_page(receipt)


def _near(database: Database, frame: FrameRow) -> list[FrameRow]:
    """Frames of the same monitor within five minutes, evenly chosen, this one among them."""
    marks = timeline.frames_between(
        database, frame.captured_ms - NEAR_MS, frame.captured_ms + NEAR_MS + 1, 2000, monitor=frame.monitor
    )
    ids = [mark[0] for mark in marks]
    if frame.id not in ids:
        return []
    at, half = ids.index(frame.id), NEAR_SHOWN // 2
    left, right = at, len(ids) - 1 - at
    places = {at - round(i * max(1, left / half)) for i in range(half + 1)}
    places |= {at + round(i * max(1, right / half)) for i in range(half + 1)}
    shown = [ids[place] for place in sorted(places) if 0 <= place < len(ids)]
    rows = frames.get_many(database, shown)
    return [rows[frame_id] for frame_id in shown if frame_id in rows]


def _captured_clock(frame: FrameRow, viewer: Viewer) -> str:
    if frame.utc_offset_min is None:
        return ""
    lived = timezone(timedelta(minutes=frame.utc_offset_min))
    offset = preferences.utc_offset(frame.captured_ms, lived)
    if offset == preferences.utc_offset(frame.captured_ms, viewer.zone):
        return ""
    return _("%(clock)s at %(offset)s", clock=formatting.clock_short(frame.captured_ms, lived), offset=offset)


def _quote(frame: FrameRow, viewer: Viewer, words: str) -> str:
    place = ", ".join(part for part in (frame.app_name, frame.window_name) if part) or _("screen")
    quoted = f"“{words}” - " if words else ""
    return citation_text(quoted, place, frame.captured_ms, frame.id, viewer.zone)
