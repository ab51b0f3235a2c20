"""What can be told of private windows: which browsers tell, and what the extension says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from store.privacy.defaults import BROWSERS, Browser
from store.privacy.rules import RuleSet
from store.spool import window_hints
from store.spool.window_hints import ExtensionReport
from webapp.core.services import Services
from webapp.security import access

EXTENSION_FOLDER = Path(__file__).resolve().parents[2] / "capture" / "browser_extension"


@dataclass(frozen=True, slots=True)
class PairedBrowser:
    name: str
    heard_ms: int
    windows: int
    is_silent: bool


@dataclass(frozen=True, slots=True)
class BrowserLine:
    """How a family of browsers tells its private windows, and what happens while nothing tells."""

    names: list[str]
    tells: list[str]
    otherwise: str


@dataclass(frozen=True, slots=True)
class BrowserSection:
    """`lines` has every family that is known; `masked`: what nothing tells of is blacked out."""

    lines: list[BrowserLine]
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
        lines=[_line(browser, rules) for browser in BROWSERS],
        masked=rules.mask_maybe_private,
        paired=_paired(words, now_ms),
        problem=problem,
        folder=str(EXTENSION_FOLDER),
        address=f"http://127.0.0.1:{own.settings.web.port}",
        token=access.extension_token(own.token),
    )


def _line(browser: Browser, rules: RuleSet) -> BrowserLine:
    first = browser.names[0]
    others = [
        name for name in browser.names[1:] if _is_plain(name) and name not in first and first not in name
    ]
    if browser.always_private:
        return BrowserLine([first, *others], ["has no other windows"], "")
    tells = ["title" if browser.ordinary else "title of some windows"]
    tells += ["command line"] if browser.switches else []
    tells += ["toolbar", "extension when paired"] if browser.toolbar else []
    otherwise = "left out until its toolbar was read" if browser.toolbar else "recorded"
    return BrowserLine([first, *others], tells, "blacked out" if rules.mask_maybe_private else otherwise)


def _is_plain(name: str) -> bool:
    """A name that people use, not an id or a program's file."""
    return name[0].isupper() and "." not in name


def _heard(own: Services) -> tuple[list[ExtensionReport], str]:
    try:
        return window_hints.read_reports(own.data_dir.spool), ""
    except (OSError, ValueError) as error:
        return [], f"What the extension said cannot be read, so Chrome's windows are blacked out: {error}"


def _paired(words: list[ExtensionReport], now_ms: int) -> list[PairedBrowser]:
    """One line a browser: profiles of one browser have a copy of the extension each."""
    lines = []
    for name in sorted({word.browser for word in words}):
        own = [word for word in words if word.browser == name]
        latest = max(word.said_ms for word in own)
        speaking = [word for word in own if not word.is_silent(now_ms)]
        windows = sum(len(word.windows) for word in speaking)
        lines.append(PairedBrowser(name, max(0, now_ms - latest), windows, not speaking))
    return lines
