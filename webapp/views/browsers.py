"""What can be told of private windows: which browsers tell, and what the extension says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from store import browser_words
from store.browser_words import BrowserWord
from store.privacy import RuleSet
from store.private_windows import BROWSERS
from webapp import access
from webapp.services import Services

EXTENSION_FOLDER = Path(__file__).resolve().parents[2] / "capture" / "browser_extension"


@dataclass(frozen=True, slots=True)
class PairedBrowser:
    name: str
    heard_ms: int
    windows: int
    is_silent: bool


@dataclass(frozen=True, slots=True)
class BrowserSection:
    """`telling` browsers say it in their titles, `silent` ones do not."""

    telling: list[str]
    silent: list[str]
    masked: bool
    paired: list[PairedBrowser]
    problem: str
    folder: str
    address: str
    token: str


def section(own: Services, rules: RuleSet, now_ms: int) -> BrowserSection:
    """`problem` is "" unless what the extension said cannot be read."""
    words, problem = _heard(own)
    return BrowserSection(
        telling=[browser.names[0] for browser in BROWSERS if browser.ordinary or browser.always_private],
        silent=[browser.names[0] for browser in BROWSERS if not (browser.ordinary or browser.always_private)],
        masked=rules.mask_maybe_private,
        paired=_paired(words, now_ms),
        problem=problem,
        folder=str(EXTENSION_FOLDER),
        address=f"http://127.0.0.1:{own.settings.web.port}",
        token=access.extension_token(own.token),
    )


def _heard(own: Services) -> tuple[list[BrowserWord], str]:
    try:
        return browser_words.heard(own.data_dir.spool), ""
    except (OSError, ValueError) as error:
        return [], f"What the extension said cannot be read, so Chrome's windows are blacked out: {error}"


def _paired(words: list[BrowserWord], now_ms: int) -> list[PairedBrowser]:
    """One line a browser: profiles of one browser have a copy of the extension each."""
    lines = []
    for name in sorted({word.browser for word in words}):
        own = [word for word in words if word.browser == name]
        latest = max(word.said_ms for word in own)
        speaking = [word for word in own if not word.is_silent(now_ms)]
        windows = sum(len(word.windows) for word in speaking)
        lines.append(PairedBrowser(name, max(0, now_ms - latest), windows, not speaking))
    return lines
