"""Searches of foreign sets find what has the words, and nothing for nonsense; failures tell totals alone."""

from __future__ import annotations

from collections import Counter

import pytest

from bench.question_sets import read
from bench.report import SETS
from bench.search_sets import judged
from engines.embeddings.protocol import open_embedder

pytestmark = pytest.mark.end_to_end


# In the first set futures and margins, in Chinese, are near to lines of a bank and of a price.
@pytest.mark.parametrize(("name", "near_nonsense"), [("open", 1), ("second", 0), ("third", 0), ("sealed", 0)])
def test_a_foreign_set_of_searches(name: str, near_nonsense: int) -> None:
    embedder = open_embedder("local")
    wrong = Counter(
        search.kind
        for search, is_right, _ in judged(read(SETS / name / "questions.json"), embedder)
        if not is_right
    )
    embedder.close()
    assert wrong["words"] == 0
    assert wrong["nonsense"] <= near_nonsense
