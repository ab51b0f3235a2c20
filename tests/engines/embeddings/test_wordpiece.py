"""WordPiece over MiniLM's own vocabulary; the pieces were checked against the model's tokenizer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engines.embeddings.minilm import WordPiece, minilm_folder, words
from tests.tables import for_each

PIECES = (minilm_folder() / "vocab.txt").read_text(encoding="utf-8").rstrip("\n").split("\n")
TOKENS = WordPiece(PIECES)


def pieces(text: str, at_most: int = 100) -> list[str]:
    return [PIECES[number] for number in TOKENS.ids(text, at_most)]


@for_each(
    ("text", "expected"),
    [
        ("", ""),
        ("unaffable authentication", "una ##ffa ##ble authentication"),
        ("Café NAÏVE résumé", "cafe naive resume"),
        ("login(system)=C++ & C#", "log ##in ( system ) = c + + & c #"),
        ("$9.99 50% a_b-c", "$ 9 . 99 50 % a _ b - c"),
        ("don't ‘quote’ —", "don ' t ‘ quote ’ —"),
        ("tab\tnew\nline\0nul\ufffd", "tab new linen ##ul"),
        ("今天天气 hello世界", "[UNK] 天 天 [UNK] hello 世 [UNK]"),
        ("ひらがな カタカナ", "ひ ##ら ##か ##な カ ##タ ##カ ##ナ"),
        ("한국", "ᄒ ##ᅡ ##ᆫ ##ᄀ ##ᅮ ##ᆨ"),
        ("Привет ΑΒΓ", "п ##р ##и ##в ##е ##т α ##β ##γ"),
        ("e\u0301te\u0301 \u200bzero", "et ##e zero"),
        ("🙂 emoji", "[UNK] em ##oj ##i"),
        ("x" * 101, "[UNK]"),
    ],
)
def test_pieces_of_a_text(text: str, expected: str) -> None:
    assert pieces(text) == ["[CLS]", *expected.split(), "[SEP]"]


def test_unassigned_characters_stay_unknown() -> None:
    assert pieces("\u05ec") == ["[CLS]", "[UNK]", "[SEP]"]


@given(st.text(), st.integers(2, 20))
def test_any_text_has_ids_within_the_limit(text: str, at_most: int) -> None:
    ids = TOKENS.ids(text, at_most)
    assert len(ids) <= at_most
    assert (PIECES[ids[0]], PIECES[ids[-1]]) == ("[CLS]", "[SEP]")


@given(st.lists(st.sampled_from(["login", "c++", "世界", "naïve", "(x)"])))
def test_spaces_between_words_change_nothing_else(parts: list[str]) -> None:
    assert [word for part in parts for word in words(part)] == list(words("  ".join(parts)))
