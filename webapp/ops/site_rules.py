"""What a rule about a site costs while nobody tells the addresses of a browser's windows.

On the screen an address is known from the browser's extension only: the one that is read on the picture comes
too late to leave the picture out. Without it a rule that names a site leaves out every window of the browser.
"""

from __future__ import annotations

from collections.abc import Iterable

from store.core.database import Database
from store.core.paths import DataDir
from store.core.translation import gettext as _
from store.frames import apps
from store.privacy.defaults import is_browser
from store.privacy.rules import Rule, WindowFacts
from store.spool import window_hints


def left_out_words(
    database: Database, data_dir: DataDir, rules: Iterable[Rule], now_ms: int, app: str | None = None
) -> str:
    """Which browsers are left out whole, why and until when, as a sentence; "" where none is. Of those that
    were seen, or of one `app`.
    """
    of_sites = [rule for rule in rules if rule.url is not None]
    if not of_sites:
        return ""
    try:
        reports = window_hints.read_reports(data_dir.spool)
    except (OSError, ValueError):  # capture takes every browser for silent then; its page says why
        reports = []
    speaking = [report for report in reports if not report.is_silent(now_ms)]
    known = [name for name in ([app] if app else apps.names(database)) if is_browser(name)]
    if app and not known:
        return ""
    apps_of_rules = [Rule(app=rule.app, match=rule.match) for rule in of_sites if rule.app is not None]
    is_of_all = len(apps_of_rules) < len(of_sites)
    affected = [
        name for name in known if is_of_all or any(rule.fits(WindowFacts(name)) for rule in apps_of_rules)
    ]
    silent = [name for name in affected if not any(each.is_about(name) for each in speaking)]
    if not silent and (affected or speaking):
        return ""
    names = _(", ").join(silent) or _("any browser")
    return _(
        "Without the browser extension Recollect cannot see addresses in time, so every window of "
        "%(browsers)s is left out until its extension speaks (Settings, Browsers and programs) or the rule "
        "about a site is removed.",
        browsers=names,
    )
