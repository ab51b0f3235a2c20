"""An answer cut into statements: sentences, rows of tables, headings and code.

The Markdown is read by the parser that also draws it, so that what is judged as a block is drawn as
one. Offsets are characters of the answer; a sentence may run over the lines of its paragraph. Where one
ends is told by signs and letters, as Unicode has it (UAX 29), not by lists of abbreviations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt

from assistant.language import cldr

Kind = Literal["sentence", "row", "heading", "code"]
Span = tuple[int, int]

CITATION = re.compile(r"(?<![\\A-Za-z0-9_])\[(\d{1,3})\]")
"""A number in brackets, as the numbered answer cites evidence; ``arr[1]`` is none."""
_CITED = re.compile(rf"[ \t]*{CITATION.pattern}")
_ESCAPED = re.compile(r"\\(?=[\\`*\[\]<_~&])")
_LEAD = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+|>[ \t]?|#{1,6}[ \t]+)*(?:\[[ xX]\][ \t]+)?")
_CONTINUED = re.compile(r"\n[ \t]*(?:>[ \t]?)*")
_PAIRS = ["“”", "„“", "„”", "””", "«»", "»«", "‹›", "「」", "『』", "《》", '""', "``"]
QUOTED = re.compile(
    "|".join(rf"{re.escape(pair[0])}[^{re.escape(pair)}\n]{{1,400}}{re.escape(pair[1])}" for pair in _PAIRS)
    + r"|(?<!\w)'[^'\n]{3,400}'(?!\w)|(?<!\w)‘[^‘’\n]{3,400}’(?!\w)"
)
"""What stands between quotation marks of any language, or in code marks."""
_STOP = re.compile(
    r"(?:(?P<full>\.)|[.!?؟।…‽]+)(?P<close>\s?[\"'“”’»)\]*_]*)(?=\s|\Z)|[。！？｡︒﹒！？]+[”’」』）*_]*"
)
_CITATIONS = re.compile(r"(?:\s*\[\d+\])*")
_LAST_WORD = re.compile(r"[^\W_]*(?:\.[^\W_]+)*\Z")
_NEXT_WORD = re.compile(r"\s?[\"'“”’»)*_]*\s+[\"'“„«(*_]*([^\W_]*)")
ABBREVIATED = 4  # letters of a word with a capital that a full stop shortens: "Prof. Lee", "Hnos. Ruiz"
_NEWLINE = re.compile(r"\r\n?|\n")
_UNDERLINE = re.compile(r"\n[ \t>]*[=-]+\s*\Z")
_CELLS = re.compile(r"^[ \t]*(?:>[ \t]?)*\|?[ \t]*(.*?)[ \t]*\|?[ \t]*$")


@dataclass(frozen=True, slots=True)
class Statement:
    """``answer_md[start:end]``, with its citations."""

    start: int
    end: int
    kind: Kind


def split_statements(answer_md: str) -> Iterator[Statement]:
    """The statements of an answer, in order and without overlap."""
    starts = [0, *(found.end() for found in _NEWLINE.finditer(answer_md)), len(answer_md), len(answer_md)]
    in_head = False
    for token in _parser().parse(answer_md):
        if token.type in ("thead_open", "thead_close"):
            in_head = token.type == "thead_open"
        if token.map is None:
            continue
        start, end = starts[token.map[0]], min(starts[token.map[1]], len(answer_md))
        if token.type == "heading_open":
            yield from _whole(answer_md, start, end, "heading")
        elif token.type == "tr_open":
            yield from _row(answer_md, start, end, "heading" if in_head else "row")
        elif token.type == "paragraph_open":
            yield from _sentences(answer_md, start, end)
        elif token.type in ("fence", "code_block"):
            yield from _code(answer_md, start, end, token.markup)


def plain(statement: str) -> str:
    """A statement without citations, escapes and emphasis."""
    return _ESCAPED.sub("", _CITED.sub("", statement)).replace("**", "").replace("~~", "")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table"])
    # Links are defined nowhere: what looks like a definition is text of the answer.
    return parser.disable(["html_block", "reference", "inline", "text_join"])


def _whole(text: str, start: int, end: int, kind: Kind) -> Iterator[Statement]:
    lead = _LEAD.match(text, start, end)
    underline = _UNDERLINE.search(text[start:end]) if kind == "heading" else None
    end = start + underline.start() if underline else end
    for first, last in _trimmed(text, lead.end() if lead else start, end):
        yield Statement(first, last, kind)


def _row(text: str, start: int, end: int, kind: Kind) -> Iterator[Statement]:
    cells = _CELLS.match(text[start:end].rstrip("\r\n"))
    if cells and cells[1].strip():
        yield Statement(start + cells.start(1), start + cells.end(1), kind)


def _code(text: str, start: int, end: int, markup: str) -> Iterator[Statement]:
    """Code is one statement, without its fences."""
    if markup:
        start = text.find("\n", start, end) + 1 or end
        last = max(start, text.rfind("\n", start, start + len(text[start:end].rstrip())) + 1)
        if text[last:end].strip(" \t>\r\n").startswith(markup[:3]):
            end = last
    yield from _whole(text, start, end, "code")


def _sentences(text: str, start: int, end: int) -> Iterator[Statement]:
    """Sentences of one block; a stop inside quotation marks, code or an abbreviation ends none."""
    lead = _LEAD.match(text, start, end)
    at = lead.end() if lead else start
    masked = _masked(text[at:end])
    first = 0
    for last in (*_stops(masked), len(masked)):
        for begin, finish in _trimmed(masked, first, last):
            yield Statement(at + begin, at + finish, "sentence")
        first = last


def _stops(block: str) -> Iterator[int]:
    """Where sentences end; citations may stand behind the stop: "You wrote code. [1]"."""
    for stop in _STOP.finditer(block):
        if not stop["full"] or not _abbreviates(block, stop.start()):
            behind = _CITATIONS.match(block, stop.end())
            yield behind.end() if behind else stop.end()


def _abbreviates(block: str, at: int) -> bool:
    """Whether a full stop belongs to its word: ``z. B.``, ``Dr. Meier``, ``4. März``, ``approx. 40``."""
    last = _LAST_WORD.search(block, max(0, at - 40), at)
    following = _NEXT_WORD.match(block, at + 1)
    word, next_word = last[0] if last else "", following[1] if following else ""
    if not word or not next_word:
        return False
    if next_word[0].islower() or len(word) == 1 or "." in word:
        return True
    if word.isdecimal():
        return len(word) <= 2 and cldr.key(next_word) in cldr.months()
    return len(word) <= ABBREVIATED and (word[0].isupper() or next_word[0].isdecimal())


def _masked(block: str) -> str:
    """As long as the block, on one line, with nothing in it that looks like a stop and is none."""
    flat = _CONTINUED.sub(lambda found: " " * len(found[0]), block)
    return QUOTED.sub(lambda found: _hidden(found[0]), flat)


def _hidden(quotation: str) -> str:
    """A full stop at the end of a quotation may end the sentence, too."""
    inside = quotation[1:-1].rstrip()
    end = len(inside) + 1
    return "x" * (end - 1) + quotation[end - 1 :] if inside.endswith(".") else "x" * len(quotation)


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    inside = text[start:end]
    if inside.strip():
        yield start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))
