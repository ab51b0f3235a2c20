"""X11 windows: the stack of the root window's children, with or without a window manager.

The children of the root are what really covers what, menus and tooltips included; EWMH's client
list knows only managed windows.

Everything is cached per window and forgotten when the server reports a change, so that a look at
an unchanged desktop costs one round trip, and `wait` wakes at a switch between two looks.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

from Xlib import X, Xatom
from Xlib import error as xerror
from Xlib.ext import res

from capture.core.errors import SourceFailed
from capture.core.geometry import Rect
from capture.screens.x11 import X_ERRORS, X11Client
from capture.windows.idle import Activity
from capture.windows.processes import program
from capture.windows.protocol import Kind, WindowInfo
from capture.windows.settling import Settling

_TRIES = 3

_SEE_THROUGH = ("_NET_WM_WINDOW_OPACITY", "_NET_WM_OPAQUE_REGION")
# What may change about a window without moving it. _NET_WM_USER_TIME changes at every key: not here.
_TELLING = (
    "_NET_WM_NAME", "WM_NAME", "WM_CLASS", "_NET_WM_PID", "_NET_WM_STATE", "WM_STATE",
    "_NET_WM_DESKTOP", "_NET_WM_WINDOW_TYPE", "WM_TRANSIENT_FOR", *_SEE_THROUGH,
)  # fmt: skip
_TELLING_OF_ROOT = ("_NET_ACTIVE_WINDOW", "_NET_CURRENT_DESKTOP", "_NET_CLIENT_LIST_STACKING")

_EVERYWHERE = _OPAQUE = 0xFFFFFFFF
_STRUCTURE = frozenset((
    X.ConfigureNotify, X.MapNotify, X.UnmapNotify, X.ReparentNotify, X.CreateNotify, X.DestroyNotify,
    X.CirculateNotify, X.GravityNotify,
))  # fmt: skip


@dataclass(slots=True)
class Child:
    """A child of the root, as last read; what `info` says of focus and peers is not read with it."""

    window: int
    info: WindowInfo
    is_viewable: bool
    client: int = 0
    owner: int | None = None  # the window a menu or dialog belongs to
    desktop: int | None = None
    is_hidden: bool = False
    watched: set[int] = field(default_factory=set)


class X11Windows(X11Client):
    """The windows of one X display."""

    name = "x11"

    def __init__(self, display_name: str) -> None:
        """Raises `NoDisplay`."""
        super().__init__(display_name)
        self._root = self._display.screen().root
        self._reader = X11Reader(self._display)
        self._telling = {self._reader.atom(name) for name in _TELLING}
        self._titles = {self._reader.atom(name) for name in ("_NET_WM_NAME", "WM_NAME")}
        self._see_through = {self._reader.atom(name) for name in _SEE_THROUGH}
        self._telling_of_root = {self._reader.atom(name) for name in _TELLING_OF_ROOT}
        self._children: dict[int, Child] = {}
        self._framed: dict[int, Child] = {}  # frames of a window manager, by who was last inside
        self._order: list[int] | None = None
        self._managed: dict[int, int | None] = {}  # clients of a window manager, and their processes
        self._active: int | None = None
        self._desktop: int | None = None
        self._in_view: dict[int, WindowInfo] = {}  # as they were last read
        self._settling = Settling()
        self._root.change_attributes(event_mask=X.SubstructureNotifyMask | X.PropertyChangeMask)

    def windows(self) -> list[WindowInfo]:
        try:
            for _ in range(_TRIES):
                focus = self._display.get_input_focus().focus  # a round trip: all events have arrived
                self._take_events()
                self._follow_compositor()
                if self._order is None:
                    self._read_stack()
                children = [self._child(child_id) for child_id in reversed(self._order or [])]
                if all(children):
                    return self._shown(children, self._focused_child(focus))
                self._order = None  # one vanished while it was read: what is left is not the whole truth
        except X_ERRORS as error:
            self._order = None
            self._children.clear()
            raise self._lost(error) from error
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
        except (*X_ERRORS, ValueError) as error:
            raise self._lost(error) from error

    def _take_events(self) -> bool:
        """Forget what the server reports as changed. Whether anything did."""
        changed = False
        while self._display.pending_events():
            changed |= self._take(self._display.next_event())
        return changed

    def _take(self, event: Any) -> bool:
        if event.type == X.PropertyNotify:
            return self._take_property(event.window.id, event.atom)
        if event.type in _STRUCTURE or event.type == self._reader.shape_event:
            self._order = None
            place = None
            if event.type in (X.CreateNotify, X.ConfigureNotify):
                border = 2 * event.border_width
                place = Rect(event.x, event.y, event.width + border, event.height + border)
            is_shown = event.type in (X.MapNotify, X.UnmapNotify)
            window = event.affected_window if event.type == self._reader.shape_event else event.window
            self._changed(window.id, place, is_shown=is_shown, is_moving=True)
            return True
        return False

    def _changed(
        self, child_id: int, place: Rect | None = None, *, is_shown: bool = False, is_moving: bool = False
    ) -> None:
        """Forget a child that is not any more what it was; what it showed may still be on the screen."""
        child = self._children.pop(child_id, None)
        place = place or (child.info.rect if child else None)
        known = self._in_view.get(child_id)
        self._settling.note(child_id, place, known, is_shown=is_shown, is_moving=is_moving)

    def _follow_compositor(self) -> None:
        owner = self._display.get_selection_owner(self._reader.atom("_NET_WM_CM_S0"))
        if self._reader.is_composited != (owner != X.NONE):
            self._reader.is_composited = owner != X.NONE
            self._children.clear()

    def _take_property(self, window_id: int, atom: int) -> bool:
        if window_id == self._root.id:
            if atom not in self._telling_of_root:
                return False
            self._order = None
            if atom == self._reader.atom("_NET_CURRENT_DESKTOP"):
                for child_id in list(self._children):
                    self._changed(child_id)
            return True
        if atom not in self._telling:
            return False
        stale = [i for i, child in self._children.items() if window_id in child.watched]
        for child_id in stale:
            if atom in self._titles:
                del self._children[child_id]
                self._settling.note_former(child_id, self._in_view.get(child_id))
            else:
                self._changed(child_id, is_moving=atom in self._see_through)
        return bool(stale)

    def _read_stack(self) -> None:
        order = [window.id for window in self._root.query_tree().children]
        self._children = {i: child for i, child in self._children.items() if i in set(order)}
        self._framed = {i: child for i, child in self._framed.items() if i in set(order)}
        clients = self._reader.numbers(self._root, "_NET_CLIENT_LIST")
        self._managed = {i: self._managed.get(i) or self._reader.pid(i) for i in clients}
        manager = self._reader.number(self._root, "_NET_SUPPORTING_WM_CHECK")
        self._reader.manager_pid = self._reader.pid(manager) if manager else None
        self._active = self._reader.number(self._root, "_NET_ACTIVE_WINDOW")
        self._desktop = self._reader.number(self._root, "_NET_CURRENT_DESKTOP")
        self._order = order

    def _child(self, child_id: int) -> Child | None:
        """A child of the root; None when it vanished meanwhile."""
        child = self._children.get(child_id)
        if child is None:
            try:
                child = self._reader.read(child_id, self._managed)
                child = self._children[child_id] = self._with_last_client(child)
            except (xerror.BadWindow, xerror.BadDrawable):
                return None
        return child

    def _with_last_client(self, child: Child) -> Child:
        """A frame whose client went still shows its pixels, until the window manager takes it away."""
        if child.client == child.window and child.window in self._framed:
            last, now = self._framed[child.window], child.info
            info = replace(last.info, rect=now.rect, opaque=now.opaque, cover=now.cover)
            return replace(last, info=info, watched=child.watched)
        if child.client not in (0, child.window):
            self._framed[child.window] = child
        else:
            self._framed.pop(child.window, None)
        return child

    def _focused_child(self, focus: Any) -> Child | None:
        if self._active:
            child = next((c for c in self._children.values() if c.client == self._active), None)
            if child is not None:
                return child
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
        titles: dict[int | None, str | None] = {c.client: c.info.window_name for c in self._children.values()}
        peers = self._peers()
        self._in_view = {
            child.window: replace(
                child.info,
                # An untitled menu is decided like the window it belongs to: private or not, excluded or not.
                window_name=child.info.window_name or titles.get(child.owner),
                focused=child is focused,
                peers=peers.get(child.info.pid),
            )
            for child in children
            if child and self._is_shown(child)
        }
        settled = [
            window if self._settling.is_settled(child_id) else replace(window, opaque=False)
            for child_id, window in self._in_view.items()
        ]
        return [*self._settling.passed(self._in_view.get), *settled]

    def _peers(self) -> dict[int | None, frozenset[int]]:
        """The clients of a window manager by process; one whose process nobody knows may be anybody's."""
        of_process: dict[int | None, set[int]] = {}
        for client, pid in self._managed.items():
            of_process.setdefault(pid, set()).add(client)
        unknown = of_process.pop(None, set())
        return {pid: frozenset(clients | unknown) for pid, clients in of_process.items()}

    def _is_shown(self, child: Child) -> bool:
        elsewhere = child.desktop not in (None, _EVERYWHERE, self._desktop) and self._desktop is not None
        return child.is_viewable and not child.is_hidden and not elsewhere


class X11Idle(X11Client):
    """MIT-SCREEN-SAVER: milliseconds since the last input, and whether a screen saver shows."""

    _ON, _EXTERNAL = 1, 2

    def __init__(self, display_name: str) -> None:
        """Raises `NoDisplay`."""
        super().__init__(display_name)
        self._known = bool(self._display.query_extension("MIT-SCREEN-SAVER"))

    def read(self) -> Activity:
        if not self._known:
            return Activity()
        try:
            info = self._display.screen().root.screensaver_query_info()
        except X_ERRORS as error:
            raise self._lost(error) from error
        # A blanked screen keeps its picture; a screen saver that draws would be recorded.
        is_saving = info.state == self._ON and info.kind == self._EXTERNAL
        return Activity(info.idle / 1000, "screensaver" if is_saving else "")


_DEPTH_OF_FRAMES = 4  # a client sits at most so deep inside its frame
_BREADTH_OF_FRAMES = 100
_LONG_TITLE = 1000

_KINDS: dict[str, Kind] = {
    "_NET_WM_WINDOW_TYPE_DOCK": "dock",
    "_NET_WM_WINDOW_TYPE_DESKTOP": "desktop",
    "_NET_WM_WINDOW_TYPE_MENU": "popup",
    "_NET_WM_WINDOW_TYPE_DROPDOWN_MENU": "popup",
    "_NET_WM_WINDOW_TYPE_POPUP_MENU": "popup",
    "_NET_WM_WINDOW_TYPE_TOOLTIP": "popup",
    "_NET_WM_WINDOW_TYPE_NOTIFICATION": "popup",
}


class X11Reader:
    """Reads windows of one display, and asks to be told when what it read changes.

    A child of the root is the client itself or a window manager's frame around it, so the client is searched
    inside (as xprop does, by WM_STATE or WM_CLASS). A window without a class is asked for its process through
    the X-Resource extension, which the server answers even for windows that say nothing of themselves.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        self.manager_pid: int | None = None
        self._has_res = bool(display.query_extension("X-Resource"))
        self.shape_event = display.extension_event.ShapeNotify if display.query_extension("SHAPE") else -1
        self.is_composited = False

    def read(self, child_id: int, managed: Collection[int]) -> Child:
        """One child of the root. `managed` are the ids of a window manager's clients.

        Raises BadWindow or BadDrawable when it vanished meanwhile.
        """
        window = self._window(child_id)
        attributes = window.get_attributes()
        geometry = window.get_geometry()
        border = 2 * geometry.border_width
        rect = Rect(geometry.x, geometry.y, geometry.width + border, geometry.height + border)
        viewable = attributes.map_state == X.IsViewable and attributes.win_class != X.InputOnly
        child = Child(child_id, WindowInfo(None, None, rect), viewable)
        self._watch(child, child_id)
        if viewable:
            client = self._read_client(child, bool(attributes.override_redirect), managed)
            opaque, cover = not self._is_shaped(window) and not self._is_faded(window, client), None
            if opaque and geometry.depth == 32 and self.is_composited:
                cover = self._opaque_part(client)
                opaque = cover is not None
            child.info = replace(child.info, opaque=opaque, cover=cover)
        return child

    def _is_shaped(self, window: Any) -> bool:
        if self.shape_event < 0:
            return False
        extents = window.shape_query_extents()
        return bool(extents.bounding_shaped or extents.clip_shaped)

    def _is_faded(self, *windows: Any) -> bool:
        opacities = (self.number(window, "_NET_WM_WINDOW_OPACITY") for window in windows)
        return any(opacity is not None and opacity < _OPAQUE for opacity in opacities)

    def _opaque_part(self, client: Any) -> Rect | None:
        """The largest part of a window with an alpha channel that its program calls opaque."""
        numbers = self.numbers(client, "_NET_WM_OPAQUE_REGION")
        parts = [Rect(*numbers[i : i + 4]) for i in range(0, len(numbers) - 3, 4)]
        if not parts:
            return None
        origin = self._display.screen().root.translate_coords(client, 0, 0)
        largest = max(parts, key=lambda part: part.area)
        return replace(largest, x=largest.x + origin.x, y=largest.y + origin.y)

    def _read_client(self, child: Child, is_override: bool, managed: Collection[int]) -> Any:
        client = self._find_client(child, managed)
        is_own = client.id == child.window
        child.client = client.id
        pid = self.pid(client.id)
        class_hint = client.get_wm_class()
        named_by_class = class_hint and (class_hint[1] or class_hint[0])
        # A frame whose client went before anybody looked is not the window manager's: it may show anything.
        is_frame = is_own and not is_override and pid == self.manager_pid
        program_name = None if is_frame else PurePath(program(pid or 0)).name
        types = self.numbers(client, "_NET_WM_WINDOW_TYPE")
        named = (_KINDS.get(self._display.get_atom_name(number)) for number in types)
        unnamed: Kind = "popup" if is_override and is_own else "window"
        child.owner = self.number(client, "WM_TRANSIENT_FOR")
        child.desktop = self.number(client, "_NET_WM_DESKTOP")
        states = self.numbers(client, "_NET_WM_STATE")
        child.is_hidden = self.atom("_NET_WM_STATE_HIDDEN") in states
        child.info = WindowInfo(
            named_by_class or program_name or None, self._title(client), child.info.rect, pid, client.id,
            kind=next((kind for kind in named if kind), unnamed), role=self._text(client, "WM_WINDOW_ROLE"),
            full_screen=self.atom("_NET_WM_STATE_FULLSCREEN") in states,
        )  # fmt: skip
        return client

    def _find_client(self, child: Child, managed: Collection[int]) -> Any:
        """The window that programs know: a managed one, else one with a class, else the child itself."""
        inside = self._inside(self._window(child.window))
        known = [window for window in inside if window.id in managed]
        for window in known or inside:
            self._watch(child, window.id)
            if known or self.numbers(window, "WM_STATE"):
                return window
        return next((window for window in inside if window.get_wm_class()), inside[0])

    def _inside(self, window: Any) -> list[Any]:
        """The window and what it holds, level by level; frames have a few dozen parts."""
        windows, level = [window], [window]
        for _ in range(_DEPTH_OF_FRAMES):
            level = [inner for outer in level for inner in outer.query_tree().children]
            windows += level
            if len(windows) > _BREADTH_OF_FRAMES or not level:
                break
        return windows[:_BREADTH_OF_FRAMES]

    def _watch(self, child: Child, window_id: int) -> None:
        # Selected before anything is read: what changes after the reading is then reported.
        child.watched.add(window_id)
        self._window(window_id).change_attributes(event_mask=X.PropertyChangeMask)
        if window_id == child.window and self.shape_event >= 0:
            self._window(window_id).shape_select_input(1)

    def _title(self, window: Any) -> str | None:
        prop = window.get_full_property(self.atom("_NET_WM_NAME"), X.AnyPropertyType)
        if prop is None or not prop.value:
            prop = window.get_full_property(Xatom.WM_NAME, X.AnyPropertyType)
        if prop is None or not prop.value:
            return None
        if isinstance(prop.value, str):
            title = prop.value
        elif prop.property_type == self.atom("COMPOUND_TEXT"):
            title = compound_text(prop.value)
        else:
            title = prop.value.decode("latin-1" if prop.property_type == Xatom.STRING else "utf-8", "replace")
        return title.strip("\0 ")[:_LONG_TITLE] or None

    def _text(self, window: Any, name: str) -> str:
        prop = window.get_full_property(self.atom(name), X.AnyPropertyType)
        if prop is None or prop.format != 8:
            return ""
        return prop.value if isinstance(prop.value, str) else prop.value.decode("latin-1")

    def numbers(self, window: Any, name: str) -> tuple[int, ...]:
        prop = window.get_full_property(self.atom(name), X.AnyPropertyType)
        return tuple(prop.value) if prop is not None and prop.format == 32 else ()

    def number(self, window: Any, name: str) -> int | None:
        return next(iter(self.numbers(window, name)), None)

    def pid(self, window_id: int) -> int | None:
        """The process of a window; None where nobody knows, or it vanished."""
        try:
            return self.number(self._window(window_id), "_NET_WM_PID") or self._pid_by_server(window_id)
        except (xerror.BadWindow, xerror.BadDrawable, xerror.BadValue):
            return None

    def _pid_by_server(self, window_id: int) -> int | None:
        if not self._has_res:
            return None
        specs = [{"client": window_id, "mask": res.LocalClientPIDMask}]
        answers = self._display.res_query_client_ids(specs).ids
        return next((int(answer.value[0]) for answer in answers if answer.value), None)

    def atom(self, name: str) -> int:
        return int(self._display.get_atom(name))  # python-xlib caches them

    def _window(self, window_id: int) -> Any:
        return self._display.create_resource_object("window", window_id)


def compound_text(value: bytes) -> str:
    """A title from a program that runs without UTF-8: ISO 2022 with escapes between character sets.

    https://www.x.org/releases/current/doc/xorg-docs/ctext/ctext.html
    """
    text = []
    for part in re.split(rb"(\x1b%G.*?(?:\x1b%@|$))", value, flags=re.DOTALL):
        if part.startswith(b"\x1b%G"):
            text.append(part[3:].removesuffix(b"\x1b%@").decode("utf-8", "replace"))
        elif b"\x1b$" in part:
            # The set's name is written in its long form here, and Python reads the short one.
            short = part.replace(b"\x1b$(A", b"\x1b$A").replace(b"\x1b$(B", b"\x1b$B")
            text.append(short.decode("iso2022_jp_2", "replace"))
        else:
            text.append(re.sub(rb"\x1b[ -/]+[0-~]", b"", part).decode("latin-1"))
    return "".join(text)
