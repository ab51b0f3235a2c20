"""Proof by its toolbar that a browser window is an ordinary one.

Chrome's private windows are painted in one way whatever the person chose: their toolbar is dark and without
colour, in light themes and in coloured ones, with a theme of the shop and with that of the desktop, and
their badge stands beside the address, in grey. So a window is ordinary when its toolbar is light or has a
colour, or when nothing grey stands beside the address while there is room for it. Measured on Chromium 156,
at scale factors from 1 to 2.

Only shapes and colours count, no words: a badge says "Incognito" in fifty languages. Whatever is not
recognised proves nothing, and what is proved holds for the window's life: it never turns private.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from capture.core.geometry import Rect
from capture.screens.protocol import Pixels, Screenshot
from capture.windows.protocol import WindowInfo
from store.privacy.defaults import shows_privacy_by_toolbar

LOOKS = 2
"""So many in a row must prove it: one may fall between two states of a window."""

_HEIGHT = 360  # units from a window's upper edge: title bar, tabs and toolbar at a scale factor of two
_MAIN_ROLE = "browser"  # WM_WINDOW_ROLE of Chromium's windows with tabs; "pop-up" otherwise
_SETTLED_MS = 5_000  # so long after a window in doubt was in view what opens may still be of its making
_MANY_WINDOWS = 1000

_WHOLE = 0.9  # of the width counts as all of it: frames have corners and edges
_FIELD = 0.15  # of the width, at least: the address
_FIELD_HEIGHTS = range(20, 120)
_LIGHT, _COLOURED = 128, 16  # levels: of the strongest channel; between the strongest and the weakest

# Lengths in heights of the address field, so that they hold at every scale factor.
_ROOM = 11  # its width: it is narrower only where the toolbar had to hide something
_NEAR = 2  # from the window's edge: under tabs and no second toolbar
_ICON, _GAP = 1.2, 0.3

Rows = npt.NDArray[np.signedinteger[Any]]
Windows = Sequence[WindowInfo]
_Value = TypeVar("_Value")


class OrdinaryWindows:
    """Browser windows that were proved ordinary by what they show.

    A window without a toolbar, such as a menu or a login that a page opened, is as its process is when it
    appears: ordinary where every window of that process is.
    """

    def __init__(self) -> None:
        self._looks: OrderedDict[str, int] = OrderedDict()  # with a proof, in a row
        self._opened: OrderedDict[str, bool] = OrderedDict()  # windows without a toolbar
        self._doubted_ms: dict[str, int] = {}  # when a window in doubt was last in view, by process

    def marked(self, shot: Screenshot, before: Windows, after: Windows) -> tuple[Windows, Windows]:
        """The windows before and after a grab, with what is proved of them by this look and those before."""
        windows = [window for window in (*before, *after) if _may_be_proved(window)]
        if windows:
            for window in before:
                if (
                    _has_toolbar(window)
                    and not window.passed
                    and not self._is_proved(window)
                    and window in after
                ):
                    self._look_at(window, shot, before, after)
            self._follow_opened(windows, shot.captured_ms)
        return self._with_proofs(before), self._with_proofs(after)

    def _look_at(self, window: WindowInfo, shot: Screenshot, before: Windows, after: Windows) -> None:
        top = replace(window.rect, height=min(_HEIGHT, window.rect.height))
        area = shot.monitor.area
        # A window that fills the screen has no toolbar, and its page may look like one.
        is_full = window.full_screen or (not window.role and window.rect.common(area) == area)
        if top.common(area) != top or is_full:
            return
        above = [*before[: before.index(window)], *after[: after.index(window)]]
        # Where it was itself a moment ago may lie above it: that was its own toolbar, too.
        if not any(other.rect.common(top).area for other in above if other.key != window.key):
            is_proof = is_ordinary(_pixels_of(top, shot))
            _remember(self._looks, window.key, self._looks.pop(window.key, 0) + 1 if is_proof else 0)

    def _follow_opened(self, windows: Windows, at_ms: int) -> None:
        for window in windows:
            if _has_toolbar(window) and not self._is_proved(window):
                self._doubted_ms[_process(window)] = at_ms
        for window in windows:
            if not _has_toolbar(window) and not window.passed and window.key not in self._opened:
                doubted_ms = self._doubted_ms.get(_process(window))
                is_settled = doubted_ms is None or not 0 <= at_ms - doubted_ms < _SETTLED_MS
                _remember(self._opened, window.key, is_settled and self._are_peers_proved(window))

    def _are_peers_proved(self, window: WindowInfo) -> bool:
        if window.peers is None:
            return False
        peers = (f"{_process(window)}.{peer:x}" for peer in window.peers if peer != window.window_id)
        return all(self._looks.get(peer, 0) >= LOOKS or self._opened.get(peer, False) for peer in peers)

    def _with_proofs(self, windows: Windows) -> Windows:
        return [
            replace(w, incognito=False) if _may_be_proved(w) and self._is_proved(w) else w for w in windows
        ]

    def _is_proved(self, window: WindowInfo) -> bool:
        return self._looks.get(window.key, 0) >= LOOKS or self._opened.get(window.key, False)


def _remember(memory: OrderedDict[str, _Value], key: str, value: _Value) -> None:
    memory[key] = value
    while len(memory) > _MANY_WINDOWS:
        memory.popitem(last=False)


def _process(window: WindowInfo) -> str:
    return window.key.rpartition(".")[0]


def _may_be_proved(window: WindowInfo) -> bool:
    """The extension's word is stronger, also where it does not know a window."""
    is_open = window.incognito is None and not window.witnessed and bool(window.key)
    return is_open and shows_privacy_by_toolbar(window.app_name)


def _has_toolbar(window: WindowInfo) -> bool:
    return _may_be_proved(window) and window.kind == "window" and window.role in ("", _MAIN_ROLE)


def _pixels_of(area: Rect, shot: Screenshot) -> Pixels:
    monitor = shot.monitor
    x, y, scale = monitor.area.x, monitor.area.y, monitor.scale
    left, top = round((area.x - x) * scale), round((area.y - y) * scale)
    right, bottom = round((area.right - x) * scale), round((area.bottom - y) * scale)
    return shot.pixels[top:bottom, left:right]


def is_ordinary(pixels: Pixels) -> bool:
    """Whether these pixels of a window's upper edge are those of an ordinary one."""
    rows = np.ascontiguousarray(pixels).view(np.int32)[..., 0] & 0x00FFFFFF
    toolbar = _find(rows)
    if toolbar is None:
        return False
    height = toolbar.bottom - toolbar.top
    if not _is_grey(np.array(toolbar.colour)):
        return not _has_dark_bar(rows[: toolbar.top], height)
    has_room = toolbar.field_right - toolbar.field_left >= _ROOM * height
    return has_room and toolbar.top <= _NEAR * height and not _has_badge(rows, toolbar, height)


@dataclass(frozen=True, slots=True)
class _Toolbar:
    """Its colour, and where in it the address field lies."""

    colour: int
    top: int
    bottom: int
    field_left: int
    field_right: int


def _find(rows: Rows) -> _Toolbar | None:
    """The uppermost field within a bar of one colour.

    A bar is of one colour from edge to edge above what it holds and below it: icons are lower than the field.
    """
    width = rows.shape[1]
    runs = [_longest_run(row) for row in rows]
    whole = [y for y, run in enumerate(runs) if run.length >= _WHOLE * width]
    for above, below in pairwise(whole):
        if below - above - 1 not in _FIELD_HEIGHTS or runs[above].colour != runs[below].colour:
            continue
        field = [runs[y] for y in (above + 2, below - 2)]
        is_field = all(
            run.colour == field[0].colour != runs[above].colour and run.length >= _FIELD * width
            for run in field
        )
        if is_field:
            return _Toolbar(
                runs[above].colour, above + 1, below, field[0].left, field[0].left + field[0].length
            )
    return None


@dataclass(frozen=True, slots=True)
class _Run:
    colour: int
    left: int
    length: int


def _longest_run(row: Rows) -> _Run:
    """The longest stretch of one colour."""
    edges = np.concatenate(([0], np.flatnonzero(row[1:] != row[:-1]) + 1, [row.size]))
    lengths = np.diff(edges)
    longest = int(lengths.argmax())
    left = int(edges[longest])
    return _Run(int(row[left]), left, int(lengths[longest]))


def _is_grey(colours: Rows) -> npt.NDArray[np.bool_]:
    """Whether colours are as dark and as colourless as a private window's."""
    channels = np.stack([colours >> shift & 0xFF for shift in (0, 8, 16)])
    strongest = channels.max(axis=0)
    return np.asarray((strongest < _LIGHT) & (strongest - channels.min(axis=0) < _COLOURED))


def _has_dark_bar(rows: Rows, height: int) -> bool:
    """Whether a bar like a private window's lies above: then what was found is part of its page."""
    dark = _is_grey(rows).mean(axis=1) > 0.5
    return any(bool(value) and len(list(group)) >= height for value, group in groupby(dark))


def _has_badge(rows: Rows, toolbar: _Toolbar, height: int) -> bool:
    """Whether something grey that is wider than an icon stands to the right of the address."""
    beside = rows[toolbar.top : toolbar.bottom, toolbar.field_right + height // 2 :]
    painted = beside != toolbar.colour
    columns = np.flatnonzero(painted.any(axis=0))
    for part in np.split(columns, np.flatnonzero(np.diff(columns) > _GAP * height) + 1):
        if part.size and part[-1] - part[0] > _ICON * height:
            inside = beside[:, part[0] : part[-1] + 1]
            if _is_grey(inside[inside != toolbar.colour]).mean() > 0.25:
                return True
    return False
