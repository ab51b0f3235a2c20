"""`demo`: a sample week in a home folder of its own."""

from __future__ import annotations

import os
from pathlib import Path

import click

from webapp.cli.common import find_home, home_option, json_option, run_part


@click.command()
@home_option
@json_option
@click.option("--days", type=click.IntRange(1, 60), default=5, show_default=True, help="Working days.")
@click.option("--hours", type=click.FloatRange(min=0.5), help="Only the first hours of the first day.")
@click.option("--until", metavar="DATE", help="The last day, as 2026-11-20 (default: yesterday).")
@click.option("--tz", help="IANA zone the person lives in (default: this machine's).")
@click.option("--seed", type=int, default=1, show_default=True, help="Another seed, other figures.")
@click.option("--dst", is_flag=True, help="End with the night of the zone's last clock change.")
def demo(
    home: Path | None,
    as_json: bool,
    days: int,
    hours: float | None,
    until: str | None,
    tz: str | None,
    seed: int,
    dst: bool,
) -> int:
    """Fill an empty home folder with a working week that never happened.

    Without --home and RECOLLECT_HOME it goes beside the usual home folder, into one whose name ends
    in -demo.
    """
    arguments = ["demo", "--days", str(days), "--seed", str(seed)]
    for option, value in (("--hours", hours), ("--until", until), ("--tz", tz)):
        arguments += [] if value is None else [option, str(value)]
    arguments += [option for option, given in (("--dst", dst), ("--json", as_json)) if given]
    return run_part("ingest", home or _own_home(), arguments)


def _own_home() -> Path:
    """A sample week never goes into the home that a person's memories go into by default."""
    usual = find_home(None).home
    return usual if os.environ.get("RECOLLECT_HOME") else usual.with_name(f"{usual.name}-demo")
