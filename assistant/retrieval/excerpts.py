"""The few lines of a frame that say most.

An excerpt is made of whole lines, so a quote never runs across a cut that was not on the screen, and every
part of it can be found again in the stored text. Lines that name what the question asks for come first, then
lines that were not on the screen in the frame before: the same menu bar in every frame says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from assistant.core.texts import CJK, estimate_tokens, matches, normalize, position

MAX_OCR_CHARS_PER_FRAME = 160
# A page of Chinese has a token per character: 160 of them in 72 frames would leave the 12,000
# tokens that a question may cost. So an excerpt is also bounded in tokens.
MAX_OCR_TOKENS_PER_FRAME = 100

_LETTERS = re.compile(r"[^\W\d_]")
_WIDE = re.compile(rf"(?=[{CJK}])[^\W\d_]")
_BREAK = re.compile(r"\s|[,.;:!?，。；：！？、](?!\d)")
_NEAR = 24  # characters, to the end of a word


def excerpt(
    text: str,
    words: Sequence[str] = (),
    seen: Collection[str] = frozenset(),
    limit: int = MAX_OCR_CHARS_PER_FRAME,
    limit_tokens: int = MAX_OCR_TOKENS_PER_FRAME,
) -> str:
    """At most `limit` characters and `limit_tokens` tokens of `text`: lines of it, in its order.

    `words` are what the question is about, `seen` the normal forms of the lines that the frame
    before showed. A line longer than the limit is cut around its first match, between words.
    """
    ranked = sorted(_lines(text), key=lambda at: (-_worth(text[at[0] : at[1]], words, seen), at[0]))
    chosen: list[tuple[int, int]] = []
    room, room_tokens = limit, limit_tokens
    for start, end in ranked:
        if not chosen:
            start, end = _cut(text, start, end, words, limit)
        size, cost = end - start + bool(chosen), estimate_tokens(text[start:end])
        if size <= room and cost <= room_tokens:
            chosen.append((start, end))
            room, room_tokens = room - size, room_tokens - cost
        if room < 8 or room_tokens < 4:
            break
    return "\n".join(text[start:end] for start, end in sorted(chosen))


def line_forms(text: str) -> frozenset[str]:
    """The normal forms of a text's lines, to know them again in the next frame."""
    return frozenset(normalize(line) for line in text.split("\n"))


def _lines(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    for raw in text.split("\n"):
        stripped = raw.strip()
        if stripped:
            start = position + raw.index(stripped)
            yield start, start + len(stripped)
        position += len(raw) + 1


def _worth(line: str, words: Sequence[str], seen: Collection[str]) -> float:
    """How much a line says: matches first, then news, then running text over scattered signs."""
    # A Chinese sentence of fifteen characters says as much as an English one of sixty letters: counted
    # alike, a page of Chinese beside an English window would not be told of at all.
    letters = len(_LETTERS.findall(line[:120])) + 3 * len(_WIDE.findall(line[:120]))
    substance = min(letters, 60) / 60
    return 100 * matches(words, line) + (0 if normalize(line) in seen else 10) + 5 * substance


def _cut(text: str, line_start: int, line_end: int, words: Sequence[str], limit: int) -> tuple[int, int]:
    """The part of a line that fits, starting a little before its first match."""
    line = text[line_start:line_end]
    if len(line) <= limit and estimate_tokens(line) <= MAX_OCR_TOKENS_PER_FRAME:
        return line_start, line_end
    folded = line.casefold()
    hits = [at for at in (position(word, folded) for word in words) if 0 <= at < len(line)]
    start = line_start + max(0, min(hits, default=0) - limit // 4)
    if start > line_start and (space := _BREAK.search(text, start, min(start + _NEAR, line_end - 1))):
        start = space.end()
    end = min(line_end, start + limit)
    while estimate_tokens(text[start:end]) > MAX_OCR_TOKENS_PER_FRAME:
        end -= max(1, (end - start) // 8)
    if end < line_end:
        near = range(end, max(start + 1, end - _NEAR), -1)
        end = next((at - 1 for at in near if _BREAK.match(text, at - 1)), end)
    return start, end
