"""A thread that does one step after the other: reading, making vectors, making memory."""

from __future__ import annotations

import logging
import os
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

from ingest.core.worker_stats import WorkerStats
from store.core.database import Database
from store.core.errors import StoreBusy

log = logging.getLogger(__name__)

_NICE = 10
_HELD_BACK_S = 0.2


def waited_s() -> float:
    """How long this thread was kept from a processor by others, where the system tells; 0 where not."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except OSError:
        return 0.0


def come_last() -> None:
    """Let what the person does, and what somebody may wait for, have the processor before this thread; where
    threads have no priority of their own, before this process.
    """
    if hasattr(os, "setpriority"):
        nice = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, max(nice, _NICE))


class StepLoop(threading.Thread, ABC):
    """Steps until `stop` is set, and rests while there is nothing to do, or storing is behind.

    A daemon: what is under way at shutdown is abandoned, and still to be done at the next start.
    """

    work: ClassVar[str]
    """What the log calls it."""
    idle_s: ClassVar[float]
    comes_last: ClassVar[bool] = True
    """Whether nobody waits for what it does."""

    def __init__(self, name: str, database: Database, stats: WorkerStats, stop: threading.Event) -> None:
        super().__init__(name=name, daemon=True)
        self._database = database
        self._stats = stats
        self._stopping = stop

    def run(self) -> None:
        if self.comes_last:
            come_last()
        while not self._stopping.is_set():
            if self._stats.is_storing_behind:  # what is stored can be read later
                self._stopping.wait(_HELD_BACK_S)
                continue
            try:
                has_worked = self.step()
            except StoreBusy as error:
                log.info("%s waits: %s", self.work, error)
                self.on_busy(f"the database is busy: {error}")
                has_worked = False
            except Exception as error:
                # The outermost edge: whatever it is, the next step may be fine.
                log.exception("%s failed", self.work)
                self.on_surprise(f"{self.work} failed: {type(error).__name__}")
                has_worked = False
            if not has_worked:
                self.rest()
        self.close()
        self._database.close_thread()

    @abstractmethod
    def step(self) -> bool:
        """Do something; False when there is nothing to do, or nothing can be done."""

    def on_busy(self, sentence: str) -> None:
        """The database had no time for a step, which is logged already."""

    def on_surprise(self, sentence: str) -> None:
        """A step ended in an error that nobody expected, which is logged already: status tells of it."""
        self._stats.error(sentence)

    def rest(self) -> None:
        self._stopping.wait(self.idle_s)

    def close(self) -> None:
        """Let go of what the steps use."""
