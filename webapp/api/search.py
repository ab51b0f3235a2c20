"""Search: the frames that match words and filters in a range of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from assistant.core.records import frame_url
from store.embeddings.knn import RetrievalQuery
from store.search import search as frames_search
from store.search.filters import Filters
from store.search.hits import BadCursor
from store.search.search import NearGroup, Page
from webapp.api.endpoint import endpoint, range_ms, refusing
from webapp.api.values import Answer, Pagination, QueryBool, QueryInt, RangeQuery, SeenAnswer, Text, Timestamp
from webapp.core.services import services


class SearchQuery(RangeQuery):
    q: Text = Field("", description="Words; blank gives the browse feed, newest first.")
    app_name: Text | None = Field(None, description="Case-insensitive part of the app's name.")
    window_name: Text | None = Field(None, description="Case-insensitive part of the window's title.")
    browser_url: Text | None = Field(None, description="Case-insensitive part of the browser's address.")
    focused: QueryBool | None = Field(None, description="Whether the frame's monitor had the focus.")
    monitor: Text | None = Field(None, description="Name of the monitor, exactly.")
    host: Text | None = Field(None, description="Name of the machine, exactly; blank is this one.")
    content_type: Literal["ocr", "all"] = Field("ocr", description="There is no audio, so no audio kinds.")
    mode: Literal["hybrid", "fts", "semantic"] = "hybrid"
    order: Literal["relevance", "newest", "oldest"] | None = Field(
        None, description="Relevance by default where there are words, else newest."
    )
    limit: Annotated[QueryInt, Field(ge=1, le=200)] = 20
    cursor: Text | None = Field(None, description="`next_cursor` of the page before, same filters.")
    offset: Annotated[QueryInt, Field(ge=0, le=frames_search.MAX_OFFSET)] = 0
    fold: QueryBool = Field(
        False, description="One row for a run of look-alike frames; totals stay those of frames."
    )

    @model_validator(mode="after")
    def _one_way_to_page(self) -> Self:
        if self.cursor is not None and self.offset:
            raise PydanticCustomError("invalid_cursor", "cursor and offset cannot be combined")
        return self


class HitAnswer(SeenAnswer):
    frame_id: int
    timestamp: Timestamp = Field(validation_alias="captured_ms")
    focused: bool | None
    monitor: str
    host: str = Field(description="The machine, by the name of its token; blank for this one.")
    snippet: str
    highlights: list[tuple[int, int]] = Field(description="(start, end) characters of `snippet`.")
    score: float
    matched: list[Literal["text", "pieces", "meaning", "lookalike"]] = Field(
        description="Where no frame has the words as they stand: `pieces` for all pieces of words written"
        " without spaces, `lookalike` for what a word may have been read as. `mode=fts` has neither."
    )
    status: Literal["stored", "searchable", "failed"]
    frame_url: str
    alike: list[int] = Field(description="With `fold`, further frames of the same run, in order of time.")


class PaginationAnswer(Pagination):
    total: int = Field(description="Frames that match by words; with `mode=semantic` those near in meaning.")
    total_is_exact: bool


class HowAnswer(Answer):
    """How the hits were found, and up to when every frame has been read."""

    mode: str
    strategy: str
    fallback_reason: str | None = Field(
        description="Why words answered alone; with `embedder_loading` meaning is there a moment later."
    )
    reading: Literal["expression", "words"] = Field(
        description="Whether `q` was read with its operators, or all of it as words."
    )
    duration_ms: float
    index_fresh_to: Timestamp | None
    meaning_since: Timestamp | None = Field(
        None,
        description="Frames before this were looked for by words only: the index of meaning is full.",
    )


class SearchAnswer(Answer):
    data: list[HitAnswer]
    pagination: PaginationAnswer
    near: NearGroup = Field(
        description="The frames near in meaning that have not the words: they follow those that have."
    )
    search: HowAnswer


@endpoint("GET", "/search", "Find frames")
def search(query: SearchQuery) -> SearchAnswer:
    """Every frame once: by words, by relevance or by time, then by meaning; each with a piece of its text."""
    began = time.perf_counter()
    start_ms, _ = range_ms(query)
    filters = Filters(
        start_ms=start_ms,
        end_ms=query.end_time,
        **query.model_dump(include={"app_name", "window_name", "browser_url", "focused", "monitor", "host"}),
    )
    with refusing(BadCursor, "invalid_cursor", "cursor", 400):
        page = frames_search.search(
            services().database,
            query.q,
            filters,
            **query.model_dump(include={"mode", "order", "limit", "cursor", "offset", "fold"}),
            meaning=_meaning(query),
        )
    return search_answer(page, query.limit, (time.perf_counter() - began) * 1000)


def _meaning(query: SearchQuery) -> RetrievalQuery | Callable[[], RetrievalQuery]:
    """A later page goes on with what the first one found."""
    embedder = services().embedder
    ask = embedder.asked if query.cursor or query.offset else embedder.begin
    return ask(query.q, mode=query.mode)


def search_answer(page: Page, limit: int, duration_ms: float) -> SearchAnswer:
    return SearchAnswer(
        data=[HitAnswer.of(hit, frame_url=frame_url(hit.frame_id)) for hit in page.hits],
        pagination=PaginationAnswer.of(page, limit=limit),
        near=page.near,
        search=HowAnswer.of(page, duration_ms=round(duration_ms, 3)),
    )
