"""Which things mean what a text means: the nearest vectors, under the filters of the search.

The bits in memory choose `RESCORED` candidates (`store.embeddings.vector_index`), their stored bytes put them
in order, and a thing counts with its best chunk: around the one line that answers, a screen is
full of others (technology.md, "Meaning": whole text 0.58, best line 0.89).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, rows
from store.embeddings import vector_index, vectors
from store.embeddings.vector_index import Ids, SignIndex
from store.embeddings.vectors import Kind

RESCORED = 1_000
"""Chunks whose cosine is computed: 5 ms, and all of the true 100 nearest of a million made-up ones."""
MIN_COSINE = 0.2
"""Texts further apart than this have nothing to say to each other (unrelated lines: mostly below 0.15)."""
EVERY_ID = 2**62

Narrow = Callable[[list[int] | None], list[int]]
"""Which of these things pass the filters; with None, all things that do."""


class Near(NamedTuple):
    """A thing, the cosine of its best chunk, and where that stands in its text."""

    id: int
    score: float
    start: int
    end: int


class SemanticUnavailable(Exception):
    """Nothing can be said about meaning; `reason` is a word for programs."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def nearest(
    database: Database,
    kind: Kind,
    model: str,
    query: npt.NDArray[np.floating],
    *,
    low: int = 0,
    high: int = EVERY_ID,
    narrow: Narrow | None = None,
    limit: int = 150,
) -> list[Near]:
    """The things nearest to the unit vector `query`, best first, the newer of two equal ones first.

    Only things with ids in ``[low, high)`` that `narrow` lets through. Raises `NotNow`:
    ``no_embeddings`` while no vector of `model` is stored, ``model_changed`` when another one is
    active, ``index_building`` while a large index is being loaded.
    """
    with database.read() as connection:
        index = _index(database, connection, kind, model, len(query))
        found, is_all = _rescored(connection, index, query, low, high, None)
        if narrow is None:
            return found[:limit]
        kept = set(narrow([near.id for near in found]))
        passed = [near for near in found if near.id in kept]
        if not is_all and len(passed) < limit:
            # Few of the nearest pass: look among those that do.
            among = np.array(sorted(narrow(None)), dtype=np.int64)
            passed, _ = _rescored(connection, index, query, low, high, among)
        return passed[:limit]


def first_held(database: Database, kind: Kind) -> int:
    """The smallest id of a thing whose vectors the index has room for; 0 when it holds them all."""
    with database.read() as connection:
        active = vectors.active(connection)
    return 0 if active is None else vector_index.index_of(database, kind, active).floor


def load_neighbours(database: Database, kind: Kind) -> None:
    """Have the whole index in memory before the first question: for a program that asks only one."""
    with database.read() as connection:
        active = vectors.active(connection)
    if active is not None:
        vector_index.load_index(database, vector_index.index_of(database, kind, active))


def _index(
    database: Database, connection: apsw.Connection, kind: Kind, model: str, dimension: int
) -> SignIndex:
    active = vectors.active(connection)
    if active is None:
        raise SemanticUnavailable("no_embeddings")
    if active.name != model or active.dimension != dimension:
        raise SemanticUnavailable("model_changed")
    index = vector_index.index_of(database, kind, active)
    if not vector_index.is_ready(database, connection, index):
        raise SemanticUnavailable("index_building")
    if not len(index):
        raise SemanticUnavailable("no_embeddings")
    return index


def _rescored(
    connection: apsw.Connection,
    index: SignIndex,
    query: npt.NDArray[np.floating],
    low: int,
    high: int,
    among: Ids | None,
) -> tuple[list[Near], bool]:
    """Things by the cosine of their best chunk, and whether every chunk was looked at."""
    ids, is_all = index.candidates(query, low, high, RESCORED, among)
    found = rows(
        connection,
        """
        select v.id, v.thing_id, v.chunk_start, v.chunk_end, v.vector
        from json_each(?) j
        cross join vectors v on v.id = j.value
        """,
        (json.dumps(ids),),
    )
    if len(found) < len(ids):
        index.forget(set(ids) - {row[0] for row in found})
    if not found:
        return [], is_all
    packed = np.frombuffer(b"".join(row[4] for row in found), np.int8).reshape(len(found), -1)
    whole = packed.astype(np.float32)
    cosines = (whole @ np.asarray(query, np.float32)) / np.linalg.norm(whole, axis=1)
    best: dict[int, Near] = {}
    for (_, thing_id, start, end, _), cosine in zip(found, cosines.tolist(), strict=True):
        if cosine >= MIN_COSINE and (thing_id not in best or best[thing_id].score < cosine):
            best[thing_id] = Near(thing_id, round(cosine, 6), start, end)
    return sorted(best.values(), key=lambda near: (-near.score, -near.id)), is_all
