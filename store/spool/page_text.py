"""The words of web pages and windows that travel with a frame, as programs told them: not proved yet.

They lie in the spool beside the picture (``page_text.json``) and, until the frame was read, in the table
``page_texts``. What a program says of itself is hostile: `decode` bounds and checks all of it, at either end.
Where a web page stands inside its window is not told; `ingest.reading.page_text` finds it on the pixels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

FILE_NAME = "page_text.json"
MAX_BYTES = 512 * 1024
MAX_PAGES = 8
_MAX_WORDS = 20_000
MAX_WORD = 200
_MAX_PARTS = 400
_MAX_SIDE = 32_000


TextSource = Literal["browser", "accessibility"]


class Area(NamedTuple):
    """A rectangle in pixels of the picture; it may begin outside of it."""

    x: int
    y: int
    w: int
    h: int


class PageWord(NamedTuple):
    """A word and its place, in pixels from the upper left corner of the page's visible part."""

    text: str
    x: int
    y: int
    w: int
    h: int


@dataclass(frozen=True, slots=True)
class PageText:
    """One page: the window it is in, where that shows, the size of the page's visible part, its words, and
    who told them. A window that told of itself is a page of its size.
    """

    window: Area
    parts: tuple[Area, ...]
    width: int
    height: int
    words: tuple[PageWord, ...]
    source: TextSource = "browser"


def encode(pages: Iterable[PageText]) -> bytes:
    """At most `MAX_BYTES`; `ValueError` when it is more."""
    content = json.dumps(
        [[p.window, p.parts, p.width, p.height, p.words, p.source] for p in pages],
        ensure_ascii=False, separators=(",", ":"),
    ).encode()  # fmt: skip
    if len(content) > MAX_BYTES:
        raise ValueError("the text of pages is too long")
    return content


def decode(content: bytes) -> list[PageText]:
    """The pages, every number and word checked. Raises `ValueError`."""
    if len(content) > MAX_BYTES:
        raise ValueError("the text of pages is too long")
    try:
        return [
            PageText(
                _area(window),
                tuple(map(_area, parts[:_MAX_PARTS])),
                *_size(width, height),
                tuple(words(page_words)),
                *map(_source, source[:1]),  # none where it was written before there were two
            )
            for window, parts, width, height, page_words, *source in json.loads(content)[:MAX_PAGES]
        ]
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"the text of pages is unusable: {type(error).__name__}") from error


def words(entries: Any) -> Iterator[PageWord]:
    """Words with their places, as they were told. Raises `ValueError` or `TypeError`."""
    if len(entries) > _MAX_WORDS:
        raise ValueError("too many words")
    for text, *place in entries:
        x, y, w, h = map(_whole, place)
        if not isinstance(text, str) or not 0 < len(text) <= MAX_WORD or not text.isprintable():
            raise ValueError("a word must be printable")
        if w > 0 and h > 0:
            yield PageWord(text, x, y, w, h)


def _source(name: Any) -> TextSource:
    if name not in get_args(TextSource):
        raise ValueError("nobody else tells text")
    known: TextSource = name
    return known


def _area(rectangle: Any) -> Area:
    x, y, w, h = map(_whole, rectangle)
    return Area(x, y, w, h)


def _size(width: Any, height: Any) -> tuple[int, int]:
    if min(_whole(width), _whole(height)) < 1:
        raise ValueError("a page must have a size")
    return width, height


def _whole(number: Any) -> int:
    if type(number) is not int or not -_MAX_SIDE <= number <= _MAX_SIDE:
        raise ValueError("places are whole pixels")
    return number
