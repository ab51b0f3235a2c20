"""The one gate every picture passes before it is compared, kept or encoded.

Rules are decided over every window that can be seen on the monitor, not only the one in front.
A *dropped* window costs the whole look; a *masked* one is painted over, in one colour, where it
shows. Windows are read before and after the grab, and both readings count: what appeared in
between may be in the picture. What cannot be read is not kept while any rule exists.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, floor

from capture.core.clock import file_stamp
from capture.core.geometry import Rect, uncovered
from capture.page_text import PageWindow
from capture.screens.protocol import Monitor, Pixels
from capture.windows.protocol import Identity, WindowInfo
from store.core.paths import DataDir
from store.core.settings import PrivacySettings
from store.privacy.defaults import is_browser, shows_privacy_by_toolbar
from store.privacy.rules import Decision, RuleSet, load_rules
from store.spool.page_text import Area
from store.spool.queue import (
    HIDDEN_WINDOW,
    MAX_PLACES,
    PRIVATE_WINDOW,
    UNNAMED,
    VisibleWindows,
    WindowPlaces,
    is_storable,
)

log = logging.getLogger(__name__)

Windows = Sequence[WindowInfo] | None
"""Visible windows, topmost first; None when they could not be read."""

MASK_COLOUR = (64, 64, 64)
_LONGEST_TEXT = 8192


@dataclass(frozen=True, slots=True)
class Verdict:
    """What may be kept of a look at one monitor.

    `reason` is "" when the look may be kept, else a ledger reason without names; `cause` names the rule, else
    the app of the window, for as long as it lasts. `masks` are on the desktop, in its units. `identity` never
    names a window that is left out. `pages` may be asked for their text: windows that are kept and stood
    still, and no browser's unless it is surely an ordinary one. `visible` are the windows on the picture
    beside the one in front, `places` where each is; None where windows are not known.
    """

    reason: str = ""
    masks: tuple[Rect, ...] = field(default=())
    identity: Identity = field(default_factory=Identity)
    pages: tuple[PageWindow, ...] = field(default=())
    visible: VisibleWindows | None = None
    places: WindowPlaces | None = None
    cause: str = ""


class Rules:
    """The rules in force, read again whenever the person's file, or the server's, changed.

    Whoever captures for a server (`has_server`) keeps nothing until it has told its rules once.
    """

    def __init__(self, data_dir: DataDir, settings: PrivacySettings, *, has_server: bool = False) -> None:
        self._data_dir = data_dir
        self._settings = settings
        self._has_server = has_server
        # Together, as threads share them: the stamp is that of before the rules were read.
        self._known: tuple[object, RuleSet] = ((), RuleSet())

    def current(self) -> RuleSet:
        """Costs two stats while nothing changed. No thread is given the rules of before a change."""
        stamp = tuple(map(file_stamp, (self._data_dir.privacy_rules, self._data_dir.server_rules)))
        known, rules = self._known
        if stamp != known:
            rules = load_rules(self._data_dir, self._settings)
            if self._has_server and not self._data_dir.server_rules.exists():
                rules = RuleSet(unreadable="the server has not told its rules yet")
            if rules.unreadable:
                log.error("nothing is captured: %s", rules.unreadable)
            self._known = stamp, rules
        return rules


def judge(
    rules: RuleSet, monitor: Monitor, monitors: Sequence[Monitor], before: Windows, after: Windows
) -> Verdict:
    """What may be kept of a picture of `monitor`, grabbed between two readings of the windows."""
    if rules.unreadable:
        return Verdict("rules_unreadable", cause=rules.unreadable)
    if before is None or after is None:
        return Verdict("unknown_window") if rules.any else Verdict()
    masks: list[Rect] = []
    pages: list[PageWindow] = []
    kept: list[WindowInfo] = []
    reason = cause = ""
    for windows in (before,) if before == after else (before, after):
        for window, parts in visible_parts(windows, monitor.area):
            decision = rules.decide_on_screen(window.facts)
            if decision.action == "drop":
                return Verdict(decision.reason, cause=_cause(window, decision))
            if decision.action == "mask":
                masks += parts
                reason, cause = decision.reason, _cause(window, decision)
                continue
            kept.append(window)
            if before == after and _may_tell(window):
                shown = tuple(_area(part, monitor) for part in parts)
                pages.append(PageWindow(window, _area(window.rect, monitor), shown))
    masks += _carried(masks, [window.places for window in (*before, *after) if len(window.places) > 1])
    if masks and not uncovered(monitor.area, masks):
        return Verdict(reason, cause=cause)  # nothing is left to see
    front, is_focused = _front_on(monitor, monitors, after)
    identity = _identity_of(rules, front, is_focused)
    visible = _beside(identity, kept)
    places = _places(monitor, after, front, visible)
    return Verdict("", tuple(masks), identity, tuple(pages), visible, places)


def _cause(window: WindowInfo, decision: Decision) -> str:
    """The rule, else whose window it is: never what the window shows."""
    return decision.rule.sentence if decision.rule else window.app_name or ""


def _beside(front: Identity, kept: Iterable[WindowInfo]) -> VisibleWindows:
    """What a later rule can know the other windows on a picture by."""
    names = {_names(window) for window in kept}
    names -= {(front.app_name, front.window_name, front.browser_url), (None, None, None)}
    return tuple(sorted(names, key=lambda window: tuple(text or "" for text in window)))


def _names(window: WindowInfo) -> tuple[str | None, str | None, str | None]:
    return _as_kept(window.app_name), _as_kept(window.window_name), _as_kept(window.browser_url)


def _places(
    monitor: Monitor, windows: Sequence[WindowInfo], front: WindowInfo | None, visible: VisibleWindows
) -> WindowPlaces:
    """Where windows are on the picture, so that words are told as those of the window they stand in."""
    numbers = {names: number for number, names in enumerate(visible, 1)}
    places = []
    for window, _ in visible_parts(windows, monitor.area):
        if window.passed:
            continue
        is_menu = front is not None and window.kind == "popup" and window.pid == front.pid
        number = 0 if window is front or is_menu else numbers.get(_names(window), UNNAMED)
        places.append((number, *_area(window.rect.common(monitor.area), monitor)))
    return tuple(places[:MAX_PLACES])


def _as_kept(text: str | None) -> str | None:
    """As it can be stored: what one program calls its window costs no picture of the others."""
    if text is None or is_storable(text):
        return text and text[:_LONGEST_TEXT]
    return "".join(c if is_storable(c) else "\N{REPLACEMENT CHARACTER}" for c in text[:_LONGEST_TEXT])


def _carried(masks: Iterable[Rect], moved: Iterable[tuple[Rect, ...]]) -> list[Rect]:
    """Places of windows that moved where masked ones were: a window that has not painted yet takes along what
    another one left in its place, and hands it on to the next. One that only came or went took nothing along:
    what was in its place is masked as whose it is.
    """
    carried: list[Rect] = []
    sources, left = list(masks), set(moved)
    while sources:
        source = sources.pop()
        reached = [places for places in left if any(place.common(source).area for place in places)]
        left.difference_update(reached)
        for places in reached:
            sources += places
            carried += places
    return carried


def _may_tell(window: WindowInfo) -> bool:
    is_ordinary = window.incognito is False or (window.incognito is None and not is_browser(window.app_name))
    return is_ordinary and window.kind == "window" and not window.passed


def visible_parts(windows: Iterable[WindowInfo], area: Rect) -> list[tuple[WindowInfo, list[Rect]]]:
    """Each window that shows within `area`, with the rectangles where it does."""
    shown: list[tuple[WindowInfo, list[Rect]]] = []
    covers: list[Rect] = []
    for window in windows:
        places = window.places or (window.rect,)
        parts = [part for place in places for part in uncovered(place.common(area), covers)]
        if parts:
            shown.append((window, parts))
        if window.opaque:
            covers.append(window.cover or window.rect)
    return shown


def _front_on(
    monitor: Monitor, monitors: Sequence[Monitor], windows: Sequence[WindowInfo]
) -> tuple[WindowInfo | None, bool]:
    """The focused window if its home is here, else the topmost; and whether it is the focused one."""
    shown = [window for window, _ in visible_parts(windows, monitor.area)]
    focused = next((window for window in shown if window.focused), None)
    if focused is not None and _home(focused, monitors) == monitor:
        return focused, True
    return next((w for w in shown if w.kind == "window" and not w.passed), None), False


def _identity_of(rules: RuleSet, front: WindowInfo | None, is_focused: bool) -> Identity:
    if front is None:
        return Identity()
    decision = rules.decide_on_screen(front.facts)
    if decision.action != "keep":
        # One that has just come is not opaque yet: nobody has seen its toolbar.
        is_told = front.witnessed or (front.opaque and shows_privacy_by_toolbar(front.app_name))
        is_private = decision.private == "private" or (decision.reason == "may_be_private" and is_told)
        return Identity(PRIVATE_WINDOW if is_private else HIDDEN_WINDOW, focused=is_focused)
    return Identity(front.app_name, front.window_name, front.browser_url, is_focused, front.pid)


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
