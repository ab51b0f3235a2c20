"""The browser extension in a real Chromium: ordinary windows are told, private ones never recorded."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import subprocess
from collections.abc import Callable, Iterator
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
def chromium(browser: Browser, display: str, profile: Path) -> Iterator[BrowserContext]:
    """A Chromium with the extension, in sight on the display."""
    context = browser.browser_type.launch_persistent_context(
        profile,
        executable_path=chromium_path(),
        headless=False,
        no_viewport=True,
        env={**os.environ, "DISPLAY": display},
        ignore_default_args=["--disable-extensions"],
        args=[
            "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--window-size=1200,900",
            f"--load-extension={EXTENSION}", f"--disable-extensions-except={EXTENSION}",
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
