from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from engines.ocr import languages, tesseract
from engines.ocr.protocol import OcrEngine, OcrError, OcrLine, OcrUnavailable
from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.worker import worker
from ingest.worker.assembly import worker_of
from ingest.worker.worker import RESTART_EXIT_CODE, Worker, used_bytes
from store.core.preferences import choose_reading_languages, reading_languages
from store.core.settings import OcrSettings, Settings
from store.frames import frames
from store.ocr import readings
from store.spool import process_state
from store.verify.verify import verify
from tests.factories import NOON_MS, picture, store_frame
from tests.ingest.conftest import ScriptedEngine, opener, queue


class SlowEngine(ScriptedEngine):
    """Reads for as long as a test wants."""

    def __init__(self) -> None:
        super().__init__()
        self.is_reading = threading.Event()
        self.may_end = threading.Event()

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        self.is_reading.set()
        self.may_end.wait(120)
        return super().read(image)


def running(made: Worker, **options: bool) -> tuple[threading.Thread, list[int]]:
    """A worker that runs in a thread of its own, and where its exit code will be."""
    codes: list[int] = []

    def run() -> None:
        codes.append(made.run(**options))
        made.home.database.close_thread()

    thread = threading.Thread(target=run)
    thread.start()
    return thread, codes


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_once_stores_and_reads_everything_and_ends(home: Home) -> None:
    for n in range(25):
        queue(home, picture(n), captured_ms=NOON_MS + n)
    made = Worker(home, opener(ScriptedEngine()))
    assert made.run(once=True) == 0
    assert made.shortfall() == ""
    assert verify(home.database, home.media, home.spool).counts["frames read"] == 25
    state = process_state.IngestState.read(home.data_dir.spool)
    assert state is not None
    assert (state.state, state.engine, state.engine_problem) == ("stopped", "scripted", "")
    assert state.reads_per_minute > 0


def test_several_readers_read_each_frame_once(home: Home) -> None:
    settings = Settings(ocr=OcrSettings(workers=3))
    many = Home(settings, home.data_dir, home.database, home.spool, home.media)
    for n in range(40):
        store_frame(home.database, home.data_dir, NOON_MS + n)
    engines: list[ScriptedEngine] = []

    def open_engine() -> OcrEngine:
        engines.append(ScriptedEngine())
        return engines[-1]

    Worker(many, open_engine).run(once=True)
    assert len(engines) == 3
    assert readings.count_pending(home.database) == 0
    with home.database.read() as connection:
        assert connection.execute("select count(*) from readings").fetchone() == (40,)


def test_storing_goes_on_while_a_read_takes_its_time(home: Home) -> None:
    """A slow recognition is a backlog, not a gap."""
    engine = SlowEngine()
    store_frame(home.database, home.data_dir, NOON_MS)
    made = Worker(home, opener(engine))
    thread, codes = running(made)
    assert engine.is_reading.wait(60)
    record = queue(home, picture(3), captured_ms=NOON_MS + 1)
    until(lambda: frames.by_capture_id(home.database, record.capture_id))
    assert readings.count_pending(home.database) == 2
    engine.may_end.set()
    until(lambda: readings.count_pending(home.database) == 0)
    made.stop()
    thread.join(60)
    assert codes == [0] and made.was_stopped


def test_what_waits_to_be_stored_goes_before_what_waits_to_be_read(home: Home) -> None:
    """Storing takes a hundredth of what reading does, and what is not stored yet cannot be seen."""
    waiting: list[int] = []

    class Watching(ScriptedEngine):
        def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
            waiting.append(len(home.spool.waiting()))
            return super().read(image)

    for n in range(40):
        queue(home, picture(n), captured_ms=NOON_MS + n)
    assert Worker(home, opener(Watching())).run(once=True) == 0
    # The first reading may have begun before it was known how many wait.
    assert len(waiting) == 40 and max(waiting[1:]) <= 10, waiting


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere threads have no priority of their own")
def test_what_the_screen_shows_is_read_at_the_priority_of_storing(home: Home) -> None:
    """Ten times lower it came half a minute late while other programs kept all processors busy."""
    nice: list[int] = []

    class Watching(ScriptedEngine):
        def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
            nice.append(os.getpriority(os.PRIO_PROCESS, 0))
            return super().read(image)

    queue(home)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert Worker(home, opener(Watching())).run(once=True) == 0
    assert nice == [own] and os.getpriority(os.PRIO_PROCESS, 0) == own


def test_a_stop_abandons_the_read_under_way_and_its_frame_waits(home: Home) -> None:
    engine = SlowEngine()
    frame = store_frame(home.database, home.data_dir)
    made = Worker(home, opener(engine))
    thread, codes = running(made)
    assert engine.is_reading.wait(60)
    made.stop()
    thread.join(60)
    assert codes == [0] and made.is_reading
    assert frames.get(home.database, frame.id).reading_state == "pending"
    state = process_state.IngestState.read(home.data_dir.spool)
    assert state is not None and state.state == "stopped"
    engine.may_end.set()


def test_too_much_memory_ends_the_worker_so_that_it_is_started_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        worker, "used_bytes", lambda: worker.MEMORY_LIMIT_BYTES + worker.MEMORY_OF_PACKING_BYTES + 1
    )
    assert Worker(home, opener(ScriptedEngine())).run() == RESTART_EXIT_CODE


def test_a_read_that_does_not_end_ends_the_worker(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LONGEST_READ_S", 0.0)
    monkeypatch.setattr(worker, "_CHECK_EVERY_S", 0.0)
    engine = SlowEngine()
    store_frame(home.database, home.data_dir)
    assert Worker(home, opener(engine)).run() == RESTART_EXIT_CODE
    engine.may_end.set()


def test_the_memory_in_use_is_known() -> None:
    assert 10_000_000 < used_bytes() < 10_000_000_000


@pytest.mark.parametrize(
    ("engine", "entry", "expected"),
    [
        (ScriptedEngine(errors=[OcrError("odd")]), None, "could not be read yet"),
        (OcrUnavailable("no Tesseract; apt install it"), None, "frames without text: 1 (no Tesseract"),
        (ScriptedEngine(), b"no picture", "entries set aside in spool/failed: 1"),
    ],
)
def test_once_says_what_it_could_not_do(
    home: Home, engine: ScriptedEngine | Exception, entry: bytes | None, expected: str
) -> None:
    def open_engine() -> OcrEngine:
        if isinstance(engine, Exception):
            raise engine
        return engine

    queue(home, entry)
    made = Worker(home, open_engine)
    made.run(once=True)
    assert expected in made.shortfall()


def test_reading_switched_off_is_no_shortfall(home: Home) -> None:
    off = Home(Settings(ocr=OcrSettings(engine="off")), home.data_dir, home.database, home.spool, home.media)

    def open_engine() -> OcrEngine:
        raise OcrUnavailable("reading is switched off")

    queue(home)
    made = Worker(off, open_engine)
    made.run(once=True)
    assert made.shortfall() == "" and made.stats["parked"] == 1


def test_there_is_one_worker_per_home(home: Home) -> None:
    with (
        only_worker(home.data_dir),
        pytest.raises(AlreadyRunning, match="already running"),
        only_worker(home.data_dir),
    ):
        pass
    with only_worker(home.data_dir):
        pass


def test_a_state_file_that_is_unusable_is_no_state(home: Home) -> None:
    assert process_state.IngestState.read(home.data_dir.spool) is None
    path = home.data_dir.spool / process_state.IngestState.FILE
    for content in (b"", b"{", b"[]", b'{"pid": 1}', b'{"languages": []}'):
        path.write_bytes(content)
        assert process_state.IngestState.read(home.data_dir.spool) is None


def test_only_an_empty_home_takes_the_languages_of_the_system(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for code in ("eng", "deu"):
        (tmp_path / f"{code}.traineddata").touch()
    monkeypatch.setattr(tesseract, "usual_folders", lambda: iter([tmp_path]))
    monkeypatch.setattr(languages, "of_person", lambda: ["deu", "fra"])
    by_default = home.settings.ocr.languages
    worker_of(home)
    assert reading_languages(home.database, home.settings.ocr) == (*by_default, "deu")
    choose_reading_languages(home.database, by_default, home.settings.ocr)
    store_frame(home.database, home.data_dir, captured_ms=NOON_MS)
    worker_of(home)
    assert reading_languages(home.database, home.settings.ocr) == by_default
