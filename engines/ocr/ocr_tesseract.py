"""Tesseract as a program, through pytesseract: where the tesserocr wheel does not exist (macOS).

Each read starts a process and goes through files, about half as fast as in-process reading.
``OMP_THREAD_LIMIT=1`` belongs to it: with OpenMP's own choice of threads the same page costs seven
times the CPU.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from PIL import Image

from engines.ocr import tesseract
from engines.ocr.protocol import OcrError, OcrLine, OcrUnavailable, OcrWord
from engines.ocr.tessdata import install_command

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

    def read(self, image: Image.Image) -> list[OcrLine]:
        return tesseract.read_page(image, self.languages, self._recognise)

    def close(self) -> None:
        self._open = False

    def _recognise(self, page: Image.Image, language: str) -> list[OcrWord]:
        if not self._open:
            raise OcrError("this engine was closed")
        config = f"--oem 1 --psm {tesseract.PSM_SPARSE_TEXT} --dpi {tesseract.RESOLUTION_DPI}"
        try:
            tsv = self._pytesseract.image_to_data(page, lang=language, config=config, timeout=_TIMEOUT_S)
        except (self._pytesseract.TesseractError, RuntimeError, OSError) as error:
            raise OcrError(f"Tesseract could not read the picture: {error}") from error
        return tesseract.words_from_tsv(tsv)
