"""First evidence card at 1,000,000 frames in Chromium: from the press on Send to the card on the screen.

Summaries and specific questions over a day, a week, a month and everything, with a look batch for every ten
seconds as capture reports them, asked in a page: the one that begins a chat, which leads to another page, and
later ones. A model that takes a second answers, so the card is there before any prose.
``RECOLLECT_BENCH_HOME`` names a home that is made once and kept::

    python -m bench first_card
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from playwright.sync_api import Error, Page, expect, sync_playwright

from bench.report import Report, percentile
from bench.search_million import made_home
from bench.synthetic import START_MS, STEP_MS, Filled
from store.core.database import Database, scalar
from store.core.times import now_ms
from tests.end_to_end.programs import chromium_path
from tests.end_to_end.talk_site import TalkSite, talk, talk_site

ON_REQUEST = True
TIMES = 4
_DAY_MS = 86_400_000
_BATCH_MS = 10_000

# When a question was sent, and when a card of its turn was first on the screen; pages come and go between.
_WATCH = """
addEventListener('submit', event => {
  if (!event.target.matches('[data-composer]')) return
  localStorage.asked = Date.now()
  localStorage.turns = document.querySelectorAll('[data-turn]').length
  localStorage.removeItem('seen')
}, true)
const look = () => {
  const turns = document.querySelectorAll('[data-turn]')
  if (!localStorage.asked || localStorage.seen || turns.length <= +localStorage.turns) return
  const card = turns[turns.length - 1].querySelector('.proof')
  if (card?.getClientRects().length) {
    requestAnimationFrame(() => setTimeout(() => { localStorage.seen ||= Date.now() }))
  }
}
new MutationObserver(look).observe(document, { subtree: true, childList: true })
"""


def main(report: Report) -> None:
    """Print p50 and p95 from the press on Send to the first card, by range, for both kinds of page."""
    with made_home() as (database, made):
        _report_looks(database, made)
        # The browser's clock decides what has not come yet: nothing after it is asked about.
        end_ms = min(START_MS + made.frames * STEP_MS, now_ms())
        with tempfile.TemporaryDirectory() as folder, talk_site(Path(folder), database) as site:
            _measure(report, site, made, end_ms)


def _report_looks(database: Database, made: Filled) -> None:
    """Three batches of looks to every frame, as capture writes them every ten seconds."""
    with database.write() as connection:
        if scalar(connection, "select count(*) from look_batches"):
            return
        connection.executemany(
            "insert into look_batches (id, start_ms, end_ms, looks) values (?, ?, ?, 10)",
            (
                (str(at), at, at + _BATCH_MS)
                for at in range(START_MS, START_MS + made.frames * STEP_MS, _BATCH_MS)
            ),
        )


def _measure(report: Report, site: TalkSite, made: Filled, end_ms: int) -> None:
    site.stub.reply(_answer)
    rng = random.Random(17)
    everything: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_path(), args=["--no-sandbox", "--disable-gpu"]
        )
        found = talk(browser, site, timezone_id="UTC")
        found.page.add_init_script(_WATCH)
        for name, days in (("a day", 1), ("a week", 7), ("a month", 30), ("everything", 400)):
            for kind, begin in (("a new chat", True), ("a later question", False)):
                taken = []
                for number in range(TIMES):
                    last_ms = end_ms - rng.randrange(max(1, end_ms - START_MS - days * _DAY_MS))
                    start_ms = max(START_MS, last_ms - days * _DAY_MS)
                    words = " ".join(rng.sample(made.vocabulary[: rng.choice((20, 500, 5000))], 2))
                    message = f"Where is {words}?" if number % 2 else "What did I do?"
                    if begin:
                        found.go("/chat")
                    taken.append(_first_card_ms(found.page, message, start_ms, last_ms))
                everything += taken
                figures = f"{percentile(taken, 0.5):,.0f} / {percentile(taken, 0.95):,.0f} ms"
                report.row(f"{kind}, {name}, p50 / p95", figures)
        browser.close()
    figures = f"{percentile(everything, 0.5):,.0f} / {percentile(everything, 0.95):,.0f} ms"
    report.row("all of them, p50 / p95", figures, goal="1,000 / 2,500 ms")


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    time.sleep(1.0)
    return {"answer_md": "Nothing that could be said shortly.", "evidence": []}


def _first_card_ms(page: Page, message: str, start_ms: int, end_ms: int) -> float:
    page.fill("#message", message)
    page.select_option("select[name=when]", "custom")
    page.fill("[data-range-start]", _wall(start_ms))
    page.fill("[data-range-end]", _wall(end_ms))
    page.get_by_role("button", name="Send", exact=True).click()
    seen = _until(lambda: page.evaluate("localStorage.seen"))
    asked = page.evaluate("localStorage.asked")
    expect(page.locator("[data-turn]").last).to_have_attribute("aria-busy", "false", timeout=60_000)
    return float(seen) - float(asked)


def _until(ask: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if answer := ask():
                return answer
        except Error as error:  # the page was left for the next one while it was asked
            if "context" not in str(error):
                raise
        time.sleep(0.05)
    raise TimeoutError("no card came")


def _wall(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M")
