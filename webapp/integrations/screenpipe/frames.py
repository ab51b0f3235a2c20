"""``/frames/{id}``, its context and its tags."""

from __future__ import annotations

from flask import Response

from assistant.read_api import calls
from assistant.read_api.calls import ReadCall, ReadRefused
from store.frames import frames
from store.frames import tags as frame_tags
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box
from store.search import query as queries
from store.search import snippet
from store.search.filters import Filters
from store.spool import process_state
from webapp.api.values import Text
from webapp.core.services import services
from webapp.integrations.screenpipe.values import Document, Limit, PageQuery, Query, read


class PictureQuery(Query):
    redact_pii: bool = False


def picture(call: ReadCall, frame_id: int) -> Response:
    """The exact picture as captured. A redacted one cannot be made, and is not replaced by this one."""
    if read(PictureQuery).redact_pii:
        raise ReadRefused("invalid", "redact_pii: pictures cannot be redacted here")
    frame = calls.frame(call, frame_id)
    content = call.library.media.exact(frame)
    call.returned = 1
    return Response(content, content_type=frame.media_type)


def context(call: ReadCall, frame_id: int) -> Document:
    """The text, its lines with their places, and the addresses in it."""
    frame = calls.frame(call, frame_id)
    reading = readings.current_reading(call.database, frame_id)
    call.returned = 1
    return {
        "frame_id": frame.id,
        "text": reading.text if reading else None,
        "nodes": [
            {"role": "line", "text": line.text, "depth": 0, "bounds": bounds(line.box, frame)}
            for line in (reading.lines if reading else ())
        ],
        "urls": readings.urls(call.database, frame_id),
        "text_source": "ocr",
    }


def text(call: ReadCall, frame_id: int) -> Document:
    """The lines with their places, as their OCR tells them."""
    frame = calls.frame(call, frame_id)
    reading = readings.current_reading(call.database, frame_id)
    call.returned = 1
    lines = reading.lines if reading else ()
    return {
        "frame_id": frame.id,
        "text_positions": [position(line.text, line.confidence, line.box, frame) for line in lines],
    }


def position(text: str, confidence: float | None, box: Box, frame: FrameRow) -> Document:
    """What a program told itself has no confidence of a reader: it is sure."""
    return {
        "text": text,
        "confidence": 1.0 if confidence is None else confidence,
        "bounds": bounds(box, frame),
    }


def monitors(call: ReadCall) -> list[Document]:
    """Those that are connected, else the one of the newest frame; each as large as its newest frame."""
    state = process_state.CaptureState.read(services().data_dir.spool)
    newest = calls.find(call, "", Filters(0), limit=1).hits
    names = (state.connected if state else ()) or tuple(hit.monitor for hit in newest)
    found = []
    for number, name in enumerate(names, 1):
        hits = calls.find(call, "", Filters(0, monitor=name), limit=1).hits
        shown = frames.get(call.database, hits[0].frame_id) if hits else None
        size = {"width": shown.width_px if shown else 0, "height": shown.height_px if shown else 0}
        found.append({"id": number, "name": name, **size, "is_default": number == 1})
    return found


def bounds(box: Box, frame: FrameRow) -> Document:
    """Shares of the picture's width and height, origin top-left."""
    return {
        "left": box.x / frame.width_px,
        "top": box.y / frame.height_px,
        "width": box.w / frame.width_px,
        "height": box.h / frame.height_px,
    }


def tags(call: ReadCall, frame_id: int) -> Document:
    """The tags of a frame. Adding or removing one answers 405: this API only reads."""
    calls.frame(call, frame_id)
    call.returned = 1
    return {"tags": frame_tags.of_frame(call.database, frame_id)}


# ---- elements
# ``GET /elements``: the lines of the frames, each with its place, newest frame first.
#
# Recollect reads pixels, so every element is a ``line`` with the source ``ocr``; accessibility
# elements do not exist here.

_FRAMES_AT_ONCE = 20
_MAX_FRAMES = 400
"""Frames that one answer looks into: a busy one has a hundred lines."""
_MAX_LINES = 10_000


class ElementsQuery(PageQuery):
    frame_id: int | None = None
    source: Text | None = None
    role: Text | None = None
    limit: Limit = 50

    @property
    def finds_nothing(self) -> bool:
        return self.source not in (None, "ocr") or self.role not in (None, "line")


def elements(call: ReadCall, frame_id: int | None = None) -> Document:
    """A page of lines, of one frame where its address names it; `total` is exact once every frame was looked
    into, else a number beyond the page.
    """
    query = read(ElementsQuery)
    query = query if frame_id is None else query.model_copy(update={"frame_id": frame_id})
    after = query.offset + query.limit
    lines, is_all = _collect(call, query, after)
    data = lines[query.offset : after]
    call.returned = len(data)
    total = len(lines) if is_all else max(len(lines), after + 1)
    return query.page(data, query.limit, total)


def _collect(call: ReadCall, query: ElementsQuery, enough: int) -> tuple[list[Document], bool]:
    """Lines until there are `enough`, and whether these are all there are."""
    start_ms, end_ms = query.span_ms()
    if query.finds_nothing:
        return [], True
    if query.frame_id is not None:
        return _lines(call, calls.frame(call, query.frame_id), query.q), True
    filters = Filters(start_ms=start_ms, end_ms=end_ms, app_name=query.app_name)
    lines: list[Document] = []
    cursor = None
    for _ in range(_MAX_FRAMES // _FRAMES_AT_ONCE):
        page = calls.find(call, query.q, filters, limit=_FRAMES_AT_ONCE, order="newest", cursor=cursor)
        rows = frames.get_many(call.database, [hit.frame_id for hit in page.hits])
        for hit in page.hits:
            if hit.frame_id in rows:
                lines += _lines(call, rows[hit.frame_id], query.q)
        cursor = page.next_cursor
        if cursor is None:
            return lines, True
        if len(lines) >= enough:
            break
    return lines, False


def _lines(call: ReadCall, frame: FrameRow, words: str) -> list[Document]:
    reading = readings.current_reading(call.database, frame.id)
    if reading is None:
        return []
    spans = snippet.spans(reading.text, queries.parse(words)) if words.strip() else None
    return [
        {
            "id": reading.id * _MAX_LINES + number,
            "frame_id": frame.id,
            "source": "ocr",
            "role": "line",
            "text": line.text,
            "parent_id": None,
            "depth": 0,
            "bounds": bounds(line.box, frame),
            "confidence": line.confidence,
            "sort_order": number,
        }
        for number, line in enumerate(reading.lines)
        if spans is None or any(start < line.end and line.start < end for start, end in spans)
    ]
