"""What both Tesseract engines share: preparing rows, choosing the script, drawing the boxes.

A line is read from its own pixels and from nothing else: the picture is cut into rows (`rows`), each is made
dark ink on white by itself, twice the size, and Tesseract gets it as a single line. So it is read alike
whatever stands around it, and a row that was read lately is known by its pixels wherever it stands now.
Sparse text (psm 11) is left for pictures, in which text may stand anywhere.

Each other script is read in a pass of its own. Asking Tesseract for ``eng+chi_sim`` at once costs 60 % more
and mixes the scripts inside a line; the Latin pass alone reads Chinese as nonsense of very low confidence,
which tells exactly which rows to read again. Square characters are read as a raw line (psm 13): Tesseract's
search for their base line cuts some.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import unicodedata
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from babel.core import get_global
from PIL import Image, ImageFilter

from engines.ocr.protocol import (
    Box,
    OcrError,
    OcrLine,
    OcrUnavailable,
    OcrWord,
    around,
    in_reading_order,
    is_cjk,
    line_of,
    lines_of,
)
from engines.ocr.rows import PICTURE, Block, blocks_of, rows_of, strokes, upright

PSM_SPARSE_TEXT, PSM_LINE, PSM_RAW_LINE = 11, 7, 13
RESOLUTION_DPI = 150  # said explicitly: screens carry none, and guessing prints warnings

VARIABLES = {"tessedit_do_invert": "0"}  # normalised ink is dark on white: a second try saves nobody
_SCALE = 2.0
_LARGEST_PAGE = 16_000_000  # pixels: a 4K screen is enlarged less, it has larger letters or none to spare
_LARGEST_SIDE = 32_000  # Tesseract refuses 32,767
_UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_SURE = 0.8  # a Latin word above this keeps its place in a row of another script
_SURE_ENOUGH = 0.5  # for a row of another script
_PROBE = 8  # heights of a row that tell its script
_INK = 96
_AROUND = (3, 2)  # pixels beside, above and below a row that belong to its strokes
_BORDER, _RAW_BORDER = 4, 2  # pixels of white that Tesseract wants around a line
_SURROUNDINGS = 8  # pixels of a row's own edges that tell what is background there
_RULE = 60  # pixels of a line across; strokes of letters are shorter
_SQUARE = ("Hani", "Kore")  # scripts whose characters all fill the row
_REMEMBERED = 45_000  # words of rows: some 16 MB

Recognise = Callable[[Sequence[Image.Image], str, int], list[list[OcrWord]]]
"""Words of several pages in one language, all laid out as the page segmentation mode says."""
Known = OrderedDict[bytes, list[OcrWord]]
"""What was read in rows seen lately, by their pixels; words stand as in a row at 0, 0."""


def passes(languages: Sequence[str]) -> tuple[str, ...]:
    """The Tesseract languages of each pass: those of one script together, Latin first."""
    by_script: dict[str, list[str]] = {"Latn": []}
    for language in languages:
        by_script.setdefault(script_of(language), []).append(language)
    return tuple("+".join(group) for group in by_script.values() if group)


def script_of(language: str) -> str:
    """The usual script (ISO 15924) of a Tesseract language, by CLDR; ``Hani`` for all that write Han."""
    code, _, _kind = language.partition("_")
    code = get_global("language_aliases").get(code, code)
    script = str(get_global("likely_subtags").get(code, "_Latn")).split("_")[1]
    return "Hani" if script in ("Hans", "Hant", "Jpan") else script


@dataclass(frozen=True, slots=True)
class _Row:
    """A row's own pixels, and which of them are shown if not all are."""

    box: Box
    grey: Grey
    shown: npt.NDArray[np.bool_] | None

    @property
    def key(self) -> bytes:
        digest = blake2b(repr(self.grey.shape).encode(), digest_size=20)
        digest.update(self.grey.tobytes())
        if self.shown is not None:
            digest.update(np.packbits(self.shown).tobytes())
        return digest.digest()

    @property
    def is_picture(self) -> bool:
        return self.box.h > PICTURE

    def ink(self) -> Grey:
        """Without what is not shown, and without lines across: they are no strokes."""
        n = _SURROUNDINGS
        ink = ink_of(np.pad(self.grey, n, "edge"))[n:-n, n:-n].copy()
        ink[upright((ink > _INK).T, _RULE).T] = 0
        if self.shown is not None:
            ink[~self.shown] = 0
        return ink


def read_page(
    image: Image.Image,
    mask: Image.Image | None,
    languages: Sequence[str],
    recognise: Recognise,
    known: Known,
) -> list[OcrLine]:
    """Lines of a picture. Only rows that are not in `known` are read."""
    grey = np.asarray(image.convert("L"))
    shown = None if mask is None else np.asarray(mask)
    ink, walls = strokes(grey)
    blocks = blocks_of(ink if shown is None else ink & shown)
    rows = [_row(box, block, grey, shown) for block in blocks for box in rows_of(block, walls)]
    keys = [row.key for row in rows]
    unread = {key: row for key, row in zip(keys, rows, strict=True) if key not in known}
    for key, words in zip(unread, _read_rows(list(unread.values()), languages, recognise), strict=True):
        known[key] = words
    lines: list[OcrLine] = []
    for row, key in zip(rows, keys, strict=True):
        known.move_to_end(key)
        words = [word.moved(row.box.x, row.box.y) for word in known[key]]
        if words:
            lines += lines_of(words) if row.is_picture else [line_of(words)]
    held = sum(map(len, known.values())) + len(known)
    while held > _REMEMBERED:
        held -= len(known.popitem(last=False)[1]) + 1
    return in_reading_order([line for line in lines if not _is_a_rule(line)])


def _row(box: Box, block: Block, grey: Grey, shown: npt.NDArray[np.bool_] | None) -> _Row:
    x, y = max(0, box.x - _AROUND[0]), max(0, box.y - _AROUND[1])
    w, h = min(grey.shape[1], box.right + _AROUND[0]) - x, min(grey.shape[0], box.bottom + _AROUND[1]) - y
    part, left, top = (slice(y, y + h), slice(x, x + w)), x - block.box.x, y - block.box.y
    own = block.shown[top : top + h, left : left + w]
    if shown is not None:
        own = own & shown[part]
    return _Row(Box(x, y, w, h), grey[part], None if own.all() else own)


def _read_rows(
    rows: Sequence[_Row], languages: Sequence[str], recognise: Recognise
) -> Iterator[list[OcrWord]]:
    """Words of each row, as in one at 0, 0. What one model is unsure of the next one reads, too."""
    inks = [row.ink() for row in rows]
    first, *rest = passes(languages)
    found = _recognised(inks, first, recognise)
    for language in rest:
        unsure = _unsure_rows(inks, found, language, recognise)
        again = _recognised([inks[number] for number in unsure], language, recognise)
        for number, words in zip(unsure, again, strict=True):
            other_script = any(_is_not_latin(character) for word in words for character in word.text)
            if other_script and _confidence(words) >= max(_SURE_ENOUGH, _confidence(found[number])):
                found[number] = _with_latin(words, found[number])
    for words, ink in zip(found, inks, strict=True):
        yield [_tightened(word, ink > _INK) for word in words if not _is_junk(word)]


def _unsure_rows(
    inks: Sequence[Grey], found: Sequence[list[OcrWord]], language: str, recognise: Recognise
) -> list[int]:
    """Numbers of rows that may be of this language's script; a part of a long one is read that tells."""
    unsure = [number for number, words in enumerate(found) if _confidence(words) < _UNSURE]
    long = [number for number in unsure if inks[number].shape[1] > 2 * _PROBE * inks[number].shape[0]]
    parts = [_least_sure(inks[number], found[number]) for number in long]
    probed = dict(zip(long, _recognised(parts, language, recognise), strict=True))
    return [number for number in unsure if number not in probed or _shows_other_script(probed[number])]


def _least_sure(ink: Grey, words: Sequence[OcrWord]) -> Grey:
    height, width = ink.shape
    worst = min(words, key=lambda word: word.confidence).box if words else Box(0, 0, width, height)
    left = min(max(0, worst.x + worst.w // 2 - _PROBE * height // 2), width - _PROBE * height)
    return ink[:, left : left + _PROBE * height]


def _shows_other_script(words: Iterable[OcrWord]) -> bool:
    return any(word.confidence >= _SURE_ENOUGH and any(map(_is_not_latin, word.text)) for word in words)


def _confidence(words: Sequence[OcrWord]) -> float:
    return line_of(words).confidence if words else 0.0


def _recognised(inks: Sequence[Grey], language: str, recognise: Recognise) -> list[list[OcrWord]]:
    """Words of each row in one language, in order."""
    as_line = PSM_RAW_LINE if script_of(language.split("+")[0]) in _SQUARE else PSM_LINE
    by_mode = defaultdict(list)
    for number, ink in enumerate(inks):
        by_mode[PSM_SPARSE_TEXT if len(ink) > PICTURE else as_line].append(number)
    found: list[list[OcrWord]] = [[] for _ in inks]
    for mode, numbers in by_mode.items():
        border = _RAW_BORDER if mode == PSM_RAW_LINE else _BORDER
        scales = [min(_SCALE, (_LARGEST_PAGE / inks[number].size) ** 0.5) for number in numbers]
        pages = [_page(inks[number], border, scale) for number, scale in zip(numbers, scales, strict=True)]
        for number, scale, words in zip(numbers, scales, recognise(pages, language, mode), strict=True):
            found[number] = [_on_the_row(word, scale, border, inks[number].shape) for word in words]
    return found


def _page(ink: Grey, border: int, scale: float) -> Image.Image:
    page = Image.fromarray(np.pad(255 - ink, border, constant_values=255))
    size = round(page.width * scale), round(page.height * scale)
    if max(size) > _LARGEST_SIDE:
        raise OcrError(f"a picture of {page.width} x {page.height} pixels is too large to read")
    return page.resize(size, Image.Resampling.BICUBIC)


def _on_the_row(word: OcrWord, scale: float, border: int, shape: tuple[int, ...]) -> OcrWord:
    """A word of the enlarged page around the same pixels of the row, inside it."""
    box, (height, width) = word.box, shape
    left, top = (max(0, int(at / scale) - border) for at in (box.x, box.y))
    right, bottom = (-int(-at // scale) - border for at in (box.right, box.bottom))
    left, top, right, bottom = (
        min(left, width - 1),
        min(top, height - 1),
        min(right, width),
        min(bottom, height),
    )
    return replace(word, box=Box(left, top, max(1, right - left), max(1, bottom - top)))


def words_from_tsv(tsv: str) -> list[OcrWord]:
    """Words of Tesseract's TSV (level 5), boxes in pixels of the page that was read."""
    rows = (row.split("\t") for row in tsv.splitlines())
    fields = (row for row in rows if len(row) == 12 and row[0] == "5" and row[11].strip())
    words: list[OcrWord] = []
    for _, line in groupby(fields, key=lambda row: row[2:5]):
        words += _evenly_spaced([_word(row) for row in line])
    return words


def _word(row: list[str]) -> OcrWord:
    x, y, w, h = (int(value) for value in row[6:10])
    confidence = min(max(float(row[10]) / 100, 0.0), 1.0)
    return OcrWord(row[11].strip(), Box(x, y, max(w, 1), max(h, 1)), confidence)


def _evenly_spaced(line: list[OcrWord]) -> list[OcrWord]:
    """Boxes of Chinese characters in a row, which all have the same width, divided anew.

    Tesseract knows their order well and their places badly: some boxes are empty, some lie on the
    neighbour. So each begins to the right of the one before.
    """
    result: list[OcrWord] = []
    for chinese, run in groupby(line, key=lambda word: all(map(is_cjk, word.text))):
        words = list(run)
        result += _divided(words) if chinese else words
    return _apart(result) if any(is_cjk(character) for word in line for character in word.text) else result


def _apart(line: list[OcrWord]) -> list[OcrWord]:
    """Words of a line from left to right in the order given, each before the next one begins."""
    lefts = list(accumulate((word.box.x for word in line), lambda before, left: max(before + 1, left)))
    ends = [*lefts[1:], max(lefts[-1] + 1, line[-1].box.right)]
    return [
        replace(word, box=Box(left, word.box.y, max(1, min(word.box.right, end) - left), word.box.h))
        for word, left, end in zip(line, lefts, ends, strict=True)
    ]


def _divided(words: list[OcrWord]) -> list[OcrWord]:
    whole = around([word.box for word in words])
    pitch = whole.w / sum(len(word.text) for word in words)
    result, passed = [], 0
    for word in words:
        left, right = whole.x + pitch * passed, whole.x + pitch * (passed + len(word.text))
        box = Box(round(left), whole.y, max(1, round(right) - round(left)), whole.h)
        result.append(OcrWord(word.text, box, word.confidence))
        passed += len(word.text)
    return result


def _with_latin(found: list[OcrWord], latin: Iterable[OcrWord]) -> list[OcrWord]:
    """A row, its Latin words as the model for them read them where that was sure."""
    for word in latin:
        if word.confidence >= _SURE and any(map(str.isalpha, word.text)):
            covered = [other for other in found if _covers_any(word.box, [other])]
            if covered and not any(_is_not_latin(c) for other in covered for c in other.text):
                at = found.index(covered[0])
                found = [other for other in found if other not in covered]
                found.insert(at, word)
    return found


def _is_not_latin(character: str) -> bool:
    return character.isalpha() and not unicodedata.name(character, "").startswith("LATIN")


def _covers_any(box: Box, words: Iterable[OcrWord]) -> bool:
    return any(box.holds_centre_of(word.box) or word.box.holds_centre_of(box) for word in words)


def _is_a_rule(line: OcrLine) -> bool:
    """Borders and shadows are sometimes read as a few very wide letters."""
    return line.box.w > 4 * line.box.h * len(line.text)


def _tightened(word: OcrWord, ink: npt.NDArray[Any]) -> OcrWord:
    """The word with its box drawn around the ink inside."""
    left, top = word.box.x, word.box.y
    part = ink[top : word.box.bottom, left : word.box.right]
    rows, columns = np.flatnonzero(part.any(1)), np.flatnonzero(part.any(0))
    if not len(rows):
        return word
    box = Box(
        left + int(columns[0]),
        top + int(rows[0]),
        int(columns[-1] - columns[0]) + 1,
        int(rows[-1] - rows[0]) + 1,
    )
    return replace(word, box=box)


def _is_junk(word: OcrWord) -> bool:
    return word.confidence < 0.3 and not any(character.isalnum() for character in word.text)


_CELL = 8  # the background is sampled once per cell
_MEDIAN = 7  # cells: a majority of 56 x 56 pixels decides
_SHIFT = 4  # cells: the eight neighbours whose background is tried as well
_STEP = 2  # pixels between the points at which they are compared
_REACH = 6  # steps: what fits best within 12 pixels wins
_HANDICAP = 1.3  # how much better a guess must be than the flat colour on both sides
_FLAT_CELLS = 6  # cells: 48 equal pixels in a row are background; no letter has such a stroke
_CONTRAST_CELL = 4
_CONTRAST_REACH = 5  # cells: ink is compared with the strongest within 10 pixels
_CONTRAST_BLUR = 2
_WEAKEST_INK = 64  # weaker differences are not stretched to full black: noise stays grey

Grey = npt.NDArray[np.uint8]
Guess = npt.NDArray[np.int16]  # a background, -1 where unknown


def normalise(image: Image.Image) -> Image.Image:
    """The picture as dark ink on white, mode ``L``, of the same size.

    Tesseract was taught on scanned pages and stumbles over dark themes, coloured code and grey hints. Local
    normalisation lifts its word recall on them from .85 to .98: the background is what the best of a few
    coarse medians says, ink is the difference from it, stretched to the strongest ink nearby. Global
    thresholds (Otsu, Sauvola) made it worse. The constants are chosen on
    rendered frames (``bench/reading.py``).
    """
    ink = ink_of(np.asarray(image.convert("L")))
    return Image.fromarray(255 - ink)


def ink_of(grey: Grey) -> Grey:
    """Strength of ink per pixel, uint8[h, w]: 0 is background, 255 the strongest ink nearby."""
    background = _background(grey)
    difference = np.maximum(grey, background) - np.minimum(grey, background)
    strongest = np.maximum(_strongest_nearby(difference), _WEAKEST_INK)
    stretched = difference.astype(np.uint16) * 255 // strongest
    return np.minimum(stretched, 255).astype(np.uint8)


def _background(grey: Grey) -> Grey:
    """Of ten guesses about a pixel's background, the one that leaves the least ink around it.

    The first is the flat colour to its left and right in the same row of pixels: exact on striped
    tables, panels and bars. The others are the medians here and to the eight sides: one
    median alone would be wrong at the edges of buttons, bubbles and windows, where most of what it
    sees belongs to the other side (the idea of Kuwahara's filter, 1976).
    """
    points = grey[::_STEP, ::_STEP]
    flat = _flat_colour(grey)
    chosen, by_flat = np.zeros_like(points), np.zeros(points.shape, np.bool_)
    least = np.full_like(points, 255)
    for number, guess in enumerate(_guesses(grey, flat)):
        left_over = np.where(guess < 0, 255, np.abs(guess - points)).astype(np.uint8)
        nearby = np.asarray(Image.fromarray(left_over).filter(ImageFilter.BoxBlur(_REACH)))
        if number > 0:  # within a dense letter, ink may explain more than paper does
            nearby = np.minimum(nearby * _HANDICAP, 255).astype(np.uint8)
        better = nearby < least
        np.copyto(least, nearby, where=better)
        np.copyto(chosen, guess, where=better, casting="unsafe")
        by_flat[better] = number == 0
    # The flat colour is known for each single row, so stripes keep sharp edges.
    exact = _spread(by_flat, grey.shape) & (flat >= 0)
    return np.where(exact, flat, _spread(chosen, grey.shape)).astype(np.uint8)


def _guesses(grey: Grey, flat: Guess) -> Iterator[Guess]:
    """At every `_STEP`-th pixel; -1 where there is nothing to say."""
    yield flat[::_STEP, ::_STEP]
    medians = _cell_medians(grey).astype(np.int16)
    rows = np.arange(0, grey.shape[0], _STEP) // _CELL
    columns = np.arange(0, grey.shape[1], _STEP) // _CELL
    for down in (0, -_SHIFT, _SHIFT):
        for right in (0, -_SHIFT, _SHIFT):
            guess = medians[np.clip(rows + down, 0, medians.shape[0] - 1)]
            yield guess[:, np.clip(columns + right, 0, medians.shape[1] - 1)]


def _flat_colour(grey: Grey) -> Guess:
    """Per pixel the flat colour on both sides in its row, -1 where they differ or there is none."""
    height, width = grey.shape
    count = width // _CELL
    if count < _FLAT_CELLS:
        return np.full(grey.shape, -1, np.int16)
    cells = grey[:, : count * _CELL].reshape(height, count, _CELL)
    low = cells.min(2)
    even = low == cells.max(2)
    same = even[:, 1:] & even[:, :-1] & (low[:, 1:] == low[:, :-1])
    runs = np.lib.stride_tricks.sliding_window_view(same, _FLAT_CELLS - 1, axis=1).all(2)
    is_flat = np.zeros((height, count), np.bool_)
    for offset in range(_FLAT_CELLS):
        is_flat[:, offset : offset + runs.shape[1]] |= runs
    # One more cell that says -1 stands at the end: where the searches begin.
    index, row = np.arange(count), np.arange(height)[:, None]
    colours = np.append(low.astype(np.int16), np.full((height, 1), -1, np.int16), axis=1)
    before = np.maximum.accumulate(np.where(is_flat, index, -1), axis=1)
    after = np.minimum.accumulate(np.where(is_flat, index, count)[:, ::-1], axis=1)[:, ::-1]
    columns = np.minimum(np.arange(width) // _CELL, count - 1)
    left, right = colours[row, before][:, columns], colours[row, after][:, columns]
    return np.where(left == right, left, -1).astype(np.int16)


def _spread(points: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    return points.repeat(_STEP, 0).repeat(_STEP, 1)[: shape[0], : shape[1]]


def _cell_medians(grey: Grey) -> Grey:
    first = [min(_CELL // 2, side - 1) for side in grey.shape]
    samples = np.ascontiguousarray(grey[first[0] :: _CELL, first[1] :: _CELL])
    return np.asarray(Image.fromarray(samples).filter(ImageFilter.MedianFilter(_MEDIAN)))


def _strongest_nearby(difference: Grey) -> Grey:
    height, width = difference.shape
    rows, columns = -(-height // _CONTRAST_CELL), -(-width // _CONTRAST_CELL)
    padded = np.zeros((rows * _CONTRAST_CELL, columns * _CONTRAST_CELL), np.uint8)
    padded[:height, :width] = difference
    peaks = padded.reshape(rows, _CONTRAST_CELL, columns, _CONTRAST_CELL).max((1, 3))
    smooth = (
        Image.fromarray(peaks)
        .filter(ImageFilter.MaxFilter(_CONTRAST_REACH))
        .filter(ImageFilter.BoxBlur(_CONTRAST_BLUR))
    )
    size = (padded.shape[1], padded.shape[0])
    return np.asarray(smooth.resize(size, Image.Resampling.BILINEAR))[:height, :width]


# The command that installs Tesseract, or its data for a language, on this machine.


def install_command(languages: Sequence[str]) -> str:
    """For the package manager found here; apt's when there is none."""
    debian = (f"tesseract-ocr-{name.replace('_', '-')}" for name in languages)
    apt = " ".join(["sudo apt-get install tesseract-ocr", *debian])
    commands = {
        "apt-get": apt,
        "brew": "brew install tesseract tesseract-lang",
        "dnf": " ".join(["sudo dnf install tesseract", *(f"tesseract-langpack-{n}" for n in languages)]),
        "pacman": " ".join(["sudo pacman -S tesseract", *(f"tesseract-data-{n}" for n in languages)]),
        "winget": "winget install UB-Mannheim.TesseractOCR",
    }
    return next((command for program, command in commands.items() if shutil.which(program)), apt)


# Tesseract inside this process, through the tesserocr wheel.
#
# The wheel brings the library, not the language data; Debian's and other packages' data are found by
# path. It is built without OpenMP, so it stays on one thread and lets go of the GIL while it reads.

_USUAL_PLACES = (
    "/usr/share/tesseract-ocr/5/tessdata",  # Debian, Ubuntu
    "/usr/share/tesseract-ocr/4.00/tessdata",
    "/usr/share/tessdata",  # Arch, Alpine
    "/usr/share/tesseract/tessdata",  # Fedora
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
    "C:/Program Files/Tesseract-OCR/tessdata",
)


class TesserocrEngine:
    """Raises `OcrUnavailable` when the wheel or a language's data is missing."""

    name = "tesserocr"

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        try:
            import tesserocr
        except ImportError as error:
            raise OcrUnavailable("tesserocr is not installed; run: pip install tesserocr") from error
        # Leptonica complains on stderr about boxes it then handles; our errors come as exceptions.
        tesserocr.set_leptonica_log_level(tesserocr.LeptLogLevel.NONE)
        folder = folder_with(self.languages, list(usual_folders()))
        self._known: Known = OrderedDict()
        self._apis = {
            language: tesserocr.PyTessBaseAPI(
                path=f"{folder}{os.sep}", lang=language, oem=tesserocr.OEM.LSTM_ONLY, variables=VARIABLES
            )
            for language in passes(self.languages)
        }

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        if not self._apis:
            raise OcrError("this engine was closed")
        return read_page(image, mask, self.languages, self._recognise, self._known)

    def close(self) -> None:
        for api in self._apis.values():
            api.End()
        self._apis = {}

    def _recognise(self, pages: Sequence[Image.Image], language: str, psm: int) -> list[list[OcrWord]]:
        api = self._apis[language]
        api.SetPageSegMode(psm)
        try:
            return [self._words(api, page) for page in pages]
        except RuntimeError as error:
            raise OcrError(f"Tesseract could not read the picture: {error}") from error
        finally:
            api.Clear()  # a picture of 8 million pixels is not kept until the next one

    def _words(self, api: Any, page: Image.Image) -> list[OcrWord]:
        api.SetImage(page)
        api.SetSourceResolution(RESOLUTION_DPI)
        api.Recognize()
        return words_from_tsv(api.GetTSVText(0))


def usual_folders() -> Iterator[Path]:
    prefix = os.environ.get("TESSDATA_PREFIX")
    if prefix:
        yield from (Path(prefix), Path(prefix) / "tessdata")
    yield from map(Path, _USUAL_PLACES)


def folder_with(languages: Sequence[str], folders: Sequence[Path]) -> Path:
    """The first folder that holds the data of every language."""
    present = [folder for folder in folders if any(folder.glob("*.traineddata"))]
    for folder in present:
        if all((folder / f"{language}.traineddata").is_file() for language in languages):
            return folder
    known = {path.stem for folder in present for path in folder.glob("*.traineddata")}
    missing = [language for language in languages if language not in known] or list(languages)
    raise OcrUnavailable(f"Tesseract has no data for {', '.join(missing)}; run: {install_command(missing)}")


# Tesseract as a program, through pytesseract: where the tesserocr wheel does not exist (macOS).
#
# Each read starts a process and goes through files, about half as fast as in-process reading.
# ``OMP_THREAD_LIMIT=1`` belongs to it: with OpenMP's own choice of threads the same page costs seven
# times the CPU.

_TIMEOUT_S = 120


class TesseractEngine:
    """Raises `OcrUnavailable` when the program, pytesseract or a language's data is missing."""

    name = "tesseract"

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        try:
            import pytesseract
        except ImportError as error:
            raise OcrUnavailable("pytesseract is not installed; run: pip install pytesseract") from error
        if shutil.which(pytesseract.pytesseract.tesseract_cmd) is None:
            raise OcrUnavailable(f"Tesseract is not installed; run: {install_command(self.languages)}")
        missing = sorted(set(self.languages) - set(pytesseract.get_languages()))
        if missing:
            raise OcrUnavailable(
                f"Tesseract has no data for {', '.join(missing)}; run: {install_command(missing)}"
            )
        # The program inherits it. Set for the whole process: nothing else here uses OpenMP.
        os.environ.setdefault("OMP_THREAD_LIMIT", "1")
        self._pytesseract = pytesseract
        self._known: Known = OrderedDict()
        self._open = True

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        if not self._open:
            raise OcrError("this engine was closed")
        return read_page(image, mask, self.languages, self._recognise, self._known)

    def close(self) -> None:
        self._open = False

    def _recognise(self, pages: Sequence[Image.Image], language: str, psm: int) -> list[list[OcrWord]]:
        """All in one process: loading a model takes longer than reading a line."""
        if not pages:
            return []
        variables = " ".join(f"-c {name}={value}" for name, value in VARIABLES.items())
        config = f"--oem 1 --psm {psm} --dpi {RESOLUTION_DPI} {variables}"
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"{number}.png") for number in range(len(pages))]
            for path, page in zip(paths, pages, strict=True):
                page.save(path, compress_level=1)
            listed = Path(folder, "pages.txt")
            listed.write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
            try:
                tsv = self._pytesseract.image_to_data(
                    str(listed), lang=language, config=config, timeout=_TIMEOUT_S
                )
            except (self._pytesseract.TesseractError, RuntimeError, OSError) as error:
                raise OcrError(f"Tesseract could not read the picture: {error}") from error
        by_page = defaultdict(list)
        for row in tsv.splitlines():
            by_page["".join(row.split("\t")[1:2])].append(row)
        return [words_from_tsv("\n".join(by_page[str(number + 1)])) for number in range(len(pages))]
