"""What both Tesseract engines share: preparing the page, choosing the script, drawing the boxes.

Measured on rendered screens: normalised ink, twice the size, sparse text (psm 11) reads best.
Each other script is read in a pass of its own. Asking Tesseract for ``eng+chi_sim`` at once costs 60 %
more on every frame and mixes the scripts inside a line; the Latin pass alone reads Chinese as nonsense of
very low confidence, which tells exactly what to read again. That is cut into rows by its ink (`rows`), and
the rows stand far apart on the page that the other model gets: sparse text takes parts of Chinese letters for
lines (158 of 207 planted sentences read, 202 as rows), and a row is read alike whatever stands around it.
"""

from __future__ import annotations

import os
import shutil
import unicodedata
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from babel.core import get_global
from PIL import Image, ImageFilter, ImageOps

from engines.ocr.protocol import (
    Box,
    OcrError,
    OcrLine,
    OcrUnavailable,
    OcrWord,
    around,
    is_cjk,
    line_of,
    lines_of,
)
from engines.ocr.rows import rows_of, rules, rules_across

PSM_BLOCK, PSM_SPARSE_TEXT = 6, 11
RESOLUTION_DPI = 150  # said explicitly: screens carry none, and guessing prints warnings

VARIABLES = {"tessedit_do_invert": "0"}  # normalised ink is dark on white: a second try saves nobody
_SCALE = 2.0
_LARGEST_PAGE = 16_000_000  # pixels: a 4K screen is enlarged less, it has larger letters or none to spare
_LARGEST_SIDE = 32_000  # Tesseract refuses 32,767
_UNSURE = 0.8  # a line below this may be another script; most Latin lines are above .9
_SURE = 0.8  # a Latin word above this keeps its place in a row of another script
_PROBED = 3  # rows that tell which script comes first
_SURE_ENOUGH = 0.5  # for a row of another script
_INK = 96
_LOWEST_INK = 5  # pixels; letters are higher
_RULE = 24  # pixels of a line that goes on outside of what is read
_ROW_GAP = 24  # pixels at least between rows that were cut out
_MOST_OF_THE_INK = 0.7
_BORDER = 8  # pixels of white that Tesseract wants around text

Recognise = Callable[[Image.Image, str, int], list[OcrWord]]


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


def read_page(
    image: Image.Image, mask: Image.Image | None, languages: Sequence[str], recognise: Recognise
) -> list[OcrLine]:
    """Lines of a picture. `recognise` gets dark-on-white ink and one pass's language."""
    clean = normalise(image)
    if mask is None:
        return _read_clean(clean, languages, recognise)
    extent = mask.getbbox()
    if extent is None:
        return []
    ink = np.asarray(clean) < 255 - _INK
    shown = np.asarray(mask) & ~rules_across(ink, np.asarray(mask), _RULE)
    rows = np.flatnonzero((ink & shown).any(1))
    if not len(rows) or rows[-1] - rows[0] < _LOWEST_INK:
        return []
    clean = Image.composite(clean, Image.new("L", clean.size, 255), Image.fromarray(shown))
    clean = ImageOps.expand(clean.crop(extent), _BORDER, 255)
    lines = _read_clean(clean, languages, recognise)
    return lines_of(_without_border(word, extent) for line in lines for word in line.words)


def _without_border(word: OcrWord, extent: tuple[int, int, int, int]) -> OcrWord:
    """A word of the page that was cut out at `extent`, as it stands in the picture, inside that part."""
    left, top, right, bottom = extent
    box = word.box.moved(left - _BORDER, top - _BORDER)
    x, y = min(max(box.x, left), right - 1), min(max(box.y, top), bottom - 1)
    w, h = min(box.right, right) - x, min(box.bottom, bottom) - y
    return replace(word, box=Box(x, y, max(1, w), max(1, h)))


def _read_clean(clean: Image.Image, languages: Sequence[str], recognise: Recognise) -> list[OcrLine]:
    first, *rest = passes(languages)
    words = _enlarged_and_read(clean, first, recognise, PSM_SPARSE_TEXT)
    ink = np.asarray(clean) < 255 - _INK
    if len(rest) > 1:
        rest = _fitting_first(clean, _unsure_rows(ink, words, clean.size), rest, recognise)
    for language in rest:
        words = _read_unsure_again(clean, ink, words, language, recognise)
    lines = lines_of(word for word in words if not _is_junk(word))
    drawn = [_tightened(word, ink) for line in lines for word in _own_row(line, ink)]
    return [line for line in lines_of(drawn) if not _is_a_rule(line)]


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


def _enlarged_and_read(clean: Image.Image, language: str, recognise: Recognise, psm: int) -> list[OcrWord]:
    """Words with boxes in pixels of `clean`."""
    scale = min(_SCALE, (_LARGEST_PAGE / (clean.width * clean.height)) ** 0.5)
    size = (max(1, round(clean.width * scale)), max(1, round(clean.height * scale)))
    if max(size) > _LARGEST_SIDE:
        raise OcrError(f"a picture of {clean.width} x {clean.height} pixels is too large to read")
    words = recognise(clean.resize(size, Image.Resampling.BICUBIC), language, psm)
    return [replace(word, box=_shrunk(word.box, scale, clean.size)) for word in words]


def _shrunk(box: Box, scale: float, size: tuple[int, int]) -> Box:
    """A box of the enlarged page around the same pixels of the picture, inside it."""
    left, top = min(int(box.x / scale), size[0] - 1), min(int(box.y / scale), size[1] - 1)
    right, bottom = min(-int(-box.right // scale), size[0]), min(-int(-box.bottom // scale), size[1])
    return Box(left, top, max(1, right - left), max(1, bottom - top))


def _fitting_first(
    clean: Image.Image, rows: Sequence[Box], languages: Iterable[str], recognise: Recognise
) -> list[str]:
    """Languages by how sure each is of the longest rows: what the first is sure of, no other one reads."""
    longest = sorted(rows, key=lambda row: (-row.w, row.y, row.x))[:_PROBED]

    def sureness(language: str) -> float:
        probes = _read_rows(clean, longest, language, recognise)
        return sum(line_of(found).confidence for found in probes if found)

    return sorted(languages, key=sureness, reverse=True)


def _unsure_rows(ink: npt.NDArray[np.bool_], words: Iterable[OcrWord], size: tuple[int, int]) -> list[Box]:
    unsure = np.zeros_like(ink)
    for line in lines_of(words):
        if line.confidence < _UNSURE and not _is_a_rule(line):
            box = _grown(line.box, size)
            unsure[box.y : box.bottom, box.x : box.right] = True
    return rows_of(ink & unsure & ~rules(ink))


def _read_unsure_again(
    clean: Image.Image, ink: npt.NDArray[np.bool_], words: list[OcrWord], language: str, recognise: Recognise
) -> list[OcrWord]:
    """Lines the passes before were unsure of, read with another model; kept where it found its script."""
    rows = _unsure_rows(ink, words, clean.size)
    for row, found in zip(rows, _read_rows(clean, rows, language, recognise), strict=True):
        before = [word for word in words if row.holds_centre_of(word.box)]
        confidence = line_of(found).confidence if found else 0.0
        other_script = any(_is_not_latin(character) for word in found for character in word.text)
        if other_script and confidence >= max(_SURE_ENOUGH, line_of(before).confidence if before else 0.0):
            words = [word for word in words if word not in before] + _with_latin(found, before)
    return words


def _read_rows(
    clean: Image.Image, rows: Sequence[Box], language: str, recognise: Recognise
) -> Iterator[list[OcrWord]]:
    """Words of each row, in order, where they stand in `clean`; rows are read far apart from each other."""
    if not rows:
        return
    tops = list(accumulate((row.h + max(_ROW_GAP, row.h) for row in rows), initial=_BORDER))
    page = Image.new("L", (max(row.w for row in rows) + 2 * _BORDER, tops[-1]), 255)
    for row, top in zip(rows, tops, strict=False):
        page.paste(clean.crop((row.x, row.y, row.right, row.bottom)), (_BORDER, top))
    found = defaultdict(list)
    for word in _enlarged_and_read(page, language, recognise, PSM_BLOCK):
        found[bisect(tops, word.box.y + word.box.h // 2) - 1].append(word)
    for number, row in enumerate(rows):
        yield [
            replace(word, box=Box(row.x + word.box.x - _BORDER, row.y, word.box.w, row.h))
            for word in found[number]
        ]


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


def _grown(box: Box, size: tuple[int, int]) -> Box:
    """The line with room for what the first pass cut off at its ends."""
    left, top = max(0, box.x - 2 * box.h), max(0, box.y - box.h // 3)
    right, bottom = min(size[0], box.right + 2 * box.h), min(size[1], box.bottom + box.h // 3)
    return Box(left, top, right - left, bottom - top)


def _is_a_rule(line: OcrLine) -> bool:
    """Borders and shadows are sometimes read as a few very wide letters."""
    return line.box.w > 4 * line.box.h * len(line.text)


def _own_row(line: OcrLine, ink: npt.NDArray[Any]) -> list[OcrWord]:
    """The line's words without what their boxes hold of the lines above and below.

    Chinese boxes come half a line too high: where empty rows divide the line's ink, the part with
    most of it is the line.
    """
    box = line.box
    amounts = ink[box.y : box.bottom, box.x : box.right].sum(1)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], (amounts > 0).astype(np.int8), [0]))))
    parts = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    if len(parts) < 2:
        return list(line.words)
    top, bottom = max(parts, key=lambda part: int(amounts[part[0] : part[1]].sum()))
    if amounts[top:bottom].sum() < _MOST_OF_THE_INK * amounts.sum():
        return list(line.words)
    return [_between(word, box.y + top, box.y + bottom) for word in line.words]


def _between(word: OcrWord, top: int, bottom: int) -> OcrWord:
    first, last = max(word.box.y, top), min(word.box.bottom, bottom)
    if last <= first:
        return word
    return replace(word, box=Box(word.box.x, first, word.box.w, last - first))


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
        self._apis = {
            language: tesserocr.PyTessBaseAPI(
                path=f"{folder}{os.sep}", lang=language, oem=tesserocr.OEM.LSTM_ONLY, variables=VARIABLES
            )
            for language in passes(self.languages)
        }

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        return read_page(image, mask, self.languages, self._recognise)

    def close(self) -> None:
        for api in self._apis.values():
            api.End()
        self._apis = {}

    def _recognise(self, page: Image.Image, language: str, psm: int) -> list[OcrWord]:
        if language not in self._apis:
            raise OcrError("this engine was closed")
        api = self._apis[language]
        try:
            api.SetPageSegMode(psm)
            api.SetImage(page)
            api.SetSourceResolution(RESOLUTION_DPI)
            api.Recognize()
            return words_from_tsv(api.GetTSVText(0))
        except RuntimeError as error:
            raise OcrError(f"Tesseract could not read the picture: {error}") from error
        finally:
            api.Clear()  # a picture of 8 million pixels is not kept until the next one


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
        self._open = True

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        return read_page(image, mask, self.languages, self._recognise)

    def close(self) -> None:
        self._open = False

    def _recognise(self, page: Image.Image, language: str, psm: int) -> list[OcrWord]:
        if not self._open:
            raise OcrError("this engine was closed")
        variables = " ".join(f"-c {name}={value}" for name, value in VARIABLES.items())
        config = f"--oem 1 --psm {psm} --dpi {RESOLUTION_DPI} {variables}"
        try:
            tsv = self._pytesseract.image_to_data(page, lang=language, config=config, timeout=_TIMEOUT_S)
        except (self._pytesseract.TesseractError, RuntimeError, OSError) as error:
            raise OcrError(f"Tesseract could not read the picture: {error}") from error
        return words_from_tsv(tsv)
