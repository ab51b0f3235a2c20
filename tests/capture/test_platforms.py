"""Wayland, macOS and Windows behind the same protocol, faked at the edge of the system."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from capture.core.errors import DisplayLost, NoDisplay, PermissionRefused, SourceFailed
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor
from capture.systems.macos import MacActivity, MacScreens, MacWindows
from capture.systems.wayland import (
    GrimScreens,
    ToolWindows,
    hyprland_outputs,
    hyprland_windows,
    run_tool,
    sway_outputs,
    sway_windows,
)
from capture.systems.windows import WindowsActivity, WindowsScreens, WindowsWindows
from capture.windows.idle import Activity
from capture.windows.protocol import WindowInfo
from tests.capture.fakes import screen
from tests.factories import picture
from tests.tables import for_each

# -- Wayland --------------------------------------------------------------------------------------


class Tools:
    """Programs that answer from a table and remember how they were called."""

    def __init__(self, **answers: object) -> None:
        self.answers = answers
        self.called: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str]) -> bytes:
        self.called.append(command)
        key = command[-1] if command[0] != "grim" else "grim"
        answer = self.answers[key]
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def ppm(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PPM")
    return buffer.getvalue()


SWAY_OUTPUTS = [
    {"name": "eDP-1", "active": True, "scale": 2.0, "rect": {"x": 0, "y": 0, "width": 32, "height": 24}},
    {"name": "DP-3", "active": False, "rect": {"x": 0, "y": 0, "width": 0, "height": 0}},
]


def test_grim_grabs_one_output_in_its_own_pixels() -> None:
    tools = Tools(grim=ppm(picture(3)), get_outputs=SWAY_OUTPUTS)
    screens = GrimScreens(lambda: sway_outputs(tools), tools)
    [monitor] = screens.monitors()
    assert monitor == Monitor("eDP-1", Rect(0, 0, 32, 24), 2.0)
    shot = screens.grab(monitor)
    assert np.array_equal(shot.pixels[..., 2::-1], np.asarray(picture(3)))
    assert tools.called[-1] == ["grim", "-o", "eDP-1", "-t", "ppm", "-"]


def test_grim_without_a_list_of_outputs_grabs_everything() -> None:
    screens = GrimScreens(None, Tools(grim=ppm(picture())))
    assert screens.monitors() == [Monitor("screen", Rect(0, 0, 64, 48))]


def test_hyprland_outputs_come_in_pixels_and_may_be_turned() -> None:
    output = {"name": "DP-1", "x": 10, "y": 0, "width": 3840, "height": 2160, "scale": 1.5, "transform": 1}
    assert hyprland_outputs(Tools(monitors=[output])) == [Monitor("DP-1", Rect(10, 0, 1440, 2560), 1.5)]


@for_each(
    ("command", "said"),
    [
        (["recollect-has-no-such-tool"], "does not answer"),
        (["sh", "-c", "echo compositor refuses >&2; exit 1"], "compositor refuses"),
    ],
)
def test_a_tool_that_fails_is_a_lost_display_with_its_words(command: list[str], said: str) -> None:
    with pytest.raises(DisplayLost, match=said):
        run_tool(command)


def test_a_tool_s_nonsense_is_a_failure() -> None:
    with pytest.raises(DisplayLost, match="no picture"):
        GrimScreens(None, Tools(grim=b"nonsense")).monitors()
    with pytest.raises(DisplayLost, match="no valid answer"):
        sway_outputs(Tools(get_outputs=b"nonsense"))
    with pytest.raises(SourceFailed, match="unknown form"):
        ToolWindows(
            "swaymsg", sway_windows, Tools(get_tree={"nodes": [{"pid": 1, "visible": True}]})
        ).windows()


def _leaf(pid: int, name: str, **more: Any) -> dict[str, Any]:
    rect = {"x": pid, "y": 0, "width": 10, "height": 10}
    return {"pid": pid, "name": name, "visible": True, "focused": False, "rect": rect, **more}


def test_sway_s_tree_gives_visible_windows_floating_first() -> None:
    tree = {
        "nodes": [
            {
                "nodes": [
                    _leaf(1, "shell", app_id="foot", focused=True),
                    _leaf(2, "hidden tab", app_id="foot", visible=False),
                    _leaf(3, "old", app_id=None, window_properties={"class": "XTerm"}),
                ],
                "floating_nodes": [_leaf(4, "vault", app_id="org.keepassxc.KeePassXC")],
            }
        ]
    }
    found = ToolWindows("swaymsg", sway_windows, Tools(get_tree=tree)).windows()
    assert [(w.app_name, w.window_name, w.focused) for w in found] == [
        ("org.keepassxc.KeePassXC", "vault", False),
        ("XTerm", "old", False),
        ("foot", "shell", True),
    ]
    assert not any(w.opaque for w in found)


def test_hyprland_s_clients_give_windows_of_shown_workspaces() -> None:
    def client(number: int, workspace: int, **more: Any) -> dict[str, Any]:
        return {
            "mapped": True, "hidden": False, "floating": False, "workspace": {"id": workspace},
            "at": [number, 0], "size": [10, 20], "class": f"app{number}", "title": "", "pid": number,
            "address": hex(number), "focusHistoryID": number, **more,
        }  # fmt: skip

    tools = Tools(
        monitors=[
            {"activeWorkspace": {"id": 1}, "specialWorkspace": {"id": 0}},
            {"activeWorkspace": {"id": 5}},
        ],
        clients=[
            client(1, 1),
            client(0, 1),
            client(2, 2),
            client(3, 5, floating=True),
            client(4, 1, hidden=True),
        ],
    )
    found = ToolWindows("hyprctl", hyprland_windows, tools).windows()
    assert [(w.app_name, w.focused) for w in found] == [("app3", False), ("app0", True), ("app1", False)]
    assert found[0].rect == Rect(3, 0, 10, 20)
    assert found[0].window_name is None


# -- macOS ----------------------------------------------------------------------------------------


def fake_quartz(allowed: bool = True, **more: Any) -> Any:
    pixels = screen(8, 6)
    padded = np.zeros((6, 8 * 4 + 32), dtype=np.uint8)  # rows are longer than the picture
    padded[:, :32] = pixels.reshape(6, -1)
    rect = SimpleNamespace(
        origin=SimpleNamespace(x=100.0, y=0.0), size=SimpleNamespace(width=4.0, height=3.0)
    )
    values: dict[str, Any] = {
        "CGPreflightScreenCaptureAccess": lambda: allowed,
        "CGRequestScreenCaptureAccess": lambda: allowed,
        "CGGetActiveDisplayList": lambda *_: (0, (69,), 1),
        "CGDisplayBounds": lambda _: rect,
        "CGDisplayCopyDisplayMode": lambda _: "mode",
        "CGDisplayModeGetPixelWidth": lambda _: 8,
        "CGDisplayVendorNumber": lambda _: 0x610,
        "CGDisplayModelNumber": lambda _: 0xA050,
        "CGDisplaySerialNumber": lambda _: 0,
        "CGDisplayUnitNumber": lambda _: 2,
        "CGRectMake": lambda *sides: sides,
        "CGWindowListCreateImage": lambda *_: "image",
        "CGImageGetWidth": lambda _: 8,
        "CGImageGetHeight": lambda _: 6,
        "CGImageGetBytesPerRow": lambda _: 64,
        "CGImageGetDataProvider": lambda _: "provider",
        "CGDataProviderCopyData": lambda _: padded.tobytes(),
        "kCGWindowListOptionOnScreenOnly": 1,
        "kCGWindowListExcludeDesktopElements": 16,
        "kCGNullWindowID": 0,
        "kCGWindowImageBestResolution": 8,
        "kCGWindowOwnerName": "kCGWindowOwnerName",
        "kCGWindowName": "kCGWindowName",
        "kCGWindowOwnerPID": "kCGWindowOwnerPID",
        "kCGWindowNumber": "kCGWindowNumber",
        "kCGWindowBounds": "kCGWindowBounds",
        "kCGWindowLayer": "kCGWindowLayer",
        "kCGWindowAlpha": "kCGWindowAlpha",
        "kCGWindowSharingState": "kCGWindowSharingState",
        "kCGWindowSharingNone": 0,
        "kCGWindowSharingReadOnly": 1,
        "kCGEventSourceStateHIDSystemState": 1,
        **more,
    }
    return SimpleNamespace(**values)


def test_a_mac_display_has_a_name_that_outlives_its_id_and_gives_its_own_pixels() -> None:
    screens = MacScreens(fake_quartz())
    [monitor] = screens.monitors()
    assert monitor == Monitor("display-610-a050-2", Rect(100, 0, 4, 3), 2.0, 69)
    shot = screens.grab(monitor)
    assert np.array_equal(shot.pixels, screen(8, 6))
    assert shot.pixels.flags.writeable


def test_a_refused_permission_says_where_to_give_it() -> None:
    with pytest.raises(PermissionRefused, match="Screen & System Audio Recording") as caught:
        MacScreens(fake_quartz(allowed=False))
    assert caught.value.reason == "permission_refused"


def test_a_permission_taken_away_and_a_display_that_sleeps_are_told_apart() -> None:
    quartz = fake_quartz(CGWindowListCreateImage=lambda *_: None)
    screens = MacScreens(quartz)
    [monitor] = screens.monitors()
    with pytest.raises(DisplayLost):
        screens.grab(monitor)
    quartz.CGPreflightScreenCaptureAccess = lambda: False
    with pytest.raises(PermissionRefused):
        screens.grab(monitor)
    quartz.CGGetActiveDisplayList = lambda *_: (0, (), 0)
    with pytest.raises(NoDisplay):
        screens.monitors()


def _mac_window(owner: str, name: str | None, pid: int, **more: Any) -> dict[str, Any]:
    bounds = {"X": 1.4, "Y": 2.0, "Width": 30.0, "Height": 40.0}
    entry = {
        "kCGWindowNumber": 10 * pid,
        "kCGWindowOwnerName": owner,
        "kCGWindowOwnerPID": pid,
        "kCGWindowBounds": bounds,
        **more,
    }
    return {**entry, "kCGWindowName": name} if name else entry


def test_mac_windows_carry_owner_title_focus_and_the_wish_not_to_be_captured() -> None:
    listed = [
        _mac_window("Window Server", "Menubar", 3, kCGWindowLayer=24),
        _mac_window("Ghost", "x", 9, kCGWindowAlpha=0.0),
        _mac_window("Signal", None, 5, kCGWindowSharingState=0),
        _mac_window("Safari", "News", 4),
    ]
    quartz = fake_quartz(CGWindowListCopyWindowInfo=lambda *_: listed)
    front = SimpleNamespace(processIdentifier=lambda: 4)
    workspace = SimpleNamespace(frontmostApplication=lambda: front)
    rect = Rect(1, 2, 30, 40)
    assert MacWindows(quartz, workspace).windows() == [
        WindowInfo("Window Server", "Menubar", rect, 3, 30, kind="dock"),
        WindowInfo("Signal", None, rect, 5, 50, wants_no_capture=True),
        WindowInfo("Safari", "News", rect, 4, 40, focused=True),
    ]
    quartz.CGWindowListCopyWindowInfo = lambda *_: None
    with pytest.raises(SourceFailed, match="no graphical session"):
        MacWindows(quartz, workspace).windows()


@for_each(
    ("session", "away"),
    [
        ({"kCGSSessionOnConsoleKey": True}, ""),
        ({"kCGSSessionOnConsoleKey": True, "CGSSessionScreenIsLocked": True}, "locked"),
        ({"kCGSSessionOnConsoleKey": False}, "switched_user"),
        (None, "switched_user"),
    ],
)
def test_mac_presence(session: dict[str, bool] | None, away: str) -> None:
    quartz = fake_quartz(
        CGEventSourceSecondsSinceLastEventType=lambda *_: 4.5,
        CGSessionCopyCurrentDictionary=lambda: session,
    )
    assert MacActivity(quartz).read() == Activity(4.5, away)


# -- Windows --------------------------------------------------------------------------------------


class FakeMss:
    def __init__(self) -> None:
        self.monitors = [
            {"left": 0, "top": 0, "width": 16, "height": 6},
            {"left": 0, "top": 0, "width": 8, "height": 6, "unique_id": "MON-A"},
            {"left": 8, "top": 0, "width": 8, "height": 6},
        ]

    def grab(self, region: dict[str, int]) -> Any:
        if region["left"]:
            raise OSError("the secure desktop")
        return SimpleNamespace(raw=bytearray(screen(8, 6).tobytes()), width=8, height=6)

    def close(self) -> None:
        return


def test_windows_monitors_have_stable_names_and_each_its_pixels() -> None:
    screens = WindowsScreens(FakeMss)
    first, second = screens.monitors()
    assert (first.name, second.name) == ("MON-A", "DISPLAY2")
    assert np.array_equal(screens.grab(first).pixels, screen(8, 6))
    with pytest.raises(DisplayLost, match="secure desktop"):
        screens.grab(second)
    screens.close()


class FakeApi:
    """Four windows: store app in front, an editor, a cloaked one and the taskbar."""

    errors = (OSError,)

    def __init__(self) -> None:
        self.shown = {1: True, 2: True, 3: False, 4: True}
        self.programs = {10: r"C:\Windows\ApplicationFrameHost.exe", 20: r"C:\Apps\Code.exe"}

    def handles(self) -> list[int]:
        return [1, 2, 3, 4]

    def is_shown(self, handle: int) -> bool:
        return self.shown[handle]

    def title(self, handle: int) -> str:
        return {1: "Mail", 2: "main.py"}.get(handle, "")

    def class_name(self, handle: int) -> str:
        return "Shell_TrayWnd" if handle == 4 else "Chrome_WidgetWin_1"

    def rect(self, handle: int) -> tuple[int, int, int, int]:
        return (-8, 0, 92, 50)

    def pid(self, handle: int) -> int:
        return handle * 10

    def program(self, pid: int) -> str:
        return self.programs.get(pid, "")

    def asks_not_to(self, handle: int) -> bool:
        return handle == 2

    def foreground(self) -> int:
        return 1

    def idle_ms(self) -> int:
        return 2500

    def is_locked(self) -> bool:
        return True


def test_windows_windows_by_handle() -> None:
    rect = Rect(-8, 0, 100, 50)
    api = FakeApi()
    assert WindowsWindows(api).windows() == [
        WindowInfo("Mail", "Mail", rect, 10, 1, focused=True),
        WindowInfo("Code", "main.py", rect, 20, 2, wants_no_capture=True),
        WindowInfo(None, None, rect, 40, 4, kind="dock"),
    ]
    assert WindowsActivity(api).read() == Activity(2.5, "locked")


def test_a_windows_api_that_fails_is_a_failed_source() -> None:
    class Broken(FakeApi):
        def handles(self) -> list[int]:
            raise OSError("access denied")

    with pytest.raises(SourceFailed, match="access denied"):
        WindowsWindows(Broken()).windows()
