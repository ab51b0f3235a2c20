"""Moments as people write them, in a zone they name or in this machine's."""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ingest.importers.items import CannotImport
from store.core.times import MAX_EPOCH_SECONDS, to_ms


def zone_named(name: str | None) -> tzinfo:
    """The zone with this IANA name, or this machine's. Raises `CannotImport` when there is none."""
    if name is None:
        return _local_zone()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise CannotImport(f"{name!r} is not an IANA zone such as Europe/Berlin") from error


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


def _local_zone() -> tzinfo:
    """This machine's zone, with its daylight-saving changes where the system names it."""
    name = os.environ.get("TZ") or _linked_zone()
    try:
        return ZoneInfo(name) if name else _offset_of_now()
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return _offset_of_now()


def _offset_of_now() -> tzinfo:
    return datetime.now(UTC).astimezone().tzinfo or UTC


def _linked_zone() -> str:
    """The zone that /etc/localtime points to; "" where it is no link."""
    target = str(Path("/etc/localtime").resolve())
    return target.partition("/zoneinfo/")[2]
