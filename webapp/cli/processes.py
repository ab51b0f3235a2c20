"""`up`, its parts alone (`capture`, `ingest`, `web`, `mcp`), `open`, and `service`: start at sign-in."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from webapp.cli.common import (
    find_home,
    home_and_json,
    home_option,
    open_home,
    open_in_browser,
    run_part,
    tell,
)


@click.command()
@home_option
@click.option("--port", type=click.IntRange(0, 65535), help="Port of the pages (0: any free one).")
@click.option("--no-capture", is_flag=True, help="Do not look at the screen.")
@click.option("--open", "open_browser", is_flag=True, help="Open the pages in a browser.")
def up(home: Path | None, port: int | None, no_capture: bool, open_browser: bool) -> None:
    """Start everything; Ctrl-C stops it."""
    from store.core.migrations import check_version
    from webapp.ops.control import web_address
    from webapp.ops.supervisor import Supervisor
    from webapp.security.access import launch_link

    here = open_home(home, {} if port is None else {"web.port": port}, make=True)
    check_version(here.data_dir)  # its parts would only be started again and again
    if open_browser and (address := web_address(here.data_dir)):  # as from the menu of programs
        return open_in_browser(launch_link(here.data_dir, address.url))
    shown = open_in_browser if open_browser else None
    Supervisor(here.data_dir, here.settings, with_capture=not no_capture, open_browser=shown).run()


@click.command()
@home_option
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (0: any free one).")
@click.option("--host", help="Address to listen on.")
@click.option("--no-link", is_flag=True, help="Do not print a launch link.")
def web(home: Path | None, port: int | None, host: str | None, no_link: bool) -> None:
    """Serve the pages and the API alone."""
    import logging

    from webapp.serving.app import serve

    root = logging.getLogger()
    root.setLevel(min(root.level, logging.INFO))
    chosen = {"web.port": port, "web.host": host}
    here = open_home(home, {key: value for key, value in chosen.items() if value is not None}, make=True)
    serve(here.data_dir, here.settings, None if no_link else click.echo)
    # All that has to be written is. To take the interpreter apart beside its threads takes half a second of a
    # processor, on a busy machine longer than `recollect up` waits.
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


@click.command()
@home_option
@click.option("--source", help="screen, folder:DIR or video:FILE.")
@click.option("--server", metavar="URL", help="Hand in to the Recollect of another machine.")
@click.option("--token-file", help="With what `recollect token add NAME --for ingest` printed there.")
@click.option("--token", help="The token itself; other users of this machine can see it.")
@click.option("--allow-http", is_flag=True, help="Without TLS, where the network itself is encrypted.")
def capture(home: Path | None, allow_http: bool, **chosen: str | None) -> int:
    """Look at the screen, alone; with --server for another machine, which keeps and shows it."""
    given = [f"--{name.replace('_', '-')}={value}" for name, value in chosen.items() if value is not None]
    return run_part("capture", home, [*given, *(["--allow-http"] if allow_http else [])])


@click.group(invoke_without_command=True)
@home_option
@click.option("--once", is_flag=True, help="Empty the spool, then exit.")
@click.pass_context
def ingest(context: click.Context, home: Path | None, once: bool) -> int:
    """Turn captures into searchable frames, alone."""
    if context.invoked_subcommand is not None:
        return 0
    return run_part("ingest", home, ("--once",) if once else ())


@ingest.command()
@home_and_json
@click.argument("names", nargs=-1)
def retry(home: Path | None, as_json: bool, names: tuple[str, ...]) -> None:
    """Queue what was set aside in spool/failed again: all of it, or the entries NAMES."""
    from store.spool.queue import Spool

    here = open_home(home)
    spool = Spool(here.data_dir.spool)
    failed = dict(spool.failed())
    unknown = [name for name in names if name not in failed]
    if unknown:
        raise click.ClickException(f"no failed entry {unknown[0]!r}")
    chosen = names or tuple(failed)
    for name in chosen:
        spool.retry(name)
    tell(as_json, {"retried": list(chosen)}, f"queued again: {len(chosen)}")


@click.command("open")
@home_and_json
def open_pages(home: Path | None, as_json: bool) -> None:
    """Open the pages in a browser, by a link that works once."""
    from webapp.ops.control import web_address
    from webapp.security.access import launch_link, public_host

    here = open_home(home)
    address = web_address(here.data_dir)
    if address is None:
        raise click.ClickException("Recollect is not running; start it with `recollect up`")
    link = launch_link(here.data_dir, address.url)
    links = {"link": link}
    if public_host(here.settings.web):
        links["public_link"] = launch_link(here.data_dir, here.settings.web.public_url.rstrip("/"))
    tell(as_json, links, "\n".join(links.values()))
    if not as_json:
        open_in_browser(link)


@click.command()
@home_option
@click.option("--http", is_flag=True, help="Over HTTP on this machine instead of stdin and stdout.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port for --http (0: any free one).")
def mcp(home: Path | None, http: bool, port: int | None) -> None:
    """Let an assistant read, by the Model Context Protocol. Read-only; every call is logged."""
    from webapp.integrations.mcp import serve_http, serve_stdio

    arguments: dict[str, Any] = {} if port is None else {"mcp.port": port}
    here = open_home(home, arguments)
    if http:
        serve_http(here.data_dir, here.settings, lambda address: click.echo(address, err=True))
    else:
        serve_stdio(here.data_dir, here.settings)


# -- started when its user signs in --------------------------------------------------------------


@click.group()
def service() -> None:
    """Start Recollect when you sign in, and list it among your programs."""


@service.command()
@home_option
def install(home: Path | None) -> None:
    """Install the service: a systemd user unit, a launchd agent or a scheduled task."""
    from webapp.ops import service as services

    services.refuse_root()
    data_dir = find_home(home)
    chosen = services.service_of(data_dir.home)
    if not services.has_manager():
        raise click.ClickException("systemd runs no services for users here, as in most containers")
    has_started = chosen.install(data_dir.create())
    click.echo(f"Installed for {data_dir.home} ({chosen.kind}):")
    click.echo("\n".join(f"  {path}" for path in chosen.files))
    later = "It starts when you sign in next."
    click.echo("It runs now; `recollect open` shows it." if has_started else later)


@service.command()
@home_option
def uninstall(home: Path | None) -> None:
    """Remove the service, whichever home folder it starts; what was recorded stays."""
    from webapp.ops.service import service_of

    gone = service_of(find_home(home).home).uninstall()
    removed = "\n".join(["Removed:", *(f"  {path}" for path in gone)])
    click.echo(removed if gone else "No service is installed.")


@service.command()
@home_and_json
def status(home: Path | None, as_json: bool) -> None:
    """Say whether the service is installed, and whether Recollect runs."""
    from webapp.ops.control import web_address
    from webapp.ops.service import service_of

    data_dir = find_home(home)
    found = service_of(data_dir.home)
    is_running = web_address(data_dir) is not None
    kind = found.kind if found.state == "this" else None
    document = {"home": str(data_dir.home), "installed_as": kind, "is_running": is_running}
    installed = {
        "this": f"installed ({found.kind})",
        "another": "installed for another home folder or by another version (`install` writes it anew)",
        "none": "not installed as a service",
    }[found.state]
    tell(as_json, document, f"{data_dir.home}: {installed}, {'running' if is_running else 'not running'}")
