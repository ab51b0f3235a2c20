"""The frame page: the exact picture, the words that were searched or cited, and what lies near."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from store.chats import records
from store.core import preferences
from store.core.database import Database
from store.frames import apps, frames, tags
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.frames.tags import RetentionReason, Tag
from store.memory import insights
from store.memory.insights import Insight
from store.ocr import readings
from store.ocr.readings import Box, Line, Reading
from store.timeline import timeline
from webapp.core import formatting, markdown
from webapp.core.viewer import Viewer
from webapp.views.activity_band import slot_class
from webapp.views.frames import Picture, crop_around, picture, unavailable_reason, unavailable_text
from webapp.views.marked import FrameHighlights, HighlightRequest, frame_highlights, lines_of

NEAR_MS = 5 * 60_000
NEAR_SHOWN = 9


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
    marks: FrameHighlights
    close_up: Box | None
    previous_id: int | None
    next_id: int | None
    near: tuple[Picture, ...]
    captured_clock: str  # the clock on the wall where it was captured, when that is another one
    quote: str
    lines: tuple[tuple[int, Line], ...]
    hold: RetentionReason
    readings: tuple[tuple[Reading, bool], ...]  # all of them and which is current, when there are several
    insight: Insight | None  # the current one of this frame
    tags: tuple[Tag, ...]
    is_waiting: bool  # to be read, for the first time or again

    @property
    def q(self) -> str:
        return self.marks.wanted.q

    @property
    def in_timeline(self) -> str:
        """The same frame on the stage of the timeline, with the same words marked."""
        asked = self.marks.wanted
        query = {"frame": self.frame.id, **({"q": asked.q} if asked.q else {}), **asked.on_frame}
        return f"/timeline?{urlencode(query)}"

    @property
    def words(self) -> int:
        return sum(len(line.words) for line in self.reading.lines) if self.reading else 0

    def beside(self, frame_id: int) -> str:
        """The address of a neighbour, with the same search."""
        return f"/frames/{frame_id}?{urlencode({'q': self.q})}" if self.q else f"/frames/{frame_id}"


def page(
    database: Database, media: Media, frame: FrameRow, viewer: Viewer, asked: HighlightRequest
) -> FramePage:
    """The page of one frame. Never raises for a picture that is gone: it says so."""
    reading = readings.current_reading(database, frame.id)
    marks = frame_highlights(database, frame, reading, asked)
    reason = unavailable_reason(media, frame)
    previous_id, next_id = frames.neighbours(database, frame)
    versions = readings.of_frame(database, frame.id)
    return FramePage(
        frame=frame,
        picture=picture(frame, formatting.clock(frame.captured_ms, viewer.zone)),
        css_class=slot_class(apps.colour_slots(database).get(frame.app_name or "")),
        reading=reading,
        text=markdown.highlight(reading.text, marks.spans) if reading else Markup(""),
        urls=tuple(readings.urls(database, frame.id)),
        gone=unavailable_text(reason),
        gone_reason=reason,
        marks=marks,
        close_up=crop_around(marks.boxes, frame.width_px, frame.height_px),
        previous_id=previous_id,
        next_id=next_id,
        near=_near(database, frame, viewer),
        captured_clock=_captured_clock(frame, viewer),
        quote=_quote(frame, viewer, marks.words),
        lines=lines_of(reading),
        hold=tags.retention_reason(database, frame.id),
        readings=tuple(versions) if len(versions) > 1 else (),
        insight=insights.current(
            database, records.anchors_of_frame(frame.id, frame.captured_ms, frame.ended_ms)
        ),
        tags=tuple(tags.listed(database, frame.id)),
        is_waiting=frame.reading_state == "pending",
    )


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
        picture(rows[i], formatting.clock(rows[i].captured_ms, viewer.zone)) for i in wanted if i in rows
    )


def _captured_clock(frame: FrameRow, viewer: Viewer) -> str:
    if frame.utc_offset_min is None:
        return ""
    minutes = frame.utc_offset_min
    name = f"UTC{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}"
    if name == preferences.utc_offset(frame.captured_ms, viewer.zone):
        return ""
    seconds = frame.captured_ms // 1000 + minutes * 60
    return f"{seconds // 3600 % 24:02d}:{seconds // 60 % 60:02d} at {name}"


def _quote(frame: FrameRow, viewer: Viewer, words: str) -> str:
    """What "Copy citation" copies, beside the address."""
    place = ", ".join(part for part in (frame.app_name, frame.window_name) if part)
    at = formatting.iso(frame.captured_ms - frame.captured_ms % 1000, viewer.zone).replace("T", " ")
    quoted = f"“{words}” - " if words else ""
    return f"{quoted}{place or 'screen'}, {at}, frame {frame.id}"
