"""python -m ingest: the worker, and the imports that feed it.

python -m ingest [--home DIR] [--once]
python -m ingest [--home DIR] import images DIR
python -m ingest [--home DIR] import video FILE --start TIME
python -m ingest [--home DIR] reindex [--text] [--vectors [--all]]
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import click

from engines.embedding import Embedder, EmbedderOptions, EmbeddingError, open_embedder
from engines.ocr import OcrEngine, OcrUnavailable, open_ocr
from ingest import reindex
from ingest.home import AlreadyRunning, Home, only_worker, open_home
from ingest.importers import images as image_import
from ingest.importers import video as video_import
from ingest.importers.feeding import Feeding
from ingest.importers.items import CannotImport, Item, Skipped
from ingest.importers.progress import Progress
from ingest.importers.zones import moment_ms, zone_named
from ingest.observations import ObservationLoop
from ingest.refining_model import refining_model
from ingest.worker import OpenMemory, Worker
from store import reading_queue
from store.errors import StoreError
from store.paths import DataDir, default_home, restrict_umask
from store.settings import load
from store.times import now_ms

log = logging.getLogger("ingest")

_NICE = 10
_SOME_FAILED = 1
_INTERRUPTED = 130


@click.group(invoke_without_command=True)
@click.option("--home", type=click.Path(path_type=Path), help="The home folder (default: RECOLLECT_HOME).")
@click.option("--once", is_flag=True, help="Empty the spool, read everything that waits, and exit.")
@click.pass_context
def ingest(context: click.Context, home: Path | None, once: bool) -> None:
    """Turn captures into searchable frames, until SIGTERM or SIGINT."""
    restrict_umask()
    data_dir = DataDir(home or default_home()).create()
    opened = open_home(data_dir, load(data_dir))
    context.obj = opened
    if context.invoked_subcommand is None:
        _log_to_stderr(logging.WARNING if once else logging.INFO)
        context.exit(_work(opened, once))


@ingest.group("import")
def imports() -> None:
    """Bring in what exists already; repeating an import changes nothing."""


@imports.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--tz", help="Zone of times in file names (default: this machine's).")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def images(home: Home, directory: Path, tz: str | None, as_json: bool) -> None:
    """Import the pictures of DIRECTORY, each at the time its file says."""
    zone = zone_named(tz)
    found = image_import.find(directory, zone)
    items = image_import.read(found, zone)
    with Progress(len(found)) as progress:
        feeding = Feeding(home, items, lambda _: progress.advance(1))
        code = _take_in(feeding, progress)
    _tell(feeding, as_json, code)


@imports.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--start", required=True, metavar="TIME", help="When the recording began.")
@click.option("--interval", type=click.FloatRange(min=0.01), default=1.0, help="Seconds between frames.")
@click.option("--tz", help="Zone of --start (default: this machine's).")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def video(home: Home, file: Path, start: str, interval: float, tz: str | None, as_json: bool) -> None:
    """Import a screen recording; its sound is ignored."""
    zone = zone_named(tz)
    start_ms = moment_ms(start, zone)
    clip = video_import.look(file)
    items = video_import.read(clip, start_ms, interval, zone)
    with Progress(max(1, round(clip.seconds or 1))) as progress:

        def step(found: Item | Skipped) -> None:
            if isinstance(found, Item):
                progress.reach(round((found.capture.captured_ms - start_ms) / 1000))

        feeding = Feeding(home, items, step)
        code = _take_in(feeding, progress)
    _tell(feeding, as_json, code)


@ingest.command("reindex")
@click.option("--text", "of_words", is_flag=True, help="Rebuild the index of words.")
@click.option("--vectors", "of_meaning", is_flag=True, help="Embed what has no vectors.")
@click.option("--all", "everything", is_flag=True, help="With --vectors: embed everything anew.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def reindex_command(home: Home, of_words: bool, of_meaning: bool, everything: bool, as_json: bool) -> None:
    """Make the indexes anew; may be stopped and started again."""
    told: dict[str, object] = {}
    if of_words or not of_meaning:
        indexed = reindex.text(home)
        told |= {"index_rows": indexed.frames, "indexed_documents": indexed.documents}
    if of_meaning or not of_words:
        try:
            found = reindex.meaning(home, _embedder_of(home), everything=everything)
        except EmbeddingError as error:
            raise click.ClickException(str(error)) from error
        told |= {"user_prompts": found.documents.prompts, "documents": found.documents.created}
        told |= {"embedded": found.embedded, "waiting": found.waiting}
    if as_json:
        click.echo(json.dumps(told))
        return
    for name, sentence in _REINDEXED.items():
        if name in told:
            click.echo(sentence.format(told[name]))


# R4.30 asks for the words of the first two.
_REINDEXED = {
    "user_prompts": "Found {} user prompts",
    "documents": "Created {} documents",
    "index_rows": "Indexed the words of {} frames",
    "indexed_documents": "Indexed the words of {} documents of memory",
    "embedded": "Embedded {} texts",
    "waiting": "{} texts wait",
}


def _work(home: Home, once: bool) -> int:
    with only_worker(home.data_dir):
        _be_modest()
        worker = Worker(
            home, _engine_of(home), open_embedder=_embedder_of(home), open_memory=_memory_of(home)
        )
        _stop_on_signals(worker)
        code = worker.run(once=once)
        shortfall = worker.shortfall() if once and code == 0 else ""
        if shortfall:
            click.echo(f"ingest: {shortfall}", err=True)
            code = _SOME_FAILED
        _leave_at_once(worker, code)
        return code


def _take_in(feeding: Feeding, progress: Progress) -> int:
    """Take the import in: by a worker of our own, or beside the one that runs already."""
    while True:
        try:
            with only_worker(feeding.home.data_dir):
                return _take_in_alone(feeding, progress)
        except AlreadyRunning:
            if feeding.run_beside_a_worker():
                return 0


def _take_in_alone(feeding: Feeding, progress: Progress) -> int:
    def show_reading() -> None:
        if feeding.is_over:
            progress.reading(reading_queue.count_pending(feeding.home.database))

    embedder = _embedder_of(feeding.home)
    worker = Worker(
        feeding.home, _engine_of(feeding.home), open_embedder=embedder,
        open_memory=_memory_of(feeding.home), tick=show_reading,
    )  # fmt: skip
    _stop_on_signals(worker)
    code = worker.run(once=True, feed=feeding.steps())
    if worker.was_stopped:
        click.echo("ingest: interrupted; what is queued is taken in by the next run", err=True)
        code = _INTERRUPTED
        _leave_at_once(worker, code)
    elif shortfall := worker.shortfall():
        click.echo(f"ingest: {shortfall}", err=True)
    return code if feeding.is_over else code or _SOME_FAILED


def _stop_on_signals(worker: Worker) -> None:
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: worker.stop())


def _leave_at_once(worker: Worker, code: int) -> None:
    """A reading cannot be interrupted: where one is under way, end the process around it.

    Its frame stays pending, and the system gives the lock back.
    """
    if worker.is_reading:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _tell(feeding: Feeding, as_json: bool, code: int) -> None:
    summary = feeding.summary()
    pending = reading_queue.count_pending(feeding.home.database)
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
    click.get_current_context().exit(code or (_SOME_FAILED if missing else 0))


def _engine_of(home: Home) -> Callable[[], OcrEngine]:
    ocr = home.settings.ocr

    def opened() -> OcrEngine:
        if ocr.engine == "off":
            raise OcrUnavailable("reading is switched off (ocr.engine)")
        return open_ocr(ocr.engine, ocr.languages)

    return opened


def _embedder_of(home: Home) -> Callable[[], Embedder]:
    chosen = home.settings.embedding
    options = EmbedderOptions(chosen.model, chosen.base_url, chosen.api_key, chosen.timeout_s)
    return lambda: open_embedder(chosen.engine, options)


def _memory_of(home: Home) -> OpenMemory:
    chat = home.settings.chat
    model = refining_model(chat, home.settings.memory.refine)
    return lambda stop: ObservationLoop(home.database, now_ms, stop, model, chat.timeout_s)


def _log_to_stderr(level: int) -> None:
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def _be_modest() -> None:
    """What the person does comes first."""
    if hasattr(os, "nice"):
        os.nice(_NICE)


def main() -> int:
    """Run; a failure is one line on stderr and a non-zero exit code."""
    try:
        code = ingest.main(prog_name="ingest", standalone_mode=False)
        return int(code or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.Abort:
        return 130
    except (StoreError, AlreadyRunning, CannotImport) as error:
        click.echo(f"ingest: {error}", err=True)
        return _SOME_FAILED


if __name__ == "__main__":
    sys.exit(main())
