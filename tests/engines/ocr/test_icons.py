"""Icons before a row are no text of it, and what lists begin with is."""

from __future__ import annotations

from engines.ocr.icons import without_icons
from engines.ocr.protocol import Box, OcrWord, line_of
from tests.tables import for_each


@for_each(
    ("first", "width", "confidence", "gap", "text"),
    [
        ("©", 16, 0.95, 12, "beans today"),
        ("gO", 16, 0.5, 12, "beans today"),
        ("0", 16, 0.9, 12, "beans today"),  # wider than a digit is
        ("国", 16, 0.8, 12, "beans today"),
        ("0", 9, 0.9, 12, "0 beans today"),
        ("A", 14, 0.9, 12, "A beans today"),
        ("#", 14, 0.9, 12, "# beans today"),
        ("5€", 16, 0.5, 12, "5€ beans today"),
        ("//", 14, 0.9, 12, "// beans today"),
        ("of", 14, 0.5, 5, "of beans today"),
    ],
)
def test_an_icon_before_a_row_is_no_text(
    first: str, width: int, confidence: float, gap: int, text: str
) -> None:
    at = 12 + width + gap
    words = [
        OcrWord(first, Box(12, 8, width, 18), confidence),
        OcrWord("beans", Box(at, 10, 60, 14), 0.9),
        OcrWord("today", Box(at + 66, 10, 60, 14), 0.9),
    ]
    [line] = without_icons([line_of(words)])
    assert line.text == text


def test_a_word_as_far_from_the_next_as_the_others_are_is_no_icon() -> None:
    """A small font: its blanks of four pixels are more than half as wide as its letters are high."""
    words, at = [], 20
    for text, width in (("A", 6), ("refund", 29), ("of", 9), ("nine", 16)):
        words.append(OcrWord(text, Box(at, 8, width, 7), 0.4))
        at += width + (3 if text == "of" else 4)
    assert [line.text for line in without_icons([line_of(words)])] == ["A refund of nine"]


def test_what_a_page_told_is_no_icon() -> None:
    told = [
        OcrWord("©", Box(12, 8, 16, 18), 1.0, "browser", "ink"),
        OcrWord("2026", Box(44, 10, 40, 14), 0.9),
    ]
    assert [line.text for line in without_icons([line_of(told)])] == ["© 2026"]


def test_icons_behind_a_mark_go_and_the_mark_stays() -> None:
    words = [OcrWord(text, Box(12 + 40 * n, 8, 14, 14), 0.95) for n, text in enumerate("☐©")]
    words.append(OcrWord("Rinse", Box(100, 8, 60, 14), 0.9))
    assert [line.text for line in without_icons([line_of(words)])] == ["☐ Rinse"]
