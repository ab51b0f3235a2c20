"""A streamed answer in Chromium: its longest step at a quarter of the CPU, and how soon a cut one goes on.

An answer of about 2,000 tokens comes from a real HTTP model over the turn's event stream. A step is what
the page does in one piece: its script for an event, and every task of 50 ms or more as the browser counts
them (https://www.w3.org/TR/longtasks-1/), the change to the finished answer told apart. Then the same
answer again while its stream is reset fifty times::

    python -m bench streaming
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, CDPSession, Page, expect, sync_playwright

from bench.report import Report, percentile
from tests.end_to_end.programs import chromium_path
from tests.end_to_end.talk_site import Talk, TalkSite, talk, talk_site

ON_REQUEST = True
THROTTLE = 4
DROPS = 50
_PARAGRAPH = "Words of an answer that is written piece by piece, as a model writes them. " * 6
ANSWER = "\n\n".join(f"{n}. {_PARAGRAPH}" for n in range(1, 21))
"""About 9,000 characters in 1,800 pieces."""

_WATCH = """
window.steps = []
window.tasks = []
const listen = EventSource.prototype.addEventListener
EventSource.prototype.addEventListener = function (type, call) {
  listen.call(this, type, event => {
    const began = performance.now()
    call(event)
    window.steps.push(performance.now() - began)
  })
}
new PerformanceObserver(list => {
  const isWriting = document.querySelector('.draft') !== null
  for (const each of list.getEntries()) window.tasks.push([each.duration, isWriting])
}).observe({ type: 'longtask' })
"""


def main(report: Report) -> None:
    """Print the steps of a streamed answer, and the time to go on after a drop."""
    with tempfile.TemporaryDirectory() as folder, talk_site(Path(folder)) as site, sync_playwright() as pw:
        browser = pw.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu"])
        site.stub.reply(ANSWER, pace_s=0.003)
        _steps(report, browser, site)
        site.stub._script.clear()
        site.stub.reply(ANSWER * 3, pace_s=0.005)
        _resumes(report, browser, site)
        browser.close()


def _begun(browser: Browser, site: TalkSite) -> tuple[Talk, Page]:
    found = talk(browser, site)
    found.page.add_init_script(_WATCH)
    page = found.go("/chat")
    found.ask("Tell me everything")
    page.wait_for_url("**/chat/*#t1")
    return found, page


def _steps(report: Report, browser: Browser, site: TalkSite) -> None:
    found, page = _begun(browser, site)
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    devtools.send("Emulation.setCPUThrottlingRate", {"rate": THROTTLE})
    page.evaluate("window.steps.length = 0; window.tasks.length = 0")
    before = _used_ms(devtools)
    expect(page.locator("#t1")).to_have_attribute("aria-busy", "false", timeout=120_000)
    used = _used_ms(devtools) - before
    steps: list[float] = page.evaluate("window.steps")
    tasks: list[tuple[float, bool]] = page.evaluate("window.tasks")
    writing = [taken for taken, is_writing in tasks if is_writing]
    rest = [taken for taken, is_writing in tasks if not is_writing]
    report.row(
        "script for an event, p50 / p95", f"{percentile(steps, 0.5):.1f} / {percentile(steps, 0.95):.1f} ms"
    )
    report.row("the longest of them", f"{max(steps):.1f} ms", goal="50 ms")
    report.row("processor time of script, style and layout, in all", f"{used:,.0f} ms")
    report.row("tasks of 50 ms or more while text came", str(len(writing)), goal="0")
    if writing:
        report.row("the longest of them", f"{max(writing):.0f} ms")
    report.row("the change to the finished answer", f"{max(rest, default=0):.0f} ms")
    found.context.close()


def _used_ms(devtools: CDPSession) -> float:
    """Processor time of the page so far; other programs on this machine are not in it."""
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    return 1000.0 * sum(metrics[f"{part}Duration"] for part in ("Script", "RecalcStyle", "Layout"))


def _resumes(report: Report, browser: Browser, site: TalkSite) -> None:
    found, page = _begun(browser, site)
    taken = []
    for _ in range(DROPS):
        _grown(page, 0)
        opened = site.relay.opened
        began = time.perf_counter()
        site.relay.drop()
        while site.relay.opened == opened:
            time.sleep(0.002)
        _grown(page, len(page.locator("#t1 .draft").text_content() or ""))
        taken.append((time.perf_counter() - began) * 1000)
    figures = f"{percentile(taken, 0.5):,.0f} / {max(taken):,.0f} ms"
    report.row(f"{DROPS} drops, to the next text, p50 / worst", figures, goal="2,000 ms")
    found.context.close()


def _grown(page: Page, length: int) -> None:
    """Wait until more than `length` characters stand in the draft."""
    while len(page.evaluate("document.querySelector('#t1 .draft')?.textContent ?? ''")) <= length:
        time.sleep(0.005)
