"""From the spool into the store, one entry after the other, oldest first.

What cannot be stored just now (disk full or read-only, database busy, damaged or gone) goes back to the
queue, and the entries after it wait with it. What can never be stored goes to ``spool/failed`` with a
reason. Anything unexpected is tried `MAX_TRIES` times, deaths of the whole worker included.

An entry becomes a frame in two steps: everything is computed first; then one transaction writes the row,
its index entry, its activity and its outcome. A capture whose outcome is known changes nothing, so any
step may be cut off and done again:

- killed before `Media.keep`: nothing has happened;
- killed after it: the picture lies where the next try puts it again, byte for byte, and a try
  that ends differently (a rule excludes it now) removes it;
- killed after the commit: the outcome is known, the entry is only finished.

The text is read later (`ingest.reading.reader`): a frame is browsable before that.
"""

from __future__ import annotations

import errno
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import apsw
from PIL import Image

from ingest.core.home import Home
from ingest.core.validation import (
    capture_from_entry_name,
    checked_capture,
    decode,
    read_checked,
)
from ingest.core.worker_stats import WorkerStats
from ingest.observations import places
from ingest.reading.backlog import Backlog
from ingest.worker.duplicates import Likeness, find_duplicate, may_be_duplicate
from store.core import tombstones
from store.core.errors import DatabaseUnusable, SpoolEntryInvalid, StoreBusy
from store.core.paths import replace_file
from store.core.translation import N_
from store.frames import frames
from store.frames import tags as frame_tags
from store.frames.media import possible_paths
from store.ocr import readings
from store.privacy.rules import WindowFacts, load_rules
from store.spool import page_text
from store.spool.page_text import PageText
from store.spool.queue import Capture, Entry, LookReport, read_file
from store.timeline import ledger, sample_week, segments

log = logging.getLogger(__name__)

MAX_TRIES = 5
_SHORTEST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
_NO_SPACE = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the disk can only be read",
}
_DEATHS = "deaths"


class TryLater(Exception):
    """The entry is fine but cannot be judged at the moment; it stays in the queue."""


class SpoolConsumer:
    def __init__(self, home: Home, backlog: Backlog, stats: WorkerStats, clock: Callable[[], int]) -> None:
        self._home = home
        self._backlog = backlog
        self._stats = stats
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
        names = self._home.spool.waiting()
        self._stats.is_storing_behind = len(names) > limit
        for name in names[:limit]:
            if not self._take_in(name):
                self._stats.is_storing_behind = False  # it waits, and keeps nobody
                return False
            self.wait_s = 0.0
            self._stats.tell(problem="")
        return bool(names)

    def _take_in(self, name: str) -> bool:
        """Take in one entry. False: not now, and neither the entries after it."""
        entry = None
        try:
            entry = self._home.spool.take(name)
            if entry is not None:
                self._store_and_finish(entry)
        except SpoolEntryInvalid as error:
            return self._set_aside(name, _capture_of(name, entry), error.code, str(error))
        except (StoreBusy, DatabaseUnusable, TryLater) as error:
            return self._postpone(name, str(error))
        except OSError as error:
            if error.errno in _NO_SPACE:
                return self._postpone(name, f"{_NO_SPACE[error.errno]} ({error.strerror})")
            return self._try_again_or_set_aside(name, entry, error)
        except Exception as error:
            # The outermost edge: one entry must not stop the others.
            return self._try_again_or_set_aside(name, entry, error)
        self._tries.pop(name, None)
        return True

    def _store_and_finish(self, entry: Entry) -> None:
        result = store_entry(self._home, entry, self._clock())
        try:
            self._home.spool.finish(entry.name)
        except FileNotFoundError:
            log.info("entry %s was deleted while it was being stored", entry.name)
        self._stats.count(result.outcome)
        if result.outcome == "stored":
            self._backlog.wake()

    def _postpone(self, name: str, problem: str) -> bool:
        try:
            self._home.spool.give_back(name)
        except FileNotFoundError:
            log.warning("entry %s is gone", name)
        self.wait_s = min(_LONGEST_WAIT_S, max(_SHORTEST_WAIT_S, self.wait_s * 2))
        self._stats.tell(problem=problem)
        self._stats.error(problem)
        log.warning("nothing can be stored now, next try in %.1f s: %s", self.wait_s, problem)
        return False

    def _try_again_or_set_aside(self, name: str, entry: Entry | None, error: Exception) -> bool:
        log.exception("entry %s stumbled", name)
        self._tries[name] += 1
        kind = type(error).__name__
        if self._tries[name] < MAX_TRIES:
            return self._postpone(name, f"{kind} while storing an entry")
        del self._tries[name]
        reason = f"gave up after {MAX_TRIES} tries: {kind}"
        return self._set_aside(name, _capture_of(name, entry), "gave_up", reason)

    def _set_aside(self, name: str, capture: Capture | None, code: str, reason: str) -> bool:
        """To ``spool/failed``: outcome and ledger first, so that a crash in between repeats both."""
        try:
            if capture is not None:
                with self._home.database.write() as connection:
                    ledger.record_skipped(connection, capture, "failed", code, detail=reason)
                _remove_unused_picture(self._home, capture)
            self._home.spool.fail(name, reason)
        except FileNotFoundError:
            log.info("entry %s was deleted while it was being stored", name)
            return True
        except (StoreBusy, DatabaseUnusable, OSError) as error:
            return self._postpone(name, str(error))
        log.error("entry %s set aside: %s", name, reason)
        self._stats.count("failed")
        self._stats.error(N_(f"an entry was set aside: {reason}"))
        return True


def _capture_of(name: str, entry: Entry | None) -> Capture | None:
    """The capture that an entry is about, as far as it can be believed."""
    if entry is not None and isinstance(entry.record, Capture):
        try:
            return checked_capture(entry.record)
        except SpoolEntryInvalid:
            pass
    return capture_from_entry_name(name)


def _count_death(folder: Path) -> int:
    """How often a worker died at an entry, with this time; 0 where that cannot be kept."""
    path, before = folder / _DEATHS, 0
    try:
        if path.is_file() and not path.is_symlink():
            with suppress(ValueError):
                before = int(path.read_text())
        replace_file(path, str(before + 1).encode(), durable=False)
    except OSError as error:
        log.warning("that the worker died cannot be noted: %s", error.strerror)
        return 0
    return before + 1


@dataclass(frozen=True, slots=True)
class Result:
    """What became of an entry.

    `outcome` is stored, deduplicated or excluded; ``known`` when it had been taken in before;
    ``report`` for a batch of decisions.
    """

    outcome: str
    frame_id: int | None = None


def store_entry(home: Home, entry: Entry, now_ms: int) -> Result:
    """Store one claimed entry. Raises `SpoolEntryInvalid`, `TryLater`, and what the store raises."""
    if isinstance(entry.record, LookReport):
        with home.database.write() as connection:
            ledger.add_report(connection, entry.record)
        return Result("report")
    capture = checked_capture(entry.record)
    # A sample week stays one, whoever writes into its spool: no answer mixes it with memories.
    if (capture.source == sample_week.SOURCE) != sample_week.is_sample(home.data_dir):
        raise SpoolEntryInvalid("sample_week", "a sample week and real captures never share a home folder")
    earlier = _earlier_outcome(home, capture)
    if earlier is not None:
        return earlier
    if entry.image is None or entry.folder.is_symlink():
        raise SpoolEntryInvalid("not_a_file", "the entry is a link or has no picture")
    content = read_checked(entry.image, capture.image_type, capture.sha256)
    reason = _excluded_because(home, capture)
    if reason:
        return _exclude(home, capture, reason)
    image = None
    if may_be_duplicate(capture):
        image = decode(content, capture.image_type)
        duplicate = find_duplicate(home.database, home.media, capture, image)
        if duplicate is not None:
            return _fold_into(home, capture, *duplicate)
    return _store(home, capture, content, image, _pages_told(entry), now_ms)


def _pages_told(entry: Entry) -> list[PageText]:
    """What programs told of the picture; where that is unusable the picture is read whole."""
    if entry.text is None:
        return []
    try:
        return page_text.decode(read_file(entry.text, page_text.MAX_BYTES))
    except (SpoolEntryInvalid, ValueError) as error:
        log.warning("what was told of a frame cannot be used: %s", error)
        return []


def _excluded_because(home: Home, capture: Capture) -> str:
    """The rule's machine word when the person's rules leave this capture out, else "".

    A capture daemon decides on whole screens, with windows masked, before it writes (`batch_id`), and knows
    more of them: asked again is only whether a rule fits, as one may have been made meanwhile. An import or
    an upload that names no window is an explicit act: not knowing its window is no reason to refuse.
    """
    rules = load_rules(home.data_dir, home.settings.privacy)
    window = WindowFacts(capture.app_name, capture.window_name, capture.browser_url)
    decision = rules.decide(window)
    if decision.reason == "rules_unreadable":
        raise TryLater(decision.detail)
    if capture.batch_id is not None:
        return rules.kind_on([window, *(WindowFacts(*each) for each in capture.visible or ())])
    return "" if decision.reason in ("unknown_window", "unknown_address") else decision.reason


def _store(
    home: Home, capture: Capture, content: bytes, image: Image.Image | None, pages: list[PageText],
    now_ms: int,
) -> Result:  # fmt: skip
    """`image` is what `content` shows, where it has been decoded."""
    try:
        still = home.media.keep(content, capture.image_type, capture.captured_ms, capture.capture_id, image)
    except (ValueError, SyntaxError) as error:
        raise SpoolEntryInvalid("bad_picture", f"the {capture.image_type} is damaged or cut short") from error
    with home.database.write() as connection:
        earlier = _earlier_outcome(home, capture)
        if earlier is None and _was_deleted(connection, capture):
            earlier = Result("known")
        if earlier is None:
            ledger.clear_failure(connection, capture)
            frame_id = frames.insert(connection, capture, still, now_ms)
            if pages:
                readings.add_page_texts(connection, frame_id, pages)
            segments.heartbeat(connection, frames.get(home.database, frame_id))
            tags = places.tags(capture.app_name, capture.window_name, capture.browser_url)
            frame_tags.add_by_rule(connection, frame_id, tags, now_ms)
            return Result("stored", frame_id)
    _remove_unused_picture(home, capture)
    return earlier


def _fold_into(home: Home, capture: Capture, earlier: frames.FrameRow, likeness: Likeness) -> Result:
    with home.database.write() as connection:
        outcome = _earlier_outcome(home, capture)
        if outcome is not None:
            return outcome
        if frames.extend(connection, earlier.capture_id, capture.captured_ms) is None:
            raise TryLater("the frame that shows the same picture has just been deleted")
        segments.extend(connection, earlier.id)
        ledger.record_skipped(connection, capture, "deduplicated", likeness, frame_id=earlier.id)
    _remove_unused_picture(home, capture)
    return Result("deduplicated", earlier.id)


def _was_deleted(connection: apsw.Connection, capture: Capture) -> bool:
    """Whether its time was deleted while it was on its way; then that is noted."""
    at, app, since = capture.captured_ms, capture.app_name, capture.host_deletion_id
    is_gone = capture.source == "screen" and tombstones.cover(connection, at, app)
    if not is_gone and (since is None or not tombstones.cover_since(connection, since, at, app)):
        return False
    ledger.record_deleted(connection, capture.capture_id, at, capture.monitor, capture.batch_id)
    return True


def _exclude(home: Home, capture: Capture, reason: str) -> Result:
    with home.database.write() as connection:
        ledger.record_skipped(connection, capture, "excluded", reason)
    _remove_unused_picture(home, capture)
    return Result("excluded")


def _earlier_outcome(home: Home, capture: Capture) -> Result | None:
    """The outcome that stands: stored before, or deleted while it waited (asked again before the
    row is written). A failure does not stand: somebody asked for another try.
    """
    outcome = frames.outcome(home.database, capture.capture_id)
    if outcome is None or outcome.outcome == "failed":
        return None
    return Result("known", outcome.frame_id)


def _remove_unused_picture(home: Home, capture: Capture) -> None:
    """Remove the picture that this try, or one that was cut off, has filed for nothing."""
    if frames.by_capture_id(home.database, capture.capture_id) is None:
        home.media.remove(possible_paths(capture.captured_ms, capture.capture_id))
