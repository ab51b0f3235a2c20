"""Does this quote stand in that text? Deterministic, in one pass, and says where.

Both are compared by their skeletons: what is left when everything is taken out that a reader of pictures
may misread. Those are accents, case, spaces, full-width forms, marks that are no part of a figure, and
letters and digits of one shape (``O`` and ``0``, ``l``, ``i`` and ``1``, ``rn`` and ``m``, ``cl`` and ``d``).
No two figures share a skeleton, and nothing else is tolerated. What stands there as it is quoted is
found however short it is, as a word or a line of its own, and before what only resembles it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from assistant.core.texts import CJK
from assistant.language.values import mended

MAX_QUOTE_CHARS = 400
MAX_VERBATIM_CHARS = 4_000

NEAR_LINES = 2  # so many lines further down the next part of a quote with an ellipsis may stand
Span = tuple[int, int]

_WIDE = re.compile(f"[{CJK}]")
_ELLIPSIS = re.compile(r"\s*(?:…|\.{3})\s*")
_QUOTE_MARKS = "\"'`“”‘’„«»‹›「」『』《》 \t\r\n"
_KEPT = frozenset("%‰<>=+±≤≥≠€$£¥")
_FIGURE_MARK = re.compile(r"(?:(?<=\d)[.,:/．，：／]|(?:(?<=\d)|(?<![^\W_]))[-−–—－])(?=\d)")
"""A mark inside a figure, or a sign before one."""
_SHAPES = str.maketrans(
    {"0": "o", "1": "l", "i": "l", "ı": "l", "|": "l", "−": "-", "–": "-", "—": "-"}
    | dict(zip("ヘリニロカタエトハー末己巳曰士", "へり二口力夕工卜八一未已已日土", strict=True))
    | dict(zip("候拨睛辩戍货微拆", "侯拔晴辨戌贷徽折", strict=True))
)
_SHAPE_OF_TWO = {"rn": "m", "vv": "w", "cl": "d"}
_TWO = re.compile("|".join(_SHAPE_OF_TWO))


class _Skeleton(NamedTuple):
    """``origin[i]`` is where character i begins in the original, ``ends[i]`` where it ends."""

    text: str
    origin: tuple[int, ...]
    ends: tuple[int, ...]


def find(text: str, quote: str) -> tuple[Span, ...]:
    """Where `quote` stands in `text`, in characters of `text`; empty when it does not.

    A quote with an ellipsis has a span for each part; they must be found in order, within `NEAR_LINES`.
    """
    if whole := next(places(text, quote), None):
        return (whole,)
    parts = [part for part in _ELLIPSIS.split(quote.strip(_QUOTE_MARKS)) if part.strip(_QUOTE_MARKS)]
    spans: list[Span] = []
    for part in parts if len(parts) > 1 else ():
        end = spans[-1][1] if spans else 0
        span = next((span for span in places(text, part) if span[0] >= end), None)
        if span is None or (spans and text.count("\n", end, span[0]) > NEAR_LINES):
            return ()
        spans.append(span)
    return tuple(spans)


def says_enough(quote: str) -> bool:
    """Three letters or digits, or two CJK characters: less would be found anywhere."""
    return len(_WIDE.findall(quote)) >= 2 or sum(map(str.isalnum, quote)) >= 3


def places(text: str, quote: str) -> Iterator[Span]:
    """Everywhere that `quote`, without an ellipsis, stands in `text`; a place may come twice."""
    yield from _verbatim(text, quote.strip())
    quoted = quote.strip(_QUOTE_MARKS)
    if not says_enough(quoted) or len(quoted) > MAX_QUOTE_CHARS:
        return
    needle, skeleton = _skeleton(quoted).text, _skeleton(text)
    at = skeleton.text.find(needle)
    while at >= 0:
        first, last = skeleton.origin[at], skeleton.ends[at + len(needle) - 1]
        if not _is_inside(text, last) and not _is_inside(text, first):
            yield first, last
        at = skeleton.text.find(needle, at + 1)


def _verbatim(text: str, quote: str) -> Iterator[Span]:
    """Where the very signs of a quote stand, between spaces where they say little."""
    pattern = r"\s+".join(map(re.escape, quote.split())) if len(quote) <= MAX_VERBATIM_CHARS else ""
    alone = pattern if says_enough(quote) else rf"(?<!\S){pattern}(?!\S)"
    for found in re.finditer(alone, text) if pattern else ():
        if not _is_inside(text, found.end()) and not _is_inside(text, found.start()):
            yield found.span()


def _is_inside(text: str, at: int) -> bool:
    """Whether a place is inside a word or a figure: "14" is not in "2014" nor in "14.5"."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if before.isalnum() and after.isalnum():
        return not (_WIDE.match(before) or _WIDE.match(after))
    if before in ".,:" and after.isdigit():
        return text[max(0, at - 2)].isdigit()
    return before.isdigit() and after in ".,:" and text[at + 1 : at + 2].isdigit()


@lru_cache(maxsize=1024)
def _skeleton(text: str) -> _Skeleton:
    kept = list(map(_kept, text))
    for mark in _FIGURE_MARK.finditer(mended(text)):
        kept[mark.start()] = _folded(mark[0])
    signs = list("".join(kept))
    origin = [at for at, part in enumerate(kept) for _ in part]
    ends = [at + 1 for at in origin]
    for two in _TWO.finditer("".join(signs)):
        if ends[two.start()] == origin[two.start() + 1]:
            signs[two.start() : two.end()] = _SHAPE_OF_TWO[two[0]], ""
            ends[two.start()] += 1
    stay = [at for at, sign in enumerate(signs) if sign]
    return _Skeleton("".join(signs), tuple(origin[at] for at in stay), tuple(ends[at] for at in stay))


@lru_cache(maxsize=8192)
def _kept(sign: str) -> str:
    """What of a sign counts wherever it stands."""
    return "".join(c for c in _folded(sign) if c.isalnum() or c in _KEPT)


def _folded(sign: str) -> str:
    return unicodedata.normalize("NFKD", sign.translate(_SHAPES)).casefold().translate(_SHAPES)
