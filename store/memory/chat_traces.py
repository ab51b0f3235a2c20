"""Where each sentence of a chat's summary is from: questions of the chat, and frames that prove it.

A trace has offsets and ids and no words, so that it tells nothing by itself. It goes with its summary.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trace:
    """Characters ``[start, end)`` of a field. `turns` are numbers within the chat; () where it is unknown."""

    start: int
    end: int
    turns: tuple[int, ...] = ()
    frames: tuple[int, ...] = ()


Traces = Mapping[str, tuple[Trace, ...]]
"""By field, in the order of the text and without overlap."""


def packed(traces: Traces) -> str:
    """As a summary keeps it."""
    return json.dumps(
        {
            field: [[each.start, each.end, each.turns, each.frames] for each in found]
            for field, found in traces.items()
        }
    )


def unpacked(text: str | None) -> Traces | None:
    """What was kept; None for a summary that was not traced when it was made."""
    if text is None:
        return None
    return {
        field: tuple(Trace(start, end, tuple(turns), tuple(frames)) for start, end, turns, frames in found)
        for field, found in json.loads(text).items()
    }
