"""Vectors of meaning: rows of small numbers beside the texts they were made of.

A *thing* (a frame, a document) has a vector for each of its chunks, short pieces of its text. A
vector is kept as one byte per number, scaled so that its largest is 127: only its direction
counts. What still waits is a row in ``embedding_queue``, newest first; it goes in the transaction
that stores the vectors, so a restart makes none twice.

One model is active at a time. Vectors of two models cannot be compared, so changing it queues
whatever has none of the new one; the old ones are replaced thing by thing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, change, column, scalar
from store.core.records import columns, insert, load
from store.frames.frames import id_range

SAME_MS = 600_000
"""A line that stands in one window for so long is kept once (`ingest.reading.embedding`)."""
COUNTED = 100_000

Kind = Literal["frame", "document", "message", "day"]
Chunk = tuple[int, int, npt.NDArray[np.int8]]
"""(start, end, vector): the characters of the thing's text, and ``int8[dimension]``."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model that vectors are or were made with."""

    id: int
    name: str
    dimension: int
    is_active: bool


_MODELS = f"select {columns(Model)} from embedding_models"


def quantize(vectors: npt.NDArray[np.floating]) -> npt.NDArray[np.int8]:
    """Float rows as ``int8[n, d]`` of the same directions, within a hundredth of the largest number.

    Raises `ValueError` for a row of zeros, which has no direction.
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not np.isfinite(largest).all() or (largest == 0).any():
        raise ValueError("a vector has no direction")
    return np.asarray(np.rint(vectors * (127 / largest)), dtype=np.int8)


def models(database: Database) -> list[Model]:
    """Every model vectors were asked of, the active one first."""
    return database.records(Model, f"{_MODELS} order by is_active desc, id desc")


def active(connection: apsw.Connection) -> Model | None:
    """The model whose vectors are searched and made; None before the first."""
    return next(iter(load(Model, connection.execute(f"{_MODELS} where is_active = 1"))), None)


def activate_model(database: Database, name: str, dimension: int) -> int:
    """Make a model the active one; returns how many things were queued because it was another before.

    Nothing happens when it is active already. A model that comes back with another dimension loses
    its old vectors.
    """
    with database.write() as connection:
        before = active(connection)
        if before is not None and (before.name, before.dimension) == (name, dimension):
            return 0
        connection.execute("update embedding_models set is_active = 0 where is_active = 1")
        of_other = "model_id = (select id from embedding_models where name = ? and dimension <> ?)"
        connection.execute(
            f"""
            delete from vector_counts
            where (kind, thing_id) in (select kind, thing_id from vectors where {of_other})
            """,
            (name, dimension),
        )
        connection.execute(f"delete from vectors where {of_other}", (name, dimension))
        connection.execute(
            """
            insert into embedding_models (name, dimension, is_active) values (?, ?, 1)
            on conflict (name) do update set dimension = excluded.dimension, is_active = 1
            """,
            (name, dimension),
        )
        return 0 if before is None else _queue(connection, everything=False)


def _queue(connection: apsw.Connection, *, everything: bool) -> int:
    sql = """
        with things (kind, thing_id) as (
            select 'frame', f.id from frames f where f.reading_state = 'read'
            union
            select kind, thing_id from vectors where kind <> 'frame'
        )
        insert or ignore into embedding_queue (kind, thing_id)
        select t.kind, t.thing_id from things t
        where :everything or not exists (
            select 1 from vectors v
            where v.kind = t.kind and v.thing_id = t.thing_id
                and v.model_id = (select id from embedding_models where is_active = 1)
        )
        """
    return change(connection, sql, {"everything": everything})


def request(connection: apsw.Connection, kind: Kind, thing_id: int) -> None:
    """Have a thing's vectors made, or made anew because its text changed."""
    connection.execute(
        "insert or ignore into embedding_queue (kind, thing_id) values (?, ?)", (kind, thing_id)
    )


def request_more(database: Database, *, everything: bool = False) -> int:
    """Queue what has no vectors of the active model, or `everything`; returns how much is new there."""
    with database.write() as connection:
        return _queue(connection, everything=everything)


def missing(database: Database, kind: Kind, model: str, limit: int) -> list[int]:
    """Things that wait for vectors of the active model, newest first.

    Raises `ValueError` when `model` is not the active one (`activate_model`).
    """
    with database.read() as connection:
        now = active(connection)
        if now is None or now.name != model:
            raise ValueError(f"{model!r} is not the active model")
        sql = "select thing_id from embedding_queue where kind = ? order by thing_id desc limit ?"
        return column(connection, sql, (kind, limit))


def count_missing(database: Database, at_most: int = COUNTED) -> int:
    """How many things wait for their vectors, counted no further than `at_most`."""
    sql = "select count(*) from (select 1 from embedding_queue limit ?)"
    return int(database.scalar(sql, (at_most,)))


def count_waiting(connection: apsw.Connection, start_ms: int, end_ms: int) -> int:
    """How many frames of ``[start_ms, end_ms)`` wait for their vectors: no meaning finds them yet.

    None wait where no model was ever used: then nothing is found by meaning, and nobody expects it.
    """
    if active(connection) is None:
        return 0
    sql = "select count(*) from embedding_queue where kind = 'frame' and thing_id >= ? and thing_id < ?"
    return int(scalar(connection, sql, id_range(start_ms, end_ms)))


def request_beside(connection: apsw.Connection, stretches: Iterable[tuple[int, int]]) -> None:
    """Frames of these stretches are about to go: those that relied on their lines are queued."""
    for start_ms, end_ms in stretches:
        low, _ = id_range(start_ms // SAME_MS * SAME_MS, end_ms)
        _, high = id_range(start_ms, (end_ms // SAME_MS + 1) * SAME_MS)
        connection.execute(
            """
            insert or ignore into embedding_queue (kind, thing_id)
            select 'frame', f.id from frames f
            where f.id >= ? and f.id < ? and f.reading_state = 'read'
                and f.id not in (select id from deletion_scope)
            """,
            (low, high),
        )


def add(connection: apsw.Connection, kind: Kind, thing_id: int, model: str, chunks: Sequence[Chunk]) -> None:
    """Store a thing's vectors in place of those it had, and take it off the queue.

    A thing without words has no chunks and is done as well. A model that was never made active is
    noted with the chunks' dimension. Raises `ValueError` for a vector of another dimension.
    """
    number, dimension = _model(connection, model, chunks)
    packed = [(kind, thing_id, number, start, end, vector.tobytes()) for start, end, vector in chunks]
    if any(vector.dtype != np.int8 or vector.shape != (dimension,) for _, _, vector in chunks):
        raise ValueError(f"vectors of {model} are int8[{dimension}]")
    delete(connection, kind, [thing_id])
    connection.executemany(
        """
        insert into vectors (kind, thing_id, model_id, chunk_start, chunk_end, vector)
        values (?, ?, ?, ?, ?, ?)
        """,
        packed,
    )
    if packed:
        sql = "insert into vector_counts (kind, thing_id, number) values (?, ?, ?)"
        connection.execute(sql, (kind, thing_id, len(packed)))


def _model(connection: apsw.Connection, name: str, chunks: Sequence[Chunk]) -> tuple[int | None, int]:
    for known in load(Model, connection.execute(f"{_MODELS} where name = ?", (name,))):
        return known.id, known.dimension
    if not chunks:
        return None, 0
    dimension = len(chunks[0][2])
    is_first = active(connection) is None
    return insert(
        connection, "embedding_models", name=name, dimension=dimension, is_active=is_first
    ), dimension


def having(database: Database, kind: Kind, thing_ids: Iterable[int]) -> set[int]:
    """Which of these things have vectors."""
    sql = """
        select distinct v.thing_id from json_each(?) j
        cross join vectors v on v.kind = ? and v.thing_id = j.value
        """
    return set(database.column(sql, (json.dumps(list(thing_ids)), kind)))


def delete(connection: apsw.Connection, kind: Kind, thing_ids: Iterable[int]) -> None:
    """Forget things' vectors, and that they wait for some."""
    of_things = "kind = :kind and thing_id in (select value from json_each(:ids))"
    values: dict[str, Any] = {"kind": kind, "ids": json.dumps(list(thing_ids))}
    for table in ("vectors", "vector_counts", "embedding_queue"):
        connection.execute(f"delete from {table} where {of_things}", values)
