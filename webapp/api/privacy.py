"""What is deleted from the recording, with a receipt of all that went, and what is left out of it."""

from __future__ import annotations

import dataclasses
from typing import Literal

from pydantic import Field

from store.core.database import Database
from store.deletion import deletion, receipts
from store.deletion.request import Request as DeletionRequest
from store.deletion.request import recorded
from store.frames import frames
from store.privacy import rules as privacy
from store.privacy.rules import OwnChoices, Rule, RuleInvalid, RuleSet, WindowFacts, validate
from store.sources import hosts
from webapp.api.endpoint import endpoint
from webapp.api.values import Answer, Ranged, Request, Seconds, SpanAnswer, Text, Timestamp
from webapp.core.errors import Problem, invalid
from webapp.core.services import services
from webapp.ops.site_rules import left_out_words

_MAX_RULES = 1_000


class RuleBody(Request):
    """Leaves out the windows it fits; at least one of app, title and url."""

    app: Text | None = None
    title: Text | None = None
    url: Text | None = None
    match: Literal["auto", "exact", "contains", "regex"] = "auto"
    action: Literal["drop", "mask"] = "drop"


class DeleteRequest(Ranged):
    start_time: Seconds
    end_time: Seconds = Field(description="End of the range, not included.")
    app_name: Text | None = Field(
        None, min_length=1, description="Only frames with this app in front, by its whole name."
    )
    rules: list[RuleBody] = Field(
        [],
        max_length=_MAX_RULES,
        description="Only frames on which a window can be seen that one of these rules fits. They must be in"
        " force, or what is being captured meanwhile would be stored afterwards; a dry run tries any.",
    )
    dry_run: bool = Field(False, description="Count what would go; delete nothing.")


class VerificationAnswer(Answer):
    ok: bool
    left: list[str] = Field(description="What a search afterwards still found, as sentences.")
    elsewhere: list[str] = Field(
        description="Backups and exports outside the home, and clusters, that may still hold it."
    )


class HostReceiptAnswer(Answer):
    """Whether another machine has removed from its spool what was deleted here."""

    name: str
    answered_at: Timestamp | None = Field(description="Null while it has not said so.")
    removed: int = Field(description="Captures that waited there.")
    revoked: bool = Field(description="Its token was revoked: it hears of nothing any more.")


class OnlyFrontAnswer(Answer):
    """Frames that stay and may show it behind the window in front: where nobody noted what is behind, and
    with `app_name`, which compares the window in front alone, where the app is known to be there.
    """

    frames: int
    until: Timestamp | None = Field(description="When the last of them was captured; null without any.")


class ReceiptAnswer(SpanAnswer):
    dry_run: bool
    app_name: str | None
    counts: receipts.Counts
    bytes: int = Field(description="Bytes freed; for a dry run the size of the pictures.")
    deleted_at: Timestamp | None
    verification: VerificationAnswer | None = Field(description="Null for a dry run.")
    only_front: OnlyFrontAnswer
    hosts: list[HostReceiptAnswer] = Field([], description="Other machines, with those still to answer.")


@endpoint("POST", "/delete", "Delete a range of time")
def delete(body: DeleteRequest) -> ReceiptAnswer:
    """Rows, index, readings, pictures, segments, spool and quotes in chats, then a check of it."""
    own = services()
    asked = DeletionRequest(body.start_time, body.end_time, body.app_name, rules=_validated(body.rules))
    if body.dry_run:
        found = receipts.preview(own.database, asked)
        return ReceiptAnswer.of(
            body, counts=found.counts, bytes=found.counts.bytes, deleted_at=None, verification=None,
            only_front=found.only_front,
        )  # fmt: skip
    _require_in_force(asked.rules)
    receipt = deletion.delete(own.database, own.media, asked, now_ms=own.clock())
    return receipt_answer(own.database, receipt, body.app_name)


@endpoint("DELETE", "/frames/<id:frame_id>", "Delete a frame")
def delete_frame(frame_id: int) -> ReceiptAnswer:
    """The frame with everything that came from it."""
    own = services()
    frames.get(own.database, frame_id)
    receipt = deletion.delete_frames(own.database, own.media, [frame_id], now_ms=own.clock())
    return receipt_answer(own.database, receipt)


def receipt_answer(
    database: Database, receipt: receipts.Receipt, app_name: str | None = None
) -> ReceiptAnswer:
    return ReceiptAnswer.of(
        receipt,
        dry_run=False,
        app_name=app_name,
        bytes=receipt.bytes_freed,
        verification=VerificationAnswer.of(receipt, ok=receipt.verified),
        hosts=HostReceiptAnswer.list_of(hosts.receipts_of(database, receipt.deletion_id)),
    )


# -- rules: what they are, and what a window would get ------------------------------------------


class RulesBody(Request):
    rules: list[RuleBody] = Field(max_length=_MAX_RULES, description="The person's own rules, all of them.")
    defaults: bool = Field(True, description="Leave out password managers and private windows.")
    mask_maybe_private: bool = Field(
        True, description="Black out windows of browsers that nothing tells to be ordinary."
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
    left_out: str = Field(
        description="Which browsers are left out whole, as a rule names a site and no extension tells their"
        " addresses; a sentence, empty where none is."
    )
    recorded_frames: int | None = Field(
        description="Stored frames that the person's own rules fit; `POST /delete` with `rules` deletes them."
        " Null where they could not be counted in time."
    )


@endpoint("GET", "/privacy/rules", "The rules in force", {503: "rules_unreadable"})
def rules() -> RulesAnswer:
    """503 `rules_unreadable` when the file cannot be used; then nothing at all is recorded."""
    own, loaded = services(), rules_in_force()
    chosen = privacy.own_choices(own.data_dir).rules
    return RulesAnswer(
        rules=RuleAnswer.list_of(chosen),
        defaults=loaded.defaults,
        mask_maybe_private=loaded.mask_maybe_private,
        configured=RuleAnswer.list_of(validate(own.settings.privacy.exclude)),
        builtin=RuleAnswer.list_of(rule for rule in loaded.all_rules() if rule.builtin),
        left_out=left_out_words(own.database, own.data_dir, loaded.rules, own.clock()),
        recorded_frames=recorded(own.database, chosen),
    )


@endpoint("PUT", "/privacy/rules", "Replace the person's own rules")
def replace(body: RulesBody) -> RulesAnswer:
    """All or nothing; capture follows at its next look."""
    own = _validated(body.rules)
    with privacy.changing(services().data_dir):
        privacy.save_choices(services().data_dir, OwnChoices(own, body.defaults, body.mask_maybe_private))
    return rules()


def _validated(bodies: list[RuleBody]) -> tuple[Rule, ...]:
    try:
        return validate([rule.model_dump() for rule in bodies])
    except RuleInvalid as error:
        errors = [(f"rules.{index}.{name}", message) for index, name, message in error.errors]
        raise invalid(422, "invalid_rule", *errors) from error


def _require_in_force(asked: tuple[Rule, ...]) -> None:
    """Refuse rules that let the windows they fit be stored; whether they drop or mask is the same here."""
    loaded = privacy.load_rules(services().data_dir, services().settings.privacy)
    fitting = {dataclasses.replace(rule, action="drop", builtin=False) for rule in loaded.all_rules()}
    errors = [
        (f"rules.{index}", "not in force; save it first")
        for index, rule in enumerate(asked)
        if dataclasses.replace(rule, action="drop") not in fitting
    ]
    if errors:
        raise invalid(422, "invalid_rule", *errors)


def rules_in_force() -> RuleSet:
    """Every rule. Raises 503 where they cannot be read: nothing at all is recorded then."""
    loaded = privacy.load_rules(services().data_dir, services().settings.privacy)
    if loaded.unreadable:
        detail = f"The privacy rules cannot be read, so nothing is recorded: {loaded.unreadable}"
        raise Problem(503, "rules_unreadable", detail, headers={"Retry-After": "60"})
    return loaded


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


@endpoint("POST", "/privacy/test", "What a window would get, and why")
def test(body: WindowBody) -> DecisionAnswer:
    """Decides with the rules in force; stores nothing."""
    rules = privacy.load_rules(services().data_dir, services().settings.privacy)
    return DecisionAnswer.of(rules.decide_on_screen(WindowFacts(**body.model_dump())))
