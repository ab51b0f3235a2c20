"""A frame as pages show it: its picture or an honest "gone", and what it is called."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.core.errors import MediaGone
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.ocr.readings import Box

_GONE = {
    "deleted": "It was deleted.",
    "missing": "Its file is missing on the disk.",
    "altered": "Its file is no longer the picture that was captured, so it is not shown.",
    "retention": "It was removed by retention.",
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A frame for a thumbnail or a stage.

    `alt` names app, window and local time; `app_label` and `window_label` are never empty.
    """

    id: int
    captured_ms: int
    width_px: int
    height_px: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    has_picture: bool
    alt: str

    @property
    def app_label(self) -> str:
        return self.app_name or "Unknown app"

    @property
    def window_label(self) -> str:
        return self.window_name or "No window title"

    def height_for(self, width_px: int) -> int:
        """The height of a preview of that width, so that nothing shifts when it arrives."""
        return max(1, round(self.height_px * min(width_px, self.width_px) / max(1, self.width_px)))


def picture(frame: FrameRow, clock: str) -> Picture:
    """The picture of a frame; `clock` is its local time in words."""
    named = [part for part in (frame.app_name, frame.window_name) if part]
    return Picture(
        id=frame.id,
        captured_ms=frame.captured_ms,
        width_px=frame.width_px,
        height_px=frame.height_px,
        app_name=frame.app_name,
        window_name=frame.window_name,
        browser_url=frame.browser_url,
        has_picture=frame.media_path is not None,
        alt=", ".join([*named, clock]),
    )


def unavailable_reason(media: Media, frame: FrameRow) -> str:
    """Why the exact picture cannot be shown, or "" when it can."""
    try:
        media.exact(frame)
    except MediaGone as error:
        return error.reason
    return ""


def unavailable_text(reason: str) -> str:
    """A sentence for why a picture is gone; "" for no reason."""
    return _GONE.get(reason) or (f"It is gone: {reason.replace('_', ' ')}." if reason else "")


def crop_around(boxes: Iterable[Box], width_px: int, height_px: int, crop_width: int = 640) -> Box | None:
    """A crop of the frame with the boxes in it: `crop_width` wide at least, 16:9, inside the frame."""
    found = list(boxes)
    if not found:
        return None
    left, right = min(b.x for b in found), max(b.x + b.w for b in found)
    top, bottom = min(b.y for b in found), max(b.y + b.h for b in found)
    width = min(width_px, max(crop_width, right - left + 80))
    height = min(height_px, max(round(width * 9 / 16), bottom - top + 60))
    x = min(max(0, (left + right - width) // 2), width_px - width)
    y = min(max(0, (top + bottom - height) // 2), height_px - height)
    return Box(x, y, width, height)
