"""Pictures of a desktop: a panel with a clock, one window, and text whose every line is noted."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Literal

from PIL import Image, ImageDraw, ImageFont

WIDTH_PX, HEIGHT_PX = 1440, 900
PANEL_PX = 30
TITLE_PX = 38
TOP_PX = PANEL_PX + TITLE_PX
"""Where a window's own area begins."""

_PANEL, _PANEL_TEXT = "#1f2430", "#e8eaf0"
_PIECE = re.compile(r"[⺀-鿿＀-￯]|[^\s⺀-鿿＀-￯]+\s*|\s+")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

Span = tuple[str, str]
"""Text and its colour."""


class Canvas:
    """A picture under way. `lines` is every text that was drawn, top to bottom as drawn."""

    def __init__(self, fonts: Fonts, background: str) -> None:
        self.fonts = fonts
        self.lines: list[str] = []
        self.image = Image.new("RGB", (WIDTH_PX, HEIGHT_PX), background)
        self._draw = ImageDraw.Draw(self.image)

    def text(
        self, x: int, y: int, text: str, colour: str, size: int = 16, face: Face = "sans", note: bool = True
    ) -> int:
        """Draw one line with its top at `y`; returns where it ends. `note` makes it part of `lines`."""
        font = self.fonts.of(text, size, face)
        end = x + round(font.getlength(text))
        if end > WIDTH_PX:
            raise ValueError(f"{text!r} does not fit on the screen")
        self._draw.text((x, y), text, font=font, fill=colour)
        if note and text.strip():
            self.lines.append(text.strip())
        return end

    def spans(self, x: int, y: int, spans: Sequence[Span], size: int = 16, face: Face = "mono") -> None:
        """One line in several colours."""
        for text, colour in spans:
            x = self.text(x, y, text, colour, size, face, note=False)
        line = "".join(text for text, _ in spans).strip()
        if line:
            self.lines.append(line)

    def right(
        self, x: int, y: int, text: str, colour: str, size: int = 16, face: Face = "sans", note: bool = True
    ) -> None:
        """One line that ends at `x`."""
        self.text(x - self.width(text, size, face), y, text, colour, size, face, note)

    def width(self, text: str, size: int = 16, face: Face = "sans") -> int:
        return round(self.fonts.of(text, size, face).getlength(text))

    def wrapped(self, text: str, size: int, width_px: int, face: Face = "sans") -> Iterator[str]:
        """The lines that `text` takes in a column; Chinese breaks between any two characters."""
        line = ""
        for piece in _PIECE.findall(text):
            if line and self.width((line + piece).rstrip(), size, face) > width_px:
                yield line.rstrip()
                line = ""
            line += piece
        if line.strip():
            yield line.rstrip()

    def box(
        self, left: int, top: int, right: int, bottom: int, fill: str | None, outline: str | None = None,
        radius: int = 0
    ) -> None:  # fmt: skip
        self._draw.rounded_rectangle((left, top, right, bottom), radius, fill, outline)

    def line(self, left: int, top: int, right: int, bottom: int, colour: str) -> None:
        self._draw.line((left, top, right, bottom), fill=colour)

    def disc(self, x: int, y: int, radius: int, colour: str) -> None:
        self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)

    def initial(self, x: int, y: int, name: str, colour: str) -> None:
        """A round badge with the first letter of a name."""
        self.disc(x + 17, y + 17, 17, colour)
        wide = self.width(name[0], 16, "bold")
        self.text(x + 17 - wide // 2, y + (5 if is_chinese(name[0]) else 8), name[0], "#ffffff", 16, "bold",
                  note=False)  # fmt: skip

    def webp(self) -> bytes:
        """Lossless, as capture keeps its pictures."""
        buffer = io.BytesIO()
        self.image.save(buffer, "WEBP", lossless=True, quality=20, method=1)
        return buffer.getvalue()


def desktop(
    fonts: Fonts, at: datetime, app: str, title: str, *, background: str, bar: str, ink: str
) -> Canvas:
    """A screen with an empty window of `app`, whose own area begins at `TOP_PX`; `bar` and `ink` colour
    its title bar.
    """
    canvas = Canvas(fonts, background)
    canvas.box(0, 0, WIDTH_PX, PANEL_PX, _PANEL)
    canvas.text(16, 7, app, _PANEL_TEXT, 14, "bold")
    clock = f"{_DAYS[at.weekday()]} {at.day} {at:%H:%M}"
    canvas.text((WIDTH_PX - canvas.width(clock, 14)) // 2, 7, clock, _PANEL_TEXT, 14)
    for number, colour in enumerate(("#5c6370", "#5c6370", "#5c6370")):
        canvas.disc(WIDTH_PX - 24 - 22 * number, PANEL_PX // 2, 5, colour)
    canvas.box(0, PANEL_PX, WIDTH_PX, TOP_PX, bar)
    middle = (WIDTH_PX - canvas.width(title, 15, "bold")) // 2
    canvas.text(middle, PANEL_PX + 9, title, ink, 15, "bold")
    for number, colour in enumerate(("#d0453b", "#8a909c", "#8a909c")):
        canvas.disc(WIDTH_PX - 26 - 26 * number, PANEL_PX + TITLE_PX // 2, 7, colour)
    return canvas


Face = Literal["sans", "bold", "mono"]
FontFile = tuple[str, int]
AnyFont = ImageFont.FreeTypeFont | ImageFont.ImageFont

# File names in order of liking, with the face within a collection (2 is Simplified Chinese in Noto's). Pillow
# looks for them where this system keeps its fonts.
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
    """The (file, face) of each font. Without one for a Latin face Pillow's own stands in for it; without one
    for Chinese, Chinese cannot be drawn.
    """

    sans: FontFile | None = None
    bold: FontFile | None = None
    mono: FontFile | None = None
    chinese: FontFile | None = None

    def of(self, text: str, size: int, face: Face = "sans") -> AnyFont:
        """The font for `text`. Chinese text takes one font as a whole: it has Latin letters, too."""
        if is_chinese(text) and self.chinese is None:
            raise ValueError("there is no font for Chinese")
        chosen = {"sans": self.sans, "bold": self.bold, "mono": self.mono}[face]
        return _opened(self.chinese if is_chinese(text) else chosen, size)


def is_chinese(text: str) -> bool:
    return any(ord(character) >= _FIRST_CHINESE for character in text)


def find_fonts() -> Fonts:
    """The best fonts of this system."""
    sans, bold, mono = (_found([(name, 0) for name in names]) for names in (_SANS, _BOLD, _MONO))
    return Fonts(sans, bold or sans, mono, _found(_CHINESE))


def _found(files: Iterable[FontFile]) -> FontFile | None:
    for name, face in files:
        with suppress(OSError):
            return str(ImageFont.truetype(name, index=face).path), face
    return None


@lru_cache(maxsize=64)
def _opened(font: FontFile | None, size: int) -> AnyFont:
    return ImageFont.load_default(size) if font is None else ImageFont.truetype(font[0], size, font[1])
