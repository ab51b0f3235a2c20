"""Quotes across rows that a reader tore apart, and how sure their words are."""

from __future__ import annotations

import pytest

from assistant.evidence.citations import CheckedFrame, checked
from store.core.database import Database
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.frames.visible_windows import UNTOLD
from store.ocr.layout import by_rows, forms, passages, table_rows
from store.ocr.readings import Box, Line, Reading, Word, encode
from tests.factories import store_frame, text_draft
from tests.tables import for_each


def reading(*lines: tuple[str, int, int, float]) -> Reading:
    """A reading of (text, x, y, confidence), 16 pixels high, 10 for each character."""
    at, told = 0, []
    for text, x, y, sure in lines:
        words, left = [], at
        for word in text.split(" "):
            box = Box(x + 10 * (left - at), y, 10 * len(word), 16)
            words.append(Word(left, left + len(word), word, box, sure))
            left += len(word) + 1
        told.append(Line(at, at + len(text), text, Box(x, y, 10 * len(text), 16), sure, tuple(words)))
        at += len(text) + 1
    return Reading(1, 1, "drawn", "eng", "\n".join(line[0] for line in lines), tuple(told), 0.9, 0, 0)


TORN = reading(
    ("done in 41 s", 400, 0, 0.9),
    ("station group north", 0, 2, 0.9),
    ("Three goals, in this order:", 0, 300, 0.9),
    ("Release 2.40.0 on Friday.", 0, 330, 0.9),
    ("the harb0r of Saltmere", 0, 500, 0.2),
)


def judge(frame: FrameRow, read: Reading, given: list[str]) -> CheckedFrame:
    return checked(frame, read, given)


@pytest.fixture
def frame(database: Database, data_dir: DataDir) -> FrameRow:
    return store_frame(database, data_dir)


def test_lines_of_one_row_are_joined_from_left_to_right() -> None:
    by_rows = forms(TORN)[1]
    assert by_rows.text.splitlines()[0] == "station group north\tdone in 41 s"
    assert [(line.text, line.box.x) for line in by_rows.reading.lines[:1]] == [("station group north", 0)]


def test_a_quote_may_run_over_a_row_and_shows_the_words_of_the_frame(frame: FrameRow) -> None:
    found = judge(frame, TORN, ["Station group north: done in 41 s"])
    assert (found.state, found.quote) == ("found", "station group north done in 41 s")
    mended = judge(frame, TORN, ["the harbor of Saltmere"])
    assert (mended.state, mended.quote) == ("found", "the harb0r of Saltmere")


TABLE = [
    *(("Alice Moor", 0, 0, 0.9), ("300.00", 300, 2, 0.9), ("paid", 500, 1, 0.9)),
    *(("Bob Stern", 0, 40, 0.9), ("210.50", 300, 41, 0.9), ("paid", 500, 40, 0.9)),
]
CODE = [
    *(("limit = 250", 0, 0, 0.9), ("$ make test", 300, 0, 0.9)),
    ("1 failed", 300, 20, 0.9),
    *(("return limit", 0, 40, 0.9), ("$ whoami", 300, 40, 0.9)),
]
# As they are read: the list of chats before the chat. "Dad" stands between two rows of the chat.
CHATS = [
    *(("Maria", 0, 0, 0.9), ("Jon Aker", 0, 40, 0.9), ("Dad", 0, 80, 0.9)),
    *(("Did you pay?", 300, 0, 0.9), ("I quit on Friday", 300, 42, 0.9)),
    *(("Bring it", 300, 73, 0.9), ("today", 300, 87, 0.9)),
]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (TABLE, ["Alice Moor|300.00|paid", "Bob Stern|210.50|paid"]),
        ([("Kettle list", 0, 0, 0.9), ("Oo", 500, 0, 0.9), ("x", 540, 1, 0.9)], []),
        (CHATS, []),
    ],
)
def test_rows_are_those_of_tables_not_of_panes_side_by_side(
    lines: list[tuple[str, int, int, float]], expected: list[str]
) -> None:
    assert ["|".join(cell.text for cell in row) for row in table_rows(reading(*lines).lines)] == expected


def test_a_text_by_rows_has_them_where_their_cells_were_read() -> None:
    text, layout = encode(text_draft("Rota\n26 May   Ada\n3 June   Bo    9:00\nBye"))
    assert text.splitlines() == ["Rota", "26 May", "Ada", "3 June", "Bo", "9:00", "Bye"]
    assert by_rows(text, layout, UNTOLD).splitlines() == ["Rota", "26 May\tAda", "3 June\tBo\t9:00", "Bye"]


def test_lines_below_each_other_share_no_row_though_one_beside_them_is_between() -> None:
    assert forms(reading(*CHATS))[1].text.splitlines()[2:] == ["Dad\tBring it", "today"]


@pytest.mark.parametrize(
    ("quotes", "expected"),
    [
        (["Release 2.40.0 on Friday."], 0.9),
        (["the harbor of Saltmere"], 0.2),
        (["Release 2.40.0 on Friday.", "the harbor of Saltmere"], 0.2),
        (["sunny"], None),
    ],
)
def test_a_quote_is_as_sure_as_the_least_sure_of_its_words(
    frame: FrameRow, quotes: list[str], expected: float | None
) -> None:
    assert judge(frame, TORN, quotes).confidence == expected


def test_a_quote_that_does_not_stand_is_told_beside_one_that_does(frame: FrameRow) -> None:
    found = judge(frame, TORN, ["Release 2.40.0 on Friday.", "Release 2.41.0 on Friday."])
    assert (found.state, found.misquoted) == ("found", ("Release 2.41.0 on Friday.",))


def test_a_bullet_that_was_hardly_read_makes_no_quote_doubtful(frame: FrameRow) -> None:
    marked = reading(("e", 0, 0, 0.1), ("Release on Friday", 20, 0, 0.8))
    assert judge(frame, marked, ["e Release on Friday"]).confidence == 0.8


FULL = "The oven of the small house was mended", "again before the first guests had arrived."
LONG = "The oven of the small house was mended once more"


@for_each(
    ("lines", "sentences"),
    [
        (("menu", "retention set to 14 days", "footer"), 3),  # the longest line of a block is no full one
        ((LONG, "by the two sisters"), 1),
        (FULL, 1),
        (("The oven of the small house", "was mended by both of us"), 2),
        ((f"{LONG}.", "again in the evening"), 2),
        ((LONG, "Another oven was left alone"), 2),
        ((LONG, "Sisters who had bought another oven in the town", "came"), 1),
        ((f"1. {LONG}", "2. Sisters of ours"), 2),
        ((f"ann: {LONG}", "bert: again"), 2),
        (
            (
                "Die Backstube des kleinen Hauses wurde im letzten",
                "Herbst von den beiden Schwestern wieder hergestellt",
                "und geputzt.",
            ),
            1,
        ),
        (
            (
                "The house by the harbour opens again in October",
                "The price of rye falls to three crowns a sack now",
                "Opinion: bakers are gone",
            ),
            3,
        ),
        (("木料的费用一共是四千二百元，其中一半已经由文化馆", "垫付，剩下的月底再结清。"), 2),
        (
            (
                "木料的费用一共是四千二百元，其中一半已经由文化馆",
                "垫付，剩下的月底再结清。",
                "第二幕的旋转楼梯由顾长河负责重做，十二月三日以前必",
                "须搬进剧场。",
            ),
            2,
        ),
        (("你的胶皮到义乌仓了，重 0.4 公斤，你什么时候可以来拿呢", "空运九月二十五日左右"), 2),
    ],
)
def test_a_sentence_runs_on_from_a_line_where_its_next_word_had_no_room(
    lines: tuple[str, ...], sentences: int
) -> None:
    read = reading(*((text, 0, 24 * at, 0.9) for at, text in enumerate(lines)))
    assert len(passages(read.lines)) == sentences
    # Beside them, as high, stands a column of its own.
    beside = reading(*((text, x, 24 * at, 0.9) for x in (0, 900) for at, text in enumerate(lines)))
    assert len(passages(beside.lines)) == 2 * sentences


def test_a_sentence_over_two_lines_is_found_and_so_is_the_least_line(frame: FrameRow) -> None:
    columns = reading(
        (LONG, 0, 0, 0.9), ("Costs", 900, 0, 0.9), ("by both of us", 0, 24, 0.9), ("7", 900, 24, 0.9)
    )
    found = judge(frame, columns, [f"{LONG} by both of us", "7"])
    assert (found.state, found.misquoted) == ("found", ())
    assert {(box.x, box.y) for box in found.boxes} == {(0, 0), (0, 24), (900, 24)}
    assert judge(frame, columns, ["4"]).state == "not_found"
