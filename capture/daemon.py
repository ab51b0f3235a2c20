"""The loop: look at every monitor, let privacy decide, compare, keep or extend.

It looks twice per interval, and early when a window changes. Every look of every monitor ends in
one decision of the ledger. What goes wrong is said in the status with its cause and its next try,
and tried again; the one broad catch at the loop's edge keeps a surprise from ending it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from capture import privacy
from capture.core.clock import Clock, LapseWatch
from capture.core.errors import SourceFailed
from capture.difference import is_uniform
from capture.frame_recorder import Candidate, FrameRecorder
from capture.page_text import Tellers
from capture.privacy import Verdict, Windows
from capture.screens.protocol import Monitor, Pixels, Screenshot, ScreenSource
from capture.status import (
    Backoff,
    DiskFloor,
    PauseReason,
    Status,
    away_pause,
    ordered_pause,
    source_cause,
    state_of,
)
from capture.windows.idle import Activity, ActivitySource
from capture.windows.protocol import Identity, WindowSource, is_locker_shown
from capture.windows.toolbars import OrdinaryWindows
from store.core.allocator import trim_freed_memory
from store.core.settings import CaptureSettings
from store.core.translation import N_
from store.spool.process_state import CaptureState
from store.spool.queue import DESKTOP, Spool

log = logging.getLogger(__name__)

FLUSH_EVERY_S = 10.0
_FLUSH_AT_MOST_EVERY_S = 1.0
FAULT_AFTER_S = 20.0
FAULT_AFTER_UNKNOWN_S = 50.0
"""How long a screen may be of one colour: with input seen meanwhile, and where nobody can tell."""
_AT_REST_S = 5.0  # so long a screen is taken for unchanged at most because nothing was said to be painted
_STALLED_S = 5.0  # between two looks: this program was stopped, or starved
_SETTLE_S = 0.15  # a window that was just switched to has painted itself by then
_GRABS = 2  # at most for one look


@dataclass(frozen=True, slots=True)
class Parts:
    """What the daemon works with, handed in."""

    open_sources: OpenSources
    spool: Spool
    rules: privacy.Rules
    settings: CaptureSettings
    clock: Clock
    disk: DiskFloor
    page_text: Tellers | None = None
    is_current: Callable[[], bool] = lambda: True
    """False once the person chose other settings."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What capture looks through, opened together; frames carry `kind` as their source.

    `has_changed`: whether anything may have been painted since it was asked last; yes, where nobody tells.
    """

    screens: ScreenSource
    windows: WindowSource
    activity: ActivitySource
    kind: str = "screen"
    has_changed: Callable[[], bool] = lambda: True

    def close(self) -> None:
        """Let go of everything."""
        self.screens.close()
        self.windows.close()
        self.activity.close()


@dataclass(frozen=True, slots=True)
class Look:
    """One look at the desktop: windows, then pixels, then windows again."""

    monitors: tuple[Monitor, ...]
    shots: dict[str, Screenshot]
    failures: dict[str, SourceFailed]
    before: Windows
    after: Windows
    unknown: str = ""
    """Why windows are not known, when they are not."""


class Daemon:
    """Looks until it is told to stop."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._clock = parts.clock
        self._sources: Sources | None = None
        self.recorder = FrameRecorder(parts.spool, parts.settings, parts.clock, parts.page_text)
        self._status = Status(parts.spool.folder, self._clock.now_ms())
        self._backoff = Backoff()
        self._ordinary = OrdinaryWindows()
        self._seen: tuple[object, ...] = ()  # what the last look depended on but for the pixels
        self._looked_s = float("-inf")
        self._is_told = True  # of all that is painted
        self._blank = BlankWatch()
        self._noticed: dict[str, str] = {}  # what could not be seen at the last look, and why
        self._excluded = Verdict()  # why nothing of the last look was kept, when privacy decided so
        self._lapses = LapseWatch(self._clock, max(_STALLED_S, 3 * self.cadence_s))
        self._flushed_s = self._clock.monotonic_s()
        self._kept = self._trimmed = 0  # frames, at the last report and when memory was given back

    @property
    def cadence_s(self) -> float:
        """Looks are twice as frequent as frames may be."""
        return self._parts.settings.interval_s / 2

    @property
    def state(self) -> CaptureState:
        return self._status.state

    def run(self, stop: threading.Event) -> None:
        """Look until `stop` is set or the settings are no longer current, then leave nothing uncounted."""
        due = self._clock.monotonic_s()
        self._publish(state="starting")
        try:
            while not stop.is_set() and self._parts.is_current():
                self.tick(due)
                due = self._sleep(due, stop)
        finally:
            self.close()

    def tick(self, due_s: float) -> None:
        """One look at every monitor, due at `due_s` (monotonic), or none when something forbids it."""
        now_ms, now_s = self._clock.now_ms(), self._clock.monotonic_s()
        self._follow_clock(now_ms)
        self.recorder.collect()
        pause = ordered_pause(self._parts.spool.folder, now_ms) or self._parts.disk.pause(now_s)
        if pause:
            self.recorder.pause(now_ms, pause.decision, pause.reason)
        elif not self._backoff.is_waiting(now_s) and not self.recorder.backoff.is_waiting(now_s):
            pause = self._look_or_log(due_s)
        has_changed = self._publish_state(pause)
        since_s = now_s - self._flushed_s
        if since_s >= FLUSH_EVERY_S or (has_changed and since_s >= _FLUSH_AT_MOST_EVERY_S):
            self._flushed_s = now_s
            self.recorder.flush(self._clock.now_ms())
            self._trim()

    def _trim(self) -> None:
        """Give back what encoding took, a third of the memory, when no frame was kept between two reports.

        While frames come, a look would have to ask for it again, which costs as much as the look.
        """
        before, self._kept = self._kept, self.recorder.kept
        if self._kept == before != self._trimmed:
            self._trimmed = before
            trim_freed_memory()

    def close(self) -> None:
        """Write what is under way, report every look, let go of the display."""
        self.recorder.close(self._clock.now_ms())
        self._close_sources()
        self._publish(state="stopped")

    def _look_or_log(self, due_s: float) -> PauseReason | None:
        try:
            return self._look(due_s)
        except Exception as error:  # the loop's outer edge: whatever it was, say it and go on
            reason, cause = source_cause(error)
            log.warning("cannot look: %s", cause, exc_info=not isinstance(error, SourceFailed))
            self.recorder.skip_all(self._clock.now_ms(), "failed", reason)
            self._backoff.failed(reason, cause, self._clock.monotonic_s())
            self._close_sources()
            return None

    def _look(self, due_s: float) -> PauseReason | None:
        """A picture of each monitor, judged and recorded; or why nobody looks: the person is away."""
        sources = self._sources or self._open()
        activity = sources.activity.read()
        monitors = sources.screens.monitors()
        self._status.note(connected=tuple(monitor.name for monitor in monitors))
        watched = watched_monitors(monitors, self._parts.settings.monitors)
        self.recorder.follow(tuple(monitor.name for monitor in watched))
        windows, unknown = read_windows(sources.windows)
        now_ms = self._clock.now_ms()
        pause = away_pause(activity, windows is not None and is_locker_shown(windows))
        self.recorder.note_activity(replace(activity, away=pause.reason) if pause else activity, now_ms)
        if pause:
            self.recorder.skip_all(now_ms, pause.decision, pause.reason)
            return pause
        seen = (monitors, watched, windows, self._parts.rules.current())
        is_at_rest = not sources.has_changed() and self._is_told and seen == self._seen
        is_recent = due_s - self._looked_s < _AT_REST_S
        if is_at_rest and is_recent and self.recorder.extend_all(now_ms, due_s, activity):
            return None
        self._seen, self._looked_s = seen, due_s
        self.recorder.begin(now_ms)
        look = take_look(sources, monitors, watched, windows)
        self._record_failures(look, unknown, now_ms)
        excluded = [self._record(shot, look, activity, due_s) for shot in look.shots.values()]
        self._excluded = excluded[0] if all(each.reason for each in excluded) else Verdict()
        if is_at_rest and not is_recent and self.recorder.saw_change:
            log.warning("something was painted that the display did not tell of: it is looked at each time")
            self._is_told = False
        return None

    def _record_failures(self, look: Look, unknown: str, now_ms: int) -> None:
        """Monitors that could not be grabbed. Raises the failure when there is no picture at all."""
        failures = look.failures
        if failures and not look.shots:
            raise next(iter(failures.values()))
        self._backoff.clear()
        self._status.note(looked_ms=now_ms)
        causes = {name: str(error) for name, error in failures.items()}
        unseen = {"windows": unknown or look.unknown, **causes}
        for name, cause in unseen.items():
            if cause and self._noticed.get(name) != cause:  # when it begins, not at every look
                log.warning("%s cannot be seen: %s", name, cause)
        self._noticed = unseen
        for name, error in failures.items():
            self.recorder.record_skipped(name, now_ms, "failed", error.reason)

    def _record(self, shot: Screenshot, look: Look, activity: Activity, due_s: float) -> Verdict:
        """One decision for one screenshot: excluded, failed, kept or extended. Returns what privacy said."""
        monitor, at_ms = shot.monitor, shot.captured_ms
        rules = self._parts.rules.current()
        before, after = look.before, look.after
        if before is not None and after is not None:
            before, after = self._ordinary.marked(shot, before, after)
        verdict = privacy.judge(rules, monitor, look.monitors, before, after)
        if verdict.reason:
            self.recorder.record_skipped(monitor.name, at_ms, "excluded", verdict.reason)
            return verdict
        privacy.mask(shot.pixels, monitor, verdict.masks)
        if self._blank.is_fault(monitor, shot.pixels, activity, look.after, due_s):
            self.recorder.record_skipped(monitor.name, at_ms, "failed", "blank_frames")
            return verdict
        assert self._sources is not None
        kind, view = self._sources.kind, verdict
        if kind != "screen":  # a picture of a folder may show any window
            view = replace(view, visible=None, places=None)
        elif after is not None and view.identity == Identity():
            view = replace(view, identity=Identity(DESKTOP))
        self.recorder.record(Candidate(shot, view, due_s), activity, kind)
        return verdict

    def _open(self) -> Sources:
        self._sources = self._parts.open_sources()
        screens, windows = self._sources.screens.name, self._sources.windows.name
        log.info("looking through %s, windows through %s", screens, windows)
        self._status.note(source=screens, window_source=windows)
        return self._sources

    def _close_sources(self) -> None:
        sources, self._sources = self._sources, None
        if sources is not None:
            sources.close()

    def _sleep(self, due_s: float, stop: threading.Event) -> float:
        """Wait for the next look: until the next due time, or less when a window changes."""
        now_s = self._clock.monotonic_s()
        missed = max(0, int((now_s - due_s) / self.cadence_s))
        next_s = due_s + (missed + 1) * self.cadence_s
        if self._window_changes(next_s - now_s):
            has_time = next_s - self._clock.monotonic_s() > 2 * _SETTLE_S
            self._clock.wait(stop, _SETTLE_S)
            if has_time and not stop.is_set():
                self.tick(self._clock.monotonic_s())
        self._clock.wait(stop, next_s - self._clock.monotonic_s())
        return next_s

    def _window_changes(self, timeout_s: float) -> bool:
        if self._sources is None or self._backoff.reason:
            return False
        try:
            return self._sources.windows.wait(timeout_s)
        except SourceFailed as error:
            log.debug("cannot wait for windows, the next look will say why: %s", error.cause)
            return False

    def _follow_clock(self, now_ms: int) -> None:
        lapse, since_ms = self._lapses.read()
        if lapse == "set_back":
            log.warning("the clock was set back")
            self.recorder.clock_set_back(since_ms, now_ms)
        elif lapse:
            log.info("nobody looked for a while: %s", lapse)
            self.recorder.lapsed(since_ms, now_ms, "paused" if lapse == "asleep" else "failed", lapse)

    def _publish_state(self, pause: PauseReason | None) -> bool:
        backoff = self.recorder.backoff if self.recorder.backoff.reason else self._backoff
        windows = self._noticed.get("windows", "")
        return self._publish(**state_of(pause, backoff, self._blank.detail, self._excluded, windows))

    def _publish(self, *, state: str, reason: str = "", detail: str = "", cause: str = "") -> bool:
        recorder = self.recorder
        named = tuple(name for name in recorder.monitors if name)
        self._status.note(looks=recorder.looks, kept=recorder.kept, kept_ms=recorder.kept_ms, monitors=named)
        change = {"state": state, "reason": reason, "detail": detail, "cause": cause}
        return self._status.publish(self._clock.now_ms(), self._clock.monotonic_s(), **change)


OpenSources = Callable[[], Sources]
"""Raises `SourceFailed` when there is nothing to look at."""


class MonitorMissing(SourceFailed):
    """None of the chosen monitors is connected."""

    reason = "monitor_missing"


def watched_monitors(monitors: list[Monitor], names: tuple[str, ...]) -> list[Monitor]:
    """The monitors to look at; the others are never grabbed. Raises `MonitorMissing`."""
    watched = [monitor for monitor in monitors if not names or monitor.name in names]
    if not watched:
        connected = ", ".join(monitor.name for monitor in monitors) or "none"
        raise MonitorMissing(
            f"The monitor {' or '.join(names)} is not connected; connected: {connected}",
            "Connect it or choose others under Settings, Recording",
        )
    return watched


def take_look(sources: Sources, monitors: list[Monitor], watched: list[Monitor], before: Windows) -> Look:
    """Grab the watched monitors, once more where windows changed meanwhile: a picture of before would go by
    the names of after. One that cannot be grabbed does not cost the others.
    """
    for _ in range(_GRABS):
        shots: dict[str, Screenshot] = {}
        failures: dict[str, SourceFailed] = {}
        for monitor in watched:
            try:
                shots[monitor.name] = sources.screens.grab(monitor)
            except SourceFailed as error:
                failures[monitor.name] = error
        after, unknown = read_windows(sources.windows)
        look = Look(tuple(monitors), shots, failures, before, after, unknown)
        if failures or before is None or after is None or before == after:
            break
        before = after
    return look


def read_windows(source: WindowSource) -> tuple[Windows, str]:
    """Visible windows, or None and why they cannot be told: privacy then decides."""
    try:
        return source.windows(), ""
    except SourceFailed as error:
        return None, str(error)


class BlankWatch:
    """One colour all over while somebody is typing: a broken grab, not an unchanged screen."""

    def __init__(self) -> None:
        self._since_s: dict[str, float] = {}
        self._at_fault: set[str] = set()

    @property
    def detail(self) -> str:
        """What to tell the person while a monitor is at fault, else ""."""
        if not self._at_fault:
            return ""
        return N_(
            "The screen comes out in one colour while somebody is using it: it cannot be read this way here. "
            "Log in to another kind of session (X11, Wayland)."
        )

    def is_fault(
        self, monitor: Monitor, pixels: Pixels, activity: Activity, windows: Windows, now_s: float
    ) -> bool:
        """Whether this picture is a fault. A bare desktop, with no window in view, may be uniform."""
        shows_window = windows is None or any(w.rect.common(monitor.area).area for w in windows)
        if not shows_window or not is_uniform(pixels):
            self._since_s.pop(monitor.name, None)
            self._at_fault.discard(monitor.name)
            return False
        since_s = self._since_s.setdefault(monitor.name, now_s)
        if activity.idle_s is None:
            is_fault = now_s - since_s >= FAULT_AFTER_UNKNOWN_S
        else:
            is_fault = now_s - since_s >= FAULT_AFTER_S and activity.idle_s < FAULT_AFTER_S
        if is_fault:
            self._at_fault.add(monitor.name)
        return monitor.name in self._at_fault
