"""`mcp`: the door for assistants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from webapp.cli.common import home_option, open_home


@click.command()
@home_option
@click.option("--http", is_flag=True, help="Over HTTP on this machine instead of stdin and stdout.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port for --http (0: any free one).")
def mcp(home: Path | None, http: bool, port: int | None) -> None:
    """Let an assistant read, by the Model Context Protocol. Read-only; every call is logged."""
    from webapp.integrations.running import serve_http, serve_stdio

    arguments: dict[str, Any] = {} if port is None else {"mcp.port": port}
    here = open_home(home, arguments)
    if http:
        serve_http(here.data_dir, here.settings, lambda address: click.echo(address, err=True))
    else:
        serve_stdio(here.data_dir, here.settings)
