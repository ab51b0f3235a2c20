"""Tesseract inside this process, through the tesserocr wheel.

The wheel brings the library, not the language data; Debian's and other packages' data are found by
path. It is built without OpenMP, so it stays on one thread and lets go of the GIL while it reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from engines.ocr import tesseract
from engines.ocr.protocol import OcrError, OcrLine, OcrUnavailable, OcrWord
from engines.ocr.tessdata import install_command

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
        self._apis = {language: self._open(tesserocr, folder, language)
                      for language in tesseract.passes(self.languages)}  # fmt: skip

    def read(self, image: Image.Image) -> list[OcrLine]:
        return tesseract.read_page(image, self.languages, self._recognise)

    def close(self) -> None:
        for api in self._apis.values():
            api.End()
        self._apis = {}

    def _open(self, tesserocr: Any, folder: Path, language: str) -> Any:
        return tesserocr.PyTessBaseAPI(
            path=f"{folder}{os.sep}",
            lang=language,
            psm=tesserocr.PSM.SPARSE_TEXT,
            oem=tesserocr.OEM.LSTM_ONLY,
        )

    def _recognise(self, page: Image.Image, language: str) -> list[OcrWord]:
        if language not in self._apis:
            raise OcrError("this engine was closed")
        api = self._apis[language]
        try:
            api.SetImage(page)
            api.SetSourceResolution(tesseract.RESOLUTION_DPI)
            api.Recognize()
            return tesseract.words_from_tsv(api.GetTSVText(0))
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
