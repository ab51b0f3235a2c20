"""What stands under an answer: the tool calls that it made, and the frames that show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from zoneinfo import ZoneInfo

from markupsafe import Markup

from assistant.core.records import EvidenceItem, TurnResult
from engines.chat.extractive import ExtractiveModel
from store.chats import tool_calls
from store.chats.feedback import Report
from store.chats.tool_calls import ToolCall
from store.core import times
from store.core.database import Database
from store.frames import apps, frames
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr import readings
from store.ocr.readings import Box
from webapp.core import formatting, markdown
from webapp.views import answers
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


QUOTE_CROP_PX = 360, 88
"""The least crop over a quote: a few lines, about as large as they were on the screen."""


@dataclass(frozen=True, slots=True)
class EvidenceCard:
    """One frame of an answer. `frame` is None once it was deleted; `gone` says why its pixels cannot be
    shown, and is empty while they can.
    """

    item: EvidenceItem
    anchor: str
    address: str
    at: str  # its day and time
    iso: str
    frame: FrameRow | None
    boxes: tuple[Box, ...]
    crops: tuple[Box, ...]  # each box is in one of them
    quote: Markup
    copied: str
    gone: str
    report: Report | None  # what the person said about this source
    colour_slot: int | None

    @property
    def place(self) -> str:
        """``Slack · #harbour``: its app and its window."""
        return formatting.app_name(" · ".join(filter(None, (self.item.app_name, self.item.window_name))))


def evidence_cards(
    database: Database,
    media: Media,
    turn: TurnResult,
    items: Iterable[EvidenceItem],
    reports: Mapping[int, Report],
    now_ms: int,
) -> Iterator[EvidenceCard]:
    """The frames of a turn as they are drawn; `reports` are what the person said, by number."""
    wanted = tuple(items)
    zone = ZoneInfo(turn.timezone)
    rows = frames.get_many(database, [item.frame_id for item in wanted if item.frame_id is not None])
    slots = apps.colour_slots(database)
    marked = answers.words_on_frames(turn)
    is_quoted = turn.model == ExtractiveModel.name  # its answer is these quotes: nobody reads them twice
    for item in wanted:
        n, frame = item.n or 0, rows.get(item.frame_id or -1)
        boxes = _boxes(database, item, marked.get(n, ()))
        words = f"“{item.quote or item.ocr_snippet}” - "
        place = ", ".join(part for part in (item.app_name, item.window_name) if part)
        yield EvidenceCard(
            item=item,
            anchor=f"t{turn.turn_id}e{n}" if n else "",
            address=_address(turn, item, frame),
            at=formatting.day_and_clock(item.captured_ms, zone, now_ms),
            iso=times.rfc3339(item.captured_ms, zone),
            frame=frame,
            boxes=boxes,
            crops=tuple(_crops(boxes, frame)) if frame else (),
            quote=Markup() if is_quoted else _quote(item, marked.get(n, ())),
            copied=citation_text(words, place, item.captured_ms, item.frame_id, zone),
            gone=_gone(media, frame, item),
            report=reports.get(n),
            colour_slot=slots.get(item.app_name or ""),
        )


def _boxes(database: Database, item: EvidenceItem, words: Iterable[str]) -> tuple[Box, ...]:
    """Around the words of the answer that stand in the quote, or on a frame that was cited without one; else
    around the quote.
    """
    quoted = item.boxes
    reading = readings.current_reading(database, item.frame_id) if words and item.frame_id else None
    if reading is None:
        return quoted
    at = reading.text.find(item.quote)
    if quoted and at < 0:
        return quoted
    start, end = (at, at + len(item.quote)) if quoted else (0, len(reading.text))
    places = ((reading.text.find(word, start, end), len(word)) for word in words)
    spans = [(place, place + length) for place, length in places if place >= 0]
    boxes = [box for span in spans for box in readings.boxes_for_span(reading, *span)]
    return tuple(sorted(boxes, key=lambda box: (box.y, box.x))) or quoted


def _crops(boxes: tuple[Box, ...], frame: FrameRow) -> Iterator[Box]:
    """Around the boxes, those together that are near enough to be shown as large."""
    groups: list[list[Box]] = []
    for box in sorted(boxes, key=lambda box: box.y):
        if not groups or box.y > max(each.y + each.h for each in groups[-1]) + QUOTE_CROP_PX[1]:
            groups.append([])
        groups[-1].append(box)
    size = frame.width_px, frame.height_px
    yield from filter(None, (crop_around(near, *size, *QUOTE_CROP_PX) for near in groups))


def _address(turn: TurnResult, item: EvidenceItem, frame: FrameRow | None) -> str:
    """Its frame with the quote boxed; of one that is gone, its place under the answer."""
    if frame is None:
        return f"/chat/{turn.chat_id}#t{turn.turn_id}e{item.n}"
    cite = f"?cite={turn.chat_id}.{turn.turn_id}.{item.n}" if item.n is not None else ""
    return f"/frames/{frame.id}{cite}"


def _gone(media: Media, frame: FrameRow | None, item: EvidenceItem) -> str:
    """Why a frame's own pixels cannot be shown. Only cited ones are read to know: few, and on top."""
    if frame is None:
        return unavailable_text("deleted")
    if item.n is None:
        return "" if frame.media_path else unavailable_text(frame.media_gone_reason or "deleted")
    return unavailable_text(unavailable_reason(media, frame))


def _quote(item: EvidenceItem, words: Iterable[str]) -> Markup:
    """The quote, with the words of the answer marked that are a part of it."""
    quote = item.quote.casefold()
    at = ((quote.find(word.casefold()), len(word)) for word in words if len(word) < len(quote))
    return markdown.highlight(item.quote, [(start, start + length) for start, length in at if start >= 0])
