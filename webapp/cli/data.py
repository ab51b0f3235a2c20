"""`backup`, `restore` and `export`: the data is the person's; `encrypt` and `decrypt`: so is the disk."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from store.core.times import now_ms, to_seconds
from webapp.cli.common import (
    MOMENT,
    check_range,
    confirm,
    find_home,
    home_and_json,
    home_option,
    local_text,
    open_home,
    print_json,
    tell,
)

if TYPE_CHECKING:
    from store.core.paths import DataDir
    from webapp.exports.proof import Proof


@click.command()
@home_and_json
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
def backup(home: Path | None, as_json: bool, file: Path | None) -> None:
    """Back up everything, while it runs: into the home folder, or as the one zip FILE for elsewhere.

    The token and keys that were entered in the app stay out.
    """
    from store.backup import backup as backups
    from webapp.core.formatting import count

    here = open_home(home)
    database = here.open_database()
    if file:
        path, made = file, backups.archive(database, file, now_ms())
    else:
        path, made = backups.make(database, now_ms())
        backups.rotate(database, here.settings.backup.keep, path)
    pictures = backups.pictures_of_frames(database)
    document = {"path": str(path), "pictures": pictures, "files": made.pictures, "missing": made.missing}
    missing = f"; not in it, as they are lost: {count(made.missing, 'file')}" if made.missing else ""
    files = f"{count(pictures, 'picture')} of frames, {count(made.pictures, 'file')} in all"
    tell(as_json, document, f"{path}: checked, with {files}{missing}")


@click.command()
@home_and_json
@click.argument("file", required=False, metavar="[FILE|newest]")
@click.option("--yes", is_flag=True, help="Restore without asking.")
def restore(home: Path | None, as_json: bool, file: str | None, yes: bool) -> None:
    """Put a backup in the place of the home; without one named, say which there are.

    What is there now moves to the folder backups/, until you delete something. Recorded time and imports that
    you deleted since are deleted again, unless what is there cannot be read; chats, facts and insights that
    you deleted since may come back.
    """
    from store.backup import restore as restoring

    data_dir = find_home(home).create()
    if restoring.finish(data_dir):
        return tell(as_json, {"finished": True}, "the restore that was broken off is finished")
    if file is None:
        return _list(data_dir, as_json)
    source = restoring.find(data_dir, file)
    if not yes:
        confirm(f"{source} takes the place of {data_dir.home}. Restore?")
    done = restoring.restore(data_dir, source)
    if as_json:
        flags = {"is_outdated": done.is_outdated, "is_blind": done.is_blind}
        made_at = to_seconds(done.made_ms)
        return print_json({"made_at": made_at, "replaced": str(done.replaced), **flags})
    is_kept = (done.replaced / data_dir.database.name).exists()
    kept = f"; what was there is in {done.replaced}" if is_kept else ""
    click.echo(f"restored as of {local_text(done.made_ms)}{kept}")
    if done.is_outdated:
        what = "recorded time, imports, chats" if done.is_blind else "chats"
        click.echo(f"{what}, facts and insights that you deleted since then may be back", err=True)


def _list(data_dir: DataDir, as_json: bool) -> None:
    from store.backup.backup import listed

    found = listed(data_dir)
    if as_json:
        backups = [{"path": str(path), "made_at": to_seconds(each.made_ms)} for path, each in found]
        return print_json({"backups": backups})
    for path, each in found:
        click.echo(f"{path.name}  {local_text(each.made_ms)}")
    hint = "`recollect restore newest` takes the first" if found else "there is no backup in this home"
    click.echo(hint, err=True)


@click.command()
@home_and_json
@click.option("--from", "start_ms", type=MOMENT, default=0, metavar="TIME", help="Start, included.")
@click.option("--to", "end_ms", type=MOMENT, metavar="TIME", help="End, not included (default: now).")
@click.option("--no-pictures", is_flag=True, help="Leave the pictures out: they take most of the time.")
@click.option("--yes", is_flag=True, help="Replace a FILE that is there without asking.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def export(
    home: Path | None,
    as_json: bool,
    start_ms: int,
    end_ms: int | None,
    no_pictures: bool,
    yes: bool,
    file: Path,
) -> None:
    """Write what was recorded, or a range of it, as the zip FILE of Markdown, JSON, PNG and iCalendar."""
    import dataclasses

    from store.backup.export import export as write
    from store.privacy.rules import load_rules
    from webapp.core.formatting import count

    if file.exists() and not yes:
        click.confirm(f"{file} is there already. Replace it?", abort=True, err=True)
    check_range(start_ms, end_ms)
    here = open_home(home)
    rules, at_ms = load_rules(here.data_dir, here.settings.privacy), now_ms()
    if rules.unreadable:
        raise click.ClickException(f"nothing is exported: {rules.unreadable}")
    done = write(
        here.open_database(), file, start_ms, at_ms if end_ms is None else end_ms, at_ms,
        rules, with_pictures=not no_pictures,
    )  # fmt: skip
    left_out = ""
    if done.left_out or done.texts_left_out:
        texts = count(done.texts_left_out, "text that may tell of them", "texts that may tell of them")
        left_out = f"; left out by your rules: {count(done.left_out, 'frame')}, {texts}"
    sentence = f"{file}: {count(done.frames, 'frame')}, {count(done.pictures, 'picture')}{left_out}"
    tell(as_json, {"path": str(file), **dataclasses.asdict(done)}, sentence)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--key", metavar="KEY", help="The key that the sender told you through another channel.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def verify_export(as_json: bool, key: str | None, file: Path) -> None:
    """Prove that the exported answer FILE is unchanged, without a network and without a home folder.

    Without --key this says only that somebody signed it: anybody can make such a file.
    """
    import dataclasses

    from webapp.exports.formats import PROVES, PROVES_NOT, WHOSE_KEY
    from webapp.exports.proof import verify

    if key is not None and not (key := key.strip()):
        raise click.ClickException("--key is blank: name the key that the sender told you, or leave it out")
    proof = verify(file, key)
    limits = [line for line in PROVES_NOT if not (proof.key_compared and line == WHOSE_KEY)]
    if as_json:
        unproven = [{"n": n, "why": why} for n, why in proof.unproven]
        more = {"unproven": unproven, "proves": PROVES, "proves_not": limits}
        print_json({**dataclasses.asdict(proof), **more})
    elif not proof.problems:
        _tell_proof(proof, limits)
    for problem in proof.problems:
        click.echo(f"X  {problem}", err=as_json)
    if proof.problems:
        raise click.ClickException("this file proves nothing")


def _tell_proof(proof: Proof, limits: list[str]) -> None:
    if proof.key_compared:
        click.echo(f"unchanged since the key that you named signed it: {proof.signed_by}")
    else:
        click.echo(f"signed by a key you did not name: anybody can make such a file ({proof.signed_by})")
    click.echo(f"  the question, as the file tells it: {proof.question}")
    for each in proof.proven:
        wrong = ", though its owner marked it as wrong" if each.marked_wrong else ""
        origin = f"; said to be of: {each.said_to_be}" if each.said_to_be else ""
        read = f'"{each.quote}" stands in what the signer read of {each.file}'
        click.echo(f"  [{each.n}] proven{wrong}: {read}{origin}")
    if not proof.proven:
        click.echo("  no quote of it is proven")
    for n, why in proof.unproven:
        click.echo(f"  [{n}] not proven: {why}")
    for line in limits:
        click.echo(f"  it does not prove {line}")


# -- what lies on the disk, readable with a passphrase alone --------------------------------------

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

    data_dir = open_home(home, make=True).data_dir
    if keys.read(data_dir.home) is None and not yes:
        confirm(f"Encrypt {data_dir.home} and erase its backups? Without the passphrase all is lost.")
    passphrase = partial(_new_passphrase, data_dir.home)
    left = migration.encrypt(data_dir, passphrase, in_keyring=keyring, on_file=_count)
    click.echo(f"{data_dir.home} is encrypted")
    if left:
        click.echo(f"still in the clear outside of it, by hard links (files: {len(left)}):", err=True)
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
        confirm(f"Decrypt {data_dir.home} and erase its backups?")
    migration.decrypt(data_dir, _count)
    click.echo(f"{data_dir.home} is not encrypted")


def _count(files: int) -> None:
    if files % _TOLD_EACH == 0:
        click.echo(f"{files} files", err=True)


def _new_passphrase(home: Path) -> str:
    from store.core import keys

    given = None if keys.read(home) else os.environ.get(keys.PASSPHRASE)
    text: str = given or click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True)
    if len(text) < _FEWEST_CHARACTERS:
        raise click.ClickException(f"a passphrase has at least {_FEWEST_CHARACTERS} characters")
    return text
