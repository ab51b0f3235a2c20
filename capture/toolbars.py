"""Where browser windows that may be private have their toolbars, for ingest to read.

Such a window is kept only while the place where a private one says so can be seen, or was seen
before: what covers the toolbar would hide the only word there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from capture.core.geometry import Rect, uncovered
from capture.screens.protocol import Monitor
from capture.windows.protocol import WindowInfo
from store.privacy.defaults import private_toolbar_words
from store.privacy.rules import Decision, RuleSet
from store.spool.window_hints import Toolbar

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
    left = floor((part.x - monitor.area.x) * monitor.scale)
    top = floor((part.y - monitor.area.y) * monitor.scale)
    right = ceil((part.right - monitor.area.x) * monitor.scale)
    bottom = ceil((part.bottom - monitor.area.y) * monitor.scale)
    return Toolbar(window.key, window.app_name or "", left, top, right - left, bottom - top)
