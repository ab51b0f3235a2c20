"""One frame under an answer: its picture or an honest "gone", its words, and what was checked."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from markupsafe import Markup

from assistant.core.records import EvidenceItem, TurnResult
from store.chats.feedback import Report
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr.readings import Box
from webapp.core import formatting, markdown
from webapp.views.frames import Picture, crop_around, picture, unavailable_reason, unavailable_text


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """One frame under an answer. `picture` is None once the frame was deleted; `gone` says why its
    pixels cannot be shown, and is empty while they can.
    """

    item: EvidenceItem
    anchor: str
    address: str
    clock: str
    iso: str
    picture: Picture | None
    boxes: tuple[Box, ...]
    crop: Box | None
    quote: Markup
    copied: str
    gone: str
    report: Report | None  # what the person said about this source


def evidence_card(
    turn: TurnResult,
    item: EvidenceItem,
    row: FrameRow | None,
    media: Media,
    report: Report | None,
    zone: ZoneInfo,
) -> EvidenceCard:
    boxes = tuple(Box(b.x, b.y, b.w, b.h) for b in item.boxes)
    clock = formatting.clock(item.captured_ms, zone)
    anchor = f"t{turn.turn_id}e{item.n}" if item.n is not None else ""
    address = f"/chat/{turn.chat_id}#{anchor}"
    if row is not None:
        cite = f"?cite={turn.chat_id}.{turn.turn_id}.{item.n}" if item.n is not None else ""
        address = f"/frames/{row.id}{cite}"
    place = ", ".join(part for part in (item.app_name, item.window_name) if part)
    at = formatting.iso(item.captured_ms - item.captured_ms % 1000, zone).replace("T", " ")
    return EvidenceCard(
        item=item,
        anchor=anchor,
        address=address,
        clock=clock,
        iso=formatting.iso(item.captured_ms, zone),
        picture=picture(row, clock) if row else None,
        boxes=boxes,
        crop=crop_around(boxes, row.width_px, row.height_px) if row else None,
        quote=_quote(item),
        copied=f"“{item.quote or item.ocr_snippet}” - {place}, {at}, frame {item.frame_id}",
        gone=_gone(media, row, item),
        report=report,
    )


def _gone(media: Media, row: FrameRow | None, item: EvidenceItem) -> str:
    """Why a frame's own pixels cannot be shown. Only cited ones are read to know: few, and on top."""
    if row is None:
        return unavailable_text("deleted")
    if item.n is None:
        return "" if row.media_path else unavailable_text(row.media_gone_reason or "deleted")
    return unavailable_text(unavailable_reason(media, row))


def _quote(item: EvidenceItem) -> Markup:
    """The excerpt with the quoted words marked in it, where they stand in it."""
    if not item.quote:
        return markdown.highlight(item.ocr_snippet, ())
    at = item.ocr_snippet.find(item.quote)
    if item.state != "found":
        return markdown.highlight(item.quote, ())
    if at < 0:
        return markdown.highlight(item.quote, [(0, len(item.quote))])
    return markdown.highlight(item.ocr_snippet, [(at, at + len(item.quote))])
