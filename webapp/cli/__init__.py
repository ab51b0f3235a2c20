"""The `recollect` command.

Each command lives in a module of this package and is imported when it is called or listed; those
modules import what they work with inside the command, so that help appears at once. A failure is
one line on stderr and a non-zero exit code.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, cast

import click

from store.core.errors import DatabaseDamaged, StoreError

log = logging.getLogger(__name__)

# In the order in which a person meets them.
COMMANDS = {
    "up": "webapp.cli.processes:up",
    "open": "webapp.cli.processes:open_pages",
    "service": "webapp.cli.processes:service",
    "ask": "webapp.cli.queries:ask",
    "search": "webapp.cli.queries:search",
    "pause": "webapp.cli.maintenance:pause",
    "resume": "webapp.cli.maintenance:resume",
    "privacy": "webapp.cli.privacy:privacy",
    "delete": "webapp.cli.privacy:delete",
    "retention": "webapp.cli.maintenance:retention",
    "demo": "webapp.cli.passed_on:demo",
    "import": "webapp.cli.passed_on:imports",
    "backup": "webapp.cli.data:backup",
    "restore": "webapp.cli.data:restore",
    "export": "webapp.cli.data:export",
    "verify-export": "webapp.cli.data:verify_export",
    "encrypt": "webapp.cli.data:encrypt",
    "decrypt": "webapp.cli.data:decrypt",
    "doctor": "webapp.cli.maintenance:doctor",
    "verify": "webapp.cli.maintenance:verify",
    "reindex": "webapp.cli.passed_on:reindex",
    "reread": "webapp.cli.passed_on:reread",
    "mcp": "webapp.cli.processes:mcp",
    "token": "webapp.cli.tokens:token",
    "capture": "webapp.cli.processes:capture",
    "ingest": "webapp.cli.processes:ingest",
    "web": "webapp.cli.processes:web",
}


class _Lazy(click.Group):
    """A group whose commands are imported by name."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name].partition(":")
        return cast(click.Command, getattr(importlib.import_module(module), attribute))


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="recollect", message="recollect %(version)s")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens in detail.")
def recollect(verbose: bool) -> None:
    """Remembers your screen and proves what it says. Everything stays on this machine."""
    level = logging.DEBUG if verbose else logging.WARNING
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: runs a command and exits."""
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None, command: click.Command = recollect) -> int:
    """Run a command and return its exit code; every failure is told in one line."""
    try:
        result: Any = command.main(arguments, prog_name=command.name, standalone_mode=False)
    except click.exceptions.Abort:
        return _tell("stopped", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        return _tell(error.format_message(), error.exit_code)
    except BrokenPipeError:
        # The reader (`| head`) has seen enough; keep Python from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (StoreError, OSError) as error:
        return _tell(_reason(error), 1)
    except Exception as error:  # a person gets a line and an exit code, not a traceback
        log.debug("the command failed", exc_info=error)
        return _tell(f"unexpected {type(error).__name__}: {error} (`recollect -v` shows where)", 1)
    return result if isinstance(result, int) else 0


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{name}"
    if isinstance(error, DatabaseDamaged):  # found out on the way: when it was opened it seemed sound
        return f"the database is damaged ({error}); `recollect doctor` says what to do"
    return str(error) or type(error).__name__


def _tell(message: str, code: int) -> int:
    click.echo(f"recollect: {' '.join(message.split())}", err=True)
    return code
