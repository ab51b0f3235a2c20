"""Keeping frames whatever retention says, and having their text read again."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from store.core.times import to_seconds
from store.frames import frames, tags
from store.ocr import readings
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer
from webapp.core.services import services


class PinStateAnswer(Answer):
    """Why retention leaves a frame alone. A deletion that is asked for takes it all the same."""

    frame_id: int
    kept: bool
    pinned_at: float | None = Field(description="Since when it is pinned; null when it is not.")
    citations: int = Field(description="How many citations of stored answers rest on it.")
    insights: int = Field(description="How many versions of an insight are of it.")


@endpoint(
    "PUT",
    "/frames/<id:frame_id>/pin",
    "Pin a frame",
    answer=PinStateAnswer,
    problems={404: "frame_not_found"},
)
def pin(frame_id: int) -> PinStateAnswer:
    """Keep a frame; a pin that is there stays as it is."""
    own = services()
    tags.pin(own.database, frame_id, own.clock())
    return _answer(frame_id)


@endpoint(
    "DELETE",
    "/frames/<id:frame_id>/pin",
    "Unpin a frame",
    answer=PinStateAnswer,
    problems={404: "frame_not_found"},
)
def unpin(frame_id: int) -> PinStateAnswer:
    """Let go of a frame. Citations keep it as long as their answers are there."""
    database = services().database
    tags.unpin(database, frames.get(database, frame_id).id)
    return _answer(frame_id)


@endpoint(
    "GET",
    "/frames/<id:frame_id>/pin",
    "Why a frame is kept",
    answer=PinStateAnswer,
    problems={404: "frame_not_found"},
)
def hold(frame_id: int) -> PinStateAnswer:
    """Whether the frame is pinned, and how often it is cited."""
    return _answer(frames.get(services().database, frame_id).id)


class ReadAgainAnswer(Answer):
    frame_id: int
    status: Literal["queued"] = "queued"


@endpoint(
    "POST",
    "/frames/<id:frame_id>/read-again",
    "Read a frame's text anew",
    answer=ReadAgainAnswer,
    status=202,
    problems={404: "frame_not_found"},
)
def read_again(frame_id: int) -> ReadAgainAnswer:
    """Queue the frame for reading; quotes that cite it are then checked against the new reading."""
    database = services().database
    readings.read_again(database, frames.get(database, frame_id).id)
    return ReadAgainAnswer(frame_id=frame_id)


def _answer(frame_id: int) -> PinStateAnswer:
    found = tags.retention_reason(services().database, frame_id)
    return PinStateAnswer(
        frame_id=frame_id,
        kept=found.is_kept,
        pinned_at=None if found.pinned_ms is None else to_seconds(found.pinned_ms),
        citations=found.citations,
        insights=found.insights,
    )
