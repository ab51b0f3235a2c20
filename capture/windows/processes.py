"""What the system tells of a process: its program, its arguments, and when it was started.

A process that may not be asked, or is gone, tells nothing; that is no failure, because this only ever
names a window or adds a reason to leave it out.
"""

from __future__ import annotations

from pathlib import Path

import psutil


def program(pid: int) -> str:
    """Path of its program, or the short name where the path is for its owner only; "" where nobody tells."""
    try:
        process = psutil.Process(pid)
        try:
            return str(process.exe() or process.name())
        except psutil.AccessDenied:
            return str(process.name())
    except psutil.Error:
        return ""


def command_line(pid: int) -> tuple[str, ...]:
    """The program and its arguments; empty when nobody tells."""
    try:
        return tuple(psutil.Process(pid).cmdline())
    except psutil.Error:
        return ()


def started(pid: int) -> str:
    """When a process was started, as the system counts, so that a number used again is told apart.

    "" where nobody tells. On Linux field 22 of /proc/PID/stat, in clock ticks since boot, and not psutil's
    time of day: that moves when the clock is set, and windows are known by this from start to start.
    https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html
    """
    try:
        status = (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        return status.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
