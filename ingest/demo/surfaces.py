"""What stands in a window: `Editor`, `Terminal`, `Page`, `Chat`, `Mail`, `Sheet`, `Document`.

Each has `rows` that come one after the other while somebody works, and `first`, how many are there
at the beginning. `draw` puts the first `shown` rows on a canvas; where they do not fit, the last
ones are on the screen, as after scrolling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, NamedTuple, Protocol

from ingest.demo.drawing import HEIGHT_PX, TOP_PX, WIDTH_PX, Canvas, Face, Span

_BADGES = ("#2f6fb0", "#8a4fb5", "#2e8b6f", "#b5562f", "#5a6b1e", "#b03a6a")


class Colours(NamedTuple):
    """Of a window, its title bar and the text in that."""

    background: str
    bar: str
    ink: str


class Surface(Protocol):
    colours: ClassVar[Colours]

    @property
    def rows(self) -> tuple[object, ...]: ...

    @property
    def first(self) -> int: ...

    def draw(self, canvas: Canvas, shown: int) -> None: ...


@dataclass(frozen=True)
class Editor:
    """Source code that is being written; `path` is the file's, as in its tree."""

    path: str
    files: tuple[str, ...]
    rows: tuple[str, ...]
    first: int

    colours: ClassVar[Colours] = Colours("#1e2127", "#181a1f", "#c8ccd4")
    _FIT: ClassVar[int] = 27

    def draw(self, canvas: Canvas, shown: int) -> None:
        canvas.box(0, TOP_PX, 250, HEIGHT_PX - 28, "#21252b")
        for row, name in enumerate(self.files):
            is_open = name == self.path.rpartition("/")[2]
            if is_open:
                canvas.box(0, TOP_PX + 42 + 28 * row, 250, TOP_PX + 68 + 28 * row, "#2f3540")
            canvas.text(22, TOP_PX + 46 + 28 * row, name, "#e6e8ec" if is_open else "#9aa2b1", 15)
        canvas.box(250, TOP_PX, WIDTH_PX, TOP_PX + 36, "#21252b")
        canvas.box(250, TOP_PX, 530, TOP_PX + 36, self.colours.background)
        canvas.text(270, TOP_PX + 9, self.path, "#e6e8ec", 15)
        start = max(0, shown - self._FIT)
        for row, code in enumerate(self.rows[start:shown]):
            y = TOP_PX + 50 + 28 * row
            canvas.right(300, y, str(start + row + 1), "#5f6775", 15, "mono", note=False)
            canvas.spans(322, y, tuple(_coloured(code)))
        canvas.box(0, HEIGHT_PX - 28, WIDTH_PX, HEIGHT_PX, "#2c5d8f")
        canvas.text(18, HEIGHT_PX - 22, f"Line {shown}   Python   UTF-8", "#f2f5f9", 14)


@dataclass(frozen=True)
class Terminal:
    """Commands and what they said."""

    rows: tuple[str, ...]
    first: int

    colours: ClassVar[Colours] = Colours("#101418", "#22272e", "#d5dae2")
    _FIT: ClassVar[int] = 28

    def draw(self, canvas: Canvas, shown: int) -> None:
        for row, text in enumerate(self.rows[max(0, shown - self._FIT) : shown]):
            canvas.spans(24, TOP_PX + 16 + 28 * row, tuple(_shell(text)))


@dataclass(frozen=True)
class Page:
    """A page in a browser. Rows are blocks: ``# heading``, ``- item``, else a paragraph."""

    url: str
    title: str
    rows: tuple[str, ...]
    first: int

    colours: ClassVar[Colours] = Colours("#ffffff", "#dfe2e8", "#2b303b")
    _WIDE: ClassVar[int] = 900

    def draw(self, canvas: Canvas, shown: int) -> None:
        canvas.box(0, TOP_PX, WIDTH_PX, TOP_PX + 46, "#f1f3f6")
        canvas.box(110, TOP_PX + 7, WIDTH_PX - 60, TOP_PX + 39, "#ffffff", "#c9ced8", 15)
        canvas.text(130, TOP_PX + 14, self.url, "#333a46", 15)
        canvas.text(28, TOP_PX + 12, "<   >", "#5c6370", 17, note=False)
        canvas.box(0, TOP_PX + 46, WIDTH_PX, TOP_PX + 104, "#1d4e63")
        canvas.text(270, TOP_PX + 62, self.title, "#ffffff", 20, "bold")
        _blocks(canvas, self.rows[:shown], 270, TOP_PX + 128, self._WIDE, HEIGHT_PX - 16)


@dataclass(frozen=True)
class Document:
    """A text that is being written, on a sheet of paper. Rows as in `Page`."""

    rows: tuple[str, ...]
    first: int

    colours: ClassVar[Colours] = Colours("#c9ccd2", "#e4e6eb", "#2b303b")

    def draw(self, canvas: Canvas, shown: int) -> None:
        canvas.box(0, TOP_PX, WIDTH_PX, TOP_PX + 40, "#f3f4f6")
        for number, word in enumerate(("File", "Edit", "View", "Insert", "Format", "Tools")):
            canvas.text(24 + 80 * number, TOP_PX + 10, word, "#3c4250", 15)
        canvas.box(220, TOP_PX + 58, WIDTH_PX - 220, HEIGHT_PX, "#ffffff")
        _blocks(canvas, self.rows[:shown], 290, TOP_PX + 92, 860, HEIGHT_PX - 16)


@dataclass(frozen=True)
class Chat:
    """Messages in a room; rows are (who, text)."""

    room: str
    rooms: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    first: int

    colours: ClassVar[Colours] = Colours("#ffffff", "#e4e6eb", "#2b303b")
    _WIDE: ClassVar[int] = 980

    def draw(self, canvas: Canvas, shown: int) -> None:
        canvas.box(0, TOP_PX, 260, HEIGHT_PX, "#2d3a4f")
        for row, name in enumerate(self.rooms):
            if name == self.room:
                canvas.box(12, TOP_PX + 16 + 40 * row, 248, TOP_PX + 50 + 40 * row, "#4a78ad", None, 6)
            canvas.text(28, TOP_PX + 23 + 40 * row, name, "#eef2f8", 16)
        canvas.text(288, TOP_PX + 14, self.room, "#1c2230", 18, "bold")
        canvas.line(260, TOP_PX + 50, WIDTH_PX, TOP_PX + 50, "#d8dce4")
        messages = self.rows[:shown]
        while messages and sum(map(self._height, self._texts(canvas, messages))) > HEIGHT_PX - TOP_PX - 130:
            messages = messages[1:]
        y = TOP_PX + 66
        for (who, _), lines in zip(messages, self._texts(canvas, messages), strict=True):
            canvas.initial(288, y, who, _BADGES[sum(map(ord, who)) % len(_BADGES)])
            canvas.text(338, y - 2, who, "#1c2230", 15, "bold")
            for row, line in enumerate(lines):
                canvas.text(338, y + 22 + 25 * row, line, "#2b303b", 16)
            y += self._height(lines)
        canvas.box(288, HEIGHT_PX - 58, WIDTH_PX - 30, HEIGHT_PX - 16, "#ffffff", "#b9c0cc", 8)

    def _texts(self, canvas: Canvas, messages: tuple[tuple[str, str], ...]) -> list[list[str]]:
        return [list(canvas.wrapped(text, 16, self._WIDE)) for _, text in messages]

    @staticmethod
    def _height(lines: list[str]) -> int:
        return 38 + 25 * len(lines)


@dataclass(frozen=True)
class Mail:
    """An inbox, (sender, subject) each, and the message that is open; rows are its blocks."""

    inbox: tuple[tuple[str, str], ...]
    sender: str
    subject: str
    rows: tuple[str, ...]
    first: int

    colours: ClassVar[Colours] = Colours("#ffffff", "#e4e6eb", "#2b303b")

    def draw(self, canvas: Canvas, shown: int) -> None:
        canvas.box(0, TOP_PX, 400, HEIGHT_PX, "#f4f5f8")
        canvas.text(20, TOP_PX + 14, "Inbox", "#1c2230", 18, "bold")
        for row, (sender, subject) in enumerate(self.inbox):
            y = TOP_PX + 52 + 66 * row
            if subject == self.subject:
                canvas.box(0, y - 6, 400, y + 56, "#d9e5f3")
            canvas.text(20, y, sender, "#1c2230", 15, "bold")
            canvas.text(20, y + 24, subject, "#4a5160", 14)
        canvas.line(400, TOP_PX, 400, HEIGHT_PX, "#d8dce4")
        canvas.text(430, TOP_PX + 22, self.subject, "#1c2230", 20, "bold")
        canvas.text(430, TOP_PX + 58, f"From: {self.sender}", "#4a5160", 15)
        canvas.line(430, TOP_PX + 90, WIDTH_PX - 30, TOP_PX + 90, "#d8dce4")
        _blocks(canvas, self.rows[:shown], 430, TOP_PX + 110, 940, HEIGHT_PX - 16)


@dataclass(frozen=True)
class Sheet:
    """A table of cells that is being filled; the first row is the head."""

    tab: str
    widths: tuple[int, ...]
    rows: tuple[tuple[str, ...], ...]
    first: int

    colours: ClassVar[Colours] = Colours("#ffffff", "#dfe7df", "#2b303b")

    def draw(self, canvas: Canvas, shown: int) -> None:
        canvas.box(0, TOP_PX, WIDTH_PX, TOP_PX + 42, "#f1f4f1")
        canvas.box(110, TOP_PX + 6, WIDTH_PX - 20, TOP_PX + 36, "#ffffff", "#c2ccc2")
        canvas.text(24, TOP_PX + 12, f"A{shown}", "#333a46", 15, note=False)
        canvas.text(126, TOP_PX + 12, self.rows[shown - 1][0], "#333a46", 15)
        edges = [50]
        for width in self.widths:
            edges.append(edges[-1] + width)
        top, high = TOP_PX + 70, 32
        canvas.box(0, TOP_PX + 42, WIDTH_PX, top, "#e8ece8")
        for column, (left, right) in enumerate(pairwise(edges)):
            canvas.text((left + right) // 2 - 5, TOP_PX + 48, chr(65 + column), "#5c6370", 14, note=False)
        for number, cells in enumerate(self.rows[:shown]):
            y = top + high * number
            face: Face = "bold" if number == 0 or cells[0].startswith(("Grand", "合计")) else "sans"
            canvas.text(16, y + 7, str(number + 1), "#5c6370", 14, note=False)
            for (left, right), cell in zip(pairwise(edges), cells, strict=True):
                if cell[:1].isdigit():
                    canvas.right(right - 12, y + 6, cell, "#222833", 16, face)
                else:
                    canvas.text(left + 10, y + 6, cell, "#222833", 16, face)
            canvas.line(0, y + high, WIDTH_PX, y + high, "#d8ddd8")
        for edge in edges:
            canvas.line(edge, TOP_PX + 42, edge, top + high * len(self.rows[:shown]), "#d8ddd8")
        canvas.box(0, HEIGHT_PX - 32, WIDTH_PX, HEIGHT_PX, "#e8ece8")
        canvas.text(70, HEIGHT_PX - 25, self.tab, "#2b303b", 15)


def _blocks(canvas: Canvas, blocks: tuple[str, ...], left: int, top: int, wide: int, bottom: int) -> None:
    """Headings, items and paragraphs below each other: the last of them, where not all fit."""
    lines = [line for block in blocks for line in _block(canvas, block, wide)]
    while sum(high for *_, high in lines) > bottom - top:
        lines.pop(0)
    y = top
    for text, indent, size, is_bold, high in lines:
        colour = "#1c2230" if is_bold else "#2b303b"
        canvas.text(left + indent, y, text, colour, size, "bold" if is_bold else "sans")
        y += high


def _block(canvas: Canvas, block: str, wide: int) -> Iterator[tuple[str, int, int, bool, int]]:
    """(text, indent, size, is bold, height) of each line of a block; the last one has room below."""
    if block.startswith("# "):
        yield block[2:], 0, 20, True, 40
        return
    indent, text = (24, f"• {block[2:]}") if block.startswith("- ") else (0, block)
    lines = list(canvas.wrapped(text, 16, wide - indent))
    for number, line in enumerate(lines):
        yield line, indent, 16, False, 26 if number < len(lines) - 1 else 38


_TOKEN = re.compile(
    r"(?P<comment>#.*)|(?P<string>\"[^\"]*\")|(?P<word>\b(?:def|return|from|import|class|if|for|in|not|assert"
    r"|with|raise|None|True|False)\b)|(?P<number>\b\d[\d._]*\b)|(?P<call>\w+(?=\())"
)
_COLOURS = {
    "comment": "#8d97a8", "string": "#98c379", "word": "#c994e0", "number": "#dcae77", "call": "#6cb6f5",
}  # fmt: skip


def _coloured(code: str) -> Iterator[Span]:
    end = 0
    for match in _TOKEN.finditer(code):
        yield code[end : match.start()], "#d5dae2"
        yield match.group(), _COLOURS[match.lastgroup or "call"]
        end = match.end()
    yield code[end:], "#d5dae2"


def _shell(text: str) -> Iterator[Span]:
    if text.startswith("$ "):
        yield "$ ", "#7fb4f0"
        yield text[2:], "#ffffff"
    elif "failed" in text or text.startswith("E "):
        yield text, "#f28b82"
    elif "passed" in text or "done" in text:
        yield text, "#8fd694"
    else:
        yield text, "#c3cad5"
