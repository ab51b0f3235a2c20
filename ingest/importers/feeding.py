"""An import on its way through the spool: counted, idempotent, never past the spool's limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from ingest.core.home import Home
from ingest.importers.items import CannotImport, Item, Skipped
from store.core.errors import SpoolFull
from store.frames import frames

_POLL_S = 0.2
_PATIENCE_S = 2.0

OnStep = Callable[[Item | Skipped], None]


class ImportFeed:
    """Puts items into the spool. `on_step` is told of each item, for a progress bar."""

    def __init__(self, home: Home, items: Iterator[Item | Skipped], on_step: OnStep = lambda _: None) -> None:
        self.home = home
        self.skipped: list[Skipped] = []
        self.is_over = False  # every item was looked at
        self._known = 0
        self._queued: list[str] = []
        self._waiting: list[str] = []  # of those queued, the ones whose outcome is not known yet
        self._on_step = on_step
        self._steps = self._feed(items)

    def steps(self) -> Iterator[bool]:
        """One item per step: True when there was room for it, False when it must be tried again.

        The same iterator whenever it is asked for. Raises `CannotImport` when the spool is full
        of what was set aside, so that no worker will ever make room.
        """
        return self._steps

    def run_beside_a_worker(self) -> bool:
        """Feed a worker that runs elsewhere; True when every item has an outcome.

        Returns after `_PATIENCE_S` without progress, so that the caller can see whether that
        worker is still there.
        """
        had_room = self._fill()
        end = time.monotonic() + _PATIENCE_S
        while time.monotonic() < end:
            self._waiting = [
                name for name in self._waiting if frames.outcome(self.home.database, name) is None
            ]
            if not had_room or (self.is_over and not self._waiting):
                break
            time.sleep(_POLL_S)
        return self.is_over and not self._waiting

    def summary(self) -> dict[str, Any]:
        """Counts of what became of it all, and the reasons. What is interrupted stays queued."""
        counts = {"added": 0, "deduplicated": 0, "excluded": 0, "failed": 0, "queued": 0}
        skipped = [{"name": one.name, "reason": one.reason} for one in self.skipped]
        for capture_id in self._queued:
            outcome = frames.outcome(self.home.database, capture_id)
            word = outcome.outcome if outcome else "queued"
            counts[_WORDS.get(word, word)] += 1
            if outcome and outcome.outcome == "failed":
                skipped.append({"name": capture_id, "reason": outcome.reason or ""})
        return {**counts, "already_known": self._known, "skipped": skipped}

    def _fill(self) -> bool:
        """Put items until there is no room or none is left; False when there was no room."""
        for had_room in self._steps:
            if not had_room:
                time.sleep(_POLL_S)
                return False
        return True

    def _feed(self, items: Iterator[Item | Skipped]) -> Iterator[bool]:
        for found in items:
            if isinstance(found, Skipped):
                self.skipped.append(found)
            elif self._is_known(found):
                self._known += 1
            else:
                while not self._put(found):
                    yield False
                self._queued.append(found.capture.capture_id)
                self._waiting.append(found.capture.capture_id)
            self._on_step(found)
            yield True
        self.is_over = True

    def _is_known(self, found: Item) -> bool:
        outcome = frames.outcome(self.home.database, found.capture.capture_id)
        return outcome is not None and outcome.outcome != "failed"

    def _has_outcome(self, capture_id: str) -> bool:
        return frames.outcome(self.home.database, capture_id) is not None

    def _put(self, found: Item) -> bool:
        spool = self.home.spool
        try:
            spool.put(found.capture, found.image)
        except SpoolFull as error:
            if not spool.waiting() and not any((spool.folder / "taken").iterdir()):
                raise CannotImport(f"{error}, all of them set aside; see spool/failed") from error
            return False
        return True


# An item of this import may be deleted again before the import ends: it was added all the same.
_WORDS = {"stored": "added", "deleted": "added"}
