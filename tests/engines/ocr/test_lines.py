"""Words find their line, lines their order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from engines.ocr.protocol import Box, OcrLine, OcrWord, line_of, lines_of, read_masked
from engines.ocr.scripts import passes
from engines.ocr.tesseract import words_from_tsv
from tests.tables import for_each


def word(text: str, x: int, y: int, w: int | None = None, h: int = 10, confidence: float = 0.9) -> OcrWord:
    return OcrWord(text, Box(x, y, 8 * len(text) if w is None else w, h), confidence)


def row(text: str, x: int, y: int) -> list[OcrWord]:
    words = []
    for part in text.split():
        words.append(word(part, x, y))
        x += 8 * (len(part) + 1)
    return words


def texts(words: list[OcrWord]) -> list[str]:
    return [line.text for line in lines_of(words)]


def test_words_on_a_baseline_become_a_line() -> None:
    assert texts([*row("high water at six", 10, 40), *row("low water later", 10, 60)]) == [
        "high water at six",
        "low water later",
    ]


def test_a_wide_gap_keeps_two_windows_apart() -> None:
    assert texts([*row("left window", 10, 40), *row("right window", 400, 40)]) == [
        "left window",
        "right window",
    ]


def test_columns_are_read_one_after_the_other() -> None:
    left = [w for n in range(5) for w in row("the first column has quite long lines", 10, 20 * n)]
    right = [w for n in range(5) for w in row("and so has the other one beside it", 500, 20 * n)]
    read = texts([*right, *left])
    assert read == ["the first column has quite long lines"] * 5 + ["and so has the other one beside it"] * 5


def test_tables_are_read_row_by_row() -> None:
    cells = [w for n in range(4) for x in (10, 200, 400) for w in row(f"cell{n}{x}", x, 20 * n)]
    assert texts(cells) == [f"cell{n}{x}" for n in range(4) for x in (10, 200, 400)]


def test_a_heading_comes_before_the_columns_under_it() -> None:
    heading = [word("Winter", 10, 0, w=300, h=20), word("timetable", 330, 0, w=500, h=20)]
    columns = [
        w for n in range(2, 5) for x in (10, 500) for w in row("a long line of words in a column", x, 20 * n)
    ]
    assert texts([*columns, *heading])[0] == "Winter timetable"


@for_each(
    ("parts", "text"),
    [
        (["潮", "汐", "表"], "潮汐表"),
        (["使用", "Python", "编写"], "使用 Python 编写"),
        (["你好", "，", "world"], "你好，world"),
        (["two", "words"], "two words"),
        (["第", "3", "页", "。"], "第 3 页。"),
    ],
)
def test_chinese_is_written_without_spaces(parts: list[str], text: str) -> None:
    x, words = 0, []
    for part in parts:
        words.append(word(part, x, 0))
        x += 8 * len(part) + 6
    assert line_of(words).text == text


def test_a_line_holds_its_words_and_weighs_their_confidence() -> None:
    line = line_of([word("a", 0, 5, w=10, confidence=1.0), word("bcd", 20, 2, w=30, h=14, confidence=0.6)])
    assert line.box == Box(0, 2, 50, 14)
    assert line.confidence == pytest.approx(0.7)


boxes = st.builds(Box, st.integers(0, 900), st.integers(0, 500), st.integers(1, 120), st.integers(1, 30))
any_words = st.lists(
    st.builds(OcrWord, st.sampled_from(["tide", "表", "12:40"]), boxes, st.just(0.5)), max_size=40
)


@given(any_words, st.randoms())
def test_every_word_is_in_exactly_one_line_whatever_the_order(words: list[OcrWord], random: object) -> None:
    lines = lines_of(words)
    assert sorted(map(repr, (w for line in lines for w in line.words))) == sorted(map(repr, words))
    shuffled = list(words)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert lines_of(shuffled) == lines


def test_each_script_is_read_in_a_pass_of_its_own_the_latin_one_first() -> None:
    assert passes(["rus", "chi_sim", "jpn", "eng", "kor"]) == ("eng", "rus", "chi_sim+jpn", "kor")
    assert passes(["eng", "chi_sim", "deu"]) == ("eng+deu", "chi_sim")
    assert passes(["chi_sim"]) == ("chi_sim",)
    assert passes(["eng"]) == ("eng",)


def test_tesseract_rows_become_words_and_chinese_boxes_are_even() -> None:
    rows = [
        "4\t1\t1\t1\t1\t0\t0\t0\t90\t20\t-1\t",
        "5\t1\t1\t1\t1\t1\t0\t0\t70\t20\t96.5\t码头",
        "5\t1\t1\t1\t1\t2\t30\t0\t60\t20\t80\t笔",
        "5\t1\t1\t2\t1\t1\t5\t50\t40\t12\t-1\t ",
        "5\t1\t1\t2\t1\t1\t5\t50\t40\t12\t91\tquay",
    ]
    assert words_from_tsv("\n".join(rows)) == [
        OcrWord("码头", Box(0, 0, 60, 20), 0.965),
        OcrWord("笔", Box(60, 0, 30, 20), 0.8),
        OcrWord("quay", Box(5, 50, 40, 12), 0.91),
    ]


def test_an_engine_that_reads_whole_pictures_is_shown_the_part_in_the_mask() -> None:
    def read(image: Image.Image) -> list[OcrLine]:
        return lines_of([word("a", 0, 0), word("b", image.width - 20, 0)])

    mask = Image.new("1", (300, 100))
    mask.paste(1, (100, 40, 130, 80))
    mask.paste(1, (200, 60, 220, 80))
    image = Image.new("RGB", mask.size)
    assert [line.text for line in read_masked(read, image, mask)] == ["a"]
    assert len(read_masked(read, image, None)) == 2
    assert read_masked(read, image, Image.new("1", mask.size)) == []
