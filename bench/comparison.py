"""Reading and storing a recorded desktop beside what is usual: the figures and plots of ``bench/report.md``.

Some scenes of `bench.scenes` go through the reader and into packs. The same frames are read whole by
pytesseract as it comes and by RapidOCR, and written as JPEG, WebP and H.264. Seconds are of the processor, so
that other work on the machine moves them little. ``RECOLLECT_SCENES`` keeps the recordings, as for
`bench.incremental`. Takes about five minutes of a core and writes the report anew.
"""

from __future__ import annotations

import io
import os
import platform
import resource
import tempfile
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytesseract
from PIL import Image

from bench.incremental import Tally, squeezed, tally_of
from bench.media import packed_bytes
from bench.plots import bars
from bench.report import Report
from bench.scenes import Frame, recorded

ON_REQUEST = True
_SCENES = (
    "typing en dark", "typing zh", "scrolling en", "popup zh", "messages en", "terminal dark", "code",
    "sheet",
)  # fmt: skip
_FRAMES = 5
_FOLDER = Path(__file__).parent
_PLOTS = _FOLDER / "plots"


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(os.environ.get("RECOLLECT_SCENES", scratch))
        all_scenes = recorded(folder, int(os.environ.get("RECOLLECT_SEED", "1")))
        scenes = {name: all_scenes[name][:_FRAMES] for name in _SCENES}
        tallies = {name: tally_of(pictures) for name, pictures in scenes.items()}
        _PLOTS.mkdir(exist_ok=True)
        sections = [
            _HEAD.format(machine=f"{platform.machine()}, Python {platform.python_version()}"),
            _reading(tallies),
            _readers([pictures[-1] for pictures in list(scenes.values())[::2]]),
            _storing(scenes),
        ]
    (_FOLDER / "report.md").write_text("\n".join(sections), encoding="utf-8")
    report.line("\n".join(sections))


_HEAD = f"""# Reading and storing a recorded desktop

Written by `python -m bench comparison` on {{machine}}. {len(_SCENES)} scenes of real programs at 1920×1080,
the first {_FRAMES} frames of each. Every frame differs from the one before and none is idle, so this is the
hard part of a day. A sentence counts as read where it stands in the text letter for letter but for blanks.
Seconds are of the processor, on one frame.
"""


def _reading(tallies: dict[str, Tally]) -> str:
    total = Tally()
    lines = []
    for name, tally in [*tallies.items(), ("all", total)]:
        if tally is not total:
            total.add(tally)
        whole_s, stored_s = tally.whole_s / tally.frames, tally.stored_s / tally.frames
        lines.append(
            f"| {name} | {tally.planted} | {tally.planted_whole} | {tally.planted_stored} |"
            f" {tally.same / tally.words:.4f} | {whole_s:.2f} | {stored_s:.2f} | {whole_s / stored_s:.1f} |"
        )
    costs = [
        (name, (tally.whole_s / tally.frames, tally.stored_s / tally.frames))
        for name, tally in tallies.items()
    ]
    plot = bars("Seconds of the processor for one frame", ("whole reading", "as stored"), costs, " s")
    return _section(
        "What is stored, against whole readings of the same engine",
        "scene | sentences | read whole | stored | of the words read whole | whole s | stored s | ×",
        lines,
        "reading",
        plot,
    )


# -- other readers ------------------------------------------------------------------------


def _readers(pictures: list[Frame]) -> str:
    """The last frame of every other scene, read whole."""
    readers: dict[str, Callable[[Image.Image], str]] = {
        "pytesseract as it comes": lambda image: str(pytesseract.image_to_string(image)),
        "pytesseract with Chinese": lambda image: str(pytesseract.image_to_string(image, lang="eng+chi_sim")),
        **_rapidocr(),
        "ours, whole": _ours(),
    }
    found = {name: _read_all(read, pictures) for name, read in readers.items()}
    planted = sum(len(set(picture.planted)) for picture in pictures)
    lines = [
        f"| {name} | {number} of {planted} | {number / planted:.1%} | {seconds:.2f} |"
        for name, (number, seconds) in found.items()
    ]
    shares = [(name, (number / planted * 100,)) for name, (number, _) in found.items()]
    plot = bars("Sentences read letter for letter", ("",), shares, " %")
    head = f"reader | sentences of {len(pictures)} frames | share | s a frame"
    return _section("Whole frames by other readers", head, lines, "readers", plot)


def _rapidocr() -> dict[str, Callable[[Image.Image], str]]:
    """RapidOCR with its own defaults, where it is installed."""
    try:
        from rapidocr import RapidOCR
    except ImportError:
        return {}
    engine = RapidOCR(params={"Global.log_level": "error"})
    return {"RapidOCR as it comes": lambda image: "\n".join(engine(np.asarray(image)).txts or ())}


def _ours() -> Callable[[Image.Image], str]:
    from bench.incremental import LANGUAGES
    from engines.ocr.protocol import open_ocr

    engine = open_ocr("auto", LANGUAGES)
    return lambda image: "\n".join(line.text for line in engine.read(image))


def _read_all(read: Callable[[Image.Image], str], pictures: list[Frame]) -> tuple[int, float]:
    """How many planted sentences are read, and processor seconds a frame, those of programs it runs too."""
    number, seconds = 0, 0.0
    for picture in pictures:
        image, began = picture.open(), _spent_s()
        text = squeezed(read(image))
        seconds += _spent_s() - began
        number += sum(squeezed(sentence) in text for sentence in set(picture.planted))
    return number, seconds / len(pictures)


def _spent_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# -- pictures -----------------------------------------------------------------------------


def _storing(scenes: dict[str, list[Frame]]) -> str:
    number = sum(map(len, scenes.values()))
    captured, packed = packed_bytes(scenes)
    sizes = {
        "lossless WebP, as captured": (captured, "exact"),
        "packs, as kept": (packed, "exact"),
        "JPEG, quality 80": (_encoded(scenes, "JPEG", quality=80), "lossy"),
        "WebP, quality 75": (_encoded(scenes, "WEBP", quality=75, method=4), "lossy"),
        "H.264, crf 23": (sum(map(_h264, scenes.values())), "lossy"),
    }
    lines = [f"| {name} | {size / number / 1000:.1f} | {kind} |" for name, (size, kind) in sizes.items()]
    shown = [(name, (size / number / 1000,)) for name, (size, _) in sizes.items()]
    plot = bars("Bytes of one frame", ("",), shown, " kB")
    return _section("Pictures", "kept as | kB a frame | pixels", lines, "pictures", plot)


def _encoded(scenes: dict[str, list[Frame]], kind: str, **options: int) -> int:
    size = 0
    for picture in (picture for pictures in scenes.values() for picture in pictures):
        buffer = io.BytesIO()
        picture.open().save(buffer, kind, **options)
        size += len(buffer.getvalue())
    return size


def _h264(pictures: list[Frame]) -> int:
    """Bytes of the frames of a scene as a film, one a second."""
    buffer = io.BytesIO()
    with av.open(buffer, "w", format="mp4") as film:
        stream = film.add_stream("libx264", rate=Fraction(1), options={"crf": "23"})
        stream.width, stream.height = pictures[0].open().size
        stream.pix_fmt = "yuv420p"
        for picture in pictures:
            film.mux(stream.encode(av.VideoFrame.from_image(picture.open())))
        film.mux(stream.encode())
    return len(buffer.getvalue())


def _section(title: str, head: str, lines: Iterable[str], name: str, plot: str) -> str:
    (_PLOTS / f"{name}.svg").write_text(plot, encoding="utf-8")
    rule = "|".join([" --- "] * (head.count("|") + 1))
    return "\n".join(
        [f"## {title}\n", f"| {head} |", f"|{rule}|", *lines, f"\n![{title}](plots/{name}.svg)\n"]
    )
