"""Which things mean what a text means: the nearest vectors, under the filters of the search.

The bits in memory choose `RESCORED` candidates, their stored bytes put them
in order, and a thing counts with its best chunk: around the one line that answers, a screen is
full of others (measured: whole text 0.58, best line 0.89).

Something is always nearest, so a nearness counts when chance does not give it. What chance gives, the index
itself tells: an even sample of its vectors says how near the question is to any text, how near the chunk is
(some lines are near to everything), and how far such nearnesses spread. What passes is bounded as Benjamini
and Hochberg do ("Controlling the false discovery rate", 1995) over as many texts as were compared. So no
number depends on the model or on the size of the store: questions about nothing in it, asked of 60 and of
750 lines with either model, had something near in 0 to 10 of 100 cases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, column, rows, scalar
from store.embeddings import vectors
from store.embeddings.sign_index import EVERY_ID, SignIndex, index_of, is_ready, load_index
from store.embeddings.vectors import Kind

RESCORED = 6_000
"""Of so many chunks at most the cosine is computed, 30 ms. With 4,000 of ten million one in 43 of the ten
nearest is missed, with these one in 60.
"""
_READ_FIRST, _REACHED, _ERRORS = 2_000, 10, 3.5
"""The first of them tell how far bits err; of the rest those are read that come before the tenth when they
are at most so many standard errors nearer than told. So half the questions read no more than the first,
and none of the ten nearest is lost (100 questions to ten million chunks).
"""
FEW, MANY = 4_000, 20_000
"""Of no more things than the first that a filter lets through, all are compared; of no more than the second,
whose ids take 4 ms, the bits of no others."""
_JUDGED = 400
"""So many of the nearest are told from chance: more than anybody lists."""
MIN_COSINE = 0.15
"""Texts further apart than this have nothing to say to each other (unrelated lines: mostly below)."""
CHANCE = 0.05
"""How often a question about nothing in the store may find something near it."""
BACKGROUND = 256
"""Vectors that tell what chance gives: with so many a spread is known to 5 %."""
_LEAST_BACKGROUND = 40
"""Among fewer, three that are near spread the background so far that they do not stand out of it."""
_LOOK_ALIKE = 0.9
"""Copies of a line are no chance: in a background they do not count."""

Vectors = npt.NDArray[np.floating]

Narrow = Callable[[list[int] | None, int], list[int]]
"""Which of these things pass the filters; with None, of all things that do at most so many, -1 for all."""


class Near(NamedTuple):
    """A thing, the cosine of its best chunk less what that chunk has to any text, and where it stands."""

    id: int
    score: float
    start: int
    end: int
    stands_out: bool = True
    """Whether chance does not give such a nearness."""


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """A question in words and, where there is an embedder, as a unit vector of `model`.

    `problem` says in a word why there is no vector. `likeness` tells of texts how much each says the
    question's words, in any language (0..1), where there is who knows words; empty when it cannot.
    """

    text: str
    vector: npt.NDArray[np.floating] | None = None
    model: str | None = None
    problem: str | None = None
    likeness: Callable[[Sequence[str]], Sequence[float]] | None = None


WORDS_ONLY = RetrievalQuery("")


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
    above_chance: bool = True,
    meanwhile: Callable[[], object] | None = None,
) -> list[Near]:
    """The things nearest to the unit vector `query`, best first, the newer of two equal ones first.

    Only things with ids in ``[low, high)`` that `narrow` lets through, and unless `above_chance` is false
    only those that stand out. While another thread compares bits, this one does `meanwhile`. Raises
    `SemanticUnavailable`: ``no_embeddings`` while no vector of `model` is stored, ``model_changed`` when
    another one is active, ``index_building`` while a large index is being loaded.
    """
    with database.read() as connection:
        index = _index(database, connection, kind, model, len(query))
        found = _nearest(connection, index, query, low, high, narrow, limit, meanwhile)
        return [near for near in found if near.stands_out or not above_chance][:limit]


_CHUNKS = """
select v.id from json_each(?) j cross join vectors v on v.kind = ? and v.thing_id = j.value and v.model_id = ?
"""


def _nearest(
    connection: apsw.Connection, index: SignIndex, query: Vectors, low: int, high: int,
    narrow: Narrow | None, limit: int, meanwhile: Callable[[], object] | None,
) -> list[Near]:  # fmt: skip
    allowed = None if narrow is None else narrow(None, MANY + 1)
    if allowed is not None and len(allowed) <= FEW:
        ids = column(connection, _CHUNKS, (json.dumps(allowed), index.kind, index.model.id))
        return _rescored(connection, index, query, ids, None, len(ids))
    if allowed is not None and len(allowed) <= MANY:
        return _among(connection, index, query, low, high, allowed)
    with ThreadPoolExecutor(1, "vectors") as beside:
        comparing = beside.submit(index.candidates, query, low, high, RESCORED)
        if meanwhile is not None:
            meanwhile()
        ids, nearness, compared = comparing.result()
    # Where a filter comes afterwards, many are to come before it.
    found = _rescored(connection, index, query, ids, None if narrow else nearness, compared)
    found = [near for near in found if low <= near.id < high]
    if narrow is not None:
        kept = set(narrow([near.id for near in found], -1))
        found = [near for near in found if near.id in kept]
        if len(ids) < compared and len(found) < limit:
            return _among(connection, index, query, low, high, narrow(None, -1))
    return found


def _among(
    connection: apsw.Connection, index: SignIndex, query: Vectors, low: int, high: int, allowed: list[int]
) -> list[Near]:
    """The nearest of those that a filter lets through, where few of the nearest of all are."""
    among = np.array(sorted(allowed), dtype=np.int64)
    found = _rescored(connection, index, query, *index.candidates(query, low, high, RESCORED, among))
    kept = set(allowed)
    return [near for near in found if near.id in kept]


def chunks_of(
    database: Database,
    kind: Kind,
    thing_ids: Iterable[int],
    model: str,
    query: npt.NDArray[np.floating],
) -> list[Near]:
    """How near each chunk of these things is to the unit vector `query`, and whether it stands out. Raises
    `SemanticUnavailable` as `nearest` does.
    """
    with database.read() as connection:
        index = _index(database, connection, kind, model, len(query))
        ids = column(connection, _CHUNKS, (json.dumps(list(thing_ids)), kind, index.model.id))
        return _judged(connection, index, query, ids, None, max(len(index), len(ids)), -1.0, len(ids))


def first_held(database: Database, kind: Kind) -> int:
    """The smallest id of a thing whose vectors the index has room for; 0 when it holds them all."""
    with database.read() as connection:
        active = vectors.active(connection)
    return 0 if active is None else index_of(database, kind, active).floor


def load_neighbours(database: Database, kind: Kind) -> None:
    """Have the whole index in memory before the first question: for a program that asks only one."""
    with database.read() as connection:
        active = vectors.active(connection)
    if active is not None:
        load_index(database, index_of(database, kind, active))


def _index(
    database: Database, connection: apsw.Connection, kind: Kind, model: str, dimension: int
) -> SignIndex:
    active = vectors.active(connection)
    if active is None:
        raise SemanticUnavailable("no_embeddings")
    if active.name != model or active.dimension != dimension:
        raise SemanticUnavailable("model_changed")
    index = index_of(database, kind, active)
    if not is_ready(database, connection, index):
        raise SemanticUnavailable("index_building")
    if not len(index):
        raise SemanticUnavailable("no_embeddings")
    return index


def _rescored(
    connection: apsw.Connection, index: SignIndex, query: Vectors, ids: list[int], nearness: Vectors | None,
    compared: int,
) -> list[Near]:  # fmt: skip
    """Things by the cosine of their best chunk among these candidates."""
    best: dict[int, Near] = {}
    for near in _judged(connection, index, query, ids, nearness, compared, MIN_COSINE, _JUDGED):
        if near.id not in best or best[near.id].score < near.score:
            best[near.id] = near
    return sorted(best.values(), key=lambda near: (-near.score, -near.id))


def _judged(
    connection: apsw.Connection, index: SignIndex, query: Vectors, ids: list[int],
    nearness: Vectors | None, compared: int, least: float, most: int,
) -> list[Near]:  # fmt: skip
    """These chunks, which are the nearest of `compared`: those with a cosine of at least `least`, the nearest
    first, `most` of them. With their `nearness` by bits, best first, those out of reach are not read.
    """
    sample, asked = index.sample(BACKGROUND), np.asarray(query, np.float32)
    first = len(ids) if nearness is None else _READ_FIRST
    found = _read(connection, index, {*ids[:first], *sample})
    if nearness is not None and first < len(ids):
        told = dict(zip(ids[:first], nearness.tolist(), strict=False))
        reach = _in_reach([row for row in found if row[0] in told], told, asked, nearness)
        found += _read(connection, index, {*ids[first:reach]} - {*sample})
    if not found:
        return []
    stored, lengths = _unpacked(found)
    numbers = np.array([row[0] for row in found])
    cosines = stored @ asked / lengths
    chosen = np.flatnonzero(np.isin(numbers, ids) & (cosines >= least))
    chosen = chosen[np.argsort(-cosines[chosen])[:most]]
    of_both = (chosen, np.flatnonzero(np.isin(numbers, sample)))
    units, background = (stored[places] / lengths[places, None] for places in of_both)
    scores, stand_out = _scored(units, asked, background, compared)
    judged = zip((found[at] for at in chosen), scores.round(4).tolist(), stand_out.tolist(), strict=True)
    return [Near(thing, score, start, end, is_out) for (_, thing, start, end, _), score, is_out in judged]


def _read(connection: apsw.Connection, index: SignIndex, ids: set[int]) -> list[tuple[Any, ...]]:
    """Rows of these ids, which the index is told of where they are gone: id, thing, start, end, vector."""
    found = rows(
        connection,
        """
        select v.id, v.thing_id, v.chunk_start, v.chunk_end, v.vector from json_each(?) j
        cross join vectors v on v.id = j.value
        """,
        (json.dumps(sorted(ids)),),
    )
    newest = scalar(connection, "select max(id) from vectors") or 0
    # What came after this read began is not seen by it, and not gone.
    if missing := {number for number in ids - {row[0] for row in found} if number <= newest}:
        index.forget(missing)
    return found


def _unpacked(found: Sequence[tuple[Any, ...]]) -> tuple[Vectors, Vectors]:
    """The vectors of rows as they are stored, ``float32[n, dimension]``, and their lengths."""
    packed = np.frombuffer(b"".join(row[4] for row in found), np.int8)
    stored = packed.reshape(len(found), -1).astype(np.float32)
    return stored, np.sqrt(np.einsum("ij,ij->i", stored, stored))


def _in_reach(
    found: Sequence[tuple[Any, ...]], told: Mapping[int, float], query: Vectors, nearness: Vectors
) -> int:
    """How many candidates, best first, may be as near as the tenth of those that are `found`; all, where none
    of those is left. What bits have `told` of them is fitted to their cosines by least squares.
    """
    if not found:
        return len(nearness)
    stored, lengths = _unpacked(found)
    cosines, by_bits = stored @ query / lengths, np.array([told[row[0]] for row in found])
    mean, of_bits = cosines.mean(), by_bits.mean()
    slope = ((by_bits - of_bits) * (cosines - mean)).mean() / (by_bits.var() or 1)
    error = np.std(cosines - slope * by_bits)
    tenth = np.sort(cosines)[-_REACHED:][0]
    return int(np.count_nonzero(mean + slope * (nearness - of_bits) + _ERRORS * error >= tenth))


def _scored(
    chunks: Vectors, query: Vectors, background: Vectors, compared: int
) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """Of each chunk how near it is, beyond what it is to any text; and whether that is more than chance.

    `chunks` are the nearest of `compared`; where the background is too small to tell, all stand out.
    """
    cosines = chunks @ query
    background = background[~np.triu(background @ background.T >= _LOOK_ALIKE, 1).any(axis=0)]
    if len(background) < _LEAST_BACKGROUND:
        return cosines, np.ones(len(chunks), bool)
    of_store, store_spread = _against(background, background)
    of_chunks, _ = _against(chunks, background)
    of_query = background @ query
    scores = cosines - of_chunks + of_store.mean()
    spread = np.sqrt((of_query.var(ddof=1) + store_spread.mean()) / 2)
    distances = (scores - of_query.mean()) / spread
    best_first = np.argsort(-distances)
    bounds = [NormalDist().inv_cdf(1 - CHANCE * place / compared) for place in range(1, len(chunks) + 1)]
    passing = np.flatnonzero(distances[best_first] >= bounds)
    stand_out = np.zeros(len(chunks), bool)
    stand_out[best_first[: passing[-1] + 1 if len(passing) else 0]] = True
    return scores, stand_out


def _against(units: Vectors, background: Vectors) -> tuple[Vectors, Vectors]:
    """Mean and variance of each vector's cosines with the background, without its look-alikes there."""
    cosines = units @ background.T
    is_other = cosines < _LOOK_ALIKE
    number = np.maximum(is_other.sum(axis=1), 1)
    mean = np.where(is_other, cosines, 0).sum(axis=1) / number
    squares = np.where(is_other, (cosines - mean[:, None]) ** 2, 0).sum(axis=1)
    return mean, squares / number
