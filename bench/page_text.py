"""Text told by the browser: what comes of it beside whole reading of the same frames, and the CPU of both.

Chromium with the extension shows pages made here on a virtual screen; the daemon's own parts grab and ask.
They wait as long as it takes, so that a busy machine costs time here and not words; the times are told.
Truth is the same page with each word painted over in a colour of its own, and decoded from a second picture.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np
import psutil
from PIL import Image
from playwright.sync_api import BrowserContext, Page, sync_playwright

import capture.page_text
from bench.report import Report
from capture.page_text import PageTextDoor, PageWindow, Tellers
from capture.screens.protocol import Screenshot
from capture.screens.x11 import X11Screens
from capture.windows.protocol import WindowInfo
from capture.windows.x11 import X11Windows
from engines.ocr.protocol import Box, OcrEngine, OcrWord, open_ocr
from ingest.reading.incremental import IncrementalReader
from ingest.reading.page_text import Told, ink_of
from store.spool import page_text
from store.spool.page_text import Area
from store.spool.process_state import TextDoor
from tests.end_to_end.programs import chromium_path, x_display

ON_REQUEST = True
EXTENSION = Path(__file__).parents[1] / "capture" / "browser_extension"
SECRETS = ("hunter2pass", "4929123412341234", "889231", "typedaddress", "typedremark")
_SCALES = (1.0, 1.25, 2.0)
_TRIALS = 60
_SCROLL_S = 6
_STEPS = 9
_AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1))


# -- pages ----------------------------------------------------------------------------------

_SYLLABLES = [
    "ka",
    "lo",
    "mer",
    "tin",
    "vas",
    "ro",
    "del",
    "qui",
    "san",
    "bor",
    "neth",
    "ula",
    "pri",
    "gon",
    "fe",
    "tal",
    "wex",
    "hin",
    "sor",
    "jam",
    "pel",
    "cud",
]


class _Pages:
    """Words nobody has seen before, in the shapes that pages have."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def word(self) -> str:
        if self._random.random() < 0.06:
            return f"{self._random.randrange(10_000):,}"
        word = "".join(self._random.choices(_SYLLABLES, k=self._random.randint(1, 3)))
        return word.capitalize() if self._random.random() < 0.12 else word

    def words(self, count: int) -> str:
        return " ".join(self.word() for _ in range(count))

    def article(self) -> str:
        parts = []
        for number in range(60):
            linked = f'<a href="#">{self.words(3)}</a>, <b>{self.words(2)}</b>{self.word()}'
            heading = f"<h2>{self.words(4)}</h2>" if number % 6 == 0 else ""
            parts.append(f"{heading}<p>{self.words(30)} {linked} {self.words(40)}.</p>")
        return f"<article>{''.join(parts)}</article>"

    def table(self) -> str:
        rows = (f"<tr>{''.join(f'<td>{self.word()}' for _ in range(14))}" for _ in range(200))
        return f"<table>{''.join(rows)}</table>"

    def code(self) -> str:
        """A span for every token, as editors colour them."""
        lines = []
        for number in range(160):
            first, second, third = (self.word() for _ in range(3))
            call = f"<i>{first}</i><u>(</u><s>'{second}'</s><u>,</u> <b>{third}</b><u>)</u>"
            lines.append("  " * (number % 4) + " ".join([call] * self._random.randint(1, 3)))
        return "<pre>" + "\n".join(lines) + "</pre>"

    def form(self) -> str:
        rows = (f"<p><label>{self.words(3)}</label> <em>{self.words(12)}</em></p>" for _ in range(14))
        kinds = "type=password", "autocomplete=cc-number", "autocomplete=one-time-code", ""
        fields = (f"<input {kind} value={value}>" for kind, value in zip(kinds, SECRETS, strict=False))
        area = f"<textarea>{SECRETS[4]}</textarea><button>{self.words(2)}</button>"
        return f"<div class=form>{''.join(rows)}{''.join(fields)}{area}</div>"

    def mixed(self) -> str:
        """Words that are hidden in every way (``unseen``), words in a canvas, panels, capitals."""
        ways = (
            "color:#fff", "visibility:hidden", "opacity:0", "height:1px;overflow:hidden",
            "width:9em;white-space:nowrap;overflow:hidden;text-overflow:ellipsis",
        )  # fmt: skip
        unseen = "".join(f"<p class=unseen style='{way}'>{self.words(12)}</p>" for way in ways)
        covered = f"<div class=over><p class=unseen>{self.words(6)}</p><div></div></div>"
        panels = "".join(f"<div class={name}>{self.words(40)}</div>" for name in ("dark", "light"))
        return f"<div class=mixed>{unseen}{covered}{panels}<h4>{self.words(12)}</h4>{_CANVAS}</div>"

    def all(self) -> dict[str, str]:
        names = ("article", "table", "code", "form", "mixed")
        head = "<!doctype html><meta charset=utf-8>"
        pages = {f"/{name}": f"{head}<title>{name}</title>{_STYLE}{getattr(self, name)()}" for name in names}
        return {**pages, "/clock": f"{head}<title>clock</title>{_CLOCK}"}


_STYLE = """<style>
article { max-width: 60em; margin: auto; font: 17px/1.5 serif }
table { border-collapse: collapse }
td { border: 1px solid #ccc; padding: 2px 8px; font: 13px sans-serif }
tr:nth-child(even) { background: #eef3f8 }
body:has(pre) { background: #1e1e1e; color: #d4d4d4 }
pre { font: 14px monospace }
pre * { font-style: normal; text-decoration: none }
i { color: #9cdcfe } u { color: #c586c0 } b { color: inherit } pre b { color: #ce9178 } s { color: #6a9955 }
.form { font: 15px sans-serif }
.mixed { font: 16px sans-serif }
.over { position: relative } .over div { position: absolute; inset: 0; background: #dfe }
.dark, .light { background: #223; color: #eee; padding: 9px; margin: 9px }
.light { background: #fed; color: #321 }
h4 { text-transform: uppercase }
</style>"""

_CANVAS = """<canvas id=c width=600 height=60></canvas><script>
const drawn = c.getContext('2d');
drawn.font = '24px sans-serif';
drawn.fillText('Canvas walnut ledger', 9, 40);
</script>"""

_CLOCK = """<style>p { font: 30px sans-serif } div { width: 200px; height: 200px }</style><p></p><div></div>
<script>
let state = 0;
const [low, high] = location.hash.slice(1).split('-').map(Number);
function go() {
  state += 1;
  document.querySelector('p').textContent = `state number ${state} of this page`;
  document.querySelector('div').style.background = `#${(0x400000 + state).toString(16)}`;
  setTimeout(go, low + Math.random() * (high - low));
}
go();
</script>"""
"""A page that tells its state in words and in a colour."""

_PAINT = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), nodes = [], said = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  let open = false, within = null;
  const blockOf = (node) => {
    do node = node.parentElement; while (getComputedStyle(node).display === 'inline');
    return node;
  };
  const style = document.createElement('style');
  style.textContent = '* { text-decoration: none !important }';
  document.head.append(style);
  for (const node of nodes) {
    const block = blockOf(node);
    if (block !== within) [open, within] = [false, block];
    if (node.parentElement.closest('.unseen, script, style, textarea')) { open = false; continue; }
    const upper = getComputedStyle(node.parentElement).textTransform === 'uppercase';
    const parts = document.createDocumentFragment();
    for (const piece of node.data.split(/(\\s+)/)) {
      if (!piece.trim()) { open = open && !piece; parts.append(piece); continue; }
      const text = upper ? piece.toUpperCase() : piece;
      if (open) said[said.length - 1] += text; else said.push(text);
      open = true;
      const span = document.createElement('span');
      span.textContent = piece;
      span.dataset.word = (0x010000 + said.length * 5).toString(16).padStart(6, '0');
      parts.append(span);
    }
    node.replaceWith(parts);
  }
  for (const span of document.querySelectorAll('span[data-word]')) {
    const { top, bottom } = span.getBoundingClientRect(); // cut by the edge: no truth of its own
    const isCut = top < -3 || bottom > document.documentElement.clientHeight + 3;
    const colour = isCut ? 'ffffff' : span.dataset.word;
    span.style.cssText = `background: #${colour} !important; color: transparent !important; font: inherit`;
  }
  return said;
}"""


# -- the desk -------------------------------------------------------------------------------


class _Served(BaseHTTPRequestHandler):
    """The pages, and what Recollect answers the extension."""

    protocol_version = "HTTP/1.1"
    pages: dict[str, str]
    spool: Path

    def do_GET(self) -> None:
        self._answer(self.pages.get(self.path, "").encode(), "text/html; charset=utf-8")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        door = TextDoor.read(self.spool)
        answer = {"windows": 1, "text_door": asdict(door) if door else None}
        self._answer(json.dumps(answer).encode(), "application/json")

    def _answer(self, content: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        return


@contextmanager
def _served(pages: dict[str, str], spool: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Served", (_Served,), {"pages": pages, "spool": spool})
    )
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@contextmanager
def _chromium(display: str, scale: float, folder: Path, *, extended: bool = True) -> Iterator[BrowserContext]:
    """Chromium with the extension, which may see pages."""
    extension = Path(shutil.copytree(EXTENSION, folder / "extension"))
    manifest = json.loads((extension / "manifest.json").read_text())
    manifest["host_permissions"] += manifest.pop("optional_host_permissions")
    (extension / "manifest.json").write_text(json.dumps(manifest))
    page = (extension / "page.js").read_text()
    (extension / "page.js").write_text(page.replace("MAX_MS = 80", "MAX_MS = 3000"))
    load = [f"--load-extension={extension}", f"--disable-extensions-except={extension}"] if extended else []
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(
            folder / "profile", executable_path=chromium_path(), headless=False, no_viewport=True,
            env={**os.environ, "DISPLAY": display}, ignore_default_args=["--disable-extensions"],
            args=[
                "--no-sandbox", "--test-type", "--disable-gpu", "--disable-quic", "--no-first-run",
                f"--force-device-scale-factor={scale}", "--window-position=40,20",
                f"--window-size={int(1700 / scale)},{int(1000 / scale)}", *load,
            ],
        )  # fmt: skip
        yield context
        context.close()


@dataclass(frozen=True, slots=True)
class _Desk:
    door: PageTextDoor
    screens: X11Screens
    windows: X11Windows
    page: Page
    base: str
    folder: Path

    def look(self) -> Screenshot:
        return self.screens.grab(self.screens.monitors()[0])

    def ask(self, shot: Screenshot) -> tuple[bytes | None, float]:
        """What pages tell of a picture, and how long that took."""
        shown = [w for w in self.windows.windows() if "chromium" in (w.app_name or "").lower()]
        began = time.perf_counter()
        collect = Tellers(self.door).ask([_page_window(window) for window in shown[:1]], shot, 1.0)
        return (collect() if collect else None), time.perf_counter() - began

    def open(self, path: str) -> None:
        self.page.bring_to_front()  # the extension opens its own page when it is installed
        self.page.goto(f"{self.base}{path}")
        self.page.wait_for_timeout(600)


def _page_window(window: WindowInfo) -> PageWindow:
    area = Area(window.rect.x, window.rect.y, window.rect.width, window.rect.height)
    return PageWindow(replace(window, incognito=False), area, (area,))


@contextmanager
def _desk(pages: dict[str, str], scale: float, *, extended: bool = True) -> Iterator[_Desk]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        (folder / "spool").mkdir()
        display = stack.enter_context(x_display("1920x1080x24"))
        environment = {**os.environ, "DISPLAY": display}
        manager = subprocess.Popen(["openbox"], env=environment, stderr=subprocess.DEVNULL)
        stack.callback(manager.wait)
        stack.callback(manager.terminate)
        door = PageTextDoor(folder / "spool", lambda _: True)
        stack.callback(door.close)
        base = stack.enter_context(_served(pages, folder / "spool"))
        context = stack.enter_context(_chromium(display, scale, folder, extended=extended))
        desk = _Desk(door, X11Screens(display), X11Windows(display), context.new_page(), base, folder)
        if extended:
            workers = context.service_workers or [context.wait_for_event("serviceworker")]
            pairing = {"address": base, "token": "t", "copyId": "c"}
            workers[0].evaluate("p => chrome.storage.local.set({pairing: p})", pairing)
            desk.open("/form")
            while not desk.ask(desk.look())[0]:
                desk.page.wait_for_timeout(100)
        yield desk


# -- measurements ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _True:
    text: str
    box: Box


def _truth(desk: _Desk, plain: Image.Image) -> list[_True]:
    """The words that show on the page, with the ink of each."""
    said = desk.page.evaluate(_PAINT)
    desk.page.wait_for_timeout(500)
    painted = np.asarray(_image(desk.look())).astype(np.int32)
    numbers = (painted[..., 0] << 16 | painted[..., 1] << 8 | painted[..., 2]) - 0x010000
    found, rest = np.divmod(numbers, 5)
    found[(rest != 0) | (found < 1) | (found > len(said))] = 0
    # The edges of letters are blends of colours: only what is the same all around counts.
    middle, solid = found[1:-1, 1:-1], np.zeros_like(found)
    same = [
        middle == found[1 + y : found.shape[0] - 1 + y, 1 + x : found.shape[1] - 1 + x] for y, x in _AROUND
    ]
    solid[1:-1, 1:-1] = np.where(np.logical_and.reduce(same), middle, 0)
    found = solid
    ink, words = ink_of(plain), []
    rows, columns = np.nonzero(found)
    order = np.argsort(found[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    ids, starts = np.unique(found[rows, columns], return_index=True)
    for number, at, end in zip(ids, starts, [*starts[1:], len(rows)], strict=True):
        left, top = int(columns[at:end].min()), int(rows[at:end].min())
        w, h = int(np.ptp(columns[at:end])) + 1, int(np.ptp(rows[at:end])) + 1
        if end - at < 0.9 * w * h:
            continue  # broken over lines: no truth of its own
        place = Box(left - 1, top - 1, w + 2, h + 2)
        inside = ink[place.y : place.bottom, place.x : place.right]
        y, x = np.nonzero(inside)
        if len(y):
            box = Box(place.x + int(x.min()), place.y + int(y.min()), int(np.ptp(x)) + 1, int(np.ptp(y)) + 1)
            words.append(_True(said[int(number) - 1], box))
    return words


def _image(shot: Screenshot) -> Image.Image:
    height, width = shot.pixels.shape[:2]
    return Image.frombuffer("RGB", (width, height), shot.pixels.tobytes(), "raw", "BGRX", 0, 1)


@dataclass(slots=True)
class _Score:
    truth: int = 0
    found: int = 0
    whole: int = 0
    told: int = 0
    right: int = 0
    misses: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


def _score(truth: list[_True], words: list[OcrWord], whole: list[OcrWord]) -> tuple[_Score, list[int]]:
    """Words at their places, by both ways, and how far sides of boxes are off."""
    found, errors = _matched(truth, words)
    by_browser = [word for word in words if word.source != "read"]
    by_number, _ = _matched(truth, by_browser)
    missed = tuple(word.text for n, word in enumerate(truth) if n not in found)
    left = Counter(word.text for word in by_browser) - Counter(truth[n].text for n in by_number)
    whole_found = len(_matched(truth, whole)[0])
    score = _Score(len(truth), len(found), whole_found, len(by_browser), len(by_number), missed, tuple(left))
    return score, errors


def _matched(truth: list[_True], words: list[OcrWord]) -> tuple[set[int], list[int]]:
    at: dict[str, list[OcrWord]] = {}
    for word in words:
        at.setdefault(word.text, []).append(word)
    found: set[int] = set()
    errors: list[int] = []
    for number, true in enumerate(truth):
        for word in at.get(true.text, ()):
            if true.box.holds_centre_of(word.box) or word.box.holds_centre_of(true.box):
                found.add(number)
                if word.source != "read":
                    a, b = true.box, word.box
                    errors += [
                        abs(a.x - b.x),
                        abs(a.y - b.y),
                        abs(a.right - b.right),
                        abs(a.bottom - b.bottom),
                    ]
                at[true.text].remove(word)
                break
    return found, errors


def main(report: Report) -> None:
    pages = _Pages(int(os.environ.get("RECOLLECT_SEED", "1"))).all()
    capture.page_text.WAIT_S = 5.0
    engine = open_ocr("auto", ("eng", "chi_sim"))
    errors: list[int] = []
    waits: list[float] = []
    sizes: list[int] = []
    report.line(f"  {'':<16} words  recall (whole)  browser's: share  precision   ms told  ms whole")
    for scale in _SCALES:
        with _desk(pages, scale) as desk:
            for path in pages:
                if path != "/clock":
                    _frames(report, desk, engine, path, scale, errors, waits, sizes)
            if scale == 1.0:
                _instants(report, desk)
                _sequence(report, desk, engine)
    if not errors:
        report.line("  nothing was told")
        return
    report.line(f"  boxes off by median {median(errors):.0f}, p95 {quantiles(errors, n=20)[-1]:.0f} pixels")
    report.line(
        f"  answers: median {median(waits) * 1000:.0f}, p95 {quantiles(waits, n=20)[-1] * 1000:.0f} ms; "
        f"at most {max(sizes) / 1000:.0f} kB; load {os.getloadavg()[0]:.1f}"
    )
    _scrolling(report)


def _frames(
    report: Report, desk: _Desk, engine: OcrEngine, path: str, scale: float,
    errors: list[int], waits: list[float], sizes: list[int],
) -> None:  # fmt: skip
    for scrolled in (0, 700):
        desk.open(path)
        desk.page.evaluate(f"scrollTo(0, {scrolled})")
        desk.page.wait_for_timeout(500)
        shot = desk.look()
        content, wait_s = desk.ask(shot)
        waits.append(wait_s)
        sizes.append(len(content or b""))
        for secret in SECRETS:
            assert secret.encode() not in (content or b""), f"a secret left the page: {secret}"
        image = _image(shot)
        began = time.process_time()
        proof = Told(page_text.decode(content), image, engine) if content else None
        lines = IncrementalReader(engine).read("m", image, told=proof)
        told_s, began = time.process_time() - began, time.process_time()
        whole = [word for line in engine.read(image) for word in line.words]
        whole_s = time.process_time() - began
        score, off = _score(_truth(desk, image), [word for line in lines for word in line.words], whole)
        errors += off
        name = f"{path[1:]} {scale:g}x{' scrolled' if scrolled else ''}"
        of, told = max(1, score.truth), max(1, score.told)
        recall = f"{score.found / of:.4f} ({score.whole / of:.3f})"
        costs = f"{told_s * 1000:6.0f}  {whole_s * 1000:6.0f}  {whole_s / told_s:4.1f} x"
        share = f"{score.told / of:.3f}  {score.right / told:.4f}"
        report.line(f"  {name:<22} {score.truth:5}  {recall}  {share}  {costs}")
        if os.environ.get("RECOLLECT_MISSES"):
            for kind, words in (("missed", score.misses), ("told besides", score.extra)):
                report.line(f"      {kind}: {' '.join(words[:40])}")


def _instants(report: Report, desk: _Desk) -> None:
    """A page tells its state in words and in a colour: are both of one instant?"""
    for low, high in ((250, 550), (1000, 1500)):
        desk.open(f"/clock#{low}-{high}")
        desk.page.reload()
        wrong = right = 0
        for _ in range(_TRIALS):
            desk.page.wait_for_timeout(random.Random().randint(30, 300))
            shot = desk.look()
            content, _ = desk.ask(shot)
            blue, green, red = shot.pixels[400, 140, :3].tolist()
            shown = (red << 16 | green << 8 | blue) - 0x400000
            if content:
                texts = [word.text for word in page_text.decode(content)[0].words]
                same = str(shown) in texts
                right, wrong = right + same, wrong + (not same)
        undecided = _TRIALS - right - wrong
        report.line(f"  changes every {low}-{high} ms: {right} right, {wrong} wrong, {undecided} undecided")


def _sequence(report: Report, desk: _Desk, engine: OcrEngine) -> None:
    """An article scrolled by a few lines at a time: reading what changed, without and with the browser."""
    desk.open("/article")
    spent, readers = {False: 0.0, True: 0.0}, {told: IncrementalReader(engine) for told in (False, True)}
    for step in range(_STEPS):
        desk.page.evaluate(f"scrollTo(0, {step * 150})")
        desk.page.wait_for_timeout(500)
        shot = desk.look()
        content, _ = desk.ask(shot)
        image = _image(shot)
        for is_told, reader in readers.items():
            proof = Told(page_text.decode(content), image, engine) if content and is_told else None
            began = time.process_time()
            reader.read("m", image, told=proof)
            if step:
                spent[is_told] += time.process_time() - began
    without, told = (spent[key] / (_STEPS - 1) * 1000 for key in (False, True))
    report.line(f"  scrolled by 150 pixels: {without:.0f} ms a frame, {told:.0f} with the browser's words")


def _scrolling(report: Report) -> None:
    """CPU of Chromium while a page scrolls, without and with the extension, asked once a second."""
    costs: dict[bool, list[float]] = {False: [], True: []}
    for extended in (False, True) * 2:
        with _desk(_Pages(7).all(), 1.0, extended=extended) as desk:
            desk.open("/article")
            desk.page.wait_for_timeout(2000)
            before, until, number = _cpu_s(desk.folder), time.monotonic() + _SCROLL_S, 0
            while time.monotonic() < until:
                desk.page.mouse.wheel(0, 60)
                desk.page.wait_for_timeout(50)
                number += 1
                if number % 20 == 0:
                    desk.ask(desk.look())
            costs[extended].append((_cpu_s(desk.folder) - before) / number)
    without, told = (sum(costs[extended]) / 2 * 1000 for extended in (False, True))
    report.line(f"  Chromium's CPU a step of scrolling: {without:.1f} ms, {told:.1f} with the extension")


def _cpu_s(folder: Path) -> float:
    """CPU of the browser whose profile is in `folder`."""
    total = 0.0
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in part for part in process.info["cmdline"] or ()):
            for one in (process, *process.children(recursive=True)):
                times = one.cpu_times()
                total += times.user + times.system
            break
    return total
