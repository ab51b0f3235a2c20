"""The five places over a sample week in Chromium, its processor slowed to a quarter: weight and feel.

For each page of a cold visit: requests and pictures, kilobytes of HTML, LCP, CLS, the longest interaction
(INP) of a walk by keys, and what the page's thread computed for loading and for the walk. The last two are
processor time, for machines that are busy with something else. ``RECOLLECT_BENCH_HOME`` names a folder whose
sample week is made once and kept::

    python -m bench pages
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Request, sync_playwright

from bench.report import Report, percentile
from bench.wire import environment, served
from store.core.paths import DataDir
from tests.end_to_end.programs import chromium_path
from webapp.ops.control import web_address
from webapp.security.access import launch_link

ON_REQUEST = True
SLOWED = 4
_VISITS = 3
_ROW = "{:.0f} + {:.0f}, {:.0f} kB, {:.0f} ms, {:.3f}, {:.0f} ms; {:.0f} and {:.0f} ms"
_BARS = "10 requests, 60 kB, 1000 ms, 0.02, 150 ms"
# What has the focus on each, and what is pressed then: single keys, or words that are typed. None leads away.
_PALETTE = ["Control+k", "set", "ArrowDown", "Escape"]
_WALKS = {
    "/timeline": ("[data-scrub]", ["ArrowLeft", "ArrowLeft", "ArrowLeft", *_PALETTE]),
    "/search": ("#q", ["buoy", "ArrowDown"]),
    "/search?q=buoy": ("h1", ["n", "n", "p", *_PALETTE]),
    "/chat": ("#message", ["what did I do on Friday"]),
    "/days": ("h1", _PALETTE),
    "/settings/recording": ("h1", ["?", "Escape", *_PALETTE]),
}
# https://web.dev/articles/vitals: what the page itself is told of its painting, shifts and interactions.
_WATCH = """
window.vitals = { lcp: 0, cls: 0, inp: 0 }
const watch = (type, look, more) =>
  new PerformanceObserver(list => list.getEntries().forEach(look)).observe({ type, buffered: true, ...more })
watch('largest-contentful-paint', entry => { vitals.lcp = entry.startTime })
watch('layout-shift', entry => { if (!entry.hadRecentInput) vitals.cls += entry.value })
watch('event', entry => {
  if (entry.interactionId) vitals.inp = Math.max(vitals.inp, entry.duration)
}, { durationThreshold: 16 })
"""


def main(report: Report) -> None:
    """Print the median of some visits to each page."""
    with _week() as home, served(home), sync_playwright() as playwright:
        address = web_address(home)
        assert address is not None
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        report.line(f"  requests + pictures, kB of HTML, LCP, CLS, INP; bars {_BARS}; computed")
        for path, walk in _WALKS.items():
            visits = [_visit(browser, home, address.url, path, *walk) for _ in range(_VISITS)]
            middle = [percentile(values, 0.5) for values in zip(*visits, strict=True)]
            report.row(path, _ROW.format(*middle))
        browser.close()


@contextmanager
def _week() -> Iterator[DataDir]:
    kept = os.environ.get("RECOLLECT_BENCH_HOME")
    with tempfile.TemporaryDirectory() as folder:
        home = DataDir(Path(kept or folder) / "week")
        if not home.sample_week.exists():
            command = [sys.executable, "-m", "ingest", "--home", str(home.home), "demo", "--tz", "UTC"]
            subprocess.run(command, check=True, env=environment())
        yield home


def _visit(
    browser: Browser, home: DataDir, origin: str, path: str, focus: str, keys: list[str]
) -> tuple[float, ...]:
    context = browser.new_context(viewport={"width": 1440, "height": 900}, timezone_id="UTC")
    link = launch_link(home, origin)
    context.request.get(link, max_redirects=0)
    context.add_cookies([{"name": "tz", "value": "UTC", "url": origin}])
    context.add_init_script(_WATCH)
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
    loaded: list[Request] = []
    page.on("requestfinished", lambda request: loaded.append(request))
    page.goto(f"{origin}{path}", wait_until="networkidle")
    html = next(request for request in loaded if urlsplit(request.url).path == urlsplit(path).path)
    response = html.response()
    assert response is not None and response.ok
    pictures = sum("/api/v1/frames/" in request.url for request in loaded)
    counted = len(loaded) - pictures, pictures, len(response.body()) / 1000
    vitals, computed_ms = page.evaluate("vitals"), _computed_ms(devtools)
    page.locator(focus).first.focus()
    for key in keys:
        if len(key) == 1 or key[0].isupper():
            page.keyboard.press(key)
        else:
            page.keyboard.type(key)
        page.wait_for_load_state("networkidle")
    longest, walked_ms = page.evaluate("vitals.inp"), _computed_ms(devtools) - computed_ms
    context.close()
    return *counted, vitals["lcp"], vitals["cls"], longest, computed_ms, walked_ms


def _computed_ms(devtools: CDPSession) -> float:
    """Processor time of the page's main thread."""
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return next(1000 * metric["value"] for metric in metrics if metric["name"] == "TaskDuration")
