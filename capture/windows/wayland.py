"""Wayland windows, where the compositor tells: sway and Hyprland. Elsewhere they are unknown.

Nothing is taken for opaque here: a compositor may show anything through a window, so that a
window that is left out costs its whole rectangle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from capture.core.errors import SourceFailed
from capture.core.geometry import Rect
from capture.screens.wayland import Run, parsed, run_tool
from capture.windows.protocol import AskedEachTime, WindowInfo


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
    return list(_sway_leaves(parsed(run(["swaymsg", "-r", "-t", "get_tree"]), "swaymsg")))


def _sway_leaves(node: dict[str, Any]) -> Iterator[WindowInfo]:
    for inner in [*reversed(node.get("floating_nodes", [])), *reversed(node.get("nodes", []))]:
        yield from _sway_leaves(inner)
    if node.get("pid") and node.get("visible"):
        rect = node["rect"]
        of_x11 = node.get("window_properties") or {}
        yield WindowInfo(
            app_name=node.get("app_id") or of_x11.get("class") or None,
            window_name=node.get("name") or None,
            rect=Rect(rect["x"], rect["y"], rect["width"], rect["height"]),
            pid=node["pid"],
            window_id=node.get("id"),
            focused=bool(node.get("focused")),
        )


def hyprland_windows(run: Run) -> list[WindowInfo]:
    """Windows on the workspaces that Hyprland shows, floating first, then by last focus."""
    monitors = parsed(run(["hyprctl", "-j", "monitors"]), "hyprctl")
    shown = {
        workspace["id"]
        for monitor in monitors
        for workspace in (monitor["activeWorkspace"], monitor.get("specialWorkspace") or {"id": 0})
    } - {0}
    clients = parsed(run(["hyprctl", "-j", "clients"]), "hyprctl")
    clients = [c for c in clients if c["mapped"] and not c["hidden"]]
    clients = [c for c in clients if c["workspace"]["id"] in shown or c.get("pinned")]
    clients.sort(key=lambda client: (not client["floating"], client["focusHistoryID"]))
    return [
        WindowInfo(
            client["class"] or None, client["title"] or None, Rect(*client["at"], *client["size"]),
            client["pid"], int(client["address"], 16), focused=client["focusHistoryID"] == 0,
        )
        for client in clients
    ]  # fmt: skip
