"""The values that requests and answers are made of, and how a bad one is refused.

A query string carries text, so its numbers and truth values are parsed here, once and narrowly;
a JSON body carries numbers already, and text in their place is refused. A refusal has a stable
code of its own where a caller can act on it (``invalid_time``, ``invalid_time_range``,
``invalid_timezone``); anything else becomes ``invalid_<field>``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Self, TypeVar
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    StringConstraints,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from store.core.times import MAX_EPOCH_SECONDS, to_ms, to_seconds

MAX_TEXT = 1_000
MAX_ID = 2**63 - 1
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{0,20})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,18}", re.ASCII)

TIME_CODES = frozenset({"invalid_time", "invalid_time_range", "invalid_timezone"})
"""Refused with 400 wherever they stand; other bad fields of a body are 422."""


class Request(BaseModel):
    """A query string or a JSON body. Unknown names are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# -- answers --------------------------------------------------------------------------------


def _inside(name: str) -> AliasChoices:
    """What the rest of the program calls the field: units stand in its names, truths begin with ``is_``."""
    stem = name.removesuffix("_at").removesuffix("_time")
    return AliasChoices(name, f"is_{name}", f"{stem}_ms", f"{name}_px")


class Answer(BaseModel):
    """A JSON answer; what is not listed here is never sent."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        from_attributes=True,
        alias_generator=AliasGenerator(validation_alias=_inside),
        validate_by_name=True,
    )

    @classmethod
    def of(cls, row: object, **more: Any) -> Self:
        """The answer that tells of `row`, an object with attributes; `more` adds and overrides."""
        return cls.model_validate(_Overlay(row, more) if more else row)

    @classmethod
    def list_of(cls, rows: Iterable[object]) -> list[Self]:
        return [cls.model_validate(row) for row in rows]


class _Overlay:
    def __init__(self, row: object, more: dict[str, Any]) -> None:
        self.__dict__ |= more
        self._row = row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


Timestamp = Annotated[int, PlainSerializer(to_seconds, return_type=float)]
"""Epoch milliseconds inside, epoch seconds in JSON."""

Minutes = Annotated[int, PlainSerializer(lambda ms: ms / 60_000, return_type=float)]
"""Milliseconds inside, minutes in JSON."""


_Row = TypeVar("_Row")


class Listing(Answer, Generic[_Row]):
    """All there are, or those of one page."""

    data: list[_Row]


class Pagination(Answer):
    limit: int
    next_cursor: str | None


OrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]
"""An empty text is null in JSON."""

IsSet = Annotated[bool, BeforeValidator(lambda value: value is not None)]
"""Whether there is a value."""


class SpanAnswer(Answer):
    start_time: Timestamp
    end_time: Timestamp


class GapAnswer(Answer):
    """A stretch that is nobody's: without a picture, or idle. Never names what was left out."""

    start: Timestamp
    end: Timestamp
    reason: str = Field(
        description="paused, locked, asleep, excluded, idle, failed:…, not_running or deleted."
    )


class SeenAnswer(Answer):
    """What was seen; unknown is null, never guessed."""

    app_name: str | None
    window_name: str | None
    browser_url: str | None


class DeletedAnswer(Answer):
    id: int
    deleted: Literal[True] = True


# -- times ----------------------------------------------------------------------------------

_TIME_FORM = f"must be epoch seconds, a number from 0 to {MAX_EPOCH_SECONDS:.0f}"
_TIME_SCHEMA = {"type": "number", "minimum": 0, "maximum": MAX_EPOCH_SECONDS}


def _seconds(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("invalid_time", _TIME_FORM)
    if not math.isfinite(value) or not 0 <= value <= MAX_EPOCH_SECONDS:
        raise PydanticCustomError("invalid_time", _TIME_FORM)
    return to_ms(value)


def _query_seconds(text: Any) -> int:
    if not isinstance(text, str) or not _NUMBER.fullmatch(text):
        raise PydanticCustomError("invalid_time", _TIME_FORM)
    return _seconds(float(text))


Seconds = Annotated[int, PlainValidator(_seconds), WithJsonSchema(_TIME_SCHEMA)]
QuerySeconds = Annotated[int, PlainValidator(_query_seconds), WithJsonSchema(_TIME_SCHEMA)]
"""Epoch seconds in a request, epoch milliseconds inside."""


class Ranged(Request):
    """A request with a `start_time` and an `end_time`; an empty or reversed range is refused."""

    if TYPE_CHECKING:  # each request says what its own are
        start_time: int | None
        end_time: int | None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        start, end = self.start_time, self.end_time
        if start is not None and end is not None and end <= start:
            raise PydanticCustomError("invalid_time_range", "must be later than start_time")
        return self


class RangeQuery(Ranged):
    """A half-open range ``[start_time, end_time)``; the end defaults to now."""

    start_time: QuerySeconds = Field(description="Start of the range, epoch seconds, included.")
    end_time: QuerySeconds | None = Field(
        None, description="End of the range, epoch seconds, not included; now when missing."
    )


# -- other query values ---------------------------------------------------------------------


def _integer(text: Any) -> int:
    if not isinstance(text, str) or not _INTEGER.fullmatch(text):
        raise PydanticCustomError("invalid_integer", "must be a whole number")
    return int(text)


def _boolean(text: Any) -> bool:
    if text not in ("true", "false"):
        raise PydanticCustomError("invalid_boolean", "must be true or false")
    return bool(text == "true")


QueryInt = Annotated[int, BeforeValidator(_integer)]
Id = Annotated[int, Field(ge=1, le=MAX_ID)]
QueryId = Annotated[QueryInt, Field(ge=1, le=MAX_ID)]
QueryBool = Annotated[bool, PlainValidator(_boolean), WithJsonSchema({"type": "boolean"})]
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT)]


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise PydanticCustomError(
            "invalid_timezone", "must be an IANA time zone such as Europe/Berlin"
        ) from error
    return name


Zone = Annotated[str, StringConstraints(max_length=100), AfterValidator(_zone)]
