"""One frame: its exact picture and what surrounds it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from flask import Response, request
from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from store.core.errors import MediaGone
from store.core.times import to_seconds
from store.frames import frames
from store.frames.activity_intervals import Segment
from store.frames.frames import FrameRow
from store.frames.media import PREVIEW_TYPE
from store.ocr import readings
from store.timeline import segments
from store.timeline.timeline import Run
from webapp.api.endpoint import PREFIX, endpoint, invalid
from webapp.api.values import Answer, QueryInt, Request
from webapp.core.errors import FieldError
from webapp.core.services import services

_CROP = re.compile(r"([0-9]{1,5}),([0-9]{1,5}),([1-9][0-9]{0,4}),([1-9][0-9]{0,4})", re.ASCII)


def frame_url(frame_id: int) -> str:
    """The address of a frame's picture; the server builds every such address (R3.21)."""
    return f"{PREFIX}/frames/{frame_id}"


# -- the picture ----------------------------------------------------------------------------


def _crop(text: Any) -> tuple[int, int, int, int]:
    match = _CROP.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise PydanticCustomError("invalid_crop", "must be x,y,width,height in pixels")
    x, y, w, h = (int(part) for part in match.groups())
    return x, y, w, h


class PictureQuery(Request):
    width: Annotated[QueryInt, Field(ge=16, le=4096)] | None = Field(
        None, description="A preview at most this many pixels wide."
    )
    crop: (
        Annotated[
            tuple[int, int, int, int],
            PlainValidator(_crop),
            WithJsonSchema({"type": "string", "pattern": f"^{_CROP.pattern}$"}),
        ]
        | None
    ) = Field(None, description="A rectangle as x,y,width,height in pixels, lossless.")

    @model_validator(mode="after")
    def _one_of(self) -> PictureQuery:
        if self.width is not None and self.crop is not None:
            raise PydanticCustomError("invalid_crop", "width and crop cannot be combined")
        return self


@endpoint(
    "GET",
    "/frames/<id:frame_id>",
    "The exact picture",
    query=PictureQuery,
    answer=("image/webp", "image/png", "image/jpeg"),
    problems={404: "frame_not_found", 410: "media_gone"},
)
def picture(frame_id: int, query: PictureQuery) -> Response:
    """The bytes as captured, with their SHA-256 as ETag; `width` or `crop` make a WebP of them.

    410 `media_gone` when the pixels are not this frame's own any more: never another frame.
    """
    media = services().media
    frame = frames.get(services().database, frame_id)
    exact = media.exact(frame)
    if query.width is not None:
        tag = f"{frame.sha256}-w{query.width}"
    elif query.crop is not None:
        tag = f"{frame.sha256}-c{','.join(map(str, query.crop))}"
    else:
        tag = frame.sha256
    if request.if_none_match.contains_weak(tag):
        response = Response(status=304)
    elif query.width is not None:
        response = Response(media.preview(frame, query.width), content_type=PREVIEW_TYPE)
    elif query.crop is not None:
        response = Response(_rectangle(frame, query.crop), content_type=PREVIEW_TYPE)
    else:
        response = Response(exact, content_type=frame.media_type)
    response.set_etag(tag)
    return response


def _rectangle(frame: FrameRow, crop: tuple[int, int, int, int]) -> bytes:
    x, y, width, height = crop
    try:
        return services().media.crop(frame, x, y, width, height)
    except ValueError as error:
        raise invalid(400, "invalid_crop", [FieldError("crop", str(error))]) from error


# -- what surrounds it ----------------------------------------------------------------------


class FrameAnswer(Answer):
    """A frame's own facts. Times are epoch seconds; unknown is null, never borrowed."""

    frame_id: int
    timestamp: float
    ended: float = Field(description="The last look at which this was still on the screen.")
    utc_offset_min: int | None
    monitor: str
    width: int
    height: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    source: str
    trigger: str | None
    media_type: str
    size_bytes: int
    sha256: str
    picture: Literal["present", "deleted", "missing", "altered"]
    frame_url: str


class SegmentAnswer(Answer):
    """The stretch of activity a frame belongs to."""

    start_time: float
    end_time: float
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    first_frame_id: int
    last_frame_id: int
    frames: int


class ContextAnswer(Answer):
    frame: FrameAnswer
    text: str | None = Field(description="What the frame says; null until it was read.")
    urls: list[str] = Field(description="Addresses that stand in the text.")
    previous_frame_id: int | None = Field(description="The frame before, on the same monitor.")
    next_frame_id: int | None = Field(description="The frame after, on the same monitor.")
    segment: SegmentAnswer | None
    status: Literal["stored", "searchable", "failed"]
    reading_error: str | None = Field(description="Why its text could not be read.")


@endpoint(
    "GET",
    "/frames/<id:frame_id>/context",
    "What surrounds a frame",
    answer=ContextAnswer,
    problems={404: "frame_not_found"},
)
def context(frame_id: int) -> ContextAnswer:
    """The frame's facts, text and addresses, its neighbours and its stretch of activity."""
    database = services().database
    frame = frames.get(database, frame_id)
    reading = readings.current_reading(database, frame_id)
    previous, following = frames.neighbours(database, frame)
    segment = segments.segment_of(database, frame)
    return ContextAnswer(
        frame=_frame_answer(frame),
        text=None if reading is None else reading.text,
        urls=readings.urls(database, frame_id),
        previous_frame_id=previous,
        next_frame_id=following,
        segment=None if segment is None else segment_answer(segment),
        status=frame.status,
        reading_error=frame.reading_error,
    )


def _frame_answer(frame: FrameRow) -> FrameAnswer:
    return FrameAnswer(
        frame_id=frame.id,
        timestamp=to_seconds(frame.captured_ms),
        ended=to_seconds(frame.ended_ms),
        utc_offset_min=frame.utc_offset_min,
        monitor=frame.monitor,
        width=frame.width_px,
        height=frame.height_px,
        app_name=frame.app_name,
        window_name=frame.window_name,
        browser_url=frame.browser_url,
        focused=frame.focused,
        source=frame.source,
        trigger=frame.trigger,
        media_type=frame.media_type,
        size_bytes=frame.size_bytes,
        sha256=frame.sha256,
        picture=_picture_state(frame),
        frame_url=frame_url(frame.id),
    )


def _picture_state(frame: FrameRow) -> Literal["present", "deleted", "missing", "altered"]:
    try:
        services().media.exact(frame)
    except MediaGone as error:
        return error.reason if error.reason in ("missing", "altered") else "deleted"  # type: ignore[return-value]
    return "present"


def segment_answer(segment: Segment) -> SegmentAnswer:
    return SegmentAnswer(**stretch_values(segment))


def stretch_values(of: Segment | Run) -> dict[str, Any]:
    """What a segment and a run of segments have in common."""
    return {
        "start_time": to_seconds(of.start_ms),
        "end_time": to_seconds(of.end_ms),
        "app_name": of.app_name,
        "window_name": of.window_name,
        "browser_url": of.browser_url,
        "first_frame_id": of.first_frame_id,
        "last_frame_id": of.last_frame_id,
        "frames": of.frames,
    }
