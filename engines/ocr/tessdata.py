"""The command that installs Tesseract, or its data for a language, on this machine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence


def install_command(languages: Sequence[str]) -> str:
    """For the package manager found here; apt's when there is none."""
    if shutil.which("apt-get"):
        return "sudo apt-get install " + " ".join(["tesseract-ocr", *map(_debian, languages)])
    if shutil.which("brew"):
        return "brew install tesseract tesseract-lang"
    if shutil.which("dnf"):
        return "sudo dnf install " + " ".join(["tesseract", *(f"tesseract-langpack-{n}" for n in languages)])
    if shutil.which("pacman"):
        return "sudo pacman -S " + " ".join(["tesseract", *(f"tesseract-data-{n}" for n in languages)])
    if shutil.which("winget"):
        return "winget install UB-Mannheim.TesseractOCR"
    return "sudo apt-get install " + " ".join(["tesseract-ocr", *map(_debian, languages)])


def _debian(language: str) -> str:
    return "tesseract-ocr-" + language.replace("_", "-")
