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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from PIL import Image

from engines.registry import Registry

AUTO = ("tesserocr", "tesseract", "rapidocr")

OCR_ENGINES: Registry[OcrEngine] = Registry(
    "OCR engine",
    "recollect.ocr",
    {
        "tesserocr": "engines.ocr.ocr_tesserocr:TesserocrEngine",
        "tesseract": "engines.ocr.ocr_tesseract:TesseractEngine",
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


@dataclass(frozen=True, slots=True)
class OcrWord:
    """One word, or one Chinese character or run of them; `confidence` is 0..1."""

    text: str
    box: Box
    confidence: float


@dataclass(frozen=True, slots=True)
class OcrLine:
    """Words that stand beside each other; `text` joins them without spaces between Han characters."""

    text: str
    box: Box
    confidence: float
    words: tuple[OcrWord, ...]


class OcrEngine(Protocol):
    """Reads pictures with one set of languages, one picture at a time, on one thread.

    An engine belongs to the thread that opened it.
    """

    name: str
    languages: tuple[str, ...]

    def read(self, image: Image.Image) -> list[OcrLine]:
        """Lines in reading order, with boxes in pixels of `image`; empty where there is no text.

        The same picture gives the same lines. Raises `OcrError` when the picture cannot be read;
        never answers a failure with an empty list.
        """

    def close(self) -> None:
        """Frees the models. Closing twice is allowed, reading afterwards is not."""


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


def _first_available(languages: tuple[str, ...]) -> OcrEngine:
    """An installed engine that lacks a language is passed over, never opened without it (OCR-1)."""
    reasons = []
    for name in AUTO:
        try:
            return OCR_ENGINES.opener(name)(languages)
        except OcrUnavailable as error:
            reasons.append(str(error))
    raise OcrUnavailable(reasons[0])
