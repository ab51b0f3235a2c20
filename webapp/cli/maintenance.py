"""`doctor`, `verify`: does it work, is all there; `pause`, `resume`, `retention`."""

from __future__ import annotations

import dataclasses
import os
from contextlib import suppress
from pathlib import Path

import click

from store.core.errors import DatabaseUnusable
from webapp.cli.common import home_and_json, local_text, open_home, print_json, tell


@click.command()
@home_and_json
@click.option("--fix", is_flag=True, help="First mend what can be mended without losing anything.")
def doctor(home: Path | None, as_json: bool, fix: bool) -> int:
    """Check reading, display, windows, model, disk and database; say what to do."""
    from webapp.ops.doctor import check_all
    from webapp.ops.mending import mend

    is_before_first_start = home is None and "RECOLLECT_HOME" not in os.environ
    here = open_home(home, make=is_before_first_start)
    fixed = []
    if fix:
        with suppress(DatabaseUnusable):  # the check of the database says what to do
            for sentence in mend(here.data_dir):
                fixed.append(sentence)
                click.echo(f"fixed: {sentence}", err=as_json)
    checks = check_all(here.data_dir, here.settings)
    if as_json:
        print_json({"checks": [dataclasses.asdict(check) for check in checks], "fixed": fixed})
    else:
        for check in checks:
            click.echo(f"{check.verdict:<3}{check.name:<16}{check.sentence}")
            if check.action:
                click.echo(f"{'':<19}-> {check.action}")
    broken = [check.name for check in checks if check.verdict == "X"]
    if broken:
        raise click.ClickException(f"does not work: {', '.join(broken)}")
    return 0


@click.command()
@home_and_json
def verify(home: Path | None, as_json: bool) -> None:
    """Compare index, rows, pictures and ledger; name every difference."""
    from store.frames.media import Media
    from store.spool.queue import Spool
    from store.verify.verify import verify as compare

    here = open_home(home)
    database = here.open_database()
    report = compare(database, Media(here.data_dir.media, database), Spool(here.data_dir.spool))
    if as_json:
        print_json(dataclasses.asdict(report))
    else:
        for name, count in report.counts.items():
            click.echo(f"{count:>12}  {name}")
        for problem in report.problems:
            click.echo(f"X  {problem}")
    if report.problems:
        raise click.ClickException(f"differences found: {len(report.problems)}")


@click.command()
@home_and_json
@click.argument("minutes", required=False, type=click.FloatRange(min=0, min_open=True))
def pause(home: Path | None, as_json: bool, minutes: float | None) -> None:
    """Stop recording for MINUTES, a year at most, or until `resume`. Survives a restart."""
    from store.core.times import now_ms, to_seconds
    from webapp.ops import control

    if minutes is not None and minutes > control.MAX_PAUSE_MIN:
        most = f"a pause is {control.MAX_PAUSE_MIN:,} minutes (a year) at most"
        raise click.ClickException(f"{most}; without a number it lasts until `recollect resume`")
    order = control.pause(open_home(home).data_dir, minutes, now_ms())
    until = order.ends_ms
    document = {"state": "paused", "until": None if until is None else to_seconds(until)}
    tell(as_json, document, f"paused until {local_text(until) if until else 'you resume'}")


@click.command()
@home_and_json
def resume(home: Path | None, as_json: bool) -> None:
    """End a pause."""
    from store.core.times import now_ms
    from store.spool.process_state import read_pause
    from webapp.ops import control

    data_dir = open_home(home).data_dir
    control.resume(data_dir)
    if read_pause(data_dir.spool, now_ms()):
        where = "the server that this machine captures for is paused; resume there"
        return tell(as_json, {"state": "paused"}, where)
    tell(as_json, {"state": "resumed"}, "recording goes on")


@click.group()
def retention() -> None:
    """What is let go of by itself, where the settings say so."""


@retention.command("run")
@home_and_json
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def run_retention(home: Path | None, as_json: bool, dry_run: bool) -> None:
    """Let go of what is older, or more, than the settings keep."""
    from store.core.times import now_ms
    from store.deletion import retention as keeping
    from store.frames.media import Media
    from webapp.core.formatting import count, size

    here = open_home(home)
    database = here.open_database()
    policy = keeping.chosen(database, here.settings.retention)
    if dry_run:
        done = keeping.plan(database, policy, now_ms()).run
    else:
        done = keeping.run(database, Media(here.data_dir.media), policy, now_ms())
    if as_json:
        return print_json({**dataclasses.asdict(policy), **dataclasses.asdict(done), "dry_run": dry_run})
    if keeping.is_off(policy):
        return click.echo("everything is kept: no retention is set")
    click.echo(
        f"{'would go' if dry_run else 'gone'}: {count(done.pictures, 'picture')}, "
        f"{count(done.previews, 'small picture')}, {count(done.frames, 'frame')} with all text; "
        f"{size(done.bytes_freed)}"
    )
