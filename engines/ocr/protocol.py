"""Reading text from a picture of a screen.

An engine gets a picture and answers with lines of words, each with its box in the pixels of that
picture (origin top-left) and how sure the engine is. Which engine does it is a name:

- ``tesserocr``: Tesseract inside this process; the fastest.
- ``tesseract``: the ``tesseract`` program, where that wheel does not exist.
- ``rapidocr``: models bundled in a wheel, where Tesseract cannot be installed.
- ``auto``: the first of these that can read the languages asked for.

    engine = open_ocr("auto", ["eng", "chi_sim"])
    lines = engine.read(image)

Each engine works on one thread (``OMP_THREAD_LIMIT=1``): more threads per page cost Tesseract seven
times the CPU for the same words. Importing this module loads no engine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from statistics import median
from typing import Literal, Protocol
from unicodedata import east_asian_width

from PIL import Image

from engines.registry import Registry

AUTO = ("tesserocr", "tesseract", "rapidocr")

OCR_ENGINES: Registry[OcrEngine] = Registry(
    "OCR engine",
    "recollect.ocr",
    {
        "tesserocr": "engines.ocr.tesseract:TesserocrEngine",
        "tesseract": "engines.ocr.tesseract:TesseractEngine",
        "rapidocr": "engines.ocr.rapidocr:RapidEngine",
    },
)


class OcrError(Exception):
    """Reading a picture failed; the message says why."""


class OcrUnavailable(OcrError):
    """The engine, or its data for a language, is not installed; the message says the command."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in whole pixels, origin top-left; `w` and `h` are at least 1."""

    x: int
    y: int
    w: int
    h: int

    @property
    def right(self) -> int:
        return self.x + self.w

    @property
    def bottom(self) -> int:
        return self.y + self.h

    def moved(self, dx: int, dy: int) -> Box:
        return Box(self.x + dx, self.y + dy, self.w, self.h)

    def holds_centre_of(self, other: Box) -> bool:
        x, y = other.x + other.w // 2, other.y + other.h // 2
        return self.x <= x < self.right and self.y <= y < self.bottom


Source = Literal["read", "browser", "accessibility"]
Checked = Literal["ink", "read"]


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One word, or one Chinese character or run of them; `confidence` is 0..1.

    `source` says who told it: it was read from the picture, or a program told its own text. `checked` says
    what the pixels say to that: there is ink in its place from end to end, or it was read there.
    """

    text: str
    box: Box
    confidence: float
    source: Source = "read"
    checked: Checked = "read"

    def moved(self, dx: int, dy: int) -> OcrWord:
        return OcrWord(self.text, self.box.moved(dx, dy), self.confidence, self.source, self.checked)


@dataclass(frozen=True, slots=True)
class OcrLine:
    """Words that stand beside each other; `text` joins them without spaces between Han characters."""

    text: str
    box: Box
    confidence: float
    words: tuple[OcrWord, ...]


class OcrEngine(Protocol):
    """Reads pictures with one set of languages, one picture at a time, on one thread.

    An engine belongs to the thread that opened it. It may have ``rest()``, called while nothing is read,
    to let go of models that were not used for minutes; it tells whether it did.
    """

    name: str
    version: str
    """Of the program; it is kept with what it read."""
    languages: tuple[str, ...]

    def models(self) -> str:
        """What tells its models from others: two engines with all of this alike read the same.

        "" where it does not know: then no other machine reads for it.
        """

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        """Lines in reading order, with boxes in pixels of `image`; empty where there is no text.

        With a `mask` (mode ``1``, of the same size) only what lies in it is read; the rest tells what
        is background.

        The same picture gives the same lines. Raises `OcrError` when the picture cannot be read;
        never answers a failure with an empty list.
        """

    def close(self) -> None:
        """Frees the models. Closing twice is allowed, reading afterwards is not."""


@dataclass(frozen=True, slots=True)
class Versions:
    """Of everything that reads: where they are equal, the same picture gives the same lines."""

    engine: str
    languages: tuple[str, ...]
    version: str
    models: str
    program: str

    @classmethod
    def of(cls, engine: OcrEngine) -> Versions:
        return cls(engine.name, engine.languages, engine.version, engine.models(), version("recollect"))

    @property
    def label(self) -> str:
        """As it is kept with a reading, such as ``tesserocr 5.5.1``."""
        return f"{self.engine} {self.version}".strip()


def open_ocr(engine: str, languages: Sequence[str]) -> OcrEngine:
    """The engine called `engine`, ready to read `languages` (Tesseract codes, at least one).

    Raises `OcrUnavailable` with the command that installs what is missing, and `registry.UnknownName` for
    a name nobody registered.
    """
    if not languages:
        raise OcrUnavailable("no language to read; set ocr.languages, for example to eng")
    if engine == "auto":
        return _first_available(tuple(languages))
    return OCR_ENGINES.opener(engine)(tuple(languages))


def read_masked(
    read: Callable[[Image.Image], list[OcrLine]], image: Image.Image, mask: Image.Image | None
) -> list[OcrLine]:
    """What `read` finds in the part around `mask`: the words whose centre the mask holds."""
    if mask is None:
        return read(image)
    extent = mask.getbbox()
    if extent is None:
        return []
    words = (word.moved(*extent[:2]) for line in read(image.crop(extent)) for word in line.words)
    return lines_of(
        word for word in words if mask.getpixel((word.box.x + word.box.w // 2, word.box.y + word.box.h // 2))
    )


def _first_available(languages: tuple[str, ...]) -> OcrEngine:
    """An installed engine that lacks a language is passed over, never opened without it."""
    reasons = []
    for name in AUTO:
        try:
            return OCR_ENGINES.opener(name)(languages)
        except OcrUnavailable as error:
            reasons.append(str(error))
    raise OcrUnavailable(reasons[0])


_GAP = 1.5  # line heights; wider spaces separate cells, columns and windows
HANGUL_SPACE = 0.25  # of a word's height; syllables of one word are nearer
_NEAR = 4  # words that tell how high a line is
_BUCKET = 32  # pixels; only words of neighbouring buckets can share a line
_COLUMN_GAP = 1.2  # line heights of emptiness that make a column


def lines_of(words: Iterable[OcrWord]) -> list[OcrLine]:
    """Every word exactly once, in lines, in reading order.

    Engines group words in their own way: a cell of a table and a character of Chinese arrive as "lines". Here
    words on one baseline with no more than a usual gap between them become a line, so two columns stay apart,
    and lines are ordered by cutting the page along its empty strips (XY-cut, Nagy and Seth 1984).
    """
    rows: dict[int, list[list[OcrWord]]] = defaultdict(list)
    for word in sorted(words, key=_from_the_left):
        row = _row_that_ends_before(word, rows)
        if row is None:
            rows[_bucket(word.box)].append([word])
        else:
            row.append(word)
    return in_reading_order([line_of(row) for bucket in rows.values() for row in bucket])


def line_of(words: Sequence[OcrWord]) -> OcrLine:
    """One line of words given from left to right."""
    text = words[0].text
    for left, right in pairwise(words):
        text += ("" if _touch(left, right) else " ") + right.text
    weight = sum(word.box.w for word in words)
    confidence = sum(word.confidence * word.box.w for word in words) / weight
    return OcrLine(text, around([word.box for word in words]), confidence, tuple(words))


def words_of_characters(characters: Sequence[OcrWord]) -> list[OcrWord]:
    """Characters joined to words: parted at blanks, which are left out, and around each of Han and kana."""
    words: list[OcrWord] = []
    starts_anew = True
    for piece in characters:
        if piece.text.isspace():
            starts_anew = True
        elif starts_anew or is_cjk(piece.text) or is_cjk(words[-1].text[-1]):
            words.append(piece)
            starts_anew = False
        else:
            last = words[-1]
            box, confidence = around([last.box, piece.box]), min(last.confidence, piece.confidence)
            words[-1] = OcrWord(last.text + piece.text, box, confidence)
    return words


def around(boxes: Sequence[Box]) -> Box:
    """The smallest box that holds all of `boxes`."""
    left, top = min(box.x for box in boxes), min(box.y for box in boxes)
    right, bottom = max(box.right for box in boxes), max(box.bottom for box in boxes)
    return Box(left, top, right - left, bottom - top)


def is_cjk(character: str) -> bool:
    """Han, kana and their punctuation: scripts written without spaces between words."""
    return "\u2e80" <= character <= "\u9fff" or "\uf900" <= character <= "\uffef"


def is_hangul(character: str) -> bool:
    """A syllable of Korean, which has spaces between words and which engines take for a word of its own."""
    return "\uac00" <= character <= "\ud7a3"


def _from_the_left(word: OcrWord) -> tuple[int, int, str, int, int, float]:
    """Total, so that the order in which words were found cannot show."""
    box = word.box
    return box.x, box.y, word.text, box.w, box.h, word.confidence


def _touch(left: OcrWord, right: OcrWord) -> bool:
    """Written without a space: between Chinese characters, also where the engine saw a gap."""
    before, after = left.text[-1], right.text[0]
    if is_hangul(before) and is_hangul(after):
        return right.box.x - left.box.right < HANGUL_SPACE * max(left.box.h, right.box.h)
    if is_cjk(before) and is_cjk(after):
        return True
    if not is_cjk(before) and not is_cjk(after):
        return False
    # Between Han and Latin: only punctuation clings (“，Python”), letters keep their distance.
    cjk = before if is_cjk(before) else after
    return not cjk.isalnum()


def _bucket(box: Box) -> int:
    return (box.y + box.h // 2) // _BUCKET


def _row_that_ends_before(word: OcrWord, rows: dict[int, list[list[OcrWord]]]) -> list[OcrWord] | None:
    """The nearest row on the word's baseline whose last word is within the usual gap."""
    bucket, best, best_gap = _bucket(word.box), None, 0
    for near in (bucket - 1, bucket, bucket + 1):
        for row in rows.get(near, ()):
            gap = word.box.x - row[-1].box.right
            last = row[-1].box
            if east_asian_width(row[-1].text[-1]) in "WF":  # 一 and ， share nothing; Latin words do
                last = max((near.box for near in row[-_NEAR:]), key=lambda box: box.h)
            height = max(last.h, word.box.h)
            near_enough = -height <= gap <= _GAP * height and _share_baseline(last, word.box)
            if near_enough and (best is None or gap < best_gap):
                best, best_gap = row, gap
    return best


def _share_baseline(a: Box, b: Box) -> bool:
    overlap = min(a.bottom, b.bottom) - max(a.y, b.y)
    return overlap * 2 > min(a.h, b.h)


def in_reading_order(lines: Sequence[OcrLine]) -> list[OcrLine]:
    """Lines by columns and rows, top to bottom, left to right."""
    if len(lines) < 2:
        return list(lines)
    columns = _cut(lines, vertical=True)
    if len(columns) > 1 and not _is_table(columns):
        return [line for column in columns for line in in_reading_order(column)]
    rows = _cut(lines, vertical=False)
    if len(rows) > 1:
        return [line for row in rows for line in in_reading_order(row)]
    return sorted(lines, key=lambda line: (line.box.y + line.box.h // 2, line.box.x))


def _cut(lines: Sequence[OcrLine], *, vertical: bool) -> list[list[OcrLine]]:
    """Groups with an empty strip between them, along one axis."""
    height = median(line.box.h for line in lines)
    needed = _COLUMN_GAP * height if vertical else 0
    if vertical:
        spans = sorted(((line.box.x, line.box.right, line) for line in lines), key=lambda span: span[:2])
    else:
        spans = sorted(((line.box.y, line.box.bottom, line) for line in lines), key=lambda span: span[:2])
    groups, end = [[spans[0][2]]], spans[0][1]
    for start, stop, line in spans[1:]:
        if start - end > needed or (not vertical and start >= end):
            groups.append([])
        groups[-1].append(line)
        end = max(end, stop)
    return groups


def _is_table(columns: Sequence[Sequence[OcrLine]]) -> bool:
    """Columns whose short lines stand on the same baselines are cells, to be read row by row."""
    first, second = sorted(columns, key=len)[-2:]
    smaller, larger = sorted((first, second), key=len)
    if len(larger) == 1:
        return True
    if max(median(line.box.w / line.box.h for line in column) for column in (first, second)) > 20:
        return False
    aligned = sum(any(_share_baseline(line.box, other.box) for other in larger) for line in smaller)
    return aligned >= 0.8 * len(smaller)
