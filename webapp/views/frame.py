"""The frame page: the exact picture, the words that were searched or cited, and what lies near."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from store import apps, frames, query, readings, timeline
from store.database import Database
from store.errors import MediaGone
from store.frames import FrameRow
from store.media import Media
from store.readings import Box, Reading
from store.search import spans
from webapp import markdown, wording
from webapp.assistant.errors import UnknownChat
from webapp.assistant.turn import EvidenceItem, TurnResult, stored_turn
from webapp.viewer import Viewer
from webapp.views.band import slot_class
from webapp.views.pictures import Picture, around, picture

NEAR_MS = 5 * 60_000
NEAR_SHOWN = 9
MAX_HITS = 200

GONE = {
    "deleted": "It was deleted.",
    "missing": "Its file is missing on the disk.",
    "altered": "Its file is no longer the picture that was captured, so it is not shown.",
    "retention": "It was removed by retention.",
}


@dataclass(frozen=True, slots=True)
class HitBox:
    """One place where the searched words stand. `is_approximate` when only the line's box is known."""

    n: int
    words: str
    boxes: tuple[Box, ...]
    is_approximate: bool
    is_current: bool
    address: str


@dataclass(frozen=True, slots=True)
class Citation:
    """What an answer says about this frame."""

    chat_id: int
    turn_id: int
    n: int
    item: EvidenceItem
    question: str

    @property
    def back(self) -> str:
        return f"/chat/{self.chat_id}#t{self.turn_id}"


@dataclass(frozen=True, slots=True)
class FramePage:
    """Everything `frames/frame.html` draws. `gone` is empty while the picture is there."""

    frame: FrameRow
    picture: Picture
    css_class: str
    reading: Reading | None
    text: Markup
    urls: tuple[str, ...]
    gone: str
    gone_reason: str
    q: str
    hits: tuple[HitBox, ...]
    citation: Citation | None
    citation_lost: bool
    close_up: Box | None
    previous_id: int | None
    next_id: int | None
    near: tuple[Picture, ...]
    captured_clock: str  # the clock on the wall where it was captured, when that is another one
    quote: str

    @property
    def current(self) -> HitBox | None:
        return next((hit for hit in self.hits if hit.is_current), None)

    @property
    def shown_boxes(self) -> tuple[Box, ...]:
        """The boxes that matter most: the cited words, else the current hit."""
        if self.citation:
            return tuple(Box(b.x, b.y, b.w, b.h) for b in self.citation.item.boxes)
        return self.current.boxes if self.current else ()

    @property
    def words(self) -> int:
        return sum(len(line.words) for line in self.reading.lines) if self.reading else 0

    def beside(self, frame_id: int) -> str:
        """The address of a neighbour, with the same search."""
        return f"/frames/{frame_id}?{urlencode({'q': self.q})}" if self.q else f"/frames/{frame_id}"


def page(
    database: Database, media: Media, frame: FrameRow, viewer: Viewer, q: str, hit: int, cite: str
) -> FramePage:
    """The page of one frame. Never raises for a picture that is gone: it says so."""
    reading = readings.current(database, frame.id)
    shown = picture(frame, wording.clock(frame.captured_ms, viewer.zone))
    hits, found = _hits(reading, frame, q, hit)
    citation = _citation(database, frame, cite)
    boxes = [Box(b.x, b.y, b.w, b.h) for b in citation.item.boxes] if citation else []
    current = next((each for each in hits if each.is_current), None)
    reason = gone_reason(media, frame)
    previous_id, next_id = frames.neighbours(database, frame)
    return FramePage(
        frame=frame,
        picture=shown,
        css_class=slot_class(apps.colour_slots(database).get(frame.app_name or "")),
        reading=reading,
        text=markdown.highlight(reading.text, found) if reading else Markup(""),
        urls=tuple(readings.urls(database, frame.id)),
        gone=GONE.get(reason, reason.replace("_", " ")),
        gone_reason=reason,
        q=q,
        hits=hits,
        citation=citation,
        citation_lost=bool(cite) and citation is None,
        close_up=around(boxes or (current.boxes if current else ()), frame.width_px, frame.height_px),
        previous_id=previous_id,
        next_id=next_id,
        near=_near(database, frame, viewer),
        captured_clock=_captured_clock(frame, viewer),
        quote=_quote(frame, viewer, current.words if current else citation.item.quote if citation else ""),
    )


def gone_reason(media: Media, frame: FrameRow) -> str:
    """Why the exact picture cannot be shown, or "" when it can."""
    try:
        media.exact(frame)
    except MediaGone as error:
        return error.reason
    return ""


def _hits(
    reading: Reading | None, frame: FrameRow, q: str, chosen: int
) -> tuple[tuple[HitBox, ...], list[tuple[int, int]]]:
    if reading is None or not q.strip():
        return (), []
    found = spans(reading.text, query.parse(q))[:MAX_HITS]
    hits = []
    for n, (start, end) in enumerate(found, 1):
        hits.append(
            HitBox(
                n=n,
                words=_surroundings(reading.text, start, end),
                boxes=tuple(readings.boxes_for_span(reading, start, end)),
                is_approximate=_is_approximate(reading, start, end),
                is_current=n == min(max(chosen, 1), len(found)),
                address=f"/frames/{frame.id}?{urlencode({'q': q, 'hit': n})}",
            )
        )
    return tuple(hits), found


def _is_approximate(reading: Reading, start: int, end: int) -> bool:
    return any(line.start < end and line.end > start and not line.words for line in reading.lines)


def _surroundings(text: str, start: int, end: int) -> str:
    """The words around a hit, on its own line."""
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    stop = len(text) if stop < 0 else stop
    left = line if start - line <= 24 else text.find(" ", start - 24, start) + 1 or start - 24
    right = stop if stop - end <= 32 else max(text.rfind(" ", end, end + 32), end)
    return text[left:right].strip()


def _citation(database: Database, frame: FrameRow, cite: str) -> Citation | None:
    """The citation ``chat.turn.number``, when it exists and names this very frame."""
    parts = cite.split(".")
    if len(parts) != 3 or not all(part.isdecimal() and len(part) < 16 for part in parts):
        return None
    chat_id, turn_id, n = map(int, parts)
    try:
        turn: TurnResult = stored_turn(database, chat_id, turn_id)
    except UnknownChat:
        return None
    item = next((each for each in turn.evidence if each.n == n and each.frame_id == frame.id), None)
    return Citation(chat_id, turn_id, n, item, turn.question) if item else None


def _near(database: Database, frame: FrameRow, viewer: Viewer) -> tuple[Picture, ...]:
    """Frames of the same monitor within five minutes, evenly chosen, this one among them."""
    marks = timeline.frames_between(
        database, frame.captured_ms - NEAR_MS, frame.captured_ms + NEAR_MS + 1, 2000, monitor=frame.monitor
    )
    ids = [mark.id for mark in marks]
    if frame.id not in ids:
        return ()
    at = ids.index(frame.id)
    half = NEAR_SHOWN // 2
    step_left = max(1, at / half) if at > half else 1
    step_right = max(1, (len(ids) - 1 - at) / half) if len(ids) - 1 - at > half else 1
    places = {at - round(i * step_left) for i in range(half + 1)} | {
        at + round(i * step_right) for i in range(half + 1)
    }
    wanted = [ids[place] for place in sorted(places) if 0 <= place < len(ids)]
    rows = frames.get_many(database, wanted)
    return tuple(
        picture(rows[i], wording.clock(rows[i].captured_ms, viewer.zone)) for i in wanted if i in rows
    )


def _captured_clock(frame: FrameRow, viewer: Viewer) -> str:
    if frame.utc_offset_min is None:
        return ""
    minutes = frame.utc_offset_min
    name = f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    if name == wording.offset(frame.captured_ms, viewer.zone):
        return ""
    seconds = frame.captured_ms // 1000 + minutes * 60
    return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d} at {name}"


def _quote(frame: FrameRow, viewer: Viewer, words: str) -> str:
    """What "Copy citation" copies, beside the address."""
    place = ", ".join(part for part in (frame.app_name, frame.window_name) if part)
    at = wording.iso(frame.captured_ms - frame.captured_ms % 1000, viewer.zone).replace("T", " ")
    quoted = f"“{words}” - " if words else ""
    return f"{quoted}{place or 'screen'}, {at}, frame {frame.id}"
