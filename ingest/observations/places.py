"""Where somebody was: the site or window of a stretch of activity, and what kind of work that is.

Pure functions over names and addresses; nothing here looks at a picture.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

from store.core.tokenizer import tokens
from store.core.translation import N_
from store.privacy.defaults import is_browser
from store.spool.queue import PAINTED_OVER
from store.timeline.totals import site

MAX_FILES = 20

# Counters and marks of unsaved work come and go while the window stays the same.
_UNSTEADY = re.compile(r"^(?:\(\d+\+?\)|\[\d+\]|[●•*✳✱]+)\s*|\s*(?:[●•*]|\(\d+\))$")
_DASHES = re.compile(r"\s+[-–—|·]\s+")
_CUTS = re.compile(r"\s+[-–—|·]\s+|\s*[|_]\s*")
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
        (N_("meeting"), r"zoom|teams|meet|webex|腾讯会议|facetime"),
        (N_("mail"), r"mail|outlook|thunderbird|邮"),
        (
            N_("messages"),
            r"slack|discord|telegram|signal|whatsapp|wechat|微信|钉钉|飞书|lark|messages|element|qq",
        ),
        (N_("terminal"), r"terminal|iterm|konsole|xterm|alacritty|kitty|wezterm|powershell|console|tmux"),
        (N_("coding"), _EDITORS.pattern),
        (N_("tables"), r"excel|calc|numbers|sheets"),
        (
            N_("documents"),
            r"word|writer|pages|docs|notion|obsidian|acrobat|evince|preview|okular|wps|impress|keynote",
        ),
        (N_("media"), r"vlc|mpv|spotify|music|photos|player|quicktime"),
        (N_("files"), r"finder|nautilus|explorer|dolphin|thunar|files"),
        (N_("dashboards"), r"grafana|kibana|datadog"),
    )
)


def place(app_name: str | None, window_name: str | None, browser_url: str | None) -> str:
    """One spelling for one place: the app with the site, or with the window where there is none."""
    return f"{app_name or ''}\n{host(browser_url) or stable_title(window_name, app_name)}"


def is_nameless(app_name: str | None, window_name: str | None, browser_url: str | None) -> bool:
    """Whether nothing tells which window it is: unknown ones, and those that were painted over."""
    has_app = app_name and app_name not in PAINTED_OVER
    return not (has_app or window_name or browser_url)


def where(app_name: str | None, browser_url: str | None) -> str:
    """The site of an address, else the app; "" where nobody knows."""
    return host(browser_url) or app_name or ""


def host(browser_url: str | None) -> str:
    """``sqlite.org`` of an address, "" for none."""
    try:
        return (urlsplit(browser_url or "").netloc or "").lower().removeprefix("www.")
    except ValueError:
        return ""


def stable_title(window_name: str | None, app_name: str | None = None) -> str:
    """A window's title without counters, marks and the app's own name at its end."""
    title = _UNSTEADY.sub("", (window_name or "").strip()).strip()
    breaks = list(_DASHES.finditer(title))
    if breaks and app_name and _are_one(title[breaks[-1].end() :], app_name):
        return title[: breaks[-1].start()]
    return title


def _are_one(part: str, name: str) -> bool:
    """Whether a part of a title names this app, with its maker or without: Excel is Microsoft Excel."""
    words, of_name = ({token.text for token in tokens(text)} for text in (part, name))
    return bool(words) and (words <= of_name or (of_name <= words and len(words - of_name) < 3))


class Titles:
    """Titles of windows compared with each other, so that each is told without what all have in common.

    Most pages of a site end in its name. A part that stands at the same end of more than half of the titles
    of an app or site, of three at least, says nothing of one of them.
    """

    def __init__(self, windows: Iterable[tuple[str | None, str | None, str | None]] = ()) -> None:
        """`windows` are (app, title, address)."""
        titles: dict[str, set[str]] = {}
        for app_name, window_name, browser_url in windows:
            title = stable_title(window_name, app_name)
            titles.setdefault(where(app_name, browser_url), set()).add(title)
        self._shared = {
            (of, end)
            for of, of_place in titles.items()
            for end, count in Counter(end for title in of_place for end in _ends(title)).items()
            if count > 2 and count * 2 > len(of_place)
        }

    def told(self, app_name: str | None, window_name: str | None, browser_url: str | None) -> tuple[str, str]:
        """What a window is called, "" for no more than its app or site; and that app or site."""
        site, title = host(browser_url), stable_title(window_name, app_name)
        of = where(app_name, browser_url)
        for end in _ends(title):
            if (of, end) in self._shared:
                title = title.removesuffix(end).removeprefix(end)
        breaks = list(_DASHES.finditer(title))
        if breaks and site and _is_name(title[breaks[-1].end() :], of, is_site=True):
            return title[: breaks[-1].start()], title[breaks[-1].end() :]
        if breaks and _is_name(title[: breaks[0].start()], of, is_site=bool(site)):
            return title[breaks[0].end() :], title[: breaks[0].start()] if site else of
        return ("" if _is_name(title, of, is_site=bool(site)) else title), of or "Unknown app"


def _ends(title: str) -> list[str]:
    """What a title ends or begins with, from or to a dash, a bar or a line below; the longest first."""
    cuts = list(_CUTS.finditer(title))
    ends = [title[cut.start() :] for cut in cuts] + [title[: cut.end()] for cut in reversed(cuts)]
    return [end for end in ends if end.strip() and end != title]


def _is_name(part: str, of: str, *, is_site: bool) -> bool:
    """Whether a part of a title names an app or a site: Henke Vet Supply is shop.henkevet.example."""
    name = _joined(part)
    if not is_site:
        return name == _joined(of)
    labels = of.split(".")
    # The label that was bought: the last but one, unless that is as short as the co of co.uk.
    own = _joined(next((label for label in reversed(labels[:-1]) if len(label) > 2), labels[0]))
    return name == own or (len(own) > 3 and name.startswith(own))


def _joined(text: str) -> str:
    return "".join(token.text for token in tokens(text))


def kind(app_name: str | None, browser_url: str | None) -> str:
    """``coding``, ``mail``, ``messages``, …; ``browsing`` in a browser, ``other`` where nobody knows."""
    if is_browser(app_name) or browser_url:
        return N_("browsing")
    return next((name for name, words in _KINDS if words.search(app_name or "")), N_("other"))


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


def files_of_titles(titles: Iterable[str]) -> list[str]:
    """Files that windows are called by, with the blanks in their names."""
    parts = [part.strip() for title in titles for part in _DASHES.split(title)]
    return [part for part in parts if (found := list(_FILE.finditer(part))) and found[-1].end() == len(part)]


def file_of_url(url: str) -> str | None:
    """The file that an address leads to, where its path ends in one."""
    try:
        name = unquote(urlsplit(url).path).rpartition("/")[2]
    except ValueError:
        return None
    return name if _FILE.fullmatch(name) else None
