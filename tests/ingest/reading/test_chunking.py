"""What of a screen's text gets a vector."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ingest.reading.chunking import MAX_CHUNKS, MAX_WORDS, cut, words
from tests.tables import for_each


@for_each(
    ("text", "expected"),
    [
        ("", []),
        ("42\n|| --\n*", []),
        ("login system", ["login system"]),
        ("a line of words\nanother line here", ["a line of words", "another line here"]),
        ("File\nEdit\nView menu\nthe text below it", ["File\nEdit\nView menu", "the text below it"]),
        ("the whole first line\nEnd", ["the whole first line"]),
        ("Login\na line of its own words", ["a line of its own words"]),
        ("Login\n12:04", ["Login"]),
        ("Sign in\na line of its own words", ["Sign in", "a line of its own words"]),
        ("  spaces around these words  \n\n  ", ["spaces around these words"]),
        ("今天天气", ["今天天气"]),
    ],
)
def test_lines_are_chunks_and_short_ones_go_together(text: str, expected: list[str]) -> None:
    assert [chunk.text for chunk in cut(text)] == expected


def test_long_line_is_cut_between_words() -> None:
    text = " ".join(f"word{n}a" for n in range(100))
    assert [len(chunk.text.split()) for chunk in cut(text)] == [MAX_WORDS, MAX_WORDS, 20]


def test_long_line_without_spaces_is_cut_between_signs() -> None:
    text = "今天天气很好我们去公园" * 10
    found = [chunk.text for chunk in cut(text)]
    assert [len(each) for each in found] == [MAX_WORDS, MAX_WORDS, 30]
    assert "".join(found) == text


def test_lines_that_say_most_are_kept() -> None:
    telling = "a sentence that says a good deal more than others"
    short = [f"only three w{chr(97 + n)}ords" for n in range(40)]
    found = [chunk.text for chunk in cut("\n".join([*short, telling]))]
    assert len(found) == MAX_CHUNKS
    assert found[-1] == telling
    assert found[:-1] == short[: MAX_CHUNKS - 1]


def test_writing_the_model_does_not_know_is_left_out() -> None:
    assert [c.text for c in cut("今天天气很好\nlogin of the system", str.isascii)] == ["login of the system"]


@given(st.text(alphabet="ab12 \n今.-", max_size=300))
def test_chunks_are_pieces_of_the_text_in_order(text: str) -> None:
    found = cut(text)
    assert len(found) <= MAX_CHUNKS
    assert all(text[chunk.start : chunk.end] == chunk.text and words(chunk.text) for chunk in found)
    assert all(one.end <= other.start for one, other in pairwise(found))
