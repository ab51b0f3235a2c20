"""Making the indexes anew: of words beside the one in use, of meaning as far as it lacks something.

Both may be stopped at any moment and go on where they were. Words are put into a second index, some
frames at a time, and searches use the first until the second is whole; vectors are stored a few at
a time, and what has them is not asked again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from engines.embeddings.protocol import EmbedderUnavailable
from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.core.progress import Bar
from ingest.core.worker_stats import WorkerStats
from ingest.reading.embedding import EmbeddingLoop, OpenEmbedder
from store.core.times import now_ms
from store.embeddings import vectors
from store.frames import text_index
from store.memory import documents
from store.memory.observation_writer import backfill

_LOOK_EVERY_S = 1.0


def text(home: Home) -> dict[str, int]:
    """Rebuild the indexes of words from what is stored, beside captures, readings and searches.

    A run that follows one which was stopped puts in the rest. Other writers wait some tenths of a
    second, and once, at the end, for the old index to be erased (3 s at a million frames).
    """
    total, done = text_index.count_missing(home.database), 0
    with Bar("Indexing") as bar:
        while added := _leaving_room(lambda: text_index.rebuild_some(home.database)):
            done += added
            bar.reach(done, total)
    return {"index_rows": done, "indexed_documents": documents.rebuild_index(home.database)}


def _leaving_room(write: Callable[[], int]) -> int:
    """Write, then wait as long as that took: SQLite wakes nobody, so another writer must find a gap."""
    began = time.monotonic()
    written = write()
    time.sleep(time.monotonic() - began)
    return written


def meaning(home: Home, open_embedder: OpenEmbedder, *, everything: bool) -> dict[str, int]:
    """Embed what has no vectors, or `everything` anew, here or in the worker that runs already.

    Raises `EmbedderUnavailable`.
    """
    documents_made = backfill(home.database)
    vectors.request_more(home.database, everything=everything)
    total = _count_missing(home)
    with Bar("Embedding") as bar:

        def look() -> int:
            waiting = _count_missing(home)
            bar.reach(total - waiting, total)
            return waiting

        try:
            with only_worker(home.data_dir):
                _embed(home, open_embedder, look)
        except AlreadyRunning:
            while look():
                time.sleep(_LOOK_EVERY_S)
    waiting = _count_missing(home)
    found = {"user_prompts": documents_made.prompts, "documents": documents_made.created}
    return {**found, "embedded": total - waiting, "waiting": waiting}


def _embed(home: Home, open_embedder: OpenEmbedder, look: Callable[[], int]) -> None:
    stats = WorkerStats(now_ms)
    loop = EmbeddingLoop(home.database, stats, open_embedder, threading.Event())
    try:
        while loop.step():
            look()
    finally:
        loop.close()
    if stats.known.embedder_problem:
        raise EmbedderUnavailable(stats.known.embedder_problem)


def _count_missing(home: Home) -> int:
    return vectors.count_missing(home.database, at_most=2**31)
