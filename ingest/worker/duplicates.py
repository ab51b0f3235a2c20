"""Whether a picture is of the same screen as the frame before it, as far as anyone could read.

*Exact* means the same pixels. *Near* means that no channel of any pixel differs by more than
`NEAR_TOLERANCE` of 255 levels: what H.264 changes on a still screen between two key frames
(measured: 0 to 3). Four levels are a contrast of 1.07:1 at most, where readable text begins near
2:1, so a changed digit is never near. A hash of a shrunk picture, an average or a share of
changed pixels would forgive one digit.

Only captures that no daemon compared are asked (imports, clips, uploads): the daemon saw the pixels and
counted the frame in its ledger. It keeps a real frame every 30 s, and so does this: a picture is folded
into an earlier frame for less than `REAL_FRAME_EVERY_MS`.
"""

from __future__ import annotations

from typing import Literal, cast

from PIL import Image, ImageChops

from store.core.database import Database
from store.core.errors import MediaGone
from store.frames import frames
from store.frames.frames import FrameRow
from store.frames.media import Media, pixels_sha256
from store.spool.queue import Capture

NEAR_TOLERANCE = 4
REAL_FRAME_EVERY_MS = 30_000

Likeness = Literal["exact", "near"]


def may_be_duplicate(capture: Capture) -> bool:
    """Whether ingest may fold this capture into an earlier frame at all."""
    return capture.batch_id is None and capture.source != "screen"


def find_duplicate(
    database: Database, media: Media, capture: Capture, image: Image.Image
) -> tuple[FrameRow, Likeness] | None:
    """The frame just before on the same monitor that already shows this picture, or None.

    It must have the same app, window, address and focus: another window starts a new interval
    even when the pixels agree.
    """
    earlier = frames.latest_on_monitor(database, capture.monitor, capture.captured_ms)
    if earlier is None or capture.captured_ms - earlier.captured_ms >= REAL_FRAME_EVERY_MS:
        return None
    if _window(earlier) != _window(capture):
        return None
    if earlier.pixels_sha256 == pixels_sha256(image):
        return earlier, "exact"
    if (earlier.width_px, earlier.height_px) != image.size:
        return None
    try:
        return (earlier, "near") if is_near(media.image(earlier), image) else None
    except MediaGone:
        return None


def is_near(earlier: Image.Image, later: Image.Image) -> bool:
    """Whether two RGB pictures of one size differ by nothing a reader could see."""
    extremes = cast("tuple[tuple[int, int], ...]", ImageChops.difference(earlier, later).getextrema())
    return all(high <= NEAR_TOLERANCE for _, high in extremes)


def _window(shown: FrameRow | Capture) -> tuple[object, ...]:
    return shown.app_name, shown.window_name, shown.browser_url, shown.focused
