"""An import on its way through the spool: counted, idempotent, never past the spool's limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ingest.home import Home
from ingest.importers.items import Item, Skipped
from store import frames
from store.errors import SpoolFull

_POLL_S = 0.2


@dataclass(slots=True)
class Feeding:
    """Puts items into the spool. `on_step` is told of each item, for a progress bar."""

    home: Home
    items: Iterator[Item | Skipped]
    on_step: Callable[[Item | Skipped], None] = lambda _: None
    queued: list[str] = field(default_factory=list)
    known: int = 0
    skipped: list[Skipped] = field(default_factory=list)

    def steps(self) -> Iterator[bool]:
        """One item per step: True when there was room for it, False when it must be tried again."""
        for found in self.items:
            if isinstance(found, Skipped):
                self.skipped.append(found)
            elif self._is_known(found):
                self.known += 1
            else:
                while not self._put(found):
                    yield False
                self.queued.append(found.capture.capture_id)
            self.on_step(found)
            yield True

    def _is_known(self, found: Item) -> bool:
        outcome = frames.outcome(self.home.database, found.capture.capture_id)
        return outcome is not None and outcome.outcome != "failed"

    def _put(self, found: Item) -> bool:
        try:
            self.home.spool.put(found.capture, found.image)
        except SpoolFull:
            return False
        return True

    def run_beside_a_worker(self) -> None:
        """Somebody else takes from the spool: fill it, and wait until every item has an outcome."""
        for had_room in self.steps():
            if not had_room:
                time.sleep(_POLL_S)
        while any(frames.outcome(self.home.database, name) is None for name in reversed(self.queued)):
            time.sleep(_POLL_S)

    def summary(self) -> dict[str, object]:
        """Counts of what became of it all, and the reasons."""
        counts = {"added": 0, "deduplicated": 0, "excluded": 0, "failed": 0}
        skipped = [{"name": one.name, "reason": one.reason} for one in self.skipped]
        for capture_id in self.queued:
            outcome = frames.outcome(self.home.database, capture_id)
            if outcome is None:
                continue  # interrupted: the entry is still in the spool
            counts["added" if outcome.outcome == "stored" else outcome.outcome] += 1
            if outcome.outcome == "failed":
                skipped.append({"name": capture_id, "reason": outcome.reason or ""})
        return {**counts, "already_known": self.known, "skipped": skipped}
