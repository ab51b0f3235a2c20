"""Browser windows proved ordinary by their toolbars, and what opens from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw

from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Pixels, Screenshot, bgrx
from capture.windows.protocol import WindowInfo
from capture.windows.toolbars import LOOKS, OrdinaryWindows, is_ordinary
from tests.capture.fakes import window

STRIPS = Path(__file__).parent / "toolbars"
DESK = Monitor("DP-1", Rect(0, 0, 2000, 1000))
AREA = Rect(100, 50, 1280, 700)
PEERS = frozenset({1, 2})


def strip(name: str) -> Pixels:
    with Image.open(STRIPS / f"{name}.webp") as image:
        return bgrx(image)


@pytest.mark.parametrize("name", sorted(path.stem for path in STRIPS.glob("*.webp")))
def test_toolbars_of_a_real_chromium(name: str) -> None:
    """Themes, widths, scale factors."""
    assert is_ordinary(strip(name)) is (name.partition("_")[0] == "ordinary")


@pytest.mark.parametrize("colours", [("white", "#eef"), ("#0f0f0f", "#222")])
def test_a_page_that_looks_like_a_toolbar_proves_nothing(colours: tuple[str, str]) -> None:
    """The page of a private window begins under a toolbar, though that be covered in part."""
    for name, below in (("private_light", 87), ("private_desktop_theme", 92)):
        pixels = strip(name)
        page = Image.new("RGB", (pixels.shape[1], 80), colours[0])
        ImageDraw.Draw(page).rounded_rectangle((40, 12, page.width - 60, 52), 20, colours[1])
        pixels = np.concatenate((pixels[:below], bgrx(page)))
        assert not is_ordinary(pixels), name
        pixels[below - 10 : below, 300:600] = bgrx(Image.effect_noise((300, 10), 50))
        assert not is_ordinary(pixels), name


class Desk:
    """What is proved of windows, look by look."""

    def __init__(self) -> None:
        self._ordinary = OrdinaryWindows()
        self._at_ms = 0

    def look(self, name: str, *windows: WindowInfo, after_ms: int = 1000) -> list[bool | None]:
        """The strip of this name is where the browser's main window is."""
        self._at_ms += after_ms
        pixels = np.zeros((1000, 2000, 4), dtype=np.uint8)
        shown = strip(name)[:, : AREA.width]
        pixels[AREA.y : AREA.y + len(shown), AREA.x : AREA.x + shown.shape[1]] = shown
        shot = Screenshot(pixels, DESK, self._at_ms)
        return [window.incognito for window in self._ordinary.marked(shot, windows, windows)[1]]


def browser(number: int = 1, **changes: Any) -> WindowInfo:
    known = {"rect": AREA, "role": "browser", "key": f"7.9.{number:x}", "window_id": number, "peers": PEERS}
    return replace(window("Chromium", "News - Chromium"), **{**known, **changes})


def popup(number: int = 9, **changes: Any) -> WindowInfo:
    return browser(number, **{"role": "pop-up", "rect": Rect(0, 800, 100, 100), **changes})


def test_a_window_is_ordinary_after_some_looks_and_then_stays_so() -> None:
    desk, covering = Desk(), window("Code", rect=DESK.area)
    assert [desk.look("ordinary_light", browser())[0] for _ in range(LOOKS)] == [None] * (LOOKS - 1) + [False]
    assert desk.look("private_light", covering, browser(window_name="Mail"))[1] is False
    assert desk.look("ordinary_light", browser(2))[0] is None  # another window


def test_where_it_was_itself_a_moment_ago_is_no_doubt() -> None:
    desk, passed = Desk(), browser(places=(DESK.area,), rect=DESK.area)
    assert [desk.look("ordinary_light", passed, browser()) for _ in range(LOOKS)][-1] == [False, False]
    other = browser(2, places=(DESK.area,), rect=DESK.area)
    desk = Desk()
    assert [desk.look("ordinary_light", other, browser()) for _ in range(LOOKS)][-1] == [None, None]


def test_what_is_not_seen_is_not_proved() -> None:
    corner = window("Code", rect=Rect(1370, 60, 40, 40))
    for windows in (
        (corner, browser()),
        (browser(full_screen=True),),
        (browser(rect=Rect(-10, 50, 1280, 700)),),
        (browser(app_name="Brave-browser"),),
        (browser(witnessed=True),),
        (browser(key=""),),
    ):
        desk = Desk()
        assert [desk.look("ordinary_light", *windows)[-1] for _ in range(3)] == [None] * 3
    desk = Desk()
    shown = ["ordinary_light", "private_light"] * 2
    assert [desk.look(name, browser())[0] for name in shown] == [None] * 4  # never twice in a row


def proved(desk: Desk) -> None:
    for number in (1, 2):
        for _ in range(LOOKS):
            desk.look("ordinary_light", browser(number))


def test_what_opens_is_as_its_process_is() -> None:
    desk = Desk()
    proved(desk)
    assert desk.look("ordinary_light", popup(), browser(), after_ms=10_000) == [False, False]
    menu = popup(10, kind="popup", window_name=None, role="")
    assert desk.look("ordinary_light", menu, browser())[0] is False
    assert desk.look("ordinary_light", popup(11, peers=None))[0] is None


def test_what_opens_beside_a_window_in_doubt_stays_in_doubt() -> None:
    desk = Desk()
    proved(desk)
    hidden = PEERS | {3}
    assert desk.look("ordinary_light", popup(peers=hidden), browser(), after_ms=10_000)[0] is None
    assert desk.look("ordinary_light", popup(), browser(), after_ms=60_000)[0] is None  # it was its own
    desk.look("private_light", browser(3, peers=hidden))
    assert desk.look("ordinary_light", popup(12), browser())[0] is None  # the one in doubt was closed
    assert desk.look("ordinary_light", popup(13), browser(), after_ms=60_000)[0] is False
