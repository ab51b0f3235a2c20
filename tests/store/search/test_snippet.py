"""Snippets and highlights: exact pieces of the text."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from store.core import tokenizer
from store.search import query
from store.search.snippet import SNIPPET_CHARS, snippet, spans
from tests.tables import for_each

FILLER = "and so the page went on with many more words " * 20


@for_each(
    ("text", "asked", "marked"),
    [
        ("The report, the REPORT.", "report", ["report", "REPORT"]),
        ("reporting a report", "report", ["report"]),
        ("reporting a report", "repor*", ["reporting", "report"]),
        ("status of report status", '"report status"', ["report status"]),
        ("node.js, node and js", "node.js", ["node.js"]),
        ("学习Python教程", "python教程", ["Python教程"]),
        ("今 天 开会", "今天", ["今 天"]),
        ("Vitamin C and C++", "C++", ["C++"]),
        ("Visual  C++ and C", '"c++"', ["C++"]),
        ("cafe\u0301 ﬁle", "café OR file", ["cafe\u0301", "ﬁle"]),
        ("cats and dogs", "cats NOT dogs", ["cats"]),
        ("a b c", '"a b" "b c"', ["a b c"]),
        ("AND is a word", "AND", ["AND"]),
        ("near here", "NEAR(near here, 2)", ["near", "here"]),
        ("anything", "", []),
        ("anything", "+", []),
        ("", "word", []),
    ],
)
def test_where_a_querys_words_stand(text: str, asked: str, marked: list[str]) -> None:
    assert [text[start:end] for start, end in spans(text, query.parse(asked))] == marked


def test_a_snippet_shows_the_place_with_the_most_different_words() -> None:
    text = f"budget {FILLER} budget for the march meeting {FILLER} meeting"
    shown = snippet(text, query.parse("budget march meeting"))
    assert "budget for the march meeting" in shown.text
    assert [shown.text[start:end] for start, end in shown.highlights] == ["budget", "march", "meeting"]


def test_a_snippet_begins_and_ends_with_whole_words() -> None:
    shown = snippet(f"{FILLER} needle {FILLER}", query.parse("needle"))
    assert set(shown.text.split()) <= {*FILLER.split(), "needle"}
    assert len(shown.text) > SNIPPET_CHARS // 2


def test_without_a_match_the_snippet_is_the_beginning() -> None:
    shown = snippet(FILLER, query.parse("elsewhere"))
    assert FILLER.startswith(shown.text)
    assert not shown.highlights


def test_a_text_without_blanks_is_cut_to_length() -> None:
    shown = snippet("今天开会" * 200 + "预算" + "今天开会" * 200, query.parse("预算"))
    assert len(shown.text) == SNIPPET_CHARS
    assert [shown.text[start:end] for start, end in shown.highlights] == ["预算"]


def test_a_phrase_longer_than_a_snippet_is_marked_as_far_as_it_goes() -> None:
    text = "word " * 100
    shown = snippet(text, query.parse(f'"{text}"'))
    assert len(shown.text) <= SNIPPET_CHARS
    assert shown.highlights == ((0, len(shown.text)),)


_words = st.sampled_from(["a", "b", "ab", "C++", "今天", "é", "ﬁ", "x" * 60, ",", "\n", "🎉", "\u200b"])
_texts = st.lists(_words, max_size=80).flatmap(
    lambda words: st.sampled_from([" ", "", "  "]).map(lambda joint: joint.join(words))
)


@given(_texts, st.sampled_from(["a", "a*", "c++", "今", '"a b"', "a OR 天 OR fi", "xx*", "", "é NOT a"]))
def test_a_snippet_is_a_piece_of_its_text_with_the_same_marks(text: str, asked: str) -> None:
    parsed = query.parse(asked)
    found = spans(text, parsed)
    shown = snippet(text, parsed)
    assert shown.text in text
    assert len(shown.text) <= SNIPPET_CHARS
    assert bool(shown.highlights) == bool(found)
    pieces = {text[start:end] for start, end in found}
    for start, end in shown.highlights:
        assert 0 <= start < end <= len(shown.text)
        assert any(shown.text[start:end] in piece for piece in pieces)


@given(_texts, _words)
def test_every_token_of_a_word_is_marked(text: str, word: str) -> None:
    parsed = query.parse(word)
    marked = spans(text, parsed)
    assert all(0 <= start < end <= len(text) for start, end in marked)
    assert all(first[1] <= second[0] for first, second in pairwise(marked))
    if len(parsed.words) == 1 and parsed.words[0].literal is None and len(parsed.words[0].tokens) == 1:
        wanted = parsed.words[0].tokens[0]
        stands = {(t.start, t.end) for t in tokenizer.tokens(text) if t.text == wanted}
        assert set(marked) == stands


@given(
    st.text(alphabet="ab A_+#.-\n\x7f0", max_size=60),
    st.sampled_from(
        ["a", "A*", "c++ a+", '"a b"', '"a a"', '"b a"*', "a OR b", "a# b", "ab0", "a NOT b", "今 b"]
    ),
)
def test_a_text_of_ascii_alone_is_marked_as_any_other(text: str, asked: str) -> None:
    parsed = query.parse(asked)
    assert spans(text, parsed) == spans(f"{text} é", parsed)


@for_each(
    ("text", "begins"),
    [
        ("Fri 20 Nov\nFile Edit View Insert Format Table Tools Window\nThe kiln is hot at 14:20.", "The"),
        ("窑炉 文件 编辑\n周五下午三点前把釉料送到二号窑。\n发送", "周五"),
        ("one two three four five six\nseven", "one"),
        ("", ""),
    ],
)
def test_without_words_a_snippet_begins_at_what_a_screen_is_about(text: str, begins: str) -> None:
    assert snippet(text, query.parse("")).text[: len(begins)] == begins
