"""How much of the text of every third golden frame is found; `python -m bench reading` reads all of them."""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from operator import add

from engines.ocr.protocol import open_ocr
from tests.golden.truth import FOLDER, Found, all_golden, compare

BARS = {"light": 0.97, "dark": 0.96, "mixed": 0.97, "zh": 0.97}


def test_true_words_of_the_golden_frames_are_found() -> None:
    engine = open_ocr("auto", ["eng", "chi_sim"])
    found: dict[str, list[Found]] = defaultdict(list)
    for frame in all_golden()[::3]:
        found[frame.group].append(compare(frame, engine.read(frame.image())))
    engine.close()
    total = {group: reduce(add, results) for group, results in found.items()}
    assert sum(map(len, found.values())) >= 12
    assert {group: total[group].recall >= bar for group, bar in BARS.items()} == dict.fromkeys(BARS, True), {
        group: round(result.recall, 4) for group, result in total.items()
    }
    assert reduce(add, total.values()).precision >= 0.95


def test_the_golden_frames_stay_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 4_000_000
