"""Import a screen recording: one frame per interval, at its own time; its sound is never decoded.

Frames are kept as lossless WebP, so that what is read and shown is exactly what the clip decodes
to. Only the video stream is demuxed (R3.5).
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path

import av
import av.error
from av.video.frame import VideoFrame
from PIL import Image

from ingest.importers.images import offset_min
from ingest.importers.items import CannotImport, Item, Skipped, item


@dataclass(frozen=True, slots=True)
class Clip:
    """A recording: `seconds` is None when its container does not say how long it is."""

    path: Path
    seconds: float | None


def look(path: Path) -> Clip:
    """What the container says. Raises `CannotImport` when it is no video."""
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise CannotImport(f"{path.name!r} has no video stream")
            length = container.duration
    except av.error.FFmpegError as error:
        raise CannotImport(f"{path.name!r} is not a readable video ({error.strerror})") from error
    return Clip(path, None if length is None else length / av.time_base)


def read(clip: Clip, start_ms: int, interval_s: float, zone: tzinfo) -> Iterator[Item | Skipped]:
    """An `Item` every `interval_s` seconds, the first at `start_ms`.

    A recording that breaks off in the middle gives what can be decoded, and then a `Skipped`.
    """
    last_s = 0.0
    try:
        with av.open(str(clip.path)) as container:
            for seconds, frame in _every(container.decode(video=0), interval_s):
                last_s = seconds
                captured_ms = start_ms + round(seconds * 1000)
                yield item(_webp(frame), "image/webp", captured_ms, offset_min(captured_ms, zone))
    except av.error.FFmpegError as error:
        yield Skipped(clip.path.name, f"cannot be decoded after {last_s:.1f} s ({error.strerror})")


def _every(frames: Iterator[VideoFrame], interval_s: float) -> Iterator[tuple[float, VideoFrame]]:
    """(seconds since the first frame, frame): the first at or after each multiple of the interval."""
    first_s: float | None = None
    due = 0
    for frame in frames:
        if frame.time is None:
            continue  # without a time it cannot be evidence of a moment
        if first_s is None:
            first_s = frame.time
        seconds = frame.time - first_s
        # A hair of tolerance: 0.9999 s is the frame of second 1 in a clip with rounded time stamps.
        if seconds + 0.001 >= due * interval_s:
            due = int((seconds + 0.001) / interval_s) + 1
            yield seconds, frame


def _webp(frame: VideoFrame) -> bytes:
    image: Image.Image = frame.to_image()
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True, quality=20, method=2)
    return buffer.getvalue()
