"""Privacy rules: which windows are left out, and why; rules as values, the decision as a pure function.

A rule names an app, a title, a site, or several of these (then all must fit). Rules are typed: an app is
compared by its whole name, a title by whole words, a site by host and path, so ``chase.com`` never meets
``purchase.com`` and ``bit`` never meets ``Rabbit``. They come from three places: the settings, the person's
own file ``privacy.json`` and the built-in table.

Everything fails closed. While any rule exists a window that cannot be identified is left out, rules that
cannot be read leave out everything, and a regular expression that is not done in time leaves out. Exclusion
always wins; there is no allow list. What is deleted is only what a rule is known to fit.

The capture daemon applies this to windows and pixels (`capture.privacy`); the web app uses it to store rules
and to answer what a window would get.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from time import thread_time
from typing import Any, Literal, Self, cast
from urllib.parse import unquote, urlsplit

import regex

from store.core.errors import StoreError
from store.core.paths import DataDir, only_holder, replace_file
from store.core.settings import PrivacySettings
from store.core.translation import gettext as _
from store.privacy.defaults import (
    PASSWORD_MANAGERS,
    Privacy,
    is_browser,
    normalize_app_name,
    private_state,
    shows_privacy_by_toolbar,
)

Action = Literal["keep", "mask", "drop"]
Match = Literal["auto", "exact", "contains", "regex"]

MATCHES: tuple[Match, ...] = ("auto", "exact", "contains", "regex")
PATTERNS = ("app", "title", "url")
ACTIONS: tuple[Action, ...] = ("drop", "mask")
MAX_PATTERN = 500
# A search takes microseconds. One that goes through every way to part a text takes hours, and `re` cannot be
# interrupted.
_SEARCH_S = 0.02
_WAIT_S = 5.0
_LITERAL_BRACE = re.compile(r"(\\N\{[^}]*\}|\\.)|\{(?!\d+(?:,\d*)?\}|,\d*\})", re.DOTALL)

# The two edges of a word. Han, kana and hangul are written without blanks: no edge is asked of them.
_UNSPACED = "぀-ヿ㐀-鿿豈-﫿가-힯"
_WORD = rf"[^\W_{_UNSPACED}]"


class RuleInvalid(StoreError):
    """A rule cannot be used. `errors` lists (index of the rule, field, what is wrong)."""

    def __init__(self, errors: list[tuple[int, str, str]]) -> None:
        index, name, message = errors[0]
        super().__init__(
            f"rule {index + 1} {message}" if name == "rule" else f"rule {index + 1}: {name}: {message}"
        )
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
            return _("%(app)s is left out from the start", app=self.app)
        given = [f"{name} {value!r}" for name in PATTERNS if (value := getattr(self, name)) is not None]
        return _("your rule for %(patterns)s", patterns=_(" and ").join(given))

    def known_fit(self, window: WindowFacts) -> bool | None:
        """Whether every part that is given fits; None where a regular expression was not done in time."""
        known: bool | None = True
        for part, pattern, text in (
            (_app_fits, self.app, window.app_name),
            (_title_fits, self.title, window.window_name),
            (_url_fits, self.url, window.browser_url),
        ):
            found = pattern is None or _fits(part, pattern, self.match, text)
            if found is False:
                return False
            known = known and found
        return known

    def fits(self, window: WindowFacts) -> bool:
        """Whether the window is to be left out: also where that is not known in time."""
        return self.known_fit(window) is not False

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

    @classmethod
    def described(cls, app: str | None, title: str | None, url: str | None, incognito: bool | None) -> Self:
        """A window as a person describes it. Addresses are told by the extension alone, which sees no private
        window: what is described by its address is an ordinary one, unless it is said to be private.
        """
        return cls(app, title, url, False if incognito is None and url else incognito)


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
        yield "rule", _("names neither app nor title nor url")
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
        return _("must not be blank")
    if len(value) > MAX_PATTERN:
        return _("must be at most %(number)s characters", number=MAX_PATTERN)
    if match == "regex":
        try:
            re.compile(value)
            _expression(value)
        except (re.error, regex.error) as error:
            return _("is not a regular expression: %(error)s", error=error)
    elif name == "url" and not _site(value)[0]:
        return _("must be a site such as example.com or example.com/path")
    elif name == "app" and not normalize_app_name(value):
        return _("has nothing to compare")
    return ""


def _rule(document: Mapping[str, Any]) -> Rule:
    app, title, url = (document.get(name) or None for name in PATTERNS)
    match = cast(Match, document.get("match") or "auto")
    return Rule(app, title, url, match, cast(Action, document.get("action") or "drop"))


def _fits(
    part: Callable[[str, Match, str], bool], pattern: str, match: Match, text: str | None
) -> bool | None:
    if not text:
        return False
    return _found(pattern, text) if match == "regex" else part(pattern, match, text)


def _app_fits(pattern: str, match: Match, name: str) -> bool:
    if match == "contains" and _has_words(pattern, name):
        return True
    wanted, actual = normalize_app_name(pattern), normalize_app_name(name)
    # A desktop id such as org.keepassxc.KeePassXC also goes by its last part.
    by_id = "." not in wanted and actual.count(".") >= 2 and actual.rsplit(".", 1)[1] == wanted
    return wanted == actual or by_id


def _title_fits(pattern: str, match: Match, title: str) -> bool:
    if match == "exact":
        return pattern.strip().casefold() == title.strip().casefold()
    return _has_words(pattern, title)


def _url_fits(pattern: str, match: Match, url: str) -> bool:
    wanted_host, wanted_path = _site(pattern)
    host, path = _site(url)
    if match == "exact":
        return (host, path) == (wanted_host, wanted_path)
    same_host = host == wanted_host or host.endswith("." + wanted_host)
    return same_host and (not wanted_path or path == wanted_path or path.startswith(wanted_path + "/"))


def _found(pattern: str, text: str) -> bool | None:
    """Whether a person's regular expression stands in a text; None where that is not told in `_SEARCH_S`.

    The engine's limit is of all threads together: where others used it up, it is asked again with more.
    """
    expression, limit_s = _expression(pattern), _SEARCH_S
    while True:
        late_at = thread_time() + _SEARCH_S
        try:
            return expression.search(text, timeout=limit_s, concurrent=True) is not None
        except TimeoutError:
            if thread_time() >= late_at:
                return None
        limit_s *= 2


@lru_cache(maxsize=256)
def _expression(pattern: str) -> regex.Pattern[str]:
    """What `re` makes of a pattern, by an engine that can be stopped; to which some braces are no signs."""
    literal = _LITERAL_BRACE.sub(lambda found: found[1] or r"\{", pattern)
    return regex.compile(literal, regex.IGNORECASE)


def _has_words(phrase: str, text: str) -> bool:
    phrase = phrase.strip()
    before = rf"(?<!{_WORD})" if re.match(_WORD, phrase[0]) else ""
    after = rf"(?!{_WORD})" if re.match(_WORD, phrase[-1]) else ""
    return re.search(before + re.escape(phrase) + after, text, re.IGNORECASE) is not None


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


@dataclass(frozen=True, slots=True)
class Decision:
    """What a window gets, and why.

    `reason` is a machine word without names: ``rule:app``, ``rule:title``, ``rule:url``,
    ``private_window``, ``may_be_private``, ``asked_not_to``, ``unknown_window``, ``unknown_address``,
    ``rules_unreadable`` or ``""``.
    """

    action: Action
    reason: str = ""
    rule: Rule | None = None
    detail: str = ""
    private: Privacy = "not_a_browser"


@dataclass(frozen=True, slots=True)
class RuleSet:
    """Every rule in force. `unreadable` says why rules could not be read; then nothing is kept."""

    rules: tuple[Rule, ...] = field(default=())
    defaults: bool = True
    unreadable: str = ""
    mask_maybe_private: bool = True

    def decide(self, window: WindowFacts) -> Decision:
        """What becomes of one visible window: the strictest answer of all rules."""
        if self.unreadable:
            return Decision("drop", "rules_unreadable", detail=self.unreadable)
        private = private_state(window.app_name, window.window_name, window.incognito)
        hits = [rule for rule in self.all_rules() if rule.fits(window)]
        if hits:
            rule = min(hits, key=lambda hit: ACTIONS.index(hit.action))
            return Decision(rule.action, rule.kind, rule, rule.sentence, private)
        if self.defaults and private == "private":
            return Decision("drop", "private_window", detail=_("private browser window"), private=private)
        if window.wants_no_capture:
            detail = _("the window asks not to be captured")
            return Decision("mask", "asked_not_to", detail=detail, private=private)
        unknown = self._unknown(window)
        if unknown:
            return Decision("mask", "unknown_window", detail=unknown, private=private)
        if any(rule.may_fit(window) for rule in self.rules):
            detail = _("a rule names a site, and this browser window's address is not known")
            return Decision("mask", "unknown_address", detail=detail, private=private)
        return Decision("keep", private=private)

    def kind_on(self, windows: Iterable[WindowFacts]) -> str:
        """The kind of the first rule that leaves one of these windows out; "" where none does."""
        return next((found.reason for window in windows if (found := self.decide(window)).rule), "")

    def permits(self, app_name: str | None, window_name: str | None, browser_url: str | None) -> bool:
        """Whether what was recorded of such a window may go out.

        A frame whose app nobody knows was kept on purpose (an import, an upload, a screen with its unknown
        windows painted over): not knowing is no rule about it. A known browser whose address is unknown,
        where a rule names a site, stays back.
        """
        decision = self.decide(WindowFacts(app_name, window_name, browser_url))
        return decision.action == "keep" or (decision.reason == "unknown_window" and not app_name)

    def decide_on_screen(self, window: WindowFacts) -> Decision:
        """What becomes of a window that is in view now: `decide`, and a doubt about private windows.

        What was recorded already had its doubt settled when it was seen, so `decide` alone holds
        for it.
        """
        decision = self.decide(window)
        if decision.action != "keep" or not self.defaults or decision.private != "unknown":
            return decision
        if window.witnessed:
            detail = _("the browser extension does not know this window, so it may be private")
        elif shows_privacy_by_toolbar(window.app_name):
            detail = _("the window may be private until its toolbar was seen")
        elif self.mask_maybe_private:
            detail = _("this browser does not report private windows")
        else:
            return decision
        return Decision("mask", "may_be_private", detail=detail, private=decision.private)

    def all_rules(self) -> tuple[Rule, ...]:
        return self.rules + _builtin() if self.defaults else self.rules

    @property
    def any(self) -> bool:
        """Whether any rule exists, so that not knowing a window is a reason to leave it out."""
        return self.defaults or bool(self.rules) or bool(self.unreadable)

    def _unknown(self, window: WindowFacts) -> str:
        if not self.any:
            return ""
        if not window.app_name:
            return _("the app of this window is unknown")
        if (
            self.defaults
            and is_browser(window.app_name)
            and not window.window_name
            and window.incognito is None
        ):
            return _("an untitled browser window may be private")
        return ""


def load_rules(data_dir: DataDir, settings: PrivacySettings) -> RuleSet:
    """The rules in force: settings, the person's file, the built-in ones. Never raises.

    What cannot be read or understood becomes a `RuleSet` that keeps nothing and says why.
    """
    try:
        own, server = own_choices(data_dir), _choices(data_dir.server_rules)
        rules = validate(settings.exclude) + own.rules + server.rules
    except (RuleInvalid, OSError, ValueError) as error:
        return RuleSet(unreadable=f"the privacy rules cannot be read: {error}")
    return RuleSet(
        rules,
        _first(own.defaults, settings.defaults) or server.defaults is True,
        mask_maybe_private=_first(own.mask_maybe_private, settings.mask_maybe_private)
        or server.mask_maybe_private is True,
    )


@dataclass(frozen=True, slots=True)
class OwnChoices:
    """What the person chose in the app; None is "as the settings say"."""

    rules: tuple[Rule, ...] = ()
    defaults: bool | None = None
    mask_maybe_private: bool | None = None


def own_choices(data_dir: DataDir) -> OwnChoices:
    """Raises `RuleInvalid`, `OSError` or `ValueError` when the file cannot be used."""
    return _choices(data_dir.privacy_rules)


def _choices(path: Path) -> OwnChoices:
    try:
        document = json.loads(path.read_bytes())
    except FileNotFoundError:
        return OwnChoices()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(document, dict) or set(document) - {field.name for field in fields(OwnChoices)}:
        raise ValueError(f'{path.name} must be {{"rules": […], "defaults": true}}')
    rules, switches = document.pop("rules", []), document
    if not isinstance(rules, list) or not all(isinstance(on, bool | None) for on in switches.values()):
        raise ValueError("rules must be a list, defaults and mask_maybe_private true or false")
    return OwnChoices(validate(rules), **switches)


def changing(data_dir: DataDir) -> AbstractContextManager[None]:
    """Whoever changes the choices reads and saves them in here, so that none undoes what another did. Raises
    `StoreBusy`.
    """
    problem = "the privacy rules are being changed elsewhere"
    return only_holder(data_dir.spool / "privacy.lock", _WAIT_S, problem)


def save_choices(data_dir: DataDir, own: OwnChoices) -> None:
    """Replace the person's choices durably, each rule once; capture re-reads them at its next look."""
    _save(data_dir.privacy_rules, own)


def save_server_rules(data_dir: DataDir, rules: OwnChoices) -> None:
    """The same of the rules of the server that this machine captures for."""
    _save(data_dir.server_rules, rules)


def _save(path: Path, own: OwnChoices) -> None:
    document = asdict(own) | {"rules": [as_document(rule) for rule in dict.fromkeys(own.rules)]}
    given = {name: value for name, value in document.items() if value is not None}
    content = json.dumps(given, ensure_ascii=False, indent=1).encode()
    replace_file(path, content + b"\n")


def _first(chosen: bool | None, configured: bool) -> bool:
    return configured if chosen is None else chosen


@lru_cache(maxsize=1)
def _builtin() -> tuple[Rule, ...]:
    return tuple(Rule(app=name, builtin=True) for name in PASSWORD_MANAGERS)
