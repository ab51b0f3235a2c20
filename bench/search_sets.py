"""Searches of foreign sets: every frame by words, one among the nearest by meaning, nothing for nonsense.

Of sealed sets totals only are printed::

    python -m bench search_sets FOLDER...
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from assistant.core.query_embedder import QueryEmbedder
from bench.question_sets import QuestionSet, Search, home_with, read
from bench.report import Report, is_closed
from engines.embeddings.protocol import Embedder, EmbedderUnavailable, open_embedder
from store.core.settings import EmbeddingSettings
from store.embeddings.knn import WORDS_ONLY
from store.search.filters import Filters
from store.search.search import search

ON_REQUEST = True
"""Left out when all measurements run: embedding takes half a minute."""

NEAREST = 5
_LIMIT = 200


def main(report: Report) -> None:
    """Print how many searches of each kind found what they should; of an open set also which did not."""
    try:
        embedder: Embedder | None = open_embedder("local")
    except EmbedderUnavailable as error:
        report.line(f"  without meaning: {error}")
        embedder = None
    for folder in report.folders:
        asked = read(folder / "questions.json")
        total, right = Counter(each.kind for each in asked.searches), Counter[str]()
        for each, is_right, what in judged(asked, embedder):
            right[each.kind] += is_right
            if not is_right and not is_closed(folder.name):
                report.line(f"  {each.kind}: {each.text}: {what}")
        for kind in total:
            report.row(f"{folder.name}, {kind}", f"{right[kind]} of {total[kind]}")


def judged(asked: QuestionSet, embedder: Embedder | None) -> Iterator[tuple[Search, bool, str]]:
    """(search, whether it found what it should, what it found) of each, as the API answers."""
    with home_with(asked, embedder) as (database, ids):
        asking = QueryEmbedder(EmbeddingSettings(), database, lambda: embedder) if embedder else None
        numbers = {frame_id: number for number, frame_id in ids.items()}
        for each in asked.searches:
            meaning = asking.asked(each.text) if asking else WORDS_ONLY
            page = search(database, each.text, Filters(0, asked.now_ms), limit=_LIMIT, meaning=meaning)
            words = [numbers[hit.frame_id] for hit in page.hits if hit.matched != ("meaning",)]
            near = [numbers[hit.frame_id] for hit in page.hits if hit.matched == ("meaning",)]
            match each.kind:
                case "words":
                    is_right = set(words) == each.frames and page.total == len(each.frames)
                case "meaning":
                    is_right = bool(each.frames.intersection([*words, *near][:NEAREST]))
                case _:
                    is_right = not page.hits
            yield each, is_right, f"by words {words}, near {near[:NEAREST]}, wanted {sorted(each.frames)}"
