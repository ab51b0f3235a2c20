"""Fonts that are on this machine: one to read, one for code, one for Chinese if there is any."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from PIL import ImageFont

Face = Literal["sans", "bold", "mono"]
AnyFont = ImageFont.FreeTypeFont | ImageFont.ImageFont

# File names in order of liking; a number is the face within a collection (2 is Simplified Chinese
# in Noto's).
_SANS = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "LiberationSans-Regular.ttf", "segoeui.ttf", "Arial.ttf")
_BOLD = ("DejaVuSans-Bold.ttf", "NotoSans-Bold.ttf", "LiberationSans-Bold.ttf", "segoeuib.ttf",
         "Arial Bold.ttf")  # fmt: skip
_MONO = ("DejaVuSansMono.ttf", "NotoSansMono-Regular.ttf", "LiberationMono-Regular.ttf", "consola.ttf",
         "Menlo.ttc")  # fmt: skip
_CHINESE = (("NotoSansCJK-Regular.ttc", 2), ("NotoSansCJKsc-Regular.otf", 0), ("NotoSansSC-Regular.otf", 0),
            ("SourceHanSansSC-Regular.otf", 0), ("wqy-microhei.ttc", 0), ("wqy-zenhei.ttc", 0),
            ("msyh.ttc", 0), ("PingFang.ttc", 0), ("Hiragino Sans GB.ttc", 0))  # fmt: skip
_FIRST_CHINESE = 0x2E80


@dataclass(frozen=True)
class Fonts:
    """Where the fonts are. Without a file for a Latin face Pillow's own stands in for it; without
    one for Chinese, Chinese cannot be drawn.
    """

    sans: Path | None
    bold: Path | None
    mono: Path | None
    chinese: tuple[Path, int] | None

    def of(self, text: str, size: int, face: Face = "sans") -> AnyFont:
        """The font for `text`. Chinese text takes one font as a whole: it has Latin letters, too."""
        if is_chinese(text):
            if self.chinese is None:
                raise ValueError("there is no font for Chinese")
            return _opened(*self.chinese, size)
        chosen = {"sans": self.sans, "bold": self.bold, "mono": self.mono}[face]
        return _built_in(size) if chosen is None else _opened(chosen, 0, size)


def is_chinese(text: str) -> bool:
    return any(ord(character) >= _FIRST_CHINESE for character in text)


def find_fonts(folders: Sequence[Path] | None = None) -> Fonts:
    """The best fonts below `folders` (by default, where this system keeps its fonts)."""
    files = _files(_folders() if folders is None else folders)
    chinese = next(((files[name], index) for name, index in _CHINESE if name in files), None)
    sans, bold, mono = (_first(files, names) for names in (_SANS, _BOLD, _MONO))
    return Fonts(sans, bold or sans, mono, chinese)


def _first(files: dict[str, Path], names: Sequence[str]) -> Path | None:
    return next((files[name] for name in names if name in files), None)


def _files(folders: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in folders:
        for parent, directories, names in os.walk(folder):
            directories.sort()
            for name in sorted(names):
                found.setdefault(name, Path(parent) / name)
    return found


def _folders() -> list[Path]:
    return [folder for folder in _places() if folder.is_dir()]


def _places() -> Iterator[Path]:
    home = Path.home()
    if sys.platform == "win32":
        yield Path(os.environ.get("WINDIR", "C:/Windows")) / "Fonts"
    elif sys.platform == "darwin":
        yield from (Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library" / "Fonts")
    else:
        yield from (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"))
        yield from (home / ".local" / "share" / "fonts", home / ".fonts")


@lru_cache(maxsize=64)
def _opened(path: Path, index: int, size: int) -> AnyFont:
    return ImageFont.truetype(str(path), size, index=index)


@lru_cache(maxsize=16)
def _built_in(size: int) -> AnyFont:
    return ImageFont.load_default(size)
