"""Browser windows that may be private: kept with their toolbar, or painted over."""

from __future__ import annotations

from dataclasses import replace

from capture.core.geometry import Rect
from capture.privacy import Verdict, judge
from capture.screens.protocol import Monitor
from capture.windows.protocol import WindowInfo
from store.privacy.rules import RuleSet
from store.spool.window_hints import Toolbar
from tests.capture.fakes import window
from tests.tables import for_each

DESK = Monitor("DP-1", Rect(0, 0, 1920, 1080), scale=1.0)
RIGHT = Monitor("DP-2", Rect(1920, 0, 1920, 1080), scale=2.0)
BROWSER = window("Chromium", "News - Chromium", rect=Rect(100, 50, 1000, 800), opaque=False, key="7.1.a")
READ = Toolbar("7.1.a", "Chromium", 100, 50, 1000, 230)


def verdict(*windows: WindowInfo, monitor: Monitor = DESK, rules: RuleSet | None = None) -> Verdict:
    return judge(rules or RuleSet(), monitor, (DESK, RIGHT), windows, windows)


def covering(**changes: object) -> WindowInfo:
    values = {"rect": Rect(900, 40, 300, 200), "focused": False, "opaque": False, **changes}
    return window("Code", "main.py", **values)


def test_its_toolbar_goes_with_the_picture() -> None:
    assert verdict(BROWSER).toolbars == (READ,)
    assert verdict(BROWSER).masks == ()


def test_on_a_dense_monitor_it_is_in_pixels_of_the_picture() -> None:
    moved = window("Chromium", "News - Chromium", rect=Rect(1930, 10, 1000, 100), key="7.1.a")
    assert verdict(moved, monitor=RIGHT).toolbars == (Toolbar("7.1.a", "Chromium", 20, 20, 2000, 200),)


@for_each(
    "window",
    [
        window("Chromium", "News - Chromium", incognito=False),  # the extension says so
        window("firefox", "News — Mozilla Firefox"),  # its title does
        window("Chromium", "News - Chromium", kind="popup"),
        window("Code", "main.py"),
    ],
)
def test_whoever_tells_or_has_no_toolbar_is_not_asked(window: WindowInfo) -> None:
    assert (verdict(window).toolbars, verdict(window).masks) == ((), ())


def test_who_wants_private_windows_recorded_is_not_asked_either() -> None:
    found = verdict(covering(), BROWSER, rules=RuleSet(defaults=False))
    assert (found.toolbars, found.masks) == ((), ())


def test_where_the_toolbar_cannot_be_seen_the_window_is_painted_over() -> None:
    behind = replace(BROWSER, focused=False)
    found = verdict(covering(), behind)
    assert found.toolbars == ()
    assert sum(part.area for part in found.masks) == 1000 * 800 - 200 * 190  # as far as it shows
    assert found.identity.app_name == "Code"


def test_a_window_painted_over_has_no_name() -> None:
    found = verdict(covering(kind="popup"), BROWSER)
    assert found.masks and found.identity.app_name is None


def test_a_toolbar_that_was_seen_before_may_be_covered() -> None:
    seen = window("Chromium", "News - Chromium", rect=BROWSER.rect, key="7.1.a", toolbar_seen=True)
    assert (verdict(covering(), seen).toolbars, verdict(covering(), seen).masks) == ((), ())
    assert verdict(seen).toolbars == (READ,)  # and is read again from time to time


def test_a_window_behind_another_is_no_concern() -> None:
    front = window("Chromium", "Mail - Chromium", rect=DESK.area, opaque=False, key="7.1.b")
    found = verdict(front, BROWSER)
    assert [toolbar.window for toolbar in found.toolbars] == ["7.1.b"]
    assert found.masks == ()


def test_a_see_through_layer_over_everything_hides_nothing() -> None:
    layer = window("Overlay", "shared", rect=DESK.area, opaque=False, kind="popup", focused=False)
    assert verdict(layer, BROWSER).toolbars == (READ,)


def test_what_hangs_over_the_edge_is_painted_over_until_it_was_seen() -> None:
    over = window("Chromium", "News - Chromium", rect=Rect(1500, 0, 1000, 800), key="7.1.a", focused=False)
    assert verdict(over).masks == (Rect(1500, 0, 420, 800),)
    assert verdict(over, monitor=RIGHT).toolbars != ()


def test_a_window_before_and_after_the_grab_is_asked_once() -> None:
    retitled = window("Chromium", "Mail - Chromium", rect=BROWSER.rect, key="7.1.a", opaque=False)
    assert judge(RuleSet(), DESK, (DESK,), (BROWSER,), (retitled,)).toolbars == (READ,)
