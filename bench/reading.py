"""Reading: word recall and CPU per golden frame, memory; raw OCR and the other engines beside them.

``bench/incremental.py`` measures the reading of changes.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import tesserocr
from PIL import Image

from bench.report import Report, rss_mb
from engines.ocr.ink import ink_of
from engines.ocr.protocol import OcrEngine, OcrUnavailable, open_ocr
from engines.ocr.tesseract import folder_with, usual_folders
from tests.golden.truth import Found, all_golden, compare, golden

LANGUAGES = ("eng", "chi_sim")
GOALS = {"light": ">= .97", "dark": ">= .96", "mixed": ">= .97", "zh": ">= .97"}


def main(report: Report) -> None:
    engine = open_ocr("auto", LANGUAGES)
    _recall(report, engine)
    report.row("memory", f"{rss_mb(os.getpid()):.0f} MB", goal="<= 600 MB")
    for name in ("tesseract", "rapidocr"):
        _other_engine(report, name)


def _recall(report: Report, engine: OcrEngine) -> None:
    """Recall per group of frames."""
    found: dict[str, list[Found]] = defaultdict(list)
    spent: dict[str, float] = defaultdict(float)
    raw: dict[str, float] = defaultdict(float)
    bare = _BareTesseract()
    for frame in all_golden():
        image = frame.image()
        lines, cpu_s = _timed(partial(engine.read, image))
        found[frame.group].append(compare(frame, lines))
        spent[frame.group] += cpu_s
        raw[frame.group] += _timed(partial(bare.read, image))[1]
    for group, results in sorted(found.items()):
        total, count = reduce(add, results), len(results)
        value = f"{total.recall:.4f}"
        report.row(f"word recall, {group} ({count} frames)", value, goal=GOALS[group])
        report.row("  precision", f"{total.precision:.4f}")
        cost = f"{spent[group] / count * 1000:.0f} ms CPU"
        report.row("  a frame", cost, limit=f"raw OCR call {raw[group] / count * 1000:.0f} ms")
    grey = np.asarray(golden("docs_dark13").image().convert("L"))
    report.row("ink of a frame", f"{_timed(lambda: ink_of(grey))[1] * 1000:.0f} ms CPU")


class _BareTesseract:
    """Tesseract on the plain picture, nothing prepared: what any reading costs at least."""

    def __init__(self) -> None:
        folder = folder_with(("eng",), list(usual_folders()))
        self._api = tesserocr.PyTessBaseAPI(path=f"{folder}/", lang="eng", psm=tesserocr.PSM.SPARSE_TEXT)

    def read(self, image: Image.Image) -> None:
        self._api.SetImage(image)
        self._api.Recognize()
        self._api.Clear()


def _other_engine(report: Report, name: str) -> None:
    try:
        engine = open_ocr(name, LANGUAGES)
    except OcrUnavailable as error:
        report.line(f"  {name}: {error}")
        return
    frame = golden("docs_dark13")
    lines, cpu_s = _timed(lambda: engine.read(frame.image()))
    recall = compare(frame, lines).recall
    # pytesseract's work is done by a child process, whose CPU time counts here too.
    report.row(f"{name}, one dark page", f"{recall:.3f}", limit=f"{cpu_s * 1000:.0f} ms CPU")
    engine.close()


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The answer, and the CPU seconds of this process and its children."""
    started = _cpu()
    answer = call()
    return answer, _cpu() - started


def _cpu() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
