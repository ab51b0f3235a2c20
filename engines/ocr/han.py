"""Reads rows of Chinese and Japanese with the recogniser of PP-OCRv6 instead of Tesseract's models for them.

Tesseract reads a paragraph of Chinese well and a label of two characters badly: it looks for words, and the
strokes of small bold characters run together. PP-OCR's recogniser knows both, also where Latin stands
between. Its weights come inside the wheel of RapidOCR, which is installed without what it depends on (OpenCV)
and never imported here; they run on onnxruntime. Where either is missing, Tesseract reads these scripts, too.

The network: https://arxiv.org/abs/2507.05595 (PP-OCRv5; v6 keeps the form). A row is 48 pixels high, three
channels of -1..1; for every 8 pixels of its width there is a distribution over the characters and a blank,
decoded by taking the likeliest and dropping repeats and blanks (CTC, Graves et al. 2006).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib.util import find_spec
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from engines.ocr.protocol import Box, OcrWord, words_of_characters

_LANGUAGES = frozenset({"chi_sim", "chi_tra", "jpn"})
_HEIGHT = 48  # pixels of a row, as it was trained
_NARROWEST = 16  # pixels
_PIECE = 640  # pixels of a row read at once: more take more memory, 40 MB for each thousand
_CUT_FROM = 0.6  # of a piece: from there on it may end
IDLE_S = 180  # then models are let go of, some 30 MB here and 13 of Tesseract; loading them takes 60 ms
_INK = 128  # of 255; darker is a stroke
_REACH = 0.6  # heights of a row from a character's middle to its end
_LONG, _SQUEEZED = 10, 0.8
"""From so many heights on a row is drawn narrower, in a fifth less time: what stands around a character tells
it from others as well as its strokes do. Of 3,033 characters of paragraphs none is lost, of labels 1 %."""


def han_reader(languages: Sequence[str]) -> HanReader | None:
    """None where none of them is its, or the weights or what runs them are not installed. Imports neither."""
    package = find_spec("rapidocr") if _LANGUAGES.intersection(languages) else None
    if package is None or not package.submodule_search_locations or find_spec("onnxruntime") is None:
        return None
    folder = Path(package.submodule_search_locations[0]) / "models"
    weights = sorted(folder.glob("PP-OCR*_rec_*.onnx"))
    return HanReader(weights[-1]) if weights else None


class HanReader:
    """Reads one row at a time; the weights (21 MB) are loaded with the first. For one thread."""

    def __init__(self, weights: Path) -> None:
        self.weights = weights
        self.name = weights.name.partition("_")[0]  # "PP-OCRv6"
        self._read_s = 0.0  # time.monotonic() of the last row

    def reads(self, languages: str) -> bool:
        """Whether it knows all of these, such as "chi_sim+jpn"."""
        return _LANGUAGES.issuperset(languages.split("+"))

    def rest(self) -> bool:
        """Let go of the weights if no row was read for minutes; whether it did."""
        is_idle = time.monotonic() - self._read_s >= IDLE_S
        return is_idle and self.__dict__.pop("_session", None) is not None

    def read(self, row: Image.Image) -> list[OcrWord]:
        """Words of a row of dark ink on white: single characters of Han and kana, others up to a blank."""
        self._read_s = time.monotonic()
        scale = _HEIGHT / row.height * (_SQUEEZED if row.width > _LONG * row.height else 1)
        width = max(_NARROWEST, round(row.width * scale))
        grey = np.asarray(row.convert("L").resize((width, _HEIGHT), Image.Resampling.BICUBIC))
        parts = _pieces(grey)
        found = [pair for left, right in parts for pair in self._characters(grey[:, left:right], left)]
        return words_of_characters(_boxed(found, width / row.width, row.size))

    def _characters(self, grey: npt.NDArray[np.uint8], left: int) -> Iterator[tuple[float, str, float]]:
        """Where each character has its middle, in pixels of the row; it; and how sure it is. Blanks, too."""
        padded = np.pad(grey, ((0, 0), (0, max(0, _NARROWEST - grey.shape[1]))), constant_values=255)
        pixels = np.broadcast_to(padded.astype(np.float32) / 127.5 - 1, (1, 3, *padded.shape))
        (output,) = self._session.run(None, {self._input: np.ascontiguousarray(pixels)})
        likeliest, sure = output[0].argmax(1), output[0].max(1)
        for number, run in groupby(range(len(likeliest)), likeliest.__getitem__):
            if number:
                at = list(run)
                middle = left + (at[0] + at[-1] + 1) / 2 * padded.shape[1] / len(likeliest)
                yield middle, self._alphabet[number], float(sure[at].mean())

    @cached_property
    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # both keep what the longest took
        options.log_severity_level = 3  # errors come as exceptions
        return onnxruntime.InferenceSession(str(self.weights), options, providers=["CPUExecutionProvider"])

    @cached_property
    def _input(self) -> str:
        return str(self._session.get_inputs()[0].name)

    @cached_property
    def _alphabet(self) -> Sequence[str]:
        """By the number of a class: 0 is the blank between characters, the last one the blank of a text."""
        return ["", *self._session.get_modelmeta().custom_metadata_map["character"].split("\n"), " "]


def _pieces(grey: npt.NDArray[np.uint8]) -> Iterator[tuple[int, int]]:
    """From where to where a row is read at once: up to the widest blank before a piece is too long."""
    left, width = 0, grey.shape[1]
    blank: npt.NDArray[Any] = np.asarray((grey > _INK).all(0))
    while width - left > _PIECE:
        first, last = left + int(_CUT_FROM * _PIECE), left + _PIECE
        edges = np.flatnonzero(np.diff(np.pad(blank[first:last], 1).astype(np.int8))).tolist()
        blanks = [
            (end - start, (start + end) // 2) for start, end in zip(edges[::2], edges[1::2], strict=True)
        ]
        cut = first + max(blanks)[1] if blanks else last
        yield left, cut
        left = cut
    yield left, width


def _boxed(found: Sequence[tuple[float, str, float]], scale: float, size: tuple[int, int]) -> list[OcrWord]:
    """Characters with boxes that reach half-way to the next, in pixels of the row that was given.

    And no further than a square character does: beside a row stand icons, too.
    """
    middles, reach = [middle / scale for middle, _, _ in found], _REACH * size[1]
    halfway = [0.0, *(sum(pair) / 2 for pair in pairwise(middles)), float(size[0])][: len(found) + 1]
    words = []
    for (_, text, sure), middle, (left, right) in zip(found, middles, pairwise(halfway), strict=True):
        first, last = round(max(left, middle - reach)), round(min(right, middle + reach))
        words.append(OcrWord(text, Box(first, 0, max(1, last - first), size[1]), sure))
    return words
