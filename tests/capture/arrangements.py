"""Random arrangements of real windows, some of which are left out: what is recorded while they change.

``python -m tests.capture.arrangements 300 [SEED]`` tries that many.
"""

from __future__ import annotations

import random
import sys
import threading
import time
from contextlib import closing
from typing import Any

import numpy as np
from Xlib import X, Xatom
from Xlib import display as xdisplay
from Xlib.ext import shape
from Xlib.protocol.event import ClientMessage

from capture import privacy
from capture.core.clock import SystemClock
from capture.daemon import Sources, read_windows, take_look
from capture.platforms import open_sources
from capture.privacy import judge
from capture.screens.protocol import Pixels
from store.core.settings import CaptureSettings
from store.privacy.rules import Rule, RuleSet
from tests.capture.test_x11 import Display, two_monitors

SECRET = 0xC83CFA
RULES = RuleSet((Rule(app="Vault", action="mask"),))
_WIDTH, _HEIGHT = 1280, 720
_ACTIONS = (
    "move", "slide", "raise", "lower", "shape", "fade", "flash", "popup", "new", "send away", "workspace",
)  # fmt: skip


class Restless:
    """Windows of which some are secret, changed by a thread of their own as fast as the server allows."""

    def __init__(self, display_name: str, seed: int) -> None:
        self._random = random.Random(seed)
        self._display = xdisplay.Display(display_name)
        self._display.set_error_handler(lambda *_: None)
        self._root = self._display.screen().root
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._colours: dict[int, int] = {}
        self._windows = [self._open(is_secret=number % 2 == 0) for number in range(6)]
        self._display.sync()

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self._display.close()

    def _open(self, *, is_secret: bool, is_popup: bool = False) -> Any:
        """Some leave it to themselves to paint, as toolkits do: until then what was there stays."""
        x, y, width, height = self._place()
        colour = SECRET if is_secret else self._random.choice((0x2040A0, 0xE0E0D0, 0x308030))
        paints = {} if self._random.random() < 0.4 else {"background_pixel": colour}
        window = self._root.create_window(
            x, y, width, height, 0, X.CopyFromParent, X.InputOutput, X.CopyFromParent,
            override_redirect=is_popup, event_mask=X.ExposureMask, **paints,
        )  # fmt: skip
        name = "Vault" if is_secret else "Notes"
        window.set_wm_class(name.lower(), name)
        window.set_wm_name(name)
        window.set_wm_normal_hints(flags=1 | 2, x=x, y=y, width=width, height=height)
        window.map()
        self._colours[window.id] = colour
        self._paint(window, colour)
        return window

    def _paint(self, window: Any, colour: int) -> None:
        context = window.create_gc(foreground=colour)
        window.fill_rectangle(context, 0, 0, _WIDTH, _HEIGHT)
        context.free()

    def _repaint(self) -> None:
        """As programs do: soon after what they are told."""
        self._display.sync()
        while self._display.pending_events():
            window = self._display.next_event().window
            self._paint(window, self._colours[window.id])
        self._display.flush()

    def _place(self) -> tuple[int, int, int, int]:
        r = self._random
        return r.randrange(900), r.randrange(500), r.randrange(60, 500), r.randrange(60, 400)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._change()
            self._repaint()
            self._stop.wait(self._random.choice((0.0, 0.003, 0.02, 0.2)))

    def _change(self) -> None:
        number = self._random.randrange(len(self._windows))
        window = self._windows[number]
        action = self._random.choice(_ACTIONS)
        x, y, width, height = self._place()
        if action == "move":
            window.configure(x=x, y=y, width=width, height=height)
        elif action == "slide":
            for step in range(8):
                window.configure(x=x + 4 * step, y=y)
                self._repaint()
        elif action in ("raise", "lower"):
            window.configure(stack_mode=X.Above if action == "raise" else X.Below)
        elif action == "shape":
            window.shape_rectangles(shape.SO.Set, shape.SK.Bounding, 0, 0, 0, [(0, 0, width // 2, height)])
        elif action == "fade":
            atom = self._display.get_atom("_NET_WM_WINDOW_OPACITY")
            window.change_property(atom, Xatom.CARDINAL, 32, [self._random.choice((0x7FFFFFFF, 0xFFFFFFFF))])
        elif action == "send away":
            self._ask_manager(window, "_NET_WM_DESKTOP", self._random.randrange(2))
        elif action == "workspace":
            self._ask_manager(self._root, "_NET_CURRENT_DESKTOP", self._random.randrange(2))
        elif action in ("flash", "popup"):
            brief = self._open(is_secret=self._random.random() < 0.7, is_popup=action == "popup")
            self._repaint()
            time.sleep(self._random.uniform(0.003, 0.04))
            brief.destroy()
        else:
            window.destroy()
            self._windows[number] = self._open(is_secret=number % 2 == 0)

    def _ask_manager(self, window: Any, what: str, number: int) -> None:
        message = ClientMessage(
            window=window, client_type=self._display.get_atom(what), data=(32, [number, 2, 0, 0, 0])
        )
        mask = X.SubstructureRedirectMask | X.SubstructureNotifyMask
        self._root.send_event(message, event_mask=mask)


def looked(sources: Sources) -> list[Pixels]:
    """What would be recorded of the monitors now."""
    monitors = sources.screens.monitors()
    before, _ = read_windows(sources.windows)
    look = take_look(sources, monitors, monitors, before)
    recorded = []
    for shot in look.shots.values():
        verdict = judge(RULES, shot.monitor, monitors, look.before, look.after)
        if not verdict.reason:
            privacy.mask(shot.pixels, shot.monitor, verdict.masks)
            recorded.append(shot.pixels)
    return recorded


def secret_pixels(pixels: Pixels) -> int:
    colours = pixels.view(np.uint32)[..., 0] & 0xFFFFFF
    return int(np.count_nonzero(colours == SECRET))


def attempt(sources: Sources, display_name: str, seed: int, looks: int) -> tuple[int, int]:
    """(secret pixels recorded, pictures recorded) of one arrangement and its changes."""
    restless = Restless(display_name, seed)
    leaked = kept = 0
    try:
        restless.start()
        pause = random.Random(seed)
        for _ in range(looks):
            for pixels in looked(sources):
                leaked, kept = leaked + secret_pixels(pixels), kept + 1
            time.sleep(pause.uniform(0.0, 0.15))
    finally:
        restless.close()
    return leaked, kept


def leaks(count: int, first_seed: int = 0, looks: int = 10) -> tuple[list[tuple[int, int]], int]:
    """Arrangements, by seed, of which secret pixels were recorded; how many pictures were."""
    leaking, kept = [], 0
    with closing(Display()) as display:
        two_monitors(display)
        display.run("openbox", "--sm-disable")
        settings, clock = CaptureSettings(), SystemClock()
        with closing(open_sources(settings, clock, {"DISPLAY": display.name})) as sources:
            read_windows(sources.windows)
            for seed in range(first_seed, first_seed + count):
                leaked, recorded = attempt(sources, display.name, seed, looks)
                kept += recorded
                leaking += [(seed, leaked)] if leaked else []
    return leaking, kept


def main(count: int, first_seed: int = 0) -> None:
    leaking, kept = leaks(count, first_seed)
    sys.stdout.write(
        f"{count} arrangements, {10 * count} looks at two monitors, {kept} pictures; leaks: {leaking}\n"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
