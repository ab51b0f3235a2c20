"""An answer cut into statements: sentences, rows of tables, headings and code.

The Markdown is read by the parser that also draws it, so that what is judged as a block is drawn as
one. Offsets are characters of the answer; a sentence may run over the lines of its paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from markdown_it import MarkdownIt

Kind = Literal["sentence", "row", "heading", "code"]
Span = tuple[int, int]

CITATION = re.compile(r"(?<!\\)\[(\d+)\]")
"""A number in brackets, as the numbered answer cites evidence."""
_ESCAPED = re.compile(r"\\(?=[\\`*\[\]<_~&])")
_LEAD = re.compile(r"[ \t]*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+|>[ \t]?|#{1,6}[ \t]+)*(?:\[[ xX]\][ \t]+)?")
_CONTINUED = re.compile(r"\n[ \t]*(?:>[ \t]?)*")
_QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"|「[^」\n]*」|『[^』\n]*』|`[^`\n]*`")
_ABBREVIATED = re.compile(
    r"\b(?:Dr|Mr|Mrs|Ms|Prof|e\.g|i\.e|vs|approx)\.|\b(?:No|Nr|Fig|St|a\.m|p\.m|etc)\.(?=\s+[a-z\d])"
)
_STOP = re.compile(r"(?:[.!?]+[\"'”’)*_]*(?=\s)|[。！？]+[”’」』）*_]*)(?:\s*\[\d+\])*")
_PROSE_FENCES = ("", "text", "txt", "plain", "md", "markdown", "quote")
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
    starts = _line_starts(answer_md)
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
            is_prose = token.type == "code_block" or token.info.strip().lower() in _PROSE_FENCES
            yield from _code(answer_md, start, end, token.markup, is_prose)


def plain(statement: str) -> str:
    """A statement without citations, escapes and emphasis."""
    return _ESCAPED.sub("", CITATION.sub("", statement)).replace("**", "").replace("~~", "")


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table"])
    # Links are defined nowhere: what looks like a definition is text of the answer.
    return parser.disable(["html_block", "reference", "inline", "text_join"])


def _line_starts(text: str) -> list[int]:
    """Where each line of a text begins, and its end."""
    return [0, *(found.end() for found in _NEWLINE.finditer(text)), len(text), len(text)]


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


def _code(text: str, start: int, end: int, markup: str, is_prose: bool) -> Iterator[Statement]:
    """Code is one statement, without its fences; a frame around prose is cut like prose."""
    if markup:
        start = text.find("\n", start, end) + 1 or end
        last = max(start, text.rfind("\n", start, start + len(text[start:end].rstrip())) + 1)
        if text[last:end].strip(" \t>\r\n").startswith(markup[:3]):
            end = last
    if is_prose:
        yield from (Statement(said.start, said.end, "code") for said in _sentences(text, start, end))
    else:
        yield from _whole(text, start, end, "code")


def _sentences(text: str, start: int, end: int) -> Iterator[Statement]:
    """Sentences of one block; a stop inside quotation marks, code or an abbreviation ends none."""
    lead = _LEAD.match(text, start, end)
    at = lead.end() if lead else start
    masked = _masked(text[at:end])
    first = 0
    # Citations may stand behind the stop: "You wrote code. [1]"
    for last in (*(stop.end() for stop in _STOP.finditer(masked)), len(masked)):
        for begin, finish in _trimmed(masked, first, last):
            yield Statement(at + begin, at + finish, "sentence")
        first = last


def _masked(block: str) -> str:
    """As long as the block, on one line, with nothing in it that looks like a stop and is none."""
    flat = _CONTINUED.sub(lambda found: " " * len(found[0]), block)
    for hidden in (_QUOTED, _ABBREVIATED):
        flat = hidden.sub(lambda found: "x" * len(found[0]), flat)
    return flat


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    inside = text[start:end]
    if inside.strip():
        yield start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))
