"""What can be done with a selection on the timeline: begin and end it, ask about it, give it up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from webapp.pages.timeline.stage import NO_SELECTION, Selection
from webapp.pages.timeline.views_stage import Stage, StageQuery, address
from webapp.views.activity_band import Window

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Selector:
    """Everything `timeline/_selection.html` draws. `begin` and `end` are "" where there is no frame for it;
    `start_ms` and `end_ms` are what the buttons act on: the selection, or else the stretch that is shown.
    """

    selected: Selection
    start_ms: int
    end_ms: int
    begin: str
    end: str
    clear: str

    @property
    def query(self) -> str:
        """The whole minutes that it touches, for forms that can say no less."""
        start_ms = self.start_ms // _MINUTE_MS * _MINUTE_MS
        return urlencode({"from": start_ms, "to": -(-self.end_ms // _MINUTE_MS) * _MINUTE_MS})


def selector(ask: StageQuery, stage: Stage | None, view: Window) -> Selector:
    """The selection of a view, with where its buttons lead."""
    chosen, frame = ask.selected, stage.frame if stage else None
    start_ms, end_ms = chosen.start_ms, chosen.end_ms
    if start_ms is None or end_ms is None:
        start_ms, end_ms = view.start_ms, view.end_ms

    def to(selected: Selection) -> str:
        return address(replace(ask, selected=selected), frame.id if frame else None)

    return Selector(
        selected=chosen,
        start_ms=start_ms,
        end_ms=end_ms,
        begin=to(chosen.begun_at(frame)) if frame else "",
        end=to(chosen.ended_at(frame)) if frame and chosen.start_ms is not None else "",
        clear=to(NO_SELECTION),
    )
