"""Searches of foreign sets find what has the words, and nothing for nonsense; failures tell totals alone."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.question_sets import read
from bench.report import SETS
from bench.search_sets import judged
from engines.embeddings.protocol import open_embedder

pytestmark = pytest.mark.end_to_end


def test_the_sealed_set_of_searches() -> None:
    embedder = open_embedder("local")
    wrong = Counter(
        search.kind
        for search, is_right, _ in judged(read(SETS / "sealed" / "questions.json"), embedder)
        if not is_right
    )
    embedder.close()
    assert wrong["words"] == wrong["nonsense"] == 0
