"""RapidOCR: models inside a wheel, for machines where Tesseract cannot be installed.

It reads English and Chinese with one model, needs no system package and no network, and costs three
to five times the CPU and memory of Tesseract: the last of the automatic choices, but never nothing.
Install it with the extra ``bundled-ocr``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from PIL import Image

from engines.ocr.protocol import (
    Box,
    OcrError,
    OcrLine,
    OcrUnavailable,
    OcrWord,
    lines_of,
    read_masked,
    words_of_characters,
)

_INSTALL = "pip install 'recollect[bundled-ocr]'"
LANGUAGES = ("eng", "chi_sim", "chi_tra")
_OPTIONS = {
    "Global.use_cls": False,  # screens are never upside down
    "Global.return_word_box": True,
    "Global.max_side_len": 4096,
    "Global.log_level": "error",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}
_SMALLEST_SIDE = 16  # pixels; the detector cannot look at less

Token = tuple[str, float, Any]  # text, confidence, four corners


class RapidEngine:
    """Raises `OcrUnavailable` when RapidOCR is not installed or cannot read a language."""

    name = "rapidocr"

    def __init__(self, languages: Sequence[str]) -> None:
        self.languages = tuple(languages)
        unknown = [language for language in self.languages if language not in LANGUAGES]
        if unknown:
            raise OcrUnavailable(
                f"the bundled engine reads {', '.join(LANGUAGES)}, not {', '.join(unknown)}; "
                f"run: sudo apt-get install {' '.join('tesseract-ocr-' + name for name in unknown)}"
            )
        try:
            from rapidocr import RapidOCR
        except ImportError as error:
            raise OcrUnavailable(f"the bundled OCR engine is not installed; run: {_INSTALL}") from error
        self.version = version("rapidocr")
        self._ocr: Any = RapidOCR(params=_OPTIONS)

    def models(self) -> str:
        return f"onnxruntime {version('onnxruntime')}"  # the models are in the wheel

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        return read_masked(lambda part: lines_of(self._words(part)), image, mask)

    def _words(self, image: Image.Image) -> list[OcrWord]:
        if self._ocr is None:
            raise OcrError("this engine was closed")
        if min(image.size) < _SMALLEST_SIDE:
            return []
        bgr = np.ascontiguousarray(np.asarray(image.convert("RGB"))[:, :, ::-1])
        result = self._ocr(bgr)
        if not result.txts:
            return []
        words: list[OcrWord] = []
        for text, score, corners, tokens in zip(
            result.txts, result.scores, result.boxes, result.word_results, strict=True
        ):
            words += words_of(text, float(score), _box(corners, image.size), tokens, image.size)
        return words

    def close(self) -> None:
        self._ocr = None


def words_of(
    text: str, score: float, line: Box, tokens: Sequence[Token], size: tuple[int, int]
) -> list[OcrWord]:
    """Words of one line: its text is split at spaces and around each Chinese character.

    RapidOCR gives boxes for pieces of text without spaces; where these do not add up to the line,
    the line's box is divided evenly.
    """
    characters = _from_tokens(tokens, size)
    if [c.text for c in characters] != list("".join(text.split())):
        characters = _divided(text, score, line)
    blank, pieces = OcrWord(" ", line, 0.0), iter(characters)
    return words_of_characters([blank if character.isspace() else next(pieces) for character in text])


def _from_tokens(tokens: Sequence[Token], size: tuple[int, int]) -> list[OcrWord]:
    """One entry per character; a token of several characters is divided evenly."""
    characters: list[OcrWord] = []
    for text, confidence, corners in tokens:
        if text.strip() and corners is not None:
            characters += _divided(text, float(confidence), _box(corners, size))
    return characters


def _divided(text: str, confidence: float, box: Box) -> list[OcrWord]:
    edges = [box.x + round(box.w * n / len(text)) for n in range(len(text) + 1)]
    return [
        OcrWord(character, Box(edges[n], box.y, max(1, edges[n + 1] - edges[n]), box.h), confidence)
        for n, character in enumerate(text)
        if not character.isspace()
    ]


def _box(corners: Any, size: tuple[int, int]) -> Box:
    points = np.asarray(corners, dtype=float)
    left, top = (max(0, int(value)) for value in points.min(0))
    right, bottom = (min(side, int(value + 0.5)) for side, value in zip(size, points.max(0), strict=True))
    return Box(left, top, max(1, right - left), max(1, bottom - top))
