"""``/frames/{id}``, its context and its tags."""

from __future__ import annotations

from flask import Response
from pydantic import BaseModel

from assistant.read_api import calls
from assistant.read_api.calls import ReadCall, ReadRefused
from store.frames import tags as frame_tags
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box
from webapp.integrations.screenpipe.values import Answer, Query, read


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


class Bounds(Answer):
    """Shares of the picture's width and height, origin top-left."""

    left: float
    top: float
    width: float
    height: float


class Node(Answer):
    role: str
    text: str
    depth: int
    bounds: Bounds | None


class Context(Answer):
    frame_id: int
    text: str | None
    nodes: list[Node]
    urls: list[str]
    text_source: str


def context(call: ReadCall, frame_id: int) -> BaseModel:
    """The text, its lines with their places, and the addresses in it."""
    frame = calls.frame(call, frame_id)
    found = readings.current_reading(call.database, frame_id)
    call.returned = 1
    return Context(
        frame_id=frame.id,
        text=found.text if found else None,
        nodes=[
            Node(role="line", text=line.text, depth=0, bounds=bounds(line.box, frame))
            for line in (found.lines if found else ())
        ],
        urls=readings.urls(call.database, frame_id),
        text_source="ocr",
    )


def bounds(box: Box, frame: FrameRow) -> Bounds:
    return Bounds(
        left=box.x / frame.width_px,
        top=box.y / frame.height_px,
        width=box.w / frame.width_px,
        height=box.h / frame.height_px,
    )


class Tags(Answer):
    tags: list[str]


def tags(call: ReadCall, frame_id: int) -> BaseModel:
    """The tags of a frame. Adding or removing one answers 405: this API only reads."""
    calls.frame(call, frame_id)
    call.returned = 1
    return Tags(tags=frame_tags.of_frame(call.database, frame_id))
