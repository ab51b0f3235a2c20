"""``python -m ingest import messages|calendar|location|places FILE``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from ingest.core.home import Home
from ingest.importers.zones import zone_named
from store.core.times import now_ms
from store.sources.imports import KINDS, Kind

_HELP: dict[Kind, str] = {
    "messages": "Import messages of FILE: SMS, iMessage, WhatsApp, Telegram, e-mail or CSV.",
    "calendar": "Import the events of an .ics FILE, those that repeat worked out.",
    "location": "Import where you were from FILE: GPX, GeoJSON, Google's history or CSV.",
    "places": "Import your places from FILE: GeoJSON or CSV.",
}


def commands() -> list[click.Command]:
    """One command for each kind of source."""
    return [_command(kind) for kind in KINDS]


def _command(kind: Kind) -> click.Command:
    @click.command(kind, help=_HELP[kind])
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
    @click.option("--format", "format_name", metavar="FORMAT", help="Which format (default: found out).")
    @click.option("--tz", "--zone", "tz", help="Zone of times without one (default: this machine's).")
    @click.option("--me", multiple=True, help="Your own name or address in the file.")
    @click.option("--dates", type=click.Choice(["dmy", "mdy", "ymd"]), help="How its dates are written.")
    @click.option("--name", help="What the file is called, where it lies under another name.")
    @click.option("--json", "as_json", is_flag=True)
    @click.pass_obj
    def command(home: Home, /, file: Path, as_json: bool, **given: Any) -> None:
        # Only here: the worker, which lives long, has no use for parsers.
        from ingest.importers.sources.source_file import Options
        from ingest.importers.sources.source_import import import_file, summary_lines

        options = Options(
            zone=zone_named(given["tz"]),
            now_ms=now_ms(),
            me=frozenset(each.strip().casefold() for each in given["me"]),
            dates=given["dates"],
        )
        reading, storing = _Bar("Reading"), _Bar("Storing")
        receipt = import_file(
            home,
            kind,
            file,
            options,
            name=given["name"],
            format_name=given["format_name"],
            on_read=reading.reach,
            on_stored=storing.reach,
        )
        if as_json:
            click.echo(json.dumps(receipt.as_json(), ensure_ascii=False))
            return
        for line in summary_lines(receipt):
            click.echo(line)

    return command


class _Bar:
    """A progress bar that opens when it is first told of a length. Silent unless on a terminal."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._bar: Any = None

    def reach(self, done: int, length: int) -> None:
        if self._bar is None:
            hidden = not sys.stderr.isatty()
            self._bar = click.progressbar(length=length, label=self._label, file=sys.stderr, hidden=hidden)
            self._bar.__enter__()
        self._bar.update(max(0, min(done, length) - self._bar.pos))
        if done >= length:
            self._bar.__exit__(None, None, None)
