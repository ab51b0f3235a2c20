"""What an import hands over, one piece at a time."""

from __future__ import annotations

import hashlib
import math
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Literal

from store.core import preferences
from store.core.paths import DataDir
from store.core.times import MAX_EPOCH_SECONDS, to_ms
from store.spool.queue import Capture
from store.timeline.sample_week import is_sample

SOME_FAILED = 1
"""The exit code of an import that did not take in everything."""

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
    image: bytes,
    media_type: str,
    captured_ms: int,
    utc_offset_min: int | None,
    source: Literal["import", "video"],
    content: str = "",
) -> Item:
    """A picture under an id made of its content and time: importing it twice is importing it once.

    `content` names the content where the bytes do not (they were encoded just now, and another
    encoder would write others); the SHA-256 of the bytes by default. `source`: a picture is a moment, one
    of a video part of a recording.
    """
    digest = hashlib.sha256(image).hexdigest()
    return Item(
        Capture(
            capture_id=str(uuid.uuid5(_NAMESPACE, f"{content or digest} {captured_ms}")),
            captured_ms=captured_ms,
            source=source,
            image_type=media_type,
            utc_offset_min=utc_offset_min,
            sha256=digest,
        ),
        image,
    )


def reject_sample_week(data_dir: DataDir) -> None:
    """Before anything is copied. Raises `CannotImport`."""
    if is_sample(data_dir):
        raise CannotImport(
            f"{data_dir.home} holds a sample week, which is never mixed with memories; "
            "import into another home folder (--home)"
        )


def zone_named(name: str | None) -> tzinfo:
    """The zone with this IANA name, or this machine's: without its daylight-saving changes where the system
    does not name it. Raises `CannotImport` when there is none.
    """
    if name is None:
        return preferences.named_host_zone() or datetime.now(UTC).astimezone().tzinfo or UTC
    zone = preferences.zone_named(name)
    if zone is None:
        raise CannotImport(f"{name!r} is not an IANA zone such as Europe/Berlin")
    return zone


def moment_ms(text: str, zone: tzinfo) -> int:
    """Epoch milliseconds of ``2026-11-21T14:00`` (in `zone` unless it says) or of epoch seconds.

    Raises `CannotImport` for anything else, for times before 1970, and for milliseconds.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = _written(text, zone)
    if not math.isfinite(seconds) or not 0 < seconds < MAX_EPOCH_SECONDS:
        raise _not_a_time(text)
    return to_ms(seconds)


def _written(text: str, zone: tzinfo) -> float:
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError) as error:
        raise _not_a_time(text) from error


def _not_a_time(text: str) -> CannotImport:
    return CannotImport(f"{text!r} is not a time; use 2026-11-21T14:00 or epoch seconds")
