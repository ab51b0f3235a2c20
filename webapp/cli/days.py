"""`day`: the summary of a day on a terminal."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from webapp.cli.common import home_option, json_option, open_database, open_home, print_json


@click.command()
@home_option
@json_option
@click.option("--again", is_flag=True, help="Have the day told again.")
@click.argument("day", metavar="[DATE]", type=click.DateTime(["%Y-%m-%d"]), required=False)
def day(home: Path | None, as_json: bool, again: bool, day: datetime | None) -> None:
    """Print what a day was about; the latest that was told without a DATE."""
    from store.memory import daily_hours, daily_summaries

    database = open_database(open_home(home).data_dir)
    on = None if day is None else day.date()
    found = daily_summaries.of_day(database, on) if on else next(iter(daily_summaries.listed(database)), None)
    if found is None:
        raise click.ClickException(f"there is no summary of {on.isoformat() if on else 'any day'} yet")
    if again:
        with database.write() as connection:
            daily_hours.redo(connection, found.start_ms, found.end_ms)
        click.echo(f"{found.day} is told again by the ingest worker")
    elif as_json:
        told = {"day": found.day, "timezone": found.zone, "source": found.source, "text": found.text}
        print_json(told)
    else:
        click.echo(found.text)
