"""Step two: stored frames get their text, in a thread of their own.

Storing never waits for this: the two steps share only the database. A failure is a state
with a reason and a next try, never an empty text. Without an engine frames are marked
unavailable and stay findable by app, window, address and time; once a minute the engine is tried
again, and when it opens they are all queued.

Tesseract gives up the interpreter's lock while it reads, so threads are enough.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from PIL import Image

from engines.ocr.check_boxes import with_ticks
from engines.ocr.icons import without_icons
from engines.ocr.protocol import Box, OcrEngine, OcrError, OcrLine, OcrWord, Versions
from engines.registry import UnknownName
from ingest.core.home import Home
from ingest.core.step_loop import StepLoop, waited_s
from ingest.core.worker_stats import WorkerStats
from ingest.reading import address_field, urls
from ingest.reading.backlog import FRESH_MS, Backlog
from ingest.reading.incremental import AUDIT_AT_REST, IncrementalReader
from ingest.reading.page_text import Told, told_of
from ingest.reading.secret_masking import open_mask
from store.core import allocator
from store.core.database import Database
from store.core.errors import MediaGone, NotFound, StoreBusy, stack_of
from store.core.paths import replace_file
from store.core.preferences import reading_languages
from store.core.translation import N_
from store.frames import frames
from store.frames.frames import FrameRow
from store.ocr import readings
from store.ocr.readings import Box as StoredBox
from store.ocr.readings import DraftLine, DraftWord, TextDraft
from store.spool.page_text import PageText

log = logging.getLogger(__name__)

RETRY_AFTER_MS = (5_000, 30_000, 120_000, 600_000)
"""Waits between the tries at one frame; after the last try it is given up."""
ENGINE_RETRY_S = 60.0
REST_S = 10.0
"""Nothing to read for so long: time to read the last frame whole, if much of it was kept."""
STILL_S = 12.0
"""No other frame for so long: what moved stands still now. Of a film one is captured every ten seconds."""
_GIVES_WAY = 8
"""After an old frame it rests so many times as long as others kept it from a processor: of one that two want
it takes a tenth. What is on the screen now may be waited for, and ends that rest.
"""
_PARKED_AT_ONCE = 500

OpenEngine = Callable[[], OcrEngine]


class ReaderLoop(StepLoop):
    """One reader. Opens its engine in its own thread, because engines belong to threads."""

    work = "reading"
    idle_s = 0.5
    comes_last = False

    def __init__(
        self,
        home: Home,
        backlog: Backlog,
        stats: WorkerStats,
        open_engine: OpenEngine,
        clock: Callable[[], int],
        stop: threading.Event,
        number: int = 0,
    ) -> None:
        super().__init__(f"reader-{number}", home.database, stats, stop)
        self._home = home
        self._backlog = backlog
        self._open_engine = open_engine
        self._clock = clock
        self._crash_guard = CrashGuard(home.data_dir.spool, number)
        self._engine: OcrEngine | None = None
        self._reader: IncrementalReader | None = None
        self._languages: tuple[str, ...] = ()  # that were chosen when the engine was opened
        self._next_open_s = 0.0
        self._last: tuple[FrameRow, float] | None = None  # read last, and when (time.monotonic())
        self.versions: Versions | None = None  # of the engine, once one was opened
        self.is_ready = threading.Event()  # the engine was tried, and waiting frames were queued
        self.reading_since: float | None = None  # time.monotonic() of the read under way
        self._freed_s: float | None = None  # when a read ended whose memory was not given back

    def step(self) -> bool:
        """Read a frame, or set frames aside without an engine; False when all is done."""
        reader = self._ready_reader()
        if reader is None:
            return self._mark_unavailable()
        frame = self._backlog.take()
        if frame is None:
            return self._read_at_rest(reader)
        before_s = waited_s()
        try:
            self._read(reader, frame)
            self._last = frame, time.monotonic()
        finally:
            self._backlog.done(frame)
        if frame.captured_ms < self._clock() - FRESH_MS:
            self._backlog.wait(_GIVES_WAY * (waited_s() - before_s))
        return True

    def on_busy(self, sentence: str) -> None:
        self._stats.error(sentence)

    def rest(self) -> None:
        allocator.rest(self._engine)
        if self._freed_s is not None and time.monotonic() - self._freed_s >= REST_S:
            self._freed_s = None
            allocator.trim_freed_memory()
        self._backlog.wait(self.idle_s)

    def _ready_reader(self) -> IncrementalReader | None:
        languages = reading_languages(self._home.database, self._home.settings.ocr)
        if languages != self._languages:
            self.close()
            self._languages, self.versions = languages, None
        if self._reader is None and time.monotonic() >= self._next_open_s:
            try:
                self._open()
            finally:
                self.is_ready.set()
        return self._reader

    def _open(self) -> None:
        self._next_open_s = time.monotonic() + ENGINE_RETRY_S
        try:
            if self._home.settings.privacy.mask_secrets:
                open_mask()
            self._engine = self._open_engine()
        except Exception as error:
            # Loading foreign code: whatever it raises, frames are still to be stored and found.
            expected = isinstance(error, OcrError | UnknownName)
            problem = str(error) if expected else f"the OCR engine does not open ({type(error).__name__})"
            if self._stats.known.engine_problem != problem:
                log.warning("no text can be read: %s", problem, exc_info=not expected)
            self._stats.tell(engine="", engine_problem=problem)
            return
        self._reader = IncrementalReader(self._engine, self._stats.audited)
        self.versions = Versions.of(self._engine)
        self._stats.tell(engine=self._engine.name, engine_problem="")
        with self._home.database.write() as connection:
            queued = readings.requeue_unavailable(connection)
        log.info("%s reads %s, %d frames had waited", self._engine.name, self._engine.languages, queued)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = self._reader = None
        self._next_open_s = 0.0

    def _mark_unavailable(self) -> bool:
        """Without an engine: mark what is due as unavailable, with the reason."""
        due = readings.pending_frames(self._home.database, self._clock(), _PARKED_AT_ONCE)
        if not due:
            return False
        with self._home.database.write() as connection:
            for frame in due:
                readings.mark_unavailable(connection, frame.id, self._stats.known.engine_problem)
        for _ in due:
            self._stats.count("parked")
        return True

    def _read_at_rest(self, reader: IncrementalReader) -> bool:
        """The last frame once more, if something was left unread or much was kept."""
        if self._last is None or not (reader.left_unread or reader.since_whole >= AUDIT_AT_REST):
            return False
        frame, read_s = self._last
        if time.monotonic() - read_s < (STILL_S if reader.left_unread else REST_S):
            return False
        self._last = None
        self._read(reader, frame, at_rest=True)
        return True

    def _read(self, reader: IncrementalReader, frame: FrameRow, *, at_rest: bool = False) -> None:
        if not self._crash_guard.begin(frame.id):
            self._failed(frame, "the worker died while it read this frame")
            return
        self.reading_since = started = time.monotonic()
        try:
            image = self._home.media.image(frame)
            told = self._told(frame, image)
            lines = reader.read(
                frame.monitor, image, captured_ms=frame.captured_ms, at_rest=at_rest, told=told
            )
            duration_ms = round((time.monotonic() - started) * 1000)
            assert self.versions is not None
            store_lines(self._home, frame, self.versions, lines, duration_ms, self._clock())
            self._stats.count("read")
        except MediaGone as error:
            self._gone(frame, error)
        except (StoreBusy, NotFound):
            raise
        except Exception as error:
            # Engines are foreign code: any failure is this frame's, and the engine starts afresh.
            # Only our own errors may be quoted: a foreign message could hold screen text.
            reason = str(error) if isinstance(error, OcrError) else type(error).__name__
            log.warning("frame %d could not be read: %s\n%s", frame.id, reason, stack_of(error))
            self._failed(frame, reason[:200])
            self.close()
        finally:
            self.reading_since, self._freed_s = None, time.monotonic()
            self._crash_guard.end()

    def _told(self, frame: FrameRow, image: Image.Image) -> Told | None:
        assert self._engine is not None
        return told_of(*told_before(self._home.database, frame), image, self._engine)

    def _gone(self, frame: FrameRow, error: MediaGone) -> None:
        with self._home.database.write() as connection:
            if not _exists(self._home, frame):
                return
            readings.mark_reading_failed(connection, frame.id, str(error), None)
        log.error("frame %d: %s", frame.id, error)
        self._stats.count("reading_failed")
        self._stats.error(str(error))

    def _failed(self, frame: FrameRow, reason: str) -> None:
        waits_ms = RETRY_AFTER_MS[frame.reading_attempts :]
        next_ms = self._clock() + waits_ms[0] if waits_ms else None
        with self._home.database.write() as connection:
            readings.mark_reading_failed(connection, frame.id, reason, next_ms)
        self._stats.count("reading_failed" if next_ms is None else "reading_postponed")
        self._stats.error(N_(f"frame {frame.id} could not be read: {reason}"))


def _exists(home: Home, frame: FrameRow) -> bool:
    """Whether this very frame is there: the id of a deleted one may be given again within its millisecond."""
    now = frames.get_many(home.database, [frame.id]).get(frame.id)
    return now is not None and now.capture_id == frame.capture_id


def told_before(database: Database, frame: FrameRow) -> tuple[list[PageText], list[OcrWord]]:
    """What programs told of a frame that is not proved yet, and what was proved when it was read before."""
    pages = readings.page_texts(database, frame.id)
    earlier = None if pages else readings.current_reading(database, frame.id)
    told = [w for line in earlier.lines for w in line.words if w.source != "read"] if earlier else []
    return pages, [OcrWord(w.text, Box(*w.box), w.confidence or 1.0, w.source, w.checked) for w in told]


def store_lines(
    home: Home, frame: FrameRow, by: Versions, lines: Sequence[OcrLine], duration_ms: int, now_ms: int
) -> None:
    """Let this be the text of a frame, with the addresses in it; nothing if it was deleted meanwhile."""
    if home.settings.privacy.mask_secrets:
        lines = open_mask()(lines)
    draft = _draft_of(by, lines, duration_ms)
    addresses = urls.urls_in_text(line.text for line in lines)
    with home.database.write() as connection:
        if not _exists(home, frame):
            return
        readings.add(connection, frame.id, draft, addresses, now_ms)
    address_field.settle(home.database, frame)


def _draft_of(by: Versions, lines: Iterable[OcrLine], duration_ms: int) -> TextDraft:
    """What an engine read, as it is stored."""
    return TextDraft(
        tuple(map(_draft, without_icons(with_ticks(lines)))), by.label, "+".join(by.languages), duration_ms
    )


def _draft(line: OcrLine) -> DraftLine:
    words = tuple(map(_draft_word, line.words))
    confidence = None if all(word.confidence is None for word in words) else line.confidence
    return DraftLine(_stored(line.box), confidence, words, line.text)


def _draft_word(word: OcrWord) -> DraftWord:
    """How sure an engine was is known of what it read only."""
    confidence = word.confidence if word.source == "read" else None
    return DraftWord(word.text, _stored(word.box), confidence, word.source, word.checked)


def _stored(box: Box) -> StoredBox:
    return StoredBox(box.x, box.y, box.w, box.h)


DEATHS = 3


class CrashGuard:
    """Ends a restart loop: a frame that kills the worker is not read for ever. One file per reader thread.

    The id of a frame goes into the file before it is read, and out of it afterwards. A file found at start-up
    names the frame at which the last worker died. One death proves nothing (somebody may have killed
    it); after `DEATHS` at the same frame it counts as a failed reading.
    """

    def __init__(self, folder: Path, number: int = 0) -> None:
        self._path = folder / f"reading-{number}.json"
        self._before: tuple[int | None, int] = (None, 0)
        with suppress(OSError, ValueError, TypeError):
            frame_id, deaths = json.loads(self._path.read_bytes())
            self._before = int(frame_id), int(deaths)

    def begin(self, frame_id: int) -> bool:
        """Note that this frame is being read now; False when it has killed the worker too often."""
        died_at, deaths = self._before
        deaths = deaths if died_at == frame_id else 0
        if deaths >= DEATHS:
            self.end()
            return False
        # Written as if this reading dies too: that is what it means when it is found.
        replace_file(self._path, json.dumps([frame_id, deaths + 1]).encode(), durable=False)
        return True

    def end(self) -> None:
        """The frame has an outcome."""
        self._before = (None, 0)
        self._path.unlink(missing_ok=True)
