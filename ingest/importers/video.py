"""Import a screen recording: what it showed at each interval; its sound is never decoded.

A frame is taken at its own time, start + presentation time. Where a recording holds one picture
for longer than the interval (many recorders write only changes), the picture counts again at
each interval: ingest folds these into one frame with its true duration, and keeps a real frame
every 30 s. Frames are kept as lossless WebP, so that what is read and shown is exactly what the
clip decodes to. Only the video stream is demuxed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path

import av
import av.error
from av.container import InputContainer
from av.video.frame import VideoFrame
from PIL import Image

from ingest.importers.items import CannotImport, Item, Skipped, item
from store.core.preferences import utc_offset_min
from store.frames.media import pixels_sha256

# A hair of tolerance: 0.9999 s is the frame of second 1 in a clip with rounded time stamps.
_HAIR_S = 0.001
_QUARTER_TURNS = {turn: Image.Transpose[f"ROTATE_{turn}"] for turn in (90, 180, 270)}


def seconds_of(path: Path) -> float | None:
    """How long a recording is, None if its container does not say. Raises `CannotImport` for no video."""
    try:
        with av.open(str(path), metadata_errors="ignore") as container:
            if not container.streams.video:
                raise CannotImport(f"{path.name!r} has no video stream")
            length = container.duration
    except av.error.FFmpegError as error:
        raise CannotImport(f"{path.name!r} is not a readable video ({error.strerror})") from error
    return None if length is None else length / av.time_base


def read(path: Path, start_ms: int, interval_s: float, zone: tzinfo) -> Iterator[Item | Skipped]:
    """An `Item` about every `interval_s` seconds, the first at `start_ms`.

    A recording that breaks off in the middle gives what can be decoded, and then a `Skipped`.
    """
    last_s = 0.0
    shown: VideoFrame | None = None
    picture, digest = b"", ""
    try:
        with av.open(str(path), metadata_errors="ignore") as container:
            for seconds, frame in sampled(_timed(container), interval_s):
                last_s = seconds
                if frame is not shown:  # a picture that is held is encoded once
                    shown, image = frame, upright(frame)
                    picture, digest = webp(image), pixels_sha256(image)
                captured_ms = start_ms + round(seconds * 1000)
                offset_min = utc_offset_min(captured_ms, zone)
                yield item(picture, "image/webp", captured_ms, offset_min, "video", digest)
    except av.error.FFmpegError as error:
        yield Skipped(path.name, f"cannot be decoded after {last_s:.1f} s ({error.strerror})")


def sampled(
    frames: Iterator[tuple[float, float, VideoFrame]], interval_s: float
) -> Iterator[tuple[float, VideoFrame]]:
    """(seconds, frame) for frames of (start, end, frame): the first frame of each interval at its
    own time, or the one that is still shown, at the interval's beginning.
    """
    due = 0
    held: VideoFrame | None = None
    for start_s, end_s, frame in frames:
        while held is not None and due * interval_s < start_s - _HAIR_S:
            # The next frame comes within this interval: it speaks for it, at its own time.
            if start_s < (due + 1) * interval_s - _HAIR_S:
                break
            yield due * interval_s, held
            due += 1
        held = frame
        if start_s + _HAIR_S >= due * interval_s:
            due = int((start_s + _HAIR_S) / interval_s) + 1
            yield start_s, frame
        last_end_s = end_s
    while held is not None and due * interval_s < last_end_s - _HAIR_S:
        yield due * interval_s, held
        due += 1


def _timed(container: InputContainer) -> Iterator[tuple[float, float, VideoFrame]]:
    """Frames with the seconds at which each appears and ends, counted from the first frame."""
    first_s: float | None = None
    for frame in container.decode(video=0):
        if frame.time is None:
            continue  # without a time it cannot be evidence of a moment
        first_s = frame.time if first_s is None else first_s
        start_s = frame.time - first_s
        shown_s = float(frame.duration * frame.time_base) if frame.duration and frame.time_base else 0.0
        yield start_s, start_s + shown_s, frame


def upright(frame: VideoFrame) -> Image.Image:
    """The picture as a player would turn it: phones record sideways and say so."""
    image: Image.Image = frame.to_image()  # type: ignore[no-untyped-call]
    turn = _QUARTER_TURNS.get(round(frame.rotation) % 360)
    return image if turn is None else image.transpose(turn)


def webp(image: Image.Image) -> bytes:
    """Lossless."""
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True, quality=20, method=2)
    return buffer.getvalue()
