"""The capture light: what the person is told about recording, at the top of every page.

It says REC only when a look at the screen succeeded in the last 30 seconds; whatever is not known
counts as not recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from store.frames import frames
from store.ocr import readings
from store.spool.process_state import FOREVER_MS, CaptureState, Pause, read_capture_state, read_pause
from store.timeline import sample_week
from webapp.core import formatting
from webapp.core.services import Services

FRESH_MS = 30_000
"""Older than this, a look at the screen is no proof that recording goes on."""

BEHIND_FRAMES = 100
"""So many frames waiting for their text are worth saying."""

Kind = Literal["ok", "warn", "danger", "plain"]


@dataclass(frozen=True, slots=True)
class IndicatorState:
    """One word and its colour; `detail` is a sentence for the curious."""

    kind: Kind
    word: str
    icon: str
    detail: str = ""
    address: str = "/status"


def recording_indicator(services: Services) -> IndicatorState:
    """The light for this moment."""
    now_ms = services.clock()
    if sample_week.is_sample(services.data_dir):
        return _sample(services, now_ms)
    folder = services.data_dir.spool
    return indicator_state(
        read_capture_state(folder),
        read_pause(folder, now_ms),
        readings.count_pending(services.database),
        now_ms,
    )


def _sample(services: Services, now_ms: int) -> IndicatorState:
    """On every page, so that nobody takes what never happened for what did."""
    last = frames.nearest(services.database, now_ms)
    detail = "Made up by `recollect demo`; nothing is recorded into this home folder."
    return IndicatorState(
        "plain", "Sample week", "calendar", detail, f"/timeline?at={last.captured_ms}" if last else "/status"
    )


def indicator_state(
    state: CaptureState | None, pause: Pause | None, waiting: int, now_ms: int
) -> IndicatorState:
    """The light that these facts allow."""
    if pause is not None:
        left = "until you resume" if pause.until_ms >= FOREVER_MS else _left(pause.until_ms - now_ms)
        return IndicatorState("warn", f"Paused {left}", "pause", "Nothing is recorded while paused.")
    if state is None:
        return IndicatorState(
            "danger", "Not recording", "alert", "Capture has not run in this home folder yet."
        )
    if state.state == "locked" and _is_fresh(state.written_ms, now_ms):
        return IndicatorState(
            "plain", "Screen locked", "lock", "Recording goes on when the screen is unlocked."
        )
    if state.state == "excluded" and _is_fresh(state.written_ms, now_ms):
        return IndicatorState("plain", "Left out here", "shield", "A privacy rule leaves this window out.")
    if not _is_fresh(state.looked_ms, now_ms):
        since = "" if state.looked_ms is None else f" {formatting.duration(now_ms - state.looked_ms)}"
        return IndicatorState("danger", f"Not recording{since}", "alert", state.detail)
    if waiting >= BEHIND_FRAMES:
        detail = f"Recording; {formatting.count(waiting, 'frame')} wait for their text to be read."
        return IndicatorState("warn", f"Behind {formatting.count(waiting)}", "clock", detail)
    assert state.looked_ms is not None
    return IndicatorState("ok", f"REC {formatting.duration(now_ms - state.looked_ms)} ago", "", state.detail)


def _is_fresh(ms: int | None, now_ms: int) -> bool:
    return ms is not None and now_ms - ms <= FRESH_MS


def _left(ms: int) -> str:
    return f"{formatting.duration(ms)} left"
