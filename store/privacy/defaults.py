"""What is left out from the first start: password managers, and private windows of browsers.

Both are tables, so that they can be read, tested and shown. Whether a browser window is private
can be told from its title for some browsers only: Chrome and its relatives do not
say "Incognito" there. An ordinary one is proved by the extension, or by its toolbar where that was
measured (`capture.windows.toolbars`); until one of these speaks the answer is "unknown", and such a window is
left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import Literal

Privacy = Literal["private", "not_private", "unknown", "not_a_browser"]

PASSWORD_MANAGERS = (
    "1Password", "1Password 7", "com.1password.1password", "Apple Passwords", "Bitwarden",
    "com.bitwarden.desktop", "Buttercup", "Dashlane", "Enpass", "gcr-prompter", "GNOME Keyring", "KeePass",
    "KeePass2", "KeePassX", "KeePassXC", "KeeWeb", "Keeper", "Keeper Password Manager", "Keychain Access",
    "kwalletmanager", "kwalletmanager5", "LastPass", "MacPass", "NordPass", "Padloc", "Passwords",
    "com.apple.Passwords", "pinentry", "pinentry-gnome3", "pinentry-gtk-2", "pinentry-mac", "pinentry-qt",
    "Proton Pass", "QtPass", "RoboForm", "Seahorse", "Secrets", "Strongbox",
)  # fmt: skip
"""Names and ids these programs give their windows; compared as whole names."""


@dataclass(frozen=True, slots=True)
class Browser:
    """How one family of browsers tells its private windows.

    `private` marks a private window by its title, `ordinary` one that surely is not; a title that
    fits neither is unknown. A browser that is `always_private` has no other kind of window. A
    process that was started with one of `switches` has private windows only, and one of a browser with
    `own_processes` has none without them; with one of `first_switches` the first one is, and the title
    tells of the others. `grey_toolbar`: private windows have a dark toolbar without colour, whatever
    the theme.
    """

    names: tuple[str, ...]
    private: str | None = None
    ordinary: str | None = None
    always_private: bool = False
    switches: tuple[str, ...] = ()
    first_switches: tuple[str, ...] = ()
    own_processes: bool = False
    grey_toolbar: bool = False


_PRIVATE_BROWSING = (
    "private browsing|privater modus|privates fenster|navigation privée|navegación privada"
    "|navigazione anonima|navegação privativa|privénavigatie|prywatne|приватный просмотр"
    "|プライベートブラウジング|隐私浏览|隱私瀏覽|사생활 보호 모드"
)

_CHROMIUM_PRIVATE = (
    r"\(incognito\)|\(private\)$|^new incognito tab\b|^new private (?:tab|window)\b"
    r"|[—–-] private browsing\b|^新的无痕式标签页|^打开新的无痕标签页|^無痕式新分頁"
    r"|\((?:无痕模式|無痕模式)\)"
)

BROWSERS = (
    Browser(
        ("Firefox", "firefox-esr", "Mozilla Firefox", "Firefox Developer Edition", "Nightly",
         "org.mozilla.firefox", "LibreWolf", "Waterfox", "Zen", "Zen Browser", "Floorp"),
        private=rf"[—–-] [^—–]*({_PRIVATE_BROWSING})[^—–]*$|^[^—–]*firefox ({_PRIVATE_BROWSING})$",
        # With a page's title before it: a private one is called by the name alone until it has one.
        ordinary=r"[—–-] (?:mozilla firefox|firefox developer edition|nightly|librewolf|waterfox"
        r"|zen browser|floorp)$",
        switches=("private",),
        first_switches=("private-window",),
    ),
    Browser(
        ("Microsoft Edge", "msedge", "Edge", "microsoft-edge", "com.microsoft.edgemac"),
        private=r"\[inprivate\]|[—–-] inprivate [—–-] microsoft\W+edge",
        ordinary=r"[—–-] microsoft\W+edge\b",
        switches=("inprivate", "incognito"),
    ),
    Browser(
        ("Google Chrome", "Chrome", "google-chrome", "com.google.Chrome", "Chromium", "chromium-browser",
         "org.chromium.Chromium", "Thorium", "Ungoogled Chromium"),
        private=_CHROMIUM_PRIVATE,
        switches=("incognito",),
        grey_toolbar=True,
    ),
    Browser(
        ("Brave", "Brave Browser", "brave-browser", "com.brave.Browser", "Vivaldi", "vivaldi-stable", "Opera",
         "Arc", "Yandex Browser"),
        private=_CHROMIUM_PRIVATE,
        switches=("incognito", "private", "tor"),
    ),
    Browser(
        ("Safari", "com.apple.Safari"),
        private=r"^private browsing\b|[—–-] private browsing$|^无痕浏览|^無痕瀏覽",
    ),
    Browser(
        ("Epiphany", "GNOME Web", "org.gnome.Epiphany", "Falkon", "Konqueror"),
        private=r"\bincognito mode\b|\(private(?: browsing)?\)",
        switches=("incognito-mode", "private-instance", "private-browsing"),
        own_processes=True,
    ),
    Browser(("qutebrowser",), private=r"\(private(?: browsing)?\)"),
    Browser(("Tor Browser", "Mullvad Browser"), always_private=True),
)  # fmt: skip

_SUFFIXES = re.compile(r"\.(?:exe|app|desktop|appimage)$")
_SEPARATORS = re.compile(r"[\s_\-]+")


@lru_cache(maxsize=4096)
def normalize_app_name(name: str) -> str:
    """An app's name as it is compared: case, blanks, hyphens and file endings do not count."""
    return _SEPARATORS.sub("", _SUFFIXES.sub("", name.strip().casefold()))


_BY_NAME = {normalize_app_name(name): browser for browser in BROWSERS for name in browser.names}


def is_browser(app_name: str | None) -> bool:
    return app_name is not None and normalize_app_name(app_name) in _BY_NAME


def shows_privacy_by_toolbar(app_name: str | None) -> bool:
    """Whether the toolbar of an ordinary window of this app proves it (`capture.windows.toolbars`)."""
    browser = _BY_NAME.get(normalize_app_name(app_name)) if app_name else None
    return browser is not None and browser.grey_toolbar


def started_private(app_name: str | None, title: str | None, command_line: Sequence[str]) -> bool | None:
    """Whether the command line of a window's own process makes this window a private one; None: it does not
    tell.

    `command_line` begins with the program; it is empty where nobody knows it. What follows ``--`` are
    addresses.
    """
    browser = _BY_NAME.get(normalize_app_name(app_name)) if app_name else None
    if browser is None or not command_line:
        return None
    given = {_switch(argument) for argument in takewhile(lambda text: text != "--", command_line[1:])}
    if given.intersection(browser.switches):
        return True
    if given.intersection(browser.first_switches) and private_state(app_name, title) != "not_private":
        return True
    return False if browser.own_processes else None


def _switch(argument: str) -> str:
    """``--incognito``, ``-incognito`` and ``/incognito`` are one switch; "" for anything else."""
    found = re.fullmatch(r"(?:--?|/)([a-z][a-z-]*)(?:=.*)?", argument, re.IGNORECASE | re.DOTALL)
    return found[1].casefold() if found else ""


def private_state(app_name: str | None, title: str | None, incognito: bool | None = None) -> Privacy:
    """Whether this is a private window. `incognito` is a browser extension's word and counts first."""
    if incognito is not None:
        return "private" if incognito else "not_private"
    browser = _BY_NAME.get(normalize_app_name(app_name)) if app_name else None
    if browser is None:
        return "not_a_browser"
    if browser.always_private:
        return "private"
    if title and browser.private and re.search(browser.private, title, re.IGNORECASE):
        return "private"
    if title and browser.ordinary and re.search(browser.ordinary, title, re.IGNORECASE):
        return "not_private"
    return "unknown"
