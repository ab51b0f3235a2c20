"""The three things capture looks through, opened together: screens, windows, the person's presence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from capture.core.errors import SourceFailed
from capture.privacy import Windows
from capture.screens.protocol import Monitor, Screenshot, ScreenSource
from capture.windows.idle import ActivitySource
from capture.windows.protocol import WindowSource


@dataclass(frozen=True, slots=True)
class Sources:
    """`kind` is what frames carry as their source: screen, folder or video."""

    screens: ScreenSource
    windows: WindowSource
    activity: ActivitySource
    kind: str = "screen"

    def close(self) -> None:
        """Let go of everything."""
        self.screens.close()
        self.windows.close()
        self.activity.close()


OpenSources = Callable[[], Sources]
"""Raises `SourceFailed` when there is nothing to look at."""


class MonitorMissing(SourceFailed):
    """None of the chosen monitors is connected."""

    reason = "monitor_missing"


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at the desktop: windows, then pixels, then windows again."""

    monitors: tuple[Monitor, ...]
    shots: dict[str, Screenshot]
    failures: dict[str, SourceFailed]
    before: Windows
    after: Windows
    unknown: str = ""
    """Why windows are not known, when they are not."""


def chosen(monitors: list[Monitor], names: tuple[str, ...]) -> list[Monitor]:
    """The monitors to look at; the others are never grabbed (lesson MON-4). Raises `MonitorMissing`."""
    found = [monitor for monitor in monitors if not names or monitor.name in names]
    if not found:
        connected = ", ".join(monitor.name for monitor in monitors) or "none"
        raise MonitorMissing(
            f"The monitor {' or '.join(names)} is not connected; connected: {connected}",
            "Connect it or change capture.monitors",
        )
    return found


def observe(sources: Sources, monitors: list[Monitor], wanted: list[Monitor], before: Windows) -> Observation:
    """Grab the wanted monitors. One that cannot be grabbed does not cost the others."""
    shots: dict[str, Screenshot] = {}
    failures: dict[str, SourceFailed] = {}
    for monitor in wanted:
        try:
            shots[monitor.name] = sources.screens.grab(monitor)
        except SourceFailed as error:
            failures[monitor.name] = error
    after, unknown = read_windows(sources.windows)
    return Observation(tuple(monitors), shots, failures, before, after, unknown)


def read_windows(source: WindowSource) -> tuple[Windows, str]:
    """Visible windows, or None and why they cannot be told: privacy then decides."""
    try:
        return source.windows(), ""
    except SourceFailed as error:
        return None, str(error)
