"""Tools about the screen and memory: the functions every door has, told so that they can be cited.

They read past today's exclusion rules and leave an audit row, like any door (`assistant.read_api`). In a turn
with a given range nothing outside it is shown.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Annotated, Any

from pydantic import BaseModel, Field

from assistant.core.egress_log import SentLedger
from assistant.core.records import Query, TurnFilters
from assistant.core.strings import PROMPTS, duration
from assistant.read_api import answers, frames, memory
from assistant.read_api.answers import Moment, Usage
from assistant.read_api.calls import ReadCall, parse
from assistant.read_api.frames import FrameId
from assistant.retrieval.measured_facts import TOTAL
from assistant.tools.context import Findings, SourceQuery, ToolContext, reading, row, source_tool
from assistant.tools.tool import MAX_OUTPUT_CHARS, Tool, ToolFailed, tool
from engines.chat.protocol import ChatModel, Message, ModelError, Picture
from store.core import times
from store.core.errors import StoreError
from store.core.translation import N_, Deferred
from store.core.translation import deferred as _
from store.frames import frames as stored_frames
from store.frames.frames import FrameRow

REACHES = N_("what was recorded on this computer, past your exclusion rules")


def _screen(function: Callable[..., BaseModel], name: str = "") -> Tool:
    """A tool of a door's function."""

    @wraps(function)
    def answered(lookup: SourceQuery, **values: Any) -> object:
        with lookup.call.database.read(lookup.timeout_s):
            return _as_answer(lookup, function(lookup.call, **values), values)

    answered.__name__ = name or function.__name__
    return source_tool(reaches=REACHES)(answered)


# -- telling --------------------------------------------------------------------------------


def _as_answer(lookup: SourceQuery, answer: BaseModel, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The answer for the model: its frames with ids to cite, its times in words."""
    findings = lookup.context.findings
    fields: dict[str, Any] = answer.model_dump(exclude_none=True)
    match answer:
        case answers.FramesFound():
            span = lookup.call.span(asked.get("start"), asked.get("end"))
            names = ("app_name", "window_name", "browser_url", "host")
            where = TurnFilters(**{name: asked[name] for name in names if asked.get(name)})
            words, why = str(asked.get("query", "")), answer.fallback_reason or ""
            findings.queries.append(
                Query(*span, where, answer.total, words, answer.strategy, answer.total_is_exact, why)
            )
            _cite(lookup, fields["frames"], [(row.frame_id, row.time) for row in answer.frames])
        case answers.FrameContext():
            _cite(lookup, [fields], [(answer.frame_id, answer.time)])
            if answer.activity:
                findings.shown(_ms(answer.activity.start), _ms(answer.activity.end))
        case answers.ActivitySummary():
            findings.shown(_ms(answer.start), _ms(answer.end))
            _measure(findings, fields, answer)
        case answers.MemoryFound() | answers.ContextTimeline():
            for entry in answer.entries:
                findings.shown(_ms(entry.start), max(_ms(entry.end), _ms(entry.start) + 1))
    return fields


def _cite(lookup: SourceQuery, rows: list[dict[str, Any]], seen: list[tuple[int, Moment]]) -> None:
    """Give the rows of frames their ids."""
    findings = lookup.context.findings
    for _frame_id, at in seen:
        findings.shown(_ms(at), _ms(at) + 1)
    ids = findings.cite(lookup.call.database, [frame_id for frame_id, _ in seen])
    for fields, (frame_id, _at) in zip(rows, seen, strict=True):
        if frame_id in ids:
            fields["cite"] = ids[frame_id]


def _measure(findings: Findings, fields: dict[str, Any], answer: answers.ActivitySummary) -> None:
    findings.measured(TOTAL, round(answer.covered_minutes * 60_000))
    fields["time"] = duration(round(answer.covered_minutes * 60_000))
    findings.moments |= {_ms(answer.start), _ms(answer.end)}
    for name in ("apps", "windows", "urls"):
        usages: list[Usage] = getattr(answer, name)
        for entry, usage in zip(fields[name], usages, strict=True):
            spent_ms = round(usage.minutes * 60_000)
            findings.measured(usage.name or "unknown app", spent_ms)
            findings.moments |= {_ms(usage.first_seen), _ms(usage.last_seen)}
            del entry["minutes"]
            entry["time"] = duration(spent_ms)
    findings.moments |= {_ms(at) for gap in answer.gaps for at in (gap.start, gap.end)}


def _ms(at: Moment) -> int:
    return parse(at, "time")


SCREEN_TOOLS = (
    _screen(frames.search_frames, "search_ocr"),
    _screen(frames.get_frame_context, "get_frame"),
    *map(_screen, (frames.activity_summary, *memory.TOOLS)),
)


# -- one picture, described by the model that answers -----------------------------------------
#
# The whole frame goes as one JPEG whose longer side is at most `LONGEST_PX`, to the model of the turn and
# nobody else. It is read like everything that leaves by a door: past today's exclusion rules, on record,
# and never once the picture is gone.

LONGEST_PX = 1_568
"""A full-HD screen stays readable at this size, and providers scale down what is larger
(https://docs.anthropic.com/en/docs/build-with-claude/vision)."""

INSTRUCTIONS: str = PROMPTS["describe"]
NOTE: str = PROMPTS["described"]


Question = Annotated[
    str, Field(max_length=500, description="What to look for; blank for the picture as a whole.")
]


@dataclass(frozen=True, slots=True)
class Shot:
    """One frame as it would be sent."""

    frame: FrameRow
    picture: Picture
    width_px: int
    height_px: int

    @property
    def name(self) -> str:
        """What the ledger and the person are told it is: no word of what it shows."""
        sent = self.picture.content
        return (
            f"frame {self.frame.id} ({self.frame.width_px} x {self.frame.height_px} pixels, SHA-256 "
            f"{self.frame.sha256}) as JPEG of {self.width_px} x {self.height_px} pixels, {len(sent):,} "
            f"bytes, SHA-256 {hashlib.sha256(sent).hexdigest()}"
        )


def _eyes(context: ToolContext) -> tuple[ChatModel, str]:
    """Whom a picture is shown to, also in words, which are English whoever asks, as a standing approval goes
    by them: ``Qwen on this computer``, ``Qwen at api.example``.
    """
    if context.eyes is None:
        raise ToolFailed("The model cannot look at pictures.")
    place = context.endpoint
    return context.eyes, f"{place.name} {'on this computer' if place.is_local else f'at {place.host}'}"


def shot(call: ReadCall, frame: FrameRow) -> Shot:
    """The picture of a frame that may be seen. Raises `MediaGone`."""
    content, width, height = call.library.media.copy_for_model(frame, LONGEST_PX)
    call.returned = 1
    return Shot(frame, Picture(content, "image/jpeg"), width, height)


def _shot(context: ToolContext, frame_id: int) -> Shot:
    """The same for a call. Raises `ToolFailed`."""
    with reading(context, "describe_frame") as lookup:
        return shot(lookup.call, lookup.frame(frame_id))


def _describe_notice(context: ToolContext, frame_id: int, question: str) -> Deferred:
    where: str | Deferred
    where, taken, place = _eyes(context)[1], _shot(context, frame_id), context.endpoint
    if place.is_local:
        where = _("%(server)s on this computer", server=place.name)
    at = times.rfc3339(taken.frame.captured_ms, context.zone)
    return _(
        "Shows one picture of your screen, taken %(moment)s, to %(where)s: %(name)s.",
        moment=at,
        where=where,
        name=taken.name,
    )


@tool(
    reaches=N_("one picture of your screen, shown to the model that answers"),
    risk="sends",
    tells=_describe_notice,
    covers=lambda context: N_("pictures of frames shown to %(model)s") % {"model": _eyes(context)[1]},
)
def describe_frame(context: ToolContext, frame_id: FrameId, question: Question = "") -> object:
    """Looks at the picture of one frame and describes it; call it when its text cannot answer, such as for
    a chart, a photo or a layout. It sends one picture each time; read the text with get_frame first. Its
    description cannot be quoted."""
    (model, _), taken = _eyes(context), _shot(context, frame_id)
    messages = [
        Message("system", INSTRUCTIONS),
        Message("user", question.strip() or "What does it show?", pictures=(taken.picture,)),
    ]
    frame = taken.frame
    ledger = SentLedger(
        context.library.database,
        context.library.clock,
        context.endpoint,
        "describe",
        context.turn_id,
        shows=(frame.captured_ms, frame.captured_ms),
        named=((taken.picture.data_url, taken.name),),
        is_current=lambda connection: stored_frames.has_picture(connection, frame.id, frame.sha256),
    )
    try:
        completion, usage = ledger.complete(model, messages, timeout_s=context.settings.timeout_s)
    except ModelError as error:
        raise ToolFailed(f"The model gave no description: {error.detail}.") from error
    except StoreError as error:
        raise ToolFailed("The picture is gone or could not be put on record; nothing was sent.") from error
    context.findings.usages.append(usage)
    context.findings.seen.add(frame_id)
    told = {
        "note": NOTE,
        "frame_id": frame_id,
        "cite": context.findings.cite(context.library.database, [frame_id]).get(frame_id),
        "time": times.rfc3339(frame.captured_ms, context.zone),
        "description": completion.text.strip(),
    }
    return row(frame, "app_name", "window_name", "browser_url", chars=MAX_OUTPUT_CHARS, **told)
