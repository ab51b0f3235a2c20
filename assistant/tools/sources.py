"""What tools over imported sources and remembered things share: the door they go through, and how they tell.

Like the tools about the screen they read past today's exclusion rules, leave an audit row, and show
nothing outside of a given range. What they tell is no frame, so it has no id to cite.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, Protocol

from pydantic import Field

from assistant.read_api import calls, moments, reading
from assistant.read_api.calls import ReadCall, ReadSources
from assistant.read_api.errors import ReadRefused
from assistant.tools.findings import Findings
from assistant.tools.screen import DOOR, outside_range
from assistant.tools.tool import Risk, Tool, ToolFailed, described
from store.chats.tool_permissions import Mode
from store.frames.frames import FrameRow

ROOM_CHARS = 12_000
"""What the rows of one result may take together, in characters of JSON; more would not be taken in."""


class SourceContext(Protocol):
    """What these tools are handed. `range_ms` is what must not be left, None where all may be seen."""

    @property
    def library(self) -> ReadSources: ...
    @property
    def findings(self) -> Findings: ...
    @property
    def now_ms(self) -> int: ...
    @property
    def zone(self) -> tzinfo: ...
    @property
    def range_ms(self) -> tuple[int, int] | None: ...
    @property
    def timeout_s(self) -> float: ...
    @property
    def turn_id(self) -> int | None: ...
    @property
    def chat_id(self) -> int: ...


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """One call of one of these tools."""

    call: ReadCall
    context: SourceContext

    def local(self, at_ms: int) -> str:
        """A moment in words for the model; from now on an answer may name it."""
        self.context.findings.moments.add(at_ms)
        return moments.rfc3339(at_ms, self.context.zone)

    def within(self, start_ms: int, end_ms: int) -> tuple[int, int]:
        """A span cut to the range of the turn. Raises `ToolFailed` when nothing of it is left."""
        low, high = self.context.range_ms or (start_ms, end_ms)
        if max(start_ms, low) >= min(end_ms, high):
            raise ToolFailed(outside_range((low, high)))
        return max(start_ms, low), min(end_ms, high)

    def frame(self, frame_id: int) -> FrameRow:
        """A frame that may be seen. Raises `Refused`, `FrameNotFound`; `ToolFailed` outside of the range."""
        frame = reading.frame(self.call, frame_id)
        self.within(frame.captured_ms, frame.captured_ms + 1)
        self.context.findings.shown(frame.captured_ms, frame.captured_ms + 1)
        return frame


def source_tool(
    mode: Mode,
    reaches: str,
    source: str,
    *,
    risk: Risk = "looks",
    tells: Callable[..., str] | None = None,
) -> Callable[[Callable[..., object]], Tool]:
    """Make a `Tool` of a function whose first parameter is a `Look`; its docstring is the description.

    A turn that was given rows names their `source` (C3).
    """

    def make(function: Callable[..., object]) -> Tool:
        def run(context: SourceContext, **values: Any) -> object:
            try:
                with calls.call(context.library, DOOR, function.__name__) as call:
                    answer = function(SourceQuery(call, context), **values)
                if call.returned and risk == "looks":
                    context.findings.sources.add(source)
                return answer
            except ReadRefused as error:
                raise ToolFailed(str(error)) from error

        made = described(function, run, name=function.__name__, mode=mode, reaches=reaches)
        return replace(made, risk=risk, tells=tells)

    return make


def span(look: SourceQuery, start: float | str, end: float | str) -> tuple[int, int]:
    """``[start, end)`` in milliseconds, cut to the range of the turn. Raises `Refused`, `ToolFailed`."""
    start_ms, end_ms = moments.parse(start, "start"), moments.parse(end, "end")
    if end_ms <= start_ms:
        raise ReadRefused("invalid", "end must be later than start")
    return look.within(start_ms, end_ms)


def rows_that_fit(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The rows that fit into `ROOM_CHARS`, without what is empty, and how many are left out."""
    kept, room = [], ROOM_CHARS
    for row in rows:
        told = {key: value for key, value in row.items() if value not in ("", None, [])}
        room -= len(json.dumps(told, ensure_ascii=False))
        if room < 0:
            break
        kept.append(told)
    return kept, len(rows) - len(kept)


def truncated(text: str, chars: int) -> str:
    """A text of at most `chars` characters; one that is cut ends in …"""
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"


Latitude = Field(ge=-90, le=90, description="Degrees north, WGS 84.")
Longitude = Field(ge=-180, le=180, description="Degrees east, WGS 84.")
