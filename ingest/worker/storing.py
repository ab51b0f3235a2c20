"""From the spool into the store, one entry after the other, oldest first.

What cannot be stored just now (disk full, database busy) goes back to the queue, and the entries
after it wait with it. What can never be stored goes to ``spool/failed`` with a reason. Anything
unexpected is tried `MAX_TRIES` times, deaths of the whole worker included.
"""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ingest.core.home import Home
from ingest.core.records import capture_from_entry_name, checked_capture
from ingest.core.validation import InvalidImage
from ingest.core.worker_stats import WorkerStats
from ingest.reading.backlog import Backlog
from ingest.reading.incognito_badge import BadgeReader
from ingest.worker.pipeline import TryLater, store_entry
from store.core.errors import SpoolEntryInvalid, StoreBusy
from store.spool.queue import Capture, Entry
from store.timeline import ledger

log = logging.getLogger(__name__)

MAX_TRIES = 5
_SHORTEST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EROFS}
_DEATHS = "deaths"


class SpoolConsumer:
    def __init__(
        self,
        home: Home,
        backlog: Backlog,
        account: WorkerStats,
        clock: Callable[[], int],
        toolbars: BadgeReader | None = None,
    ) -> None:
        self._home = home
        self._toolbars = toolbars
        self._backlog = backlog
        self._account = account
        self._clock = clock
        self._tries: Counter[str] = Counter()
        self.wait_s = 0.0  # how long to wait before the next try; 0 while all is well

    @property
    def is_stuck(self) -> bool:
        """Whether several tries in a row, over seconds, could store nothing."""
        return self.wait_s >= _LONGEST_WAIT_S

    def recover(self) -> None:
        """At start: give back what a killed worker had claimed.

        An entry at which the worker died too often is set aside: a picture that crashes a decoder
        must not stop every other one.
        """
        for folder in sorted((self._home.spool.folder / "taken").iterdir()):
            if folder.is_symlink() or not folder.is_dir():
                continue
            if _count_death(folder) >= MAX_TRIES:
                (folder / _DEATHS).unlink()  # when it is retried, the count starts afresh
                reason = f"the worker died {MAX_TRIES} times while it stored this"
                self._set_aside(folder.name, capture_from_entry_name(folder.name), "gave_up", reason)
        recovered = self._home.spool.recover()
        if recovered:
            log.info("%d entries that were being stored are taken up again", recovered)

    def store_some(self, limit: int) -> bool:
        """Take in up to `limit` entries; False when there was none or none could be stored."""
        names = self._home.spool.waiting()[:limit]
        for name in names:
            if not self._store(name):
                return False
            self.wait_s = 0.0
            self._account.say_problem("")
        return bool(names)

    def _store(self, name: str) -> bool:
        """Take in one entry. False: not now, and neither the entries after it."""
        entry = None
        try:
            entry = self._home.spool.take(name)
            if entry is not None:
                self._take_in(entry)
        except InvalidImage as error:
            return self._set_aside(name, _told_by(name, entry), error.code, str(error))
        except SpoolEntryInvalid as error:
            return self._set_aside(name, capture_from_entry_name(name), "bad_record", str(error))
        except (StoreBusy, TryLater) as error:
            return self._later(name, str(error))
        except OSError as error:
            if error.errno in _FULL:
                return self._later(name, f"the disk is full ({error.strerror})")
            return self._stumbled(name, entry, error)
        except Exception as error:
            # The outermost edge: one entry must not stop the others (CAP-1).
            return self._stumbled(name, entry, error)
        self._tries.pop(name, None)
        return True

    def _take_in(self, entry: Entry) -> None:
        result = store_entry(self._home, entry, self._clock(), self._toolbars)
        try:
            self._home.spool.finish(entry.name)
        except FileNotFoundError:
            log.info("entry %s was deleted while it was being stored", entry.name)
        self._account.count(result.outcome)
        if result.outcome == "stored" and result.frame_id is not None:
            self._backlog.offer(result.frame_id, result.captured_ms or 0)

    def _later(self, name: str, problem: str) -> bool:
        self._give_back(name)
        self.wait_s = min(_LONGEST_WAIT_S, max(_SHORTEST_WAIT_S, self.wait_s * 2))
        self._account.say_problem(problem)
        self._account.error(problem)
        log.warning("nothing can be stored now, next try in %.1f s: %s", self.wait_s, problem)
        return False

    def _stumbled(self, name: str, entry: Entry | None, error: Exception) -> bool:
        log.exception("entry %s stumbled", name)
        self._tries[name] += 1
        kind = type(error).__name__
        if self._tries[name] < MAX_TRIES:
            return self._later(name, f"{kind} while storing an entry")
        del self._tries[name]
        reason = f"gave up after {MAX_TRIES} tries: {kind}"
        return self._set_aside(name, _told_by(name, entry), "gave_up", reason)

    def _set_aside(self, name: str, capture: Capture | None, code: str, reason: str) -> bool:
        """To ``spool/failed``: outcome and ledger first, so that a crash in between repeats both."""
        try:
            if capture is not None:
                with self._home.database.write() as connection:
                    ledger.record_skipped(connection, capture, "failed", code, detail=reason)
            self._home.spool.fail(name, reason)
        except FileNotFoundError:
            log.info("entry %s was deleted while it was being stored", name)
            return True
        except (StoreBusy, OSError) as error:
            return self._later(name, str(error))
        log.error("entry %s set aside: %s", name, reason)
        self._account.count("failed")
        self._account.error(f"an entry was set aside: {reason}")
        return True

    def _give_back(self, name: str) -> None:
        try:
            self._home.spool.give_back(name)
        except FileNotFoundError:
            log.warning("entry %s is gone", name)


def _told_by(name: str, entry: Entry | None) -> Capture | None:
    """The capture that an entry is about, as far as it can be believed."""
    if entry is not None and isinstance(entry.record, Capture):
        try:
            return checked_capture(entry.record)
        except InvalidImage:
            pass
    return capture_from_entry_name(name)


def _count_death(folder: Path) -> int:
    path = folder / _DEATHS
    try:
        before = int(path.read_text()) if path.is_file() and not path.is_symlink() else 0
    except ValueError:
        before = 0
    path.write_text(str(before + 1))
    return before + 1
