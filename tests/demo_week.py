"""A home folder with a sample week, made by the real program: drawn, queued, read.

`demo_home` (in `tests/conftest.py`) is the first hours of a Monday, made once a run: read it,
and take `demo_copy` where something is changed. `make` makes any other.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import sample_truth
from bench.sample_truth import Truth
from store.core.paths import DataDir, file_lock

ROOT = Path(__file__).resolve().parents[1]
ZONE = "Europe/Berlin"
LAST_DAY = "2026-11-20"  # a Friday


@dataclass(frozen=True, slots=True)
class DemoHome:
    """`data_dir` holds what `week` says is true; nothing is asked or answered in it yet."""

    data_dir: DataDir
    week: Truth

    def copied(self, folder: Path) -> DemoHome:
        """The same in a folder that is not there yet, to be changed."""
        return DemoHome(DataDir(shutil.copytree(self.data_dir.home, folder)), self.week)


def made_once(folder: Path, make: Callable[[Path], object]) -> Path:
    """`folder`, which the first process that asks lets `make` fill; the others wait for it."""
    while True:
        with file_lock(folder.with_suffix(".lock")) as is_ours:
            if is_ours and not folder.exists():
                part = folder.with_suffix(".part")
                shutil.rmtree(part, ignore_errors=True)  # of one that failed
                make(part)
                part.rename(folder)
            if is_ours:
                return folder
        time.sleep(0.1)


def make(folder: Path, *arguments: str) -> DemoHome:
    """A sample week in `folder`, by `python -m ingest demo` with these arguments."""
    done = run(folder, "--tz", ZONE, "--until", LAST_DAY, *arguments)
    assert done.returncode == 0, done.stderr
    return read(folder)


def read(folder: Path) -> DemoHome:
    data_dir = DataDir(folder)
    week = sample_truth.read(data_dir)
    assert week is not None
    return DemoHome(data_dir, week)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ingest", "--home", str(folder), "demo", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
