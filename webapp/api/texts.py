"""What one frame says: lines and words with their boxes, and where a search's words stand."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from store.frames import frames
from store.ocr import readings
from store.ocr.readings import Line, Reading, Word
from store.search import hits
from store.search import query as search_query
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, Request, Text
from webapp.core.services import services


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
    hit: bool


class LineAnswer(Answer):
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
    lines: list[LineAnswer]


@endpoint(
    "GET",
    "/frames/<id:frame_id>/text",
    "What a frame says, with boxes",
    query=TextQuery,
    answer=TextAnswer,
    problems={404: "frame_not_found"},
)
def text(frame_id: int, query: TextQuery) -> TextAnswer:
    """Lines and words in reading order; with `q` the words that the search would find are marked."""
    database = services().database
    frame = frames.get(database, frame_id)
    reading = readings.current_reading(database, frame_id)
    return TextAnswer(
        frame_id=frame_id,
        status=frame.status,
        engine=reading.engine if reading else None,
        language=reading.language if reading else None,
        lines=[] if reading is None else _lines(reading, query.q or ""),
    )


def _lines(reading: Reading, searched: str) -> list[LineAnswer]:
    spans = hits.spans(reading.text, search_query.parse(searched)) if searched.strip() else []
    return [_line(line, [span for span in spans if _overlap(line, span)]) for line in reading.lines]


def _line(line: Line, spans: list[tuple[int, int]]) -> LineAnswer:
    return LineAnswer(
        text=line.text,
        box=BoxAnswer.model_validate(line.box),
        confidence=line.confidence,
        words=[
            WordAnswer(
                text=word.text,
                box=BoxAnswer.model_validate(word.box),
                confidence=word.confidence,
                hit=any(_overlap(word, span) for span in spans),
            )
            for word in line.words
        ],
        highlights=[(max(a, line.start) - line.start, min(b, line.end) - line.start) for a, b in spans],
    )


def _overlap(part: Line | Word, span: tuple[int, int]) -> bool:
    return span[0] < part.end and part.start < span[1]
