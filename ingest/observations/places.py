"""Where somebody was: the site or window of a stretch of activity, and what kind of work that is.

Pure functions over names and addresses; nothing here looks at a picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from store.privacy.defaults import is_browser
from store.timeline.totals import site

MAX_FILES = 20

# Counters and marks of unsaved work come and go while the window stays the same.
_UNSTEADY = re.compile(r"^(?:\(\d+\+?\)|\[\d+\]|[●•*✳✱]+)\s*|\s*(?:[●•*]|\(\d+\))$")
_DASHES = re.compile(r"\s+[-–—|·]\s+")
_EXTENSIONS = (
    "py|pyi|ipynb|js|jsx|mjs|ts|tsx|html?|css|scss|vue|svelte|java|kt|kts|swift|c|h|cc|cpp|hpp|cs|go|rs|rb"
    "|php|sh|bash|zsh|ps1|sql|lua|dart|scala|r|jl|ex|exs|erl|hs|clj|toml|ya?ml|json|xml|ini|cfg|conf|env"
    "|lock|md|rst|txt|log|csv|tsv|pdf|docx?|xlsx?|pptx?|odt|ods|odp|png|jpe?g|webp|gif|svg|mp4|mov|mp3|wav"
    "|zip|tar|gz|db|sqlite|proto|tf|gradle|mk|tex|bib"
)
_FILE = re.compile(
    rf"(?<![\w./@-])(?:~?/|\./|[A-Za-z]:\\)?(?:[\w.+-]+[/\\])*[\w+-][\w.+-]*\.(?:{_EXTENSIONS})(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
_EDITORS = re.compile(
    r"code|codium|cursor|pycharm|intellij|webstorm|idea|xcode|sublime|zed|vim|emacs|studio", re.I
)

_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(words, re.IGNORECASE))
    for kind, words in (
        ("meeting", r"zoom|teams|meet|webex|腾讯会议|facetime"),
        ("mail", r"mail|outlook|thunderbird|邮"),
        (
            "messages",
            r"slack|discord|telegram|signal|whatsapp|wechat|微信|钉钉|飞书|lark|messages|element|qq",
        ),
        ("terminal", r"terminal|iterm|konsole|xterm|alacritty|kitty|wezterm|powershell|console|tmux"),
        ("coding", _EDITORS.pattern),
        ("tables", r"excel|calc|numbers|sheets"),
        (
            "documents",
            r"word|writer|pages|docs|notion|obsidian|acrobat|evince|preview|okular|wps|impress|keynote",
        ),
        ("media", r"vlc|mpv|spotify|music|photos|player|quicktime"),
        ("files", r"finder|nautilus|explorer|dolphin|thunar|files"),
        ("dashboards", r"grafana|kibana|datadog"),
    )
)


def place(app_name: str | None, window_name: str | None, browser_url: str | None) -> str:
    """One spelling for one place: the app with the site, or with the window where there is none."""
    return f"{app_name or ''}\n{host(browser_url) or stable_title(window_name, app_name)}"


def host(browser_url: str | None) -> str:
    """``sqlite.org`` of an address, "" for none."""
    try:
        return (urlsplit(browser_url or "").netloc or "").lower().removeprefix("www.")
    except ValueError:
        return ""


def stable_title(window_name: str | None, app_name: str | None = None) -> str:
    """A window's title without counters, marks and the app's own name at its end."""
    title = _UNSTEADY.sub("", (window_name or "").strip()).strip()
    parts = _DASHES.split(title)
    if app_name and len(parts) > 1 and app_name.casefold() in parts[-1].casefold():
        title = title[: title.rindex(parts[-1])].rstrip(" -–—|·")
    return title


def kind(app_name: str | None, browser_url: str | None) -> str:
    """``coding``, ``mail``, ``messages``, …; ``browsing`` in a browser, ``other`` where nobody knows."""
    if is_browser(app_name) or browser_url:
        return "browsing"
    return next((name for name, words in _KINDS if words.search(app_name or "")), "other")


def project(app_name: str | None, window_name: str | None) -> str | None:
    """The project an editor names in its title: ``main.py - recall - Visual Studio Code``."""
    parts = [part.strip() for part in _DASHES.split(stable_title(window_name))]
    if len(parts) < 3 or not _EDITORS.search(app_name or ""):
        return None
    return parts[-2] or None


def tags(app_name: str | None, window_name: str | None, browser_url: str | None) -> list[str]:
    """What a frame is marked with as it comes in: the kind of work, the site, the project."""
    work = kind(app_name, browser_url)
    names = [None if work == "other" else work, site(browser_url), project(app_name, window_name)]
    return [tag for tag in names if tag]


def files(texts: Iterable[str]) -> list[str]:
    """File names and paths that stand in some texts, those named most often first."""
    counts: dict[str, int] = {}
    for text in texts:
        for match in _FILE.finditer(text):
            counts[match[0]] = counts.get(match[0], 0) + 1
    return sorted(counts, key=lambda name: -counts[name])[:MAX_FILES]


def file_of_url(url: str) -> str | None:
    """The file that an address leads to, where its path ends in one."""
    try:
        name = unquote(urlsplit(url).path).rpartition("/")[2]
    except ValueError:
        return None
    return name if _FILE.fullmatch(name) else None
