"""`import images|video`: bring in what exists already. Repeating an import changes nothing."""

from __future__ import annotations

from pathlib import Path

import click

from webapp.commands.common import MOMENT, home_option, run_part


@click.group("import")
def imports() -> None:
    """Bring in what exists already."""


@imports.command()
@home_option
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
def images(home: Path | None, directory: Path) -> int:
    """Import the pictures of DIRECTORY, each at the time its file says."""
    return run_part("ingest", home, ("import", "images", str(directory.absolute())))


@imports.command()
@home_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--start", type=MOMENT, required=True, metavar="TIME", help="When the recording began.")
def video(home: Path | None, file: Path, start: int) -> int:
    """Import a screen recording; its sound is ignored."""
    seconds = f"{start / 1000:.3f}"
    return run_part("ingest", home, ("import", "video", str(file.absolute()), "--start", seconds))
