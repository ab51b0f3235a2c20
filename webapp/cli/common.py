"""What the commands share: the home folder, times, JSON output, running a part."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from store.core.paths import DataDir, default_home, restrict_files
from store.core.times import MAX_EPOCH_SECONDS, to_ms

if TYPE_CHECKING:
    from store.core.database import Database
    from store.core.settings import Settings


_Command = TypeVar("_Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Home:
    """A home folder with its settings."""

    data_dir: DataDir
    settings: Settings

    def open_database(self) -> Database:
        from store.core import database

        with explained(self.data_dir):
            return database.open_database(self.data_dir)


def home_option(command: _Command) -> _Command:
    return click.option(
        "--home",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="The home folder (default: RECOLLECT_HOME, or the user data folder).",
    )(command)


def home_and_json(command: _Command) -> _Command:
    return home_option(click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command))


def find_home(home: Path | None) -> DataDir:
    """The home folder that was named, or the default one; nothing is made."""
    return DataDir((home or default_home()).expanduser().absolute())


def open_home(home: Path | None, arguments: Mapping[str, Any] | None = None, *, make: bool = False) -> Home:
    """The home folder with its settings. Raises `SettingsError`, also where none is to be found or made.

    A command that reads makes none: of a mistyped name it would say that nothing was found.
    """
    from store.core import settings

    restrict_files()
    named = find_home(home)
    data_dir = named.create() if make else named.existing()
    return Home(data_dir, settings.load(data_dir, arguments=arguments))


@contextmanager
def explained(data_dir: DataDir) -> Iterator[None]:
    """Say of a database that cannot be used what to do, in the one line of a failure."""
    from store.core.errors import DatabaseUnusable

    try:
        yield
    except DatabaseUnusable as error:
        from store.backup.backup import advice

        raise click.ClickException(f"{error}. {advice(data_dir, error)}".rstrip(". ")) from error


def confirm(question: str) -> None:
    """Go on if the answer is yes; else raise `click.Abort`. Where nobody types, the question's line ends."""
    try:
        click.confirm(question, abort=True, err=True)
    except click.Abort:
        if not sys.stdin.isatty():
            click.echo(err=True)
        raise


def print_json(document: Any) -> None:
    click.echo(json.dumps(document, ensure_ascii=False, indent=2))


def tell(as_json: bool, document: Any, text: str) -> None:
    """Say the one or the other."""
    print_json(document) if as_json else click.echo(text)


def run_part(module: str, home: Path | None, arguments: Sequence[str]) -> int:
    """Become another program of Recollect: signals and exit code are its own.

    Windows cannot replace a process; there the program is waited for and its exit code returned.
    """
    command = [sys.executable, "-m", module, "--home", str(find_home(home).home), *arguments]
    if os.name != "nt":
        os.execv(sys.executable, command)
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # it got the same signal and ends by itself


class Moment(click.ParamType[int]):
    """A moment as epoch milliseconds, from ISO 8601 (local where no zone is given) or epoch seconds."""

    name = "TIME"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        try:
            return parse_moment(value)
        except ValueError:
            example = "2026-11-21T14:00, 2026-11-21T14:00+01:00 or 1795176000.5"
            self.fail(f"{value!r} is not a time; use {example}", param, ctx)


def parse_moment(text: str) -> int:
    """Epoch milliseconds of a written time. Raises `ValueError`."""
    try:
        seconds = float(text)
    except ValueError:
        return to_ms(datetime.fromisoformat(text).astimezone().timestamp())
    if not math.isfinite(seconds) or not 0 <= seconds <= MAX_EPOCH_SECONDS:
        raise ValueError(text)
    return to_ms(seconds)


MOMENT = Moment()


def check_range(start_ms: int, end_ms: int | None) -> None:
    if end_ms is not None and end_ms <= start_ms:
        raise click.ClickException("--to must be later than --from")


def local_text(ms: int) -> str:
    """A moment on this machine's clock, with its offset."""
    return datetime.fromtimestamp(ms / 1000).astimezone().isoformat(sep=" ", timespec="seconds")


def open_in_browser(link: str) -> None:
    """Show the link in a graphical browser; without a display the printed link is enough."""
    has_display = sys.platform in ("win32", "darwin") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    if has_display:
        webbrowser.open(link)
