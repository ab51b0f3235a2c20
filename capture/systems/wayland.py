"""Wayland: screens through grim, which writes a PPM of one output without a flash or a sound, and windows
where the compositor tells them: sway and Hyprland. Elsewhere they are unknown.

Slower than X11 by a factor of a hundred, so the daemon's interval may want to be longer. No window is taken
for opaque here: a compositor may show anything through it, so that one that is left out costs its whole
rectangle.
"""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from PIL import Image, UnidentifiedImageError

from capture.core.errors import DisplayLost, SourceFailed
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Screenshot, bgrx
from capture.windows.protocol import AskedEachTime, WindowInfo
from store.core.times import now_ms

TIMEOUT_S = 5.0

Run = Callable[[Sequence[str]], bytes]
"""Runs a program and gives its standard output. Raises `DisplayLost`."""


def run_tool(command: Sequence[str]) -> bytes:
    try:
        completed = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True)
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        raise DisplayLost(f"{command[0]} failed: {lines[-1] if lines else error.returncode}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DisplayLost(f"{command[0]} does not answer: {error}") from error
    return completed.stdout


class GrimScreens:
    """Every output of a wlroots compositor, or the whole desktop where outputs cannot be listed."""

    name = "grim"

    def __init__(self, list_outputs: Callable[[], list[Monitor]] | None, run: Run = run_tool) -> None:
        self._list_outputs = list_outputs
        self._run = run

    def monitors(self) -> list[Monitor]:
        if self._list_outputs is not None:
            return self._list_outputs()
        whole = _picture(self._run(["grim", "-t", "ppm", "-"]))
        return [Monitor("screen", Rect(0, 0, whole.width, whole.height))]

    def grab(self, monitor: Monitor) -> Screenshot:
        output = ["-o", monitor.name] if self._list_outputs is not None else []
        picture = _picture(self._run(["grim", *output, "-t", "ppm", "-"]))
        return Screenshot(bgrx(picture), monitor, now_ms())

    def close(self) -> None:
        return


def sway_outputs(run: Run = run_tool) -> list[Monitor]:
    """Outputs as sway lists them, in its logical coordinates."""
    return [
        Monitor(output["name"], _rect(output["rect"]), float(output.get("scale") or 1.0))
        for output in _asked(run, "swaymsg", "-r", "-t", "get_outputs")
        if output.get("active")
    ]


def hyprland_outputs(run: Run = run_tool) -> list[Monitor]:
    """Outputs as Hyprland lists them; sizes come in pixels, places in logical coordinates."""
    monitors = []
    for output in _asked(run, "hyprctl", "-j", "monitors"):
        scale = float(output.get("scale") or 1.0)
        sides = [round(output["width"] / scale), round(output["height"] / scale)]
        if int(output.get("transform", 0)) % 2:  # turned by a quarter
            sides.reverse()
        monitors.append(Monitor(output["name"], Rect(output["x"], output["y"], *sides), scale))
    return monitors


def _asked(run: Run, *command: str) -> Any:
    """What a tool answers in JSON. Raises `DisplayLost`."""
    try:
        return json.loads(run(command))
    except ValueError as error:
        raise DisplayLost(f"{command[0]} gave no valid answer: {error}") from error


def _rect(rect: dict[str, int]) -> Rect:
    return Rect(rect["x"], rect["y"], rect["width"], rect["height"])


def _picture(content: bytes) -> Image.Image:
    try:
        picture = Image.open(io.BytesIO(content))
        picture.load()
    except (UnidentifiedImageError, OSError) as error:
        raise DisplayLost(f"the tool gave no picture: {error}") from error
    return picture


class ToolWindows(AskedEachTime):
    """Windows read from one program's answer."""

    def __init__(self, name: str, read: Callable[[Run], list[WindowInfo]], run: Run = run_tool) -> None:
        self.name = name
        self._read = read
        self._run = run

    def windows(self) -> list[WindowInfo]:
        try:
            return self._read(self._run)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise SourceFailed(f"{self.name} answered in an unknown form: {error!r}") from error


def sway_windows(run: Run) -> list[WindowInfo]:
    """Visible windows of sway's tree: floating ones above tiled ones, the last of a list on top."""
    return list(_sway_leaves(_asked(run, "swaymsg", "-r", "-t", "get_tree")))


def _sway_leaves(node: dict[str, Any]) -> Iterator[WindowInfo]:
    for inner in [*reversed(node.get("floating_nodes", [])), *reversed(node.get("nodes", []))]:
        yield from _sway_leaves(inner)
    if node.get("pid") and node.get("visible"):
        of_x11 = node.get("window_properties") or {}
        yield WindowInfo(
            app_name=node.get("app_id") or of_x11.get("class") or None,
            window_name=node.get("name") or None,
            rect=_rect(node["rect"]),
            pid=node["pid"],
            window_id=node.get("id"),
            focused=bool(node.get("focused")),
        )


def hyprland_windows(run: Run) -> list[WindowInfo]:
    """Windows on the workspaces that Hyprland shows, floating first, then by last focus."""
    shown = {
        workspace["id"]
        for monitor in _asked(run, "hyprctl", "-j", "monitors")
        for workspace in (monitor["activeWorkspace"], monitor.get("specialWorkspace") or {"id": 0})
    } - {0}
    clients = [
        client
        for client in _asked(run, "hyprctl", "-j", "clients")
        if client["mapped"]
        and not client["hidden"]
        and (client["workspace"]["id"] in shown or client.get("pinned"))
    ]
    clients.sort(key=lambda client: (not client["floating"], client["focusHistoryID"]))
    return [
        WindowInfo(
            client["class"] or None, client["title"] or None, Rect(*client["at"], *client["size"]),
            client["pid"], int(client["address"], 16), focused=client["focusHistoryID"] == 0,
        )
        for client in clients
    ]  # fmt: skip
