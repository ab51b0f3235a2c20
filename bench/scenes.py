"""Records what people do at a screen, with real programs on a virtual one, and what stands there.

Chromium shows pages made here (articles, tables, code, chats; light and dark; English and Chinese; unlike
fonts and widths, drawn by the seed), xterm shows a log. Each scene is a list of frames. A planted sentence
counts for a frame when the page says that its ends are in view and nothing lies over them.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import mss
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.end_to_end.programs import chromium_path, x_display

WIDTH, HEIGHT = 1920, 1080
_PAINT_MS = 120

_EN = (
    "The {n}th crate of pears left gate {k} without a seal",
    "Platform {k} is closed until the crane is moved, said guard {n}",
    "Room {n} needs a new lock and two hinges before spring",
    "A refund of {n} euro was booked for ticket {k} yesterday",
    "Nurse Okafor measured {k} litres at bed {n} this morning",
    "Please send form {n} to the registry by the {k}th of June",
    "Engine {k} lost pressure after {n} minutes on the test bench",
    "The choir sings {k} songs in front of {n} guests tonight",
    "Clause {k} was struck from draft {n} by both lawyers",
    "Parcel {n} waits behind the counter of shop {k}",
)  # fmt: skip
_ZH = (
    "第{n}号仓库的钥匙放在{k}楼前台",
    "病人{n}今天早上量了{k}次血压",
    "明天下午{k}点以前请把表格{n}交给老师",
    "合同{n}的第{k}条已经由双方律师删除",
    "列车{n}次晚点{k}分钟到达南京站",
    "会议室{k}改在三楼，参加人数{n}人",
    "订单{n}共有{k}箱苹果，还没有付款",
    "新机器运行{n}小时以后需要更换{k}个零件",
)  # fmt: skip
_KO = (
    "{n}번 창고의 열쇠는 {k}층 안내 데스크에 있습니다",
    "환자 {n}명이 오늘 아침 {k}번 진료실에서 기다립니다",
    "내일 오후 {k}시까지 서류 {n}장을 제출해 주세요",
    "열차 {n}호가 {k}분 늦게 부산역에 도착했습니다",
)  # fmt: skip
_RU = (
    "Ключ от склада {n} лежит на этаже {k} у дежурного",
    "Поезд {n} опоздал на {k} минут из-за ремонта моста",
    "Пациент {n} сегодня утром ждал врача {k} минут",
    "Пункт {k} договора {n} вычеркнули оба юриста",
)  # fmt: skip
_SENTENCES = {"en": _EN, "zh": _ZH, "ko": _KO, "ru": _RU}
_FILL = {
    "ko": (
        "대부분의 일은 아무도 오기 전에 끝나고 아무도 적어 두지 않습니다",
        "올해 겨울은 길었지만 다리는 이틀 밤만 닫혔습니다",
        "마지막으로 나가는 사람이 화분에 물을 주는 것이 규칙입니다",
    ),
    "ru": (
        "Большая часть работы делается раньше, чем кто-нибудь приходит",
        "Зима была долгой, но мост закрывали только на две ночи",
        "Кто уходит последним, тот поливает цветы на окне",
    ),
    "en": (
        "Most of the work happens before anybody arrives, and nobody writes it down",
        "Winter was long this year, yet the bridge stayed open for all but two nights",
        "When the old printer stopped, we found eleven letters that were never sent",
        "There is a quiet rule here that the last person to leave waters the plants",
        "Three of the samples were warm, one was cracked, and the rest looked fine",
        "Ask at the desk for a map, because the signs still show last season's paths",
    ),
    "zh": (
        "很多工作在大家到达之前就已经完成了，可是没有人把它写下来",
        "今年的冬天特别长，但是那座桥只关闭了两个晚上",
        "旧打印机停下来的时候，我们发现有十一封信从来没有寄出去",
        "这里有一个不成文的规定，最后离开的人要给花浇水",
        "三个样品是温的，一个已经裂开，其余的看起来都很好",
    ),
}
TEXTS = tuple(text for texts in (*_SENTENCES.values(), *_FILL.values()) for text in texts)
"""What all text of the scenes is made of."""

_FONTS = {
    "en": ("DejaVu Sans", "Nimbus Roman", "URW Bookman", "Nimbus Sans", "P052", "DejaVu Serif"),
    "zh": ("Noto Sans CJK SC", "Noto Serif CJK SC"),
    "ko": ("Noto Sans CJK KR", "Noto Serif CJK KR"),
    "ru": ("DejaVu Sans", "DejaVu Serif", "Noto Sans CJK SC"),
    "mono": ("DejaVu Sans Mono", "Nimbus Mono PS"),
}
_COLOURS = {
    "light": ("#ffffff", "#1d1d1f", "#f0f2f5", "#d0d4da", "#0b57d0"),
    "paper": ("#fbf6ea", "#3a2f24", "#efe6d2", "#d9ccb0", "#8a4b08"),
    "dark": ("#16181d", "#d5d8de", "#22252c", "#3a3f49", "#7fb2ff"),
    "night": ("#002b36", "#93a1a1", "#073642", "#0f4a58", "#2aa198"),
}

# What scenes do to their page.
_SCRIPT = """
  const byId = id => document.getElementById(id), all = which => document.querySelectorAll(which);
  function placeCaret() {
    const text = byId('edit').firstChild;
    byId('edit').focus();
    getSelection().collapse(text, Math.floor(text.length / 2));
  }
  function showBox(left, top) {
    Object.assign(byId('box').style, {display: 'block', left: left + 'px', top: top + 'px'});
  }
  function draw(n) {
    const c = all('canvas')[0].getContext('2d');
    for (let y = 0; y < 260; y += 4) for (let x = 0; x < 400; x += 4) {
      const colour = [(x * 3 + y * y / 40 + n * 41) % 360, 40 + (x + n * 13) % 50, 20 + (y + n * 29) % 60];
      c.fillStyle = `hsl(${colour[0]} ${colour[1]}% ${colour[2]}%)`;
      c.fillRect(x, y, 4, 4);
    }
    byId('clock').textContent = `12:00:${String(n).padStart(2, '0')}`;
  }
  function write(row, text) {
    const lines = all('.line'), place = lines[row].getBoundingClientRect();
    lines.forEach(line => line.classList.toggle('now', line === lines[row]));
    lines[row].append(text);
    showBox(place.left + 340, place.bottom);
    if (text.length < 6) byId('box').style.display = 'none';
  }
"""

# Sentences that stand in view with nothing over them, with their places on the screen.
_PLANTED_JS = """
() => [...document.querySelectorAll('.p')].flatMap(e => {
  const r = e.getBoundingClientRect(), y = (r.top + r.bottom) / 2;
  const top = (x) => { const o = document.elementFromPoint(x, y); return o && (o === e || e.contains(o)); };
  const clear = [0.02, 0.25, 0.5, 0.75, 0.98].every(s => top(r.left + s * r.width));
  if (!clear || r.top < 0 || r.bottom > innerHeight) return [];
  for (let b = e.parentElement; b; b = b.parentElement) {
    const c = b.getBoundingClientRect();
    if (getComputedStyle(b).overflow !== 'visible' && (r.top < c.top || r.bottom > c.bottom)) return [];
  }
  const dx = screenX, dy = screenY + outerHeight - innerHeight;
  return [[e.textContent, r.left + dx, r.top + dy, r.right + dx, r.bottom + dy]];
})
"""


@dataclass(frozen=True, slots=True)
class Frame:
    image: Path
    planted: tuple[str, ...]

    def open(self) -> Image.Image:
        return Image.open(self.image).convert("RGB")


Grab = Callable[[], None]
Scene = Callable[["Desktop", Grab], None]


def recorded(folder: Path, seed: int) -> dict[str, list[Frame]]:
    """Frames by scene; recorded into `folder` first, where it does not hold this seed's yet."""
    folder = folder / str(seed)
    if not folder.is_dir():
        partial = folder.with_name(f"{seed}.partial")
        for name, scene in SCENES.items():
            with x_display(f"{WIDTH}x{HEIGHT}x24") as display:
                Desktop(display, partial / name, random.Random(f"{seed} {name}")).record(scene)
        partial.rename(folder)
    return {name: list(_frames(folder / name)) for name in SCENES}


def _frames(folder: Path) -> Iterator[Frame]:
    for path in sorted(folder.glob("*.webp")):
        yield Frame(path, tuple(json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))))


class Desktop:
    """One virtual screen with a window manager; what a scene does to it, and the frames that shows."""

    def __init__(self, display: str, folder: Path, chance: random.Random) -> None:
        self.display, self.chance = display, chance
        self._folder = folder
        self._stack = ExitStack()
        self._pages: list[Page] = []
        self._logs: list[tuple[Path, list[str], int, tuple[int, int, int, int]]] = []
        self._count = 0

    def record(self, scene: Scene) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._stack, mss.MSS(display=self.display) as screen:
            self._start("openbox", "--sm-disable")
            playwright = self._stack.enter_context(sync_playwright())
            browser = playwright.chromium.launch(
                executable_path=chromium_path(),
                headless=False,
                env={**os.environ, "DISPLAY": self.display},
                args=["--no-sandbox", "--disable-gpu", f"--window-size={WIDTH},{HEIGHT}"],
            )
            self._stack.callback(browser.close)
            self._browser = browser
            scene(self, lambda: self._grab(screen))

    def sentence(self, kind: str) -> str:
        values = {"n": self.chance.randrange(120, 990), "k": self.chance.randrange(3, 29)}
        return self.chance.choice(_SENTENCES[kind]).format(**values)

    def filler(self, kind: str) -> str:
        return self.chance.choice(_FILL[kind])

    def planted(self, kind: str) -> str:
        return f'<span class="p">{escape(self.sentence(kind))}</span>'

    def paragraph(self, kind: str, sentences: int = 4) -> str:
        stop = "。" if kind == "zh" else ". "
        parts = [self.filler(kind) for _ in range(sentences - 1)]
        parts.insert(self.chance.randrange(len(parts) + 1), self.planted(kind))
        return stop.join(parts) + stop

    def page(
        self, kind: str, theme: str, body: str, size: int, *, mono: bool = False, style: str = ""
    ) -> Page:
        paper, ink, panel, line, accent = _COLOURS[theme]
        font = self.chance.choice(_FONTS["mono" if mono else kind])
        html = f"""<!doctype html><html lang="{kind}"><title>Scene of {kind}</title><style>
          * {{ box-sizing: border-box }} .p {{ white-space: nowrap }}
          html {{ background: {paper}; color: {ink}; font: {size}px/1.5 '{font}', 'Noto Sans CJK SC' }}
          body {{ margin: 0; padding: 2em 3em; height: 100vh; overflow: hidden }}
          .panel {{ background: {panel}; border: 1px solid {line}; padding: .6em 1em }}
          .accent {{ color: {accent} }} .scroll {{ overflow-y: auto }}
          td, th {{ border-bottom: 1px solid {line}; padding: .2em .8em; text-align: left }}
          [contenteditable] {{ outline: none }} #box {{ position: fixed; display: none }}
          {style}</style><script>{_SCRIPT}</script><body>{body}</body></html>"""
        page = self._browser.new_context(no_viewport=True).new_page()
        page.set_content(html)
        page.evaluate("document.fonts.ready")
        self._pages = [page]
        return page

    def terminal(
        self, geometry: str, colours: tuple[str, str], font: str, rows: int
    ) -> Callable[[str], None]:
        """An xterm that follows a file; returns what adds a line to it."""
        path = self._folder / f"log{len(self._logs)}.txt"
        path.write_text("", encoding="utf-8")
        self._start(
            "xterm", "-T", path.stem, "-geometry", geometry, "-fg", colours[0], "-bg", colours[1],
            "-fa", font, "-fs", "10", "-e", "tail", "-f", str(path),
        )  # fmt: skip
        self._wait(1500)
        lines: list[str] = []
        self._logs.append((path, lines, rows, self._rectangle(path.stem)))

        def add(line: str) -> None:
            lines.append(line)
            with path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")

        return add

    def raise_terminal(self, up: bool) -> None:
        name = f"^{self._logs[0][0].stem}$" if up else "^Scene "
        self._do("xdotool", "search", "--name", name, "windowactivate", "--sync")
        self._is_below = not up

    _is_below = False

    def _rectangle(self, name: str) -> tuple[int, int, int, int]:
        out = self._do("xdotool", "search", "--name", f"^{name}$", "getwindowgeometry", "--shell")
        facts = dict(line.split("=") for line in out.split() if "=" in line)
        x, y, w, h = (int(facts[key]) for key in ("X", "Y", "WIDTH", "HEIGHT"))
        return x - 6, y - 30, x + w + 6, y + h + 6

    def _grab(self, screen: Any) -> None:
        for page in self._pages:
            page.evaluate(
                "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
        self._wait(_PAINT_MS)
        shot = screen.grab(screen.monitors[0])
        path = self._folder / f"{self._count:03}.webp"
        Image.frombytes("RGB", shot.size, shot.rgb).save(path, "WEBP", lossless=True, quality=20, method=1)
        path.with_suffix(".json").write_text(
            json.dumps(self._visible(), ensure_ascii=False), encoding="utf-8"
        )
        self._count += 1

    def _visible(self) -> list[str]:
        above = [] if self._is_below else [rectangle for *_, rectangle in self._logs]
        shown = []
        for text, left, top, right, bottom in (
            found for page in self._pages for found in page.evaluate(_PLANTED_JS)
        ):
            if all(right <= x0 or x1 <= left or bottom <= y0 or y1 <= top for x0, y0, x1, y1 in above):
                shown.append(text)
        if not self._is_below:
            for _, lines, rows, _rectangle in self._logs:
                shown += [line.split("  ", 1)[1] for line in lines[-(rows - 1) :] if "  " in line]
        return shown

    def _start(self, *command: str) -> None:
        process = subprocess.Popen(
            command,
            env={**os.environ, "DISPLAY": self.display},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)

    def _do(self, *command: str) -> str:
        environment = {**os.environ, "DISPLAY": self.display}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    def _wait(self, ms: int) -> None:
        if self._pages:
            self._pages[0].wait_for_timeout(ms)
        else:
            time.sleep(ms / 1000)


def _typing(kind: str, theme: str, size: int) -> Scene:
    """Words come into the middle of a paragraph, so everything behind them moves on."""

    def play(desk: Desktop, grab: Grab) -> None:
        paragraphs = [f"<p>{desk.paragraph(kind)}</p>" for _ in range(9)]
        paragraphs[3] = f'<p id="edit" contenteditable>{desk.filler(kind)} {desk.paragraph(kind)}</p>'
        style = f"p {{ max-width: {desk.chance.randrange(36, 60)}em }}"
        page = desk.page(kind, theme, "".join(paragraphs), size, style=style)
        page.evaluate("placeCaret()")
        grab()
        text = desk.sentence(kind)
        step = 2 if kind == "zh" else 7
        for at in range(0, len(text), step):
            page.keyboard.insert_text(text[at : at + step])
            grab()

    return play


def _scrolling(kind: str, theme: str, size: int) -> Scene:
    """A page under a fixed header moves by odd distances, also back."""

    def play(desk: Desktop, grab: Grab) -> None:
        text = "".join(f"<p>{desk.paragraph(kind, 3)}</p>" for _ in range(30))
        side = "".join(f"<div>{desk.planted(kind)}</div>" for _ in range(12))
        body = f"""<div class="panel" style="height: 3em">{desk.planted(kind)}</div>
          <div style="display: flex; height: calc(100% - 3em)">
            <div class="panel" style="flex: 0 0 30em">{side}</div>
            <div id="scroll" style="padding: 0 2em; flex: 1; overflow-y: auto">{text}</div></div>"""
        page = desk.page(kind, theme, body, size)
        grab()
        for distance in (37, 53, 113, 7, 211, -91, 149, 3, -160, 500):
            page.evaluate(f"byId('scroll').scrollTop += {distance}")
            grab()

    return play


def _table(kind: str, theme: str, size: int) -> Scene:
    """Cells change, a row is chosen, the rows are sorted anew."""

    def play(desk: Desktop, grab: Grab) -> None:
        def row(number: int) -> str:
            amount, share = f"{desk.chance.randrange(10**5)}.{number:02}", f"{desk.chance.randrange(100)} %"
            cells = (f"{1000 + number}", desk.planted(kind), amount, desk.filler(kind)[:24], share)
            return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"

        style = "html { line-height: 1.25 } tr:nth-child(even) { background: #8882 }"
        rows = "".join(row(number) for number in range(60))
        page = desk.page(kind, theme, f"<table>{rows}</table>", size, style=style)
        grab()
        for _ in range(5):
            number, cell = desk.chance.randrange(20), desk.chance.choice((2, 4))
            page.evaluate(f"all('tr')[{number}].cells[{cell}].textContent = '{desk.chance.randrange(10**5)}'")
            grab()
        for number in (4, 5, 11):
            page.evaluate(f"all('tr').forEach((r, n) => r.style.background = n == {number} ? '#36f5' : '')")
            grab()
        page.evaluate("all('tbody')[0].prepend(all('tr')[59])")
        grab()

    return play


def _popup(kind: str, theme: str, size: int) -> Scene:
    """A box comes over the text and goes, at several places."""

    def play(desk: Desktop, grab: Grab) -> None:
        text = "".join(f"<p>{desk.paragraph(kind)}</p>" for _ in range(12))
        box = f'<div class="panel" id="box">{desk.planted(kind)}<br>{desk.filler(kind)}</div>'
        page = desk.page(kind, theme, text + box, size, style="#box { width: 26em }")
        grab()
        for left, top in ((420, 190), (300, 417), (911, 333), (420, 190)):
            page.evaluate(f"showBox({left}, {top})")
            grab()
            page.evaluate("byId('box').style.display = 'none'")
            grab()

    return play


def _messages(kind: str, theme: str, size: int) -> Scene:
    """A chat: messages push the others up, somebody types below, a moving picture and a clock beside it."""

    def play(desk: Desktop, grab: Grab) -> None:
        def message() -> str:
            return f'<p class="panel">{desk.paragraph(kind, 2)}</p>'

        side = "".join(f"<div>{desk.planted(kind)}</div>" for _ in range(9))
        body = f"""<div style="display: flex; gap: 2em; height: 100%"><div style="flex: 0 0 28em">
          <b id="clock">12:00:00</b><canvas width="400" height="260"></canvas>{side}</div>
          <div style="flex: 1"><div id="messages">{"".join(message() for _ in range(14))}</div>
          <textarea style="width: 100%; height: 5em; font: inherit"></textarea></div></div>"""
        style = "#messages { height: 80%; overflow: hidden; display: flex; flex-direction: column;"
        page = desk.page(kind, theme, body, size, style=style + " justify-content: flex-end }")
        page.focus("textarea")
        for number in range(12):
            page.evaluate(f"draw({number})")
            if number % 3 == 2:
                page.evaluate("html => byId('messages').insertAdjacentHTML('beforeend', html)", message())
            else:
                page.keyboard.insert_text(desk.filler(kind)[:11])
            grab()

    return play


def _sheet(theme: str, size: int) -> Scene:
    """A selection moves over the cells of a sheet, a number comes into one, the sheet moves on."""

    def play(desk: Desktop, grab: Grab) -> None:
        def row(number: int) -> str:
            figures = "".join(f"<td>{desk.chance.randrange(10**5)}</td>" for _ in range(9))
            return f"<tr><th>{number}</th><td>{desk.planted('en')}</td>{figures}</tr>"

        style = "html { line-height: 1.2 } td, th { border: 1px solid #8886; padding: 2px 6px }"
        style += "#scroll { height: 100%; overflow: auto } .on { outline: 2px solid #1a73e8 }"
        rows = "".join(row(number) for number in range(1, 120))
        page = desk.page("en", theme, f'<div id="scroll"><table>{rows}</table></div>', size, style=style)
        grab()
        for number, cell in ((4, 3), (5, 3), (6, 3), (6, 4), (12, 1), (20, 8)):
            page.evaluate(
                "all('.on').forEach(c => c.classList.remove('on'));"
                f"all('tr')[{number}].cells[{cell}].classList.add('on')"
            )
            grab()
        page.evaluate(f"all('tr')[20].cells[8].textContent = '{desk.chance.randrange(10**5)}'")
        grab()
        for distance in (66, 66, 200, -132):
            page.evaluate(f"byId('scroll').scrollTop += {distance}")
            grab()

    return play


def _video(kind: str, theme: str, size: int) -> Scene:
    """A video plays beside a page on which words come in; then it rests, and its title is shown."""

    def play(desk: Desktop, grab: Grab) -> None:
        text = "".join(f"<p>{desk.paragraph(kind)}</p>" for _ in range(10))
        title = f'<div id="title">{desk.planted(kind)}</div>'
        body = f"""<div style="display: flex; gap: 2em"><div style="flex: 0 0 1000px; position: relative">
          <b id="clock">12:00:00</b><canvas width="400" height="260"></canvas>{title}
          <p>{desk.planted(kind)}</p></div>
          <div style="flex: 1"><p id="edit" contenteditable>{desk.paragraph(kind)}</p>{text}</div></div>"""
        style = "canvas { width: 960px; height: 540px } #title { position: absolute; left: 2em; top: 3em;"
        style += " display: none; background: #000; color: #fff; padding: 1em; font-size: 1.4em }"
        page = desk.page(kind, theme, body, size, style=style)
        page.evaluate("placeCaret()")
        for number in range(12):
            page.evaluate(f"draw({number})")
            if number in (4, 7, 10):
                page.keyboard.insert_text(desk.filler(kind)[:14])
            grab()
        page.evaluate("byId('title').style.display = 'block'")
        for _ in range(6):
            grab()

    return play


def _log(theme: str, font: str) -> Scene:
    """A terminal whose lines scroll over a page; then the two windows take turns."""

    def play(desk: Desktop, grab: Grab) -> None:
        page = desk.page("en", "paper", "".join(f"<p>{desk.paragraph('en', 5)}</p>" for _ in range(9)), 16)
        colours = (_COLOURS[theme][1], _COLOURS[theme][0])
        add = desk.terminal("110x34+620+260", colours, font, 34)
        desk.raise_terminal(True)
        number = 0
        for lines in (12, 1, 2, 25, 1, 3, 7, 1, 18):
            for _ in range(lines):
                number += 1
                add(f"{8 + number // 60:02}:{number % 60:02}:17 INFO {number:04}  {desk.sentence('en')}")
            grab()
        for up in (False, True, False, True):
            desk.raise_terminal(up)
            page.wait_for_timeout(400)
            grab()

    return play


def _code(theme: str, size: int) -> Scene:
    """An editor: the current line is lit, letters come in, a list of suggestions opens and shuts."""

    def play(desk: Desktop, grab: Grab) -> None:
        def statement(number: int) -> str:
            start = f'<span class="accent">if</span> count_{number} &gt; {desk.chance.randrange(999)}:&nbsp;'
            indent = "&nbsp;" * 4 * (number % 3)
            return f'<div class="line"><i>{number}</i>{indent}{start} # {desk.planted("en")}</div>'

        style = "html { line-height: 1.2 } i { opacity: .5; display: inline-block; width: 4em }"
        lines = "".join(statement(number) for number in range(1, 60))
        box = f'<div id="box" class="panel">{"<br>".join(desk.sentence("en") for _ in range(5))}</div>'
        page = desk.page(
            "en", theme, lines + box, size, mono=True, style=style + " .now { background: #8883 }"
        )
        grab()
        keys = ((9, "total"), (9, "_of_week"), (10, "return"), (10, " value"), (22, "x"), (23, "print("))
        for row, text in keys:
            page.evaluate(f"write({row}, '{text}')")
            grab()

    return play


SCENES: dict[str, Scene] = {
    "typing en light": _typing("en", "light", 15),
    "typing en dark": _typing("en", "dark", 18),
    "typing zh": _typing("zh", "paper", 16),
    "scrolling en": _scrolling("en", "dark", 15),
    "scrolling zh": _scrolling("zh", "light", 17),
    "table en": _table("en", "light", 13),
    "table zh": _table("zh", "night", 15),
    "popup en": _popup("en", "paper", 16),
    "popup zh": _popup("zh", "dark", 18),
    "messages en": _messages("en", "light", 15),
    "messages zh": _messages("zh", "night", 16),
    "terminal dark": _log("dark", "DejaVu Sans Mono"),
    "terminal light": _log("light", "Nimbus Mono PS"),
    "code": _code("night", 14),
    "sheet": _sheet("light", 13),
    "sheet dark": _sheet("dark", 15),
    "video en": _video("en", "light", 16),
    "video zh": _video("zh", "dark", 17),
    "typing ko": _typing("ko", "light", 16),
    "scrolling ru": _scrolling("ru", "paper", 15),
    "hidpi": _scrolling("en", "light", 30),
    "small": _scrolling("en", "light", 9),
    "terminal night": _log("night", "DejaVu Sans Mono"),
}
