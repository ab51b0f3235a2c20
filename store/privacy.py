"""Which windows are left out, and why: rules as values, and the decision as a pure function.

A rule names an app, a title, a site, or several of these (then all must fit). Rules are typed
(lesson PRI-4): an app is compared by its whole name, a title by whole words, a site by host and
path, so ``chase.com`` never meets ``purchase.com`` and ``bit`` never meets ``Rabbit``. They come
from three places: the settings, the person's own file ``privacy.json`` and the built-in table.

Everything fails closed. While any rule exists a window that cannot be identified is left out,
and rules that cannot be read leave out everything. Exclusion always wins; there is no allow list.

The capture daemon applies this to windows and pixels (`capture.privacy`); the web app uses it to
store rules and to answer what a window would get.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from store.paths import DataDir, replace_file
from store.privacy_rules import (
    ACTIONS,
    MATCHES,
    Action,
    Match,
    Rule,
    RuleInvalid,
    WindowFacts,
    as_document,
    validate,
)
from store.private_windows import PASSWORD_MANAGERS, Privacy, is_browser, private_state
from store.settings import PrivacySettings

__all__ = [
    "ACTIONS", "MATCHES", "Action", "Decision", "Match", "Rule", "RuleInvalid", "RuleSet", "WindowFacts",
    "as_document", "load_rules", "own_rules", "save_rules", "validate",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """What a window gets, and why.

    `reason` is a machine word without names: ``rule:app``, ``rule:title``, ``rule:url``,
    ``private_window``, ``asked_not_to``, ``unknown_window``, ``rules_unreadable`` or ``""``.
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
            return Decision("drop", "private_window", detail="private browser window", private=private)
        if window.wants_no_capture:
            detail = "the window asks not to be captured"
            return Decision("mask", "asked_not_to", detail=detail, private=private)
        unknown = self._unknown(window)
        if unknown:
            return Decision("mask", "unknown_window", detail=unknown, private=private)
        return Decision("keep", private=private)

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
            return "nobody knows which app this window belongs to"
        if self.defaults and is_browser(window.app_name) and not window.window_name:
            return "an untitled browser window may be private"
        if any(rule.may_fit(window) for rule in self.rules):
            return "a rule names a site, and this browser window's address is not known"
        return ""


def load_rules(data_dir: DataDir, settings: PrivacySettings) -> RuleSet:
    """The rules in force: settings, the person's file, the built-in ones. Never raises.

    What cannot be read or understood becomes a `RuleSet` that keeps nothing and says why.
    """
    try:
        own, defaults = own_rules(data_dir)
        rules = validate(settings.exclude) + own
    except (RuleInvalid, OSError, ValueError) as error:
        return RuleSet(unreadable=f"the privacy rules cannot be read: {error}")
    return RuleSet(rules, settings.defaults if defaults is None else defaults)


def own_rules(data_dir: DataDir) -> tuple[tuple[Rule, ...], bool | None]:
    """The person's own rules and switch for the built-in ones (None: as the settings say).

    Raises `RuleInvalid`, `OSError` or `ValueError` when the file cannot be used.
    """
    try:
        document = json.loads(data_dir.privacy_rules.read_bytes())
    except FileNotFoundError:
        return (), None
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(document, dict) or set(document) - {"rules", "defaults"}:
        raise ValueError(f'{data_dir.privacy_rules.name} must be {{"rules": […], "defaults": true}}')
    rules, defaults = document.get("rules", []), document.get("defaults")
    if not isinstance(rules, list) or not isinstance(defaults, bool | None):
        raise ValueError("rules must be a list and defaults true or false")
    return validate(rules), defaults


def save_rules(data_dir: DataDir, rules: Iterable[Rule], *, defaults: bool = True) -> None:
    """Replace the person's own rules durably; capture re-reads them at its next look."""
    document = {"rules": [as_document(rule) for rule in rules], "defaults": defaults}
    content = json.dumps(document, ensure_ascii=False, indent=1).encode()
    replace_file(data_dir.privacy_rules, content + b"\n")


@lru_cache(maxsize=1)
def _builtin() -> tuple[Rule, ...]:
    return tuple(Rule(app=name, builtin=True) for name in PASSWORD_MANAGERS)
