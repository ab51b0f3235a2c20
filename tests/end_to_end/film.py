"""The pictures of the README: ``python -m tests.end_to_end.film HOME``.

Fills the empty folder HOME with a sample week, and takes three pictures and a short film of it into
`docs/`. The film is what Chromium drew, each picture shown as long as it stood there: nothing is cut.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Page, sync_playwright

from tests.end_to_end.programs import Recollect, chromium_path

DOCS = Path(__file__).resolve().parents[2] / "docs"
ZONE = "Europe/Berlin"
WEEK = ("--until", "2026-11-20", "--tz", ZONE)
QUESTION = "How long did the volunteers work on the lamps?"
STRIP = 36
"""Height in pixels of what is said below the film."""
SHORTEST_MS = 150


class Camera:
    """Takes what a page of Chromium draws, with the seconds at which it drew it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.caption = ""
        self.taken: list[tuple[float, bytes, str]] = []
        self._wire = page.context.new_cdp_session(page)
        self._wire.on("Page.screencastFrame", self._take)

    def start(self) -> None:
        self._wire.send("Page.startScreencast", {"format": "png"})

    def _take(self, drawn: dict[str, Any]) -> None:
        at_s = drawn["metadata"]["timestamp"]
        self.taken.append((at_s, base64.b64decode(drawn["data"]), self.caption))
        self._wire.send("Page.screencastFrameAck", {"sessionId": drawn["sessionId"]})

    def show(self, seconds: float) -> None:
        """Let what is there be read."""
        self.page.wait_for_timeout(1000 * seconds)

    def write(self, path: Path, last_s: float) -> None:
        """Write the film; its last picture stands for `last_s` seconds."""
        self._wire.send("Page.stopScreencast")
        ends = [at_s for at_s, _, _ in self.taken[1:]] + [self.taken[-1][0] + last_s]
        pictures: list[Image.Image] = []
        lasting: list[int] = []
        owed_ms = 0.0
        for (at_s, drawn, caption), end_s in zip(self.taken, ends, strict=True):
            owed_ms += 1000 * (end_s - at_s)
            if owed_ms < SHORTEST_MS:
                continue
            pictures.append(_captioned(drawn, caption))
            lasting.append(round(owed_ms))
            owed_ms = 0.0
        pictures[0].save(
            path, save_all=True, append_images=pictures[1:], duration=lasting, loop=0, lossless=True, method=2
        )


def _captioned(drawn: bytes, caption: str) -> Image.Image:
    picture = Image.open(io.BytesIO(drawn)).convert("RGB")
    film = Image.new("RGB", (picture.width, picture.height + STRIP), "#1f2333")
    film.paste(picture)
    ImageDraw.Draw(film).text(
        (film.width // 2, picture.height + STRIP // 2),
        caption,
        fill="white",
        font=ImageFont.load_default(17),
        anchor="mm",
    )
    return film


def main(home: Path) -> None:
    """Make the sample week, or finish it, and take everything."""
    week = Recollect(home, sys.executable)
    week.run("demo", *WEEK)
    link = week.up("--no-capture")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
            context = browser.new_context(
                viewport={"width": 1000, "height": 720}, timezone_id=ZONE, locale="en-GB"
            )
            page = context.new_page()
            page.goto(link)
            _film(page, week.base)
            page.set_viewport_size({"width": 1280, "height": 800})
            _pictures(page, week.base)
            browser.close()
    finally:
        week.stop()


def _film(page: Page, base: str) -> None:
    page.goto(f"{base}/chat")
    page.fill("#message", "Which ticket is about the drift?")  # the first question after a start loads models
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Copy").last.wait_for()
    page.goto(f"{base}/chat")
    camera = Camera(page)
    camera.caption = "A sample week, without a language model. Ask in your own words."
    camera.start()
    camera.show(2)
    page.locator("#message").press_sequentially(QUESTION, delay=70)
    page.keyboard.press("Enter")
    page.locator(".shot").first.wait_for()
    page.get_by_role("button", name="Copy").last.wait_for()
    camera.caption = "The answer quotes the screen, with the window, the day and the time."
    camera.show(5)
    camera.caption = "Open the quote: this is the very frame, and here the words stand."
    page.locator(".shot").first.click()
    page.wait_for_url("**/frames/**")
    camera.show(5)
    page.goto(f"{base}/timeline?day=2026-11-18")
    camera.caption = "Scrub through the day."
    page.wait_for_load_state("networkidle")
    box = page.locator("input.scrub").bounding_box()
    assert box is not None
    left, middle = box["x"], box["y"] + box["height"] / 2
    page.mouse.move(left + 0.38 * box["width"], middle)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(left + (0.38 + 0.032 * step) * box["width"], middle, steps=3)
        camera.show(0.7)
    page.mouse.up()
    camera.show(2)
    camera.caption = "Press / and search for any word that was on the screen."
    page.keyboard.press("/")
    page.wait_for_url("**/search**")
    page.keyboard.type("drift", delay=120)
    page.keyboard.press("Enter")
    camera.show(6)
    camera.write(DOCS / "film.webp", 3)


def _pictures(page: Page, base: str) -> None:
    page.goto(f"{base}/chat")
    page.get_by_role("link", name=QUESTION).first.click()
    page.locator(".shot").first.wait_for()
    for name, path in (("answer", ""), ("timeline", "/timeline?day=2026-11-18"), ("day", "/days/2026-11-18")):
        if path:
            page.goto(base + path)
        page.wait_for_load_state("networkidle")
        drawn = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        drawn.save(DOCS / f"{name}.webp", quality=82, method=6)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
