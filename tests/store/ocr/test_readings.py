"""Readings: one text, its boxes, and the index that follows it."""

from __future__ import annotations

import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.database import Database
from store.core.paths import DataDir
from store.ocr import readings
from store.ocr.readings import Box, DraftLine, DraftWord, TextDraft
from tests.factories import NOON_MS, store_frame, text_draft

boxes = st.builds(Box, *(st.integers(0, 65_535) for _ in range(4)))
confidences = st.none() | st.integers(0, 200).map(lambda n: n / 200)
words = st.builds(
    DraftWord,
    st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1),
    boxes,
    confidences,
    st.sampled_from(readings.SOURCES),
    st.sampled_from(["ink", "read"]),
)
drafts = st.builds(
    TextDraft,
    st.lists(
        st.builds(DraftLine, boxes, confidences, st.lists(words, max_size=6).map(tuple)), max_size=5
    ).map(tuple),
    st.just("test"),
    st.just("eng"),
    st.just(1),
)


@given(drafts)
def test_a_layout_survives_encoding(draft: TextDraft) -> None:
    text, layout = readings.encode(draft)
    lines = list(readings.decode(text, layout))
    assert [(line.box, line.confidence) for line in lines] == [(d.box, d.confidence) for d in draft.lines]
    for line, original in zip(lines, draft.lines, strict=True):
        assert text[line.start : line.end] == line.text
        assert [(w.text, w.box, w.confidence, w.source, w.checked) for w in line.words] == [
            (w.text, w.box, w.confidence, w.source, w.checked) for w in original.words
        ]
        assert all(text[w.start : w.end] == w.text for w in line.words)


def test_a_layout_of_before_words_had_a_source_was_read() -> None:
    line = struct.pack("<IIHHHHBH", 0, 4, 1, 2, 30, 10, 200, 1)
    layout = b"\x01" + zlib.compress(line + struct.pack("<IIHHHHB", 0, 4, 1, 2, 30, 10, 180))
    [found] = readings.decode("tide", layout)
    assert found.words == (readings.Word(0, 4, "tide", Box(1, 2, 30, 10), 0.9, "read", "read"),)


def test_a_line_may_join_its_words_without_blanks() -> None:
    """Chinese is written without blanks; each character keeps its own box."""
    characters = tuple(DraftWord(c, Box(i * 16, 0, 16, 16), 1.0) for i, c in enumerate("今天开会"))
    draft = TextDraft((DraftLine(Box(0, 0, 64, 16), 1.0, characters, "今天开会"),), "test", "chi_sim", 1)
    text, layout = readings.encode(draft)
    (line,) = readings.decode(text, layout)
    assert (text, [w.start for w in line.words]) == ("今天开会", [0, 1, 2, 3])


def test_a_word_outside_its_line_is_refused() -> None:
    line = DraftLine(Box(0, 0, 1, 1), None, (DraftWord("b", Box(0, 0, 1, 1), None),), "a")
    with pytest.raises(ValueError, match="does not stand"):
        readings.encode(TextDraft((line,), "test", "eng", 1))


def test_line_breaks_and_control_characters_cannot_forge_lines() -> None:
    word = DraftWord("a\nb\x00c\ud800", Box(0, 0, 1, 1), None)
    text, _ = readings.encode(TextDraft((DraftLine(Box(0, 0, 1, 1), None, (word,)),), "test", "eng", 1))
    assert text == "a b c "


def matches(database: Database, word: str) -> list[int]:
    with database.read() as connection:
        rows = connection.execute("select rowid from frames_fts where frames_fts match ?", (word,))
        return [rowid for (rowid,) in rows]


def test_a_frame_is_found_by_app_before_it_is_read_and_by_words_after(
    database: Database, data_dir: DataDir
) -> None:
    frame = store_frame(database, data_dir, app_name="Zoom")
    assert matches(database, "zoom") == [frame.id]
    assert readings.current_reading(database, frame.id) is None
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft("quarterly budget"), [], NOON_MS)
    assert matches(database, "budget") == [frame.id]
    assert matches(database, "zoom") == [frame.id]


def test_reading_again_is_a_new_version_and_the_old_one_stays(database: Database, data_dir: DataDir) -> None:
    """Search uses the current reading, a citation keeps the one it quoted."""
    frame = store_frame(database, data_dir, text="first words")
    old = readings.current_reading(database, frame.id)
    assert old is not None
    with database.write() as connection:
        readings.add(connection, frame.id, text_draft("second words"), ["https://example.com/"], NOON_MS)
    new = readings.current_reading(database, frame.id)
    assert new is not None
    assert (new.text, readings.urls(database, frame.id)) == ("second words", ["https://example.com/"])
    assert readings.by_id(database, old.id) == old
    assert (matches(database, "first"), matches(database, "second")) == ([], [frame.id])


def test_the_index_agrees_with_the_rows(database: Database, data_dir: DataDir) -> None:
    for n in range(5):
        store_frame(database, data_dir, NOON_MS + n, text=f"word{n} 今天下午" if n % 2 else None)
    with database.write() as connection:
        connection.execute("insert into frames_fts (frames_fts, rank) values ('integrity-check', 1)")


def test_boxes_cover_exactly_the_words_of_a_span(database: Database, data_dir: DataDir) -> None:
    frame = store_frame(database, data_dir, text="alpha beta gamma\ndelta epsilon")
    reading = readings.current_reading(database, frame.id)
    assert reading is not None
    start = reading.text.index("beta")
    end = reading.text.index("delta") + len("delta")
    assert readings.boxes_for_span(reading, start, end) == [Box(60, 0, 100, 16), Box(0, 20, 50, 16)]
    assert readings.boxes_for_span(reading, 0, 0) == []


def test_a_thousand_words_cost_a_few_kilobytes() -> None:
    """A byte budget per frame."""
    text, layout = readings.encode(text_draft("\n".join("lorem ipsum dolor sit amet" for _ in range(40))))
    assert len(layout) < 3 * len(text)


def test_a_frame_that_was_read_meanwhile_is_not_unavailable(database: Database, data_dir: DataDir) -> None:
    read, waiting = (
        store_frame(database, data_dir, text="words"),
        store_frame(database, data_dir, NOON_MS + 1),
    )
    with database.write() as connection:
        for frame in (read, waiting):
            readings.mark_unavailable(connection, frame.id, "there is no engine")
        assert readings.requeue_unavailable(connection) == 1
