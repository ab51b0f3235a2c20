"""The ingest worker: one process per home folder, two steps side by side.

This thread takes entries from the spool and stores them (`ingest.worker.storing`); reader threads read
their text (`ingest.reading.reader`), one more makes memory of it
(`ingest.observations.observation_loop`), one gives it meaning (`ingest.reading.embedding`), and one looks
after stored pictures (`ingest.worker.housekeeping`). An entry leaves the spool only after its transaction
committed, and a reading is one transaction, so any of this may be killed at any instruction.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator

import psutil

from ingest.core.cluster import Cluster
from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.observations.daily_summaries import DailySummaryWriter
from ingest.observations.observation_loop import ObservationLoop
from ingest.reading.backlog import Backlog
from ingest.reading.cluster_reading import ClusterReading
from ingest.reading.embedding import EmbeddingLoop, OpenEmbedder
from ingest.reading.reader import OpenEngine, ReaderLoop
from ingest.worker.housekeeping import Housekeeping
from ingest.worker.storing import SpoolConsumer
from store.core.times import now_ms

log = logging.getLogger(__name__)

RESTART_EXIT_CODE = 75
"""EX_TEMPFAIL: start me again (too much memory, or a read that does not end)."""

MEMORY_LIMIT_BYTES = 580_000_000
MEMORY_OF_EMBEDDER_BYTES = 200_000_000
MEMORY_OF_ANOTHER_READER_BYTES = 300_000_000
MEMORY_OF_CLUSTER_BYTES = 300_000_000  # the library, and pictures on their way
MEMORY_OF_PACKING_BYTES = 200_000_000  # of a 4K screen; a 1080p one takes a quarter
LONGEST_READ_S = 180.0
_POLL_S = 0.2
_STATE_EVERY_S = 2.0
_CHECK_EVERY_S = 10.0
_AT_ONCE = 10
_STOP_WITHIN_S = 1.0


class Worker:
    """Stores and reads everything in a home's spool, until told to stop or (`once`) until done.

    What was read becomes memory where it `remembers`. The caller holds `home.only_worker`. `tick` is called
    several times a second in `run`'s thread.
    """

    def __init__(
        self,
        home: Home,
        open_engine: OpenEngine,
        *,
        open_embedder: OpenEmbedder | None = None,
        remembers: bool = False,
        cluster: Cluster | None = None,
        clock: Callable[[], int] = now_ms,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.home = home
        self.stats = WorkerStats(clock)
        self._backlog = Backlog(home.database, clock)
        self._consumer = SpoolConsumer(home, self._backlog, self.stats, clock)
        self._tick = tick
        self._stop = threading.Event()
        self._readers = [
            ReaderLoop(home, self._backlog, self.stats, open_engine, clock, self._stop, number)
            for number in range(home.settings.ocr.workers)
        ]
        self._elsewhere = []
        if cluster is not None:
            local = self._readers[0]
            self._elsewhere.append(
                ClusterReading(home, self._backlog, self.stats, cluster, local, clock, self._stop)
            )
        self._embedding = None
        if open_embedder is not None:
            self._embedding = EmbeddingLoop(home.database, self.stats, open_embedder, self._stop)
        self._memory = None
        if remembers:
            days = DailySummaryWriter(home.database, clock)
            self._memory = ObservationLoop(home.database, clock, self._stop, days, self.stats)
        self._housekeeping = Housekeeping(home, self.stats, clock, self._stop)
        self.was_stopped = False  # by `stop`, and not by the end of the work
        self._state_due_s = 0.0
        self._state_version = -1
        self._check_due_s = 0.0

    def stop(self) -> None:
        """Finish the entry at hand, then return from `run`."""
        self.was_stopped = True
        self._stop.set()

    def run(self, *, once: bool = False, feed: Iterator[bool] | None = None) -> int:
        """Work; returns an exit code. With `once`, ends when the spool is empty and all is read.

        `feed` puts a new entry into the spool at each step, and yields False when there is no
        room: an import hands itself in here, so that a bounded spool drains while it fills.
        """
        self._consumer.recover()
        for thread in self._threads:
            thread.start()
        try:
            return self._loop(once, feed)
        finally:
            self._end()

    def _loop(self, once: bool, feed: Iterator[bool] | None) -> int:
        while not self._stop.is_set():
            fed = feed is not None and _fed(feed)
            stored = self._consumer.store_some(_AT_ONCE)
            self._tick()
            if time.monotonic() >= self._state_due_s or self._state_version != self.stats.version:
                self._write_state("running")
            if self._must_restart():
                return RESTART_EXIT_CODE
            if stored or fed:
                continue
            if once and (self._is_done() or self._consumer.is_stuck):
                return 0
            self._stop.wait(max(_POLL_S, self._consumer.wait_s))
        return 0

    def _is_done(self) -> bool:
        if self.home.spool.waiting() or not all(reader.is_ready.is_set() for reader in self._readers):
            return False
        # In this order: what is read becomes memory, and what is memory is embedded.
        return self._backlog.is_idle() and all(later.is_idle for later in self._later_steps)

    @property
    def _later_steps(self) -> list[ObservationLoop | EmbeddingLoop]:
        return [later for later in (self._memory, self._embedding) if later is not None]

    @property
    def _threads(self) -> list[threading.Thread]:
        return [*self._readers, *self._elsewhere, *self._later_steps, self._housekeeping]

    def _end(self) -> None:
        """Readers get a second to finish; a read that takes longer is abandoned, its frame waits."""
        self._stop.set()
        deadline = time.monotonic() + _STOP_WITHIN_S
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._write_state("stopped")

    def shortfall(self) -> str:
        """After a run with `once`: one line saying what could not be done, "" when all was."""
        stats, off = self.stats, self.home.settings.ocr.engine == "off"
        problem, engine_problem = stats.known.problem, stats.known.engine_problem
        parts = [
            problem and f"entries that still wait: {len(self.home.spool.waiting())} ({problem})",
            stats["failed"] and f"entries set aside in spool/failed: {stats['failed']}",
            stats["reading_failed"] and f"frames that could not be read: {stats['reading_failed']}",
            stats["reading_postponed"] and "some frames could not be read yet and are tried again later",
            not off and stats["parked"] and f"frames without text: {stats['parked']} ({engine_problem})",
        ]
        return "; ".join(part for part in parts if part)

    @property
    def is_reading(self) -> bool:
        """Whether a thread still works: then only `os._exit` ends the process at once."""
        return any(thread.is_alive() for thread in self._threads)

    def _must_restart(self) -> bool:
        now = time.monotonic()
        if now < self._check_due_s:
            return False
        self._check_due_s = now + _CHECK_EVERY_S
        limit = MEMORY_LIMIT_BYTES + MEMORY_OF_PACKING_BYTES
        limit += MEMORY_OF_ANOTHER_READER_BYTES * (len(self._readers) - 1)
        limit += MEMORY_OF_EMBEDDER_BYTES if self._embedding else 0
        limit += MEMORY_OF_CLUSTER_BYTES if self._elsewhere else 0
        used = used_bytes()
        if used > limit:
            log.error("%d MB of memory are in use, starting afresh", used // 1_000_000)
            return True
        for reader in self._readers:
            since = reader.reading_since
            if since is not None and now - since > LONGEST_READ_S:
                log.error("a frame has been read for %d s, starting afresh", now - since)
                return True
        return False

    def _write_state(self, state: str) -> None:
        self._state_due_s = time.monotonic() + _STATE_EVERY_S
        self._state_version = self.stats.version
        try:
            self.stats.state(state).write(self.home.data_dir.spool)
        except OSError as error:
            log.warning("the state file cannot be written: %s", error)


def _fed(feed: Iterator[bool]) -> bool:
    """Let the import put some entries; False when it is done or there was no room for one."""
    steps = 0
    while steps < _AT_ONCE and next(feed, False):
        steps += 1
    return steps > 0


def used_bytes() -> int:
    """Memory of this process, with its share of what it has in common with others and what is swapped out."""
    memory = psutil.Process().memory_full_info()
    return int(getattr(memory, "pss", memory.uss) + getattr(memory, "swap", 0))
