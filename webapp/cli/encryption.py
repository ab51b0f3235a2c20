"""`encrypt` and `decrypt`: what lies on the disk, readable with a passphrase alone."""

from __future__ import annotations

import os
from pathlib import Path

import click

from webapp.cli.common import home_option, open_home

_FEWEST_CHARACTERS = 12
_TOLD_EACH = 1000


@click.command()
@home_option
@click.option("--keyring", is_flag=True, help="Let this system's keyring open the home without asking you.")
@click.option("--yes", is_flag=True, help="Encrypt without asking.")
def encrypt(home: Path | None, keyring: bool, yes: bool) -> None:
    """Encrypt the home folder under a passphrase; where it is encrypted, set another passphrase.

    Stop Recollect first. Backups in the home folder are erased: they are not encrypted, or open with the old
    passphrase. So do zip files of them elsewhere. The passphrase is asked for, or taken from
    RECOLLECT_PASSPHRASE. If you lose it, nobody can open the home again.
    """
    from store.core import keys
    from store.encryption import migration

    data_dir = open_home(home).data_dir
    if keys.read(data_dir.home) is None and not yes:
        question = f"Encrypt {data_dir.home} and erase its backups? Without the passphrase all is lost."
        click.confirm(question, abort=True, err=True)
    left = migration.encrypt(
        data_dir, lambda: _new_passphrase(data_dir.home), in_keyring=keyring, on_file=_tell
    )
    click.echo(f"{data_dir.home} is encrypted")
    if left:
        click.echo(f"{len(left)} files are still in the clear outside of it, by hard links:", err=True)
        for path in left:
            click.echo(path, err=True)


@click.command()
@home_option
@click.option("--yes", is_flag=True, help="Decrypt without asking.")
def decrypt(home: Path | None, yes: bool) -> None:
    """Decrypt the home folder. Stop Recollect first; backups in the home folder are erased."""
    from store.encryption import migration

    data_dir = open_home(home).data_dir
    if not yes:
        click.confirm(f"Decrypt {data_dir.home} and erase its backups?", abort=True, err=True)
    migration.decrypt(data_dir, _tell)
    click.echo(f"{data_dir.home} is not encrypted")


def _tell(files: int) -> None:
    if files % _TOLD_EACH == 0:
        click.echo(f"{files} files", err=True)


def _new_passphrase(home: Path) -> str:
    from store.core import keys

    given = None if keys.read(home) else os.environ.get(keys.PASSPHRASE)
    text: str = given or click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True)
    if len(text) < _FEWEST_CHARACTERS:
        raise click.ClickException(f"a passphrase has at least {_FEWEST_CHARACTERS} characters")
    return text
