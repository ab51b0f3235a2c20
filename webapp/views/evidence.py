"""The tool calls of a turn as they are drawn: each with what it was given and what came of it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from zoneinfo import ZoneInfo

from markupsafe import Markup

from assistant.core.records import EvidenceItem, TurnResult
from assistant.tools.screen import describe_frame
from store.chats import tool_calls
from store.chats.feedback import Report
from store.chats.tool_calls import ToolCall
from store.core.database import Database
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr.readings import Box
from webapp.core import formatting, markdown
from webapp.views.frames import Picture, crop_around, picture, unavailable_reason, unavailable_text

# state of a call: (kind, word, icon)
STATES = {
    "pending": ("warn", "Waits for you", "alert"),
    "approved": ("plain", "Allowed", "check"),
    "executing": ("plain", "Running", "clock"),
    "completed": ("ok", "Done", "check"),
    "failed": ("danger", "Failed", "alert"),
    "denied": ("plain", "Denied", "close"),
    "timed_out": ("danger", "Timed out", "clock"),
    "expired": ("plain", "Not decided in time", "clock"),
}


@dataclass(frozen=True, slots=True)
class CallView:
    """A tool call as it is drawn. `arguments` is exactly what would run, `notice` what it does.

    `scope` is what "in this chat" and "always" would cover; `by_rule` is one that they let run.
    `picture` is the frame whose picture it would send.
    """

    id: int
    tool: str
    notice: str
    scope: str
    arguments: str
    result: str
    error: str
    state: str
    kind: str
    word: str
    icon: str
    took: str
    can_retry: bool
    by_rule: bool
    picture: int | None

    @property
    def waits(self) -> bool:
        return self.state == "pending"


@dataclass(frozen=True, slots=True)
class CallGroup:
    """Calls of one tool in one round, drawn as one card; `key` stays the same while they run."""

    key: str
    tool: str
    calls: tuple[CallView, ...]
    took: str

    @property
    def is_several(self) -> bool:
        return len(self.calls) > 1


def call_rounds(database: Database, chat_id: int, n: int) -> dict[int, tuple[CallGroup, ...]]:
    """The calls of a turn by their round, in order, those of one tool side by side together."""
    found = tool_calls.of_turn(database, chat_id, n)
    return {
        iteration: tuple(_groups(iteration, list(calls)))
        for iteration, calls in groupby(found, key=lambda call: call.iteration)
    }


def _groups(iteration: int, calls: list[ToolCall]) -> Iterable[CallGroup]:
    for place, (tool, of_tool) in enumerate(groupby(calls, key=lambda call: call.tool)):
        together = list(of_tool)
        took = [call.duration_ms for call in together if call.duration_ms is not None]
        yield CallGroup(
            key=f"g{iteration}-{place}",
            tool=tool,
            calls=tuple(_call(each) for each in together),
            took=_took(sum(took)) if took else "",
        )


def _call(call: ToolCall) -> CallView:
    kind, word, icon = STATES[call.state]
    return CallView(
        id=call.id,
        tool=call.tool,
        notice=call.notice,
        scope=call.scope,
        arguments=_indented(call.arguments),
        result=_indented(call.output),
        error=call.error,
        state=call.state,
        kind=kind,
        word=word,
        icon=icon,
        took="" if call.duration_ms is None else _took(call.duration_ms),
        can_retry=is_retryable(call),
        by_rule=call.decided_by in ("chat", "always"),
        picture=json.loads(call.arguments).get("frame_id") if call.tool == describe_frame.name else None,
    )


def is_retryable(call: ToolCall) -> bool:
    """One that ran and failed. One that nobody decided about could not be made, and would fail again."""
    return call.state in ("failed", "timed_out") and bool(call.decided_by) and not call.is_forgotten


def _took(duration_ms: int) -> str:
    """Tools are quick: ``0.3 s``, and whole units from ten seconds on."""
    if duration_ms < 100:
        return "under 0.1 s"
    return f"{duration_ms / 1000:.1f} s" if duration_ms < 10_000 else formatting.duration(duration_ms)


def _indented(text: str) -> str:
    """JSON on lines, for reading; what is no JSON as it is."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        return text


# ---- proofs
# One frame under an answer: its picture or an honest "gone", its words, and what was checked.


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
