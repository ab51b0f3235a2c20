"""Where a page of search results ended, as an opaque string.

A cursor names the last frame that was shown, not a number of rows, so that frames which arrive or
go in between neither repeat nor hide another one (SEA-9). It carries a hash of the question it
belongs to; with another question it is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

from store.core.errors import StoreError

_MAX_CHARS = 4_096
_MAX_ID = 2**62
# Far beyond any score; keeps arithmetic with a made-up cursor finite.
_MAX_NUMBER = 1e9
# Not a length that base64 never has.
_PACKED = re.compile(r"(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?")


class BadCursor(StoreError):
    """The cursor is damaged, or belongs to another query, order or filter."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row of a page.

    `key` is the hash of the question, `end_ms` the end of its range when the first page was made.
    The rest is for relevance: the row's score, the block of ids ``[low, high)`` it was ranked in,
    and the statistics the scores were made with (`store.core.ranking.Statistics`); in a fused list
    also what was `seen` of it (`store.search.fusion`), as `pack` writes it.
    """

    key: str
    end_ms: int
    id: int
    score: float = 0.0
    low: int = 0
    high: int = 0
    average: float = 1.0
    weights: tuple[float, ...] = ()
    seen: str = ""


def encode(cursor: Cursor) -> str:
    """The cursor as base64url text."""
    packed = json.dumps(list(asdict(cursor).values()), separators=(",", ":"))
    return base64.urlsafe_b64encode(packed.encode()).decode().rstrip("=")


def decode(text: str, key: str) -> Cursor:
    """The cursor in `text`. Raises `BadCursor` unless `encode` made it for the question `key`."""
    if len(text) > _MAX_CHARS:
        raise BadCursor("the cursor is too long")
    try:
        packed = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        values = json.loads(packed)
    except (UnicodeError, binascii.Error, ValueError, RecursionError) as error:
        raise BadCursor("the cursor is damaged") from error
    if not _is_sound(values):
        raise BadCursor("the cursor is damaged")
    found, end_ms, frame_id, score, low, high, average, weights, seen = values
    if found != key:
        raise BadCursor("the cursor belongs to another query or other filters")
    return Cursor(key, end_ms, frame_id, score, low, high, average, tuple(weights), seen)


def mark(frame_id: int) -> int:
    """A frame in 32 bits. Two of three hundred share a mark once in 100,000 lists; one is then missed."""
    return zlib.crc32(frame_id.to_bytes(8, "little"))


def pack(marks: Iterable[int]) -> str:
    """Marks as text, six characters each."""
    packed = b"".join(number.to_bytes(4, "little") for number in sorted(marks))
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def unpack(text: str) -> set[int]:
    """The marks that `pack` wrote."""
    packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return {int.from_bytes(packed[at : at + 4], "little") for at in range(0, len(packed) - 3, 4)}


def _is_sound(values: Any) -> bool:
    if not isinstance(values, list) or len(values) != len(fields(Cursor)):
        return False
    key, end_ms, frame_id, score, low, high, average, weights, seen = values
    return (
        isinstance(key, str)
        and all(type(number) is int and 0 <= number <= _MAX_ID for number in (end_ms, frame_id, low, high))
        and isinstance(weights, list)
        and all(_is_number(number) for number in (score, average, *weights))
        and average >= 1
        and isinstance(seen, str)
        and _PACKED.fullmatch(seen) is not None
    )


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= _MAX_NUMBER
