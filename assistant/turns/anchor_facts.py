"""What a turn about a frame or a moment is told of it: facts only, no shape of the answer.

The message is made anew for every request from what is stored then, so nothing of it outlives the frames
it shows. Frames have the ids that the answer may cite them by; in evidence mode, where the retrieval gives
the ids, the same message comes without any.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from assistant.core.records import TurnRequest
from assistant.core.strings import clock, date, local_time, span
from assistant.core.texts import Language, answer_language, own_language
from assistant.retrieval.packing import (
    CLOSE,
    MAX_TITLE_CHARS,
    MAX_URL_CHARS,
    OPEN,
    block,
    sanitized_inline,
)
from assistant.retrieval.retrieval import entries_of
from assistant.retrieval.sampling import select_in
from store.chats.records import Anchor, AnchoredChat
from store.core import times
from store.core.database import Database
from store.frames import tags
from store.search import sample
from store.search.filters import Filters
from store.search.sample import SampledFrame
from store.sources import entities, locations

GATHER = "Gather context with the available tools, then respond."
"""How the message of a generation ends."""

MAX_FRAMES = 12
"""Frames of a moment that are shown."""
MAX_FRAME_CHARS = 2_000
MAX_MOMENT_CHARS = 300
"""Characters of text of one frame that is the anchor, and of one among those of a moment."""
MAX_CONTACTS = 12
_QUESTION: Mapping[Language, str] = {"en": "What was I doing here? ", "zh": "我当时在做什么？"}
_DATE = r"(\d{4}-\d\d-\d\d|\d{1,2} \w+ \d{4}|\d{4}年\d{1,2}月\d{1,2}日)"  # the first until now
_ASKED = "|".join(map(re.escape, _QUESTION.values()))
_LABEL = re.compile(rf"(?:{_ASKED}){_DATE} \d\d:\d\d( ?– ?({_DATE} )?\d\d:\d\d)?")
AROUND_MS = 5 * 60_000
"""A model without tools is shown so much before and after a frame."""


@dataclass(frozen=True, slots=True)
class AnchorFacts:
    """The anchor of a turn and what is known of it, as it is told. `frames` are cited as e1, e2, …"""

    anchored: AnchoredChat
    frames: tuple[SampledFrame, ...]
    told: str
    facts: str

    @property
    def anchor(self) -> Anchor:
        return self.anchored.anchor

    @property
    def range_ms(self) -> tuple[int, int]:
        """What is looked at where a range has to be."""
        anchor = self.anchor
        return (anchor.start_ms, anchor.end_ms) if anchor.kind == "moment" else around(anchor.start_ms)

    def message(self, said: str, *, has_tools: bool) -> str:
        """What a question is when nothing was said before it. The label asks for the insight itself."""
        parts = [self.told if has_tools else self.facts]
        if not is_label(said):
            parts += ["", said]
        else:
            if not has_tools or answer_language(said) != "en":  # the facts tell all of it but its language
                parts.insert(0, said)
            if has_tools:
                parts.append(GATHER)
        return "\n".join(parts)


def around(at_ms: int) -> tuple[int, int]:
    """What is looked at beside one frame."""
    return max(times.MIN_MS, at_ms - AROUND_MS), at_ms + AROUND_MS


def of(database: Database, anchored: AnchoredChat, zone: tzinfo) -> AnchorFacts:
    """What is known of an anchor now. A frame that has gone shows nothing."""
    anchor = anchored.anchor
    with database.read() as connection:
        if anchor.frame_id is not None:
            ids = [anchor.frame_id]
        else:
            ids = select_in(connection, Filters(anchor.start_ms, anchor.end_ms), MAX_FRAMES)
        frames = tuple(sample.load(connection, ids))
        point = locations.nearest_in_time(connection, anchor.start_ms)
    facts = _place_in_time(anchor, zone)
    if contacts := _contacts(database, frames):
        facts.append(f"contact information: {'; '.join(contacts)}")
    if point:
        name = sanitized_inline(locations.place_of(database, point), MAX_TITLE_CHARS)
        where = name or f"{point.latitude:.5f}, {point.longitude:.5f}"
        facts.append(f"location information: {where} at {local_time(point.at_ms, zone)}")
    if named := dict.fromkeys(tag for frame in frames for tag in tags.of_frame(database, frame.id)):
        facts.append(f"tags: {'; '.join(sanitized_inline(tag, MAX_TITLE_CHARS) for tag in named)}")
    is_frame = anchor.kind == "frame"
    most = MAX_FRAME_CHARS if is_frame else MAX_MOMENT_CHARS
    entries = entries_of(frames, limit=most, limit_tokens=most // 2)
    visual = [OPEN, *(block(each, None if is_frame else zone) for each in entries), CLOSE] if frames else []
    return AnchorFacts(anchored, frames, "\n".join([*visual, *facts]), "\n".join(facts))


def request(anchor: Anchor, timezone: str, now_ms: int, **changes: Any) -> TurnRequest:
    """The question that tells an insight from its beginning; `changes` are fields of the request."""
    return TurnRequest(label(anchor, ZoneInfo(timezone)), timezone, now_ms, anchor=anchor, **changes)


def label(anchor: Anchor, zone: tzinfo) -> str:
    """The question that an insight answers, as it stands in the conversation, in the person's language; it
    names a time and no more.
    """
    language = own_language()
    if anchor.kind == "frame":
        when = f"{date(anchor.start_ms, zone, language)} {clock(anchor.start_ms, zone)}"
    else:
        when = span(anchor.start_ms, anchor.end_ms, zone, language)
    return _QUESTION[language] + when


def is_label(said: str) -> bool:
    """Whether a question is a label, of whichever zone and language."""
    return _LABEL.fullmatch(said.strip()) is not None


def _place_in_time(anchor: Anchor, zone: tzinfo) -> list[str]:
    """The frame's id, or the bounds of the moment; then the date."""
    day = f"{times.to_local(anchor.start_ms, zone):%A} {local_time(anchor.start_ms, zone)}"
    if anchor.frame_id is not None:
        return [f"frame id: {anchor.frame_id}", f"date: {day}"]
    start, end = local_time(anchor.start_ms, zone), local_time(anchor.end_ms, zone)
    return [f"moment: {start} to {end}, the end not included", f"date: {day.partition('T')[0]}"]


def _contacts(database: Database, frames: Sequence[SampledFrame]) -> list[str]:
    names: dict[int, str] = {}
    for frame in frames:
        words = " ".join((frame.text, frame.app_name or "", frame.window_name or ""))
        for entity in entities.on_frame(database, frame.id, words):
            description = f", {entity.description}" if entity.description else ""
            names.setdefault(
                entity.id, sanitized_inline(f"{entity.name} ({entity.kind}{description})", MAX_URL_CHARS)
            )
    return list(names.values())[:MAX_CONTACTS]
