"""X11 windows: the stack of the root window's children, with or without a window manager.

The children of the root are what really covers what, menus and tooltips included; EWMH's client
list knows only managed windows.

Everything is cached per window and forgotten when the server reports a change, so that a look at
an unchanged desktop costs one round trip, and `wait` wakes at a switch between two looks.
"""

from __future__ import annotations

import select
import time
from collections.abc import Iterable, Mapping
from typing import Any

from Xlib import X
from Xlib import display as xdisplay
from Xlib import error as xerror

from capture.core.errors import DisplayLost, NoDisplay, SourceFailed
from capture.windows.protocol import WindowInfo
from capture.windows.x11_reading import Child, X11Reader

_MANY_WINDOWS = 400
_TRIES = 3

# What may change about a window without moving it. _NET_WM_USER_TIME changes at every key: not here.
_TELLING = (
    "_NET_WM_NAME", "WM_NAME", "WM_CLASS", "_NET_WM_PID", "_NET_WM_STATE", "WM_STATE",
    "_NET_WM_DESKTOP", "_NET_WM_WINDOW_TYPE", "WM_TRANSIENT_FOR",
)  # fmt: skip
_TELLING_OF_ROOT = ("_NET_ACTIVE_WINDOW", "_NET_CURRENT_DESKTOP", "_NET_CLIENT_LIST_STACKING")

_EVERYWHERE = 0xFFFFFFFF


class X11Windows:
    """The windows of one X display."""

    name = "x11"

    def __init__(self, display_name: str) -> None:
        """Raises `NoDisplay`."""
        self._display_name = display_name or "(unset)"
        try:
            self._display = xdisplay.Display(display_name)
        except (xerror.DisplayError, xerror.XError, OSError) as error:
            raise NoDisplay(f"The X display {self._display_name} cannot be opened: {error}") from error
        self._display.set_error_handler(lambda *_: None)  # windows vanish while they are asked about
        self._root = self._display.screen().root
        self._telling = {self._atom(name) for name in _TELLING}
        self._telling_of_root = {self._atom(name) for name in _TELLING_OF_ROOT}
        self._reader = X11Reader(self._display)
        self._children: dict[int, Child] = {}
        self._order: list[int] | None = None
        self._managed: set[int] = set()
        self._active: int | None = None
        self._desktop: int | None = None
        self._root.change_attributes(event_mask=X.SubstructureNotifyMask | X.PropertyChangeMask)

    def windows(self) -> list[WindowInfo]:
        try:
            for _ in range(_TRIES):
                focus = self._display.get_input_focus().focus  # a round trip: all events have arrived
                self._take_events()
                if self._order is None:
                    self._read_stack()
                children = [self._child(child_id) for child_id in reversed(self._order or [])]
                if all(children):
                    return self._shown(children, self._focused_child(focus))
                self._order = None  # one vanished while it was read: what is left is not the whole truth
        except (xerror.ConnectionClosedError, xerror.XError, OSError) as error:
            self._forget()
            raise DisplayLost(
                f"The X display {self._display_name} does not tell its windows: {error}"
            ) from error
        raise SourceFailed("Windows come and go faster than they can be read")

    def wait(self, timeout_s: float) -> bool:
        until_s = time.monotonic() + timeout_s
        try:
            while not self._take_events():
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return False
                select.select([self._display.fileno()], [], [], left_s)
            return True
        except (xerror.ConnectionClosedError, OSError, ValueError) as error:
            raise DisplayLost(f"The X display {self._display_name} does not answer: {error}") from error

    def close(self) -> None:
        try:
            self._display.close()
        except (xerror.ConnectionClosedError, OSError):
            return  # it was lost already

    # -- events ---------------------------------------------------------------------------

    def _take_events(self) -> bool:
        """Forget what the server reports as changed. Whether anything did."""
        changed = False
        while self._display.pending_events():
            changed |= self._take(self._display.next_event())
        return changed

    def _take(self, event: Any) -> bool:
        if event.type == X.PropertyNotify:
            return self._take_property(event.window.id, event.atom)
        touched = {getattr(event, name).id for name in ("window", "parent") if _has_id(event, name)}
        if event.type in (X.ConfigureNotify, X.MapNotify, X.UnmapNotify, X.ReparentNotify, X.CreateNotify,
                          X.DestroyNotify, X.CirculateNotify, X.GravityNotify):  # fmt: skip
            self._order = None
            for child_id in touched:
                self._children.pop(child_id, None)
            return True
        return False

    def _take_property(self, window_id: int, atom: int) -> bool:
        if window_id == self._root.id:
            if atom in self._telling_of_root:
                self._order = None
                return True
            return False
        if atom not in self._telling:
            return False
        stale = [i for i, child in self._children.items() if window_id in child.watched]
        for child_id in stale:
            del self._children[child_id]
        return bool(stale)

    def _forget(self) -> None:
        self._order = None
        self._children.clear()

    # -- reading --------------------------------------------------------------------------

    def _read_stack(self) -> None:
        order = [window.id for window in self._root.query_tree().children][-_MANY_WINDOWS:]
        self._children = {i: child for i, child in self._children.items() if i in set(order)}
        self._managed = set(self._reader.numbers(self._root, "_NET_CLIENT_LIST"))
        self._active = self._reader.number(self._root, "_NET_ACTIVE_WINDOW")
        self._desktop = self._reader.number(self._root, "_NET_CURRENT_DESKTOP")
        self._order = order

    def _child(self, child_id: int) -> Child | None:
        """A child of the root; None when it vanished meanwhile."""
        child = self._children.get(child_id)
        if child is None:
            try:
                child = self._children[child_id] = self._reader.read(child_id, self._managed)
            except (xerror.BadWindow, xerror.BadDrawable):
                return None
        return child

    # -- answering ------------------------------------------------------------------------

    def _focused_child(self, focus: Any) -> Child | None:
        if self._active:
            found = next((c for c in self._children.values() if c.client == self._active), None)
            if found is not None:
                return found
        if focus == X.PointerRoot:  # nobody set a focus: keys go to the window under the pointer
            focus = self._root.query_pointer().child
        if focus in (X.NONE, X.PointerRoot):
            return None
        return self._children.get(self._top_of(focus))

    def _top_of(self, window: Any) -> int:
        """The child of the root that holds this window; 0 when it is gone."""
        try:
            while True:
                tree = window.query_tree()
                if not tree.parent or tree.parent.id == self._root.id:
                    return int(window.id)
                window = tree.parent
        except xerror.BadWindow:
            return 0

    def _shown(self, children: Iterable[Child | None], focused: Child | None) -> list[WindowInfo]:
        shown = [child for child in children if child and self._is_shown(child)]
        titles = {child.client: child.window_name for child in self._children.values()}
        return [_info(child, titles, child is focused) for child in shown]

    def _is_shown(self, child: Child) -> bool:
        elsewhere = child.desktop not in (None, _EVERYWHERE, self._desktop) and self._desktop is not None
        return child.is_viewable and not child.is_hidden and not elsewhere

    def _atom(self, name: str) -> int:
        return int(self._display.get_atom(name))  # python-xlib caches them


def _info(child: Child, titles: Mapping[int, str | None], focused: bool) -> WindowInfo:
    # An untitled menu is decided like the window it belongs to: private or not, excluded or not.
    title = child.window_name or (titles.get(child.owner) if child.owner else None)
    return WindowInfo(
        child.app_name,
        title,
        child.rect,
        child.pid,
        child.client or None,
        focused=focused,
        opaque=child.opaque,
        kind=child.kind,
        role=child.role,
    )


def _has_id(event: Any, name: str) -> bool:
    return hasattr(getattr(event, name, None), "id")
