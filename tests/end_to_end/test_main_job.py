"""The main job: a real desktop is recorded, somebody asks, and each proof opens its very frame."""

from __future__ import annotations

import functools
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page

from tests.end_to_end.programs import Recollect, chromium_path, eventually
from tests.stub_model import Request, StubModel

DESKTOP = Path(__file__).parent / "desktop"
QUESTIONS = ("What did I do in the last minutes?", "总结一下我刚才做了什么")
Start = Callable[..., subprocess.Popen[bytes]]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    """The desktop's pages, served from this machine."""
    handler = functools.partial(_Quiet, directory=str(DESKTOP))
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join(5)


# What each window shows, and what a careful model would say of it. Excerpts choose lines.
SHOWN = (
    (r"lighthouse inspection|crane lease|tide tables", "You read the harbour plan"),
    (r"吊车租赁合同|预算和灯塔", "你看了会议记录"),
    (r"mooring buoys?|Refuses positions|buoy was placed", "You read the manual of the buoy command"),
)


def cite(request: Request) -> dict[str, Any]:
    """One claim per window, quoted from the first frame that shows it, and one about no frame at all."""
    blocks = re.split(r"^\[\[(e\d+)\]\] ", request["messages"][-1]["content"], flags=re.M)
    answer, evidence = [], []
    for words, said in SHOWN:
        for name, block in zip(blocks[1::2], blocks[2::2], strict=True):
            lines = "\n".join(line for line in block.splitlines() if line.startswith("|"))
            found = re.search(words, lines)
            if found:
                answer.append(f"{said} [[{name}]].")
                evidence.append({"id": name, "quote": found.group()})
                break
    answer.append("You also flew to the moon [[e999]].")
    return {"answer_md": "\n\n".join(answer), "evidence": evidence}


def open_windows(recollect: Recollect, start: Start, site: str, profile: Path) -> None:
    """A manual, and over it a browser once that was seen: a frame of its own is what is cited."""
    start(
        "xterm", "-fa", "DejaVu Sans Mono", "-fs", "12", "-geometry", "90x34+40+40",
        "-title", "buoy manual", "-e", "man", "-l", str(DESKTOP / "buoy.1"),
    )  # fmt: skip
    eventually(lambda: recollect.found('"anchorage"'), what="the manual is found")
    start(
        chromium_path(), "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--window-position=700,60", "--window-size=1180,900",
        f"{site}/plan.html",
    )  # fmt: skip


def check_closed(recollect: Recollect) -> None:
    """No program leaves its memory on the disk when it crashes, and no file is another user's to read."""
    assert [each.rlimit(psutil.RLIMIT_CORE) for each in recollect.processes] == [(0, 0)] * 4
    home = recollect.home
    written = (path for path in home.rglob("*") if path != home / "config.toml")
    assert [path for path in written if path.lstat().st_mode & 0o077] == []


def test_a_day_on_a_real_screen_can_be_asked_about_and_checked(
    recollect: Recollect, display: str, on_desktop: Start, site: str, browser: Browser, tmp_path: Path
) -> None:
    with StubModel() as stub:
        stub.reply(cite)
        recollect.home.mkdir(mode=0o700)
        (recollect.home / "config.toml").write_text(
            f'[chat]\nbase_url = "{stub.base_url}"\nmodel = "stub"\n', encoding="utf-8"
        )
        link = recollect.up(DISPLAY=display)
        open_windows(recollect, on_desktop, site, tmp_path / "profile")
        eventually(lambda: recollect.found('"lighthouse inspection"'), what="the plan is found")
        show_chinese_page(display, site, on_desktop, tmp_path / "profile")
        # In quotation marks: by meaning, what was read before is found, and the question comes too early.
        eventually(
            lambda: recollect.found('"吊车租赁合同"') or recollect.found('"预算和灯塔"'),
            what="the minutes are found",
        )

        page, problems = open_page(browser, link)
        for question in QUESTIONS:
            ask_and_check(recollect, page, question)
        assert len(stub.requests) == len(QUESTIONS), "one question is one model call"
        assert all("tools" not in request for request in stub.requests)
        assert problems == []
        page.context.close()
    check_closed(recollect)
    assert recollect.stop() == 0
    report = recollect.run("verify")
    assert report.returncode == 0, report.stdout


def show_chinese_page(display: str, site: str, start: Start, profile: Path) -> None:
    start(
        chromium_path(), "--no-sandbox", f"--user-data-dir={profile}", f"{site}/meeting.html",
        DISPLAY=display,
    )  # fmt: skip


def open_page(browser: Browser, link: str) -> tuple[Page, list[str]]:
    """A signed-in page, and the list in which everything that goes wrong in it is written."""
    page = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB").new_page()
    problems: list[str] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            problems.append(message.text)

    page.on("console", note)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(link)
    return page, problems


def ask_and_check(recollect: Recollect, page: Page, question: str) -> None:
    page.goto(f"{recollect.base}/chat")
    page.get_by_label("Question", exact=True).fill(question)
    page.get_by_label("Time range").select_option(label="Last 30 min")
    page.get_by_role("button", name="Send", exact=True).click()
    turn = page.locator("article.turn[aria-busy=false]")
    turn.wait_for()
    chat = page.url
    cards = turn.locator(".answer .quote")
    quotes = cards.locator("blockquote").all_inner_texts()
    assert len(quotes) == cards.count() == len(SHOWN), quotes
    assert turn.get_by_text("not on the frame").count() == 0
    links = [card.locator("figcaption a").get_attribute("href") or "" for card in cards.all()]
    for link, quote in zip(links, quotes, strict=True):
        check_proof(recollect, page, link, quote)
    page.goto(chat)
    assert page.locator("article.turn .quote").count() == len(SHOWN), "a reload shows the same"


def check_proof(recollect: Recollect, page: Page, link: str, quote: str) -> None:
    """The card's link opens the exact frame with the quoted words boxed, and leads back."""
    page.goto(recollect.base + link)
    found = re.fullmatch(r"/frames/(\d+)\?cite=\d+\.\d+\.\d+", link)
    assert found, link
    frame_id = int(found.group(1))
    assert page.locator(".exact img").get_attribute("src") == f"/api/v1/frames/{frame_id}"
    picture = recollect.get_bytes(f"/frames/{frame_id}")
    shown = page.evaluate(
        "async (url) => [...new Uint8Array(await (await fetch(url)).arrayBuffer())]",
        f"/api/v1/frames/{frame_id}",
    )
    assert bytes(shown) == picture, "the page shows the very bytes"
    words = " ".join(line["text"] for line in recollect.get(f"/frames/{frame_id}/text")["lines"])
    assert quote.lower() in words.lower()
    assert page.locator(".exact svg g.current rect").count() >= 1, "the quoted words are boxed"
    page.get_by_role("link", name="Back to answer").click()
    page.locator("article.turn").first.wait_for()
