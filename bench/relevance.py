"""Relevance over 5,000 made-up screens and 250 questions: P@10, R@50, NDCG@10 by words, meaning, both.

Besides, how often a question finds the one line that answers it in other words or another language,
among the lines of all (``tests.relevance.paraphrases``).

Embedding them takes a few minutes, so this runs only when it is named::

    python -m bench relevance
"""

from __future__ import annotations

import tempfile
import threading
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.report import Report
from engines.embeddings.protocol import Embedder, EmbedderUnavailable, open_embedder
from ingest.core.worker_stats import WorkerStats
from ingest.reading.embedding import EmbeddingLoop
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.times import now_ms
from store.embeddings import vectors
from store.search.filters import Filters
from store.search.hybrid import Mode
from store.search.search import fuzzy_search
from tests.relevance.metrics import ndcg, precision, recall
from tests.relevance.paraphrases import KINDS
from tests.relevance.screens import Question, RelevanceSet, relevance_set
from tests.store.searching import add_frame

ON_REQUEST = True
"""Left out when all measurements run."""

_START_MS = 1_780_000_000_000
_STEP_MS = 15 * 60_000
_MODES: tuple[Mode, ...] = ("fts", "semantic", "hybrid")


@dataclass(frozen=True, slots=True)
class _Scores:
    precision: float
    recall: float
    ndcg: float


def main(report: Report) -> None:
    """Print the three figures of each mode over all questions, and NDCG@10 by kind of question."""
    made = relevance_set()
    with tempfile.TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        numbers = _fill(database, made)
        try:
            embedder: Embedder | None = open_embedder("local")
        except EmbedderUnavailable as error:
            report.line(f"  without meaning: {error}")
            embedder = None
        if embedder is not None:
            _paraphrases(report, embedder)
            _embed(database, embedder)
        for mode in _MODES if embedder else _MODES[:1]:
            _report(
                report,
                mode,
                made,
                [_asked(database, each, mode, embedder, numbers) for each in made.questions],
            )
        database.close_thread()


def _paraphrases(report: Report, embedder: Embedder) -> None:
    lines = [each.line for some in KINDS.values() for each in some]
    stored = embedder.embed(lines)
    for kind, some in KINDS.items():
        cosines = embedder.embed([each.question for each in some]) @ stored.T
        own = np.array([cosines[n, lines.index(each.line)] for n, each in enumerate(some)])
        places = 1 + (cosines > own[:, None]).sum(axis=1)
        value = f"{(places == 1).mean():.2f} / {(places <= 5).mean():.2f} / {(1 / places).mean():.3f}"
        report.row(f"paraphrases, R@1 / R@5 / MRR, {kind}", value)


def _fill(database: Database, made: RelevanceSet) -> dict[int, int]:
    """The number of the screen by the id of its frame."""
    with database.write() as connection:
        return {
            add_frame(connection, text, _START_MS + number * _STEP_MS): number
            for number, text in enumerate(made.texts)
        }


def _asked(
    database: Database, question: Question, mode: Mode, embedder: Embedder | None, numbers: dict[int, int]
) -> _Scores:
    vector = (
        embedder.embed([question.text])[0]
        if embedder and mode != "fts" and embedder.reads(question.text)
        else None
    )
    page = fuzzy_search(
        database,
        question.text,
        Filters(0, _START_MS * 2),
        mode=mode,
        limit=50,
        query_vector=vector,
        vector_model=embedder.name if embedder else None,
    )
    ranked = [numbers[hit.frame_id] for hit in page.hits]
    grades = question.grades
    return _Scores(precision(ranked, grades), recall(ranked, grades), ndcg(ranked, grades))


def _report(report: Report, mode: str, made: RelevanceSet, scores: list[_Scores]) -> None:
    means = [_mean([getattr(each, name) for each in scores]) for name in ("precision", "recall", "ndcg")]
    for name, value, goal in zip(("P@10", "R@50", "NDCG@10"), means, ("0.7", "0.8", "0.75"), strict=True):
        report.row(f"{mode}, {name}", f"{value:.3f}", goal=goal if mode == "hybrid" else "")
    by_kind: dict[str, list[_Scores]] = defaultdict(list)
    for question, each in zip(made.questions, scores, strict=True):
        by_kind[f"{question.language}, {question.kind}"].append(each)
    for kind, found in by_kind.items():
        value = f"{_mean([each.ndcg for each in found]):.3f} / {_mean([each.recall for each in found]):.3f}"
        report.row(f"{mode}, NDCG@10 / R@50, {kind}", value)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _embed(database: Database, embedder: Embedder) -> None:
    loop = EmbeddingLoop(database, WorkerStats(now_ms), lambda: embedder, threading.Event())
    vectors.request_more(database)
    while loop.step():
        pass
