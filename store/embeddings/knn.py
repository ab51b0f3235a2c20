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

Of each vector one bit per number is held in memory, whether it is positive: vectors whose bits differ in few
places lie close together (Charikar, "Similarity estimation techniques from rounding algorithms", 2002). A
million vectors of 384 numbers take 64 MB, load in 1.2 s and are compared in 8 ms.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import NormalDist
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, rows, scalar
from store.embeddings import vectors
from store.embeddings.vectors import Kind, Model

RESCORED = 1_000
"""Chunks whose cosine is computed: 5 ms, and all of the true 100 nearest of a million made-up ones."""
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
EVERY_ID = 2**62

Ids = npt.NDArray[np.int64]
Vectors = npt.NDArray[np.floating]

Narrow = Callable[[list[int] | None], list[int]]
"""Which of these things pass the filters; with None, all things that do."""


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
) -> list[Near]:
    """The things nearest to the unit vector `query`, best first, the newer of two equal ones first.

    Only things with ids in ``[low, high)`` that `narrow` lets through, and unless `above_chance` is false
    only those that stand out. Raises `SemanticUnavailable`:
    ``no_embeddings`` while no vector of `model` is stored, ``model_changed`` when another one is
    active, ``index_building`` while a large index is being loaded.
    """
    with database.read() as connection:
        index = _index(database, connection, kind, model, len(query))
        found, is_all = _rescored(connection, index, query, low, high, None)
        if narrow is not None:
            kept = set(narrow([near.id for near in found]))
            found = [near for near in found if near.id in kept]
            if not is_all and len(found) < limit:
                # Few of the nearest pass: look among those that do.
                among = np.array(sorted(narrow(None)), dtype=np.int64)
                found, _ = _rescored(connection, index, query, low, high, among)
        return [near for near in found if near.stands_out or not above_chance][:limit]


def chunks_of(
    database: Database,
    kind: Kind,
    thing_ids: Iterable[int],
    model: str,
    query: npt.NDArray[np.floating],
    chance: float = CHANCE,
) -> list[Near]:
    """How near each chunk of these things is to the unit vector `query`, and whether it stands out: by
    `chance` alone one does in so small a part of the cases. Raises `SemanticUnavailable` as `nearest` does.
    """
    with database.read() as connection:
        index = _index(database, connection, kind, model, len(query))
        sql = """
            select v.thing_id, v.chunk_start, v.chunk_end, v.vector from json_each(?) j
            cross join vectors v on v.kind = ? and v.thing_id = j.value and v.model_id = ?
            """
        found = rows(connection, sql, (json.dumps(list(thing_ids)), kind, index.model.id))
        sql = "select vector from vectors where id in (select value from json_each(?))"
        sample = rows(connection, sql, (json.dumps(index.sample(BACKGROUND)),))
    if not found:
        return []
    scores, stand_out = _scored(
        _units(row[3] for row in found),
        np.asarray(query, np.float32),
        _units(row[0] for row in sample),
        max(len(index), len(found)),
        chance,
    )
    return [
        Near(thing_id, score, start, end, is_out)
        for (thing_id, start, end, _), score, is_out in zip(
            found, scores.tolist(), stand_out.tolist(), strict=True
        )
    ]


def _units(packed: Iterable[bytes]) -> Vectors:
    """Stored vectors as rows of length one."""
    joined = list(packed)
    units = np.frombuffer(b"".join(joined), np.int8).reshape(len(joined), -1).astype(np.float32)
    return np.asarray(units / np.linalg.norm(units, axis=1, keepdims=True))


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
    connection: apsw.Connection,
    index: SignIndex,
    query: npt.NDArray[np.floating],
    low: int,
    high: int,
    among: Ids | None,
) -> tuple[list[Near], bool]:
    """Things by the cosine of their best chunk, and whether every chunk was looked at."""
    ids, compared = index.candidates(query, low, high, RESCORED, among)
    sample = index.sample(BACKGROUND)
    found = rows(
        connection,
        """
        select v.id, v.thing_id, v.chunk_start, v.chunk_end, v.vector from json_each(?) j
        cross join vectors v on v.id = j.value
        """,
        (json.dumps(list({*ids, *sample})),),
    )
    newest = scalar(connection, "select max(id) from vectors") or 0
    # What came after this read began is not seen by it, and not gone.
    if missing := {number for number in {*ids, *sample} - {row[0] for row in found} if number <= newest}:
        index.forget(missing)
    if not found:
        return [], True
    units = _units(row[4] for row in found)
    numbers = np.array([row[0] for row in found])
    asked = np.asarray(query, np.float32)
    candidates = np.flatnonzero(np.isin(numbers, ids) & (units @ asked >= MIN_COSINE))
    scores, stand_out = _scored(units[candidates], asked, units[np.isin(numbers, sample)], compared)
    best: dict[int, Near] = {}
    for at, score, stands_out in zip(
        candidates.tolist(), scores.round(4).tolist(), stand_out.tolist(), strict=True
    ):
        _, thing_id, start, end, _ = found[at]
        if thing_id not in best or best[thing_id].score < score:
            best[thing_id] = Near(thing_id, score, start, end, stands_out)
    return sorted(best.values(), key=lambda near: (-near.score, -near.id)), len(ids) >= compared


def _scored(
    chunks: Vectors, query: Vectors, background: Vectors, compared: int, chance: float = CHANCE
) -> tuple[Vectors, npt.NDArray[np.bool_]]:
    """Of each chunk how near it is, beyond what it is to any text; and whether that is more than chance.

    `chunks` are the nearest of `compared`; where the background is too small to tell, all stand out, and
    none where less than `CHANCE` is allowed.
    """
    cosines = chunks @ query
    background = background[~np.triu(background @ background.T >= _LOOK_ALIKE, 1).any(axis=0)]
    if len(background) < _LEAST_BACKGROUND:
        return cosines, np.full(len(chunks), chance >= CHANCE)
    of_store, store_spread = _against(background, background)
    of_chunks, _ = _against(chunks, background)
    of_query = background @ query
    scores = cosines - of_chunks + of_store.mean()
    spread = np.sqrt((of_query.var(ddof=1) + store_spread.mean()) / 2)
    distances = (scores - of_query.mean()) / spread
    best_first = np.argsort(-distances)
    bounds = [NormalDist().inv_cdf(1 - chance * place / compared) for place in range(1, len(chunks) + 1)]
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


MAX_BYTES = 240_000_000
"""Bits and ids of one kind: four million vectors of 384 numbers."""
AT_ONCE_ROWS = 100_000
"""More rows than these (half a second) are loaded beside the questions, not in front of one."""

_READ_ROWS = 2_000
_STEP_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class _Rows:
    """``[0:size]`` of growing columns; what lies beyond is somebody else's."""

    size: int
    ids: Ids
    things: Ids
    signs: npt.NDArray[np.uint64]  # [words, capacity]


class SignIndex:
    """The bits of one model's vectors of one kind. Safe to share between threads.

    Belongs to one process: loaded when first asked, it follows the table by row id and holds the newest
    `MAX_BYTES` worth of things. A row that was deleted finds nothing, since its bytes are gone, and
    is dropped when that is noticed.
    """

    def __init__(self, kind: Kind, model: Model, max_bytes: int = MAX_BYTES) -> None:
        self.kind = kind
        self.model = model
        self._words = -(-model.dimension // 64)
        self._max_rows = max(1, max_bytes // (16 + 8 * self._words))
        self._rows = _Rows(0, _ids(0), _ids(0), np.empty((self._words, 0), np.uint64))
        self._last_id = 0
        self._gone: set[int] = set()
        self.floor = 0
        """Things with a smaller id are left out, because there are too many."""
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return self._rows.size

    def behind(self, connection: apsw.Connection) -> int:
        """How many rows the table has that are not here yet, at most."""
        return int(scalar(connection, "select coalesce(max(id), 0) from vectors") - self._last_id)

    def refresh(self, connection: apsw.Connection) -> None:
        """Take in what was stored since the last time."""
        with self._changing:
            if self._last_id == 0:
                self.floor = self._floor(connection)
            cursor = connection.execute(
                """
                select id, thing_id, vector from vectors
                where id > ? and +kind = ? and +model_id = ? and +thing_id >= ? order by id
                """,
                (self._last_id, self.kind, self.model.id, self.floor),
            )
            while found := list(islice(cursor, _READ_ROWS)):
                self._append(found)
            if self._rows.size > self._max_rows or len(self._gone) * 4 > self._rows.size:
                self._thin_out()

    def forget(self, ids: set[int]) -> None:
        """These rows turned out to be deleted."""
        with self._changing:
            self._gone |= ids

    def candidates(
        self, query: npt.NDArray[np.floating], low: int, high: int, count: int, among: Ids | None = None
    ) -> tuple[list[int], int]:
        """Row ids whose bits differ least from the query's, among things in ``[low, high)``.

        `among` (sorted thing ids) narrows them further. They are `count` or, where several are equally far,
        a few more, of as many as the second value says.
        """
        rows = self._rows
        bits = _signs(np.asarray(query, dtype=np.float32)[None, :], self._words)[:, 0]
        places: list[Ids] = []
        distances: list[npt.NDArray[np.uint16]] = []
        for start in range(0, rows.size, _STEP_ROWS):
            # In steps that fit the cache; what the range leaves out is not compared.
            here = slice(start, min(start + _STEP_ROWS, rows.size))
            place = _inside(rows.things[here], low, high, among)
            if place.size == 0:
                continue
            signs = rows.signs[:, here]
            distances.append(_distances(signs if place.size == signs.shape[1] else signs[:, place], bits))
            places.append(place + start)
        if not places:
            return [], 0
        inside = np.concatenate(places)
        found = _smallest(inside, np.concatenate(distances), count)
        return rows.ids[found].tolist(), len(inside)

    def sample(self, count: int) -> list[int]:
        """Row ids evenly over everything held, at most `count`."""
        rows = self._rows
        if rows.size <= count:
            return list(map(int, rows.ids[: rows.size]))
        return list(map(int, rows.ids[np.linspace(0, rows.size - 1, count).astype(np.int64)]))

    def _floor(self, connection: apsw.Connection) -> int:
        sql = "select thing_id from vectors where kind = ? order by thing_id desc limit 1 offset ?"
        found = scalar(connection, sql, (self.kind, self._max_rows))
        return 0 if found is None else int(found) + 1

    def _append(self, found: list[tuple[Any, ...]]) -> None:
        rows, size = self._rows, self._rows.size + len(found)
        ids, things, signs = rows.ids, rows.things, rows.signs
        if size > len(ids):
            # Readers keep the columns they have; these are new ones.
            room = max(size, len(ids) + len(ids) // 2, 1024)
            ids, things = _grown(ids, rows.size, room), _grown(things, rows.size, room)
            signs = np.empty((self._words, room), np.uint64)
            signs[:, : rows.size] = rows.signs[:, : rows.size]
        ids[rows.size : size] = [row[0] for row in found]
        things[rows.size : size] = [row[1] for row in found]
        packed = np.frombuffer(b"".join(row[2] for row in found), np.int8).reshape(len(found), -1)
        signs[:, rows.size : size] = _signs(packed, self._words)
        self._rows = _Rows(size, ids, things, signs)
        self._last_id = int(found[-1][0])

    def _thin_out(self) -> None:
        """Drop deleted rows, and the oldest things down to three quarters of the room."""
        rows = self._rows
        keep = np.ones(rows.size, bool)
        if self._gone:
            keep &= ~np.isin(rows.ids[: rows.size], np.fromiter(self._gone, np.int64))
            self._gone = set()
        things = rows.things[: rows.size]
        room = self._max_rows * 3 // 4
        if keep.sum() > self._max_rows:
            self.floor = int(np.partition(things[keep], -room)[-room])
            keep &= things >= self.floor
        self._rows = _Rows(
            int(keep.sum()),
            rows.ids[: rows.size][keep],
            things[keep],
            np.ascontiguousarray(rows.signs[:, : rows.size][:, keep]),
        )


_INDEXES: WeakKeyDictionary[Database, dict[str, SignIndex]] = WeakKeyDictionary()
_MAKING = threading.Lock()


def index_of(database: Database, kind: Kind, model: Model) -> SignIndex:
    """This process's index; one of another model is let go."""
    with _MAKING:
        of_kinds = _INDEXES.setdefault(database, {})
        found = of_kinds.get(kind)
        if found is None or found.model != model:
            found = of_kinds[kind] = SignIndex(kind, model, MAX_BYTES)
        return found


def is_ready(database: Database, connection: apsw.Connection, index: SignIndex) -> bool:
    """Whether the index holds everything stored; starts to load a large rest in a thread of its own."""
    behind = index.behind(connection)
    if behind <= AT_ONCE_ROWS:
        if behind > 0:
            index.refresh(connection)
        return True
    with _MAKING:
        name = f"vectors-{index.kind}"
        if not any(thread.name == name for thread in threading.enumerate()):
            threading.Thread(target=load_index, args=(database, index), name=name, daemon=True).start()
    return False


def load_index(database: Database, index: SignIndex) -> None:
    """Take in everything stored, however long it takes (about 3 s a million)."""
    try:
        with database.read() as connection:
            index.refresh(connection)
    finally:
        if threading.current_thread() is not threading.main_thread():
            database.close_thread()


def _signs(vectors: npt.NDArray[Any], words: int) -> npt.NDArray[np.uint64]:
    """``uint64[words, n]``: bit by bit whether a number is positive."""
    packed = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(vectors), 8 * words), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(whole.view(np.uint64).T)


def _distances(signs: npt.NDArray[np.uint64], bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint16]:
    found = np.zeros(signs.shape[1], np.uint16)
    for word, bit in zip(signs, bits, strict=True):
        found += np.bitwise_count(word ^ bit)
    return found


def _inside(things: Ids, low: int, high: int, among: Ids | None) -> Ids:
    """The places of things in ``[low, high)`` and, where it is given, in the sorted `among`."""
    places = np.flatnonzero((things >= low) & (things < high))
    if among is None or places.size == 0:
        return places
    if among.size == 0:
        return _ids(0)
    wanted = things[places]
    at = np.searchsorted(among, wanted)
    at[at == among.size] = 0
    found: Ids = places[among[at] == wanted]
    return found


def _smallest(places: Ids, distances: npt.NDArray[np.uint16], count: int) -> Ids:
    """The places with the smallest distances."""
    if places.size <= count:
        return places
    # Distances are small whole numbers: counting them is quicker than sorting.
    farthest = int(np.searchsorted(np.cumsum(np.bincount(distances)), count))
    chosen = np.flatnonzero(distances <= farthest)
    if chosen.size > 2 * count:
        chosen = chosen[np.argsort(distances[chosen], kind="stable")[:count]]
    return places[chosen]


def _ids(size: int) -> Ids:
    return np.empty(size, np.int64)


def _grown(column: Ids, size: int, room: int) -> Ids:
    grown = _ids(room)
    grown[:size] = column[:size]
    return grown
