"""Which language a text is in, by its small words."""

from __future__ import annotations

import pytest

from assistant.language.small_words import has_capital_nouns, language_of, languages_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What had we agreed about the login?", "en"),
        ("Was hatten wir zur Steuererklärung beschlossen?", "de"),
        ("発売はいつですか", "ja"),
        ("0815", ""),
    ],
)
def test_the_language_with_most_small_words_is_told(text: str, language: str) -> None:
    assert language_of(text) == language


def test_the_data_of_languages_with_fewer_small_words_is_not_read() -> None:
    """Read for all of them, it took longer than the first question's background may take."""
    has_capital_nouns.cache_clear()
    text = "What had we agreed about the login?"
    language_of(text)
    assert has_capital_nouns.cache_info().misses == len(languages_of(text))
