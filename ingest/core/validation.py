"""Is this picture what it claims to be? Asked before a decoder sees a byte of it.

The spool is an entrance: whoever can write into it can hand us a link to another file, a
giant, a text called PNG or a few bytes that unfold into gigabytes. So owner, size, type and
dimensions are checked on one open file, in that order, and only then is it read.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from store.core.errors import SpoolEntryInvalid
from store.frames import media
from store.frames.frames import MAX_CAPTURED_MS
from store.spool.queue import MAX_IMAGE_BYTES, Capture, is_storable, parse_entry_name, read_file

MAX_SIDE_PX = 16_384
MAX_PIXELS = 80_000_000
"""An 8K screen has 33 million; Pillow itself begins to doubt at 89 million."""


def read_checked(path: Path, media_type: str, sha256: str | None = None) -> bytes:
    """The bytes of a picture file that passed every check short of decoding. Raises `SpoolEntryInvalid`.

    `sha256` is the digest noted where the picture was taken, if it was.
    """
    content = read_file(path, MAX_IMAGE_BYTES)
    if not content:
        raise SpoolEntryInvalid("empty", "the picture has 0 bytes")
    check(content, media_type)
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise SpoolEntryInvalid(
            "wrong_checksum", "the picture is not the one that was captured (SHA-256 differs)"
        )
    return content


def check(content: bytes, media_type: str) -> None:
    """Type and dimensions, from the first bytes alone. Raises `SpoolEntryInvalid`."""
    actual = media_type_of(content)
    if actual != media_type:
        raise SpoolEntryInvalid(
            "wrong_type", f"declared {media_type}, but the bytes are {actual or 'no picture'}"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(
                io.BytesIO(content), formats=[media_type.removeprefix("image/").upper()]
            ) as image:
                width, height = image.size
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise SpoolEntryInvalid("too_large", f"more than {MAX_PIXELS} pixels") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise SpoolEntryInvalid("bad_picture", f"the {media_type} header cannot be read") from error
    if max(width, height) > MAX_SIDE_PX or width * height > MAX_PIXELS:
        problem = f"{width}x{height} is more than {MAX_SIDE_PX} a side or {MAX_PIXELS} pixels"
        raise SpoolEntryInvalid("too_large", problem)


def decode(content: bytes, media_type: str) -> Image.Image:
    """RGB pixels of bytes that passed `check`. Raises `SpoolEntryInvalid` when they are damaged."""
    try:
        return media.decode(content, media_type)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise SpoolEntryInvalid("bad_picture", f"the {media_type} is damaged or cut short") from error


def media_type_of(content: bytes) -> str | None:
    """What the first bytes say, or None when they are none of the three types we keep."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


MAX_TEXT = 8192

_TEXTS = (
    "source",
    "monitor",
    "app_name",
    "window_name",
    "browser_url",
    "trigger",
    "sha256",
    "batch_id",
    "host",
)
_REQUIRED = ("source", "monitor", "host")
_NUMBERS = {"pid": (0, 2**32), "utc_offset_min": (-24 * 60, 24 * 60), "host_deletion_id": (0, 2**63)}


def checked_capture(capture: Capture) -> Capture:
    """The same capture: JSON alone promises nothing. Raises `SpoolEntryInvalid` naming what is wrong."""
    if not _is_whole(capture.captured_ms, 1, MAX_CAPTURED_MS):
        raise SpoolEntryInvalid("bad_record", "captured_ms must be a whole number of milliseconds since 1970")
    texts = [(name, getattr(capture, name)) for name in _TEXTS]
    texts += [("visible", text) for window in capture.visible or () for text in window]
    for name, value in texts:
        if value is None and name not in _REQUIRED:
            continue
        if not isinstance(value, str) or len(value) > MAX_TEXT or not is_storable(value):
            raise SpoolEntryInvalid("bad_record", f"{name} must be text of at most {MAX_TEXT} characters")
    for name, (low, high) in _NUMBERS.items():
        value = getattr(capture, name)
        if value is not None and not _is_whole(value, low, high):
            raise SpoolEntryInvalid("bad_record", f"{name} must be a whole number")
    if capture.focused is not None and not isinstance(capture.focused, bool):
        raise SpoolEntryInvalid("bad_record", "focused must be true, false or unknown")
    return capture


def capture_from_entry_name(entry_name: str) -> Capture | None:
    """What an entry's name alone tells of its capture, for an entry that cannot be read."""
    told = parse_entry_name(entry_name)
    if told is None or told[2] or not _is_whole(told[0], 1, MAX_CAPTURED_MS):
        return None
    return Capture(capture_id=told[1], captured_ms=told[0], source="unknown")


def _is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value < high
