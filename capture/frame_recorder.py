"""What becomes of looks: triggers, the writer and the ledger, kept in step.

Every look that begins here ends here in exactly one decision. Whatever is left out makes the
trigger of that monitor forget its frame, so that no frame's interval spans what was left out.
"""

from __future__ import annotations

import hashlib
import io
import logging
import uuid
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from PIL import Image

from capture.core.clock import Clock
from capture.difference import TILE, FilmFilter, FlickerFilter, changed_tiles
from capture.ledger import Ledger
from capture.page_text import Tellers
from capture.privacy import Verdict
from capture.screens.protocol import Pixels, Screenshot
from capture.status import Backoff, spool_cause
from capture.windows.idle import Activity, Inactivity
from capture.windows.protocol import Identity
from store.core.errors import StoreError
from store.core.settings import CaptureSettings
from store.core.times import utc_offset_min
from store.spool.queue import WEBP_OF_CAPTURE, Capture, LookReport, Spool

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A screenshot with what privacy says is on it, ready to be compared.

    `due_s` is when the look was due, on a monotonic clock: intervals are counted in due times,
    so that a look that ran late by a few milliseconds does not cost a whole interval.
    """

    shot: Screenshot
    view: Verdict
    due_s: float


@dataclass(frozen=True, slots=True)
class Keep:
    candidate: Candidate
    trigger: Trigger


@dataclass(frozen=True, slots=True)
class Extend:
    capture_id: str
    reason: Literal["unchanged", "restless"]


MOST_REPORTS = 1000
"""Held back while the disk refuses: about three hours."""


class FrameRecorder:
    """The frames and counts of one daemon."""

    def __init__(
        self, spool: Spool, settings: CaptureSettings, clock: Clock, page_text: Tellers | None = None
    ) -> None:
        self.backoff = Backoff()
        self.looks = 0
        self.kept = 0
        self.kept_ms: int | None = None
        self.monitors: tuple[str, ...] = ("",)  # until the first look nobody knows their names
        self._settings = settings
        self._clock = clock
        self._page_text = page_text
        self._spool = spool
        # One thread encodes and writes beside the looks: the encoder lets go of Python's lock.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")
        self._reports: deque[LookReport] = deque()  # in order; those that cannot be written wait
        self._ledger = Ledger(clock.now_ms())
        self._inactivity = Inactivity(settings.idle_after_s, clock.now_ms())
        self._triggers: dict[str, FrameTrigger] = {}
        self._writing: dict[str, tuple[Capture, Future[None]]] = {}  # at most one a monitor

    def follow(self, names: tuple[str, ...]) -> None:
        """From now on these are the monitors looked at."""
        if names != self.monitors:
            intervals = self._settings.interval_s, self._settings.idle_interval_s
            self._triggers = {name: self._triggers.get(name) or FrameTrigger(*intervals) for name in names}
            self.monitors = names

    def begin(self, now_ms: int) -> None:
        """A look at every monitor begins. Counted here, whatever becomes of it."""
        for monitor in self.monitors:
            self._ledger.looked(monitor, now_ms)
        self.looks += len(self.monitors)

    def note_activity(self, activity: Activity, now_ms: int) -> None:
        """What is known of the person, before any look."""
        self._inactivity.read(activity, now_ms)

    def pause(self, now_ms: int, decision: str, reason: str) -> None:
        """Nothing is looked at, and nobody asks for the person either."""
        self._inactivity.left(now_ms)
        self.skip_all(now_ms, decision, reason)

    def record(self, candidate: Candidate, activity: Activity, source: str) -> None:
        """Keep this look, or extend the frame before it, or let it wait."""
        name, at_ms = candidate.shot.monitor.name, candidate.shot.captured_ms
        trigger = self._triggers[name]
        verdict = trigger.judge(candidate, is_active=activity.is_active, is_writing=name in self._writing)
        if isinstance(verdict, Keep):
            kept = verdict.candidate
            text = self._page_text.ask(kept.view.pages, kept.shot, trigger.news) if self._page_text else None
            capture = self._capture(verdict, source)
            trigger.kept(verdict, capture.capture_id, candidate.due_s)
            written = self._thread.submit(write_frame, self._spool, capture, kept.shot.pixels, text)
            self._writing[name] = capture, written
            self._ledger.kept(name)
        elif isinstance(verdict, Extend):
            self._ledger.deduped(name, at_ms, verdict.reason, verdict.capture_id)
        else:
            self._ledger.deduped(name, at_ms, "waiting", None)

    def extend_all(self, now_ms: int, due_s: float, activity: Activity) -> bool:
        """Count a look without a picture, as nothing was painted since the one before.

        False where a picture is needed.
        """
        extended = {
            monitor: extend
            for monitor in self.monitors
            if (extend := self._triggers[monitor].extended_at(due_s, is_active=activity.is_active))
        }
        if len(extended) < len(self.monitors):
            return False
        self.begin(now_ms)
        for monitor, extend in extended.items():
            self._ledger.deduped(monitor, now_ms, extend.reason, extend.capture_id)
        return True

    @property
    def saw_change(self) -> bool:
        """Whether the last look of any monitor showed other pixels than the one before."""
        return any(trigger.saw_change for trigger in self._triggers.values())

    def record_skipped(self, monitor: str, at_ms: int, decision: str, reason: str) -> None:
        """The look was excluded, paused or failed."""
        self._ledger.skipped(monitor, at_ms, decision, reason)
        self._forget(monitor)

    def skip_all(self, now_ms: int, decision: str, reason: str) -> None:
        """No monitor is looked at, for one reason; looks that began already end so too."""
        if not self._ledger.undecided:
            self.begin(now_ms)
        for monitor in self._ledger.undecided:
            self.record_skipped(monitor, now_ms, decision, reason)

    def lapsed(self, start_ms: int, end_ms: int, decision: str, reason: str) -> None:
        """Nobody looked: the machine was asleep, this program stopped, or the clock was set."""
        self._inactivity.left(end_ms)
        for monitor in self.monitors:
            self._ledger.lapsed(monitor, start_ms, end_ms, decision, reason)
            self._forget(monitor)

    def clock_set_back(self, last_ms: int, now_ms: int) -> None:
        """Times before and after do not mix in one batch."""
        self.flush(last_ms)
        self._ledger = Ledger(now_ms)
        self._inactivity = Inactivity(self._settings.idle_after_s, now_ms)

    def collect(self, *, wait: bool = False) -> None:
        """Take note of the frames that reached the spool, and of those that could not."""
        for monitor, (capture, written) in list(self._writing.items()):
            if not wait and not written.done():
                continue
            del self._writing[monitor]
            error = written.exception()
            if error is not None:
                self._record_lost(monitor, capture, error)
                continue
            self.backoff.clear()
            self.kept += 1
            self.kept_ms = capture.captured_ms

    def flush(self, now_ms: int) -> None:
        """Report every look so far. A frame under way belongs to this batch: it is waited for."""
        self.collect(wait=True)
        for stretch in self._inactivity.take():
            self._ledger.idle(*stretch)
        if report := self._ledger.flush(now_ms):
            self._reports.append(report)
        if len(self._reports) > MOST_REPORTS:
            log.error("a report of %d looks is lost", self._reports.popleft().looks)
        try:
            while self._reports:
                self._spool.put(self._reports[0])
                self._reports.popleft()
        except OSError as error:
            log.warning("%d reports of looks wait for the disk: %s", len(self._reports), error)

    def close(self, now_ms: int) -> None:
        """Leave nothing uncounted."""
        self.flush(now_ms)
        self._thread.shutdown(wait=True)

    def _capture(self, keep: Keep, source: str) -> Capture:
        shot, view = keep.candidate.shot, keep.candidate.view
        identity = view.identity
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
            visible=view.visible,
            places=view.places,
        )

    def _record_lost(self, monitor: str, capture: Capture, error: BaseException) -> None:
        log.error("a frame is lost: %s", error, exc_info=None if isinstance(error, StoreError) else error)
        reason, cause = spool_cause(error)
        self._ledger.lost(monitor, capture.capture_id, self._clock.now_ms(), reason)
        self.backoff.failed(reason, cause, self._clock.monotonic_s())
        self._forget(monitor)

    def _forget(self, monitor: str) -> None:
        trigger = self._triggers.get(monitor)
        if trigger is not None:
            trigger.reset()


SWITCHES_AT_ONCE = 3
"""So many switches are kept at once in `SWITCH_WINDOW_S`; a title that spins faster has to wait."""
SWITCH_WINDOW_S = 5.0
FILM_INTERVAL_S = 10.0
"""At most one frame in this time while only a film changes."""
PAINT_S = 2.0
"""So long a window may bear a new title before it shows what that names: browsers wait for a page's style."""
_PAINTED = 0.25  # of the rows of tiles are other; a title, an address and a line of status take fewer

Trigger = Literal["start", "app_switch", "window_change", "visual_change", "idle_floor"]


class FrameTrigger:
    """Decides for one monitor. Call `judge` for every look, `kept` for every frame accepted.

    A look ends in one of three ways. *Keep* it: the first look, another app (at once), another title or
    address (as soon as the window shows what it names, or might), a
    change of pixels (at most one per interval), or the idle floor (nothing changed for long while the
    person is there). *Extend* the last frame: nothing changed, or only what always flickers, or only a film
    of which a frame was kept a moment ago. *Wait*: something changed too soon after the last frame, or that
    one is still being written. Then the screen of the next allowed moment is kept; if it went back to how
    it was, the picture that waited is.
    """

    def __init__(self, interval_s: float, idle_interval_s: float) -> None:
        self._interval_s = interval_s
        self._idle_interval_s = idle_interval_s
        self._flicker = FlickerFilter()
        self._film = FilmFilter()
        self._kept: tuple[Candidate, str] | None = None  # the last frame, and its capture id
        self._last_due_s: float | None = None  # of the last frame; outlives a reset
        self._previous: Pixels | None = None
        self._changed: npt.NDArray[np.bool_] | None = None
        self._waiting: Keep | None = None
        self._extended: Extend | None = None  # what the last look came to
        self.saw_change = False
        # When a window was first seen with another title, and the picture of the look before.
        self._retitled: tuple[float, Pixels] | None = None
        self._switches: deque[float] = deque(maxlen=SWITCHES_AT_ONCE)

    def judge(
        self, candidate: Candidate, *, is_active: bool, is_writing: bool = False
    ) -> Keep | Extend | None:
        """What becomes of this look, None to wait. `is_writing`: the last frame is still on its way to the
        spool.
        """
        self.saw_change = False
        before = self._previous
        verdict = self._first_verdict(candidate, is_active)
        if isinstance(verdict, Keep) and verdict.trigger == "window_change":
            if not self._shows_title(verdict, before):
                self._extended = None
                return None
        else:
            self._retitled = None
        self._extended = verdict if isinstance(verdict, Extend) and self._waiting is None else None
        if isinstance(verdict, Extend):
            if self._waiting is None:
                return verdict
            verdict = self._waiting  # the screen went back: what waited is the news
        if is_writing or not self._is_allowed(verdict, candidate.due_s):
            self._waiting = verdict
            return None
        return verdict

    @property
    def news(self) -> float:
        """How much of the picture that was judged last is other than the frame before it."""
        return 1.0 if self._changed is None else float(self._changed.mean())

    def extended_at(self, due_s: float, *, is_active: bool) -> Extend | None:
        """What a look of the same pixels as the last one comes to; None where a picture is needed."""
        return None if self._kept is None or self._is_floor(due_s, is_active) else self._extended

    def kept(self, keep: Keep, capture_id: str, due_s: float) -> None:
        """From now on looks are compared with this frame."""
        if keep.trigger in ("app_switch", "window_change"):
            self._switches.append(due_s)
        self._kept = keep.candidate, capture_id
        self._extended = Extend(capture_id, "unchanged") if keep.candidate.due_s == due_s else None
        self._last_due_s = due_s
        self._waiting = self._changed = self._retitled = None

    def reset(self) -> None:
        """Forget what was kept: the next look is a new frame, and no interval spans the gap."""
        self._kept = self._waiting = self._previous = self._changed = self._extended = self._retitled = None

    def _first_verdict(self, candidate: Candidate, is_active: bool) -> Keep | Extend:
        pixels = candidate.shot.pixels
        if self._kept is None:
            self._previous = pixels
            return Keep(candidate, "start")
        kept, capture_id = self._kept
        switch = _switch(kept.view.identity, candidate.view.identity)
        if kept.shot.pixels.shape != pixels.shape:
            self._previous = pixels
            return Keep(candidate, switch or "visual_change")
        verdict = self._compare(kept, capture_id, candidate)
        if switch:
            return Keep(candidate, switch)
        if isinstance(verdict, Extend) and self._is_floor(candidate.due_s, is_active):
            return Keep(candidate, "idle_floor")
        return verdict

    def _shows_title(self, keep: Keep, before: Pixels | None) -> bool:
        """Whether what is seen under another title is other, too, or has had the time to be."""
        pixels, due_s = keep.candidate.shot.pixels, keep.candidate.due_s
        if self._retitled is None:
            if before is None:
                return True
            self._retitled = due_s, before
        since_s, before = self._retitled
        if before.shape != pixels.shape or due_s - since_s >= PAINT_S:
            return True
        return bool(changed_tiles(before, pixels).any(axis=1).mean() >= _PAINTED)

    def _is_floor(self, due_s: float, is_active: bool) -> bool:
        assert self._kept is not None
        return is_active and due_s - self._kept[0].due_s >= self._idle_interval_s

    def _compare(self, kept: Candidate, capture_id: str, candidate: Candidate) -> Keep | Extend:
        pixels, before = candidate.shot.pixels, kept.shot.pixels
        previous, self._previous = self._previous, pixels
        is_of_size = previous is not None and previous.shape == pixels.shape
        step = changed_tiles(previous, pixels) if previous is not None and is_of_size else None
        self.saw_change = step is None or bool(step.any())
        if step is not None:
            self._film.learn(step)
        if step is not None and self.saw_change:
            self._flicker.learn(step, pixels, candidate.due_s)
        if step is None or self._changed is None:
            self._changed = changed_tiles(before, pixels)
        elif self.saw_change:  # elsewhere the difference is what it was
            rows = np.flatnonzero(step.any(axis=1))
            first, end = int(rows[0]), int(rows[-1]) + 1
            band = slice(first * TILE, end * TILE)
            self._changed[first:end] = changed_tiles(before[band], pixels[band])
        if not self._changed.any():
            self._previous = before  # equal pictures: one array is enough
            return Extend(capture_id, "unchanged")
        if self._flicker.explains(self._changed, before, pixels, candidate.due_s):
            return Extend(capture_id, "restless")
        is_early = candidate.due_s - kept.due_s < FILM_INTERVAL_S
        if is_early and self.saw_change and self._film.explains(self._changed, pixels):
            return Extend(capture_id, "restless")
        return Keep(candidate, "visual_change")

    def _is_allowed(self, keep: Keep, due_s: float) -> bool:
        if self._last_due_s is None or due_s - self._last_due_s >= self._interval_s - 1e-6:
            return True
        if keep.trigger not in ("app_switch", "window_change"):
            return False
        return len(self._switches) < SWITCHES_AT_ONCE or due_s - self._switches[0] >= SWITCH_WINDOW_S


def _switch(before: Identity, now: Identity) -> Literal["app_switch", "window_change"] | None:
    if (before.app_name, before.focused, before.pid) != (now.app_name, now.focused, now.pid):
        return "app_switch"
    if (before.window_name, before.browser_url) != (now.window_name, now.browser_url):
        return "window_change"
    return None


def encode(pixels: Pixels) -> bytes:
    """A lossless WebP file of BGRX pixels; the unused byte goes, the colours stay bit-exact."""
    height, width = pixels.shape[:2]
    image = Image.frombuffer("RGB", (width, height), pixels, "raw", "BGRX", 0, 1)
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", **WEBP_OF_CAPTURE)
    return buffer.getvalue()


def write_frame(
    spool: Spool, capture: Capture, pixels: Pixels, text: Callable[[], bytes | None] | None = None
) -> None:
    """Encode a frame and put it into the spool; `text` is collected when it is encoded. The frame counts as
    kept only when this has returned. Raises as `Spool.put` does.
    """
    image = encode(pixels)
    spool.put(replace(capture, sha256=hashlib.sha256(image).hexdigest()), image, text() if text else None)
