"""Two bits for each of 128 numbers of all vectors in memory (`store.embeddings.coding`) choose candidates.

All are compared by their first bits, one in sixty-four by both. Ten million vectors take 380 MB, whatever
their dimension, and load in a minute.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_left
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import apsw
import numpy as np
import numpy.typing as npt

from store.core.allocator import trim_freed_memory
from store.core.database import Database, column, rows, scalar
from store.embeddings.coding import NUMBERS, Coding, Words, learn, nearness, packed
from store.embeddings.vectors import Kind, Model

MAX_BYTES = 380_000_000
"""Bits and ids of one kind: ten million vectors."""
_GROUPED = {"frame": 20}
"""So many bits are left off the ids of things: frames of one second are told apart where vectors are read."""
AT_ONCE_ROWS = 100_000
"""More rows than these (half a second) are loaded beside the questions, not in front of one."""

_READ_ROWS = 2_000
_BLOCK_ROWS = 66_000
"""A block's words fit the cache. They take just over a megabyte, which the C library maps: among what a
program needs for a moment they would keep its pages."""
_BLOCK_IDS = 1 << 16
_PASSING = 64
"""One in so many passes by its first bits and is compared by both (`docs/scale.md`)."""
_PASSING_LEAST = 16
_SAMPLED = 100_000
"""So many tell how far the first bits of those that pass may differ, within seven of a hundred."""
_RUN = 8
_LEARNT_FROM = 8_192
_GROWN = 4
"""A coding learnt from fewer is learnt anew when there are so many times as many."""

EVERY_ID = 2**62
Ids = npt.NDArray[np.int64]
Places = slice | Ids
_NOWHERE: Ids = np.empty(0, np.int64)


class Candidates(NamedTuple):
    """Row ids of the nearest of so many `compared`, best first, and how near each is, where bits tell."""

    ids: list[int]
    nearness: npt.NDArray[np.float32] | None
    compared: int


@dataclass(frozen=True, slots=True)
class _Block:
    """Columns of which ``[0:size]`` are filled; what lies beyond is somebody else's."""

    coding: Coding
    size: int
    lowest: int
    highest: int
    """No thing is outside ``[lowest, highest]``."""
    first: int
    rows: npt.NDArray[np.uint16]  # ids of rows, beyond that of the first
    things: npt.NDArray[np.uint32]  # as `_GROUPED`
    higher: Words  # [words, capacity]: all of a word are compared
    lower: Words  # [capacity, words]: few rows are

    def room(self, found: list[tuple[Any, ...]]) -> int:
        """How many of these rows, in the order of ids, go into it."""
        within = bisect_left(found, self.first + _BLOCK_IDS, key=itemgetter(0))
        return min(within, len(self.rows) - self.size)

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

    def passing(self, places: Places, bits: Words, farthest: int) -> Ids:
        """The places of which at most so many of the higher bits differ."""
        at = np.flatnonzero(_distances(self.higher_at(places), bits) <= farthest)
        return at if isinstance(places, slice) else places[at]

    def higher_at(self, places: Places) -> Words:
        """``uint64[words, n]``."""
        # `take` copies rows as they are: an index goes number by number, which takes three times as long.
        return self.higher[:, places] if isinstance(places, slice) else self.higher.take(places, axis=1)

    def lower_at(self, places: Places) -> Words:
        """The same of the lower bits."""
        return (self.lower[places] if isinstance(places, slice) else self.lower.take(places, axis=0)).T

    def rows_at(self, places: Places) -> Ids:
        """Their ids."""
        return self.rows[places].astype(np.int64) + self.first

    def kept(self, keep: npt.NDArray[np.bool_]) -> _Block:
        """Only the rows that `keep` says, without room for more."""
        filled = slice(0, self.size)
        return _Block(
            self.coding,
            int(keep.sum()),
            self.lowest,
            self.highest,
            self.first,
            self.rows[filled][keep],
            self.things[filled][keep],
            np.ascontiguousarray(self.higher[:, filled][:, keep]),
            self.lower[filled][keep],
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
        self._words = -(-min(model.dimension, NUMBERS) // 64)
        self._left_off = _GROUPED.get(kind, 0)
        self._max_rows = max(1, max_bytes // (2 + 4 + 16 * self._words))
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
            blocks, last_id = self._taken_in(connection, self._blocks, self._last_id)
            size = sum(block.size for block in blocks)
            if blocks and size > _GROWN * blocks[0].coding.learnt_from < _GROWN * _LEARNT_FROM:
                blocks, last_id = self._taken_in(connection, (), 0)
            self._blocks, self._last_id = blocks, last_id
            if len(self) > self._max_rows or len(self._gone) * 4 > len(self):
                self._thin_out()

    def forget(self, ids: set[int]) -> None:
        """These rows turned out to be deleted."""
        with self._changing:
            self._gone |= ids

    def candidates(
        self, query: npt.NDArray[np.floating], low: int, high: int, count: int, among: Ids | None = None
    ) -> Candidates:
        """Those nearest to the query as far as signs tell, at most `count` of them, among things in
        ``[low, high)`` and those that are `_GROUPED` with one; `among` (sorted ids) narrows them further.
        """
        blocks = self._blocks
        if not blocks:
            return Candidates([], np.empty(0, np.float32), 0)
        low, high = low >> self._left_off, ((high - 1) >> self._left_off) + 1
        among = None if among is None else among >> self._left_off
        turned = np.asarray(query, np.float32) @ blocks[0].coding.turn
        [bits] = packed(turned[None, :] > 0)
        inside = [(block, block.inside(low, high, among)) for block in blocks]
        compared = sum(_sizes(inside))
        farthest = NUMBERS
        if compared > _PASSING_LEAST * count:
            farthest = _farthest(inside, bits, max(_PASSING_LEAST * count / compared, 1 / _PASSING))
        halves = _in_halves(inside, lambda held: _passing(held, turned, bits, farthest))
        inside = [each for held, _ in halves for each in held]
        near = np.concatenate([nearness for _, nearness in halves])
        chosen = np.arange(near.size)
        if near.size > count:
            chosen = np.sort(np.argpartition(-near, count)[:count])
        # The rows of those alone: each lies in a line of memory of its own.
        found = _places_of(inside, chosen)
        row_ids = np.concatenate([block.rows_at(places) for block, places in found])
        best_first = np.argsort(-near[chosen])
        return Candidates(row_ids[best_first].tolist(), near[chosen][best_first], compared)

    def sample(self, count: int) -> list[int]:
        """Row ids evenly over everything held, at most `count`."""
        whole: list[_Held] = [(block, slice(0, block.size)) for block in self._blocks]
        size = sum(_sizes(whole))
        if not size:
            return []
        places = np.linspace(0, size - 1, min(count, size)).astype(np.int64)
        return [row for block, at in _places_of(whole, places) for row in block.rows_at(at).tolist()]

    def _floor(self, connection: apsw.Connection) -> int:
        sql = "select thing_id from vectors where kind = ? order by thing_id desc limit 1 offset ?"
        found = scalar(connection, sql, (self.kind, self._max_rows))
        return 0 if found is None else int(found) + 1

    def _taken_in(
        self, connection: apsw.Connection, blocks: tuple[_Block, ...], last_id: int
    ) -> tuple[tuple[_Block, ...], int]:
        """These blocks with what was stored after a row, and the last row; anew where there are none."""
        cursor = connection.execute(
            """
            select id, thing_id, vector from vectors
            where id > ? and +kind = ? and +model_id = ? and +thing_id >= ? order by id
            """,
            (last_id, self.kind, self.model.id, self.floor),
        )
        while found := list(islice(cursor, _READ_ROWS)):
            last_id = int(found[-1][0])
            while found:
                if not blocks or not (room := blocks[-1].room(found)):
                    coding = blocks[0].coding if blocks else self._learnt(connection)
                    blocks = (*blocks, self._empty_block(coding, found[0][0]))
                    continue
                blocks = (*blocks[:-1], _filled(blocks[-1], found[:room], self._left_off))
                found = found[room:]
        return blocks, last_id

    def _learnt(self, connection: apsw.Connection) -> Coding:
        """How to code what is stored, from an even sample of it."""
        of = {"kind": self.kind, "model": self.model.id, "low": self.floor, "most": _LEARNT_FROM}
        number = int(scalar(connection, _COUNTED, of))
        first, last = rows(connection, _ENDS, of)[0]
        evenly = np.linspace(first, last, _LEARNT_FROM).astype(np.int64).tolist()
        sql, more = (_EVENLY, {"evenly": json.dumps(evenly)}) if number == _LEARNT_FROM else (_ALL, {})
        found = b"".join(column(connection, sql, of | more))
        return learn(np.frombuffer(found, np.int8).reshape(-1, self.model.dimension), number)

    def _empty_block(self, coding: Coding, first: int) -> _Block:
        return _Block(
            coding,
            0,
            EVERY_ID,
            -1,
            first,
            np.empty(_BLOCK_ROWS, np.uint16),
            np.empty(_BLOCK_ROWS, np.uint32),
            np.empty((self._words, _BLOCK_ROWS), np.uint64),
            np.empty((_BLOCK_ROWS, self._words), np.uint64),
        )

    def _thin_out(self) -> None:
        """Drop deleted rows, and the oldest things down to three quarters of the room."""
        gone, self._gone = np.fromiter(self._gone, np.int64), set()
        if gone.size:
            self._keep(lambda block: ~np.isin(block.rows_at(slice(0, block.size)), gone))
        if len(self) > self._max_rows:
            room = self._max_rows * 3 // 4
            things = np.concatenate([block.things[: block.size] for block in self._blocks])
            first = int(np.partition(things, -room)[-room])
            self.floor = first << self._left_off
            self._keep(lambda block: block.things[: block.size] >= first)

    def _keep(self, which: Callable[[_Block], npt.NDArray[np.bool_]]) -> None:
        kept = (block.kept(which(block)) for block in self._blocks)
        self._blocks = tuple(block for block in kept if block.size)


_OF_KIND = "from vectors where kind = :kind and model_id = :model and thing_id >= :low"
_COUNTED = f"select count(*) from (select 1 {_OF_KIND} limit :most)"
_ENDS = "select min(thing_id), max(thing_id) from vectors where kind = :kind and thing_id >= :low"
_ALL = f"select vector {_OF_KIND}"
_EVENLY = """
select vector from vectors where model_id = :model and id in (
    select (select id from vectors where kind = :kind and thing_id >= e.value order by thing_id limit 1)
    from json_each(:evenly) e
)
"""


def _filled(block: _Block, found: list[tuple[Any, ...]], left_off: int) -> _Block:
    """With these rows, for which it has room."""
    here = slice(block.size, block.size + len(found))
    block.rows[here] = [row[0] - block.first for row in found]
    block.things[here] = things = [row[1] >> left_off for row in found]
    made = np.frombuffer(b"".join(row[2] for row in found), np.int8).reshape(len(found), -1)
    higher, block.lower[here] = block.coding.bits(made)
    block.higher[:, here] = higher.T
    return replace(
        block, size=here.stop, lowest=min(block.lowest, *things), highest=max(block.highest, *things)
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
        trim_freed_memory()  # of what was read and turned, between blocks that stay
    finally:
        if threading.current_thread() is not threading.main_thread():
            database.close_thread()


_Held = tuple[_Block, Places]


def _sizes(inside: list[_Held]) -> list[int]:
    return [block.size if isinstance(places, slice) else places.size for block, places in inside]


_Compared = tuple[list[_Held], npt.NDArray[np.float32]]


def _passing(held: list[_Held], turned: npt.NDArray[np.float32], bits: Words, farthest: int) -> _Compared:
    """The places of which at most so many of the higher bits differ, and how near each is by both."""
    if farthest < NUMBERS:
        held = [(block, block.passing(places, bits, farthest)) for block, places in held]
    higher = np.concatenate([block.higher_at(places) for block, places in held], axis=1)
    lower = np.concatenate([block.lower_at(places) for block, places in held], axis=1)
    return held, nearness(turned, higher, lower)


def _in_halves(inside: list[_Held], compared: Callable[[list[_Held]], _Compared]) -> list[_Compared]:
    """What is compared of the blocks, which two threads share, as numpy lets them."""
    middle = len(inside) // 2
    if not middle:
        return [compared(inside)]
    with ThreadPoolExecutor(1, "vectors-half") as beside:
        first = beside.submit(compared, inside[:middle])
        second = compared(inside[middle:])
        return [first.result(), second]


def _places_of(inside: list[_Held], chosen: Ids) -> Iterator[_Held]:
    """In each block the places that some of all have, which are counted through from the first block on."""
    sizes = _sizes(inside)
    ends = np.cumsum(sizes)
    of_blocks = np.split(chosen, chosen.searchsorted(ends[:-1]))
    for (block, places), end, size, own in zip(inside, ends, sizes, of_blocks, strict=True):
        at = own - (end - size)
        yield block, at if isinstance(places, slice) else places[at]


def _distances(higher: Words, bits: Words) -> npt.NDArray[np.uint8]:
    """In how many bits each column differs from `bits`."""
    return reduce(np.add, (np.bitwise_count(word ^ bit) for word, bit in zip(higher, bits, strict=True)))


def _sampled(block: _Block, places: Places, step: int) -> Words:
    """The higher bits at one in `step` of these places; in a whole block by runs of one line of memory."""
    if not isinstance(places, slice):
        return block.higher_at(places[::step])
    words, whole = len(block.higher), block.size // _RUN * _RUN
    return block.higher[:, :whole].reshape(words, -1, _RUN)[:, ::step].reshape(words, -1)


def _farthest(inside: list[_Held], bits: Words, share: float) -> int:
    """How many of the first bits differ in about this share of all that are inside."""
    step = max(1, sum(_sizes(inside)) // _SAMPLED)
    some = np.concatenate([_sampled(block, places, step) for block, places in inside], axis=1)
    sampled = _distances(some, bits)
    return int(np.searchsorted(np.cumsum(np.bincount(sampled)), share * sampled.size))
