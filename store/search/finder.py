"""The SQL of a search: ids of the matching frames, counted, by time and by relevance."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import apsw

from store.core import full_text, tokenizer
from store.core.database import column, rows
from store.core.full_text import Condition, Phrase, Statistics, matched_phrases, plain_words
from store.core.times import MAX_EPOCH_SECONDS, to_ms
from store.frames import frames, text_index
from store.search.filters import Filters, Walk, where
from store.search.query import Query

RANKED_BLOCK = 1_000
"""Matches that are put in order of relevance together: 3 to 20 ms, mostly for the scores."""

LATE_BLOCK = 100
"""Matches that are ranked together once that takes long: a fixed number, so that pages by offset agree."""

FEW_FRAMES = 256
"""Where a filter by name leaves no more, they are looked up one by one: 0.04 to 0.2 ms for each word."""

ENOUGH_S = 0.015
"""Processor time from the first match on after which a page will do: of words that are frequent and rarely
together, the thousand newest and a total would take a hundred times as long among ten million frames."""

_HALF_LIFE_IDS = full_text.RECENT_HALF_LIFE_MS * frames.ID_STEP
_LATEST_MS = to_ms(MAX_EPOCH_SECONDS)


@dataclass(frozen=True, slots=True)
class Block:
    """A range of ids ``[low, high)`` whose matches are ranked together."""

    low: int
    high: int


class Ranked(NamedTuple):
    """A match and its place: higher scores first, the newer of two equal ones first."""

    score: float
    id: int
    block: Block


class Finder:
    """Answers one question inside one read; every statement has the same ``where``."""

    def __init__(self, connection: apsw.Connection, asked: Query, filters: Filters, end_ms: int) -> None:
        self._connection = connection
        self._asked = asked
        start_ms = min(max(filters.start_ms, 0), _LATEST_MS)
        self.range = Block(*frames.id_range(start_ms, min(max(end_ms, 0), _LATEST_MS)))
        """The ids that the time of the filters allows."""
        on_frame = where(connection, filters)
        self._newest = self.range.high
        self.is_cut = False
        """Whether there may be more than was counted, or ranked together, because that took too long."""
        self._few: list[int] | None = None
        self.is_narrowed = bool(on_frame.conditions)
        """Whether more than the time decides which frames match."""
        if on_frame.is_empty:
            self.range = Block(self.range.low, self.range.low)
        elif on_frame.walk and asked.tree is not None:
            self._few = self._few_with(plain_words(asked.tree), on_frame.walk)
            self.range = self._span(on_frame.walk)
        conditions = self._of_frame = list(on_frame.conditions)
        self._parameters: dict[str, Any] = dict(on_frame.parameters)
        self._walk: Walk | None = None
        if asked.tree is None:
            self._id, self._source = "f.id", "frames f"
            if on_frame.walk and len(on_frame.walk.names) > 1:
                self._walk = on_frame.walk
                self._parameters["walk"] = json.dumps(self._walk.names)
        else:
            self._id, self._source = "frames_fts.rowid", "frames_fts"
            if conditions:
                # "cross join" has SQLite walk the full-text index first, in the order of ids.
                self._source += " cross join frames f on f.id = frames_fts.rowid"
            besides = Condition(asked.tree)
            conditions = ["frames_fts match :match", *conditions, *besides.conditions]
            also = on_frame.match if self._few is None else None
            narrowed = f"({asked.match}) AND {also}" if also else asked.match
            self._parameters |= {"match": narrowed, **besides.parameters}
        self._seen = (0, self.range)
        self._known = (Block(self.range.high, self.range.high), frozenset[int]())
        self._where = " and ".join([f"{self._id} >= :low and {self._id} < :high", *conditions])
        self._matches = f"{self._source} where {self._where}"
        self._order = self._id
        if self._few is not None:
            self._parameters["few"] = json.dumps(sorted(self._few, reverse=True))
            self._matches = f"json_each(:few) few cross join {self._matches} and {self._id} = few.value"
            # Asked for an order of its own, FTS5 would walk down to each of the few from the newest.
            self._order = "few.value"

    def count(self, at_most: int) -> int:
        """How many frames match, counted no further than `at_most`, nor for longer than `ENOUGH_S` allows.

        Quicker after the first page was found, which has seen some or all of them.
        """
        seen, rest = self._seen
        if rest.low >= rest.high or seen >= at_most:
            return min(seen, at_most)
        matches = self._matches
        if self._walk:
            matches = (
                f"json_each(:walk) n cross join frames f on f.{self._walk.column} = n.value"
                f" where {self._where}"
            )
        sql = f"select 1 from {matches} limit :limit"
        return seen + len(self._until_enough(sql, rest, 0, at_most - seen)[0])

    def _until_enough(
        self, sql: str, block: Block, enough: int, limit: int, **values: Any
    ) -> tuple[list[Any], bool]:
        """Rows of a statement, `enough` of them at least, and `limit` at most; and whether it was late."""
        found: list[Any] = []
        # What was late once is known to be no exact number any more.
        allowed_s = ENOUGH_S / 3 if self.is_cut else ENOUGH_S
        cursor = self._connection.execute(sql, self._bound(block, limit=limit, **values))
        # To go to where a range ends takes its time, too, and has to be.
        late_at = time.monotonic() + allowed_s, time.thread_time() + allowed_s
        for row in cursor:
            found.append(row)
            if len(found) >= enough and _is_late(*late_at):
                is_cut = len(found) != limit
                self.is_cut |= is_cut
                cursor.close()
                return found, is_cut
        return found, False

    def by_time(self, limit: int, offset: int, after: int | None, *, newest_first: bool) -> list[int]:
        """Ids in the order of time, beyond the id `after`."""
        block = self.range
        if block.low >= block.high:  # to go there takes FTS5 long where a word is frequent
            return []
        if after is not None:
            block = Block(block.low, after) if newest_first else Block(after + 1, block.high)
        direction = "desc" if newest_first else "asc"
        matches, order = self._matches, f"order by {self._order} {direction}"
        if self._walk:
            # The ends of every name's own list, merged: a rare name is not looked for among all.
            matches = (
                "json_each(:walk) n cross join frames f where f.id in ("
                f" select f.id from frames f where f.{self._walk.column} = n.value and {self._where}"
                f" {order} limit :limit + :offset)"
            )
        sql = f"select {self._id} from {matches} {order} limit :limit offset :offset"
        bound = self._bound(block, limit=limit, offset=offset)
        found = column(self._connection, sql, bound)
        if after is None and len(found) < limit and (found or not offset):
            self._seen = (offset + len(found), Block(0, 0))
        return found

    def among(self, ids: Iterable[int]) -> set[int]:
        """Which of these frames match. What was ranked before needs no look-up."""
        block, known = self._known
        asked = set(ids) if self._few is None else set(ids).intersection(self._few)
        low, high = self.range.low, self.range.high
        unknown = [each for each in asked if low <= each < high and not block.low <= each < block.high]
        number, source, condition = self._id, self._source, self._where
        if unknown and (tree := self._asked.tree) is not None and (words := plain_words(tree)):
            unknown = self._with_each(unknown, words)
            if full_text.is_exact(tree):
                number, source, condition = "f.id", "frames f", " and ".join(self._of_frame) or "true"
        if not unknown:
            return asked & known
        sql = (
            f"select {number} from json_each(:given) given cross join {source}"
            f" where {condition} and {number} = given.value"
        )
        bound = self._bound(self.range, given=json.dumps(unknown))
        return (asked & known) | {found for (found,) in self._connection.execute(sql, bound)}

    @property
    def phrase_count(self) -> int:
        """How many weights a score takes."""
        return sum(1 for _ in matched_phrases(self._asked.tree)) if self._asked.tree else 0

    def statistics(self) -> Statistics:
        """What scores are made with, as the index is now."""
        tree = self._asked.tree
        return Statistics(1.0, ()) if tree is None else full_text.statistics(self._connection, tree)

    def by_relevance(
        self, limit: int, offset: int, after: Ranked | None, statistics: Statistics
    ) -> list[Ranked]:
        """Matches in the order of relevance within blocks, the block of the newest first."""
        if not statistics.weights or self.range.low >= self.range.high:
            self._seen = (0, Block(self.range.low, self.range.low))  # the words are together nowhere
            self._known = (self.range, frozenset())
            return []
        block, ranked = self._ranked(after.block if after else None, self.range.high, statistics)
        self._known = (block, frozenset(frame_id for _, frame_id in ranked))
        if after is None:
            self._seen = (len(ranked), Block(self.range.low, block.low))
        else:
            ranked = [each for each in ranked if each < after[:2]]
        found = [Ranked(*each, block) for each in ranked[offset : offset + limit]]
        while len(found) < limit and block.low > self.range.low:
            offset = max(0, offset - len(ranked))
            block, ranked = self._ranked(None, block.low, statistics)
            found += [Ranked(*each, block) for each in ranked[offset : offset + limit - len(found)]]
        return found

    def _ranked(
        self, settled: Block | None, high: int, statistics: Statistics
    ) -> tuple[Block, list[tuple[float, int]]]:
        """(score, id) of a settled block, or of as many below `high` as make one, best first."""
        order = f"order by {self._order} desc" if self._few is None else ""  # which are in this order
        weights = {f"w{number}": weight for number, weight in enumerate(statistics.weights)}
        sql = f"""
            select recollect_score(
                    frames_fts, :newest, :half_life, :average,
                    {", ".join(f":{name}" for name in weights)}
                ), {self._id}
            from {self._matches} {order} limit :limit
        """
        values = {
            "newest": self._newest,
            "half_life": _HALF_LIFE_IDS,
            "average": statistics.average,
            **weights,
        }
        if settled:  # a frame may come in late: it is read whole, though it has grown
            whole: list[Any] = rows(self._connection, sql, self._bound(settled, limit=-1, **values))
            return settled, sorted(whole, reverse=True)
        block = Block(self.range.low, high)
        most = LATE_BLOCK if self.is_cut else RANKED_BLOCK  # what was late once goes on in small blocks
        found, is_cut = self._until_enough(sql, block, LATE_BLOCK, most + 1, **values)
        if is_cut:
            most = LATE_BLOCK
        if is_cut or len(found) > most:
            del found[most:]
            block = Block(found[-1][1], high)
        return block, sorted(found, reverse=True)

    def _few_with(self, words: tuple[Phrase, ...], walk: Walk) -> list[int] | None:
        """The frames of these names that have all the words; None when there are many to look up."""
        if not words:
            return None
        sql = f"""
            select f.id from json_each(:names) n
            cross join frames f on f.{walk.column} = n.value and f.id >= :low and f.id < :high
            limit :limit
            """
        # One word is looked for in the newest first, and not for longer than allowed.
        most = FEW_FRAMES * 4 if len(words) == 1 else FEW_FRAMES
        bound = {"low": self.range.low, "high": self.range.high, "limit": most + 1}
        few = column(self._connection, sql, {"names": json.dumps(walk.names), **bound})
        if len(few) > most:
            return None
        return few if len(words) == 1 else self._with_each(few, words)

    def _with_each(self, few: list[int], words: tuple[Phrase, ...]) -> list[int]:
        """Those of few frames that have each of some words, by their texts: FTS5 would look each frame up in
        every segment of each word, 0.1 to 0.7 ms; and asked for all words at once it goes on from a frame
        without them to the next one that has them all, however far.
        """
        sql = f"""
            select t.id, {" || char(10) || ".join(f"t.{name}" for name in text_index.COLUMNS)}
            from json_each(?) few cross join frame_texts t on t.id = few.value
            """
        wanted = [word.tokens[0] for word in words]
        texts = self._connection.execute(sql, (json.dumps(few),))
        return [number for number, text in texts if tokenizer.has_each(text, wanted)]

    def _span(self, walk: Walk) -> Block:
        """The part of the range from the oldest to the newest frame of these names."""
        oldest, newest = self._connection.execute(
            f"""
            select min(f.id), max(g.id) from json_each(:names) n
            left join frames f on f.id = (
                select min(id) from frames
                where {walk.column} = n.value and id >= :low and id < :high
            )
            left join frames g on g.id = (
                select max(id) from frames
                where {walk.column} = n.value and id >= :low and id < :high
            )
            """,
            {"names": json.dumps(walk.names), "low": self.range.low, "high": self.range.high},
        ).fetchone() or (None, None)
        if oldest is None or newest is None:
            return Block(self.range.low, self.range.low)
        return Block(cast(int, oldest), cast(int, newest) + 1)

    def _bound(self, block: Block, **values: Any) -> dict[str, Any]:
        return {**self._parameters, "low": block.low, "high": block.high, **values}


def _is_late(wall_s: float, processor_s: float) -> bool:
    """By the processor, so that a busy machine changes no answer; asking for that time takes longer."""
    return time.monotonic() > wall_s and time.thread_time() > processor_s
