"""A quote stands in a text or it does not; digits never differ (CHAT-1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.assistant.quotes import find, stands_in

TEXT = "File  Edit View\nretention set to 14 days\n总 结 一 下 今天 的工作\nCafé ＡＢＣ 2014 start of the art"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("retention set to 14 days", ["retention set to 14 days"]),
        ("  RETENTION set\tto 14 days ", ["retention set to 14 days"]),
        ("“retention set to 14 days”", ["retention set to 14 days"]),
        ("File Edit View", ["File  Edit View"]),
        ("View retention", ["View\nretention"]),
        ("retention sett to 14 day", ["retention set to 14 day"]),
        ("总结一下今天的工作", ["总 结 一 下 今天 的工作"]),
        ("总结", ["总 结"]),
        ("cafe abc", ["Café ＡＢＣ"]),
        ("art", ["art"]),
        ("File … 14 days", ["File", "14 days"]),
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


@pytest.mark.parametrize("at", range(24))
def test_changing_any_character_of_a_short_figure_breaks_the_quote(at: int) -> None:
    quote = "retention set to 14 days"
    changed = quote[:at] + ("9" if quote[at].isdigit() else "#") + quote[at + 1 :]
    assert bool(find(TEXT, changed)) == (not quote[at].isdigit())


def test_titles_and_addresses_can_be_quoted() -> None:
    assert stands_in([None, "main.py - recollect"], "main.py")
    assert not stands_in(["main.py - recollect", None], "other.py")


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


@given(st.text("abcdef ", min_size=30, max_size=60), st.integers(0, 29), st.sampled_from("abc"))
def test_a_few_slips_are_forgiven_in_a_long_quote(text: str, at: int, letter: str) -> None:
    inside = " ".join(text.split())
    if len(inside) >= 20:
        slipped = inside[: at % len(inside)] + letter + inside[at % len(inside) + 1 :]
        assert find(f"before {inside} after", slipped)
