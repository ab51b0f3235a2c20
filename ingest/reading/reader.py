"""Step two: stored frames get their text, in a thread of their own.

Storing never waits for this: the two steps share only the database (OCR-7). A failure is a state
with a reason and a next try, never an empty text (OCR-2). Without an engine frames are marked
unavailable and stay findable by app, window, address and time; once a minute the engine is tried
again, and when it opens they are all queued.

Tesseract gives up the interpreter's lock while it reads, so threads are enough.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable

from engines.ocr.protocol import OcrEngine, OcrError, OcrLine
from engines.registry import UnknownName
from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.reading import urls
from ingest.reading.backlog import Backlog
from ingest.reading.incognito_badge import BadgeReader
from ingest.reading.reading import IncrementalReader
from ingest.reading.suspect import CrashGuard
from store.core.errors import FrameNotFound, MediaGone, StoreBusy
from store.frames import frames
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box as StoredBox
from store.ocr.readings import DraftLine, DraftWord, TextDraft
from store.timeline import segments

log = logging.getLogger(__name__)

RETRY_AFTER_MS = (5_000, 30_000, 120_000, 600_000)
"""Waits between the tries at one frame; after the last try it is given up."""
ENGINE_RETRY_S = 60.0
_IDLE_S = 0.5
_PARKED_AT_ONCE = 500

OpenEngine = Callable[[], OcrEngine]


class ReaderLoop(threading.Thread):
    """One reader. Opens its engine in its own thread, because engines belong to threads."""

    def __init__(
        self,
        home: Home,
        backlog: Backlog,
        account: WorkerStats,
        open_engine: OpenEngine,
        clock: Callable[[], int],
        stop: threading.Event,
        number: int = 0,
        toolbars: BadgeReader | None = None,
    ) -> None:
        # A daemon: a read that is under way at shutdown is abandoned, its frame stays pending.
        super().__init__(name=f"reader-{number}", daemon=True)
        self._home = home
        self._backlog = backlog
        self._account = account
        self._open_engine = open_engine
        self._clock = clock
        self._stopping = stop
        self._toolbars = toolbars
        self._suspect = CrashGuard(home.data_dir.spool, number)
        self._engine: OcrEngine | None = None
        self._reader: IncrementalReader | None = None
        self._next_open_s = 0.0
        self.is_ready = threading.Event()  # the engine was tried, and waiting frames were queued
        self.reading_since: float | None = None  # time.monotonic() of the read under way

    def run(self) -> None:
        while not self._stopping.is_set():
            try:
                worked = self.step()
            except StoreBusy as error:
                self._account.error(f"the database is busy: {error}")
                worked = False
            except Exception as error:
                # The outermost edge: whatever it is, the next frame may be fine.
                log.exception("reading stumbled")
                self._account.error(f"reading stumbled: {type(error).__name__}")
                worked = False
            if not worked:
                self._backlog.wait(_IDLE_S)
        self._close_engine()
        self._home.database.close_thread()

    def step(self) -> bool:
        """Read a toolbar or a frame, or set frames aside without an engine; False when all is done."""
        reader = self._ready_reader()
        if self._toolbars is not None and self._toolbars.serve(self._engine):
            return True  # the thread that stores waits for it
        if reader is None:
            return self._park()
        frame = self._backlog.take()
        if frame is None:
            return False
        try:
            self._read(reader, frame)
        finally:
            self._backlog.done(frame)
        return True

    # -- the engine -----------------------------------------------------------------------

    def _ready_reader(self) -> IncrementalReader | None:
        if self._reader is None and time.monotonic() >= self._next_open_s:
            try:
                self._open()
            finally:
                self.is_ready.set()
        return self._reader

    def _open(self) -> None:
        self._next_open_s = time.monotonic() + ENGINE_RETRY_S
        try:
            self._engine = self._open_engine()
        except Exception as error:
            # Loading foreign code: whatever it raises, frames are still to be stored and found.
            expected = isinstance(error, OcrError | UnknownName)
            problem = str(error) if expected else f"the OCR engine does not open ({type(error).__name__})"
            if self._account.engine_problem != problem:
                log.warning("no text can be read: %s", problem, exc_info=not expected)
            self._account.say_engine("", (), problem)
            return
        self._reader = IncrementalReader(self._engine)
        self._account.say_engine(self._engine.name, self._engine.languages)
        with self._home.database.write() as connection:
            queued = readings.requeue_unavailable(connection)
        log.info("%s reads %s, %d frames had waited", self._engine.name, self._account.languages, queued)

    def _close_engine(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = self._reader = None
        self._next_open_s = 0.0

    def _park(self) -> bool:
        """Without an engine: mark what is due as unavailable, with the reason."""
        due = readings.pending_frames(self._home.database, self._clock(), _PARKED_AT_ONCE)
        if not due:
            return False
        with self._home.database.write() as connection:
            for frame in due:
                readings.mark_unavailable(connection, frame.id, self._account.engine_problem)
        for _ in due:
            self._account.count("parked")
        return True

    # -- one frame ------------------------------------------------------------------------

    def _read(self, reader: IncrementalReader, frame: FrameRow) -> None:
        if not self._suspect.begin(frame.id):
            self._failed(frame, "the worker died while it read this frame")
            return
        self.reading_since = started = time.monotonic()
        try:
            image = self._home.media.image(frame)
            lines = reader.read(frame.monitor, image)
            duration_ms = round((time.monotonic() - started) * 1000)
            self._store(frame, lines, duration_ms)
        except MediaGone as error:
            self._gone(frame, error)
        except (StoreBusy, FrameNotFound):
            raise
        except Exception as error:
            # Engines are foreign code: any failure is this frame's, and the engine starts afresh.
            # Only our own errors may be quoted: a foreign message could hold screen text.
            reason = str(error) if isinstance(error, OcrError) else type(error).__name__
            log.warning("frame %d could not be read: %s", frame.id, reason)
            self._failed(frame, reason[:200])
            self._close_engine()
        finally:
            self.reading_since = None
            self._suspect.end()

    def _store(self, frame: FrameRow, lines: list[OcrLine], duration_ms: int) -> None:
        assert self._engine is not None
        draft = draft_of(self._engine, lines, duration_ms)
        found = urls.urls_in_text(line.text for line in lines)
        address = None
        if frame.browser_url is None:
            address = urls.address_bar_url(frame.app_name, lines, frame.height_px)
        with self._home.database.write() as connection:
            if not _exists(self._home, frame.id):
                return  # deleted while it was being read
            readings.add(connection, frame.id, draft, found, self._clock())
            if address is not None:
                frames.set_browser_url(connection, frame.id, address)
                segments.rebuild(connection, frame.captured_ms, frame.ended_ms + 1)
        self._account.count("read")

    def _gone(self, frame: FrameRow, error: MediaGone) -> None:
        with self._home.database.write() as connection:
            if not _exists(self._home, frame.id):
                return
            readings.mark_reading_failed(connection, frame.id, str(error), None)
        log.error("frame %d: %s", frame.id, error)
        self._account.count("reading_failed")
        self._account.error(str(error))

    def _failed(self, frame: FrameRow, reason: str) -> None:
        attempt = frame.reading_attempts
        wait_ms = RETRY_AFTER_MS[attempt] if attempt < len(RETRY_AFTER_MS) else None
        next_ms = None if wait_ms is None else self._clock() + wait_ms
        with self._home.database.write() as connection:
            readings.mark_reading_failed(connection, frame.id, reason, next_ms)
        self._account.count("reading_failed" if next_ms is None else "reading_postponed")
        self._account.error(f"frame {frame.id} could not be read: {reason}")


def _exists(home: Home, frame_id: int) -> bool:
    return bool(frames.get_many(home.database, [frame_id]))


def draft_of(engine: OcrEngine, lines: Iterable[OcrLine], duration_ms: int) -> TextDraft:
    """What an engine read, as it is stored."""
    return TextDraft(tuple(map(_draft, lines)), engine.name, "+".join(engine.languages), duration_ms)


def _draft(line: OcrLine) -> DraftLine:
    words = tuple(
        DraftWord(word.text, StoredBox(word.box.x, word.box.y, word.box.w, word.box.h), word.confidence)
        for word in line.words
    )
    box = StoredBox(line.box.x, line.box.y, line.box.w, line.box.h)
    return DraftLine(box, line.confidence, words, line.text)
