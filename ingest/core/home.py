"""What the worker works on: one home folder's spool, database and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click

from store.core import paths
from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.core.settings import Settings
from store.frames.media import Media
from store.spool.queue import Spool


@dataclass(frozen=True, slots=True)
class Home:
    settings: Settings
    data_dir: DataDir
    database: Database
    spool: Spool
    media: Media


class AlreadyRunning(Exception):
    """Another worker takes from this home's spool."""


def open_home(data_dir: DataDir, settings: Settings) -> Home:
    """Opens (and makes, when new) everything ingest needs. Raises what `open_database` raises."""
    database = open_database(data_dir)
    limits = settings.spool
    spool = Spool(data_dir.spool, max_bytes=round(limits.max_gb * 1e9), max_entries=limits.max_entries)
    return Home(settings, data_dir, database, spool, Media(data_dir.media, database))


def with_home(command: Callable[..., None]) -> Callable[..., None]:
    """A command that is handed its home first, opened when its arguments are known to be right."""

    @click.pass_obj
    @wraps(command)
    def opened(opener: Callable[[], Home], /, **given: Any) -> None:
        command(opener(), **given)

    return opened


@contextmanager
def only_worker(data_dir: DataDir) -> Iterator[None]:
    """Holds the place of this home's one worker. Raises `AlreadyRunning` at once when it is taken.

    Two workers would both take the spool's `taken` folder for their own.
    """
    with paths.file_lock(data_dir.spool / paths.WORKER_LOCK) as is_ours:
        if not is_ours:
            raise AlreadyRunning("an ingest worker is already running for this home folder")
        yield
