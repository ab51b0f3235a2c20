"""The page before an export: every picture that would come along, and what never does."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from assistant.turns.turn import TurnResult
from store.ocr.readings import Box
from webapp.core import formatting
from webapp.core.viewer import Viewer
from webapp.exports.pack import CROP_PX, Pack, Source
from webapp.views.frames import Picture, crop_around, picture


@dataclass(frozen=True, slots=True)
class ExportPicture:
    """One source. `picture` is None when nothing of it can come along; `why` says why."""

    n: int
    source: Source
    clock: str
    picture: Picture | None
    crop: Box | None
    why: str


@dataclass(frozen=True, slots=True)
class ExportView:
    """Everything `chat/export.html` draws."""

    turn: TurnResult
    offers: tuple[ExportPicture, ...]
    range_label: str

    @property
    def back(self) -> str:
        return f"/chat/{self.turn.chat_id}#t{self.turn.turn_id}"

    @property
    def withheld(self) -> int:
        return sum(bool(offer.source.withheld) for offer in self.offers)


def export_view(pack: Pack, viewer: Viewer) -> ExportView:
    """The preview of a pack that has no pictures yet."""
    turn = pack.turn
    label = formatting.span(turn.start_ms, turn.end_ms, ZoneInfo(turn.timezone), viewer.now_ms)
    return ExportView(turn, tuple(_offer(source, viewer) for source in pack.sources), label)


def _offer(source: Source, viewer: Viewer) -> ExportPicture:
    clock = formatting.moment(source.item.captured_ms, viewer.zone)
    frame = source.frame
    if frame is None or not source.can_show:
        return ExportPicture(source.n, source, clock, None, None, source.withheld or source.gone)
    crop = crop_around(source.boxes, frame.width_px, frame.height_px, CROP_PX)
    return ExportPicture(source.n, source, clock, picture(frame, clock), crop, "")
