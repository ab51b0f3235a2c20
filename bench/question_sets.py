"""Foreign sets of screens and questions, and a home that is filled with one.

A set is a JSON file that was written by somebody who does not know the program: frames over some days,
questions with what a right answer shows, searches with the frames they find. All may be looked at but
those in folders called ``sealed…``, of which only totals are ever printed.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from engines.embeddings.protocol import Embedder
from ingest.core.worker_stats import WorkerStats
from ingest.reading.embedding import EmbeddingLoop
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.times import now_ms
from store.embeddings import vectors
from store.frames import frames
from store.ocr import readings
from store.timeline import segments
from tests.factories import capture, text_draft
from tests.store.search.searching import STILL

LONGEST_SHOWN_MS = 300_000
"""A window counts as shown until the next frame, but no longer than this."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked in `language`.

    A right answer shows one text of each group of `must`, of a summary of two groups, and at its head none
    of `must_not`. A follow-up is asked in the chat of the question that stands at `after` in the set.
    """

    text: str
    language: str
    form: str
    must: tuple[tuple[str, ...], ...]
    must_not: tuple[str, ...]
    after: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What is typed into a search, and the frames (by their numbers in the set) that it should find."""

    text: str
    kind: str
    frames: frozenset[int]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """`frames` as they stand in the file; `now_ms` is when everything is asked."""

    timezone: str
    now_ms: int
    frames: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]
    searches: tuple[Search, ...]


def read(path: Path) -> QuestionSet:
    """The set in a file."""
    content = json.loads(path.read_text("utf-8"))
    return QuestionSet(
        content["timezone"],
        _ms(content["now"]),
        tuple(content["frames"]),
        tuple(
            Question(
                q["q"],
                q["lang"],
                q["form"],
                tuple(map(tuple, q["must"])),
                tuple(q["must_not"]),
                q.get("after", number - 1 if q.get("follows") else None),
            )
            for number, q in enumerate(content["questions"])
        ),
        tuple(Search(q["q"], q["kind"], frozenset(q["frames"])) for q in content["searches"]),
    )


@contextmanager
def home_with(asked: QuestionSet, embedder: Embedder | None) -> Iterator[tuple[Database, dict[int, int]]]:
    """(the database of a new home with the frames, their ids by their numbers), embedded if that can be."""
    with TemporaryDirectory() as folder:
        database = open_database(DataDir(Path(folder) / "home"))
        ids = fill(database, asked)
        if embedder is not None:
            embed(database, embedder)
        yield database, ids
        database.close_thread()


def fill(database: Database, asked: QuestionSet) -> dict[int, int]:
    """Store the frames, read, with the line of activity that they give; their ids by their numbers."""
    ids: dict[int, int] = {}
    starts = [_ms(frame["captured_at"]) for frame in asked.frames]
    with database.write() as connection:
        for frame, (start_ms, next_ms) in zip(asked.frames, pairwise([*starts, asked.now_ms]), strict=True):
            record = capture(
                start_ms, app_name=frame["app"], window_name=frame["window"], browser_url=frame["url"]
            )
            frame_id = ids[frame["id"]] = frames.insert(connection, record, STILL, start_ms)
            frames.extend(connection, record.capture_id, min(next_ms, start_ms + LONGEST_SHOWN_MS))
            readings.add(connection, frame_id, text_draft(frame["text"]), (), start_ms)
        segments.rebuild(connection, starts[0], asked.now_ms)
    return ids


def embed(database: Database, embedder: Embedder) -> None:
    """Give every text its vectors, as the worker does."""
    loop = EmbeddingLoop(database, WorkerStats(now_ms), lambda: embedder, threading.Event())
    vectors.request_more(database)
    while loop.step():
        pass


def _ms(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)
