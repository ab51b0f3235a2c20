"""The recording light in the tray or menu bar of a Linux desktop: what is recorded just now, the way to the
pages, and pause. A desktop with a place for it has a StatusNotifierWatcher on the session's bus (KDE, XFCE,
Cinnamon, Ubuntu); where there is none, nothing happens. Its menu is a `com.canonical.dbusmenu`.
https://www.freedesktop.org/wiki/Specifications/StatusNotifierItem/
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jeepney
from babel import default_locale
from jeepney.io.blocking import DBusConnection, open_dbus_connection
from PIL import Image, ImageDraw

from store.core.paths import DataDir
from store.core.times import now_ms
from store.core.translation import ENGLISH, speak, translated
from store.core.translation import gettext as _
from store.spool.process_state import CaptureState, is_alive, read_pause
from webapp.core.languages import LANGUAGES, catalog
from webapp.ops.control import pause, resume
from webapp.ops.notification import notify_soon, trouble

log = logging.getLogger(__name__)

_WATCHER = "org.kde.StatusNotifierWatcher"
_ITEM = jeepney.DBusAddress("/StatusNotifierItem", interface="org.kde.StatusNotifierItem")
_MENU = jeepney.DBusAddress("/StatusNotifierItem/menu", interface="com.canonical.dbusmenu")
_OPEN, _PAUSE = 1, 2  # entries of the menu
_LOOK_S = 2.0
_BARS = {"#d97706": [(7, 6, 10, 16), (12, 6, 15, 16)], "#dc2626": [(10, 5, 12, 12), (10, 15, 12, 17)]}
"""On the disc of 22 pixels: a shape says what its colour does, a pause or a sign of exclamation."""

_Answer = tuple[str, tuple[Any, ...]]  # the D-Bus signature of values, and the values
_Light = tuple[str, str, str]  # the colour, what is so, and why


class Tray:
    """The light of one home folder; `open_app` shows its pages."""

    def __init__(self, data_dir: DataDir, open_app: Callable[[], object]) -> None:
        self._data_dir = data_dir
        self._open_app = open_app
        self._name = f"org.kde.StatusNotifierItem-{os.getpid()}-1"
        self._revision = 1
        self._bus: DBusConnection

    def run(self, stopping: threading.Event) -> None:
        """Show it until `stopping`, or until the session's bus ends."""
        own = (default_locale("LC_MESSAGES") or ENGLISH).partition("_")[0]
        language = next((each for each in LANGUAGES if each.partition("_")[0] == own), ENGLISH)
        speak(language, catalog(language))
        try:
            with open_dbus_connection(bus="SESSION") as self._bus:
                self._listen(stopping)
        except (OSError, RuntimeError, ValueError) as error:  # no bus, or the session ends
            log.info("no tray: %s", error)

    def _listen(self, stopping: threading.Event) -> None:
        comes = jeepney.MatchRule(type="signal", interface="org.freedesktop.DBus", member="NameOwnerChanged")
        comes.add_arg_condition(0, _WATCHER)
        self._bus.send(jeepney.message_bus.RequestName(self._name))
        self._bus.send(jeepney.message_bus.AddMatch(comes))
        self._register()
        shown = self._light()
        while not stopping.is_set():
            with suppress(TimeoutError):
                self._take(self._bus.receive(timeout=_LOOK_S))
            if shown != (shown := self._light()):
                self._say_changed()

    def _register(self) -> None:
        """Without waiting for the watcher: it may ask back before it answers, and a desktop may have none."""
        address = jeepney.DBusAddress("/StatusNotifierWatcher", _WATCHER, _WATCHER)
        call = jeepney.new_method_call(address, "RegisterStatusNotifierItem", "s", (self._name,))
        call.header.flags = jeepney.MessageFlag.no_reply_expected | jeepney.MessageFlag.no_auto_start
        self._bus.send(call)

    def _say_changed(self) -> None:
        self._revision += 1
        for name in ("NewIcon", "NewToolTip"):
            self._bus.send(jeepney.new_signal(_ITEM, name))
        self._bus.send(jeepney.new_signal(_MENU, "LayoutUpdated", "ui", (self._revision, 0)))

    def _light(self) -> _Light:
        state = CaptureState.read(self._data_dir.spool)
        if self._is_paused():
            return "#d97706", _("Paused"), ""
        if state is None or state.state in ("starting", "stopped"):
            return "#6b7280", _("Not recording"), ""
        if not is_alive(state, now_ms()) or trouble(self._data_dir):
            return "#dc2626", _("Not recording"), translated(trouble(self._data_dir))
        words = {"locked": _("Screen locked"), "excluded": _("Left out here")}
        if state.state in words:
            return "#6b7280", words[state.state], ""
        return "#16a34a", _("Recording"), ""

    def _take(self, message: jeepney.Message) -> None:
        fields = message.header.fields
        member = fields.get(jeepney.HeaderFields.member, "")
        if message.header.message_type is jeepney.MessageType.signal and member == "NameOwnerChanged":
            if message.body[2]:
                self._register()
        elif message.header.message_type is jeepney.MessageType.method_call:
            answer = self._answer(fields.get(jeepney.HeaderFields.path, ""), member, message.body)
            unknown = jeepney.new_error(message, "org.freedesktop.DBus.Error.UnknownMethod")
            self._bus.send(unknown if answer is None else jeepney.new_method_return(message, *answer))

    def _answer(self, path: str, member: str, body: tuple[Any, ...]) -> _Answer | None:
        match member, body:
            case "GetAll", _:
                return "a{sv}", (self._properties(path),)
            case "Get", (_, str(name)) if name in (properties := self._properties(path)):
                return "v", (properties[name],)
            case "Activate", _:
                self._do(_OPEN)
            case "Event", (int(entry), "clicked", *_):
                self._do(entry)
            case "EventGroup", (list(events),):  # XFCE's panel sends no other, even for a single click
                for event in events:
                    self._answer(path, "Event", event)
                return "ai", ([],)
            case "GetLayout", _:
                entries: list[Any] = [("(ia{sv}av)", (*entry, [])) for entry in self._entries()]
                root = {"children-display": ("s", "submenu")}
                return "u(ia{sv}av)", (self._revision, (0, root, entries))
            case "GetGroupProperties", (list(asked), _):
                return "a(ia{sv})", ([entry for entry in self._entries() if entry[0] in asked or not asked],)
            case "AboutToShow", _:
                return "b", (False,)
            case "AboutToShowGroup", _:
                return "aiai", ([], [])
            case (("Event" | "SecondaryActivate" | "ContextMenu" | "Scroll"), _):
                pass
            case _:
                return None
        return "", ()

    def _do(self, entry: int) -> None:
        try:
            if entry == _OPEN:
                threading.Thread(target=self._open_app, name="open", daemon=True).start()
            elif entry == _PAUSE and self._is_paused():
                resume(self._data_dir)
            elif entry == _PAUSE:
                pause(self._data_dir, None, now_ms())
        except OSError as error:  # who asked for a pause has to know
            notify_soon(str(error))

    def _is_paused(self) -> bool:
        return read_pause(self._data_dir.spool, now_ms()) is not None

    def _entries(self) -> list[tuple[int, dict[str, tuple[str, str]]]]:
        does = _("Resume recording") if self._is_paused() else _("Pause until I resume")
        return [(_OPEN, {"label": ("s", _("Open"))}), (_PAUSE, {"label": ("s", does)})]

    def _properties(self, path: str) -> dict[str, tuple[str, Any]]:
        if path == _MENU.object_path:
            return {"Version": ("u", 3), "Status": ("s", "normal"), "TextDirection": ("s", "ltr")}
        colour, word, why = self._light()
        return {
            "Category": ("s", "ApplicationStatus"),
            "Id": ("s", "recollect"),
            "Title": ("s", "Recollect"),
            "Status": ("s", "Active"),
            "IconPixmap": ("a(iiay)", [_picture(colour, size) for size in (22, 44)]),
            "ToolTip": ("(sa(iiay)ss)", ("", [], f"Recollect · {word}", why)),
            "Menu": ("o", _MENU.object_path),
        }


def _picture(colour: str, size: int) -> tuple[int, int, bytes]:
    """ARGB in network order."""
    image, unit = Image.new("RGBA", (size, size)), size / 22
    draw = ImageDraw.Draw(image)
    draw.ellipse([2 * unit, 2 * unit, 20 * unit, 20 * unit], fill=colour)
    for bar in _BARS.get(colour, []):
        draw.rectangle([edge * unit for edge in bar], fill="white")
    red, green, blue, alpha = image.split()
    return size, size, Image.merge("RGBA", [alpha, red, green, blue]).tobytes()
