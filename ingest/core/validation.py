"""Is this picture what it claims to be? Asked before a decoder sees a byte of it.

The spool is an entrance: whoever can write into it can hand us a link to another file, a
giant, a text called PNG or a few bytes that unfold into gigabytes. So owner, size, type and
dimensions are checked on one open file, in that order, and only then is it read.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import warnings
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from store.frames import media
from store.frames.frames import MAX_CAPTURED_MS
from store.spool.queue import MAX_IMAGE_BYTES, Capture, is_storable

MAX_SIDE_PX = 16_384
MAX_PIXELS = 80_000_000
"""An 8K screen has 33 million; Pillow itself begins to doubt at 89 million."""

# What is checked is what is read, whatever happens to the name: no link is followed, a pipe does
# not block, and the facts come from the open file. Windows has only O_BINARY of these.
_OPEN_FLAGS = os.O_RDONLY
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _OPEN_FLAGS |= getattr(os, _flag, 0)


class InvalidImage(Exception):
    """A capture that cannot be taken in, now or later. `code` is its machine word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def read_checked(path: Path, media_type: str, sha256: str | None = None) -> bytes:
    """The bytes of a picture file that passed every check short of decoding. Raises `InvalidImage`.

    `sha256` is the digest noted where the picture was taken, if it was.
    """
    content = read_bounded(path, MAX_IMAGE_BYTES)
    check(content, media_type)
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise InvalidImage("wrong_checksum", "the picture is not the one that was captured (SHA-256 differs)")
    return content


def check(content: bytes, media_type: str) -> None:
    """Type and dimensions, from the first bytes alone. Raises `InvalidImage`."""
    actual = media_type_of(content)
    if actual != media_type:
        raise InvalidImage("wrong_type", f"declared {media_type}, but the bytes are {actual or 'no picture'}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(
                io.BytesIO(content), formats=[media_type.removeprefix("image/").upper()]
            ) as image:
                width, height = image.size
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise InvalidImage("too_large", f"more than {MAX_PIXELS} pixels") from error
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise InvalidImage("bad_picture", f"the {media_type} header cannot be read") from error
    if max(width, height) > MAX_SIDE_PX or width * height > MAX_PIXELS:
        problem = f"{width}x{height} is more than {MAX_SIDE_PX} a side or {MAX_PIXELS} pixels"
        raise InvalidImage("too_large", problem)


def decode(content: bytes, media_type: str) -> Image.Image:
    """RGB pixels of bytes that passed `check`. Raises `InvalidImage` when they are damaged."""
    try:
        return media.decode(content, media_type)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise InvalidImage("bad_picture", f"the {media_type} is damaged or cut short") from error


def media_type_of(content: bytes) -> str | None:
    """What the first bytes say, or None when they are none of the three types we keep."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None


def read_bounded(path: Path, most: int) -> bytes:
    """The bytes of a file of ours that has at most so many. Raises `InvalidImage`."""
    try:
        descriptor = os.open(path, _OPEN_FLAGS)
    except OSError as error:
        raise InvalidImage("not_a_file", "the picture is a link or cannot be opened") from error
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise InvalidImage("not_a_file", "the picture is not a file")
        if hasattr(os, "getuid") and facts.st_uid != os.getuid():
            raise InvalidImage("not_ours", "the picture belongs to another user")
        if facts.st_size == 0:
            raise InvalidImage("empty", "the picture has 0 bytes")
        if facts.st_size > most:
            raise InvalidImage("too_large", f"{facts.st_size} bytes are more than {most}")
        return file.read(most + 1)


MAX_TEXT = 8192
MAX_SIDE = 100_000
_ENTRY_NAME = re.compile(r"(\d{15})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")

_TEXTS = ("source", "monitor", "app_name", "window_name", "browser_url", "trigger", "sha256", "batch_id")
_REQUIRED = ("source", "monitor")
_NUMBERS = {"pid": (0, 2**32), "utc_offset_min": (-24 * 60, 24 * 60)}


def checked_capture(capture: Capture) -> Capture:
    """The same capture: JSON alone promises nothing. Raises `InvalidImage` naming what is wrong."""
    if not _is_whole(capture.captured_ms, 1, MAX_CAPTURED_MS):
        raise InvalidImage("bad_record", "captured_ms must be a whole number of milliseconds since 1970")
    for name in _TEXTS:
        value = getattr(capture, name)
        if value is None and name not in _REQUIRED:
            continue
        if not isinstance(value, str) or len(value) > MAX_TEXT or not is_storable(value):
            raise InvalidImage("bad_record", f"{name} must be text of at most {MAX_TEXT} characters")
    for name, (low, high) in _NUMBERS.items():
        value = getattr(capture, name)
        if value is not None and not _is_whole(value, low, high):
            raise InvalidImage("bad_record", f"{name} must be a whole number")
    if capture.focused is not None and not isinstance(capture.focused, bool):
        raise InvalidImage("bad_record", "focused must be true, false or unknown")
    return capture


def capture_from_entry_name(entry_name: str) -> Capture | None:
    """What an entry's name alone tells of its capture, for an entry that cannot be read."""
    name = _ENTRY_NAME.fullmatch(entry_name)
    if name is None or not _is_whole(int(name[1]), 1, MAX_CAPTURED_MS):
        return None
    return Capture(capture_id=name[2], captured_ms=int(name[1]), source="unknown")


def _is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value < high
