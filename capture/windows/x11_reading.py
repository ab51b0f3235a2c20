"""Reads one X11 window: whose it is, what it is called, where it is.

A child of the root is the client itself or a window manager's frame around it, so the client is
searched inside (as xprop does, by WM_STATE or WM_CLASS). Names come from ``_NET_WM_NAME`` and
``WM_CLASS``; a window without a class is asked for its process through the X-Resource extension,
which the server answers even for windows that say nothing of themselves.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from Xlib import X, Xatom
from Xlib.ext import res

from capture.core.geometry import Rect
from capture.windows.protocol import Kind

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


@dataclass(slots=True)
class Child:
    """A child of the root, as last read."""

    window: int
    rect: Rect
    is_viewable: bool
    client: int = 0
    owner: int | None = None  # the window a menu or dialog belongs to
    opaque: bool = False
    app_name: str | None = None
    window_name: str | None = None
    pid: int | None = None
    kind: Kind = "window"
    role: str = ""
    desktop: int | None = None
    is_hidden: bool = False
    watched: set[int] = field(default_factory=set)


class X11Reader:
    """Reads windows of one display, and asks to be told when what it read changes."""

    def __init__(self, display: Any) -> None:
        self._display = display
        self._has_res = bool(display.query_extension("X-Resource"))
        self._has_shape = bool(display.query_extension("SHAPE"))

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
        child = Child(child_id, rect, viewable)
        self._watch(child, child_id)
        if viewable:
            child.opaque = geometry.depth != 32 and not self._is_shaped(window)
            self._read_client(child, bool(attributes.override_redirect), managed)
        return child

    def _read_client(self, child: Child, is_override: bool, managed: Collection[int]) -> None:
        client = self._find_client(child, managed)
        is_own = client.id == child.window
        child.client = client.id
        child.window_name = self._title(client)
        child.pid = self.number(client, "_NET_WM_PID") or self._pid_by_server(client.id)
        class_hint = client.get_wm_class()
        child.app_name = (class_hint and (class_hint[1] or class_hint[0])) or _program(child.pid)
        types = self.numbers(client, "_NET_WM_WINDOW_TYPE")
        named = (_KINDS.get(self._display.get_atom_name(number)) for number in types)
        unnamed: Kind = "popup" if is_override and is_own else "window"
        child.kind = next((kind for kind in named if kind), unnamed)
        child.owner = self.number(client, "WM_TRANSIENT_FOR")
        child.role = self._text(client, "WM_WINDOW_ROLE")
        child.desktop = self.number(client, "_NET_WM_DESKTOP")
        child.is_hidden = self._atom("_NET_WM_STATE_HIDDEN") in self.numbers(client, "_NET_WM_STATE")

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
        found, level = [window], [window]
        for _ in range(_DEPTH_OF_FRAMES):
            level = [inner for outer in level for inner in outer.query_tree().children]
            found += level
            if len(found) > _BREADTH_OF_FRAMES or not level:
                break
        return found[:_BREADTH_OF_FRAMES]

    def _watch(self, child: Child, window_id: int) -> None:
        # Selected before anything is read: what changes after the reading is then reported.
        child.watched.add(window_id)
        self._window(window_id).change_attributes(event_mask=X.PropertyChangeMask)

    def _title(self, window: Any) -> str | None:
        found = window.get_full_property(self._atom("_NET_WM_NAME"), X.AnyPropertyType)
        if found is None or not found.value:
            found = window.get_full_property(Xatom.WM_NAME, X.AnyPropertyType)
        if found is None or not found.value:
            return None
        if isinstance(found.value, str):
            title = found.value
        elif found.property_type == self._atom("COMPOUND_TEXT"):
            title = compound_text(found.value)
        else:
            title = found.value.decode(
                "latin-1" if found.property_type == Xatom.STRING else "utf-8", "replace"
            )
        return title.strip("\0 ")[:_LONG_TITLE] or None

    def _text(self, window: Any, name: str) -> str:
        found = window.get_full_property(self._atom(name), X.AnyPropertyType)
        if found is None or found.format != 8:
            return ""
        return found.value if isinstance(found.value, str) else found.value.decode("latin-1")

    def numbers(self, window: Any, name: str) -> tuple[int, ...]:
        found = window.get_full_property(self._atom(name), X.AnyPropertyType)
        return tuple(found.value) if found is not None and found.format == 32 else ()

    def number(self, window: Any, name: str) -> int | None:
        return next(iter(self.numbers(window, name)), None)

    def _pid_by_server(self, window_id: int) -> int | None:
        if not self._has_res:
            return None
        specs = [{"client": window_id, "mask": res.LocalClientPIDMask}]
        ids = self._display.res_query_client_ids(specs).ids
        return next((int(found.value[0]) for found in ids if found.value), None)

    def _is_shaped(self, window: Any) -> bool:
        return self._has_shape and bool(window.shape_query_extents().bounding_shaped)

    def _atom(self, name: str) -> int:
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


def _program(pid: int | None) -> str | None:
    """The name of a process's program, or None when it cannot be told."""
    if not pid:
        return None
    process = Path("/proc") / str(pid)
    try:
        return (process / "exe").readlink().name.removesuffix(" (deleted)") or None
    except OSError:
        pass  # another user's process: its short name is still public
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
