"""What stands under an answer: the tool calls that it made, and the frames that show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from zoneinfo import ZoneInfo

from markupsafe import Markup

from assistant.core.records import EvidenceItem, TurnResult
from store.chats import tool_calls
from store.chats.feedback import Report
from store.chats.tool_calls import ToolCall
from store.core.database import Database
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr.readings import Box
from webapp.core import formatting, markdown
from webapp.views.frames import citation_text, crop_around, unavailable_reason, unavailable_text


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls of one tool in one round, drawn as one card; `key` stays the same while they run."""

    key: str
    tool: str
    calls: tuple[ToolCall, ...]
    duration_ms: int | None


def call_rounds(database: Database, chat_id: int, n: int) -> dict[int, tuple[CallGroup, ...]]:
    """The calls of a turn by their round, in order, those of one tool side by side together."""
    calls = tool_calls.of_turn(database, chat_id, n)
    return {
        iteration: tuple(_groups(iteration, list(of_round)))
        for iteration, of_round in groupby(calls, key=lambda call: call.iteration)
    }


def _groups(iteration: int, calls: list[ToolCall]) -> Iterator[CallGroup]:
    for place, (tool, of_tool) in enumerate(groupby(calls, key=lambda call: call.tool)):
        together = tuple(of_tool)
        took = [call.duration_ms for call in together if call.duration_ms is not None]
        yield CallGroup(f"g{iteration}-{place}", tool, together, sum(took) if took else None)


def is_retryable(call: ToolCall) -> bool:
    """One that ran and failed. One that nobody decided about could not be made, and would fail again."""
    return call.state in ("failed", "timed_out") and bool(call.decided_by) and not call.is_forgotten


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """One frame under an answer. `frame` is None once it was deleted; `gone` says why its pixels cannot be
    shown, and is empty while they can.
    """

    item: EvidenceItem
    anchor: str
    address: str
    clock: str
    iso: str
    frame: FrameRow | None
    boxes: tuple[Box, ...]
    crop: Box | None
    quote: Markup
    copied: str
    gone: str
    report: Report | None  # what the person said about this source


def evidence_card(
    turn: TurnResult,
    item: EvidenceItem,
    frame: FrameRow | None,
    media: Media,
    report: Report | None,
    zone: ZoneInfo,
) -> EvidenceCard:
    boxes = tuple(Box(b.x, b.y, b.w, b.h) for b in item.boxes)
    anchor = f"t{turn.turn_id}e{item.n}" if item.n is not None else ""
    address = f"/chat/{turn.chat_id}#{anchor}"
    if frame is not None:
        cite = f"?cite={turn.chat_id}.{turn.turn_id}.{item.n}" if item.n is not None else ""
        address = f"/frames/{frame.id}{cite}"
    place = ", ".join(part for part in (item.app_name, item.window_name) if part)
    words = f"“{item.quote or item.ocr_snippet}” - "
    return EvidenceCard(
        item=item,
        anchor=anchor,
        address=address,
        clock=formatting.clock(item.captured_ms, zone),
        iso=formatting.iso(item.captured_ms, zone),
        frame=frame,
        boxes=boxes,
        crop=crop_around(boxes, frame.width_px, frame.height_px) if frame else None,
        quote=_quote(item),
        copied=citation_text(words, place, item.captured_ms, item.frame_id, zone),
        gone=_gone(media, frame, item),
        report=report,
    )


def _gone(media: Media, frame: FrameRow | None, item: EvidenceItem) -> str:
    """Why a frame's own pixels cannot be shown. Only cited ones are read to know: few, and on top."""
    if frame is None:
        return unavailable_text("deleted")
    if item.n is None:
        return "" if frame.media_path else unavailable_text(frame.media_gone_reason or "deleted")
    return unavailable_text(unavailable_reason(media, frame))


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
