"""Which golden frames there are: a page, a theme, a font, a size, a scale.

Colours are the ordinary ones of today's programs, so the low-contrast themes are what people
really look at and not a torture test.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

from tests.golden import prose

SANS, SERIF, MONO = "'Liberation Sans'", "'Liberation Serif'", "'DejaVu Sans Mono'"
DEJAVU, NARROW, CJK = "'DejaVu Sans'", "'Liberation Sans Narrow'", "'Noto Sans CJK SC'"
CJK_SERIF, PALATINO, BOOK = "'Noto Serif CJK SC'", "P052", "'URW Bookman'"

LIGHT = {
    "bg": "#ffffff", "ink": "#1f2328", "muted": "#656d76", "panel": "#f3f5f7", "rule": "#d8dee4",
    "accent": "#0b57d0", "keyword": "#a626a4", "string": "#2f8132", "number": "#a35200",
    "function": "#1f5fc4",
}  # fmt: skip
DARK = {
    "bg": "#1e1f22", "ink": "#d4d7dd", "muted": "#8b909a", "panel": "#2a2c31", "rule": "#3c3f45",
    "accent": "#3b6fd4", "keyword": "#cf8e6d", "string": "#6aab73", "number": "#2aacb8",
    "function": "#56a8f5",
}  # fmt: skip
BLACK = DARK | {"bg": "#000000", "ink": "#e6edf3", "panel": "#0d1117", "muted": "#7d8590"}
SOLAR = LIGHT | {"bg": "#fdf6e3", "ink": "#586e75", "panel": "#eee8d5", "muted": "#7f8f93",
                 "keyword": "#859900", "string": "#2aa198", "function": "#268bd2"}  # fmt: skip
FAINT_LIGHT = LIGHT | {"ink": "#8a9099", "muted": "#a3a8af", "accent": "#7a9fd8"}
FAINT_DARK = DARK | {"ink": "#777c85", "muted": "#666b73"}
PHOTO_LIGHT = LIGHT | {"panel": "#fffffff2"}
PHOTO_DARK = DARK | {"panel": "#16181ce6", "ink": "#e8eaee"}


@dataclass(frozen=True, slots=True)
class PageFrame:
    """A page in Chromium. `scale` is device pixels per CSS pixel; the picture is always 1080p."""

    name: str
    page: str
    kind: str
    theme: str
    colours: dict[str, str]
    font: str = SANS
    size: float = 14
    scale: float = 1
    lcd: bool = False
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TerminalFrame:
    """An xterm that fills the screen with lines of text."""

    name: str
    theme: str
    options: tuple[str, ...]
    lines: tuple[str, ...]
    kind: str = "en"


def _wrapped(width: int) -> tuple[str, ...]:
    paragraphs = [*prose.GARDEN, *prose.HARBOUR, *prose.WORKSHOP]
    return tuple(line for text in paragraphs for line in [*textwrap.wrap(text, width), ""])


def _listing() -> tuple[str, ...]:
    rows = []
    for number, row in enumerate(prose.PARTS):
        size_bytes = int(row[3].replace(",", "")) * 37
        file = row[1].lower().replace(", ", "_").replace(" ", "-")
        clock = f"{8 + number % 9:02}:{number * 17 % 60:02}"
        rows.append(f"-rw-r--r-- 1 keeper harbour {size_bytes:>8} Mar {number + 3:>2} {clock} {file}.csv")
    return ("keeper@quay:~/inventory$ ls -l", *rows, "keeper@quay:~/inventory$ python tides.py",
            *prose.CODE.splitlines()[:34])  # fmt: skip


def _windows() -> list[dict[str, Any]]:
    return [
        {"x": 30, "y": 30, "w": 900, "h": 620, "bg": "#ffffff", "ink": "#222222", "title": "Reader",
         "texts": [*prose.HARBOUR, *prose.GARDEN]},
        {"x": 955, "y": 60, "w": 930, "h": 760, "bg": "#1e1f22", "ink": "#d4d7dd", "title": "tides.py",
         "code": True},
        {"x": 420, "y": 560, "w": 800, "h": 480, "bg": "#fbf7ee", "ink": "#433a2b", "title": "Workshop notes",
         "texts": prose.WORKSHOP},
    ]  # fmt: skip


def _side_by_side() -> list[dict[str, Any]]:
    return [
        {"x": 0, "y": 0, "w": 960, "h": 1080, "bg": "#1e1f22", "ink": "#d4d7dd", "title": "Left document",
         "texts": [*prose.GARDEN, *prose.WORKSHOP]},
        {"x": 960, "y": 0, "w": 960, "h": 1080, "bg": "#ffffff", "ink": "#222222", "title": "Right document",
         "texts": [*prose.HARBOUR, *prose.GARDEN[:1]]},
    ]  # fmt: skip


def _two_languages() -> list[dict[str, Any]]:
    return [
        {"x": 20, "y": 20, "w": 930, "h": 980, "bg": "#ffffff", "ink": "#222222", "title": "读者 Reader",
         "texts": prose.CHINESE},
        {"x": 970, "y": 20, "w": 930, "h": 980, "bg": "#22252a", "ink": "#d8dbe0", "title": "Notes",
         "texts": [*prose.WORKSHOP, *prose.CHINESE_MIXED]},
    ]  # fmt: skip


FRAMES: list[PageFrame | TerminalFrame] = [
    PageFrame("article_light_serif17", "article", "en", "light", LIGHT, SERIF, 17),
    PageFrame("article_light_palatino15", "article", "en", "light", SOLAR, PALATINO, 15),
    PageFrame("article_light_small11", "article", "en", "light", LIGHT, SANS, 11, more={"columns": 2}),
    PageFrame("article_light_hidpi2", "article", "en", "light", LIGHT, SANS, 15, 2),
    PageFrame("article_light_lcd14", "article", "en", "light", LIGHT, SANS, 14, lcd=True),
    PageFrame("docs_light_hidpi15", "docs", "en", "light", LIGHT, DEJAVU, 13, 1.5),
    PageFrame("mail_light13", "mail", "en", "light", LIGHT, SANS, 13),
    PageFrame("table_light_zebra12", "table", "en", "light", LIGHT, SANS, 12, more={"zebra": True}),
    PageFrame("code_light13", "code", "en", "light", LIGHT, SANS, 13),
    PageFrame("chat_light_lcd15", "chat", "en", "light", LIGHT, DEJAVU, 15, lcd=True),
    PageFrame("settings_light15", "settings", "en", "light", LIGHT, SANS, 15),
    PageFrame("faint_light14", "docs", "en", "light", FAINT_LIGHT, SANS, 14),
    PageFrame("photo_light16", "photo", "en", "light", PHOTO_LIGHT, SANS, 16),
    PageFrame("article_dark_book15", "article", "en", "dark", DARK, BOOK, 15),
    PageFrame("docs_dark13", "docs", "en", "dark", DARK, SANS, 13),
    PageFrame("mail_dark_lcd14", "mail", "en", "dark", BLACK, SANS, 14, lcd=True),
    PageFrame("table_dark_narrow14", "table", "en", "dark", DARK, NARROW, 14),
    PageFrame("code_dark13", "code", "en", "dark", DARK, SANS, 13),
    PageFrame("code_dark_small11", "code", "en", "dark", BLACK, SANS, 11),
    PageFrame("code_dark_hidpi2", "code", "en", "dark", DARK, SANS, 12, 2),
    PageFrame("dashboard_dark14", "dashboard", "en", "dark", DARK, SANS, 14),
    PageFrame("faint_dark14", "article", "en", "dark", FAINT_DARK, SANS, 14),
    PageFrame("photo_dark16", "photo", "en", "dark", PHOTO_DARK, DEJAVU, 16),
    PageFrame("windows_side_by_side", "windows", "en", "mixed", LIGHT, SANS, 15,
              more={"windows": _side_by_side()}),
    PageFrame("windows_overlapping", "windows", "en", "mixed", LIGHT, SANS, 14,
              more={"windows": _windows()}),
    PageFrame("chinese_light16", "chinese", "zh", "light", LIGHT, CJK, 16),
    PageFrame("chinese_dark14", "chinese", "zh", "dark", DARK, CJK, 14),
    PageFrame("chinese_serif18", "chinese", "zh", "light", SOLAR, CJK_SERIF, 18),
    PageFrame("chinese_hidpi2", "chinese", "zh", "light", LIGHT, CJK, 14, 2),
    PageFrame("chinese_tasks14", "chinese_tasks", "zh", "light", LIGHT, CJK, 14),
    PageFrame("chinese_mixed_dark15", "chinese_mixed", "zh", "dark", DARK, CJK, 15),
    PageFrame("windows_two_languages", "windows", "zh", "light", LIGHT, CJK, 15,
              more={"windows": _two_languages()}),
    TerminalFrame("xterm_dark_dejavu10", "dark",
                  ("-fa", "DejaVu Sans Mono", "-fs", "10", "-bg", "#101418", "-fg", "#d0d4da"), _listing()),
    TerminalFrame("xterm_dark_bitmap6x13", "dark", ("-fn", "6x13", "-bg", "black", "-fg", "grey80"),
                  _wrapped(150)),
    TerminalFrame("xterm_light_lcd11", "light",
                  ("-fa", "Liberation Mono:rgba=rgb:lcdfilter=lcddefault", "-fs", "11",
                   "-bg", "#fffff8", "-fg", "#202020"), _wrapped(110)),
    TerminalFrame("xterm_light_bitmap8x13", "light", ("-fn", "8x13", "-bg", "#f4f4f4", "-fg", "#203060"),
                  _listing()),
]  # fmt: skip
