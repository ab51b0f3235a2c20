"""Draws the golden frames and writes their true text: ``python -m tests.golden.render [NAME ...]``.

Chromium draws the pages and says where every word stands; boxes are then tightened to the ink.
xterm draws the terminals (their words have no boxes). Needs Xvfb, xterm and Chromium. Results are
committed: OCR must be judged against the same pixels everywhere.
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

import jinja2
import mss
import numpy as np
from markupsafe import Markup
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from tests.golden import prose
from tests.golden.catalogue import FRAMES, MONO, PageFrame, TerminalFrame

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1920, 1080
DISPLAY = ":97"
CHROMIUM = "/usr/bin/chromium"
CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu"]

# Words in view, not covered by anything; a Han character is a word of its own.
WORDS_JS = r"""
() => {
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    for (const match of node.data.matchAll(/[㐀-鿿]|[^\s㐀-鿿]+/g)) {
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      const rects = range.getClientRects();
      if (rects.length !== 1) continue;
      const r = rects[0];
      if (r.left < 0 || r.top < 0 || r.right > innerWidth || r.bottom > innerHeight) continue;
      const own = (x, y) => {
        const e = document.elementFromPoint(x, y);
        return e && (e === node.parentElement || e.contains(node) || node.parentElement.contains(e));
      };
      const inside = own(r.left + 1, r.top + 1) && own(r.right - 1, r.bottom - 1)
        && own(r.left + 1, r.bottom - 1) && own(r.right - 1, r.top + 1);
      if (inside && clipped(node.parentElement, r)) found.push([match[0], r.left, r.top, r.right, r.bottom]);
    }
  }
  function clipped(element, r) {
    for (let e = element; e; e = e.parentElement) {
      if (getComputedStyle(e).overflow === 'visible') continue;
      const b = e.getBoundingClientRect();
      if (r.left < b.left - 1 || r.right > b.right + 1) return false;
      if (r.top < b.top - 1 || r.bottom > b.bottom + 1) return false;
    }
    return true;
  }
  return found;
}
"""


def main(names: list[str]) -> None:
    wanted = [frame for frame in FRAMES if not names or frame.name in names]
    with xvfb(), sync_playwright() as playwright:
        browsers = {
            False: playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_ARGS),
            True: lcd_browser(playwright),
        }
        for frame in wanted:
            if isinstance(frame, TerminalFrame):
                keep(frame, terminal(frame), [[word] for line in frame.lines for word in line.split()])
            else:
                keep(frame, *page(browsers[frame.lcd], frame))
        for browser in browsers.values():
            browser.close()


def keep(frame: PageFrame | TerminalFrame, image: Image.Image, words: list[list[Any]]) -> None:
    (HERE / "frames").mkdir(exist_ok=True)
    path = HERE / "frames" / f"{frame.name}.webp"
    image.save(path, "WEBP", lossless=True, quality=100, method=6)
    truth = {"kind": frame.kind, "theme": frame.theme, "scale": getattr(frame, "scale", 1), "words": words}
    text = json.dumps(truth, ensure_ascii=False, separators=(",", ":"))
    path.with_suffix(".json").write_text(text.replace("],[", "],\n[") + "\n", encoding="utf-8")


def page(browser: Browser, frame: PageFrame) -> tuple[Image.Image, list[list[Any]]]:
    context = browser.new_context(
        viewport={"width": round(WIDTH / frame.scale), "height": round(HEIGHT / frame.scale)},
        device_scale_factor=frame.scale,
    )
    tab = context.new_page()
    tab.set_content(html(frame))
    tab.evaluate("document.fonts.ready")
    image = Image.open(io.BytesIO(tab.screenshot())).convert("RGB")
    if image.size != (WIDTH, HEIGHT):
        raise RuntimeError(f"{frame.name} is {image.size}")
    words = tab.evaluate(WORDS_JS)
    context.close()
    return image, [[text, *ink_box(image, [v * frame.scale for v in box])] for text, *box in words]


def html(frame: PageFrame) -> str:
    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "pages"), autoescape=True)
    values = {name: getattr(prose, name) for name in dir(prose) if name.isupper()}
    return environment.get_template(f"{frame.page}.html").render(
        **values, **frame.colours, font=Markup(frame.font), mono=Markup(MONO), size=frame.size,
        highlighted=highlighted(prose.CODE), photo=Markup(photo(frame.theme)), **frame.more,
    )  # fmt: skip


def highlighted(code: str) -> Markup:
    """Colours like an editor's: keywords, strings, numbers and names that are called."""
    token = re.compile(
        r'(?P<s>""".*?"""|f?"[^"]*")|(?P<k>\b(?:from|import|class|def|return|for|in|while|if|else|is|not'
        r"|and|or|None|True|False|lambda)\b)|(?P<d>\b\d[\d.]*\b)|(?P<f>\b\w+(?=\())",
        re.DOTALL,
    )
    parts, end = [], 0
    for match in token.finditer(code):
        parts.append(escape(code[end : match.start()], quote=False))
        parts.append(f'<span class="{match.lastgroup}">{escape(match.group(), quote=False)}</span>')
        end = match.end()
    return Markup("".join([*parts, escape(code[end:], quote=False)]))


def photo(theme: str) -> str:
    """A made-up landscape: soft shapes, fine grain, nothing anybody owns."""
    random = np.random.default_rng(7)
    total = np.zeros((HEIGHT // 3, WIDTH // 3, 3))
    for cells, weight in ((4, 90), (11, 50), (40, 22)):
        small = Image.fromarray((random.random((cells, cells * 2, 3)) * 255).astype(np.uint8))
        total += np.asarray(small.resize((WIDTH // 3, HEIGHT // 3), Image.Resampling.BICUBIC)) / 255 * weight
    total += np.linspace(60, 0, HEIGHT // 3)[:, None, None]
    total = total * (0.75 if theme == "dark" else 0.95) // 6 * 6
    buffer = io.BytesIO()
    Image.fromarray(np.clip(total, 0, 255).astype(np.uint8)).save(buffer, "PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()


def ink_box(image: Image.Image, box: list[float]) -> list[int]:
    """x, y, w, h of what is drawn inside a word's layout box (its background is the commonest colour)."""
    left, top = max(0, int(box[0])), max(0, int(box[1]))
    right, bottom = min(WIDTH, int(box[2] + 0.999)), min(HEIGHT, int(box[3] + 0.999))
    pixels = np.asarray(image)[top:bottom, left:right].astype(int)
    colours, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_counts=True)
    drawn = np.abs(pixels - colours[counts.argmax()]).max(2) > 40
    ys, xs = drawn.any(1).nonzero()[0], drawn.any(0).nonzero()[0]
    if not len(ys):
        return [left, top, right - left, bottom - top]
    return [int(v) for v in (left + xs[0], top + ys[0], xs[-1] - xs[0] + 1, ys[-1] - ys[0] + 1)]


def terminal(frame: TerminalFrame) -> Image.Image:
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
        file.write("\n".join(frame.lines))
        file.flush()
        process = subprocess.Popen(
            ["xterm", "-display", DISPLAY, "-geometry", "400x140+0+0", "+sb", "-bw", "0", *frame.options,
             "-e", "sh", "-c", f"cat {file.name}; printf '\\033[?25l'; sleep 30"]
        )  # fmt: skip
        try:
            time.sleep(2.5)
            with mss.MSS(display=DISPLAY) as screen:
                shot = screen.grab({"left": 0, "top": 0, "width": WIDTH, "height": HEIGHT})
                return Image.frombytes("RGB", shot.size, shot.rgb)
        finally:
            process.terminate()
            process.wait()


def lcd_browser(playwright: Any) -> Browser:
    """A browser on a real display, told by fontconfig to draw subpixel text."""
    folder = Path(tempfile.mkdtemp())
    (folder / "fonts.conf").write_text(
        '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig>'
        '<include>/etc/fonts/fonts.conf</include><match target="pattern"><edit name="rgba" mode="assign">'
        '<const>rgb</const></edit><edit name="antialias" mode="assign"><bool>true</bool></edit>'
        '<edit name="lcdfilter" mode="assign"><const>lcddefault</const></edit></match>'
        '<match target="font"><edit name="rgba" mode="assign"><const>rgb</const></edit></match></fontconfig>'
    )
    environment = os.environ | {"DISPLAY": DISPLAY, "FONTCONFIG_FILE": str(folder / "fonts.conf")}
    browser: Browser = playwright.chromium.launch(
        executable_path=CHROMIUM, headless=False, env=environment,
        args=[*CHROMIUM_ARGS, "--enable-lcd-text", "--enable-font-subpixel-positioning"],
    )  # fmt: skip
    return browser


@contextmanager
def xvfb() -> Iterator[None]:
    process = subprocess.Popen(["Xvfb", DISPLAY, "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-nolisten", "tcp"])
    time.sleep(1.5)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
