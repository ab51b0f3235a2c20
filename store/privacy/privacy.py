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
from dataclasses import asdict, dataclass, field, fields
from functools import lru_cache

from store.core.paths import DataDir, replace_file
from store.core.settings import PrivacySettings
from store.privacy.defaults import PASSWORD_MANAGERS, Privacy, is_browser, private_state
from store.privacy.rules import (
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

__all__ = [
    "ACTIONS",
    "MATCHES",
    "Action",
    "Decision",
    "Match",
    "OwnChoices",
    "Rule",
    "RuleInvalid",
    "RuleSet",
    "WindowFacts",
    "as_document",
    "load_rules",
    "own_choices",
    "save_choices",
    "save_rules",
    "validate",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Decision:
    """What a window gets, and why.

    `reason` is a machine word without names: ``rule:app``, ``rule:title``, ``rule:url``,
    ``private_window``, ``may_be_private``, ``asked_not_to``, ``unknown_window``,
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
    mask_maybe_private: bool = False

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

    def decide_on_screen(self, window: WindowFacts) -> Decision:
        """What becomes of a window that is in view now: `decide`, and a doubt about private windows.

        What was recorded already had its doubt settled when it was seen, so `decide` alone holds
        for it (PRI-5).
        """
        decision = self.decide(window)
        if decision.action != "keep" or not self.defaults or decision.private != "unknown":
            return decision
        if window.witnessed:
            detail = "the browser extension does not know this window, so it may be private"
        elif self.mask_maybe_private:
            detail = "this browser does not tell whether the window is private"
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
            return "nobody knows which app this window belongs to"
        if (
            self.defaults
            and is_browser(window.app_name)
            and not window.window_name
            and window.incognito is None
        ):
            return "an untitled browser window may be private"
        if any(rule.may_fit(window) for rule in self.rules):
            return "a rule names a site, and this browser window's address is not known"
        return ""


def load_rules(data_dir: DataDir, settings: PrivacySettings) -> RuleSet:
    """The rules in force: settings, the person's file, the built-in ones. Never raises.

    What cannot be read or understood becomes a `RuleSet` that keeps nothing and says why.
    """
    try:
        own = own_choices(data_dir)
        rules = validate(settings.exclude) + own.rules
    except (RuleInvalid, OSError, ValueError) as error:
        return RuleSet(unreadable=f"the privacy rules cannot be read: {error}")
    return RuleSet(
        rules,
        _first(own.defaults, settings.defaults),
        mask_maybe_private=_first(own.mask_maybe_private, settings.mask_maybe_private),
    )


@dataclass(frozen=True, slots=True)
class OwnChoices:
    """What the person chose in the app; None is "as the settings say"."""

    rules: tuple[Rule, ...] = ()
    defaults: bool | None = None
    mask_maybe_private: bool | None = None


def own_choices(data_dir: DataDir) -> OwnChoices:
    """Raises `RuleInvalid`, `OSError` or `ValueError` when the file cannot be used."""
    try:
        document = json.loads(data_dir.privacy_rules.read_bytes())
    except FileNotFoundError:
        return OwnChoices()
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(document, dict) or set(document) - {field.name for field in fields(OwnChoices)}:
        raise ValueError(f'{data_dir.privacy_rules.name} must be {{"rules": […], "defaults": true}}')
    rules, switches = document.pop("rules", []), document
    if not isinstance(rules, list) or not all(isinstance(on, bool | None) for on in switches.values()):
        raise ValueError("rules must be a list, defaults and mask_maybe_private true or false")
    return OwnChoices(validate(rules), **switches)


def save_choices(data_dir: DataDir, own: OwnChoices) -> None:
    """Replace the person's choices durably; capture re-reads them at its next look."""
    document = asdict(own) | {"rules": [as_document(rule) for rule in own.rules]}
    given = {name: value for name, value in document.items() if value is not None}
    content = json.dumps(given, ensure_ascii=False, indent=1).encode()
    replace_file(data_dir.privacy_rules, content + b"\n")


def save_rules(data_dir: DataDir, rules: Iterable[Rule], *, defaults: bool = True) -> None:
    """`save_choices` with these rules and this switch, and nothing else chosen."""
    save_choices(data_dir, OwnChoices(tuple(rules), defaults))


def _first(chosen: bool | None, configured: bool) -> bool:
    return configured if chosen is None else chosen


@lru_cache(maxsize=1)
def _builtin() -> tuple[Rule, ...]:
    return tuple(Rule(app=name, builtin=True) for name in PASSWORD_MANAGERS)
