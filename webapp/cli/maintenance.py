"""`doctor`, `verify` and `reindex`: does it work, is everything still there, make it anew."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from webapp.cli.common import home_option, json_option, open_database, open_home, print_json, run_part


@click.command()
@home_option
@json_option
def doctor(home: Path | None, as_json: bool) -> int:
    """Check reading, display, windows, model, disk and database; say what to do."""
    from webapp.ops.doctor import check_all

    here = open_home(home)
    checks = check_all(here.data_dir, here.settings)
    if as_json:
        print_json({"checks": [dataclasses.asdict(check) for check in checks]})
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
@home_option
@json_option
def verify(home: Path | None, as_json: bool) -> None:
    """Compare index, rows, pictures and ledger; name every difference."""
    from store.frames.media import Media
    from store.spool.queue import Spool
    from store.verify.verify import verify as compare

    data_dir = open_home(home).data_dir
    database = open_database(data_dir)
    report = compare(database, Media(data_dir.media), Spool(data_dir.spool))
    if as_json:
        print_json(dataclasses.asdict(report))
    else:
        for name, count in report.counts.items():
            click.echo(f"{count:>12}  {name}")
        for problem in report.problems:
            click.echo(f"X  {problem}")
    if report.problems:
        raise click.ClickException(f"{len(report.problems)} differences found")


@click.command()
@home_option
@json_option
@click.option("--text", "of_words", is_flag=True, help="Only the index of words.")
@click.option("--vectors", "of_meaning", is_flag=True, help="Only the vectors of meaning, where they lack.")
@click.option("--all", "everything", is_flag=True, help="Vectors of everything anew.")
def reindex(home: Path | None, as_json: bool, of_words: bool, of_meaning: bool, everything: bool) -> int:
    """Make the indexes of words and meaning anew; may be stopped and started again."""
    chosen = {"--text": of_words, "--vectors": of_meaning, "--all": everything, "--json": as_json}
    return run_part("ingest", home, ["reindex", *(option for option, given in chosen.items() if given)])
