"""A quote stands in a text, but for slips of reading, or it does not; digits never differ."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assistant.evidence.quotes import find
from tests.tables import for_each

TEXT = "File  Edit View\nretention set to 14 days\n总 结 一 下 今天 的工作\nCafé ＡＢＣ 2014 start of the art"


@for_each(
    ("quote", "found"),
    [
        ("retention set to 14 days", ["retention set to 14 days"]),
        ("  RETENTION set\tto 14 days ", ["retention set to 14 days"]),
        ("“retention set to 14 days”", ["retention set to 14 days"]),
        ("File Edit View", ["File  Edit View"]),
        ("View retention", ["View\nretention"]),
        ("retention set to 14 da", []),
        ("retention sett to 14 days", []),
        ("retention let to 14 days", []),
        ("总结一下今天的工作", ["总 结 一 下 今天 的工作"]),
        ("总结", ["总 结"]),
        ("cafe abc", ["Café ＡＢＣ"]),
        ("art", ["art"]),
        ("File … 14 days", ["File", "14 days"]),
        ("File … 2014", []),
        ("retention set to 30 days", []),
        ("retention set to 4 days", []),
        ("retention was set to 14 days", []),
        ("days … File", []),
        ("201", []),
        ("ret", []),
        ("a", []),
        ("", []),
        ("…", []),
        ("x" * 500, []),
    ],
)
def test_a_quote_is_found_where_it_stands(quote: str, found: list[str]) -> None:
    assert [TEXT[start:end] for start, end in find(TEXT, quote)] == found


@for_each("at", range(24))
@for_each("other", ["9", "#", "z"])
def test_changing_any_letter_or_figure_breaks_the_quote(at: int, other: str) -> None:
    quote = "retention set to 14 days"
    changed = quote[:at] + other + quote[at + 1 :]
    # A mark in the place of a space takes nothing away that is said.
    assert bool(find(TEXT, changed)) == (quote[at] == " " and other == "#")


@for_each(
    ("read", "quoted", "is_same"),
    [
        ("« Mend the clock of buoy 7", "• Mend the clock of buoy 7.", True),
        ("the oscillator again. | take it.", "the oscillator again. I take it.", True),
        ("the tape was torn\nType", "the tape was torn", True),
        ("materials induded", "materials included", True),
        ("the lights bum again in #Iunch", "the lights burn again in #lunch", True),
        ("def test_one_late _packet_does", "def test_one_late_packet_does", True),
        ("switch to branch ‘clock-offset'", "switch to branch 'clock-offset'", True),
        ("commit 7f3c2le of today", "commit 7f3c21e of today", True),
        ("invoice R-2O455, 17 rnars", "invoice R-20455, 17 mars", True),
        ("the mould was festgestelit", "the mould was festgestellt", True),
        ("LlNE不可 ラべル", "LINE不可 ラベル", True),
        ("serial LT-0093 of buoy", "serial LT-0098 of buoy", False),
        ("assert 212.0 < 2 in test", "assert 212.0 > 2 in test", False),
        ("a drift of -5 ms today", "a drift of 5 ms today", False),
        ("approved by the manager on Monday", "rejected by the manager on Monday", False),
        ("the tests fail at night", "the tests pass at night", False),
        ("then it is approved", "then it is not approved", False),
        ("风力超过六级时禁止出海作业", "风力超过七级时禁止出海作业", False),
    ],
)
def test_what_a_slip_of_reading_is(read: str, quoted: str, is_same: bool) -> None:
    assert bool(find(read, quoted)) == is_same


@given(st.text(min_size=1, max_size=200), st.data())
def test_every_part_of_a_text_that_says_enough_is_found_in_it(text: str, data: st.DataObject) -> None:
    words = text.split()
    first = data.draw(st.integers(0, max(0, len(words) - 1)))
    last = data.draw(st.integers(first, max(0, len(words) - 1)))
    quote = " ".join(words[first : last + 1])
    if sum(character.isascii() and character.isalnum() for character in quote) >= 3:
        spans = find(text, quote)
        assert spans
        assert all(0 <= start < end <= len(text) for start, end in spans)


@given(st.text(max_size=80), st.text(max_size=60))
def test_looking_for_anything_in_anything_ends_well(text: str, quote: str) -> None:
    for start, end in find(text, quote):
        assert 0 <= start < end <= len(text)
