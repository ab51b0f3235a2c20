"""The golden frames with their true words, and how much of them a reading found.

A token is a lower-case run of two or more Latin letters and digits, or one Han character. Recall is
counted over a whole frame as a bag, so the order of lines does not matter.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from engines.ocr.protocol import Box, OcrLine

FOLDER = Path(__file__).parent / "frames"
_LATIN, _HAN = re.compile(r"[a-z0-9]{2,}"), re.compile(r"[㐀-鿿]")


@dataclass(frozen=True, slots=True)
class TrueWord:
    text: str
    box: Box | None  # of its ink; None in terminals


@dataclass(frozen=True, slots=True)
class Golden:
    name: str
    kind: str  # "en" or "zh"
    theme: str  # "light", "dark" or "mixed"
    scale: float
    words: tuple[TrueWord, ...]

    @property
    def group(self) -> str:
        return "zh" if self.kind == "zh" else self.theme

    def image(self) -> Image.Image:
        return Image.open(FOLDER / f"{self.name}.webp").convert("RGB")


@dataclass(frozen=True, slots=True)
class Found:
    """How many true tokens there are, how many of them were read, how many were read in all."""

    true: int
    found: int
    read: int

    @property
    def recall(self) -> float:
        return self.found / self.true if self.true else 1.0

    @property
    def precision(self) -> float:
        return self.found / self.read if self.read else 1.0

    def __add__(self, other: Found) -> Found:
        return Found(self.true + other.true, self.found + other.found, self.read + other.read)


def golden(name: str) -> Golden:
    truth = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    words = tuple(TrueWord(text, Box(*box) if box else None) for text, *box in truth["words"])
    return Golden(name, truth["kind"], truth["theme"], truth["scale"], words)


def all_golden() -> list[Golden]:
    return [golden(path.stem) for path in sorted(FOLDER.glob("*.json"))]


def tokens(texts: Iterable[str], kind: str) -> Counter[str]:
    text = " ".join(texts).lower()
    return Counter((_HAN if kind == "zh" else _LATIN).findall(text))


def compare(frame: Golden, lines: Iterable[OcrLine]) -> Found:
    true = tokens((word.text for word in frame.words), frame.kind)
    read = tokens((word.text for line in lines for word in line.words), frame.kind)
    return Found(true.total(), (true & read).total(), read.total())


def overlap(a: Box, b: Box) -> float:
    """Intersection over union."""
    width = min(a.right, b.right) - max(a.x, b.x)
    height = min(a.bottom, b.bottom) - max(a.y, b.y)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    return shared / (a.w * a.h + b.w * b.h - shared)
