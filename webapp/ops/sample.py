"""The sample week, made and shown in a home folder of its own beside the person's, at one click.

Two programs of Recollect do it, one after the other: `demo` fills the folder, then `up` serves it on a free
port, in the browser. They end with this process. Nothing of it ever comes into the person's own home.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from store.core.paths import DataDir
from store.timeline import sample_week
from webapp.ops.control import web_address
from webapp.ops.supervisor import die_with_parent
from webapp.security.access import launch_link


class SampleWeek:
    """The sample week beside a home, as far as this process makes and serves it."""

    def __init__(self, home: Path) -> None:
        self.data_dir = DataDir(home.with_name(f"{home.name}-demo"))
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ended = False
        self.problem = ""

    def start(self, zone: str) -> None:
        """Make it where it is not there yet, and serve it. A second call while it runs does nothing."""
        with self._lock:
            if self._worker and self._worker.is_alive():
                return
            self.problem, self._is_ended = "", False
            # Kept for as long as the programs run: on Linux they get their signal when this thread ends.
            self._worker = threading.Thread(target=self._run, args=(zone,), name="sample week", daemon=True)
            self._worker.start()

    def _run(self, zone: str) -> None:
        week = sample_week.read(self.data_dir)
        is_made = week is not None and week.is_complete
        failed = not is_made and self._call("demo", "--tz", zone)
        failed = failed or self._call("up", "--port", "0", "--open")
        if failed and not self._is_ended:
            self.problem = "The sample week does not work here; `recollect demo` says why."

    def _call(self, *words: str) -> int:
        """Run a command of Recollect on the folder to its end; its exit code."""
        with self._lock:
            if self._is_ended:
                return 1
            self._process = subprocess.Popen(
                (sys.executable, "-m", "webapp", words[0], "--home", str(self.data_dir.home), *words[1:]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=os.name != "nt",
                preexec_fn=die_with_parent,
            )
        return self._process.wait()

    @property
    def state(self) -> str:
        """``none``, ``making`` or ``ready``."""
        if self._worker is None or not self._worker.is_alive():
            return "none"
        return "ready" if web_address(self.data_dir) else "making"

    def link(self) -> str:
        """Where it is served, as a link that signs a browser in for the next minutes; "" while it is not."""
        address = web_address(self.data_dir)
        return launch_link(self.data_dir, address.url) if address else ""

    def stop(self) -> None:
        """End what runs, and wait for it."""
        with self._lock:
            self._is_ended = True
            if self._process and self._process.poll() is None:
                self._process.terminate()
        if self._worker:
            self._worker.join()

    def remove(self) -> None:
        """End it and delete its folder, which holds nothing else."""
        self.stop()
        if sample_week.is_sample(self.data_dir):
            shutil.rmtree(self.data_dir.home)
