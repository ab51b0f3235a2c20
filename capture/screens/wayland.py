"""Wayland screens, through programs that take a picture without a flash or a sound.

grim (wlroots compositors) writes a PPM of one output to its standard output; spectacle (KDE)
writes a file of the whole desktop in the background. Slower than X11 by a factor of a hundred,
so the daemon's interval may want to be longer.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
from PIL import Image, UnidentifiedImageError

from capture.core.errors import DisplayLost
from capture.core.geometry import Rect
from capture.screens.protocol import Monitor, Screenshot, bgrx
from store.core.times import now_ms

TIMEOUT_S = 5.0
_FOLDER = "recollect-screen-"

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


class SpectacleScreens:
    """The whole KDE desktop as one monitor."""

    name = "spectacle"

    def __init__(self, run: Run = run_tool) -> None:
        _remove_left()
        self._run = run
        self._size: tuple[int, int] | None = None

    def monitors(self) -> list[Monitor]:
        size = self._size or self._take().size
        return [Monitor("screen", Rect(0, 0, *size))]

    def grab(self, monitor: Monitor) -> Screenshot:
        picture = self._take()
        return Screenshot(bgrx(picture), monitor, now_ms())

    def close(self) -> None:
        return

    def _take(self) -> Image.Image:
        # A folder of our own (0700): the picture is nobody else's to read.
        with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-") as folder:
            file = Path(folder) / "screen.png"
            self._run(["spectacle", "--background", "--nonotify", "--fullscreen", "--output", str(file)])
            try:
                picture = _picture(file.read_bytes())
            except OSError as error:
                raise DisplayLost(f"spectacle wrote no picture: {error}") from error
        self._size = picture.size
        return picture


def _remove_left() -> None:
    """Remove whole pictures, with what is never recorded, that a daemon left when it was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*-*"):
        number = folder.name.removeprefix(_FOLDER).partition("-")[0]
        if number.isdecimal() and not psutil.pid_exists(int(number)):
            shutil.rmtree(folder, ignore_errors=True)  # another user's is theirs


def sway_outputs(run: Run = run_tool) -> list[Monitor]:
    """Outputs as sway lists them, in its logical coordinates."""
    return [
        Monitor(output["name"], _rect(output["rect"]), float(output.get("scale") or 1.0))
        for output in parsed(run(["swaymsg", "-r", "-t", "get_outputs"]), "swaymsg")
        if output.get("active")
    ]


def hyprland_outputs(run: Run = run_tool) -> list[Monitor]:
    """Outputs as Hyprland lists them; sizes come in pixels, places in logical coordinates."""
    monitors = []
    for output in parsed(run(["hyprctl", "-j", "monitors"]), "hyprctl"):
        scale = float(output.get("scale") or 1.0)
        sides = [round(output["width"] / scale), round(output["height"] / scale)]
        if int(output.get("transform", 0)) % 2:  # turned by a quarter
            sides.reverse()
        monitors.append(Monitor(output["name"], Rect(output["x"], output["y"], *sides), scale))
    return monitors


def parsed(answer: bytes, tool: str) -> Any:
    """JSON from a tool. Raises `DisplayLost`."""
    try:
        return json.loads(answer)
    except ValueError as error:
        raise DisplayLost(f"{tool} gave no valid answer: {error}") from error


def _rect(rect: dict[str, int]) -> Rect:
    return Rect(rect["x"], rect["y"], rect["width"], rect["height"])


def _picture(content: bytes) -> Image.Image:
    try:
        picture = Image.open(io.BytesIO(content))
        picture.load()
    except (UnidentifiedImageError, OSError) as error:
        raise DisplayLost(f"the tool gave no picture: {error}") from error
    return picture
