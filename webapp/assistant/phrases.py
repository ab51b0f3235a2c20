"""Time phrases in a message."""

from __future__ import annotations

from dataclasses import dataclass
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class Found:
    phrase: str
    start_ms: int
    end_ms: int


@dataclass(frozen=True, slots=True)
class Refusal:
    phrase: str
    problem: str


def in_message(message: str, now_ms: int, zone: ZoneInfo) -> Found | Refusal | None:
    """The range that the message names; none is understood yet."""
    return None
