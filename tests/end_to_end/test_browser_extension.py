"""The browser extension in a real Chromium: ordinary windows are told, private ones never recorded."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, expect

from capture.privacy import MASK_COLOUR
from store.spool import window_hints
from tests.end_to_end.programs import Recollect, chromium_path, eventually
from webapp.security import access

EXTENSION = Path(__file__).parents[2] / "capture" / "browser_extension"


def page_of(title: str, words: str) -> str:
    html = f"<title>{title}</title><body style='font: 40px sans-serif'><h1>{words}</h1><p>{words}</p>"
    return "data:text/html," + quote(html)


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    return tmp_path / "profile"


@pytest.fixture
def extension() -> Path:
    return EXTENSION


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    """The extension as it is once it may see pages: the browser's own question cannot be clicked here."""
    copy = Path(shutil.copytree(EXTENSION, tmp_path / "allowed"))
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["host_permissions"] += manifest.pop("optional_host_permissions")
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy


@pytest.fixture
def chromium(
    browser: Browser, display: str, profile: Path, request: pytest.FixtureRequest
) -> Iterator[BrowserContext]:
    """A Chromium with the extension, in sight on the display."""
    extension = request.getfixturevalue(getattr(request, "param", "extension"))
    context = browser.browser_type.launch_persistent_context(
        profile,
        executable_path=chromium_path(),
        headless=False,
        no_viewport=True,
        env={**os.environ, "DISPLAY": display},
        ignore_default_args=["--disable-extensions"],
        args=[
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1200,900",
            f"--load-extension={extension}", f"--disable-extensions-except={extension}",
        ],
    )  # fmt: skip
    yield context
    context.close()


def pair(chromium: BrowserContext, recollect: Recollect) -> Page:
    page = chromium.new_page()
    page.goto(f"{access.EXTENSION_ORIGIN}/options.html")
    page.get_by_label("Address").fill(recollect.base)
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Pair").click()
    expect(page.get_by_role("status")).to_have_text("Not paired: Recollect does not know this token.")
    page.get_by_label("Token").fill(access.extension_token(recollect.token))
    page.get_by_role("button", name="Pair").click()
    expect(page.get_by_role("status")).to_have_text("Paired: Recollect knows 1 ordinary window.")
    return page


def test_private_windows_of_a_paired_browser_are_never_recorded(
    recollect: Recollect,
    display: str,
    on_desktop: Callable[..., object],
    chromium: BrowserContext,
    profile: Path,
) -> None:
    recollect.up(DISPLAY=display)
    page = pair(chromium, recollect)
    page.goto(page_of("Harbour", "lighthouse keepers meet"))
    eventually(lambda: recollect.found('"lighthouse keepers"'), what="the page is found")

    secret = page_of("Vault", "zanzibar umbrella combination")
    on_desktop(chromium_path(), "--no-sandbox", f"--user-data-dir={profile}", "--incognito", secret)
    on_desktop("xterm", "-geometry", "40x4+1400+20", "-e", "while :; do date; sleep 1; done")
    eventually(lambda: blacked_out(recollect), what="the private window is blacked out")
    assert not recollect.found('"zanzibar umbrella"')
    assert not any("Vault" in (frame["window_name"] or "") for frame in recollect.found(""))

    raise_ordinary(display)
    page.goto(secret)  # the same words in an ordinary window: they could have been read
    eventually(lambda: recollect.found('"zanzibar umbrella"'), what="the ordinary one is found")


def blacked_out(recollect: Recollect) -> bool:
    """Whether the middle of the newest frame is the colour of masks."""
    newest = recollect.found("")[0]["frame_id"]
    picture = Image.open(io.BytesIO(recollect.get_bytes(f"/frames/{newest}"))).convert("RGB")
    return picture.getpixel((400, 500)) == MASK_COLOUR


def raise_ordinary(display: str) -> None:
    """Bring the window called Harbour in front of all others."""
    environ = {**os.environ, "DISPLAY": display}
    subprocess.run(["xdotool", "search", "--name", "Harbour", "windowactivate"], env=environ, check=True)


def test_the_extension_s_id_follows_from_its_key() -> None:
    """https://developer.chrome.com/docs/extensions/reference/manifest/key"""
    manifest = json.loads((EXTENSION / "manifest.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256(base64.b64decode(manifest["key"])).hexdigest()[:32]
    name = "".join(chr(ord("a") + int(digit, 16)) for digit in digest)
    assert f"chrome-extension://{name}" == access.EXTENSION_ORIGIN
    assert manifest["incognito"] == "not_allowed"
    assert window_hints.SILENT_AFTER_MS > 60_000


LEDGER = """<!doctype html><title>Ledger</title><body style="font: 30px sans-serif">
<p>Seven crates of walnuts left the harbour</p><p style="color: white">invisible marmalade</p>
<p>although nobody has asked for them since</p><p>before the bridge was closed on Monday</p>
<input value="typed-by-somebody"><input type="password" value="secret-of-somebody"><p id="now"></p>
<script>setInterval(() => {
  now.textContent = `It is number ${Date.now() % 97}`;
  now.style.margin = `${Date.now() % 300}px`;
}, 2700)</script>"""
"""What changes is elsewhere each time: a clock would be left alone. And it is not in step with the looks: a
page that changes while its picture is taken tells nothing.
"""


@pytest.fixture
def ledger() -> Iterator[str]:
    """The address of a page that changes every few seconds."""

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(LEDGER.encode())

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("chromium", ["allowed"], indirect=True)
def test_the_text_of_a_page_is_told_where_it_was_allowed(
    recollect: Recollect, display: str, chromium: BrowserContext, ledger: str
) -> None:
    recollect.up(DISPLAY=display)
    page = pair(chromium, recollect)
    page.goto(ledger)

    asked_at = time.monotonic()

    def told() -> set[str]:
        nonlocal asked_at
        if time.monotonic() > asked_at + 10:
            # A page is asked once for a picture, and on a busy machine it may answer too late: a new picture.
            page.evaluate("document.body.prepend(document.createElement('hr'))")
            asked_at = time.monotonic()
        frames = {hit["frame_id"] for hit in recollect.found('"crates of walnuts"')}
        lines = [line for n in frames for line in recollect.get(f"/frames/{n}/text")["lines"]]
        return {word["text"] for line in lines for word in line["words"] if word["source"] == "browser"}

    words = eventually(told, what="a frame with words of the browser")
    assert {"Seven", "walnuts", "harbour"} <= words
    assert not words & {"invisible", "marmalade"}
    recollect.stop()
    stored = b"".join(path.read_bytes() for path in recollect.home.rglob("*") if path.is_file())
    assert b"secret-of-somebody" not in stored
