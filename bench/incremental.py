"""Incremental reading: stored words against a whole reading of the same frame, and the CPU of both.

Scenes of a desktop are recorded with real programs (`bench.scenes`) and go through the reader as the worker
runs it: from the picture in the store to the stored text. ``RECOLLECT_SCENES`` names a folder that keeps the
recordings, and the whole readings of them, from run to run; ``RECOLLECT_SEED`` draws other pages,
``RECOLLECT_ONLY`` picks scenes by name, ``RECOLLECT_MISSES=1`` lists lost and added words. Korean and Russian
scenes are read where ``RECOLLECT_MORE_LANGUAGES="kor rus"`` says that Tesseract has their data.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench.report import Report
from bench.scenes import TEXTS, Frame, recorded
from engines.ocr.protocol import open_ocr
from ingest.core.home import Home, open_home
from ingest.core.worker_stats import WorkerStats
from ingest.reading.backlog import Backlog
from ingest.reading.reader import ReaderLoop
from store.core.paths import DataDir
from store.core.settings import Settings
from store.frames import frames
from store.ocr import readings
from store.spool.queue import Capture
from tests.golden.truth import tokens

ON_REQUEST = True
LANGUAGES = ("eng", "chi_sim", *os.environ.get("RECOLLECT_MORE_LANGUAGES", "").split())
_START_MS = 1_795_176_000_000


@dataclass(slots=True)
class Tally:
    frames: int = 0
    words: int = 0  # of whole readings
    stored: int = 0
    same: int = 0
    planted: int = 0
    planted_whole: int = 0
    planted_stored: int = 0
    lost: int = 0  # planted sentences that the whole reading has and the stored text has not
    whole_s: float = 0.0
    stored_s: float = 0.0
    misses: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        recall, precision = self.same / max(1, self.words), self.same / max(1, self.stored)
        planted = f"{self.planted:5} {self.planted_whole:5} {self.planted_stored:5} {self.lost:5}"
        whole_ms, stored_ms = self.whole_s / self.frames * 1000, self.stored_s / self.frames * 1000
        costs = f"{whole_ms:6.0f} {stored_ms:6.0f}  {whole_ms / stored_ms:5.1f} x"
        return f"{self.frames:4}  {recall:.4f}  {precision:.4f}  {planted}  {costs}"


_HEAD = f"  {'':<18}   n  recall  precis.  plant whole store  lost  ms all ms inc"


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("RECOLLECT_SCENES", scratch))
        scenes = recorded(folder, int(os.environ.get("RECOLLECT_SEED", "1")))
        total = Tally()
        report.line(_HEAD)
        for name, pictures in scenes.items():
            if os.environ.get("RECOLLECT_ONLY", "") not in name:
                continue
            tally = tally_of(pictures)
            total.add(tally)
            report.line(f"  {name:<18}{tally}")
            for miss in tally.misses if os.environ.get("RECOLLECT_MISSES") else ():
                report.line(f"      {miss}")
        report.line(f"  {'all':<18}{total}")


def tally_of(pictures: list[Frame]) -> Tally:
    """Of the frames of a scene. The first is read whole by both and left out."""
    with tempfile.TemporaryDirectory() as folder:
        return _scene(pictures, Path(folder))


def _scene(pictures: list[Frame], folder: Path) -> Tally:
    data_dir = DataDir(folder)
    data_dir.create()
    home, tally, now = open_home(data_dir, Settings()), Tally(), [_START_MS]
    stats = WorkerStats(lambda: now[0])
    backlog = Backlog(home.database, lambda: now[0])
    loop = ReaderLoop(
        home, backlog, stats, lambda: open_ocr("auto", LANGUAGES), lambda: now[0], threading.Event()
    )
    for number, frame in enumerate(pictures):
        now[0] += 1000
        frame_id = _store(home, frame, now[0])
        began = time.process_time()
        loop.step()
        spent_s = time.process_time() - began
        if number:
            _compare(tally, home, frame_id, frame)
            tally.stored_s += spent_s
    loop.close()
    home.database.close_thread()
    return tally


def _store(home: Home, frame: Frame, now_ms: int) -> int:
    capture = Capture(
        str(uuid.uuid4()),
        now_ms,
        "screen",
        monitor="DP-1",
        app_name="Editor",
        window_name="Bench",
        focused=True,
    )
    still = home.media.keep(frame.image.read_bytes(), "image/webp", now_ms, capture.capture_id)
    with home.database.write() as connection:
        return frames.insert(connection, capture, still, now_ms)


def _compare(tally: Tally, home: Home, frame_id: int, frame: Frame) -> None:
    whole, whole_s = _whole(frame)
    reading = readings.current_reading(home.database, frame_id)
    stored = reading.text if reading else ""
    before, after = _tokens(whole), _tokens(stored)
    same = before & after
    in_whole = {text for text in frame.planted if squeezed(text) in squeezed(whole)}
    in_stored = {text for text in frame.planted if squeezed(text) in squeezed(stored)}
    misses = []
    lost, added = dict(before - same), dict(after - same)
    if lost or added or in_whole - in_stored:
        misses.append(f"{frame.image.stem}: lost {lost} added {added} {in_whole - in_stored or ''}")
    planted = len(set(frame.planted)), len(in_whole), len(in_stored), len(in_whole - in_stored)
    tally.add(Tally(1, before.total(), after.total(), same.total(), *planted, whole_s, 0.0, misses))


def _whole(frame: Frame) -> tuple[str, float]:
    """Text of a whole reading and its CPU seconds, decoding included; remembered beside the picture.

    By an engine that has seen nothing before: it would know rows again.
    """
    path = frame.image.with_suffix(".whole.json")
    if not path.exists():
        engine = open_ocr("auto", LANGUAGES)
        began = time.process_time()
        text = "\n".join(line.text for line in engine.read(frame.open()))
        path.write_text(json.dumps([text, time.process_time() - began]), encoding="utf-8")
        engine.close()
    text, seconds = json.loads(path.read_text(encoding="utf-8"))
    return text, seconds


def _tokens(text: str) -> Counter[str]:
    """Numbers, and words that the scenes are made of: not what pictures and frames are taken for."""
    read = tokens([text], "en") + tokens([text], "zh") + Counter(_OTHER.findall(text.casefold()))
    return Counter({word: count for word, count in read.items() if word in _VOCABULARY or word.isdecimal()})


_OTHER = re.compile("[\u0400-\u04ff\uac00-\ud7af]{2,}")  # Cyrillic, Hangul
_VOCABULARY = tokens(TEXTS, "en") + tokens(TEXTS, "zh") + Counter(_OTHER.findall(" ".join(TEXTS).casefold()))


def squeezed(text: str) -> str:
    return "".join(text.casefold().split())
