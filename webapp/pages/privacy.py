"""Privacy: what is never recorded, how to delete a time range, and the receipts of what was deleted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from flask import request
from werkzeug.wrappers import Response

from store.core.translation import gettext as _
from store.deletion import deletion, receipts
from store.deletion.request import EVER, Request, has_only_front, recorded
from store.egress import egress_log
from store.frames import apps, frames
from store.privacy import rules as privacy
from store.privacy.rules import OwnChoices, Rule, RuleInvalid, RuleSet, as_document, validate
from store.sources import hosts
from store.timeline import timeline
from webapp.core import parameters, templating
from webapp.core.errors import Problem
from webapp.core.parameters import DELETE, NO_RANGE, Range, is_confirmed
from webapp.core.services import services, viewer
from webapp.ops.site_rules import left_out_words
from webapp.pages.timeline import band

BUILTIN = "password managers"
"""What the built-in rules are called, which are switched as one."""
_MAX_CHARS = 500
_RECEIPTS = 20
_SEEN = 8
_DAY_MS = 86_400_000


@templating.get("/privacy")
def show() -> Response:
    """The page; `deleted` names the deletion that led here, by its time, or is 0 where nothing was left."""
    at_ms = parameters.number(request.args, "deleted")
    receipt = _receipt_at(at_ms) if at_ms else None
    return _page(receipt=receipt, is_told=receipt is not None or at_ms == 0)


def receipt_page(receipt: receipts.Receipt) -> Response:
    """Lead to the receipt: at an address of its own Back and Reload ask nobody to delete again."""
    is_kept = _receipt_at(receipt.deleted_ms) is not None  # where there was nothing to delete none is
    return templating.redirect_to(f"/privacy?deleted={receipt.deleted_ms if is_kept else 0}#erase")


def _receipt_at(at_ms: int) -> receipts.Receipt | None:
    """One of those that the page lists."""
    kept = receipts.latest(services().database, _RECEIPTS)
    return next((receipt for receipt in kept if receipt.deleted_ms == at_ms), None)


@templating.post("/privacy/rules")
def add() -> Response:
    """Add a rule of the person's own; capture follows at its next look."""
    given = {
        name: request.form.get(name, "").strip()[:_MAX_CHARS] for name in ("app", "title", "url", "action")
    }
    document = {name: value for name, value in given.items() if value}
    try:
        added = validate([document])
    except RuleInvalid as error:
        errors = {name or "app": message for __, name, message in error.errors}
        return _page(422, rule=given, errors=errors)
    with privacy.changing(services().data_dir):
        own = own_choices()
        privacy.save_choices(services().data_dir, replace(own, rules=own.rules + added))
    if "next" in request.form:
        return templating.redirect_back("/privacy#rules")
    return _ask_about_recorded(added, words_of(added[0]))


def _ask_about_recorded(rules: tuple[Rule, ...], words: str) -> Response:
    """Go on to ask whether frames go, too, that these rules would have hidden, or to say that some may be
    among those that are left; where there are none, back.
    """
    own = services().database
    if recorded(own, rules) != 0 or (rules and has_only_front(own)):
        return templating.redirect_to(f"/privacy/erase?{urlencode({'rule': words})}#rules")
    return templating.redirect_to("/privacy#rules")


@templating.post("/privacy/rules/<id:index>/remove")
def remove(index: int) -> Response:
    with privacy.changing(services().data_dir):
        own = own_choices()
        shown = request.form.get("words", "")
        if index >= len(own.rules) or words_of(own.rules[index]) != shown:
            raise Problem(404, "rule_not_found", _("That rule is not there any more."))
        kept = own.rules[:index] + own.rules[index + 1 :]
        privacy.save_choices(services().data_dir, replace(own, rules=kept))
    return templating.redirect_back("/privacy#rules")


@templating.post("/privacy/defaults")
def defaults() -> Response:
    """Switch the built-in rules (password managers, private windows) on or off."""
    are_on = request.form.get("defaults") == "on"
    with privacy.changing(services().data_dir):
        privacy.save_choices(services().data_dir, replace(own_choices(), defaults=are_on))
    return _ask_about_recorded(_rules_called(BUILTIN), BUILTIN)


@templating.get("/privacy/erase")
def preview() -> Response:
    """What would go; nothing is done yet."""
    form = _erase_form(request.args)
    return _page(form.status, erase=form, **previewed(form.asked))


@templating.post("/privacy/erase")
def erase() -> Response:
    """Delete what was previewed, when the word was typed."""
    own = services()
    form = _erase_form(request.values)
    asked = form.asked
    if asked is None:
        return _page(form.status, erase=form)
    if not is_confirmed(DELETE):
        form = replace(form, problem=_("Type %(word)s to delete for good.", word=_(DELETE)))
        return _page(422, erase=form, **previewed(asked))
    return receipt_page(deletion.delete(own.database, own.media, asked))


def previewed(asked: Request | None) -> dict[str, Any]:
    """What would go, as `privacy/_names.html` tells it; nothing where nothing is asked."""
    if asked is None:
        return {}
    found = receipts.preview(services().database, asked)
    names = found.names and [(_(kind), name) for kind, name in found.names]
    return {"counts": found.counts, "names": names, "only_front": found.only_front}


@dataclass(frozen=True, slots=True)
class EraseForm:
    """What a form asks to be deleted: a range, of one app where one is named; or what a rule fits.

    `asked` is None where `problem` says what is wrong with it.
    """

    span: Range = NO_RANGE
    app: str = ""
    rule: str = ""
    label: str = ""  # the rule as the page shows it
    problem: str = ""
    asked: Request | None = None

    @property
    def status(self) -> int:
        return self.span.status if self.span.problem else 422 if self.problem else 200


def _erase_form(values: Mapping[str, str]) -> EraseForm:
    words = values.get("rule", "")
    if words:
        rules = _rules_called(words)
        if not rules:
            return EraseForm(problem=_("That rule is not there any more."))
        label = _("password managers and private windows") if words == BUILTIN else _label(rules[0])
        return EraseForm(rule=words, label=label, asked=Request(*EVER, rules=rules))
    span, app = parameters.range_of(values, viewer()), values.get("app", "").strip()[:_MAX_CHARS]
    problem = span.problem or ("" if span.is_given else _("Choose a range first."))
    asked = None if problem else Request(*span.bounds, app or None)
    return EraseForm(span, app, problem=problem, asked=asked)


def _page(status: int = 200, erase: EraseForm = EraseForm(), **changes: object) -> Response:
    """The page, with what a form was refused with or what came of it in `changes`."""
    own, loaded = services(), loaded_rules()
    mine: tuple[Rule, ...] = () if loaded.unreadable else privacy.own_choices(own.data_dir).rules
    excluded = {rule.app for rule in mine}
    context: dict[str, object] = {
        "own": [(words_of(rule), _label(rule)) for rule in mine],
        "configured": [(words_of(rule), _label(rule)) for rule in loaded.rules if rule not in mine],
        "builtin": sorted(rule.app or "" for rule in loaded.all_rules() if rule.builtin),
        "defaults": loaded.defaults,
        "left_out": left_out_words(own.database, own.data_dir, loaded.rules, own.clock()),
        "unreadable": loaded.unreadable,
        "day": _day(erase.span.start_ms),
        "receipts": receipts.latest(own.database, _RECEIPTS),
        "answers": partial(hosts.receipts_of, own.database),
        "sent": egress_log.totals_since(own.database, own.clock() - 7 * _DAY_MS),
        "slots": apps.colour_slots(own.database),
        "seen": [name for name in apps.used_lately(own.database, own.clock(), _SEEN) if name not in excluded],
        "rule": {},
        "errors": {},
        **dict.fromkeys(("counts", "names", "only_front", "receipt", "is_told")),
        "erase": erase,
        "confirmation": _(DELETE),
        "builtin_name": BUILTIN,
    }
    return templating.render_page("privacy/privacy.html", status, **context | changes)


def _day(asked_ms: int | None) -> dict[str, Any] | None:
    """The band of the day that is asked about, else of the last one with frames; None without any."""
    own, who = services(), viewer()
    newest = frames.nearest(own.database, who.now_ms)
    if newest is None:
        return None
    day = who.day_of(newest.captured_ms if asked_ms is None else asked_ms)
    view = band.Window(day.start_ms, day.end_ms, "day")
    held = timeline.timeline(own.database, day.start_ms, day.end_ms, now_ms=who.now_ms)
    runs = [(run, band.band_run(run, view, ())) for run in held.shown]
    return {"on": day.date, "view": view, "runs": runs, "ticks": band.ticks(view, who)}


def _rules_called(words: str) -> tuple[Rule, ...]:
    """The rules in force that the page calls so."""
    found = loaded_rules().all_rules()
    return tuple(rule for rule in found if words == (BUILTIN if rule.builtin else words_of(rule)))


def loaded_rules() -> RuleSet:
    return privacy.load_rules(services().data_dir, services().settings.privacy)


def own_choices() -> OwnChoices:
    """The person's choices. Raises 503 while the file cannot be read: it is not written over."""
    try:
        own = privacy.own_choices(services().data_dir)
    except (RuleInvalid, OSError, ValueError) as error:
        raise Problem(
            503, "rules_unreadable", _("The privacy rules cannot be read: %(error)s", error=error)
        ) from error
    return own if own.defaults is not None else replace(own, defaults=services().settings.privacy.defaults)


def words_of(rule: Rule) -> str:
    """``app 1Password``, ``title contains private``: the rule as a sentence part."""
    document = as_document(rule)
    match = document.get("match")
    verb = {"exact": " is", "contains": " contains", "regex": " matches"}.get(str(match), "")
    return " and ".join(
        f"{name}{verb} {document[name]}" for name in ("app", "title", "url") if document.get(name)
    )


def _label(rule: Rule) -> str:
    """``Signal``, ``bank.example``, ``Title has “private”``: the rule as a chip shows it."""
    title = _("Title has “%(words)s”", words=rule.title) if rule.title else ""
    label = _(", ").join(part for part in (rule.app, rule.url, title) if part)
    return _("%(rule)s, hidden", rule=label) if rule.action == "mask" else label
