"""Frames that come in while something else is measured: a process of its own, as capture and ingest are."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from bench.synthetic import START_MS, STEP_MS, filled, insert
from store.core.database import Database, open_database
from store.core.paths import DataDir

_APART_S = 0.12

Taken = tuple[float, float]
"""Milliseconds on the wall, and of processor time."""


class Inserts:
    """Frames with their index rows, one in each transaction, about eight a second as capture may make."""

    def __init__(self, database: Database) -> None:
        made = filled(database)
        self._database, self._vocabulary = database, made.vocabulary
        self._rng = random.Random(13)
        self._next_ms = START_MS + made.frames * STEP_MS + STEP_MS

    def one(self) -> Taken:
        """One insert; then a pause."""
        self._next_ms += 1_000
        began, cpu = time.perf_counter(), time.thread_time()
        with self._database.write() as connection:
            insert(connection, self._rng, self._vocabulary, self._next_ms)
        taken = (time.perf_counter() - began) * 1000, (time.thread_time() - cpu) * 1000
        time.sleep(_APART_S)
        return taken


def inserted(database: Database, times: int) -> list[Taken]:
    """What each of `times` inserts took."""
    inserts = Inserts(database)
    return [inserts.one() for _ in range(times)]


@contextmanager
def inserting(home: DataDir, taken: list[Taken]) -> Iterator[None]:
    """Inserts go on in another process as long as the block lasts; `taken` gets what each took."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_until_told, args=(home, theirs))
    process.start()
    ours.recv()
    try:
        yield
    finally:
        ours.send(None)
        taken += ours.recv()
        process.join()


def _until_told(home: DataDir, told: Connection) -> None:
    database = open_database(home)
    inserts = Inserts(database)
    taken = [inserts.one()]
    told.send(None)
    while not told.poll():
        taken.append(inserts.one())
    database.close_thread()
    told.send(taken)
