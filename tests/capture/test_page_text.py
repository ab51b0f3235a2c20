"""The text of pages: who is asked, and what of the answers travels with a frame."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from simple_websocket import Client

from capture import privacy
from capture.core.geometry import Rect
from capture.page_text import PAINT_MS, PageTextDoor, PageWindow, Tellers, pages_of
from capture.screens.protocol import Screenshot
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.privacy.rules import Rule, RuleSet
from store.spool import page_text
from store.spool.page_text import Area, PageText, PageWord
from store.spool.process_state import TextDoor
from tests.capture.fakes import MONITOR, Bench, screen, window
from tests.tables import for_each

NOW_MS = 1_000_000
SHOT = Screenshot(screen(), MONITOR, NOW_MS)
AREA = Area(0, 0, 320, 192)
PAGE = {
    "title": "Quay", "url": "https://quay.example/", "settled": NOW_MS - 500, "at": NOW_MS + 20,
    "width": 300, "height": 150, "words": [["tide", 10, 20, 30, 12]],
}  # fmt: skip
WORDS = (PageWord("tide", 10, 20, 30, 12),)


def shown(title: str = "Quay - Chromium", number: int = 1) -> PageWindow:
    return PageWindow(window("Chromium", title, window_id=number, incognito=False), AREA, (AREA,))


def kept(*pages: Any, windows: tuple[PageWindow, ...] = (shown(),)) -> list[PageText]:
    return list(pages_of(pages, windows, NOW_MS, lambda facts: "secret" not in (facts.browser_url or "")))


def test_a_page_that_stood_still_around_the_picture_is_kept() -> None:
    assert kept(PAGE) == [PageText(AREA, (AREA,), 300, 150, WORDS)]


@for_each(
    "change",
    [
        {"settled": NOW_MS - PAINT_MS + 1},  # it may not have been on the screen yet
        {"settled": 0},
        {"at": NOW_MS - 1},
        {"url": "https://secret.example/"},
        {"title": "Another"},
        {"title": None},
        {"words": [["tide", 10, 20, 30]]},
        {"words": [["tide", 10.5, 20, 30, 12]]},
        {"words": [["tide\n", 10, 20, 30, 12]]},
        {"words": [["x" * 201, 10, 20, 30, 12]]},
        {"words": [["tide", 10, 20, 10**9, 12]]},
        {"words": [["tide", 1, 1, 1, 1]] * 20_001},
        {"words": 7},
        {"width": 0},
        {"at": "later"},
    ],
)
def test_what_is_in_doubt_or_malformed_is_left_out(change: dict[str, Any]) -> None:
    assert kept({**PAGE, **change}) == []


def test_an_answer_that_is_no_page_is_left_out() -> None:
    assert kept(None, 3, "Quay", ["Quay"]) == []


def test_two_windows_or_two_pages_of_one_title_are_in_doubt() -> None:
    assert kept(PAGE, PAGE) == []
    assert kept(PAGE, windows=(shown(), shown(number=2))) == []


@for_each(
    "content",
    [
        b"{",
        b"[[1]]",
        b"null",
        b"[" * 100_000,
        b'[[[0,0,9,9],[],9,9,[],"anybody"]]',
        b"0" * (page_text.MAX_BYTES + 1),
    ],
)
def test_what_lies_in_the_spool_is_checked_again(content: bytes) -> None:
    with pytest.raises(ValueError):
        page_text.decode(content)


def test_only_ordinary_windows_whose_pixels_are_kept_are_asked() -> None:
    left, right = Rect(0, 0, 160, 192), Rect(160, 0, 160, 192)
    rules = RuleSet((Rule(title="Bank", action="mask"),), defaults=True)
    listed = [
        window("Chromium", "Quay - Chromium", rect=left, incognito=False, window_id=1),
        window("Chromium", "Bank - Chromium", rect=right, incognito=False, window_id=2, focused=False),
    ]
    verdict = privacy.judge(rules, MONITOR, [MONITOR], listed, listed)
    assert [(p.window.window_id, p.area) for p in verdict.pages] == [(1, Area(0, 0, 160, 192))]
    unknown = [replace(listed[0], incognito=None)]
    assert privacy.judge(rules, MONITOR, [MONITOR], unknown, unknown).pages == ()
    editor = window("Editor", "crates.txt")
    assert [p.window for p in privacy.judge(rules, MONITOR, [MONITOR], [editor], [editor]).pages] == [editor]
    private = [replace(editor, incognito=True)]
    assert privacy.judge(rules, MONITOR, [MONITOR], private, private).pages == ()
    moved = [replace(listed[0], rect=right)]
    assert privacy.judge(rules, MONITOR, [MONITOR], listed[:1], moved).pages == ()


class Asked:
    """In the place of the door: notes which windows it was asked about."""

    def __init__(self) -> None:
        self.titles: list[str | None] = []

    def ask(self, windows: Sequence[PageWindow], shot: Screenshot, news: float) -> Any:
        self.titles += [page.window.window_name for page in windows]
        return lambda: b"[]"


def test_a_look_that_keeps_no_frame_asks_for_nothing(data_dir: DataDir) -> None:
    asked = Asked()
    bench = Bench(data_dir, page_text=asked, privacy=PrivacySettings(exclude=({"title": "Bank"},)))
    listed = window("Chromium", "Quay - Chromium", incognito=False, browser_url="https://quay.example/")
    bench.windows.listed = [listed]
    bench.look(4)  # the first is kept, the others show the same
    bench.windows.listed = [replace(listed, window_name="Bank - Chromium")]
    bench.look(4)
    bench.windows.listed = [replace(listed, incognito=None)]
    bench.look(4)
    assert asked.titles == ["Quay - Chromium"]
    bench.finish()


@pytest.fixture
def door(tmp_path: Path) -> Iterator[PageTextDoor]:
    door = PageTextDoor(tmp_path, lambda _: True)
    yield door
    door.close()
    assert TextDoor.read(tmp_path) is None


def test_the_extension_is_asked_through_its_socket(door: PageTextDoor, tmp_path: Path) -> None:
    where = TextDoor.read(tmp_path)
    assert where is not None
    with pytest.raises(HTTPError):
        urlopen(f"http://127.0.0.1:{where.port}/guess")
    assert door.ask([shown()], SHOT, 1.0) is None  # nobody listens
    extension = Client(f"ws://127.0.0.1:{where.port}/{where.key}")
    extension.send("")
    editor = replace(shown(), window=window("Editor", "crates.txt"))
    asked = _until(lambda: door.ask([editor, shown()], SHOT, 1.0))
    request = json.loads(extension.receive(30))
    assert (request["word"], request["titles"]) == (where.word, ["Quay - Chromium"])
    extension.send("no JSON")
    extension.send(json.dumps({"id": request["id"], "pages": [PAGE]}))
    assert asked() == kept(PAGE)
    assert Tellers(door).ask([editor], SHOT, 1.0) is None
    assert door.ask([], SHOT, 1.0) is None  # nothing is kept of which to ask
    extension.close()


def test_who_does_not_answer_costs_a_tenth_of_a_second(door: PageTextDoor, tmp_path: Path) -> None:
    where = TextDoor.read(tmp_path)
    assert where is not None
    extension = Client(f"ws://127.0.0.1:{where.port}/{where.key}")
    assert _until(lambda: door.ask([shown()], SHOT, 1.0))() == []
    extension.close()


def _until(ask: Any) -> Any:
    for _ in range(600):
        answer = ask()
        if answer:
            return answer
        threading.Event().wait(0.05)
    raise AssertionError("nobody can be asked")


def test_a_browser_that_was_stopped_does_not_stop_the_looking(door: PageTextDoor, tmp_path: Path) -> None:
    where = TextDoor.read(tmp_path)
    assert where is not None
    with socket.create_connection(("127.0.0.1", where.port)) as browser:
        browser.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /{where.key} HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        browser.sendall(head.encode())
        title = "".join(Random(0).choices("abcdefghijklmnop", k=100_000))
        _until(lambda: door.ask([shown()], SHOT, 1.0))
        while door.ask([shown(title)], SHOT, 1.0):  # until the connection holds no more
            continue
