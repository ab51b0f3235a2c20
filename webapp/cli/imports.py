"""`import images|video|messages|calendar|location|places`: bring in what exists already; `demo`: a sample.

Repeating an import changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from webapp.cli.common import find_home, home_and_json, pass_on

_tz_option = click.option("--tz", help="Zone of times without one (default: this machine's).")


@click.group("import")
def imports() -> None:
    """Bring in what exists already."""


@imports.command()
@home_and_json
@_tz_option
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def images(home: Path | None, **_: Any) -> int:
    """Import the pictures of DIRECTORY, each at the time its file says."""
    return pass_on(home, "import", "images")


@imports.command()
@home_and_json
@_tz_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--start", required=True, metavar="TIME", help="When the recording began.")
@click.option("--interval", type=click.FloatRange(min=0.01), default=1.0, help="Seconds between frames.")
def video(home: Path | None, **_: Any) -> int:
    """Import a screen recording; its sound is ignored."""
    return pass_on(home, "import", "video")


_SOURCES = {
    "messages": "Import messages: SMS, iMessage, WhatsApp, Telegram, e-mail or CSV.",
    "calendar": "Import the events of an .ics file.",
    "location": "Import where you were: GPX, GeoJSON, Google's history or CSV.",
    "places": "Import your places: GeoJSON or CSV.",
}


def _source(kind: str, about: str) -> click.Command:
    @click.command(kind, help=about)
    @home_and_json
    @click.option("--tz", "--zone", "tz", help="Zone of times without one (default: this machine's).")
    @click.option("--format", metavar="FORMAT", help="Which format (default: found out).")
    @click.option("--me", multiple=True, help="Your own name or address in the file.")
    @click.option("--dates", type=click.Choice(["dmy", "mdy", "ymd"]), help="How its dates are written.")
    @click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
    def source(home: Path | None, **_: Any) -> int:
        return pass_on(home, "import", kind)

    return source


for _kind, _about in _SOURCES.items():
    imports.add_command(_source(_kind, _about))


@click.command()
@home_and_json
@click.option("--days", type=click.IntRange(1, 60), default=5, show_default=True, help="Working days.")
@click.option("--hours", type=click.FloatRange(min=0.5), help="Only the first hours of the first day.")
@click.option("--until", metavar="DATE", help="The last day, as 2026-11-20 (default: yesterday).")
@click.option("--tz", help="IANA zone the person lives in (default: this machine's).")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, other figures.")
def demo(home: Path | None, **_: Any) -> int:
    """Fill an empty home folder with a working week that never happened.

    Without --home and RECOLLECT_HOME it goes beside the usual home folder, into one whose name ends
    in -demo.
    """
    return pass_on(home or _own_home(), "demo")


def _own_home() -> Path:
    """A sample week never goes into the home that a person's memories go into by default."""
    usual = find_home(None).home
    return usual if os.environ.get("RECOLLECT_HOME") else usual.with_name(f"{usual.name}-demo")
