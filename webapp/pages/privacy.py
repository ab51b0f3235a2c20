"""Privacy: what is never recorded, how private windows are told, who may come in, how to make it forget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from flask import request
from werkzeug.wrappers import Response

from store.deletion import deletion
from store.deletion.deletion import Counts
from store.deletion.request import EVER, Request, recorded
from store.egress import access_keys, access_log
from store.egress.access_keys import BROWSER, TOKENS
from store.frames import apps
from store.privacy import rules as privacy
from store.privacy.defaults import BROWSERS, Browser
from store.privacy.rules import OwnChoices, Rule, RuleInvalid, RuleSet, WindowFacts, as_document, validate
from store.spool import window_hints
from store.spool.window_hints import ExtensionReport
from webapp.core import parameters, templating
from webapp.core.errors import Problem
from webapp.core.parameters import NO_RANGE, Range
from webapp.core.services import Services, services, viewer
from webapp.security import access, login

EXTENSION_FOLDER = Path(__file__).resolve().parents[2] / "capture" / "browser_extension"
CONFIRMATION = "DELETE"
BUILTIN = "password managers"
"""What the built-in rules are called, which are switched as one."""
_MAX_CHARS = 500


@dataclass(frozen=True, slots=True)
class PairedBrowser:
    name: str
    heard_ms: int
    windows: int
    is_silent: bool


@dataclass(frozen=True, slots=True)
class BrowserLine:
    """How a family of browsers tells its private windows, and what happens while nothing tells."""

    names: list[str]
    tells: list[str]
    otherwise: str


@templating.get("/privacy")
def show() -> Response:
    return _page()


@templating.post("/privacy/rules")
def add() -> Response:
    """Add a rule of the person's own; capture follows at its next look."""
    given = {
        name: request.form.get(name, "").strip()[:_MAX_CHARS] for name in ("app", "title", "url", "action")
    }
    own = _own()
    document = {name: value for name, value in given.items() if value}
    try:
        added = validate([document])
    except RuleInvalid as error:
        errors = {name or "app": message for _, name, message in error.errors}
        return _page(422, rule=given, errors=errors)
    privacy.save_choices(services().data_dir, replace(own, rules=own.rules + added))
    return _ask_about_recorded(added, _words(added[0]))


def _ask_about_recorded(rules: tuple[Rule, ...], words: str) -> Response:
    """Go on to ask whether frames go, too, that these rules would have hidden; where there are none, back."""
    if recorded(services().database, rules) != 0:
        return templating.redirect_to(f"/privacy/erase?{urlencode({'rule': words})}#erase")
    return templating.redirect_to("/privacy#rules")


@templating.post("/privacy/rules/<id:index>/remove")
def remove(index: int) -> Response:
    own = _own()
    shown = request.form.get("words", "")
    if index >= len(own.rules) or _words(own.rules[index]) != shown:
        raise Problem(404, "rule_not_found", "That rule is not there any more.")
    privacy.save_choices(services().data_dir, replace(own, rules=own.rules[:index] + own.rules[index + 1 :]))
    return templating.redirect_to("/privacy#rules")


@templating.post("/privacy/defaults")
def defaults() -> Response:
    """Switch the built-in rules (password managers, private windows) on or off."""
    are_on = request.form.get("defaults") == "on"
    privacy.save_choices(services().data_dir, replace(_own(), defaults=are_on))
    return _ask_about_recorded(_rules_called(BUILTIN), BUILTIN)


@templating.post("/privacy/maybe-private")
def maybe_private() -> Response:
    """Black out the windows of browsers that do not tell whether they are private, or record them."""
    privacy.save_choices(
        services().data_dir, replace(_own(), mask_maybe_private=request.form.get("mask") == "on")
    )
    return templating.redirect_to("/privacy#browsers")


@templating.post("/privacy/browsers/forget")
def forget_browser() -> Response:
    """A browser whose extension is gone counts as never paired."""
    window_hints.forget(services().data_dir.spool, request.form.get("browser", ""))
    return templating.redirect_to("/privacy#browsers")


@templating.get("/privacy/test")
def test() -> Response:
    """What a window would get, and why; nothing is stored."""
    args = request.args
    window = WindowFacts(
        app_name=args.get("app") or None,
        window_name=args.get("title") or None,
        browser_url=args.get("url") or None,
        incognito=True if args.get("incognito") == "on" else None,
    )
    return _page(tried=window, decision=_loaded().decide_on_screen(window))


@templating.get("/privacy/erase")
def preview() -> Response:
    """What would go; nothing is done yet."""
    form = _erase_form(request.args)
    names = deletion.names_of(services().database, form.asked) if form.asked else []
    return _page(422 if form.problem else 200, erase=form, counts=form.counts(), names=names)


@templating.post("/privacy/erase")
def erase() -> Response:
    """Delete what was previewed, when the word was typed."""
    own = services()
    form = _erase_form(request.form)
    asked = form.asked
    if asked is None:
        return _page(422, erase=form)
    if request.form.get("confirm", "").strip() != CONFIRMATION:
        form = replace(form, problem=f"Type {CONFIRMATION} to delete for good.")
        return _page(422, erase=form, counts=form.counts())
    receipt = deletion.delete(own.database, own.media, asked)
    return _page(erase=form, receipt=receipt)


@dataclass(frozen=True, slots=True)
class EraseForm:
    """What a form asks to be deleted: a range, of one app where one is named; or what a rule fits.

    `asked` is None where `problem` says what is wrong with it.
    """

    span: Range = NO_RANGE
    app: str = ""
    rule: str = ""
    problem: str = ""
    asked: Request | None = None

    def counts(self) -> Counts | None:
        return deletion.preview(services().database, self.asked) if self.asked else None


def _erase_form(values: Mapping[str, str]) -> EraseForm:
    words = values.get("rule", "")
    if words:
        rules = _rules_called(words)
        if not rules:
            return EraseForm(problem="That rule is not there any more.")
        return EraseForm(rule=words, asked=Request(*EVER, rules=rules))
    span, app = parameters.range_of(values, viewer()), values.get("app", "").strip()[:_MAX_CHARS]
    problem = span.problem or ("" if span.is_given else "Choose a range first.")
    return EraseForm(span, app, "", problem, None if problem else Request(*span.bounds, app or None))


# -- who may come in -----------------------------------------------------------------------------


@templating.post("/privacy/tokens")
def add_token() -> Response:
    """Make a token for one purpose; its words stand on the page that answers, and nowhere again."""
    name, scope = request.form.get("name", "").strip(), request.form.get("scope", "")
    if not name or scope not in TOKENS:
        raise Problem(422, "invalid_token", "Name the program and choose what its token is for.")
    with services().database.write() as connection:
        secret = login.keyring().make(connection, scope, name)
    return _page(made=secret, made_for=name)


@templating.post("/privacy/keys/<id:key_id>/revoke")
def revoke(key_id: int) -> Response:
    with services().database.write() as connection:
        access_keys.revoke(connection, key_id)
    return templating.redirect_to("/privacy#access")


@templating.post("/privacy/keys/others/revoke")
def sign_out_others() -> Response:
    """Sign out every browser but this one."""
    with services().database.write() as connection:
        access_keys.sign_out_browsers(connection, _this_browser())
    return templating.redirect_to("/privacy#access")


def _this_browser() -> int:
    key = login.browser_key()
    return key.id if key else 0


def _keys() -> dict[str, Any]:
    """Browsers and tokens, and what tokens were used for last."""
    found = login.keyring().listed()
    return dict(
        browsers=[key for key in found if key.scope == BROWSER],
        tokens=[key for key in found if key.scope != BROWSER],
        purposes=TOKENS,
        this=_this_browser(),
        uses=[use for use in access_log.latest(services().database) if use.caller],
    )


def _page(status: int = 200, **changes: object) -> Response:
    """The page, with what a form was refused with or what came of it in `changes`."""
    own, loaded = services(), _loaded()
    mine: tuple[Rule, ...] = () if loaded.unreadable else privacy.own_choices(own.data_dir).rules
    context: dict[str, object] = {
        "own": [(_words(rule), rule.action) for rule in mine],
        "configured": [_words(rule) for rule in loaded.rules if rule not in mine],
        "builtin": sorted(rule.app or "" for rule in loaded.all_rules() if rule.builtin),
        "defaults": loaded.defaults,
        "unreadable": loaded.unreadable,
        "browsers": browser_section(own, loaded, viewer().now_ms),
        "keys": _keys(),
        "app_names": sorted(apps.colour_slots(own.database), key=str.casefold),
        "rule": {},
        "errors": {},
        **dict.fromkeys(("tried", "decision", "counts", "names", "receipt", "made", "made_for")),
        "erase": EraseForm(),
        "confirmation": CONFIRMATION,
    }
    return templating.render_page("privacy/privacy.html", status, **context | changes)


def _rules_called(words: str) -> tuple[Rule, ...]:
    """The rules in force that the page calls so."""
    found = _loaded().all_rules()
    return tuple(rule for rule in found if words == (BUILTIN if rule.builtin else _words(rule)))


def _loaded() -> RuleSet:
    return privacy.load_rules(services().data_dir, services().settings.privacy)


def _own() -> OwnChoices:
    """The person's choices. Raises 503 while the file cannot be read: it is not written over."""
    try:
        own = privacy.own_choices(services().data_dir)
    except (RuleInvalid, OSError, ValueError) as error:
        raise Problem(503, "rules_unreadable", f"The privacy rules cannot be read: {error}") from error
    return own if own.defaults is not None else replace(own, defaults=services().settings.privacy.defaults)


def _words(rule: Rule) -> str:
    """``app 1Password``, ``title contains private``: the rule as a sentence part."""
    document = as_document(rule)
    match = document.get("match")
    verb = {"exact": " is", "contains": " contains", "regex": " matches"}.get(str(match), "")
    return " and ".join(
        f"{name}{verb} {document[name]}" for name in ("app", "title", "url") if document.get(name)
    )


def browser_section(own: Services, rules: RuleSet, now_ms: int) -> dict[str, Any]:
    """How browsers tell their private windows, and what the extension said.

    `lines` has every family that is known; `masked`: what nothing tells of is blacked out; `problem` is why
    what the extension said cannot be read.
    """
    reports: list[ExtensionReport] = []
    problem = ""
    try:
        reports = window_hints.read_reports(own.data_dir.spool)
    except (OSError, ValueError) as error:
        problem = f"What the extension said cannot be read, so Chrome's windows are blacked out: {error}"
    return dict(
        lines=[_line(browser, rules) for browser in BROWSERS],
        masked=rules.mask_maybe_private,
        paired=_paired(reports, now_ms),
        problem=problem,
        folder=str(EXTENSION_FOLDER),
        address=f"http://127.0.0.1:{own.settings.web.port}",
        token=access.extension_token(own.token),
    )


def _line(browser: Browser, rules: RuleSet) -> BrowserLine:
    first = browser.names[0]
    others = [
        name
        for name in browser.names[1:]  # those that people use, and not an id or a program's file
        if name[0].isupper() and "." not in name and name not in first and first not in name
    ]
    if browser.always_private:
        return BrowserLine([first, *others], ["has no other windows"], "")
    tells = ["title" if browser.ordinary else "title of some windows"]
    tells += ["command line"] if browser.switches else []
    tells += ["toolbar"] if browser.grey_toolbar else []
    is_masked = rules.mask_maybe_private or browser.grey_toolbar
    return BrowserLine([first, *others], tells, "blacked out" if is_masked else "recorded")


def _paired(reports: list[ExtensionReport], now_ms: int) -> list[PairedBrowser]:
    """One line a browser: profiles of one browser have a copy of the extension each."""
    lines = []
    for name in sorted({report.browser for report in reports}):
        of_browser = [report for report in reports if report.browser == name]
        latest = max(report.said_ms for report in of_browser)
        speaking = [report for report in of_browser if not report.is_silent(now_ms)]
        windows = sum(len(report.windows) for report in speaking)
        lines.append(PairedBrowser(name, max(0, now_ms - latest), windows, not speaking))
    return lines
