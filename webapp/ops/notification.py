"""A word on the desktop for what needs a person; nothing where there is no desktop, or no program for it."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import threading

from store.core.paths import DataDir
from store.core.times import now_ms
from store.core.translation import gettext as _
from store.spool.process_state import CaptureState, is_alive

_LONGEST_S = 5.0
_FULL = {
    "disk_full": "too little of the disk is free. Free some space",
    "spool_full": "too many captures wait to be stored. `recollect doctor` says why",
}
_RETRY = re.compile(r" Trying again after \d+ s\.$")
_APPLE = ("on run argv", 'display notification (item 1 of argv) with title "Recollect"', "end run")


def notify(text: str) -> bool:
    """Show a sentence; whether somebody could see it. A desktop that does not answer is left alone."""
    command = _command(text)
    if command is None:
        return False
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LONGEST_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def notify_soon(text: str) -> None:
    """Nobody waits for a desktop."""
    threading.Thread(target=notify, args=(text,), name="notify", daemon=True).start()


def ask_on_desktop() -> None:
    """Say that an answer waits for a person."""
    notify_soon(_("An answer waits for your approval. Open Recollect to decide."))


def _command(text: str) -> list[str] | None:
    if sys.platform == "darwin":
        return ["osascript", *(word for line in _APPLE for word in ("-e", line)), text]
    has_desktop = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not has_desktop or not shutil.which("notify-send"):
        return None
    return ["notify-send", "--app-name=Recollect", "Recollect", html.escape(text)]  # its body may be markup


def trouble(data_dir: DataDir) -> str:
    """Why nothing can be recorded until a person does something, in a sentence; "" while all is well.

    The same trouble is the same sentence: no figure is in it that changes.
    """
    state = CaptureState.read(data_dir.spool)
    if state is None or not is_alive(state, now_ms()):
        return ""
    if state.reason in _FULL:
        return f"Nothing is recorded: {_FULL[state.reason]}."
    cause = _RETRY.sub("", state.detail) or state.reason
    return f"Nothing is recorded: {cause}" if state.state == "failing" else ""
