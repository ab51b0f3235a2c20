"""An import on its way through the spool and a worker: counted, idempotent, never past the spool's limit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import click

from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.core.progress import Bar
from ingest.importers.items import SOME_FAILED, CannotImport, Item, Skipped
from ingest.worker.assembly import work_to_the_end
from store.core.errors import SpoolFull
from store.frames import frames
from store.ocr import readings

_POLL_S = 0.2
_PATIENCE_S = 2.0


def run_import(
    home: Home,
    items: Iterable[Item | Skipped],
    length: int,
    reached: Callable[[int, Item | Skipped], int] = lambda count, item: count,
) -> tuple[ImportFeed, int]:
    """Take items in, by a worker of our own or beside the one that runs already: (what was fed, exit code).

    The bar on the terminal is of `length`; where in it the n-th item stands, `reached` tells.
    """
    with Bar("Importing") as importing, Bar("Reading  ") as reading:

        def shown() -> Iterator[Item | Skipped]:
            for count, item in enumerate(items, 1):
                yield item
                importing.reach(reached(count, item), length)
            importing.reach(length, length)

        total = 0

        def show_reading() -> None:
            nonlocal total
            pending = readings.count_pending(home.database) if feed.is_over else 0
            total = total or pending
            if total:
                reading.reach(total - pending, total)

        feed = ImportFeed(home, shown())
        when_stopped = "interrupted; what is queued is taken in by the next run"
        while True:
            try:
                with only_worker(home.data_dir):
                    code = work_to_the_end(home, show_reading, when_stopped, feed.steps)
                    return feed, code if feed.is_over else code or SOME_FAILED
            except AlreadyRunning:
                if feed.run_beside_a_worker():
                    return feed, 0


def print_summary(feed: ImportFeed, code: int, as_json: bool) -> None:
    summary = feed.summary()
    pending = readings.count_pending(feed.home.database)
    if as_json:
        click.echo(json.dumps({**summary, "pending": pending}, ensure_ascii=False))
    else:
        counts = {word: count for word, count in summary.items() if isinstance(count, int) and count}
        click.echo(", ".join(f"{n} {word.replace('_', ' ')}" for word, n in counts.items()) or "nothing new")
        for entry in summary["skipped"]:
            click.echo(f"skipped {entry['name']}: {entry['reason']}", err=True)
        if pending:
            click.echo(f"frames still to be read: {pending}", err=True)
    missing = summary["skipped"] or summary["queued"]
    click.get_current_context().exit(code or (SOME_FAILED if missing else 0))


class ImportFeed:
    """Puts items into the spool, and knows what became of them."""

    def __init__(self, home: Home, items: Iterator[Item | Skipped]) -> None:
        self.home = home
        self.skipped: list[Skipped] = []
        self.is_over = False  # every item was looked at
        self._known = 0
        self._queued: list[str] = []
        self._waiting: list[str] = []  # of those queued, the ones whose outcome is not known yet
        self.steps = self._feed(items)
        """One item per step: True when there was room for it, False when it must be tried again. Raises
        `CannotImport` when the spool is full of what was set aside, so that no worker will ever make room.
        """

    def run_beside_a_worker(self) -> bool:
        """Feed a worker that runs elsewhere; True when every item has an outcome.

        Returns after `_PATIENCE_S` without progress, so that the caller can see whether that
        worker is still there.
        """
        if not all(self.steps):
            time.sleep(_POLL_S)
            return False
        end = time.monotonic() + _PATIENCE_S
        while self._waiting and time.monotonic() < end:
            database = self.home.database
            self._waiting = [name for name in self._waiting if frames.outcome(database, name) is None]
            if self._waiting:
                time.sleep(_POLL_S)
        return not self._waiting

    def summary(self) -> dict[str, Any]:
        """Counts of what became of it all, and the reasons. What is interrupted stays queued."""
        counts = {"added": 0, "deduplicated": 0, "excluded": 0, "failed": 0, "queued": 0}
        skipped = [{"name": entry.name, "reason": entry.reason} for entry in self.skipped]
        for capture_id in self._queued:
            outcome = frames.outcome(self.home.database, capture_id)
            word = outcome.outcome if outcome else "queued"
            counts[_WORDS.get(word, word)] += 1
            if outcome and outcome.outcome == "failed":
                skipped.append({"name": capture_id, "reason": outcome.reason or ""})
        return {**counts, "already_known": self._known, "skipped": skipped}

    def _feed(self, items: Iterator[Item | Skipped]) -> Iterator[bool]:
        for item in items:
            if isinstance(item, Skipped):
                self.skipped.append(item)
            elif self._is_known(item):
                self._known += 1
            else:
                while not self._put(item):
                    yield False
                self._queued.append(item.capture.capture_id)
                self._waiting.append(item.capture.capture_id)
            yield True
        self.is_over = True

    def _is_known(self, item: Item) -> bool:
        outcome = frames.outcome(self.home.database, item.capture.capture_id)
        return outcome is not None and outcome.outcome != "failed"

    def _put(self, item: Item) -> bool:
        spool = self.home.spool
        try:
            spool.put(item.capture, item.image)
        except SpoolFull as error:
            if not spool.waiting() and not any((spool.folder / "taken").iterdir()):
                raise CannotImport(f"{error}, all of them set aside; see spool/failed") from error
            return False
        return True


# An item of this import may be deleted again before the import ends: it was added all the same.
_WORDS = {"stored": "added", "deleted": "added"}
