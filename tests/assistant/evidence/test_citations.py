"""Quotes across rows that a reader tore apart, and how sure their words are."""

from __future__ import annotations

import pytest

from assistant.evidence.citations import CheckedFrame, checked
from assistant.evidence.quotes import rows, table_rows
from store.core.database import Database
from store.core.paths import DataDir
from store.frames.frames import FrameRow
from store.ocr.readings import Box, Line, Reading, Word
from tests.factories import store_frame


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
    joined = rows(TORN)
    assert joined.text.splitlines()[0] == "station group north done in 41 s"
    assert [(word.text, word.box.x) for word in joined.words[:1]] == [("station", 0)]


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
        (
            TABLE,
            {
                **dict.fromkeys(("Alice Moor", "300.00"), "Alice Moor 300.00 paid"),
                **dict.fromkeys(("Bob Stern", "210.50"), "Bob Stern 210.50 paid"),
            },
        ),
        (CODE, {}),
        (CHATS, {}),
    ],
)
def test_rows_are_those_of_tables_not_of_panes_side_by_side(
    lines: list[tuple[str, int, int, float]], expected: dict[str, str]
) -> None:
    assert table_rows(reading(*lines)) == expected


def test_lines_below_each_other_share_no_row_though_one_beside_them_is_between() -> None:
    assert rows(reading(*CHATS)).text.splitlines()[2:] == ["Dad Bring it", "today"]


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
