"""Reading: word recall and CPU per golden frame, incremental reading, memory; raw OCR beside them.

Sequences (typing, scrolling, switching, a mixed desktop run) are drawn here from the golden frames;
with ``RECOLLECT_SCREENS`` naming a folder of recorded sequences, those are read as well.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import tesserocr
from PIL import Image, ImageDraw, ImageFont

from bench.report import Report, rss_mb
from engines.ocr.protocol import OcrEngine, OcrLine, OcrUnavailable, open_ocr
from engines.ocr.tesseract import folder_with, normalise, usual_folders
from ingest.reading.incremental import IncrementalReader
from tests.golden.truth import Found, all_golden, compare, golden, tokens

LANGUAGES = ("eng", "chi_sim")
GOALS = {"light": ">= .97", "dark": ">= .96", "mixed": ">= .97", "zh": ">= .97"}


def main(report: Report) -> None:
    engine = open_ocr("auto", LANGUAGES)
    raw_s = _recall(report, engine)
    for name, images in _sequences():
        _incremental(report, engine, name, list(images), raw_s)
    report.row("memory with everything remembered", f"{rss_mb(os.getpid()):.0f} MB", goal="<= 600 MB")
    for name in ("tesseract", "rapidocr"):
        _other_engine(report, name)


def _recall(report: Report, engine: OcrEngine) -> float:
    """Recall per group of frames. Returns CPU seconds of a bare OCR call per frame."""
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
    image = golden("docs_dark13").image()
    report.row("normalising a frame", f"{_timed(lambda: normalise(image))[1] * 1000:.0f} ms CPU")
    return sum(raw.values()) / sum(map(len, found.values()))


class _BareTesseract:
    """Tesseract on the plain picture, nothing prepared: what any reading costs at least."""

    def __init__(self) -> None:
        folder = folder_with(("eng",), list(usual_folders()))
        self._api = tesserocr.PyTessBaseAPI(path=f"{folder}/", lang="eng", psm=tesserocr.PSM.SPARSE_TEXT)

    def read(self, image: Image.Image) -> None:
        self._api.SetImage(image)
        self._api.Recognize()
        self._api.Clear()


def _incremental(
    report: Report, engine: OcrEngine, name: str, images: list[Image.Image], raw_s: float
) -> None:
    """The first frame is read whole by both and left out of the figures."""
    reader = IncrementalReader(engine)
    reader.read("bench", images[0])
    incremental_s = full_s = 0.0
    same = total = 0
    for image in images[1:]:
        lines, cpu_s = _timed(partial(reader.read, "bench", image))
        incremental_s += cpu_s
        whole, cpu_s = _timed(partial(engine.read, image))
        full_s += cpu_s
        ours, theirs = _words(lines), _words(whole)
        same, total = same + 2 * (ours & theirs).total(), total + ours.total() + theirs.total()
    count = len(images) - 1
    report.row(
        f"incremental, {name}",
        f"{incremental_s / count * 1000:.0f} ms CPU",
        limit=f"raw OCR call {raw_s * 1000:.0f} ms",
    )
    speed_up, agreement = full_s / incremental_s, same / total
    report.row("  against reading whole", f"{speed_up:.1f} x", limit=f"same words {agreement:.3f}")


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


def _sequences() -> Iterator[tuple[str, Iterable[Image.Image]]]:
    yield "typing into a page", _typing()
    yield "a page scrolling", _scrolling()
    yield "switching windows", _switching()
    recorded = os.environ.get("RECOLLECT_SCREENS")
    for folder in sorted(Path(recorded).iterdir()) if recorded else []:
        files = sorted(folder.glob("[0-9][0-9][0-9].webp"))
        if files:
            yield folder.name, (Image.open(file).convert("RGB") for file in files[:40])


def _typing() -> Iterator[Image.Image]:
    page = golden("docs_dark13").image()
    sentence = "high water at six, low water at noon, and a fresh breeze from the north west"
    for end in [index for index, character in enumerate(sentence) if character == " "]:
        image = page.copy()
        text = sentence[:end]
        ImageDraw.Draw(image).text((240, 900), text, fill="#d4d7dd", font=ImageFont.load_default(16))
        yield image


def _scrolling() -> Iterator[Image.Image]:
    page = golden("article_light_serif17").image()
    tall = np.concatenate([np.asarray(page), np.asarray(golden("article_light_lcd14").image())])
    for top in range(0, 960, 80):
        yield Image.fromarray(tall[top : top + 1080])


def _switching() -> Iterator[Image.Image]:
    names = ["code_dark13", "mail_light13", "code_dark13", "mail_light13", "chat_light_lcd15"]
    for number, name in enumerate([*names, "code_dark13"]):
        image = golden(name).image()
        clock = f"12:0{number}"
        ImageDraw.Draw(image).text((1850, 1055), clock, fill="#808080", font=ImageFont.load_default(14))
        yield image


def _words(lines: Iterable[OcrLine]) -> Any:
    return tokens((line.text for line in lines), "en")


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """The answer, and the CPU seconds of this process and its children."""
    started = _cpu()
    answer = call()
    return answer, _cpu() - started


def _cpu() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system
