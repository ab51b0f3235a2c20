"""What belongs together on a screen, told by where the lines of a reading stand.

A wide gap in a row makes two lines of it, a full line breaks a sentence, and columns are read in whatever
order. So a text is also looked at by its rows, from left to right, and by its passages: lines that a sentence
runs on over, which stand under each other with one left edge, each as full as the next word leaves it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, islice, pairwise, product, takewhile
from operator import itemgetter

from store.frames.visible_windows import Windows
from store.ocr.readings import Box, Line, Reading, Word, places

CELL = "\t"
"""Between the cells of a row, in the form by rows."""
SAME_ROW = 0.5
"""The part of the smaller line's height that two lines share when they stand in one row."""
MAX_CELL_CHARS = 40
"""Of a cell of a table; a line of prose has 45 to 90 (Bringhurst, The Elements of Typographic Style)."""
SIGNS = 3
"""Letters that a misread sign has fewer of."""
MIN_PROSE_CHARS = 24
"""Of a line that a sentence runs on from, in letters; a sign of Han or kana counts as two."""
MIN_PREVIEW_CHARS = 12
"""What is shorter, as a name or a label, other lines begin with by chance."""
SAME_EDGE, PITCH = 0.6, 1.9
"""In heights of a line: how far two left edges may lie apart, and the tops of two lines of a sentence."""
INDENT, TO_FIRST = 4.0, 5.0
"""In heights of a heading: how far its list may be indented, and begin below it."""
MAX_ITEMS = 12

_WIDE = re.compile("[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")  # Hangul has spaces
_BEGINS = re.compile(r"[\W\d_]|[^\s:：]{1,20}[:：]")
"""The next item of a list or of a log, and what has a name before it, as a message of a chat."""
_ENDS = re.compile(r"[.!?:;。！？：；…][\"'“”’»」』)]*\Z")


class Form:
    """The text of a reading with its lines in some order, those of a group joined on one line of it."""

    def __init__(self, read: Reading, groups: Iterable[tuple[Sequence[Line], list[str]]]) -> None:
        self._read = read
        self._parts = [part for lines, joints in groups for part in zip(lines, [*joints, "\n"], strict=True)]
        self.text = "".join(line.text + joint for line, joint in self._parts) or read.text

    @cached_property
    def reading(self) -> Reading:
        """The form as a reading; mostly its text is enough, and all else takes longer."""
        moved: list[Line] = []
        at = 0
        for line, joint in self._parts:
            by = at - line.start
            # As many as there are, `replace` would take longer than all else.
            words = tuple(
                Word(w.start + by, w.end + by, w.text, w.box, w.confidence, w.source, w.checked)
                for w in line.words
            )
            moved.append(replace(line, start=at, end=line.end + by, words=words))
            at += len(line.text) + len(joint)
        return replace(self._read, text=self.text, lines=tuple(moved)) if moved else self._read


def forms(reading: Reading) -> tuple[Form, ...]:
    """A reading as it was read, by rows and by passages."""
    by_rows = (sorted(row, key=lambda line: line.box.x) for row in _grouped(reading.lines))
    return (
        Form(reading, ()),
        Form(reading, ((row, [CELL] * (len(row) - 1)) for row in by_rows)),
        Form(reading, ((run, _joints(run)) for run in passages(reading.lines))),
    )


def _joints(group: Sequence[Line]) -> list[str]:
    """What stands between the lines of a group: nothing between two signs of Han or kana."""
    return ["" if _WIDE.match(a.text[-1:]) and _WIDE.match(b.text) else " " for a, b in pairwise(group)]


def joined(lines: Sequence[Line]) -> str:
    """The text of a passage or of a row."""
    joints = [*_joints(lines), ""]
    return "".join(line.text + joint for line, joint in zip(lines, joints, strict=True))


# ---- rows


def by_rows(text: str, layout: bytes, windows: Windows) -> str:
    """A text as it was read, with the cells of each row of a table on one line from left to right: as long as
    it was, each row at the place where its cells stood.
    """
    lines = [Line(at, end, text[at:end], box, sure, ()) for at, end, box, sure in places(layout)]
    for row in table_rows(lines):
        start, end, told = min(c.start for c in row), max(c.end for c in row), CELL.join(c.text for c in row)
        is_one = not windows.places or len({windows.beside(cell.box) for cell in row}) == 1
        if is_one and len(told) == end - start:
            text = text[:start] + told + text[end:]
    return text


def line_boxes(text: str, layout: bytes) -> dict[str, list[Box]]:
    """Where the lines of a text stand, as it was read or by rows: the boxes of their cells."""
    boxes = sorted((place.start, place.box) for place in places(layout))
    found: defaultdict[str, list[Box]] = defaultdict(list)
    end, first = 0, 0
    for line in text.split("\n"):
        end += len(line) + 1
        last = bisect_left(boxes, end, key=itemgetter(0))
        found[line.strip()] += [box for _, box in boxes[first:last]]
        first = last
    return found


def stand_together(some: Iterable[Box], others: Sequence[Box]) -> bool:
    """Whether any of the boxes shares a part of its width or its row with one of the others."""
    pairs = product(some, others)
    return any(_shares_row(a, b) or (a.x < b.x + b.w and b.x < a.x + a.w) for a, b in pairs)


def table_rows(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The cells of rows that were read one after the other, which lines of two panes are not, from left to
    right, none longer than `MAX_CELL_CHARS`: columns of prose stay apart.
    """
    place = {id(line): at for at, line in enumerate(lines)}
    top = min((line.box.y for line in lines), default=0)
    for row in _grouped(lines):
        read = enumerate(sorted(place[id(line)] for line in row))
        for _, run in groupby(read, key=lambda pair: pair[1] - pair[0]):
            cells = sorted((lines[at] for _, at in run), key=lambda line: line.box.x)
            # Signs at the end of the top row are the buttons of a window.
            while len(cells) > 1 and cells[0].box.y <= top and _is_sign(cells[-1].text):
                cells.pop()
            if len(cells) > 1 and all(len(cell.text) <= MAX_CELL_CHARS for cell in cells):
                yield cells


def _is_sign(text: str) -> bool:
    return len(text) + len(_WIDE.findall(text)) < SIGNS and not text.isdecimal()


def _grouped(lines: Sequence[Line]) -> Iterator[list[Line]]:
    row: list[Line] = []
    for line in sorted(lines, key=lambda line: line.box.y + line.box.h / 2):
        if row and not all(_shares_row(other.box, line.box) for other in row):
            yield row
            row = []
        row.append(line)
    if row:
        yield row


def _shares_row(a: Box, b: Box) -> bool:
    shared = min(a.y + a.h, b.y + b.h) - max(a.y, b.y)
    return shared >= SAME_ROW * min(a.h, b.h)


# ---- passages


def passages(lines: Sequence[Line]) -> list[list[Line]]:
    """All lines from top to bottom, those that a sentence runs on over as one."""
    down = sorted(lines, key=lambda line: (line.box.y, line.box.x))
    below = {at: _below(at, down) for at in range(len(down))}
    block = list(range(len(down)))
    for at, following in below.items():
        if following:
            block[following] = block[at]
    edge: dict[int, int] = {}
    for at, line in enumerate(down):
        edge[block[at]] = max(edge.get(block[at], 0), _right(line))
    joints = [(at, b) for at, b in below.items() if b and _is_full(down[at], down[b], edge[block[at]], down)]
    # Where something else may begin, its block must have a sentence that surely runs on.
    prose = {block[at] for at, b in joints if _is_small(down[b])}
    run_on = {at: b for at, b in joints if block[at] in prose}
    found: list[list[Line]] = []
    run_of: dict[int, list[Line]] = {}
    for at, line in enumerate(down):
        if at not in run_of:
            found.append(run_of.setdefault(at, []))
        run_of[at].append(line)
        if at in run_on:
            run_of[run_on[at]] = run_of[at]
    return found


def opened(line: str, passages: Iterable[str]) -> str:
    """The longest of these passages that a line is the beginning of, or itself: a list of messages shows how
    each begins, and beside it the one that is open.
    """
    begins = line.rstrip(" .…")
    if len(begins) + len(_WIDE.findall(begins)) < MIN_PREVIEW_CHARS:
        return line
    return max((text for text in passages if text.startswith(begins)), key=len, default=line)


def _below(at: int, down: Sequence[Line]) -> int | None:
    """The place of the next line of the same block."""
    line, high = down[at], max(down[at].box.h, 1)
    for place in range(at + 1, len(down)):
        other = down[place].box
        if other.y > line.box.y + PITCH * max(high, other.h):
            return None
        if other.y > line.box.y + SAME_ROW * high and _begins_at(line, other.x, high):
            return place
    return None


def _begins_at(line: Line, x: int, high: int) -> bool:
    """Whether a line begins at an edge, itself or behind a bullet or a check box."""
    behind = line.words[1:2] if line.words and len(line.words[0].text) <= 2 else ()
    return any(abs(start - x) <= SAME_EDGE * high for start in (line.box.x, *(w.box.x for w in behind)))


def _is_full(line: Line, following: Line, edge: int, down: Sequence[Line]) -> bool:
    """Whether what follows had no room in a line that is as full as its block, and that ends no sentence.

    The longest line of a block is not yet a full one: it must be as long as one of prose, or another as full;
    both where no small letter follows.
    """
    chars = len(line.text) + len(_WIDE.findall(line.text))
    # Han breaks at any sign, and not before a full stop.
    room = 2 * line.box.h if _WIDE.match(following.text) else following.words[0].box.w
    if _ENDS.search(line.text) or chars < MIN_PROSE_CHARS or _right(line) + room <= edge:
        return False
    if _BEGINS.match(following.text):
        return False
    full = (_begins_at(other, line.box.x, line.box.h) and _right(other) + room > edge for other in down)
    signs = chars > MAX_CELL_CHARS, sum(islice(filter(None, full), 2)) > 1
    return any(signs) if following.text[:1].islower() else all(signs)


def _is_small(line: Line) -> bool:
    """Whether it begins as no sentence does, or in a script that has no capitals."""
    return line.text[:1].islower() or bool(_WIDE.match(line.text))


def _right(line: Line) -> int:
    return line.box.x + line.box.w


# ---- lists

_MARK = re.compile(r"[☐☑☒✓✔]|\[[ xX✓]?\]|[•▪◦*–-]\s|\d{1,2}[.)]\s")


def marked_under(reading: Reading, heading: Line) -> list[str]:
    """The items of the list that a line is the heading of, where all have a bullet, number or check box."""
    items = takewhile(lambda item: _MARK.match(item[0].text), _below_heading(reading, heading))
    return [joined(item) for item in islice(items, MAX_ITEMS)]


def _below_heading(reading: Reading, heading: Line) -> list[list[Line]]:
    """The passages that stand close below a line, no further left, and left of what stands beside it."""
    box = heading.box
    beside = (line.box.x for line in reading.lines if line.box.x > box.x and _shares_row(line.box, box))
    right = min(beside, default=box.x + INDENT * box.h)
    found = [
        passage
        for passage in passages(reading.lines)
        if box.y + box.h < passage[0].box.y and box.x - box.h <= passage[0].box.x < right
    ]
    return found if found and found[0][0].box.y <= box.y + TO_FIRST * box.h else []
