"""The privacy rules: what they are, and what a window would get."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from store.privacy import rules as privacy
from store.privacy.rules import OwnChoices, Rule, RuleInvalid, WindowFacts, as_document, validate
from webapp.api.endpoint import endpoint, invalid
from webapp.api.values import Answer, Request, Text
from webapp.core.errors import FieldError, Problem
from webapp.core.services import services

_MAX_RULES = 1_000


class RuleBody(Request):
    """Leaves out the windows it fits; at least one of app, title and url."""

    app: Text | None = None
    title: Text | None = None
    url: Text | None = None
    match: Literal["auto", "exact", "contains", "regex"] = "auto"
    action: Literal["drop", "mask"] = "drop"


class RulesBody(Request):
    rules: list[RuleBody] = Field(max_length=_MAX_RULES, description="The person's own rules, all of them.")
    defaults: bool = Field(True, description="Leave out password managers and private windows.")
    mask_maybe_private: bool = Field(
        False, description="Black out windows of browsers that do not tell whether they are private."
    )


class RuleAnswer(Answer):
    app: str | None = None
    title: str | None = None
    url: str | None = None
    match: str
    action: str


class RulesAnswer(Answer):
    rules: list[RuleAnswer] = Field(description="The person's own rules.")
    defaults: bool
    mask_maybe_private: bool
    configured: list[RuleAnswer] = Field(description="Rules from the settings; changed in config.toml.")
    builtin: list[RuleAnswer] = Field(description="Left out from the start while `defaults` is true.")


@endpoint(
    "GET", "/privacy/rules", "The rules in force", answer=RulesAnswer, problems={503: "rules_unreadable"}
)
def rules() -> RulesAnswer:
    """503 `rules_unreadable` when the file cannot be used; then nothing at all is recorded."""
    return _rules()


@endpoint("PUT", "/privacy/rules", "Replace the person's own rules", body=RulesBody, answer=RulesAnswer)
def replace(body: RulesBody) -> RulesAnswer:
    """All or nothing; capture follows at its next look."""
    try:
        own = validate([rule.model_dump() for rule in body.rules])
    except RuleInvalid as error:
        errors = [FieldError(f"rules.{index}.{name}", message) for index, name, message in error.errors]
        raise invalid(422, "invalid_rule", errors) from error
    privacy.save_choices(services().data_dir, OwnChoices(own, body.defaults, body.mask_maybe_private))
    return _rules()


def _rules() -> RulesAnswer:
    own = services()
    try:
        chosen = privacy.own_choices(own.data_dir).rules
    except (RuleInvalid, OSError, ValueError) as error:
        raise _unreadable(str(error)) from error
    settings = own.settings.privacy
    loaded = privacy.load_rules(own.data_dir, settings)
    if loaded.unreadable:
        raise _unreadable(loaded.unreadable)
    return RulesAnswer(
        rules=[_rule(rule) for rule in chosen],
        defaults=loaded.defaults,
        mask_maybe_private=loaded.mask_maybe_private,
        configured=[_rule(rule) for rule in validate(settings.exclude)],
        builtin=[_rule(rule) for rule in loaded.all_rules() if rule.builtin],
    )


def _rule(rule: Rule) -> RuleAnswer:
    return RuleAnswer.model_validate(as_document(rule))


def _unreadable(reason: str) -> Problem:
    return Problem(
        503, "rules_unreadable", f"The privacy rules cannot be read, so nothing is recorded: {reason}"
    )


class WindowBody(Request):
    """A window as capture would see it; null is unknown."""

    app_name: Text | None = None
    window_name: Text | None = None
    browser_url: Text | None = None
    incognito: bool | None = None
    witnessed: bool = Field(False, description="The browser's extension speaks, and does not know it.")


class DecisionAnswer(Answer):
    action: Literal["keep", "mask", "drop"]
    reason: str = Field(description="A machine word such as rule:app, private_window or unknown_window.")
    detail: str
    rule: RuleAnswer | None
    private: str = Field(description="private, not_private, unknown or not_a_browser.")


@endpoint("POST", "/privacy/test", "What a window would get, and why", body=WindowBody, answer=DecisionAnswer)
def test(body: WindowBody) -> DecisionAnswer:
    """Decides with the rules in force; stores nothing."""
    own = services()
    rules = privacy.load_rules(own.data_dir, own.settings.privacy)
    found = rules.decide_on_screen(WindowFacts(**body.model_dump()))
    return DecisionAnswer(
        action=found.action,
        reason=found.reason,
        detail=found.detail,
        rule=None if found.rule is None else _rule(found.rule),
        private=found.private,
    )
