from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from engines.ocr.protocol import OcrEngine, OcrError, OcrLine, OcrUnavailable, open_ocr
from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.reading import reader
from ingest.reading.backlog import FRESH_MS, Backlog
from ingest.reading.reader import DEATHS, RETRY_AFTER_MS, CrashGuard, ReaderLoop
from ingest.reading.secret_masking import Mask
from ingest.worker.assembly import engine_of
from store.core import allocator, preferences
from store.core.settings import PrivacySettings, Settings
from store.frames import frames
from store.frames.frames import FrameRow
from store.ocr import readings
from store.search import search
from store.search.filters import Filters
from store.timeline import segments
from tests.factories import NOON_MS, picture, store_frame
from tests.ingest.conftest import ScriptedEngine, opener


class Desk:
    """One reader loop with a clock that a test turns."""

    def __init__(self, home: Home, open_engine: Callable[[], OcrEngine]) -> None:
        self.home = home
        self.now_ms = NOON_MS + 60_000
        self.stats = WorkerStats(lambda: self.now_ms)
        self.backlog = Backlog(home.database, lambda: self.now_ms)
        self.loop = ReaderLoop(
            home, self.backlog, self.stats, open_engine, lambda: self.now_ms, threading.Event()
        )

    def work(self) -> int:
        """Steps until nothing is left; returns how many."""
        steps = 0
        while self.loop.step():
            steps += 1
        return steps


def fresh(home: Home, frame: FrameRow) -> FrameRow:
    return frames.get(home.database, frame.id)


def found(home: Home, words: str) -> list[int]:
    page = search.search(home.database, words, Filters(NOON_MS - 1000, NOON_MS + 1000_000))
    return [hit.frame_id for hit in page.hits]


def test_a_stored_frame_becomes_searchable(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    desk = Desk(home, opener(ScriptedEngine("quarterly report\nhttps://example.com/a see")))
    assert desk.work() == 1
    now = fresh(home, frame)
    assert (now.status, now.read_ms) == ("searchable", desk.now_ms)
    assert found(home, "quarterly") == [frame.id]
    reading = readings.current_reading(home.database, frame.id)
    assert reading is not None and (reading.engine, reading.language) == ("scripted 1", "eng")
    assert reading.text == "quarterly report\nhttps://example.com/a see"
    (box,) = readings.boxes_for_span(reading, 10, 16)
    assert box == readings.Box(4 + 8 * 10, 4, 8 * 6, 14)
    assert readings.urls(home.database, frame.id) == ["https://example.com/a"]
    assert (desk.stats["read"], desk.stats.known.engine) == (1, "scripted")


def test_the_address_field_of_a_browser_fills_in_what_capture_did_not_know(home: Home) -> None:
    engine = ScriptedEngine("File Edit View\nexample.com/orders/17\nYour orders")
    desk = Desk(home, opener(engine))

    def show(at_ms: int, title: str) -> FrameRow:
        frame = store_frame(
            home.database, home.data_dir, at_ms, image=picture(at_ms, size=(800, 600)),
            app_name="Chromium", window_name=title,
        )  # fmt: skip
        with home.database.write() as connection:
            segments.heartbeat(connection, frame)
        desk.work()
        return frame

    frame = show(NOON_MS, "Orders")
    assert fresh(home, frame).browser_url is None  # it may be typed, or on its way
    engine.text = "File Edit View\nexample.com/basket\nYour basket"
    show(NOON_MS + 2000, "Basket")
    assert fresh(home, frame).browser_url == "https://example.com/orders/17"
    by_url = Filters(NOON_MS, NOON_MS + 1, browser_url="example.com/orders")
    assert [hit.frame_id for hit in search.search(home.database, "", by_url).hits] == [frame.id]
    segment, _ = segments.segments(home.database, NOON_MS, NOON_MS + 10_000)
    assert segment.browser_url == "https://example.com/orders/17"


def test_an_address_that_capture_knew_is_never_replaced(home: Home) -> None:
    frame = store_frame(
        home.database, home.data_dir, app_name="Chromium", browser_url="https://known.example/"
    )
    Desk(home, opener(ScriptedEngine("example.com/orders/17"))).work()
    assert fresh(home, frame).browser_url == "https://known.example/"


def test_a_failing_reading_is_a_state_with_a_bounded_number_of_tries(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    engine = ScriptedEngine(errors=[OcrError("page too odd")] * 99)
    desk = Desk(home, opener(engine))
    for wait_ms in RETRY_AFTER_MS:
        assert desk.work() == 1
        now = fresh(home, frame)
        assert (now.status, now.reading_error) == ("stored", "page too odd")
        assert now.reading_next_ms == desk.now_ms + wait_ms
        desk.now_ms += wait_ms
    assert desk.work() == 1
    now = fresh(home, frame)
    assert (now.status, now.reading_attempts, engine.reads) == ("failed", 5, 5)
    desk.now_ms += 10**9
    assert desk.work() == 0
    assert readings.current_reading(home.database, frame.id) is None
    assert found(home, "") == [frame.id]  # still found by app and time
    assert desk.stats["reading_failed"] == 1


def test_one_bad_frame_does_not_stop_the_next(home: Home) -> None:
    good = store_frame(home.database, home.data_dir, NOON_MS)
    bad = store_frame(home.database, home.data_dir, NOON_MS + 1)  # the newest is read first
    engine = ScriptedEngine(errors=[ZeroDivisionError("secret words of the screen")])
    desk = Desk(home, opener(engine))
    assert desk.work() == 2
    assert fresh(home, bad).reading_error == "ZeroDivisionError"
    assert fresh(home, good).status == "searchable"
    assert engine.is_closed  # opened afresh after the failure


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody tells how long a thread waited")
def test_after_an_old_frame_a_processor_that_others_want_is_left_to_them(home: Home) -> None:
    class Working(ScriptedEngine):
        def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
            end_s = time.thread_time() + 0.1
            while time.thread_time() < end_s:
                pass
            return super().read(image)

    def share_of(frame: FrameRow) -> float:
        """Of a processor that another program wants, while this frame is read and until the next one is."""
        before_s, cpu_s = time.monotonic(), time.thread_time()
        assert desk.loop.step() and fresh(home, frame).status == "searchable"
        return (time.thread_time() - cpu_s) / (time.monotonic() - before_s)

    desk = Desk(home, opener(Working()))
    assert not desk.loop.step()  # the engine is open
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})  # of this thread, and of what it starts
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        of_now = share_of(store_frame(home.database, home.data_dir, desk.now_ms))
        of_old = share_of(store_frame(home.database, home.data_dir, desk.now_ms - FRESH_MS - 1))
    finally:
        other.kill()
        other.wait()
        os.sched_setaffinity(0, processors)
    assert of_old < 0.5 * of_now, (of_old, of_now)


def test_no_screen_text_reaches_the_log(home: Home, caplog: pytest.LogCaptureFixture) -> None:
    store_frame(home.database, home.data_dir)
    store_frame(home.database, home.data_dir, NOON_MS + 1)
    with caplog.at_level(logging.DEBUG):
        Desk(home, opener(ScriptedEngine("tulip", errors=[ValueError("tulip")]))).work()
    assert "in _read_blocks" in caplog.text and "tulip" not in caplog.text


def test_without_an_engine_frames_wait_and_are_read_when_it_comes(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = store_frame(home.database, home.data_dir)
    engines: list[OcrEngine] = []

    def open_engine() -> OcrEngine:
        if not engines:
            raise OcrUnavailable("no Tesseract; apt install tesseract-ocr")
        return engines[0]

    monkeypatch.setattr("ingest.reading.reader.ENGINE_RETRY_S", 0.0)
    desk = Desk(home, open_engine)
    desk.work()
    now = fresh(home, frame)
    assert (now.reading_state, now.status) == ("unavailable", "stored")
    assert now.reading_error == "no Tesseract; apt install tesseract-ocr"
    assert desk.stats.known.engine_problem == now.reading_error
    assert now.reading_attempts == 0
    engines.append(ScriptedEngine("found again"))
    desk.work()
    assert fresh(home, frame).status == "searchable"
    assert desk.stats.known.engine_problem == ""


def masking(home: Home) -> Home:
    return replace(home, settings=Settings(privacy=PrivacySettings(mask_secrets=True)))


def test_where_it_is_wanted_a_secret_is_neither_stored_nor_found(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    address = "https://example.com/?key=ghp_1Xb8Kd93mQz7Lw2Rt5Yv6Np4Hs0Gc3Fj9Ae1"
    desk = Desk(masking(home), opener(ScriptedEngine(f"Password: kestrel-Oak7\n{address}\nnext week")))
    desk.work()
    reading = readings.current_reading(home.database, frame.id)
    assert reading is not None
    assert [line.text for line in reading.lines] == ["Password: ••••", "••••", "next week"]
    assert [found(home, words) for words in ("kestrel", "oak7", "example")] == [[], [], []]
    assert found(home, "next") == [frame.id]


def test_nothing_is_read_where_secrets_cannot_be_masked(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "open_mask", no_library)
    frame = store_frame(home.database, home.data_dir)
    desk = Desk(masking(home), opener(ScriptedEngine("Password: kestrel-Oak7")))
    desk.work()
    assert fresh(home, frame).reading_state == "unavailable"
    assert "bc-detect-secrets" in desk.stats.known.engine_problem


def no_library() -> Mask:
    raise OcrUnavailable("pip install bc-detect-secrets")


def test_an_engine_that_breaks_while_it_opens_is_a_problem_that_is_said(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    desk = Desk(home, lambda: open_ocr("eng", None))  # type: ignore[arg-type]
    desk.work()
    assert fresh(home, frame).reading_state == "unavailable"
    assert desk.loop.is_ready.is_set()
    desk = Desk(home, lambda: open_ocr("no such engine", ["eng"]))
    desk.work()
    assert "unknown OCR engine" in desk.stats.known.engine_problem


def test_languages_that_are_chosen_meanwhile_are_read_from_the_next_frame_on(home: Home) -> None:
    desk, settings = Desk(home, engine_of(home)), home.settings.ocr

    def read(n: int) -> str:
        frame = store_frame(home.database, home.data_dir, NOON_MS + n)
        desk.work()
        reading = readings.current_reading(home.database, frame.id)
        return reading.language if reading else fresh(home, frame).reading_error or ""

    assert read(0) == "+".join(settings.languages)
    preferences.choose_reading_languages(home.database, ["eng", "no_such"], settings)
    assert "no data for no_such; run: " in read(1)
    preferences.choose_reading_languages(home.database, ["eng"], settings)
    assert (read(2), desk.stats.known.engine_problem) == ("eng", "")
    preferences.choose_reading_languages(home.database, settings.languages, settings)
    assert read(3) == "+".join(settings.languages)
    assert preferences.get_preference(home.database, "ocr.languages") is None


def test_a_missing_engine_is_not_tried_at_every_step(home: Home) -> None:
    tries = []

    def open_engine() -> OcrEngine:
        tries.append(1)
        raise OcrUnavailable("none")

    desk = Desk(home, open_engine)
    for n in range(5):
        store_frame(home.database, home.data_dir, NOON_MS + n)
        desk.work()
    assert len(tries) == 1


def test_a_frame_deleted_while_it_is_read_is_no_error(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    engine = ScriptedEngine()
    desk = Desk(home, opener(engine))
    read = engine.read

    def delete_and_read(image: Image.Image, mask: Image.Image | None = None) -> object:
        with home.database.write() as connection:
            connection.execute("delete from frames where id = ?", (frame.id,))
        return read(image, mask)

    engine.read = delete_and_read  # type: ignore[method-assign, assignment]
    desk.work()
    with home.database.read() as connection:
        assert connection.execute("select count(*) from readings").fetchone() == (0,)
    assert (desk.stats["reading_failed"], desk.stats["reading_postponed"]) == (0, 0)


def test_a_frame_whose_picture_is_gone_is_given_up_with_the_reason(home: Home) -> None:
    """Never another frame's words."""
    frame = store_frame(home.database, home.data_dir)
    path = home.data_dir.media / str(frame.media_path)
    path.write_bytes(path.read_bytes() + b"!")
    engine = ScriptedEngine()
    Desk(home, opener(engine)).work()
    now = fresh(home, frame)
    assert now.status == "failed" and "altered" in str(now.reading_error)
    assert engine.reads == 0


def test_a_frame_at_which_the_worker_keeps_dying_is_postponed(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir)
    for _ in range(DEATHS):
        assert CrashGuard(home.data_dir.spool).begin(frame.id)
        assert fresh(home, frame).reading_attempts == 0
    engine = ScriptedEngine()
    desk = Desk(home, opener(engine))
    desk.work()
    assert (fresh(home, frame).reading_attempts, engine.reads) == (1, 0)
    desk.now_ms += RETRY_AFTER_MS[0]
    desk.work()
    assert fresh(home, frame).status == "searchable"


def test_deaths_at_different_frames_prove_nothing(tmp_path: Path) -> None:
    for frame_id in (1, 2, 1, 2, 1, 2, 1, 2):
        assert CrashGuard(tmp_path).begin(frame_id)
    suspect = CrashGuard(tmp_path)
    assert suspect.begin(3)
    suspect.end()
    assert list(tmp_path.iterdir()) == []


def test_at_rest_the_last_frame_is_read_whole(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("reader", "incremental"):
        monkeypatch.setattr(f"ingest.reading.{module}.AUDIT_AT_REST", 2)
    monkeypatch.setattr("ingest.reading.reader.REST_S", 0.0)
    for n in range(3):
        store_frame(home.database, home.data_dir, NOON_MS + n, image=picture())
    engine = ScriptedEngine("misread")
    desk = Desk(home, opener(engine))
    desk.loop.step()
    engine.text = "read well"
    desk.work()
    assert len(found(home, "well")) == 1
    state = desk.stats.state("running")
    assert (state.audits, state.audited_words, state.drifted_words) == (1, 2, 3)
    assert engine.reads == 2


def test_tesseract_reads_a_rendered_screen(home: Home) -> None:
    """The real engine, from picture to hit."""
    image = Image.new("RGB", (900, 300), "#1e1e1e")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(22)
    draw.text((40, 40), "Invoice 4711 for the walnut desk", fill="#dddddd", font=font)
    draw.text((40, 120), "see https://shop.example.com/orders", fill="#88ccff", font=font)
    frame = store_frame(home.database, home.data_dir, image=image)
    engine = open_ocr("auto", ["eng"])
    Desk(home, lambda: engine).work()
    assert found(home, "walnut") == found(home, "4711") == [frame.id]
    reading = readings.current_reading(home.database, frame.id)
    assert reading is not None
    at = reading.text.index("walnut")
    (box,) = readings.boxes_for_span(reading, at, at + 6)
    assert 40 < box.x < 500 and 30 < box.y < 80
    engine.close()


def test_memory_is_given_back_when_the_engine_let_go_of_models(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, trimmed = ScriptedEngine("once"), []
    store_frame(home.database, home.data_dir)
    desk = Desk(home, opener(engine))
    desk.loop.idle_s = 0
    monkeypatch.setattr(allocator, "trim_freed_memory", lambda: trimmed.append(len(trimmed)))
    desk.loop.rest()  # before an engine was opened
    desk.work()
    desk.loop.rest()  # with one that keeps what it has
    assert not trimmed
    engine.rest = iter([True, False]).__next__
    desk.loop.rest()
    desk.loop.rest()
    assert trimmed == [0]


def test_memory_that_readings_take_again_is_given_back_once_at_rest(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    trimmed: list[int] = []
    store_frame(home.database, home.data_dir)
    desk = Desk(home, opener(ScriptedEngine("once")))
    desk.loop.idle_s = 0
    monkeypatch.setattr(allocator, "trim_freed_memory", lambda: trimmed.append(len(trimmed)))
    desk.work()
    desk.loop.rest()
    assert not trimmed  # the next frame may come
    monkeypatch.setattr(reader, "REST_S", 0.0)
    desk.loop.rest()
    desk.loop.rest()
    assert trimmed == [0]
