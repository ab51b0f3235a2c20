"""`import images|video`: bring in what exists already. Repeating an import changes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from webapp.commands.common import home_option, json_option, run_part

_tz_option = click.option("--tz", help="Zone of times without one (default: this machine's).")


@click.group("import")
def imports() -> None:
    """Bring in what exists already."""


@imports.command()
@home_option
@json_option
@_tz_option
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def images(home: Path | None, as_json: bool, tz: str | None, directory: Path) -> int:
    """Import the pictures of DIRECTORY, each at the time its file says."""
    return run_part("ingest", home, ["import", "images", str(directory), *_options(as_json, tz)])


@imports.command()
@home_option
@json_option
@_tz_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--start", required=True, metavar="TIME", help="When the recording began.")
@click.option("--interval", type=click.FloatRange(min=0.01), default=1.0, help="Seconds between frames.")
def video(home: Path | None, as_json: bool, tz: str | None, file: Path, start: str, interval: float) -> int:
    """Import a screen recording; its sound is ignored."""
    arguments = ["import", "video", str(file), "--start", start, "--interval", str(interval)]
    return run_part("ingest", home, [*arguments, *_options(as_json, tz)])


def _options(as_json: bool, tz: str | None) -> list[str]:
    return [*(["--json"] if as_json else []), *(["--tz", tz] if tz else [])]
