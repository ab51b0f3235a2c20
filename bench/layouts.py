"""Reading of layouts drawn at random by Chromium: chats with faces, mail, boards, tables, calendars.

Truth is what the document says of its own text. Words are counted over a page as a bag; a line counts where
it stands in the reading to the letter. ``RECOLLECT_BENCH_SEED`` draws others: judge a change by seeds that
were not looked at while it was made.
"""

from __future__ import annotations

import io
import os
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from PIL import Image
from playwright.sync_api import sync_playwright

from bench.report import Report
from engines.ocr.protocol import OcrEngine, open_ocr
from tests.end_to_end.programs import chromium_path

ON_REQUEST = True
SEED = int(os.environ.get("RECOLLECT_BENCH_SEED", "1"))
SCALES = 1.0, 1.25, 2.0
SIZE = {"width": 1100, "height": 680}

_THEMES = {
    "light": "--page:#fff;--text:#1f2328;--panel:#f2f4f7;--line:#d6dae0",
    "dark": "--page:#1b1d21;--text:#dfe1e5;--panel:#26292e;--line:#3a3e45",
}
_WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "font": "DejaVu Sans",
        "names": "Mirela Osei|Tobias Fink|Jun Watanabe|Priya Raman|Olu Adeyemi|Hanna Kowalska|Diego Ruiz",
        "says": "The kiln reached 1,040 degrees at half past two|Shelf four is full of bisque again|"
        "Can somebody bring the glaze samples tomorrow?|Invoice 2291 is still open, due 14 June|"
        "We need twelve more tiles for the frieze|Please lock the back door tonight",
        "labels": "Glaze|Orders|Overdue|Later|Studio|Paid",
        "events": "10:00 Glaze class|14:30 Kiln check|Museum visit|18:00 Open studio",
        "days": "Mon|Tue|Wed|Thu|Fri|Sat|Sun",
    },
    "zh": {
        "font": "Noto Sans CJK SC",
        "names": "王小雨|陈志强|李佳|赵敏|欧阳海|Tobias Fink",
        "says": "窑炉下午两点半升到一千零四十度|第四层架子又满了|明天谁能把釉料样品带来|"
        "发票 2291 还没有付清，六月十四日到期|壁饰还缺十二块瓷砖|今晚请锁好后门",
        "labels": "釉料|订单|逾期|稍后|工作室|已付",
        "events": "10:00 釉料课|14:30 检查窑炉|参观博物馆|18:00 开放日",
        "days": "周一|周二|周三|周四|周五|周六|周日",
    },
}
_ICONS = (
    '<circle cx="12" cy="12" r="9"/><path d="M12 7v5l3 3"/>',
    '<path d="M3 10l9-7 9 7v11H3z"/>',
    '<rect x="3" y="5" width="18" height="14" rx="2"/><path d="M3 7l9 6 9-6"/>',
    '<circle cx="11" cy="11" r="7"/><path d="M20 20l-4-4"/>',
)
# Each line of each text, by where its letters stand.
_TRUTH = """() => {
  const lines = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, range = document.createRange(), rows = {};
    for (let i = 0; i < node.length; i++) {
      range.setStart(node, i); range.setEnd(node, i + 1);
      const box = range.getClientRects()[0];
      if (!box || !box.width) continue;
      const row = rows[Math.round(box.top)] ||= [''];
      row[0] += node.textContent[i];
    }
    for (const row of Object.values(rows)) if (row[0].trim()) lines.push(row[0].trim());
  }
  return lines;
}"""


def main(report: Report) -> None:
    engine = open_ocr("auto", ("eng", "chi_sim"))
    report.line(f"  seed {SEED}")
    for language, scale in product(_WORDS, SCALES):
        words, lines, seconds = Count(), Count(), 0.0
        for picture, truth in _pages(language, scale):
            started = time.process_time()
            read = _tokens(_read(engine, picture))
            seconds += time.process_time() - started
            words += _compared(Counter(w for line in truth for w in _tokens(line)), Counter(read))
            text = " ".join(read)
            lines += Count(sum(" ".join(_tokens(line)) in text for line in truth), len(truth))
        report.row(
            f"{language}, {scale:g}x: words found, CPU", f"{words.share:.3f}, {seconds:.1f} s", goal=">= .97"
        )
        report.row("  lines to the letter; words that are not there", f"{lines.share:.3f}; {words.more}")
    engine.close()


@dataclass(frozen=True, slots=True)
class Count:
    found: int = 0
    true: int = 0
    more: int = 0  # found that is not true

    def __add__(self, other: Count) -> Count:
        return Count(self.found + other.found, self.true + other.true, self.more + other.more)

    @property
    def share(self) -> float:
        return self.found / self.true


def _compared(true: Counter[str], read: Counter[str]) -> Count:
    return Count((true & read).total(), true.total(), (read - true).total())


def _read(engine: OcrEngine, picture: Image.Image) -> str:
    return "\n".join(line.text for line in engine.read(picture))


def _tokens(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+|[\u4e00-\u9fff]", text.lower())


def _pages(language: str, scale: float) -> Iterator[tuple[Image.Image, list[str]]]:
    """Each layout in each theme, with the lines of its text."""
    drawing = Drawing(language, random.Random(SEED))
    layouts: tuple[Callable[[], str], ...] = (
        drawing.chat, drawing.bubbles, drawing.mail, drawing.board, drawing.table,
        drawing.settings, drawing.month,
    )  # fmt: skip
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        for layout, colours in product(layouts, _THEMES.values()):
            page = browser.new_page(viewport=SIZE, device_scale_factor=scale)
            page.set_content(
                f"<style>:root{{{colours}}}body{{margin:0;background:var(--page);color:var(--text);"
                f"font:{drawing.random.choice((13, 14, 15))}px {_WORDS[language]['font']}}}</style>{layout()}"
            )
            yield Image.open(io.BytesIO(page.screenshot())).convert("RGB"), page.evaluate(_TRUTH)
            page.close()
        browser.close()


class Drawing:
    """HTML of the layouts, with the words of one language. Initials in faces are no text: they are drawn."""

    def __init__(self, language: str, chance: random.Random) -> None:
        self.random = chance
        self._words = {kind: words.split("|") for kind, words in _WORDS[language].items()}

    def _one(self, kind: str) -> str:
        return self.random.choice(self._words[kind])

    def _colour(self, light: int = 45) -> str:
        return f"hsl({self.random.randrange(360)} 55% {light}%)"

    def _icon(self, size: int = 16) -> str:
        return (
            f'<svg width="{size}" height="{size}" viewBox="0 0 24 24" fill="none" stroke="currentColor"'
            f' stroke-width="2">{self.random.choice(_ICONS)}</svg>'
        )

    def _face(self, size: int) -> str:
        return (
            f'<span style="width:{size}px;height:{size}px;flex:none;background:{self._colour()};'
            f'border-radius:{self.random.choice((size, 8, 4))}px"></span>'
        )

    def _label(self) -> str:
        return (
            f'<span style="background:{self._colour(85)};color:#222;border-radius:8px;padding:1px 8px;'
            f'font-size:11px">{self._one("labels")}</span>'
        )

    def _clock(self) -> str:
        return f"{self.random.randrange(9, 18)}:{self.random.randrange(10, 60)}"

    def _repeated(self, times: int, made: Callable[[], str]) -> str:
        return "".join(made() for _ in range(times))

    def chat(self) -> str:
        def message() -> str:
            return (
                f'<div style="display:flex;gap:10px;margin:14px">{self._face(36)}<div>'
                f"<b>{self._one('names')}</b> {self._clock()}<div>{self._one('says')}</div></div></div>"
            )

        return self._repeated(9, message)

    def bubbles(self) -> str:
        def bubble() -> str:
            own = self.random.random() < 0.5
            return (
                '<div style="display:flex;gap:8px;margin:10px;'
                f'flex-direction:row{"-reverse" if own else ""}">'
                f'{self._face(32)}<div style="background:{"#2a6df4" if own else "var(--panel)"};'
                f'color:{"#fff" if own else "inherit"};border-radius:16px;padding:9px 13px">'
                f"{self._one('says')}</div>"
                f'<span style="font-size:11px;align-self:end">{self._clock()}</span></div>'
            )

        return self._repeated(10, bubble)

    def mail(self) -> str:
        def row() -> str:
            return (
                '<div style="display:flex;gap:12px;padding:9px;border-bottom:1px solid var(--line)">'
                f"<input type=checkbox>{self._icon()}{self._face(24)}"
                f'<b style="width:150px">{self._one("names")}</b>'
                f'<span style="flex:1">{self._one("says")}</span>{self._label()}'
                f"<span>{self._clock()}</span></div>"
            )

        return self._repeated(11, row)

    def board(self) -> str:
        def card() -> str:
            return (
                '<div style="background:var(--page);border:1px solid var(--line);border-radius:6px;'
                f'padding:10px;margin-top:10px">{self._one("says")}'
                '<div style="display:flex;gap:6px;margin-top:8px">'
                f"{self._label()}KLN-{self.random.randrange(100, 999)}</div></div>"
            )

        def column() -> str:
            return f'<div style="flex:1;background:var(--panel);padding:10px">{self._repeated(5, card)}</div>'

        return f'<div style="display:flex;gap:14px;padding:14px">{self._repeated(3, column)}</div>'

    def table(self) -> str:
        def row() -> str:
            cells = (
                self._icon(), self._one("names"), f"#{self.random.randrange(1000, 9999)}",
                f"{self.random.randrange(10, 999)}.{self.random.randrange(10, 99)} €", self._label(),
            )  # fmt: skip
            tds = "".join(f'<td style="padding:8px">{cell}</td>' for cell in cells)
            return f'<tr style="border-bottom:1px solid var(--line)">{tds}</tr>'

        return f'<table style="width:100%;border-collapse:collapse">{self._repeated(14, row)}</table>'

    def settings(self) -> str:
        def row() -> str:
            return (
                '<div style="display:flex;gap:14px;padding:12px;border-bottom:1px solid var(--line)">'
                f'{self._icon(22)}<div>{self._one("says")}<div style="font-size:12px;opacity:.7">'
                f"{self._one('says')}</div></div></div>"
            )

        return self._repeated(8, row)

    def month(self) -> str:
        numbers = iter(range(1, 29))

        def cell() -> str:
            event = (
                f'<div style="background:{self._colour(40)};color:#fff;border-radius:4px;padding:2px 5px">'
                f"{self._one('events')}</div>"
            )
            has_event = self.random.random() < 0.5
            return f"<td>{next(numbers)}{event if has_event else ''}</td>"

        heads = "".join(f"<th>{day}</th>" for day in self._words["days"])
        rows = self._repeated(4, lambda: f"<tr>{self._repeated(7, cell)}</tr>")
        return (
            "<style>td,th{border:1px solid var(--line);vertical-align:top;padding:4px;font-size:12px}</style>"
            '<table style="width:100%;height:600px;border-collapse:collapse;table-layout:fixed">'
            f"{heads}{rows}</table>"
        )
