"""The worker of a home, put together as its settings say, and how a program that runs it ends."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator

import click

from engines.embeddings.protocol import Embedder, EmbedderOptions, open_embedder
from engines.ocr import languages
from engines.ocr.protocol import OcrEngine, OcrUnavailable, open_ocr
from ingest.core.cluster import Cluster
from ingest.core.home import Home
from ingest.reading.cluster_reading import SpreadEmbedder
from ingest.reading.embedding import EmbeddingRequestLog
from ingest.worker.worker import Worker
from store.core.preferences import choose_reading_languages, reading_languages
from store.core.signals import stopped_by_signals
from store.core.times import now_ms
from store.frames import frames

INTERRUPTED = 130


def worker_of(home: Home, tick: Callable[[], None] = lambda: None) -> Worker:
    """All that works on a home, as its settings say. Raises `SettingsError`.

    A home that is still empty is read in the languages of the system, too.
    """
    ocr, database = home.settings.ocr, home.database
    if frames.nearest(database, 0) is None and reading_languages(database, ocr) == ocr.languages:
        choose_reading_languages(database, languages.of_system(ocr.languages), ocr)
    executor = home.settings.ocr.executor
    cluster = None if executor == "local" else Cluster(executor)
    return Worker(
        home, engine_of(home), open_embedder=embedder_of(home, cluster), remembers=True,
        cluster=cluster, tick=tick,
    )  # fmt: skip


def engine_of(home: Home) -> Callable[[], OcrEngine]:
    ocr = home.settings.ocr

    def opened() -> OcrEngine:
        if ocr.engine == "off":
            raise OcrUnavailable("reading is switched off (ocr.engine)")
        return open_ocr(ocr.engine, reading_languages(home.database, ocr))

    return opened


def embedder_of(home: Home, cluster: Cluster | None = None) -> Callable[[], Embedder]:
    """Texts that an endpoint embeds go nowhere else."""
    chosen = home.settings.embedding
    notes = EmbeddingRequestLog(home.database, now_ms)
    options = EmbedderOptions(chosen.model, chosen.base_url, chosen.api_key, chosen.timeout_s, notes)

    def opened() -> Embedder:
        here = open_embedder(chosen.engine, options)
        if cluster is None or chosen.engine != "local":
            return here
        return SpreadEmbedder(here, home, cluster)

    return opened


def work_to_the_end(
    home: Home, tick: Callable[[], None], when_stopped: str, feed: Iterator[bool] | None = None
) -> int:
    """Have a worker of our own take in all there is; returns an exit code. Call it within `only_worker`."""
    worker = worker_of(home, tick)
    with stopped_by_signals(worker.stop):
        code = worker.run(once=True, feed=feed)
    if worker.was_stopped:
        click.echo(f"ingest: {when_stopped}", err=True)
        leave_at_once(worker, INTERRUPTED)
        return INTERRUPTED
    if shortfall := worker.shortfall():
        click.echo(f"ingest: {shortfall}", err=True)
    return code


def leave_at_once(worker: Worker, code: int) -> None:
    """A reading cannot be interrupted: where one is under way, end the process around it.

    Its frame stays pending, and the system gives the lock back.
    """
    if worker.is_reading:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
