"""What an import hands over, one piece at a time."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass

from store.spool.queue import Capture

# Any fixed UUID serves: it only has to be the same in every import.
_NAMESPACE = uuid.UUID("9d2b6a0e-6f5c-5c7e-9c1e-4e1f6a7d3b52")


class CannotImport(Exception):
    """Nothing of this can be imported; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Item:
    """A picture to be taken in."""

    capture: Capture
    image: bytes


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or a stretch that was left out, and why. `name` is a file name, never its content."""

    name: str
    reason: str


def item(
    image: bytes, media_type: str, captured_ms: int, utc_offset_min: int | None, content: str = ""
) -> Item:
    """A picture under an id made of its content and time: importing it twice is importing it once.

    `content` names the content where the bytes do not (they were encoded just now, and another
    encoder would write others); the SHA-256 of the bytes by default.
    """
    digest = hashlib.sha256(image).hexdigest()
    return Item(
        Capture(
            capture_id=str(uuid.uuid5(_NAMESPACE, f"{content or digest} {captured_ms}")),
            captured_ms=captured_ms,
            source="import",
            image_type=media_type,
            utc_offset_min=utc_offset_min,
            sha256=digest,
        ),
        image,
    )
