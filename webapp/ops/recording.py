"""The person's hand on the recording: pause and resume, the same for API, pages and command."""

from __future__ import annotations

from dataclasses import dataclass

from store.core.paths import DataDir
from store.spool.process_state import FOREVER_MS, Pause, read_pause, write_pause

_MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class PauseOrder:
    """A pause in force; `until_ms` is None when it lasts until somebody resumes."""

    since_ms: int
    until_ms: int | None


def pause(data_dir: DataDir, minutes: float | None, now_ms: int) -> PauseOrder:
    """Durably order a pause: for some minutes, or until resumed."""
    until_ms = FOREVER_MS if minutes is None else now_ms + max(1, round(minutes * _MINUTE_MS))
    order = Pause(since_ms=now_ms, until_ms=min(until_ms, FOREVER_MS))
    write_pause(data_dir.spool, order)
    return _told(order)


def resume(data_dir: DataDir) -> None:
    write_pause(data_dir.spool, None)


def current_pause(data_dir: DataDir, now_ms: int) -> PauseOrder | None:
    """The pause in force, or None. A pause file that cannot be read counts as a pause."""
    order = read_pause(data_dir.spool, now_ms)
    return None if order is None else _told(order)


def _told(order: Pause) -> PauseOrder:
    return PauseOrder(order.since_ms, None if order.until_ms >= FOREVER_MS else order.until_ms)
