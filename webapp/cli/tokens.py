"""`token`: who may come in besides who has the token file, made, listed and revoked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from webapp.cli.common import home_and_json, local_text, open_home, print_json, tell

if TYPE_CHECKING:
    from store.core.database import Database
    from webapp.security.keys import Keyring


@click.group(invoke_without_command=True)
@home_and_json
@click.pass_context
def token(context: click.Context, home: Path | None, as_json: bool) -> None:
    """Print the API token, which opens everything; or make and revoke others, for one purpose each."""
    from webapp.security.access import load_token

    if context.invoked_subcommand is None:
        value = load_token(open_home(home).data_dir)
        tell(as_json, {"token": value}, value)


@token.command()
@home_and_json
@click.argument("name")
@click.option(
    "--for", "scope", type=click.Choice(["read", "ingest", "mcp"]), default="read", show_default=True
)
def add(home: Path | None, as_json: bool, name: str, scope: str) -> None:
    """Make a token for a program that you call NAME; it is shown this once."""
    keyring, database = _keys(home, make=True)
    with database.write() as connection:
        value = keyring.make(connection, scope, name)
    tell(as_json, {"token": value}, value)


@token.command("list")
@home_and_json
def list_keys(home: Path | None, as_json: bool) -> None:
    """List the browsers that are signed in and the tokens that were made."""
    from dataclasses import asdict

    from store.egress import access_keys

    found = _keys(home)[0].listed()
    if as_json:
        return print_json([asdict(key) for key in found])
    for key in found:
        used = f"used {local_text(key.used_ms)}" if key.used_ms else "never used"
        kind = "browser" if key.scope == access_keys.BROWSER else key.scope
        click.echo(f"{key.id:>6}  {kind:<7}  made {local_text(key.made_ms)}, {used}  {key.name}")


@token.command()
@home_and_json
@click.argument("key_id", type=int)
def revoke(home: Path | None, as_json: bool, key_id: int) -> None:
    """Revoke a token, or sign a browser out, by the number that `list` shows."""
    from store.egress import access_keys

    with _keys(home)[1].write() as connection:
        if not access_keys.revoke(connection, key_id):
            raise click.ClickException(f"there is no token or browser with the number {key_id}")
    tell(as_json, {"revoked": key_id}, "revoked")


def _keys(home: Path | None, *, make: bool = False) -> tuple[Keyring, Database]:
    from store.core.times import now_ms
    from webapp.security.access import load_token
    from webapp.security.keys import Keyring

    here = open_home(home, make=make)
    database = here.open_database()
    return Keyring(database, load_token(here.data_dir), now_ms), database
