"""`service`: start Recollect when its user signs in."""

from __future__ import annotations

from pathlib import Path

import click

from webapp.cli.common import find_home, home_and_json, home_option, tell


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
    told = {"home": str(data_dir.home), "installed_as": kind, "is_running": is_running}
    installed = {
        "this": f"installed ({found.kind})",
        "another": "installed for another home folder or by another version (`install` writes it anew)",
        "none": "not installed as a service",
    }[found.state]
    tell(as_json, told, f"{data_dir.home}: {installed}, {'running' if is_running else 'not running'}")
