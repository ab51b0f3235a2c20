"""One frame: its exact picture, what surrounds it, what it says, why it is kept, and its tags."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from flask import Response, request
from pydantic import Field, PlainValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from assistant.core.records import frame_url
from store.frames import frames
from store.frames.media import PREVIEW_TYPE
from store.ocr import readings
from store.ocr.readings import Line, Word
from store.search import query as search_query
from store.search import snippet
from store.timeline import segments
from webapp.api.endpoint import endpoint, refusing
from webapp.api.values import Answer, QueryInt, Request, SeenAnswer, SpanAnswer, Text, Timestamp
from webapp.core.services import services
from webapp.views.frames import unavailable_reason

FRAME = "/frames/<id:frame_id>"
_CROP = re.compile(r"([0-9]{1,5}),([0-9]{1,5}),([1-9][0-9]{0,4}),([1-9][0-9]{0,4})", re.ASCII)


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
    FRAME,
    "The exact picture",
    {410: "media_gone"},
    media_types=("image/webp", "image/png", "image/jpeg"),
)
def picture(frame_id: int, query: PictureQuery) -> Response:
    """The bytes as captured, with their SHA-256 as ETag; `width` or `crop` make a WebP of them.

    Where retention left a small picture, `width` gives that. 410 `media_gone` when the pixels are not this
    frame's own any more: never another frame.
    """
    media = services().media
    frame = frames.get(services().database, frame_id)
    # Drawn also for a 304: that a picture is still this frame's own is known by looking.
    tag, kind = frame.sha256, PREVIEW_TYPE
    if query.width is not None:
        tag, content = f"{frame.preview_sha256 or tag}-w{query.width}", media.preview(frame, query.width)
    elif query.crop is not None:
        tag = f"{tag}-c{','.join(map(str, query.crop))}"
        with refusing(ValueError, "invalid_crop", "crop", 400):
            content = media.crop(frame, *query.crop)
    else:
        content, kind = media.exact(frame), frame.media_type
    if request.if_none_match.contains_weak(tag):
        response = Response(status=304)
    else:
        response = Response(content, content_type=kind)
    response.set_etag(tag)
    return response


# -- what surrounds it ----------------------------------------------------------------------


class FrameAnswer(SeenAnswer):
    """A frame's own facts. Times are epoch seconds; unknown is null, never borrowed."""

    frame_id: int = Field(validation_alias="id")
    timestamp: Timestamp = Field(validation_alias="captured_ms")
    ended: Timestamp = Field(description="The last look at which this was still on the screen.")
    utc_offset_min: int | None
    monitor: str
    host: str = Field(description="The machine, by the name of its token; blank for this one.")
    width: int
    height: int
    focused: bool | None
    source: str
    trigger: str | None
    media_type: str
    size_bytes: int
    sha256: str
    picture: Literal["present", "deleted", "missing", "altered", "retention"]
    frame_url: str


class SegmentAnswer(SpanAnswer, SeenAnswer):
    """The stretch of activity a frame belongs to."""

    first_frame_id: int
    last_frame_id: int
    frames: int


class FrameContextAnswer(Answer):
    frame: FrameAnswer
    text: str | None = Field(description="What the frame says; null until it was read.")
    urls: list[str] = Field(description="Addresses that stand in the text.")
    previous_frame_id: int | None = Field(description="The frame before, on the same monitor.")
    next_frame_id: int | None = Field(description="The frame after, on the same monitor.")
    segment: SegmentAnswer | None
    status: Literal["stored", "searchable", "failed"]
    reading_error: str | None = Field(description="Why its text could not be read.")


@endpoint("GET", f"{FRAME}/context", "What surrounds a frame")
def context(frame_id: int) -> FrameContextAnswer:
    """The frame's facts, text and addresses, its neighbours and its stretch of activity."""
    database = services().database
    frame = frames.get(database, frame_id)
    reading = readings.current_reading(database, frame_id)
    previous, following = frames.neighbours(database, frame)
    segment = segments.segment_of(database, frame)
    return FrameContextAnswer(
        frame=FrameAnswer.of(
            frame,
            picture=unavailable_reason(services().media, frame) or "present",
            frame_url=frame_url(frame.id),
        ),
        text=reading.text if reading else None,
        urls=readings.urls(database, frame_id),
        previous_frame_id=previous,
        next_frame_id=following,
        segment=SegmentAnswer.of(segment) if segment else None,
        status=frame.status,
        reading_error=frame.reading_error,
    )


# -- what it says: lines and words with their boxes, and where a search's words stand -------------


class TextQuery(Request):
    q: Text | None = Field(None, description="Marks where these words stand.")


class BoxAnswer(Answer):
    """Pixels of the frame, origin top-left."""

    x: int
    y: int
    w: int
    h: int


class WordAnswer(Answer):
    text: str
    box: BoxAnswer
    confidence: float | None
    source: Literal["read", "browser", "accessibility"] = Field(
        description="Who told it: it was read from the picture, or a program told its own text."
    )
    checked: Literal["ink", "read"] = Field(
        description="What the pixels say to it: it was read there, or ink fills its place."
    )
    hit: bool


class TextLineAnswer(Answer):
    text: str
    box: BoxAnswer
    confidence: float | None
    words: list[WordAnswer]
    highlights: list[tuple[int, int]] = Field(description="Where the searched words stand in `text`.")


class TextAnswer(Answer):
    frame_id: int
    status: Literal["stored", "searchable", "failed"]
    engine: str | None
    language: str | None
    lines: list[TextLineAnswer]


@endpoint("GET", f"{FRAME}/text", "What a frame says, with boxes")
def text(frame_id: int, query: TextQuery) -> TextAnswer:
    """Lines and words in reading order; with `q` the words that the search would find are marked."""
    frame = frames.get(services().database, frame_id)
    reading = readings.current_reading(services().database, frame_id)
    lines, spans = reading.lines if reading else (), list[tuple[int, int]]()
    if reading and query.q and query.q.strip():
        spans = snippet.spans(reading.text, search_query.parse(query.q))
    return TextAnswer(
        frame_id=frame_id,
        status=frame.status,
        engine=reading.engine if reading else None,
        language=reading.language if reading else None,
        lines=[_line(line, [span for span in spans if _overlap(line, span)]) for line in lines],
    )


def _line(line: Line, spans: list[tuple[int, int]]) -> TextLineAnswer:
    return TextLineAnswer.of(
        line,
        words=[WordAnswer.of(word, hit=any(_overlap(word, span) for span in spans)) for word in line.words],
        highlights=[(max(a, line.start) - line.start, min(b, line.end) - line.start) for a, b in spans],
    )


def _overlap(part: Line | Word, span: tuple[int, int]) -> bool:
    return span[0] < part.end and part.start < span[1]
