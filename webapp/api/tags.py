"""Tags of frames: those that rules gave as the frame came in, and a person's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from store.frames import frames, tags
from webapp.api.endpoint import endpoint, invalid
from webapp.api.values import Answer, Request, Text
from webapp.core.errors import FieldError
from webapp.core.services import services

NO_FRAME = {404: "frame_not_found"}


class TagBody(Request):
    tag: Annotated[str, Field(min_length=1, max_length=tags.MAX_TAG_CHARS)]


class TagQuery(Request):
    tag: Text = Field(description="The tag to take off, whatever its case.")


class TagAnswer(Answer):
    tag: str
    source: Literal["rule", "person"]


class TagsAnswer(Answer):
    frame_id: int
    tags: list[TagAnswer]


@endpoint("GET", "/frames/<id:frame_id>/tags", "Tags of a frame", answer=TagsAnswer, problems=NO_FRAME)
def tags_of(frame_id: int) -> TagsAnswer:
    """In alphabetical order."""
    return _answer(frames.get(services().database, frame_id).id)


@endpoint(
    "POST", "/frames/<id:frame_id>/tags", "Mark a frame", body=TagBody, answer=TagsAnswer,
    problems={**NO_FRAME, 422: "invalid_tag"},
)  # fmt: skip
def tag_frame(frame_id: int, body: TagBody) -> TagsAnswer:
    """A tag that the frame has already stays as it was written."""
    own = services()
    frame = frames.get(own.database, frame_id)
    try:
        with own.database.write() as connection:
            tags.add(connection, frame.id, body.tag, own.clock())
    except ValueError as error:
        raise invalid(422, "invalid_tag", [FieldError("tag", str(error))]) from error
    return _answer(frame.id)


@endpoint(
    "DELETE", "/frames/<id:frame_id>/tags", "Take a tag off a frame", query=TagQuery, answer=TagsAnswer,
    problems=NO_FRAME,
)  # fmt: skip
def untag_frame(frame_id: int, query: TagQuery) -> TagsAnswer:
    """One that it has not changes nothing. No rule gives it again."""
    own = services()
    frame = frames.get(own.database, frame_id)
    with own.database.write() as connection:
        tags.remove(connection, frame.id, query.tag)
    return _answer(frame.id)


def _answer(frame_id: int) -> TagsAnswer:
    found = tags.listed(services().database, frame_id)
    return TagsAnswer(frame_id=frame_id, tags=[TagAnswer(tag=each.tag, source=each.source) for each in found])
