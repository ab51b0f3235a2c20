"""The hits of a page: each frame with the piece of its text that shows why it was found.

A `Cursor` says where a page ended, as an opaque string: it names the last frame that was shown, not a number
of rows, so that frames which arrive or go in between neither repeat nor hide another one. It carries a hash
of the question it belongs to; with another question it is refused.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import apsw

from store.core import tokenizer
from store.core.database import Database, scalar
from store.core.errors import StoreError
from store.core.full_text import Phrase
from store.core.tokenizer import Token
from store.embeddings.knn import Near
from store.frames import frames
from store.frames.frames import FrameStatus
from store.search.query import Query

# -- snippets -----------------------------------------------------------------------------
# Where a query's words stand in a text, and the piece of text that shows them best.
#
# Offsets are characters (Unicode code points) of the text that was given, and a snippet is an exact
# piece of its text, so that a highlight, a quote and a box speak of the same characters.

SNIPPET_CHARS = 200


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text, at most `SNIPPET_CHARS` long, with (start, end) of the words in it."""

    text: str
    highlights: tuple[tuple[int, int], ...]


class _Found(NamedTuple):
    start: int
    end: int
    phrase: int  # index into the query's words


def spans(text: str, query: Query) -> list[tuple[int, int]]:
    """Where the words and phrases of `query` stand in `text`: ordered, without overlaps."""
    return _merged(_occurrences(text, query.words))


def snippet(text: str, query: Query) -> Snippet:
    """The piece of `text` with the most different words of `query`; its beginning if it has none."""
    found = sorted(_occurrences(text, query.words))
    if not found:
        start, end = _context(text, 0, 0)
        return Snippet(text[start:end], ())
    first, last = _best_window(found)
    start, end = _context(text, first, min(last, first + SNIPPET_CHARS))
    inside = [each for each in found if each.start < end and each.end > start]
    return Snippet(
        text[start:end],
        tuple((max(a - start, 0), min(b, end) - start) for a, b in _merged(inside)),
    )


def around(text: str, start: int, end: int) -> Snippet:
    """The piece of `text` with ``[start, end)`` in its middle, nothing highlighted."""
    start = min(start, len(text))
    left, right = _context(text, start, min(end, len(text), start + SNIPPET_CHARS))
    return Snippet(text[left:right], ())


def _occurrences(text: str, words: tuple[Phrase, ...]) -> Iterator[_Found]:
    if not words:
        return
    if text.isascii():
        yield from _in_ascii(text, words)
        return
    tokens = tokenizer.tokens(text)
    whole: dict[str, list[int]] = {}
    beginnings: list[int] = []
    for number, phrase in enumerate(words):
        if phrase.is_prefix and len(phrase.tokens) == 1:
            beginnings.append(number)
        else:
            whole.setdefault(phrase.tokens[0], []).append(number)
    for at, token in enumerate(tokens):
        candidates = whole.get(token.text, ())
        for number in (*candidates, *beginnings):
            end = _end_of_match(text, tokens, at, words[number])
            if end is not None:
                yield _Found(token.start, end, number)


def _in_ascii(text: str, words: tuple[Phrase, ...]) -> Iterator[_Found]:
    """The same where words are letters and digits: without a list of all tokens, four times as fast."""
    lowered = text.lower()
    for number, phrase in enumerate(words):
        if not all(token.isascii() for token in phrase.tokens):
            continue
        body = "[^0-9a-z]+".join(phrase.tokens) + ("[0-9a-z]*" if phrase.is_prefix else "")
        # Looked ahead for, so that one may begin inside another: "a a" stands twice in "a a a".
        for found in re.finditer(f"(?<![0-9a-z])(?=({body})(?![0-9a-z]))", lowered):
            end = _with_signs(text, found.end(1), phrase)
            if end is not None:
                yield _Found(found.start(1), end, number)


def _end_of_match(text: str, tokens: list[Token], at: int, phrase: Phrase) -> int | None:
    """Where `phrase` ends if it begins with the token at index `at`."""
    stop = at + len(phrase.tokens)
    if stop > len(tokens):
        return None
    *body, last = (token.text for token in tokens[at:stop])
    if tuple(body) != phrase.tokens[:-1]:
        return None
    if last != phrase.tokens[-1] and not (phrase.is_prefix and last.startswith(phrase.tokens[-1])):
        return None
    return _with_signs(text, tokens[stop - 1].end, phrase)


def _with_signs(text: str, end: int, phrase: Phrase) -> int | None:
    """The end of a phrase whose words end at `end`; None where the signs of its name do not follow."""
    if phrase.literal is None:
        return end
    # The signs after the last word belong to the name: C++, not the C of "Vitamin C".
    signs = phrase.literal[len(phrase.literal.rstrip("+#")) :]
    signed = end + len(signs)
    return signed if tokenizer.normalise(text[end:signed]) == signs else None


def _merged(found: Iterator[_Found] | list[_Found]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end, _ in sorted(found):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _best_window(found: list[_Found]) -> tuple[int, int]:
    """(start, end) of the earliest stretch of a snippet's length with the most different words."""
    best = (0, found[0].start, found[0].end)
    first = 0
    counts: dict[int, int] = {}
    for each in found:
        counts[each.phrase] = counts.get(each.phrase, 0) + 1
        while found[first] != each and each.end - found[first].start > SNIPPET_CHARS:
            counts[found[first].phrase] -= 1
            if not counts[found[first].phrase]:
                del counts[found[first].phrase]
            first += 1
        if len(counts) > best[0]:
            best = (len(counts), found[first].start, each.end)
    return best[1], best[2]


def _context(text: str, start: int, end: int) -> tuple[int, int]:
    """`start` and `end` moved apart to a snippet's length, at the edges of words where there are any."""
    room = SNIPPET_CHARS - (end - start)
    left = max(0, start - room // 2)
    right = min(len(text), left + SNIPPET_CHARS)
    left = max(0, right - SNIPPET_CHARS)
    if left > 0 and not text[left - 1].isspace():
        left = next((at for at in range(left, start) if text[at].isspace()), left)
    if right < len(text) and not text[right].isspace():
        right = next((at for at in range(right, end, -1) if text[at - 1].isspace()), right)
    while left < start and text[left].isspace():
        left += 1
    while right > end and text[right - 1].isspace():
        right -= 1
    return left, right


# Enough of a text to end its beginning at a word.
_BROWSE_CHARS = 2 * SNIPPET_CHARS


@dataclass(frozen=True, slots=True)
class Hit:
    """A frame that was found. `highlights` are (start, end) characters of `snippet`."""

    frame_id: int
    captured_ms: int
    app_name: str | None
    window_name: str | None
    browser_url: str | None
    focused: bool | None
    monitor: str
    snippet: str
    highlights: tuple[tuple[int, int], ...]
    score: float  # higher is better; 0 unless the order is relevance
    matched: tuple[str, ...]
    """"text" or, in its place, "pieces" or "lookalike"; "meaning"; () in a browse."""
    status: FrameStatus


def of_rows(
    database: Database,
    connection: apsw.Connection,
    asked: Query,
    ranked: Sequence[Cursor],
    by_words: Container[int] | None,
    near: Mapping[int, Near],
) -> tuple[Hit, ...]:
    """The frames of some rows, in their order.

    `by_words` are those that match by words (None: all of them), `near` those found by meaning.
    """
    found = frames.get_many(database, [row.id for row in ranked])
    hits = []
    for row in ranked:
        has_words = not asked.is_browse and (by_words is None or row.id in by_words)
        nearby = near.get(row.id)
        matched = (*(["text"] if has_words else []), *(["meaning"] if nearby else []))
        shown = _shown(connection, asked, row.id, None if has_words else nearby)
        frame = found[row.id]
        hits.append(Hit(
            frame.id, frame.captured_ms, frame.app_name, frame.window_name, frame.browser_url, frame.focused,
            frame.monitor, shown.text, shown.highlights, row.score, matched, frame.status,
        ))  # fmt: skip
    return tuple(hits)


def with_match_kind(hit: Hit, words: str) -> Hit:
    """`hit`, where its words were found in another way than as they stand."""
    return replace(hit, matched=tuple(words if each == "text" else each for each in hit.matched))


def _shown(connection: apsw.Connection, asked: Query, frame_id: int, near: Near | None) -> Snippet:
    """The piece with the words; of a frame found by meaning alone, the chunk that was nearest."""
    text = scalar(
        connection,
        # One text at a time, and in a browse only its beginning.
        """
        select iif(:is_browse, substr(text, 1, :chars), text) from readings
        where frame_id = :id and is_current = 1
        """,
        {"id": frame_id, "is_browse": asked.is_browse, "chars": _BROWSE_CHARS},
    )
    if near is not None:
        return around(text or "", near.start, near.end)
    return snippet(text or "", asked)


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
    and the statistics the scores were made with (`store.core.full_text.Statistics`); in a fused list
    also what was `seen` of it (`store.search.hybrid`), as `pack` writes it.
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
        and all(type(n) in (int, float) and 0 <= n <= _MAX_NUMBER for n in (score, average, *weights))
        and average >= 1
        and isinstance(seen, str)
        and _PACKED.fullmatch(seen) is not None
    )
