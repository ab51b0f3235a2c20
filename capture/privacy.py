"""The one gate every picture passes before it is compared, kept or encoded.

Rules are decided over every window that can be seen on the monitor, not only the one in front.
A *dropped* window costs the whole look; a *masked* one is painted over, in one colour, where it
shows. Windows are read before and after the grab, and both readings count: what appeared in
between may be in the picture. What cannot be read is not kept while any rule exists.

A browser window that may be private is kept with the place of its toolbar, which ingest reads before
it stores the picture; where that cannot be seen, and was not seen before, it is painted over.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, floor

from capture.core.clock import file_stamp
from capture.core.geometry import Rect, uncovered
from capture.page_text import PageWindow
from capture.screens.protocol import Monitor, Pixels
from capture.windows.protocol import Identity, WindowInfo
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.privacy.defaults import private_toolbar_words
from store.privacy.rules import Decision, RuleSet, load_rules
from store.spool.page_text import Area
from store.spool.window_hints import Toolbar

log = logging.getLogger(__name__)

Windows = Sequence[WindowInfo] | None
"""Visible windows, topmost first; None when they could not be read."""

MASK_COLOUR = (64, 64, 64)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be kept of a look at one monitor.

    `reason` is "" when the look may be kept, else a ledger reason without names. `masks` are on
    the desktop, in its units. `identity` never names a window that is left out. `toolbars` are to
    be read before the picture is stored. `pages` may be asked for their text: ordinary browser windows
    that are kept and stood still.
    """

    reason: str = ""
    masks: tuple[Rect, ...] = field(default=())
    identity: Identity = field(default_factory=Identity)
    toolbars: tuple[Toolbar, ...] = field(default=())
    pages: tuple[PageWindow, ...] = field(default=())


class Rules:
    """The rules in force, read again whenever the person's file changed."""

    def __init__(self, data_dir: DataDir, settings: PrivacySettings) -> None:
        self._data_dir = data_dir
        self._settings = settings
        self._stamp: object = ()
        self._rules = RuleSet(unreadable="the privacy rules were not read yet")

    def current(self) -> RuleSet:
        """Costs one stat while nothing changed."""
        stamp = file_stamp(self._data_dir.privacy_rules)
        if stamp != self._stamp:
            self._stamp = stamp
            self._rules = load_rules(self._data_dir, self._settings)
            if self._rules.unreadable:
                log.error("nothing is captured: %s", self._rules.unreadable)
        return self._rules


def judge(
    rules: RuleSet, monitor: Monitor, monitors: Sequence[Monitor], before: Windows, after: Windows
) -> Verdict:
    """What may be kept of a picture of `monitor`, grabbed between two readings of the windows."""
    if rules.unreadable:
        return Verdict("rules_unreadable")
    if before is None or after is None:
        return Verdict("unknown_window") if rules.any else Verdict()
    masks: list[Rect] = []
    toolbars: list[Toolbar] = []
    doubtful: list[WindowInfo] = []
    pages: list[PageWindow] = []
    reason = ""
    for windows in (before,) if before == after else (before, after):
        for window, parts in visible_parts(windows, monitor.area):
            decision = rules.decide_on_screen(window.facts)
            if decision.action == "drop":
                return Verdict(decision.reason)
            if may_be_private(rules, decision, window):
                above = windows[: windows.index(window)]
                parts = shown_parts(window, above, monitor.area)
                if parts and is_in_view(window, above, monitor.area):
                    toolbars.append(strip(window, monitor))
                    continue
                if window.toolbar_seen or not parts:
                    continue
                decision = replace(decision, action="mask", reason="may_be_private")
                doubtful.append(window)
            if decision.action == "mask":
                masks += parts
                reason = decision.reason
            elif before == after and window.incognito is False and window.kind == "window":
                shown = tuple(_area(part, monitor) for part in parts)
                pages.append(PageWindow(window, _area(window.rect, monitor), shown))
    if masks and not uncovered(monitor.area, masks):
        return Verdict(reason)  # nothing is left to see
    identity = identity_on(rules, monitor, monitors, after, doubtful)
    return Verdict("", tuple(masks), identity, tuple(dict.fromkeys(toolbars)), tuple(pages))


def visible_parts(windows: Iterable[WindowInfo], area: Rect) -> list[tuple[WindowInfo, list[Rect]]]:
    """Each window that shows within `area`, with the rectangles where it does."""
    shown: list[tuple[WindowInfo, list[Rect]]] = []
    covers: list[Rect] = []
    for window in windows:
        parts = uncovered(window.rect.common(area), covers)
        if parts:
            shown.append((window, parts))
        if window.opaque:
            covers.append(window.rect)
    return shown


def identity_on(
    rules: RuleSet, monitor: Monitor, monitors: Sequence[Monitor], windows: Sequence[WindowInfo],
    doubtful: Sequence[WindowInfo] = (),
) -> Identity:  # fmt: skip
    """The window in front on this monitor: the focused one if its home is here, else the topmost.

    Windows that are left out, `doubtful` ones among them, stay without a name.
    """
    shown = [window for window, _ in visible_parts(windows, monitor.area)]
    focused = next((window for window in shown if window.focused), None)
    if focused is not None and _home(focused, monitors) != monitor:
        focused = None
    front = focused or next((window for window in shown if window.kind == "window"), None)
    if front is None:
        return Identity()
    if front in doubtful or rules.decide_on_screen(front.facts).action != "keep":
        return Identity(focused=focused is not None)
    return Identity(front.app_name, front.window_name, front.browser_url, focused is not None, front.pid)


def _home(window: WindowInfo, monitors: Sequence[Monitor]) -> Monitor:
    """The monitor that holds the most of a window."""
    return max(monitors, key=lambda monitor: window.rect.common(monitor.area).area)


def mask(pixels: Pixels, monitor: Monitor, areas: Iterable[Rect]) -> None:
    """Paint the areas over, in place. Half-covered pixels are covered whole."""
    for area in areas:
        part = area.common(monitor.area)
        if not part.area:
            continue
        left, top, right, bottom = _pixel_box(part, monitor)
        pixels[top:bottom, left:right, :3] = MASK_COLOUR


def _area(part: Rect, monitor: Monitor) -> Area:
    left, top, right, bottom = _pixel_box(part, monitor)
    return Area(left, top, right - left, bottom - top)


def _pixel_box(part: Rect, monitor: Monitor) -> tuple[int, int, int, int]:
    """(left, top, right, bottom) in a picture of `monitor`."""
    x, y, scale = monitor.area.x, monitor.area.y, monitor.scale
    left, top = floor((part.x - x) * scale), floor((part.y - y) * scale)
    return left, top, ceil((part.right - x) * scale), ceil((part.bottom - y) * scale)


# Where browser windows that may be private have their toolbars, for ingest to read.
#
# Such a window is kept only while the place where a private one says so can be seen, or was seen
# before: what covers the toolbar would hide the only word there is.

STRIP_HEIGHT = 230
"""Units from a window's upper edge in which tabs and toolbar lie, at a scale factor of up to two."""
_CORNER = (600, 160)  # of these, where the word stands: at the right end
_SHARE = 0.9  # of an area counts as all of it: a maximised window reaches a little over the screen's edge


def may_be_private(rules: RuleSet, decision: Decision, window: WindowInfo) -> bool:
    """Whether only this window's toolbar can tell. Menus and tooltips have none."""
    return (
        rules.defaults
        and decision.action == "keep"
        and decision.private == "unknown"
        and window.kind == "window"
        and window.incognito is None
        and bool(private_toolbar_words(window.app_name))
    )


def shown_parts(window: WindowInfo, above: Sequence[WindowInfo], area: Rect) -> list[Rect]:
    """Where it shows, when every ordinary window hides what is below.

    Browsers draw their own frames on windows that are see-through at the edges only. To black out
    what lies behind them for a mere doubt would black out themselves.
    """
    return uncovered(window.rect.common(area), [other.rect for other in above if _hides(other)])


def is_in_view(window: WindowInfo, above: Sequence[WindowInfo], area: Rect) -> bool:
    """Whether the right end of its toolbar is on this monitor, with nothing in front of it."""
    width = min(_CORNER[0], window.rect.width)
    corner = Rect(window.rect.right - width, window.rect.y, width, min(_CORNER[1], window.rect.height))
    if not corner.area or corner.common(area).area < _SHARE * corner.area:
        return False
    return not any(
        other.rect.common(corner).area and (_hides(other) or not _is_overlay(other, area)) for other in above
    )


def _hides(window: WindowInfo) -> bool:
    return window.opaque or window.kind == "window"


def _is_overlay(window: WindowInfo, area: Rect) -> bool:
    """A see-through layer over all of a monitor, such as the edge that shows it is being shared."""
    return window.rect.common(area).area >= _SHARE * area.area


def strip(window: WindowInfo, monitor: Monitor) -> Toolbar:
    """The window's upper edge in pixels of a picture of `monitor`."""
    rect = window.rect
    part = Rect(rect.x, rect.y, rect.width, min(STRIP_HEIGHT, rect.height)).common(monitor.area)
    left, top, right, bottom = _pixel_box(part, monitor)
    return Toolbar(window.key, window.app_name or "", left, top, right - left, bottom - top)
