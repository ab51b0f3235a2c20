"""Relevance over 5,000 made-up screens and 250 questions: P@10, R@50, NDCG@10 by words, meaning, both.

Besides, how often a question finds the one line that answers it in other words or another language,
among the lines of all (``tests.relevance.paraphrases``), and the same over lines in eight languages that no
model was chosen by (``tests.relevance.held_out``).

Embedding them takes a few minutes, so this runs only when it is named::

    python -m bench relevance
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assistant.core.query_embedder import QueryEmbedder
from bench.question_sets import embed
from bench.report import Report
from engines.embeddings.protocol import Embedder, EmbedderUnavailable, Vectors, open_embedder
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import EmbeddingSettings
from store.embeddings.knn import WORDS_ONLY
from store.search.filters import Filters
from store.search.search import Mode, search
from tests.relevance import held_out
from tests.relevance.held_out import HeldOut
from tests.relevance.metrics import ndcg, precision, recall
from tests.relevance.paraphrases import KINDS, Paraphrase
from tests.relevance.screens import Question, RelevanceSet, relevance_set
from tests.store.search.searching import add_frame

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
            _held_out(report, embedder)
            embed(database, embedder)
        asking = QueryEmbedder(EmbeddingSettings(), database, lambda: embedder) if embedder else None
        for mode in _MODES if embedder else _MODES[:1]:
            _report(
                report,
                mode,
                made,
                [_asked(database, each, mode, asking, numbers) for each in made.questions],
            )
        database.close_thread()


def _paraphrases(report: Report, embedder: Embedder) -> None:
    lines = [each.line for some in KINDS.values() for each in some]
    stored = embedder.embed(lines)
    for kind, some in KINDS.items():
        places = _places(embedder, some, lines, stored)
        report.row(f"paraphrases, R@1 / R@5 / MRR, {kind}", _shares(places))


def _held_out(report: Report, embedder: Embedder) -> None:
    """Over lines nobody chose a model by, and what their embedding costs."""
    questions, lines = held_out.questions(), held_out.lines()
    began = time.process_time()
    stored = embedder.embed(lines)
    embedded = time.process_time()
    for each in questions:
        embedder.embed([each.question])
    asked_ms = 1000 * (time.process_time() - embedded) / len(questions)
    places = _places(embedder, questions, lines, stored)
    is_same = np.array([each.asked_in == each.written_in for each in questions])
    report.row("held out, R@1 / R@5 / MRR, same language", _shares(places[is_same]))
    report.row("held out, R@1 / R@5 / MRR, another language", _shares(places[~is_same]))
    report.row("processor time of 100 lines", f"{100_000 * (embedded - began) / len(lines):.0f} ms")
    report.row("processor time of a question", f"{asked_ms:.1f} ms")


def _places(
    embedder: Embedder, asked: Sequence[Paraphrase | HeldOut], lines: list[str], stored: Vectors
) -> npt.NDArray[np.int64]:
    """Of each question the place of its own line among all, from 1."""
    cosines = embedder.embed([each.question for each in asked]) @ stored.T
    own = cosines[np.arange(len(asked)), [lines.index(each.line) for each in asked]]
    return np.asarray(1 + (cosines > own[:, None]).sum(axis=1))


def _shares(places: npt.NDArray[np.int64]) -> str:
    return f"{(places == 1).mean():.2f} / {(places <= 5).mean():.2f} / {(1 / places).mean():.3f}"


def _fill(database: Database, made: RelevanceSet) -> dict[int, int]:
    """The number of the screen by the id of its frame."""
    with database.write() as connection:
        return {
            add_frame(connection, text, _START_MS + number * _STEP_MS): number
            for number, text in enumerate(made.texts)
        }


def _asked(
    database: Database, question: Question, mode: Mode, asking: QueryEmbedder | None, numbers: dict[int, int]
) -> _Scores:
    page = search(
        database,
        question.text,
        Filters(0, _START_MS * 2),
        mode=mode,
        limit=50,
        meaning=asking.asked(question.text, mode=mode) if asking else WORDS_ONLY,
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
        both = f"{_mean([each.ndcg for each in found]):.3f} / {_mean([each.recall for each in found]):.3f}"
        report.row(f"{mode}, NDCG@10 / R@50, {kind}", both)


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)
