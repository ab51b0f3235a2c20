"""What the worker does beside its work in a thread of its own: packs, hourly retention, a daily backup."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable

from ingest.core.home import Home
from ingest.core.step_loop import come_last
from ingest.core.worker_stats import WorkerStats
from store.backup import backup
from store.core import copies
from store.core.errors import StoreBusy
from store.core.translation import N_
from store.deletion import deletion, receipts, reserve, retention
from store.frames import packing

log = logging.getLogger(__name__)

_FIRST_AFTER_S = 60.0
_RETENTION_EVERY_S = 3600.0
_BACKUP_REST_S = 600.0  # after one, and after a try: many deletions need no backup each
_IDLE_S = 60.0
_BETWEEN_PACKS_S = 1.0
_BETWEEN_WRITES_S = 0.05  # others want to write, too
_UPLOAD_LASTS_S = 24 * 3600.0
"""An import of a file takes an hour at most."""


class Housekeeping(threading.Thread):
    """Runs until `stop` is set; nobody waits for it, and every step may be cut off."""

    def __init__(
        self, home: Home, stats: WorkerStats, clock: Callable[[], int], stop: threading.Event
    ) -> None:
        super().__init__(name="housekeeping", daemon=True)
        self._home = home
        self._stats = stats
        self._clock = clock
        self._stop_event = stop
        self._retention_due_s = 0.0
        self._backup_due_s = 0.0

    def run(self) -> None:
        come_last()
        wait_s = _FIRST_AFTER_S
        try:
            while not self._stop_event.wait(wait_s):
                wait_s = self.step()
        finally:
            self._home.database.close_thread()

    def step(self) -> float:
        """Do what is due; returns how many seconds nothing will be."""
        try:
            return self._step()
        except StoreBusy as error:
            log.info("left for later: %s", error)
            return _IDLE_S
        except Exception as error:  # the outermost edge: one failure must not end the thread
            log.exception("pictures or backups could not be looked after")
            self._stats.error(N_(f"packing, retention or the backup failed: {error}"))
            return _IDLE_S

    def _step(self) -> float:
        self._tidy()
        if time.monotonic() >= self._retention_due_s:
            self._retain()
        copies.sweep(self._home.database)
        if time.monotonic() >= self._backup_due_s:
            self._back_up()
        if packing.pack_next(self._home.database, self._home.media, self._clock()):
            packing.empty_trash(self._home.database, self._home.media)
            return _BETWEEN_PACKS_S
        return _IDLE_S

    def _tidy(self) -> None:
        """What deletions had to leave, what nobody finished writing, and a log that readers kept long."""
        home, stop = self._home, self._stop_event
        deletion.resume(home.database, home.media)
        receipts.settle(home.database, home.media, lambda: stop.wait(_BETWEEN_WRITES_S))
        reserve.keep(home.data_dir)  # anew, where a deletion took it
        home.spool.sweep_tmp(_UPLOAD_LASTS_S)
        home.database.fold_long_log()

    def _back_up(self) -> None:
        """A backup that fails is tried again in ten minutes. A sample week needs none. Where none is made, or
        there is no room for it, those go that still hold what retention took: else it would free nothing.
        """
        home, now_ms = self._home, self._clock()
        keep = home.settings.backup.keep
        is_wanted = keep and not home.data_dir.sample_week.exists()
        if is_wanted and not backup.is_due(home.data_dir, now_ms):
            return None
        self._backup_due_s = time.monotonic() + _BACKUP_REST_S
        if not is_wanted:
            return None if keep else backup.rotate(home.database)
        try:
            path, made = backup.make(home.database, now_ms)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                backup.rotate(home.database)
            raise
        log.info("backup %s: %d pictures and files, %d missing", path.name, made.pictures, made.missing)
        return backup.rotate(home.database, keep, path)

    def _retain(self) -> None:
        """A run that fails is tried again in an hour, one that has to wait in a minute."""
        home, started_s = self._home, time.monotonic()
        policy = retention.chosen(home.database, home.settings.retention)
        self._retention_due_s = started_s + _RETENTION_EVERY_S
        if retention.is_off(policy):
            return
        try:
            done = retention.run(home.database, home.media, policy, self._clock(), self._stop_event.is_set)
        except StoreBusy:
            self._retention_due_s = started_s
            raise
        if not done.is_empty:
            log.info("retention took %s", done)
