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
@click.option("--dry-run", is_flag=True, help="Print what would be written and called, and do nothing.")
@click.option("--entry", is_flag=True, help="On Linux: by the desktop's autostart, not by systemd.")
def install(home: Path | None, dry_run: bool, entry: bool) -> None:
    """Install the service: a systemd user unit, a launchd agent or a scheduled task."""
    from webapp.ops import service as services

    services.refuse_root()
    data_dir = find_home(home)
    known = services.services(data_dir.home)
    chosen = known.pop(-1 if entry else 0)
    if dry_run:
        return click.echo(str(chosen))
    if not entry and not services.has_manager():
        raise click.ClickException(
            "systemd runs no services for users here, as in most containers; "
            "`recollect service install --entry` writes an entry that desktops start when you sign in"
        )
    for other in known:
        other.uninstall()
    has_started = chosen.install(data_dir.create())
    click.echo(f"Installed for {data_dir.home} ({chosen.kind}):")
    click.echo("\n".join(f"  {path}" for path in chosen.files))
    later = "It starts when you sign in next."
    click.echo("It runs now; `recollect open` shows it." if has_started else later)


@service.command()
@home_option
def uninstall(home: Path | None) -> None:
    """Remove the service; what was recorded stays."""
    from webapp.ops import service as services

    known = services.services(find_home(home).home)
    for each in known:
        if (other := each.other_home()) is not None:
            raise click.ClickException(
                f"the service is installed for another home folder, {other or 'which it does not name'}: "
                f"see {each.file}; `recollect service uninstall --home FOLDER` removes it"
            )
    gone = [path for each in known for path in each.uninstall()]
    removed = "\n".join(["Removed:", *(f"  {path}" for path in gone)])
    click.echo(removed if gone else "No service is installed.")


@service.command()
@home_and_json
def status(home: Path | None, as_json: bool) -> None:
    """Say whether the service is installed, and whether Recollect runs."""
    from webapp.ops import service as services
    from webapp.ops.control import web_address

    data_dir = find_home(home)
    known = services.services(data_dir.home)
    found = next((each for each in known if each.is_installed()), None)
    is_running = web_address(data_dir) is not None
    told = {"home": str(data_dir.home), "installed_as": found and found.kind, "is_running": is_running}
    installed = f"installed ({found.kind})" if found else "not installed as a service for this folder"
    if found and not found.is_current():
        installed += " by another version: `recollect service install` writes it anew"
    for other in filter(None, (each.other_home() for each in known)):
        installed += f" (but for {other})"
    tell(as_json, told, f"{data_dir.home}: {installed}, {'running' if is_running else 'not running'}")
