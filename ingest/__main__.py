"""python -m ingest: the worker, and the imports that feed it.

python -m ingest [--home DIR] [--once]
python -m ingest [--home DIR] import images DIR
python -m ingest [--home DIR] import video FILE --start TIME
python -m ingest [--home DIR] import recording DIR
python -m ingest [--home DIR] import messages|calendar|location|places FILE
python -m ingest [--home DIR] demo [--days N]
python -m ingest [--home DIR] reindex [--text] [--vectors [--all]]
python -m ingest [--home DIR] reread [--all | --stop]
"""

from __future__ import annotations

import errno
import json
import logging
import sys
from pathlib import Path
from typing import Any

import click

from ingest.core.home import AlreadyRunning, Home, only_worker, open_home, with_home
from ingest.core.progress import Bar
from ingest.importers.items import (
    SOME_FAILED,
    CannotImport,
    Item,
    Skipped,
    moment_ms,
    reject_sample_week,
    zone_named,
)
from store.core.allocator import give_back_freed_memory
from store.core.errors import StoreError
from store.core.paths import DataDir, default_home, restrict_files
from store.core.settings import load
from store.core.signals import stopped_by_signals
from store.core.times import now_ms
from store.sources.imports import KINDS, Kind

# Each command imports what it works with when it is called: an import that the web app starts for one
# file would wait half a second for models, video and the sample week, and the worker has no use for parsers.

log = logging.getLogger("ingest")


_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_HELP: dict[Kind, str] = {
    "messages": "Import messages of FILE: SMS, iMessage, WhatsApp, Telegram, e-mail or CSV.",
    "calendar": "Import events of FILE: .ics, those that repeat worked out, or windows of ActivityWatch.",
    "location": "Import where you were from FILE: GPX, GeoJSON, Google's history or CSV.",
    "places": "Import your places from FILE: GeoJSON or CSV.",
}


def _source_command(kind: Kind) -> click.Command:
    @click.command(kind, help=_HELP[kind])
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
    @click.option("--format", "format_name", metavar="FORMAT", help="Which format (default: found out).")
    @click.option("--tz", "--zone", "tz", help="Zone of times without one (default: this machine's).")
    @click.option("--me", multiple=True, help="Your own name or address in the file.")
    @click.option("--dates", type=click.Choice(["dmy", "mdy", "ymd"]), help="How its dates are written.")
    @click.option("--name", hidden=True, help="What the file is called, where it lies under another name.")
    @_json_option
    @with_home
    def command(home: Home, /, file: Path, as_json: bool, **given: Any) -> None:
        from ingest.importers.sources.source_file import Options
        from ingest.importers.sources.source_import import import_file, summary_lines

        options = Options(
            zone=zone_named(given["tz"]),
            now_ms=now_ms(),
            me=frozenset(name.strip().casefold() for name in given["me"]),
            dates=given["dates"],
        )
        with Bar("Reading") as reading, Bar("Storing") as storing:
            receipt = import_file(
                home, kind, file, options, name=given["name"], format_name=given["format_name"],
                on_read=reading.reach, on_stored=storing.reach,
            )  # fmt: skip
        if as_json:
            click.echo(json.dumps(receipt.as_json(), ensure_ascii=False))
            return
        for line in summary_lines(receipt):
            click.echo(line)

    return command


@click.group(invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--home", type=click.Path(path_type=Path), help="The home folder (default: RECOLLECT_HOME).")
@click.option("--once", is_flag=True, help="Empty the spool, read everything that waits, and exit.")
@click.pass_context
def ingest(context: click.Context, home: Path | None, once: bool) -> None:
    """Turn captures into searchable frames, until SIGTERM or SIGINT."""
    restrict_files()

    def opened() -> Home:
        named = DataDir(home or default_home())
        is_there = context.invoked_subcommand in ("reindex", "reread")
        data_dir = named.existing() if is_there else named.create()
        return open_home(data_dir, load(data_dir))

    context.obj = opened
    if context.invoked_subcommand is None:
        level = logging.WARNING if once else logging.INFO
        logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
        context.exit(_work(opened(), once))


@ingest.group("import")
def imports() -> None:
    """Bring in what exists already; repeating an import changes nothing."""


@imports.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--tz", help="Zone of times in file names (default: this machine's).")
@_json_option
@with_home
def images(home: Home, directory: Path, tz: str | None, as_json: bool) -> None:
    """Import the pictures of DIRECTORY, each at the time its file says."""
    from ingest.importers import images as image_import
    from ingest.importers.import_runner import print_summary, run_import

    reject_sample_week(home.data_dir)
    zone = zone_named(tz)
    pictures = image_import.find(directory, zone)
    print_summary(*run_import(home, image_import.read(pictures, zone), len(pictures)), as_json)


@imports.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@_json_option
@with_home
def recording(home: Home, folder: Path, as_json: bool) -> None:
    """Import what OpenRecall or screenpipe recorded into its FOLDER, with apps and titles."""
    from ingest.importers import recordings
    from ingest.importers.import_runner import print_summary, run_import

    reject_sample_week(home.data_dir)
    looks = recordings.find(folder)
    print_summary(*run_import(home, recordings.read(looks, zone_named(None)), len(looks)), as_json)


@imports.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--start", required=True, metavar="TIME", help="When the recording began.")
@click.option("--interval", type=click.FloatRange(min=0.01), default=1.0, help="Seconds between frames.")
@click.option("--tz", help="Zone of --start (default: this machine's).")
@_json_option
@with_home
def video(home: Home, file: Path, start: str, interval: float, tz: str | None, as_json: bool) -> None:
    """Import a screen recording; its sound is ignored."""
    from ingest.importers import video as video_import
    from ingest.importers.import_runner import print_summary, run_import

    reject_sample_week(home.data_dir)
    zone = zone_named(tz)
    start_ms = moment_ms(start, zone)
    length = max(1, round(video_import.seconds_of(file) or 1))
    items = video_import.read(file, start_ms, interval, zone)

    def reached(_: int, item: Item | Skipped) -> int:
        return round((item.capture.captured_ms - start_ms) / 1000) if isinstance(item, Item) else 0

    print_summary(*run_import(home, items, length, reached), as_json)


for _kind in KINDS:
    imports.add_command(_source_command(_kind))


@ingest.command()
@click.option("--days", type=click.IntRange(1, 60), default=5, show_default=True, help="Working days.")
@click.option("--hours", type=click.FloatRange(min=0.5), help="Only the first hours of the first day.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The last day, as 2026-11-20 (default: yesterday).",
)
@click.option("--tz", help="IANA zone the person lives in (default: this machine's).")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, other figures.")
@_json_option
@with_home
def demo(home: Home, /, **given: Any) -> None:
    """Fill an empty home folder with a working week that never happened.

    Without --home and RECOLLECT_HOME it goes beside the usual home folder, into one whose name ends
    in -demo.
    """
    from ingest.demo.command import fill

    fill(home, **given)


@ingest.command("reindex")
@click.option("--text", "of_words", is_flag=True, help="Only the index of words.")
@click.option("--vectors", "of_meaning", is_flag=True, help="Only the vectors of meaning, where they lack.")
@click.option("--all", "everything", is_flag=True, help="Vectors of everything anew.")
@_json_option
@with_home
def reindex_command(home: Home, of_words: bool, of_meaning: bool, everything: bool, as_json: bool) -> None:
    """Make the indexes of words and meaning anew; may be stopped and started again."""
    from engines.embeddings.protocol import EmbeddingError
    from ingest.reading import reindex
    from ingest.worker.assembly import embedder_of

    result: dict[str, int] = {}
    if of_words or not of_meaning:
        result |= reindex.text(home)
    if of_meaning or not of_words:
        try:
            result |= reindex.meaning(home, embedder_of(home), everything=everything)
        except EmbeddingError as error:
            raise click.ClickException(str(error)) from error
    if as_json:
        click.echo(json.dumps(result))
        return
    for name, sentence in _REINDEXED.items():
        if name in result:
            click.echo(sentence.format(result[name]))


@ingest.command("reread")
@click.option("--all", "everything", is_flag=True, help="Every picture; without it, go on with what waits.")
@click.option("--stop", "is_stopping", is_flag=True, help="Leave what still waits as it was read before.")
@_json_option
@with_home
def reread_command(home: Home, everything: bool, is_stopping: bool, as_json: bool) -> None:
    """Read pictures anew, with another engine or on more machines; may be stopped and started again."""
    from ingest.worker import rereading

    if is_stopping:
        outcome: dict[str, float] = {"left_as_read": rereading.stop(home)}
    else:
        outcome = rereading.run(home, everything=everything)
    if as_json:
        click.echo(json.dumps(outcome))
    else:
        click.echo(", ".join(f"{name.replace('_', ' ')}: {value:g}" for name, value in outcome.items()))


# Scripts read the words of the first two.
_REINDEXED = {
    "user_prompts": "Found {} user prompts",
    "documents": "Created {} documents",
    "index_rows": "Frames indexed: {}",
    "indexed_documents": "Documents of memory indexed: {}",
    "embedded": "Texts embedded: {}",
    "waiting": "Texts that wait: {}",
}


def _work(home: Home, once: bool) -> int:
    from ingest.worker import assembly

    with only_worker(home.data_dir):
        give_back_freed_memory(at_once=False)  # each picture takes it again: a third of its CPU
        worker = assembly.worker_of(home)
        with stopped_by_signals(worker.stop):
            code = worker.run(once=once)
        shortfall = worker.shortfall() if once and code == 0 else ""
        if shortfall:
            click.echo(f"ingest: {shortfall}", err=True)
            code = SOME_FAILED
        assembly.leave_at_once(worker, code)
        return code


def main() -> int:
    """Run; a failure is one line on stderr and a non-zero exit code."""
    try:
        code = ingest.main(prog_name="recollect", standalone_mode=False)  # by which people call its commands
        return int(code or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        click.echo(f"ingest: {error.format_message()}", err=True)
        return error.exit_code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.exceptions.Abort:
        return 130
    except (StoreError, AlreadyRunning, CannotImport) as error:
        click.echo(f"ingest: {error}", err=True)
        return SOME_FAILED
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        click.echo(f"ingest: {error.strerror}", err=True)
        return SOME_FAILED


if __name__ == "__main__":
    sys.exit(main())
