"""The Tesseract engines: inside this process, and as a program.

Both read rows that `engines.ocr.page` cuts and prepares; here is what a model said of them.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any

from PIL import Image

from engines.ocr.han import IDLE_S, HanReader, han_reader
from engines.ocr.page import PSM_RAW_LINE, read_page
from engines.ocr.protocol import Box, OcrError, OcrLine, OcrUnavailable, OcrWord, around, is_cjk, is_hangul
from engines.ocr.remembered import Remembered
from engines.ocr.scripts import passes

RESOLUTION_DPI = 150  # said explicitly: screens carry none, and guessing prints warnings
VARIABLES = {"tessedit_do_invert": "0"}  # normalised ink is dark on white: a second try saves nobody


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
    is_square = any(is_cjk(character) or is_hangul(character) for word in line for character in word.text)
    return _apart(result) if is_square else result


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
        self.version = tesserocr.tesseract_version().split("\n")[0].removeprefix("tesseract ")
        self._folder = folder_with(self.languages, list(usual_folders()))
        self._known = Remembered()
        self._han = han_reader(self.languages)
        self.version += f" and {self._han.name}" if self._han else ""
        # Rows of Han need none of Tesseract's models for them (47 MB); a picture among them may.
        eager = [group for group in passes(self.languages) if not (self._han and self._han.reads(group))]
        self._apis: dict[str, Any] | None = {group: self._opened(group) for group in eager}
        self._read_s = time.monotonic()

    def rest(self) -> bool:
        is_idle = bool(self._apis) and time.monotonic() - self._read_s >= IDLE_S
        if is_idle:
            self._end()
        return (self._han is not None and self._han.rest()) or is_idle

    def models(self) -> str:
        return models_in(self._folder, self.languages, self._han)

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        if self._apis is None:
            raise OcrError("this engine was closed")
        self._read_s = time.monotonic()
        return read_page(image, mask, self.languages, self._recognise, self._known)

    def close(self) -> None:
        self._end()
        self._apis = None

    def _end(self) -> None:
        for api in (self._apis or {}).values():
            api.End()
        self._apis = {}

    def _opened(self, languages: str) -> Any:
        import tesserocr

        return tesserocr.PyTessBaseAPI(
            path=f"{self._folder}{os.sep}", lang=languages, oem=tesserocr.OEM.LSTM_ONLY, variables=VARIABLES
        )

    def _recognise(self, pages: Sequence[Image.Image], language: str, psm: int) -> list[list[OcrWord]]:
        if self._han and psm == PSM_RAW_LINE and self._han.reads(language):
            return list(map(self._han.read, pages))
        if not pages:
            return []
        assert self._apis is not None
        api = self._apis.get(language) or self._apis.setdefault(language, self._opened(language))
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


def models_in(folder: Path, languages: Sequence[str], han: HanReader | None) -> str:
    """What tells the models that read these languages from others. Raises `OSError`."""
    digest = sha256(han.weights.read_bytes() if han else b"")
    for language in "+".join(passes(languages)).split("+"):
        digest.update((folder / f"{language}.traineddata").read_bytes())
    return digest.hexdigest()[:16]


def usual_folders() -> Iterator[Path]:
    prefix = os.environ.get("TESSDATA_PREFIX")
    if prefix:
        yield from (Path(prefix), Path(prefix) / "tessdata")
    yield from map(Path, _USUAL_PLACES)


def installed_languages() -> tuple[str, ...]:
    """Codes of the languages whose data is here, in the folder that has the most; none for upright columns,
    which no row is read in.
    """
    found = ({path.stem for path in folder.glob("*.traineddata")} for folder in usual_folders())
    return tuple(sorted(c for c in max(found, key=len) if c not in ("osd", "equ") and "_vert" not in c))


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
# Each read starts a process, about half as fast as in-process reading. Nothing of it is in files: they would
# stay in the system's temporary folder when we are killed.
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
        self._han = han_reader(self.languages)
        self.version = str(pytesseract.get_tesseract_version())
        self.version += f" and {self._han.name}" if self._han else ""
        self._known = Remembered()
        self._open = True

    def rest(self) -> bool:
        return self._han is not None and self._han.rest()

    def models(self) -> str:
        """Of the folder that the program says it has; "" where it says none, as before version 5."""
        command = [self._pytesseract.pytesseract.tesseract_cmd, "--list-langs"]
        told = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S)
        folder = re.match(r'[^"\n]*"(.+)"', told.stdout)
        try:
            return models_in(Path(folder[1]), self.languages, self._han) if folder else ""
        except OSError:
            return ""

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
        if self._han and psm == PSM_RAW_LINE and self._han.reads(language):
            return list(map(self._han.read, pages))
        command = [self._pytesseract.pytesseract.tesseract_cmd, "stdin", "stdout", "-l", language]
        command += ["--oem", "1", "--psm", str(psm), "--dpi", str(RESOLUTION_DPI)]
        command += [word for name, value in VARIABLES.items() for word in ("-c", f"{name}={value}")]
        together = io.BytesIO()
        pages[0].save(together, "TIFF", save_all=True, append_images=pages[1:])
        try:
            done = subprocess.run(
                [*command, "tsv"],
                input=together.getvalue(),
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=True,
            )
        except (subprocess.SubprocessError, OSError) as error:
            raise OcrError(f"Tesseract could not read the picture: {error}") from error
        tsv = done.stdout.decode("utf-8", "replace")
        by_page = defaultdict(list)
        for row in tsv.splitlines():
            by_page["".join(row.split("\t")[1:2])].append(row)
        return [words_from_tsv("\n".join(by_page[str(number + 1)])) for number in range(len(pages))]
