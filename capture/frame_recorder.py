"""What becomes of looks: keepers, the writer and the ledger, kept in step.

Every look that begins here ends here in exactly one decision. Whatever is left out makes the
keeper of that monitor forget its frame, so that no frame's interval spans what was left out.
"""

from __future__ import annotations

import logging
import uuid

from capture.core.clock import Clock
from capture.ledger import Ledger
from capture.reports import ReportQueue
from capture.triggers import Candidate, Extend, FrameTrigger, Keep
from capture.trouble import Backoff, spool_cause
from capture.windows.idle import Activity
from capture.windows.inactivity import Inactivity
from capture.writer import PendingWrite, Writer
from store.core.errors import StoreError
from store.core.settings import CaptureSettings
from store.core.times import utc_offset_min
from store.spool.queue import Capture, Spool

log = logging.getLogger(__name__)


class FrameRecorder:
    """The frames and counts of one daemon."""

    def __init__(self, spool: Spool, settings: CaptureSettings, clock: Clock) -> None:
        self.trouble = Backoff()
        self.looks = 0
        self.kept = 0
        self.kept_ms: int | None = None
        self.monitors: tuple[str, ...] = ("",)  # until the first look nobody knows their names
        self._settings = settings
        self._clock = clock
        self._writer = Writer(spool)
        self._reports = ReportQueue(spool)
        self._ledger = Ledger(clock.now_ms())
        self._inactivity = Inactivity(settings.idle_after_s, clock.now_ms())
        self._keepers: dict[str, FrameTrigger] = {}
        self._writing: dict[str, PendingWrite] = {}

    # -- looks ----------------------------------------------------------------------------

    def follow(self, names: tuple[str, ...]) -> None:
        """From now on these are the monitors looked at."""
        if names != self.monitors:
            self._keepers = {name: self._keepers.get(name) or self._new_keeper() for name in names}
            self.monitors = names

    def begin(self, now_ms: int) -> None:
        """A look at every monitor begins. Counted here, whatever becomes of it."""
        for monitor in self.monitors:
            self._ledger.looked(monitor, now_ms)
        self.looks += len(self.monitors)

    def person(self, activity: Activity, now_ms: int) -> None:
        """What is known of the person, before any look."""
        self._inactivity.read(activity, now_ms)

    def hold(self, now_ms: int, decision: str, reason: str) -> None:
        """Nothing is looked at, and nobody asks for the person either."""
        self._inactivity.left(now_ms)
        self.leave_all_out(now_ms, decision, reason)

    def decide(self, look: Candidate, activity: Activity, source: str) -> None:
        """Keep this look, or extend the frame before it, or let it wait."""
        name, at_ms = look.shot.monitor.name, look.shot.captured_ms
        keeper = self._keepers[name]
        verdict = keeper.judge(look, is_active=activity.is_active, is_writing=name in self._writing)
        if isinstance(verdict, Keep):
            capture = self._capture(verdict, source)
            keeper.kept(verdict, capture.capture_id, look.due_s)
            self._writing[name] = self._writer.submit(capture, verdict.look.shot.pixels)
            self._ledger.kept(name)
        elif isinstance(verdict, Extend):
            self._ledger.deduped(name, at_ms, verdict.reason, verdict.capture_id)
        else:
            self._ledger.deduped(name, at_ms, "waiting", None)

    def leave_out(self, monitor: str, at_ms: int, decision: str, reason: str) -> None:
        """The look was excluded, paused or failed."""
        self._ledger.left_out(monitor, at_ms, decision, reason)
        self._forget(monitor)

    def leave_all_out(self, now_ms: int, decision: str, reason: str) -> None:
        """No monitor is looked at, for one reason; looks that began already end so too."""
        if not self._ledger.undecided:
            self.begin(now_ms)
        for monitor in self._ledger.undecided:
            self.leave_out(monitor, now_ms, decision, reason)

    def slept(self, start_ms: int, end_ms: int) -> None:
        """The machine was asleep."""
        for monitor in self.monitors:
            self._ledger.slept(monitor, start_ms, end_ms, "asleep")
            self._forget(monitor)

    def clock_set_back(self, last_ms: int, now_ms: int) -> None:
        """Times before and after do not mix in one batch."""
        self.flush(last_ms)
        self._ledger = Ledger(now_ms)
        self._inactivity = Inactivity(self._settings.idle_after_s, now_ms)

    # -- frames and reports -----------------------------------------------------------------

    def collect(self, *, wait: bool = False) -> None:
        """Take note of the frames that reached the spool, and of those that could not."""
        for monitor, writing in list(self._writing.items()):
            if not wait and not writing.done.done():
                continue
            del self._writing[monitor]
            error = writing.done.exception()
            if error is not None:
                self._lose(monitor, writing.capture, error)
                continue
            self.trouble.over()
            self.kept += 1
            self.kept_ms = writing.capture.captured_ms

    def flush(self, now_ms: int) -> None:
        """Report every look so far. A frame under way belongs to this batch: it is waited for."""
        self.collect(wait=True)
        for stretch in self._inactivity.take():
            self._ledger.idle(*stretch)
        self._reports.put(self._ledger.flush(now_ms))

    def close(self, now_ms: int) -> None:
        """Leave nothing uncounted."""
        self.flush(now_ms)
        self._writer.close()

    def _new_keeper(self) -> FrameTrigger:
        return FrameTrigger(self._settings.interval_s, self._settings.idle_interval_s)

    def _capture(self, keep: Keep, source: str) -> Capture:
        shot, identity = keep.look.shot, keep.look.identity
        return Capture(
            capture_id=str(uuid.uuid4()),
            captured_ms=shot.captured_ms,
            source=source,
            monitor=shot.monitor.name,
            app_name=identity.app_name,
            window_name=identity.window_name,
            browser_url=identity.browser_url,
            focused=identity.focused,
            pid=identity.pid,
            trigger=keep.trigger,
            utc_offset_min=utc_offset_min(shot.captured_ms),
            batch_id=self._ledger.batch_id,
            toolbars=keep.look.toolbars,
        )

    def _lose(self, monitor: str, capture: Capture, error: BaseException) -> None:
        log.error("a frame is lost: %s", error, exc_info=None if isinstance(error, StoreError) else error)
        reason, cause = spool_cause(error)
        self._ledger.lost(monitor, capture.capture_id, self._clock.now_ms(), reason)
        self.trouble.failed(reason, cause, self._clock.monotonic_s())
        self._forget(monitor)

    def _forget(self, monitor: str) -> None:
        keeper = self._keepers.get(monitor)
        if keeper is not None:
            keeper.reset()
