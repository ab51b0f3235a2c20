"""What screenpipe's clients send and expect: times, numbers, the parts of its answers.

Parameters that are not known are ignored, as theirs are: new clients send new ones. A value that
cannot be understood is refused, and a filter over something Recollect does not have finds nothing.
"""

from __future__ import annotations

import re
from datetime import UTC
from typing import Annotated, Any, TypeVar

from flask import request
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from assistant.read_api import calls
from assistant.read_api.calls import ReadRefused
from store.core import times
from webapp.api.values import Text
from webapp.core.services import services

MAX_LIMIT = 1_000
MAX_OFFSET = 10_000

_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_AGO = re.compile(
    r"([0-9]{1,9}) ?(s|sec|seconds?|m|min|minutes?|h|hr|hours?|d|days?|w|weeks?)( ago)?", re.ASCII
)

_Model = TypeVar("_Model", bound=BaseModel)


def _time(text: str) -> int:
    """Epoch milliseconds of RFC 3339, of ``now`` or of ``16h ago``."""
    text = text.strip()
    now_ms = services().clock()
    if text.lower() == "now":
        return now_ms
    ago = _AGO.fullmatch(text)
    if ago:
        return max(0, now_ms - int(ago[1]) * _UNITS_MS[ago[2][0]])
    try:
        return calls.parse(text, "it")
    except ReadRefused as error:
        raise ValueError("must be RFC 3339 with its zone, or like 16h ago") from error


Time = Annotated[int, BeforeValidator(_time)]
Limit = Annotated[int, Field(ge=0), AfterValidator(lambda number: min(number, MAX_LIMIT))]
Document = dict[str, Any]


class Query(BaseModel):
    """A query string of theirs. Blank values count as missing."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class RangeQuery(Query):
    start_time: Time | None = None
    end_time: Time | None = None
    app_name: Text | None = None

    def span_ms(self) -> tuple[int, int | None]:
        """``[start, end)``; their end is included. Raises `ReadRefused` when it lies before the start."""
        start = self.start_time or 0
        end = None if self.end_time is None else self.end_time + 1
        if end is not None and end <= start:
            raise ReadRefused("invalid", "end_time: must not be earlier than start_time")
        return start, end


class PageQuery(RangeQuery):
    q: Text = ""
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0

    def page(self, data: list[Document], limit: int, total: int) -> Document:
        return {"data": data, "pagination": {"limit": limit, "offset": self.offset, "total": total}}


def read(model: type[_Model]) -> _Model:
    """The query string of the current request. Raises `ReadRefused`."""
    given = {name: value for name, value in request.args.items() if value != ""}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise ReadRefused("invalid", f"{name}: {first['msg']}") from error


def utc(ms: int) -> str:
    """``2026-11-20T12:00:00Z``, as their server writes times."""
    return times.rfc3339(ms, UTC).replace("+00:00", "Z")
