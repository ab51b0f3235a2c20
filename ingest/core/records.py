"""Is a capture's description what its types say? JSON alone promises nothing."""

from __future__ import annotations

import re
from typing import Any

from ingest.core.validation import InvalidImage
from store.spool.queue import Capture
from store.spool.window_hints import Toolbar

MAX_MS = 2**43
"""A frame id is ``captured_ms * 1024 + n`` and stays below 2**53: good until the year 2248."""
MAX_TEXT = 8192
MAX_TOOLBARS = 400  # as many windows as capture looks at
MAX_SIDE = 100_000
_ENTRY_NAME = re.compile(r"(\d{15})-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")

_TEXTS = ("source", "monitor", "app_name", "window_name", "browser_url", "trigger", "sha256", "batch_id")
_REQUIRED = ("source", "monitor")
_NUMBERS = {"pid": (0, 2**32), "utc_offset_min": (-24 * 60, 24 * 60)}


def checked_capture(capture: Capture) -> Capture:
    """The same capture. Raises `Rejected` naming the field that is wrong."""
    if not _is_whole(capture.captured_ms, 1, MAX_MS):
        raise InvalidImage("bad_record", "captured_ms must be a whole number of milliseconds since 1970")
    for name in _TEXTS:
        value = getattr(capture, name)
        if value is None and name not in _REQUIRED:
            continue
        if not isinstance(value, str) or len(value) > MAX_TEXT or not _is_storable(value):
            raise InvalidImage("bad_record", f"{name} must be text of at most {MAX_TEXT} characters")
    for name, (low, high) in _NUMBERS.items():
        value = getattr(capture, name)
        if value is not None and not _is_whole(value, low, high):
            raise InvalidImage("bad_record", f"{name} must be a whole number")
    if len(capture.toolbars) > MAX_TOOLBARS or not all(map(_is_toolbar, capture.toolbars)):
        raise InvalidImage(
            "bad_record", "toolbars must be boxes in whole pixels with the key of their window"
        )
    if capture.focused is not None and not isinstance(capture.focused, bool):
        raise InvalidImage("bad_record", "focused must be true, false or unknown")
    return capture


def capture_from_entry_name(entry_name: str) -> Capture | None:
    """What an entry's name alone tells of its capture, for an entry that cannot be read."""
    found = _ENTRY_NAME.fullmatch(entry_name)
    if found is None or not _is_whole(int(found[1]), 1, MAX_MS):
        return None
    return Capture(capture_id=found[2], captured_ms=int(found[1]), source="unknown")


def _is_toolbar(toolbar: Toolbar) -> bool:
    texts, box = (toolbar.window, toolbar.app), (toolbar.x, toolbar.y, toolbar.w, toolbar.h)
    return all(isinstance(text, str) and len(text) <= MAX_TEXT for text in texts) and all(
        _is_whole(number, 0, MAX_SIDE) for number in box
    )


def _is_whole(value: Any, low: int, high: int) -> bool:
    return type(value) is int and low <= value < high


def _is_storable(text: str) -> bool:
    """Lone surrogates pass through JSON but are no Unicode text; NUL ends a C string."""
    return "\0" not in text and not any(0xD800 <= ord(c) < 0xE000 for c in text)
