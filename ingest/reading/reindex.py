"""Making the indexes anew: of words beside the one in use, of meaning as far as it lacks something.

Both may be stopped at any moment and go on where they were. Words are put into a second index, some
frames at a time, and searches use the first until the second is whole; vectors are stored a few at
a time, and what has them is not asked again.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import click

from engines.embeddings.protocol import EmbedderUnavailable
from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.core.worker_stats import WorkerStats
from ingest.reading.embedding import EmbeddingLoop, OpenEmbedder
from store.core.times import now_ms
from store.embeddings import vectors
from store.frames import text_index
from store.memory import documents
from store.memory.observation_writer import Backfill, backfill

_LOOK_EVERY_S = 1.0

Move = Callable[[int], None]
"""Told how many things are still to be done."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What a run came across: documents, and how many texts got their vectors or still wait."""

    documents: Backfill
    embedded: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Indexed:
    """Frames and documents of memory whose words a run has put into their new indexes."""

    frames: int
    documents: int


def text(home: Home) -> Indexed:
    """Rebuild the indexes of words from what is stored, beside captures, readings and searches.

    A run that follows one which was stopped puts in the rest. Other writers wait some tenths of a
    second, and once, at the end, for the old index to be erased (3 s at a million frames).
    """
    total, done = text_index.count_missing(home.database), 0
    with _bar(total, "Indexing") as move:
        while added := _leaving_room(lambda: text_index.rebuild_some(home.database)):
            done += added
            move(max(0, total - done))
    return Indexed(done, documents.rebuild_index(home.database))


def _leaving_room(write: Callable[[], int]) -> int:
    """Write, then wait as long as that took: SQLite wakes nobody, so another writer must find a gap."""
    began = time.monotonic()
    written = write()
    time.sleep(time.monotonic() - began)
    return written


def meaning(home: Home, open_embedder: OpenEmbedder, *, everything: bool) -> Embedded:
    """Embed what has no vectors, or `everything` anew, here or in the worker that runs already.

    Raises `EmbedderUnavailable`.
    """
    documents_made = backfill(home.database)
    vectors.request_more(home.database, everything=everything)
    total = vectors.count_missing(home.database, at_most=2**31)
    with _bar(total, "Embedding") as move:
        try:
            with only_worker(home.data_dir):
                _embed(home, open_embedder, move)
        except AlreadyRunning:
            _watch(home, move)
    waiting = vectors.count_missing(home.database, at_most=2**31)
    return Embedded(documents_made, total - waiting, waiting)


def _embed(home: Home, open_embedder: OpenEmbedder, move: Move) -> None:
    stats = WorkerStats(now_ms)
    loop = EmbeddingLoop(home.database, stats, open_embedder, threading.Event())
    try:
        while loop.step():
            move(vectors.count_missing(home.database, at_most=2**31))
    finally:
        loop.close()
    if stats.known.embedder_problem:
        raise EmbedderUnavailable(stats.known.embedder_problem)


def _watch(home: Home, move: Move) -> None:
    """The worker embeds; this only looks on."""
    while waiting := vectors.count_missing(home.database, at_most=2**31):
        move(waiting)
        time.sleep(_LOOK_EVERY_S)


@contextmanager
def _bar(total: int, label: str) -> Iterator[Move]:
    with click.progressbar(length=total, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield lambda left: bar.update(max(0, total - left - bar.pos))
