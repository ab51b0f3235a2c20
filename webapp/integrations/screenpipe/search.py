"""``GET /search``: frames as ``{"type": "OCR", "content": {...}}``, newest first without words.

Audio, input, accessibility and memory are kinds that Recollect does not record: they answer with
empty data.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from functools import cache, partial
from typing import Annotated, Literal

from pydantic import Field

from assistant.read_api import calls
from assistant.read_api.calls import ReadCall
from store.core.errors import MediaGone
from store.frames import frames, tags
from store.frames.frames import FrameRow
from store.ocr import readings
from store.search import query as queries
from store.search import snippet
from store.search.filters import Filters
from store.search.hits import Hit
from store.search.search import Order
from webapp.api.values import Text
from webapp.integrations.screenpipe.frames import position
from webapp.integrations.screenpipe.values import (
    MAX_OFFSET,
    Document,
    Limit,
    PageQuery,
    RangeQuery,
    read,
    utc,
)

Length = Annotated[int, Field(ge=0, le=10_000_000)]
OUR_KINDS = frozenset({"all", "ocr", "vision"})
_MAX_PICTURES = 20
_JPEG_QUALITY = 80


class SearchQuery(PageQuery):
    content_type: Text = "all"
    limit: Limit = 20
    window_name: Text | None = None
    browser_url: Text | None = None
    focused: bool | None = None
    device_name: Text | None = None
    frame_name: Text | None = None
    machine_id: Text | None = None
    min_length: Length | None = None
    max_length: Length | None = None
    max_content_length: Annotated[int, Field(ge=1)] | None = None
    include_frames: bool = False

    @property
    def finds_nothing(self) -> bool:
        """Whether another kind is asked for, or a name that no frame of ours has."""
        kinds = set(self.content_type.lower().split("+"))
        return not kinds & OUR_KINDS or bool(self.frame_name) or self.limit == 0


def search(call: ReadCall) -> Document:
    """A page by limit and offset. `total` counts what may be seen, at least as far as was looked."""
    query = read(SearchQuery)
    start_ms, end_ms = query.span_ms()
    limit = min(query.limit, _MAX_PICTURES) if query.include_frames else query.limit
    if query.finds_nothing:
        return query.page([], limit, 0)
    named = query.model_dump(include={"app_name", "window_name", "browser_url", "focused"})
    filters = Filters(start_ms, end_ms, monitor=query.device_name, host=query.machine_id, **named)
    texts = cache(partial(_text, call))  # each read once
    page = calls.find(
        call, query.q, filters, limit=query.offset + limit, wanted=lambda hit: _has_length(query, texts, hit)
    )
    hits = page.hits[query.offset :]
    call.returned = len(hits)
    items: list[Document] = [{"type": "OCR", "content": _content(call, hit, query, texts)} for hit in hits]
    total = len(page.hits)
    if page.next_cursor is not None:  # before everything was looked at: what is known to be there at least
        total = max(page.page.total - page.passed_over, total + 1)
    return query.page(items, limit, total)


class KeywordQuery(RangeQuery):
    query: Text
    limit: Limit = 20
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0
    order: Literal["ascending", "descending"] = "descending"
    app_names: Text = ""


def keyword(call: ReadCall) -> list[Document]:
    """The frames that have the words, each with the words and their places."""
    query = read(KeywordQuery)
    start_ms, end_ms = query.span_ms()
    apps = {name.strip().casefold() for name in query.app_names.split(",") if name.strip()}

    def is_wanted(hit: Hit) -> bool:
        return has_words(hit) and (not apps or (hit.app_name or "").casefold() in apps)

    order: Order = "newest" if query.order == "descending" else "oldest"
    found = calls.find(
        call, query.query, Filters(start_ms, end_ms, query.app_name), limit=query.offset + query.limit,
        order=order, wanted=is_wanted,
    )  # fmt: skip
    hits = found.hits[query.offset :]
    rows = frames.get_many(call.database, [hit.frame_id for hit in hits])
    return [_match(call, hit, rows[hit.frame_id], query.query) for hit in hits if hit.frame_id in rows]


def _match(call: ReadCall, hit: Hit, frame: FrameRow, words: str) -> Document:
    reading = readings.current_reading(call.database, hit.frame_id)
    spans = snippet.spans(reading.text, queries.parse(words)) if reading else []
    all_words = [word for line in (reading.lines if reading else ()) for word in line.words]
    at = [
        position(word.text, word.confidence, word.box, frame)
        for word in all_words
        if any(start < word.end and word.start < end for start, end in spans)
    ]
    return {
        "frame_id": hit.frame_id,
        "timestamp": utc(hit.captured_ms),
        "text_positions": at,
        "app_name": hit.app_name or "",
        "window_name": hit.window_name or "",
        "confidence": sum(word["confidence"] for word in at) / len(at) if at else 0.0,
        "text": reading.text if reading else "",
        "url": hit.browser_url or "",
    }


def has_words(hit: Hit) -> bool:
    """Whether it was found by more than being near in meaning."""
    return hit.matched != ("meaning",)


def _text(call: ReadCall, frame_id: int) -> str:
    reading = readings.current_reading(call.database, frame_id)
    return reading.text if reading else ""


def _has_length(query: SearchQuery, texts: Callable[[int], str], hit: Hit) -> bool:
    if query.min_length is None and query.max_length is None:
        return True
    length = len(texts(hit.frame_id))
    return (query.min_length or 0) <= length and (query.max_length is None or length <= query.max_length)


def _content(call: ReadCall, hit: Hit, query: SearchQuery, texts: Callable[[int], str]) -> Document:
    """A frame as their ``OCRContent``: what they never leave out is never null."""
    return {
        "frame_id": hit.frame_id,
        "text": shortened(texts(hit.frame_id), query.max_content_length),
        "timestamp": utc(hit.captured_ms),
        "file_path": "",  # theirs is a video file; the picture is at /frames/{id}
        "offset_index": 0,
        "app_name": hit.app_name or "",
        "window_name": hit.window_name or "",
        "tags": tags.of_frame(call.database, hit.frame_id),
        "frame": _jpeg(call, hit.frame_id) if query.include_frames else None,
        "frame_name": None,
        "browser_url": hit.browser_url,
        "focused": hit.focused,
        "device_name": hit.monitor,
    }


def shortened(text: str, most: int | None) -> str:
    """`text` with its middle left out where it is longer than `most` characters."""
    if most is None or len(text) <= most:
        return text
    head = most // 2
    return f"{text[:head]}...(truncated {len(text) - most} chars)...{text[len(text) - (most - head) :]}"


def _jpeg(call: ReadCall, frame_id: int) -> str | None:
    """The picture as base64 JPEG, None when it is gone."""
    try:
        image = call.library.media.image(frames.get(call.database, frame_id))
    except MediaGone:
        return None
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=_JPEG_QUALITY)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
