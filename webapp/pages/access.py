"""Who and what may come in: browsers that are signed in, tokens of other programs, the extension that tells
which windows are private, and a way to try what a window would get.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from store.core.translation import gettext as _
from store.egress import access_keys, access_log
from store.egress.access_keys import BROWSER, TOKENS
from store.privacy import rules as privacy
from store.privacy.defaults import BROWSERS, Browser
from store.privacy.rules import RuleSet, WindowFacts
from store.sources import hosts
from store.spool import window_hints
from store.spool.window_hints import ExtensionReport
from webapp.core import templating
from webapp.core.errors import Problem
from webapp.core.services import Services, services, viewer
from webapp.ops.site_rules import left_out_words
from webapp.pages.privacy import loaded_rules, own_choices
from webapp.security import access, login

EXTENSION_FOLDER = Path(__file__).resolve().parents[2] / "capture" / "browser_extension"


@templating.get("/settings/access")
def show() -> Response:
    return _page()


def _page(**changes: object) -> Response:
    """The page, with what came of a form in `changes`."""
    own, rules = services(), loaded_rules()
    context: dict[str, object] = {
        "browsers": _browsers(own, rules, viewer().now_ms),
        "keys": _keys(),
        **dict.fromkeys(("tried", "decision", "left_out", "made", "made_for")),
    }
    return templating.render_page("privacy/access.html", **context | changes)


@templating.get("/privacy/test")
def test() -> Response:
    """What a window would get, and why; nothing is stored."""
    args = request.args
    window = WindowFacts.described(
        args.get("app") or None,
        args.get("title") or None,
        args.get("url") or None,
        True if args.get("incognito") == "on" else None,
    )
    own, rules = services(), loaded_rules()
    left_out = left_out_words(own.database, own.data_dir, rules.rules, own.clock(), window.app_name)
    return _page(tried=window, decision=rules.decide_on_screen(window), left_out=left_out)


@templating.post("/privacy/maybe-private")
def maybe_private() -> Response:
    """Black out the windows of browsers that do not tell whether they are private, or record them."""
    is_on = request.form.get("mask") == "on"
    with privacy.changing(services().data_dir):
        privacy.save_choices(services().data_dir, replace(own_choices(), mask_maybe_private=is_on))
    return templating.redirect_to("/settings/access#browsers")


@templating.post("/privacy/browsers/forget")
def forget_browser() -> Response:
    """A browser whose extension is gone counts as never paired."""
    window_hints.forget(services().data_dir.spool, request.form.get("browser", ""))
    return templating.redirect_to("/settings/access#browsers")


# -- who may come in -----------------------------------------------------------------------------


@templating.post("/privacy/tokens")
def add_token() -> Response:
    """Make a token for one purpose; its words stand on the page that answers, and nowhere again."""
    name, scope = request.form.get("name", "").strip(), request.form.get("scope", "")
    if not name or scope not in TOKENS:
        raise Problem(422, "invalid_token", _("Name the program and choose what its token is for."))
    with services().database.write() as connection:
        secret = login.keyring().make(connection, scope, name)
    return _page(made=secret, made_for=name)


@templating.post("/privacy/keys/<id:key_id>/revoke")
def revoke(key_id: int) -> Response:
    with services().database.write() as connection:
        access_keys.revoke(connection, key_id)
    return templating.redirect_to("/settings/access#access")


@templating.post("/privacy/keys/others/revoke")
def sign_out_others() -> Response:
    """Sign out every browser but this one."""
    with services().database.write() as connection:
        access_keys.sign_out_browsers(connection, key.id if (key := login.browser_key()) else 0)
    return templating.redirect_to("/settings/access#access")


def _keys() -> dict[str, Any]:
    """Browsers and tokens, and what tokens were used for last."""
    found, this = login.keyring().listed(), login.browser_key()
    return dict(
        browsers=[key for key in found if key.scope == BROWSER],
        tokens=[key for key in found if key.scope != BROWSER],
        purposes={scope: _(words) for scope, words in TOKENS.items()},
        this=this and this.id,
        hosts={host.key_id: host for host in hosts.listed(services().database)},
        uses=[use for use in access_log.latest(services().database) if use.caller],
    )


def _browsers(own: Services, rules: RuleSet, now_ms: int) -> dict[str, Any]:
    """How browsers tell their private windows, and what the extension said.

    `lines` has every family that is known; `masked`: what nothing tells of is hidden; `problem` is why
    what the extension said cannot be read.
    """
    reports: list[ExtensionReport] = []
    problem = ""
    try:
        reports = window_hints.read_reports(own.data_dir.spool)
    except (OSError, ValueError) as error:
        problem = _(
            "The extension's message cannot be read, so Chrome's windows are hidden: %(error)s", error=error
        )
    return dict(
        lines=[_line(browser, rules) for browser in BROWSERS],
        masked=rules.mask_maybe_private,
        paired=_paired(reports, now_ms),
        problem=problem,
        folder=str(EXTENSION_FOLDER),
        address=f"http://127.0.0.1:{own.settings.web.port}",
        token=access.extension_token(own.token),
    )


def _line(browser: Browser, rules: RuleSet) -> tuple[list[str], list[str], str]:
    """How a family of browsers tells its private windows, and what happens while nothing tells."""
    first = browser.names[0]
    others = [
        name
        for name in browser.names[1:]  # those that people use, and not an id or a program's file
        if name[0].isupper() and "." not in name and name not in first and first not in name
    ]
    if browser.always_private:
        return [first, *others], [_("has no other windows")], ""
    tells = [_("title") if browser.ordinary else _("title of some windows")]
    tells += [_("command line")] if browser.switches else []
    tells += [_("toolbar")] if browser.grey_toolbar else []
    is_masked = rules.mask_maybe_private or browser.grey_toolbar
    return [first, *others], tells, _("otherwise hidden") if is_masked else _("otherwise recorded")


def _paired(reports: list[ExtensionReport], now_ms: int) -> list[tuple[str, int, int]]:
    """(name, how long ago it was heard, windows it told of) of each browser, -1 windows where it is silent.

    Profiles of one browser have a copy of the extension each.
    """
    lines = []
    for name in sorted({report.browser for report in reports}):
        of_browser = [report for report in reports if report.browser == name]
        latest = max(report.said_ms for report in of_browser)
        speaking = [report for report in of_browser if not report.is_silent(now_ms)]
        windows = sum(len(report.windows) for report in speaking) if speaking else -1
        lines.append((name, max(0, now_ms - latest), windows))
    return lines
