"""`token` and `open`: how to come in."""

from __future__ import annotations

from pathlib import Path

import click

from webapp.cli.browser import open_in_browser
from webapp.cli.common import home_option, json_option, open_home, print_json


@click.command()
@home_option
@json_option
@click.option("--reading", is_flag=True, help="The token that only opens the doors for reading.")
def token(home: Path | None, as_json: bool, reading: bool) -> None:
    """Print the API token."""
    from webapp.security.access import load_token, reading_token

    value = load_token(open_home(home).data_dir)
    value = reading_token(value) if reading else value
    print_json({"token": value}) if as_json else click.echo(value)


@click.command("open")
@home_option
@json_option
def open_pages(home: Path | None, as_json: bool) -> None:
    """Open the pages in a browser, by a link that works once."""
    from webapp.ops.control import web_address
    from webapp.security.access import launch_link

    data_dir = open_home(home).data_dir
    address = web_address(data_dir)
    if address is None:
        raise click.ClickException("Recollect is not running; start it with `recollect up`")
    link = launch_link(data_dir, address.url)
    print_json({"link": link}) if as_json else click.echo(link)
    if not as_json:
        open_in_browser(link)
