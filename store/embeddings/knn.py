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
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from statistics import NormalDist
from typing import NamedTuple

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, column, rows, scalar
from store.embeddings import vectors
from store.embeddings.sign_index import EVERY_ID, Candidates, SignIndex, index_of, is_ready, load_index
from store.embeddings.vectors import Kind, Model

RESCORED = 6_000
"""Of so many chunks at most the cosine is computed, 30 ms. With 4,000 of ten million one in 43 of the ten
nearest is missed, with these one in 60.
"""
_READ_FIRST, _REACHED, _ERRORS = 2_000, 10, 3.0
"""The first of them tell how far bits err; of the rest those are read that come before the tenth when they
are at most so many standard errors nearer than told. So three of four questions read no more than the first,
and the ten nearest are found as often as with all (200 questions to ten million chunks, `docs/scale.md`).
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

_Row = tuple[int, int, int, int, bytes]
"""Of a vector: its id, its thing, where its chunk starts and ends, and its numbers."""
Passing = Callable[[list[int]], Collection[int]]
"""Which of these things pass."""
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
    asked: RetrievalQuery | Callable[[], RetrievalQuery],
    *,
    low: int = 0,
    high: int = EVERY_ID,
    narrow: Narrow | None = None,
    limit: int = 150,
    meanwhile: Callable[[], object] | None = None,
) -> list[Near]:
    """The things nearest to what is asked, best first, the newer of two equal ones first.

    Only things with ids in ``[low, high)`` that `narrow` lets through. While another thread waits for what is
    `asked` and compares bits, this one does `meanwhile`. Raises `SemanticUnavailable`: the problem of what is
    asked, ``no_embeddings`` while no vector is stored, ``model_changed`` when another model is active than
    asks, ``index_building`` while a large index is being loaded.
    """
    if not callable(asked):
        vector_of(asked)

    def wait() -> RetrievalQuery:
        return asked() if callable(asked) else asked

    with database.read() as connection:
        try:
            index = _index(database, connection, kind)
        except SemanticUnavailable:
            vector_of(wait())
            raise

        def made() -> Vectors:
            return vector_of(wait(), index.model)

        return _nearest(connection, index, made, low, high, narrow, limit, meanwhile)[:limit]


def vector_of(asked: RetrievalQuery, model: Model | None = None) -> Vectors:
    """The vector of what is asked; raises `SemanticUnavailable` where it has none, or not of this model."""
    if asked.vector is None or asked.model is None:
        missing = "no_embeddings" if asked.model is None else "embedder_unavailable"
        raise SemanticUnavailable(asked.problem or missing)
    if model and (model.name, model.dimension) != (asked.model, len(asked.vector)):
        raise SemanticUnavailable("model_changed")
    return asked.vector


_CHUNKS = """
select v.id from json_each(?) j cross join vectors v on v.kind = ? and v.thing_id = j.value and v.model_id = ?
"""


def _nearest(
    connection: apsw.Connection, index: SignIndex, asked: Callable[[], Vectors], low: int, high: int,
    narrow: Narrow | None, limit: int, meanwhile: Callable[[], object] | None,
) -> list[Near]:  # fmt: skip
    allowed = None if narrow is None else narrow(None, MANY + 1)

    def compared() -> tuple[Vectors, Candidates | None]:
        query, is_many = asked(), allowed is None or len(allowed) > MANY
        return query, index.candidates(query, low, high, RESCORED) if is_many else None

    with ThreadPoolExecutor(1, "vectors") as beside:
        comparing = beside.submit(compared)
        if meanwhile is not None:
            meanwhile()
        query, candidates = comparing.result()
    if allowed is not None and len(allowed) <= FEW:
        ids = column(connection, _CHUNKS, (json.dumps(allowed), index.kind, index.model.id))
        return _rescored(connection, index, query, Candidates(ids, None, len(ids)), _all)
    if candidates is None:
        return _among(connection, index, query, low, high, allowed or [])

    def passing(things: list[int]) -> Collection[int]:
        inside = [thing for thing in things if low <= thing < high]
        return narrow(inside, -1) if narrow else inside

    found = _rescored(connection, index, query, candidates, passing)
    if narrow and len(found) < limit and len(candidates.ids) < candidates.compared:
        return _among(connection, index, query, low, high, narrow(None, -1))
    return found


def _among(
    connection: apsw.Connection, index: SignIndex, query: Vectors, low: int, high: int, allowed: list[int]
) -> list[Near]:
    """The nearest of those that a filter lets through, where few of the nearest of all are."""
    among = np.array(sorted(allowed), dtype=np.int64)
    candidates = index.candidates(query, low, high, RESCORED, among)
    return _rescored(connection, index, query, candidates, set(allowed).intersection)


def _all(things: list[int]) -> Collection[int]:
    return things


def chunks_of(
    database: Database,
    kind: Kind,
    thing_ids: Iterable[int],
    asked: RetrievalQuery,
) -> list[Near]:
    """How near each chunk of these things is to what is asked, and whether it stands out. Raises
    `SemanticUnavailable` as `nearest` does.
    """
    with database.read() as connection:
        index = _index(database, connection, kind)
        vector = vector_of(asked, index.model)
        ids = column(connection, _CHUNKS, (json.dumps(list(thing_ids)), kind, index.model.id))
        candidates = Candidates(ids, None, max(len(index), len(ids)))
        return _judged(connection, index, vector, candidates, _all, -1.0, len(ids))


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


def _index(database: Database, connection: apsw.Connection, kind: Kind) -> SignIndex:
    active = vectors.active(connection)
    if active is None:
        raise SemanticUnavailable("no_embeddings")
    index = index_of(database, kind, active)
    if not is_ready(database, connection, index):
        raise SemanticUnavailable("index_building")
    if not len(index):
        raise SemanticUnavailable("no_embeddings")
    return index


def _rescored(
    connection: apsw.Connection, index: SignIndex, query: Vectors, candidates: Candidates, passing: Passing
) -> list[Near]:
    """Things by the cosine of their best chunk among these candidates."""
    best: dict[int, Near] = {}
    for near in _judged(connection, index, query, candidates, passing, MIN_COSINE, _JUDGED):
        if near.id not in best or best[near.id].score < near.score:
            best[near.id] = near
    return sorted(best.values(), key=lambda near: (-near.score, -near.id))


def _judged(
    connection: apsw.Connection, index: SignIndex, query: Vectors, candidates: Candidates,
    passing: Passing, least: float, most: int,
) -> list[Near]:  # fmt: skip
    """Of these chunks those of things that pass, with a cosine of at least `least`, the nearest first, `most`
    of them. Where bits told how near they are, those out of reach are not read.
    """
    ids, nearness, compared = candidates
    asked = np.asarray(query, np.float32)
    first = len(ids) if nearness is None else _READ_FIRST
    found = _read(connection, index, ids[:first])
    if not found:
        return []
    cosines = _units(found) @ asked
    best = _passing(found, cosines, passing, least, most)
    if nearness is not None and first < len(ids):
        told = dict(zip(ids, nearness.tolist(), strict=True))
        tenth = min((cosine for cosine, _ in best[:_REACHED]), default=least)
        reach = _in_reach(cosines, np.array([told[row[0]] for row in found]), nearness, tenth)
        rest = _read(connection, index, ids[first:reach])
        if rest:
            nearer = best[most - 1][0] if len(best) >= most else least
            best += _passing(rest, _units(rest) @ asked, passing, nearer, most)
            best.sort(key=itemgetter(0), reverse=True)
    if not best:
        return []
    chosen = [row for _, row in best[:most]]
    background = _read(connection, index, index.sample(BACKGROUND))
    scores, stand_out = _scored(_units(chosen), asked, _units(background or chosen), compared)
    judged = zip(chosen, scores.round(4).tolist(), stand_out.tolist(), strict=True)
    return [Near(thing, score, start, end, is_out) for (_, thing, start, end, _), score, is_out in judged]


def _passing(
    found: Sequence[_Row], cosines: Vectors, passing: Passing, least: float, most: int
) -> list[tuple[float, _Row]]:
    """Cosine and row of those whose things pass, the nearest first, about `most` of them: no more are asked
    for than it takes.
    """
    kept: list[tuple[float, _Row]] = []
    near = np.flatnonzero(cosines >= least)
    best_first = near[np.argsort(-cosines[near])].tolist()
    for start in range(0, len(best_first), most):
        some = best_first[start : start + most]
        things = set(passing(list({found[at][1] for at in some})))
        kept += [(float(cosines[at]), found[at]) for at in some if found[at][1] in things]
        if len(kept) >= most:
            break
    return kept


def _read(connection: apsw.Connection, index: SignIndex, ids: Sequence[int]) -> list[_Row]:
    """Their rows in the order of ids; the index is told of those that are gone."""
    found: list[_Row] = rows(
        connection,
        """
        select v.id, v.thing_id, v.chunk_start, v.chunk_end, v.vector from json_each(?) j
        cross join vectors v on v.id = j.value
        """,
        (json.dumps(sorted(ids)),),
    )
    newest = scalar(connection, "select max(id) from vectors") or 0
    # What came after this read began is not seen by it, and not gone.
    if missing := {number for number in {*ids} - {row[0] for row in found} if number <= newest}:
        index.forget(missing)
    return found


def _units(found: Sequence[_Row]) -> Vectors:
    """The vectors of rows, each of unit length: ``float32[n, dimension]``."""
    packed = np.frombuffer(b"".join(row[4] for row in found), np.int8)
    stored = packed.reshape(len(found), -1).astype(np.float32)
    return np.asarray(stored / np.sqrt(np.einsum("ij,ij->i", stored, stored))[:, None])


def _in_reach(cosines: Vectors, told: Vectors, nearness: Vectors, least: float) -> int:
    """How many candidates, best first, may have a cosine of `least`: what bits have `told` of some of them is
    fitted to their `cosines` by least squares.
    """
    mean, of_bits = cosines.mean(), told.mean()
    slope = ((told - of_bits) * (cosines - mean)).mean() / (told.var() or 1)
    error = np.std(cosines - slope * told)
    return int(np.count_nonzero(mean + slope * (nearness - of_bits) + _ERRORS * error >= least))


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
