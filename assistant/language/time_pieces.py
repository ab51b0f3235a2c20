"""What stands in some pieces of a row, and what is made of them: the hands of the grammar of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from assistant.language.time_lexer import Piece
from assistant.language.time_said import Mode, Point, Span

POINTS = "DPCR!"  # kinds of pieces that a span may have as an end
Build = Callable[[list[Piece]], "Piece | list[Piece] | None"]
"""What is built of neighbouring pieces, or None."""


def letters(pieces: Sequence[Piece]) -> str:
    """The kinds of pieces, a letter each."""
    return "".join([piece.kind for piece in pieces])


def made(kind: str, value: Any, used: Sequence[Piece]) -> Piece:
    """A piece over others; it is weak when all of them are."""
    weak = all(piece.is_weak for piece in used)
    return Piece(kind, value, used[0].start, used[-1].end, weak)


def no_range(used: list[Piece]) -> Piece:
    return made("%", None, used)


def value_of(used: Sequence[Piece], kinds: str) -> Any:
    return next((piece.value for piece in used if piece.kind in kinds), None)


def has(used: Sequence[Piece], kinds: str) -> bool:
    return any(piece.kind in kinds for piece in used)


def spans(
    mode: Mode, used: list[Piece], start: Point | None = None, end: Point | None = None, **of: Any
) -> Piece:
    return made("Z", (Span(mode, start, end, **of),), used)


def merged(used: list[Piece]) -> Piece | None:
    """Two that complete each other: days, clock times, and spans of them."""
    if has(used, "Z"):
        return _placed(used)
    point: Point | None = used[0].value.merged(used[1].value)
    if point is None:
        return None
    return made(kind_of(point), point, used)


def _placed(used: list[Piece]) -> Piece | None:
    """Spans of clock times with the day or the part of the day that stands beside them."""
    is_before = used[0].kind != "Z"
    point, spans = (used[0].value, used[1].value) if is_before else (used[1].value, used[0].value)
    placed = [span.placed(point, is_before=is_before) for span in spans]
    return None if None in placed else made("Z", tuple(placed), used)


def kind_of(point: Point) -> str:
    return "R" if point.date and point.has_time else "D" if point.date else "C" if point.clock else "P"


def is_noun_behind(used: Sequence[Piece]) -> bool:
    """Whether the second of two pieces is the noun that the first tells more of, as in English."""
    if len(used) < 2 or used[1].kind not in "xX":
        return False
    return used[1].start - used[0].end == 1 and used[1].value == "en"
