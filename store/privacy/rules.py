"""A privacy rule as a value: what it names, how it is checked, what it fits.

Rules are typed (lesson PRI-4): an app is compared by its whole name, a title by whole words, a
site by host and path, so ``chase.com`` never meets ``purchase.com`` and ``bit`` never meets
``Rabbit``. All functions here are pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast
from urllib.parse import unquote, urlsplit

from store.core.errors import StoreError
from store.privacy.defaults import is_browser, normalize_app_name

Action = Literal["keep", "mask", "drop"]
Match = Literal["auto", "exact", "contains", "regex"]

MATCHES: tuple[Match, ...] = ("auto", "exact", "contains", "regex")
PATTERNS = ("app", "title", "url")
ACTIONS: tuple[Action, ...] = ("drop", "mask")
MAX_PATTERN = 500

# The two edges of a word. Han, kana and hangul are written without blanks: no edge is asked of them.
_UNSPACED = "぀-ヿ㐀-鿿豈-﫿가-힯"
_WORD = rf"[^\W_{_UNSPACED}]"


class RuleInvalid(StoreError):
    """A rule cannot be used. `errors` lists (index of the rule, field, what is wrong)."""

    def __init__(self, errors: list[tuple[int, str, str]]) -> None:
        index, name, message = errors[0]
        super().__init__(f"rule {index + 1}: {name}: {message}")
        self.errors = errors


@dataclass(frozen=True, slots=True)
class Rule:
    """Leave out the windows this fits. At least one of `app`, `title` and `url` is given.

    `match` is ``auto`` (app: whole name, title: whole words, url: host and path), ``exact``,
    ``contains`` (whole words also in the app's name) or ``regex`` (searched, without case).
    """

    app: str | None = None
    title: str | None = None
    url: str | None = None
    match: Match = "auto"
    action: Action = "drop"
    builtin: bool = False

    @property
    def kind(self) -> str:
        """The kind of rule, as the ledger names it: never the pattern itself."""
        if self.url is not None:
            return "rule:url"
        return "rule:title" if self.title is not None else "rule:app"

    @property
    def sentence(self) -> str:
        if self.builtin:
            return f"{self.app} is left out from the start"
        given = [f"{name} {value!r}" for name in PATTERNS if (value := getattr(self, name)) is not None]
        return f"your rule for {' and '.join(given)}"

    def fits(self, window: WindowFacts) -> bool:
        """Whether every part that is given fits."""
        return (
            (self.app is None or _app_fits(self.app, self.match, window.app_name))
            and (self.title is None or _title_fits(self.title, self.match, window.window_name))
            and (self.url is None or _url_fits(self.url, self.match, window.browser_url))
        )

    def may_fit(self, window: WindowFacts) -> bool:
        """Whether this is a rule about a site that a browser window without an address might show."""
        if self.url is None or window.browser_url is not None or not is_browser(window.app_name):
            return False
        return Rule(app=self.app, title=self.title, match=self.match).fits(window)


@dataclass(frozen=True, slots=True)
class WindowFacts:
    """What a decision needs to know of one window.

    `incognito` is the browser extension's word. `witnessed`: the extension speaks for this browser,
    so a window it does not know is one it may not see.
    """

    app_name: str | None
    window_name: str | None = None
    browser_url: str | None = None
    incognito: bool | None = None
    witnessed: bool = False
    wants_no_capture: bool = False


def as_document(rule: Rule) -> dict[str, str]:
    """A rule as it is written to a file or sent to a client: only what is given."""
    document = asdict(rule)
    del document["builtin"]
    return {key: value for key, value in document.items() if value is not None}


def validate(documents: Iterable[Mapping[str, Any]]) -> tuple[Rule, ...]:
    """Rules made of plain documents. Raises `RuleInvalid` with every error, or returns them all."""
    rules, errors = [], []
    for index, document in enumerate(documents):
        found = list(_problems(document))
        errors += [(index, name, message) for name, message in found]
        if not found:
            rules.append(_rule(document))
    if errors:
        raise RuleInvalid(errors)
    return tuple(rules)


def _problems(document: Any) -> Iterable[tuple[str, str]]:
    if not isinstance(document, Mapping):
        yield "rule", f"must be an object with app, title or url, not {document!r}"
        return
    for name in sorted(set(document) - {*PATTERNS, "match", "action"}, key=str):
        yield str(name), "unknown; known are app, title, url, match, action"
    match = document.get("match") or "auto"
    if match not in MATCHES:
        yield "match", f"must be one of {', '.join(MATCHES)}, not {match!r}"
    if (document.get("action") or "drop") not in ACTIONS:
        yield "action", f"must be one of {', '.join(ACTIONS)}, not {document['action']!r}"
    if not any(document.get(name) for name in PATTERNS):
        yield "rule", "names neither app nor title nor url"
    for name in PATTERNS:
        value = document.get(name)
        if value is not None and value != "":
            problem = _pattern_problem(name, value, match)
            if problem:
                yield name, problem


def _pattern_problem(name: str, value: Any, match: str) -> str:
    if not isinstance(value, str):
        return f"must be text, not {value!r}"
    if not value.strip():
        return "must not be blank"
    if len(value) > MAX_PATTERN:
        return f"must be at most {MAX_PATTERN} characters"
    if match == "regex":
        try:
            re.compile(value)
        except re.error as error:
            return f"is not a regular expression: {error}"
    elif name == "url" and not _site(value)[0]:
        return "must be a site such as example.com or example.com/path"
    elif name == "app" and not normalize_app_name(value):
        return "has nothing to compare"
    return ""


def _rule(document: Mapping[str, Any]) -> Rule:
    app, title, url = (document.get(name) or None for name in PATTERNS)
    match = cast(Match, document.get("match") or "auto")
    return Rule(app, title, url, match, cast(Action, document.get("action") or "drop"))


def _app_fits(pattern: str, match: Match, name: str | None) -> bool:
    if not name:
        return False
    if match == "regex":
        return _searched(pattern, name)
    if match == "contains" and _has_words(pattern, name):
        return True
    wanted, actual = normalize_app_name(pattern), normalize_app_name(name)
    # A desktop id such as org.keepassxc.KeePassXC also goes by its last part.
    by_id = "." not in wanted and actual.count(".") >= 2 and actual.rsplit(".", 1)[1] == wanted
    return wanted == actual or by_id


def _title_fits(pattern: str, match: Match, title: str | None) -> bool:
    if not title:
        return False
    if match == "regex":
        return _searched(pattern, title)
    if match == "exact":
        return pattern.strip().casefold() == title.strip().casefold()
    return _has_words(pattern, title)


def _url_fits(pattern: str, match: Match, url: str | None) -> bool:
    if not url:
        return False
    if match == "regex":
        return _searched(pattern, url)
    wanted_host, wanted_path = _site(pattern)
    host, path = _site(url)
    if match == "exact":
        return (host, path) == (wanted_host, wanted_path)
    same_host = host == wanted_host or host.endswith("." + wanted_host)
    return same_host and (not wanted_path or path == wanted_path or path.startswith(wanted_path + "/"))


def _searched(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _has_words(phrase: str, text: str) -> bool:
    phrase = phrase.strip()
    before = rf"(?<!{_WORD})" if re.match(_WORD, phrase[0]) else ""
    after = rf"(?!{_WORD})" if re.match(_WORD, phrase[-1]) else ""
    return _searched(before + re.escape(phrase) + after, text)


def _site(address: str) -> tuple[str, str]:
    """(host, path) of a URL or of a rule such as ``example.com/inbox``; ("", "") when there is none."""
    address = address.strip()
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host = (parts.hostname or "").removeprefix("*.").strip(".")
        host = host if host.isascii() else host.encode("idna").decode("ascii")
    except ValueError:
        return "", ""
    return host.casefold(), unquote(parts.path).rstrip("/").casefold()
