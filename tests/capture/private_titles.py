"""Private windows of real browsers beside titles of all kinds: what the capture daemon records of them.

``python -m tests.capture.private_titles chromium=/usr/bin/chromium firefox=/path/to/firefox`` opens, on a
display of its own, an ordinary window and private ones: wide, narrow, and one that a page opened. The page of
each private one is of one colour and changes its title; that colour must be on no picture, that of the
ordinary one on some.
"""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
from PIL import Image, ImageGrab

from capture.privacy import MASK_COLOUR
from tests.capture.test_x11 import Display, until

SECRET, ORDINARY = (200, 60, 250), (40, 160, 70)
EACH_S = 2.0
TITLES = (
    "wave", "sun", "a", "one zoo", "cocoa", "www", "m", "...", "- - -", "Inbox (3)",
    "Bank", "Fjäll", "ÄÖÜ", "gyq", "日本語のページ", "新的标签页", "메일", "Привет", "Ελληνικά",
    "مرحبا", "שלום", "हिन्दी", "ไทย", "🙂", "New Tab", "Mozilla Firefox",
    "News — Mozilla Firefox", "News - Chromium", "Incognito", "x (Incognito)",
    "Private Browsing", "Not private — Mozilla Firefox", "Firefox Developer Edition",
    "Google Chrome", " ", "\u200b", "\u202eelttil", "a\tb", "t" * 500, "<b>bold</b>",
    "Private window", "Desktop", "Recollect", "KeePassXC", "Settings – About", "…",
)  # fmt: skip
_PAGE = """<!doctype html><title>{first}</title><body style="margin:0;background:rgb{colour};height:100vh">
<script>
const titles = {titles}; let n = 0;
if (titles.length) setInterval(() => {{ document.title = titles[n++ % titles.length] }}, {each_ms});
if (location.hash === "#opens") document.onclick = () => open("/secret", "", "popup,width=500,height=300");
</script>"""


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_secret = self.path.startswith("/secret")
        page = _PAGE.format(
            first="wave" if is_secret else "Harbour", colour=SECRET if is_secret else ORDINARY,
            titles=json.dumps(TITLES if is_secret else []), each_ms=round(EACH_S * 1000),
        ).encode()  # fmt: skip
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def pages() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Pages) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def command_of(kind: str, path: str, profile: Path) -> list[str]:
    if kind == "firefox":
        (profile / "user.js").write_text('user_pref("dom.disable_open_during_load", false);\n')
        return [path, "--no-remote", "--width", "1000", "--height", "600", "--profile", str(profile)]
    own = [path, "--no-sandbox", "--disable-gpu", "--no-first-run", f"--user-data-dir={profile}"]
    return [*own, "--window-size=1000,600"]


def open_private(display: Display, kind: str, address: str) -> None:
    """As a person does: by the keys of the browser in front."""
    _tell(display, "key", "ctrl+shift+p" if kind == "firefox" else "ctrl+shift+n")
    time.sleep(8)
    _tell(display, "key", "ctrl+l", "type", "--delay", "30", address)
    _tell(display, "key", "Return")
    until(lambda: pixels_of(ImageGrab.grab(xdisplay=display.name), SECRET) > 10_000, 120)


def pixels_of(image: Image.Image, colour: tuple[int, int, int]) -> int:
    return int((np.asarray(image.convert("RGB")) == colour).all(axis=2).sum())


def recorded(spool: Path) -> tuple[int, int, int, int]:
    """(pictures, pixels of private windows, pictures with the ordinary one, with something masked)."""
    pictures = leaked = shown = masked = 0
    for path in spool.glob("new/*/image.*"):
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            pictures += 1
            leaked += pixels_of(image, SECRET)
            shown += pixels_of(image, ORDINARY) > 1000
            masked += pixels_of(image, MASK_COLOUR) > 1000
    return pictures, leaked, shown, masked


def attempt(kind: str, path: str) -> tuple[int, int, int, int]:
    started: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder, closing(Display()) as display, pages() as site:
        display.run("openbox", "--sm-disable")
        home, profile = Path(folder) / "home", Path(folder) / "profile"
        profile.mkdir()
        started.append(display.run(sys.executable, "-m", "capture", "--home", str(home)))
        try:
            started.append(display.run(*command_of(kind, path, profile), f"{site}/ordinary"))
            # Else nothing would say that it is recorded at all.
            until(lambda: recorded(home / "spool")[2], 180)
            open_private(display, kind, f"{site}/secret")
            time.sleep(5)
            open_private(display, kind, f"{site}/secret#opens")
            # Narrow: the badge is the first that has no room.
            _tell(display, "getactivewindow", "windowsize", "520", "500", "windowmove", "700", "150")
            time.sleep(len(TITLES) * EACH_S / 2)
            _tell(display, "mousemove", "900", "500", "click", "1")  # opens one from the page
            time.sleep(len(TITLES) * EACH_S / 2 + 2)
        finally:
            for process in reversed(started):
                process.send_signal(signal.SIGTERM)
            for process in started:
                process.wait(60)
        return recorded(home / "spool")


def _tell(display: Display, *command: str) -> None:
    display.call("xdotool", *command)


def main(*browsers: str) -> int:
    leaks = 0
    for browser in browsers:
        kind, _, path = browser.partition("=")
        pictures, leaked, shown, masked = attempt(kind, path)
        leaks += leaked
        sys.stdout.write(
            f"{kind}: {len(TITLES)} titles, {pictures} pictures, {shown} with the ordinary window, {masked} "
            f"with one painted over, {leaked} pixels of private ones\n"
        )
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
