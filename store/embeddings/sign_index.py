"""The signs of all vectors in memory, which choose the candidates of a nearest-neighbour search.

Of each vector one bit per number is held, whether it is positive: vectors whose bits differ in few places
lie close together (Charikar, "Similarity estimation techniques from rounding algorithms", 2002). All are
compared by half of their bits, one in sixty-four by all; of those that are left each sign counts as much as
the question's own number there, which tells about thrice as many neighbours apart. Ten million vectors of 384
numbers take 600 MB and load in 20 s.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, scalar
from store.embeddings.vectors import Kind, Model

MAX_BYTES = 600_000_000
"""Bits and ids of one kind: ten million vectors of 384 numbers."""
AT_ONCE_ROWS = 100_000
"""More rows than these (half a second) are loaded beside the questions, not in front of one."""

_READ_ROWS = 2_000
_BLOCK_ROWS = 65_536
"""A block's words fit the cache."""
_COARSE_WORDS = 3
_PASSING = 64
"""One in so many passes by its first 192 signs and is compared by all of them."""
_PASSING_LEAST = 16
_WEIGHED = 4
"""So many times those that are wanted are weighed (`docs/scale.md`)."""
_SAMPLED = 16

EVERY_ID = 2**62
Ids = npt.NDArray[np.int64]
Places = slice | Ids
_NOWHERE: Ids = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Block:
    """Columns of which ``[0:size]`` are filled; what lies beyond is somebody else's."""

    size: int
    lowest: int
    highest: int
    """No thing is outside ``[lowest, highest]``."""
    rows: npt.NDArray[np.uint32]
    things: Ids
    coarse: npt.NDArray[np.uint64]  # [_COARSE_WORDS, capacity]: all of a word are compared
    rest: npt.NDArray[np.uint64]  # [capacity, words]: few rows are

    def inside(self, low: int, high: int, among: Ids | None) -> Places:
        """The places of things in ``[low, high)`` and, where it is given, in the sorted `among`."""
        if self.highest < low or high <= self.lowest:
            return _NOWHERE
        if among is None and low <= self.lowest and self.highest < high:
            return slice(0, self.size)
        things = self.things[: self.size]
        places = np.flatnonzero((things >= low) & (things < high))
        if among is None:
            return places
        wanted = among[slice(*among.searchsorted((self.lowest, self.highest + 1)))]
        if not wanted.size:
            return _NOWHERE
        # Few of a block are wanted: `isin` would sort all the others.
        nearest = wanted.take(wanted.searchsorted(things[places]), mode="clip")
        return places[np.flatnonzero(nearest == things[places])]

    def first_distances(self, places: Places, bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
        """How many of the first `_COARSE_WORDS` words' signs differ from `bits`."""
        differing = (
            np.bitwise_count(word ^ bit) for word, bit in zip(self.coarse[:, places], bits, strict=False)
        )
        return reduce(np.add, differing)

    def distances(
        self, places: Places, bits: npt.NDArray[np.uint64], first: npt.NDArray[np.uint8]
    ) -> npt.NDArray[np.uint16]:
        """How many of all signs differ."""
        # `take` is thrice as quick as an index of rows.
        rest = self.rest[places] if isinstance(places, slice) else self.rest.take(places, axis=0)
        found = first.astype(np.uint16)
        for word, bit in zip(rest.T, bits[_COARSE_WORDS:], strict=True):
            found += np.bitwise_count(word ^ bit)
        return found

    def sums(self, places: Ids, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Of each row the sum of the query's numbers where its sign is positive: it grows with the product of
        the query and the signs.
        """
        signs = np.concatenate([self.coarse[:, places].T, self.rest[places]], axis=1)
        return np.unpackbits(signs.view(np.uint8), axis=1, count=len(query)) @ query

    def kept(self, keep: npt.NDArray[np.bool_]) -> _Block:
        """Only the rows that `keep` says, without room for more."""
        filled = slice(0, self.size)
        return _Block(
            int(keep.sum()),
            self.lowest,
            self.highest,
            self.rows[filled][keep],
            self.things[filled][keep],
            np.ascontiguousarray(self.coarse[:, filled][:, keep]),
            self.rest[filled][keep],
        )


class SignIndex:
    """The bits of one model's vectors of one kind. Safe to share between threads.

    Belongs to one process: loaded when first asked, it follows the table by row id and holds the newest
    `MAX_BYTES` worth of things. A row that was deleted finds nothing, since its bytes are gone, and
    is dropped when that is noticed.
    """

    def __init__(self, kind: Kind, model: Model, max_bytes: int = MAX_BYTES) -> None:
        self.kind = kind
        self.model = model
        self._words = max(_COARSE_WORDS, -(-model.dimension // 64))
        self._max_rows = max(1, max_bytes // (4 + 8 + 8 * self._words))
        self._blocks: tuple[_Block, ...] = ()
        self._last_id = 0
        self._gone: set[int] = set()
        self.floor = 0
        """Things with a smaller id are left out, because there are too many."""
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return sum(block.size for block in self._blocks)

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
            if len(self) > self._max_rows or len(self._gone) * 4 > len(self):
                self._thin_out()

    def forget(self, ids: set[int]) -> None:
        """These rows turned out to be deleted."""
        with self._changing:
            self._gone |= ids

    def candidates(
        self, query: npt.NDArray[np.floating], low: int, high: int, count: int, among: Ids | None = None
    ) -> tuple[list[int], int]:
        """Row ids of those nearest to the query as far as signs tell, among things in ``[low, high)``.

        `among` (sorted thing ids) narrows them further. They are at most `count`, of as many as the second
        value says.
        """
        asked = np.asarray(query, dtype=np.float32)
        [bits] = _signs(asked[None, :], self._words)
        asked_of = [(block, block.inside(low, high, among)) for block in self._blocks]
        inside = [(block, places, block.first_distances(places, bits)) for block, places in asked_of]
        compared = sum(distances.size for *_, distances in inside)
        if not compared:
            return [], 0
        if compared > _PASSING_LEAST * count:
            inside = _passing(inside, max(_PASSING_LEAST * count, compared // _PASSING))
        distances = [block.distances(places, bits, first) for block, places, first in inside]
        chosen = np.sort(_smallest(np.concatenate(distances), _WEIGHED * count))
        weighed = [
            (block.rows[places], block.sums(places, asked)) for block, places in _places_of(inside, chosen)
        ]
        ids, sums = (np.concatenate(each) for each in zip(*weighed, strict=True))
        return ids[np.argsort(-sums)[:count]].tolist(), compared

    def sample(self, count: int) -> list[int]:
        """Row ids evenly over everything held, at most `count`."""
        whole: list[_Near] = [
            (block, slice(0, block.size), block.rows[: block.size]) for block in self._blocks
        ]
        size = sum(held.size for *_, held in whole)
        if not size:
            return []
        places = np.linspace(0, size - 1, min(count, size)).astype(np.int64)
        return [row for block, at in _places_of(whole, places) for row in block.rows[at].tolist()]

    def _floor(self, connection: apsw.Connection) -> int:
        sql = "select thing_id from vectors where kind = ? order by thing_id desc limit 1 offset ?"
        found = scalar(connection, sql, (self.kind, self._max_rows))
        return 0 if found is None else int(found) + 1

    def _append(self, found: list[tuple[Any, ...]]) -> None:
        blocks = self._blocks
        if not blocks or blocks[-1].size + len(found) > len(blocks[-1].rows):
            blocks = (*blocks, self._empty_block())
        *full, last = blocks
        here = slice(last.size, last.size + len(found))
        last.rows[here] = [row[0] for row in found]
        last.things[here] = things = [row[1] for row in found]
        packed = np.frombuffer(b"".join(row[2] for row in found), np.int8).reshape(len(found), -1)
        signs = _signs(packed, self._words)
        last.coarse[:, here], last.rest[here] = signs[:, :_COARSE_WORDS].T, signs[:, _COARSE_WORDS:]
        lowest, highest = min(last.lowest, *things), max(last.highest, *things)
        self._blocks = (*full, replace(last, size=here.stop, lowest=lowest, highest=highest))
        self._last_id = int(found[-1][0])

    def _empty_block(self) -> _Block:
        return _Block(
            0,
            EVERY_ID,
            -1,
            np.empty(_BLOCK_ROWS, np.uint32),
            np.empty(_BLOCK_ROWS, np.int64),
            np.empty((_COARSE_WORDS, _BLOCK_ROWS), np.uint64),
            np.empty((_BLOCK_ROWS, self._words - _COARSE_WORDS), np.uint64),
        )

    def _thin_out(self) -> None:
        """Drop deleted rows, and the oldest things down to three quarters of the room."""
        gone, self._gone = np.fromiter(self._gone, np.int64), set()
        if gone.size:
            self._keep(lambda block: ~np.isin(block.rows[: block.size], gone))
        if len(self) > self._max_rows:
            room = self._max_rows * 3 // 4
            things = np.concatenate([block.things[: block.size] for block in self._blocks])
            self.floor = int(np.partition(things, -room)[-room])
            self._keep(lambda block: block.things[: block.size] >= self.floor)

    def _keep(self, which: Callable[[_Block], npt.NDArray[np.bool_]]) -> None:
        kept = (block.kept(which(block)) for block in self._blocks)
        self._blocks = tuple(block for block in kept if block.size)


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


_Near = tuple[_Block, Places, npt.NDArray[Any]]
"""Places of a block, and how many of their first signs differ."""


def _places_of(inside: list[_Near], chosen: Ids) -> Iterator[tuple[_Block, Ids]]:
    """In each block the places that some of all have, which are counted through from the first block on."""
    ends = np.cumsum([first.size for *_, first in inside])
    of_blocks = np.split(chosen, chosen.searchsorted(ends[:-1]))
    for (block, places, first), end, own in zip(inside, ends, of_blocks, strict=True):
        at = own - (end - first.size)
        yield block, at if isinstance(places, slice) else places[at]


def _passing(inside: list[_Near], count: int) -> list[_Near]:
    """About `count` of these whose first bits differ least, and those equally far."""
    sampled = np.concatenate([distances[::_SAMPLED] for *_, distances in inside])
    farthest = np.searchsorted(np.cumsum(np.bincount(sampled)), count // _SAMPLED)
    passing = [np.flatnonzero(distances <= farthest) for *_, distances in inside]
    return [
        (block, at if isinstance(places, slice) else places[at], distances[at])
        for (block, places, distances), at in zip(inside, passing, strict=True)
    ]


def _smallest(distances: npt.NDArray[Any], count: int) -> Ids:
    """The places of the `count` smallest, or of a few more where they are equal."""
    # Small whole numbers: counting them is quicker than sorting.
    farthest = np.searchsorted(np.cumsum(np.bincount(distances)), count)
    chosen = np.flatnonzero(distances <= farthest)
    if chosen.size > 2 * count:
        chosen = chosen[np.argsort(distances[chosen], kind="stable")[:count]]
    return chosen


def _signs(vectors: npt.NDArray[Any], words: int) -> npt.NDArray[np.uint64]:
    """``uint64[n, words]``: bit by bit whether a number is positive."""
    packed = np.packbits(vectors > 0, axis=1)
    whole = np.zeros((len(vectors), 8 * words), np.uint8)
    whole[:, : packed.shape[1]] = packed
    return whole.view(np.uint64)
