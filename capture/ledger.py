"""The ledger of looks: every look is counted when it begins, and again by what became of it.

The two counts are made apart, so that a look that got lost on the way is found by comparing them:
``report.looks == sum(run.looks) + frames kept under its batch_id``. Equal decisions that follow each
other on a monitor make one run. Nothing here knows a title or an app.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

from store.spool.queue import DecisionRun, LookReport


@dataclass(slots=True)
class _Batch:
    start_ms: int
    batch_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    looks: int = 0
    runs: dict[str, list[DecisionRun]] = field(default_factory=dict)


class Ledger:
    """The open batch of one daemon. `flush` closes it and begins the next."""

    def __init__(self, now_ms: int) -> None:
        self._batch = _Batch(now_ms)
        self._open_runs: dict[str, DecisionRun] = {}  # by monitor: states that last until the next look
        self._undecided: list[str] = []

    @property
    def batch_id(self) -> str:
        """Kept frames carry this."""
        return self._batch.batch_id

    @property
    def start_ms(self) -> int:
        return self._batch.start_ms

    @property
    def undecided(self) -> tuple[str, ...]:
        """Monitors whose look began and has not ended in a decision."""
        return tuple(self._undecided)

    def looked(self, monitor: str, at_ms: int) -> None:
        """A look at this monitor begins; whatever was going on there lasted until now."""
        self._batch.looks += 1
        self._undecided.append(monitor)
        run = self._open_runs.pop(monitor, None)
        if run is not None:
            run.end_ms = max(run.end_ms, at_ms)

    def kept(self, monitor: str) -> None:
        """The look became a frame, which carries `batch_id`: frames count themselves."""
        self._decided(monitor)

    def deduped(self, monitor: str, at_ms: int, reason: str, capture_id: str | None) -> None:
        """Nothing new: the frame `capture_id` was still on the screen at `at_ms` (None: not known)."""
        self._decided(monitor)
        self._add(monitor, "deduped", reason, at_ms, capture_id)

    def skipped(self, monitor: str, at_ms: int, decision: str, reason: str) -> None:
        """The look was excluded, paused or failed; this goes on until the next look."""
        self._decided(monitor)
        self._open_runs[monitor] = self._add(monitor, decision, reason, at_ms, None)

    def lapsed(self, monitor: str, start_ms: int, end_ms: int, decision: str, reason: str) -> None:
        """Time without looks, such as sleep. A run of no looks."""
        self._open_runs.pop(monitor, None)
        run = self._add(monitor, decision, reason, start_ms, None, looks=0)
        run.end_ms = max(run.end_ms, end_ms)

    def idle(self, start_ms: int, end_ms: int) -> None:
        """Nobody touched anything, on whatever monitor. A run of no looks, which are counted as ever."""
        run = DecisionRun("", "deduped", "idle", start_ms, end_ms, 0)
        self._batch.runs.setdefault("", []).append(run)  # two stretches are never one

    def lost(self, monitor: str, capture_id: str, at_ms: int, reason: str) -> None:
        """A frame that was counted on could not be written: its look, and all that extended it, failed."""
        for run in self._batch.runs.get(monitor, []):
            if run.capture_id == capture_id:
                run.decision, run.reason, run.capture_id = "failed", reason, None
        self.skipped(monitor, at_ms, "failed", reason)

    def flush(self, now_ms: int) -> LookReport | None:
        """The batch as a report, or None when nothing was looked at; a new batch begins."""
        batch = self._batch
        for run in self._open_runs.values():
            run.end_ms = max(run.end_ms, now_ms)
        self._batch = _Batch(now_ms)
        # A pause goes on: the next batch takes it up where this one ends.
        self._open_runs = {
            monitor: self._add(monitor, run.decision, run.reason, now_ms, None, looks=0)
            for monitor, run in self._open_runs.items()
        }
        runs = tuple(
            run
            for of_monitor in batch.runs.values()
            for run in of_monitor
            if run.looks or run.end_ms > run.start_ms
        )
        if not batch.looks and not any(run.end_ms > run.start_ms for run in runs):
            return None
        return LookReport(batch.batch_id, batch.start_ms, max(batch.start_ms, now_ms), batch.looks, runs)

    def _decided(self, monitor: str) -> None:
        if monitor in self._undecided:
            self._undecided.remove(monitor)

    def _add(
        self, monitor: str, decision: str, reason: str, at_ms: int, capture_id: str | None, looks: int = 1
    ) -> DecisionRun:
        runs = self._batch.runs.setdefault(monitor, [])
        last = runs[-1] if runs else None
        if last and (last.decision, last.reason, last.capture_id) == (decision, reason, capture_id):
            last.end_ms = max(last.end_ms, at_ms)
            last.looks += looks
            return last
        runs.append(DecisionRun(monitor, decision, reason, at_ms, at_ms, looks, capture_id))
        return runs[-1]
