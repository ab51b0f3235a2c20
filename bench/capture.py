"""Capture: CPU and memory of the daemon on a static 1080p screen with a ticking clock.

A real X server, a window manager, a page of text, and a clock of the size a panel has. Beside the
daemon's figures stands the physical limit: what a bare grab of the same screen costs.
"""

from __future__ import annotations

import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.report import Report, cpu_s, rss_mb
from capture.difference import changed_tiles
from capture.frame_recorder import encode
from capture.screens.protocol import Pixels
from capture.screens.x11 import X11Screens
from capture.windows.x11 import X11Windows
from store.core.paths import DataDir
from store.spool.process_state import CaptureState

WARM_UP_S = 10.0
MEASURED_S = 40.0

_PAGE = "man ls 2>/dev/null | head -60 || seq 1 3000; exec sleep 1000"
_CLOCK = "tput civis; while :; do printf '\\r%s' $(date +%T); sleep 1; done"


def main(report: Report) -> None:
    with desktop() as display:
        grab_ms = _parts(report, display)
        _daemon(report, display, grab_ms)


def _parts(report: Report, display: str) -> float:
    """The single steps of a look. Returns the CPU milliseconds of a bare grab."""
    screens, windows = X11Screens(display), X11Windows(display)
    [monitor] = screens.monitors()
    still = screens.grab(monitor).pixels
    copy = still.copy()
    ticked = still.copy()
    ticked[4:16, 1850:1858, :3] ^= 255
    windows.windows()
    rows: list[tuple[str, Callable[[], object]]] = [
        ("raw grab through mss (the limit)", lambda: screens.grab(monitor)),
        ("list of monitors", screens.monitors),
        ("list of windows, unchanged", windows.windows),
        ("compare, nothing changed", lambda: changed_tiles(still, copy)),
        ("compare tiles, clock ticked", lambda: changed_tiles(still, ticked)),
        ("compare tiles, all changed", lambda: changed_tiles(still, _inverted(still))),
        ("encode a frame (beside the looks)", lambda: encode(still)),
    ]
    costs = []
    for name, work in rows:
        median_ms, cpu_ms = _timed(work)
        costs.append(cpu_ms)
        report.row(name, f"{median_ms:.2f} ms, CPU {cpu_ms:.2f}")
    screens.close()
    windows.close()
    return costs[0]


def _daemon(report: Report, display: str, grab_ms: float) -> None:
    with tempfile.TemporaryDirectory() as home:
        data_dir = DataDir(Path(home)).create()
        process = subprocess.Popen(
            [sys.executable, "-m", "capture", "--home", home],
            env={**os.environ, "DISPLAY": display},
            stderr=subprocess.DEVNULL,
        )
        try:
            time.sleep(WARM_UP_S)
            before, begin, first = cpu_s(process.pid), time.monotonic(), CaptureState.read(data_dir.spool)
            time.sleep(MEASURED_S)
            used_s, took_s = cpu_s(process.pid) - before, time.monotonic() - begin
            state = CaptureState.read(data_dir.spool)
            resident_mb, peak_mb = rss_mb(process.pid), _peak_mb(process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        per_s = _looks_per_s(first, state)
        cost_ms = 1000 * used_s / took_s / per_s
        report.row("looks per second", f"{per_s:.2f}", goal=">= 2")
        report.row(
            "CPU of one core",
            f"{100 * used_s / took_s:.2f} %",
            goal="<= 1 %",
            limit=f"{grab_ms * per_s / 10:.2f} %",
        )
        report.row("CPU per look", f"{cost_ms:.2f} ms", limit=f"{grab_ms:.2f} ms")
        report.row("frames kept meanwhile", str(state.kept if state else 0))
        report.row("memory", f"{resident_mb:.0f} MB", goal="<= 150 MB")
        report.row("memory at most", f"{peak_mb:.0f} MB", goal="<= 150 MB")


@contextmanager
def desktop() -> Iterator[str]:
    """A 1080p X display with a page of text and a ticking clock."""
    with ExitStack() as stack:

        def run(*command: str, **options: object) -> None:
            process = subprocess.Popen(
                command,
                env={**os.environ, "DISPLAY": display},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **options,  # type: ignore[call-overload]
            )
            stack.callback(process.wait)
            stack.callback(process.kill)

        display = ""
        reading, writing = os.pipe()
        run(
            "Xvfb",
            "-displayfd",
            str(writing),
            "-screen",
            "0",
            "1920x1080x24",
            "-noreset",
            pass_fds=(writing,),
        )
        os.close(writing)
        with os.fdopen(reading) as pipe:
            if not select.select([pipe], [], [], 30)[0]:
                raise RuntimeError("Xvfb did not start")
            display = f":{pipe.readline().strip()}"
        run("openbox", "--sm-disable")
        time.sleep(2)
        run("xterm", "-geometry", "150x60+10+40", "-e", "sh", "-c", _PAGE)
        run("xterm", "-geometry", "10x1-0+0", "-e", "sh", "-c", _CLOCK)
        time.sleep(3)
        yield display


def _timed(work: Callable[[], object], times: int = 40) -> tuple[float, float]:
    """(median wall, mean CPU) in milliseconds."""
    work()
    took = []
    cpu = time.process_time()
    for _ in range(times):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return statistics.median(took) * 1000, (time.process_time() - cpu) / times * 1000


def _inverted(pixels: Pixels) -> Pixels:
    return pixels ^ 255


def _looks_per_s(first: CaptureState | None, last: CaptureState | None) -> float:
    """By the daemon's own account, which it writes every two seconds."""
    if first is None or last is None or last.state != "recording":
        raise RuntimeError(f"capture did not record: {last}")
    return (last.looks - first.looks) / (last.written_ms - first.written_ms) * 1000


def _peak_mb(pid: int) -> float:
    [line] = [x for x in Path(f"/proc/{pid}/status").read_text().splitlines() if x.startswith("VmHWM:")]
    return int(line.split()[1]) / 1024
