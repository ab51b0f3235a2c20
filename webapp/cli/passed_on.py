"""`import`, `demo`, `reindex`, `reread`: commands of ingest, which knows their options and prints help."""

from __future__ import annotations

import os
from pathlib import Path

import click

from webapp.cli.common import find_home, home_option, run_part


def _command(name: str, about: str) -> click.Command:
    """`about` stands in the list of all commands."""

    @click.command(name, help=about, add_help_option=False, context_settings={"ignore_unknown_options": True})
    @home_option
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(home: Path | None, arguments: tuple[str, ...]) -> int:
        return run_part("ingest", home or (_sample_home() if name == "demo" else None), (name, *arguments))

    return command


def _sample_home() -> Path:
    """A sample week never goes into the home that a person's memories go into by default."""
    usual = find_home(None).home
    return usual if os.environ.get("RECOLLECT_HOME") else usual.with_name(f"{usual.name}-demo")


demo = _command("demo", "Fill an empty home folder with a working week that never happened.")
imports = _command("import", "Bring in what exists already.")
reindex = _command("reindex", "Make the indexes of words and meaning anew.")
reread = _command("reread", "Read pictures anew, with another engine or on more machines.")
