"""A row of several scripts is read part by part by the model that is surer."""

from __future__ import annotations

import numpy as np
from PIL import Image

from engines.ocr.page import read_page
from engines.ocr.protocol import Box, OcrWord, line_of
from engines.ocr.remembered import Remembered
from engines.ocr.scripts import surest, syllables_joined
from tests.tables import for_each

Said = tuple[str, int, float]  # the text, where it begins, how sure


def words(*said: Said) -> list[OcrWord]:
    return [OcrWord(text, Box(x, 0, 10 * len(text), 12), confidence) for text, x, confidence in said]


def text(found: list[OcrWord]) -> str:
    return " ".join(word.text for word in found)


@for_each(
    ("latin", "other", "read"),
    [
        # English beside Russian: each model reads the other half as nonsense, and some of it with confidence.
        (
            [("Bonpoc", 0, 0.3), ("o", 70, 0.9), ("invoice", 100, 0.97), ("four", 180, 0.96)],
            [("Вопрос", 0, 0.97), ("о", 70, 0.96), ("тмоке", 100, 0.2), ("{оцг", 180, 0.7)],
            "Вопрос о invoice four",
        ),
        # The other model reads nothing there.
        ([("Bonpoc", 0, 0.3), ("invoice", 100, 0.89)], [("Вопрос", 0, 0.97)], "Вопрос invoice"),
        # A few words at the end of a sure row.
        (
            [("Please", 0, 0.97), ("open", 70, 0.96), ("the", 120, 0.97), ("OKHo", 160, 0.4)],
            [("Рюазе", 0, 0.3), ("ореп", 70, 0.6), ("{Ве", 120, 0.5), ("окно", 160, 0.96)],
            "Please open the окно",
        ),
        # What another model reads in Latin letters, and figures in a row of them, change nothing.
        ([("total", 0, 0.7), ("1.75", 60, 0.8)], [("tota1", 0, 0.9), ("175", 60, 0.9)], "total 1.75"),
        # A row of the other script keeps its own unsure words.
        (
            [("EaSkA", 0, 0.2), ("BAM", 90, 0.85)],
            [("霜冻", 0, 0.9), ("从北方来", 20, 0.9), ("了", 90, 0.1)],
            "霜冻 从北方来 了",
        ),
        # From right to left, with words that run the other way.
        (
            [("Aubgsalys", 100, 0.2), ("Mr", 0, 0.97), ("Quayle", 25, 0.96)],
            [("مرحبا", 170, 0.93), ("العالم", 100, 0.92), ("عاال", 0, 0.2)],
            "مرحبا العالم Mr Quayle",
        ),
    ],
)
def test_each_part_is_read_by_the_surer_model(latin: list[Said], other: list[Said], read: str) -> None:
    first = sorted(words(*latin), key=lambda word: word.box.x)
    assert text(surest(first, words(*other))) == read


def test_syllables_become_words_where_the_pixels_show_no_blank() -> None:
    ink = np.zeros((20, 120), np.bool_)
    for left in (0, 14, 28, 50, 64):  # two blanks of two pixels, one of ten
        ink[4:16, left : left + 12] = True
    said = [("1", 2), ("번", 13), ("에", 26), ("왔", 52), ("다", 65)]  # where a model thinks they are
    read = [OcrWord(syllable, Box(x, 4, 12, 12), 0.9) for syllable, x in said]
    joined = syllables_joined(read, ink)
    assert [word.text for word in joined] == ["1번에", "왔다"]
    assert line_of(joined).text == "1번에 왔다"


@for_each(("blank", "read"), [(4, "안녕"), (5, "안 녕")])  # of a height of 18
def test_syllables_that_the_pixels_part_are_written_apart(blank: int, read: str) -> None:
    ink = np.zeros((22, 60), np.bool_)
    ink[2:20, 2:20] = ink[2:20, 20 + blank : 38 + blank] = True
    joined = syllables_joined(
        [OcrWord("안", Box(2, 2, 18, 18), 0.9), OcrWord("녕", Box(20 + blank, 2, 18, 18), 0.9)], ink
    )
    assert line_of(joined).text == " ".join(word.text for word in joined) == read


def test_syllables_in_a_picture_stay_apart_across_gaps_and_lines() -> None:
    noise = np.random.default_rng(1).integers(0, 2, (140, 200), np.uint8) * 255
    read = [OcrWord("안녕", Box(x, y, 80, 40), 0.9) for y in (20, 160) for x in (20, 280)]
    lines = read_page(
        Image.fromarray(noise), None, ["kor"], lambda pages, *_: [read for _ in pages], Remembered()
    )
    assert [line.text for line in lines] == ["안녕"] * 4
