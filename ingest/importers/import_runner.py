"""Let an import be taken in: with what a home's settings ask for, and how it ends."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable

import click

from engines.embeddings.protocol import Embedder, EmbedderOptions, open_embedder
from engines.ocr.protocol import OcrEngine, OcrUnavailable, open_ocr
from ingest.core.home import AlreadyRunning, Home, only_worker
from ingest.importers.feeding import ImportFeed
from ingest.importers.progress import Progress
from ingest.observations.daily_summaries import DailySummaryWriter
from ingest.observations.observation_loop import ObservationLoop
from ingest.observations.refinement_models import Refiners
from ingest.reading.embedding_noted import EmbeddingRequestLog
from ingest.worker.worker import OpenMemory, Worker
from store.core.times import now_ms
from store.ocr import readings

SOME_FAILED = 1
_INTERRUPTED = 130


def run_import(feeding: ImportFeed, progress: Progress) -> int:
    """Take the import in: by a worker of our own, or beside the one that runs already."""
    while True:
        try:
            with only_worker(feeding.home.data_dir):
                return _take_in_alone(feeding, progress)
        except AlreadyRunning:
            if feeding.run_beside_a_worker():
                return 0


def _take_in_alone(feeding: ImportFeed, progress: Progress) -> int:
    def show_reading() -> None:
        if feeding.is_over:
            progress.reading(readings.count_pending(feeding.home.database))

    embedder = embedder_of(feeding.home)
    worker = Worker(
        feeding.home, engine_of(feeding.home), open_embedder=embedder,
        open_memory=memory_of(feeding.home), tick=show_reading,
    )  # fmt: skip
    stop_on_signals(worker)
    code = worker.run(once=True, feed=feeding.steps())
    if worker.was_stopped:
        click.echo("ingest: interrupted; what is queued is taken in by the next run", err=True)
        code = _INTERRUPTED
        leave_at_once(worker, code)
    elif shortfall := worker.shortfall():
        click.echo(f"ingest: {shortfall}", err=True)
    return code if feeding.is_over else code or SOME_FAILED


def stop_on_signals(worker: Worker) -> None:
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: worker.stop())


def leave_at_once(worker: Worker, code: int) -> None:
    """A reading cannot be interrupted: where one is under way, end the process around it.

    Its frame stays pending, and the system gives the lock back.
    """
    if worker.is_reading:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def print_summary(feeding: ImportFeed, as_json: bool, code: int) -> None:
    summary = feeding.summary()
    pending = readings.count_pending(feeding.home.database)
    if as_json:
        click.echo(json.dumps({**summary, "pending": pending}, ensure_ascii=False))
    else:
        counts = {word: count for word, count in summary.items() if isinstance(count, int) and count}
        click.echo(", ".join(f"{n} {word.replace('_', ' ')}" for word, n in counts.items()) or "nothing new")
        for one in summary["skipped"]:
            click.echo(f"skipped {one['name']}: {one['reason']}", err=True)
        if pending:
            click.echo(f"{pending} frames are still to be read", err=True)
    missing = summary["skipped"] or summary["queued"]
    click.get_current_context().exit(code or (SOME_FAILED if missing else 0))


def engine_of(home: Home) -> Callable[[], OcrEngine]:
    ocr = home.settings.ocr

    def opened() -> OcrEngine:
        if ocr.engine == "off":
            raise OcrUnavailable("reading is switched off (ocr.engine)")
        return open_ocr(ocr.engine, ocr.languages)

    return opened


def embedder_of(home: Home) -> Callable[[], Embedder]:
    chosen = home.settings.embedding
    notes = EmbeddingRequestLog(home.database, now_ms)
    options = EmbedderOptions(chosen.model, chosen.base_url, chosen.api_key, chosen.timeout_s, notes)
    return lambda: open_embedder(chosen.engine, options)


def memory_of(home: Home) -> OpenMemory:
    chat = home.settings.chat
    refiners = Refiners(chat, home.settings.memory.refine, home.data_dir)
    days = DailySummaryWriter(home.database, now_ms, chat.timeout_s)
    return lambda stop: ObservationLoop(home.database, now_ms, stop, refiners, chat.timeout_s, days)
