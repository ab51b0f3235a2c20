"""Search expressions: what a query means, as FTS5 text and as an SQL condition.

FTS5 can say almost everything here. It cannot say that a word's signs belong to it (C++, C#), and
its parser overflows on deep nesting. So `match` finds at least the right rows, and `Condition`
rejects the wrong ones among them in the same ``where``.

`Statistics` and what follows put hits in order: BM25 (Robertson and Zaragoza, "The Probabilistic Relevance
Framework", 2009), words side by side, and a little for the recent::

    score = bm25 * (1 + 0.5 * share of the query's neighbouring words that are neighbours here too)
                 * (1 + 0.1 * 2 ** (-age / 7 days))

FTS5's own ``bm25()`` looks at the whole index each time, so its order shifts while somebody turns pages and
frames come in. Here the statistics are taken once and travel in the page cursor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import apsw


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens that stand side by side in one field; a word of one token is the usual case."""

    tokens: tuple[str, ...]
    is_prefix: bool = False  # the last token is only the beginning of a word
    literal: str | None = None  # must stand in the normalised text, sign for sign


@dataclass(frozen=True, slots=True)
class Near:
    """Phrases in one field with at most `distance` tokens between the first and the last."""

    phrases: tuple[Phrase, ...]
    distance: int


@dataclass(frozen=True, slots=True)
class And:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Not:
    """What `wanted` matches without what `unwanted` matches."""

    wanted: Node
    unwanted: Node

    @cached_property
    def is_for_fts5(self) -> bool:
        """Whether FTS5 can be told what to leave out; asked often, hence remembered."""
        return is_exact(self.unwanted)


Node: TypeAlias = Phrase | Near | And | Or | Not

_BINDING = {Or: 1, And: 2, Not: 3, Near: 4, Phrase: 4}
# FTS5's parser holds 100 symbols. With this bound on what NOT excludes, 32 parentheses around it
# and the symbols of one phrase still fit; what is deeper is left to `Condition`.
_EXACT_STACK = 40


def phrases(node: Node, *, wanted_only: bool = False) -> Iterator[Phrase]:
    """The phrases of an expression from left to right; `wanted_only` leaves out what NOT excludes."""
    match node:
        case Phrase():
            yield node
        case Near():
            yield from node.phrases
        case And() | Or():
            for part in node.parts:
                yield from phrases(part, wanted_only=wanted_only)
        case Not():
            yield from phrases(node.wanted, wanted_only=wanted_only)
            if not wanted_only:
                yield from phrases(node.unwanted)


def plain_words(node: Node) -> tuple[Phrase, ...]:
    """The words of a query that only asks for all of some whole words; else none."""
    words = node.parts if isinstance(node, And) else (node,)
    found = tuple(
        word for word in words if isinstance(word, Phrase) and len(word.tokens) == 1 and not word.is_prefix
    )
    return found if len(found) == len(words) else ()


def is_exact(node: Node) -> bool:
    """Whether FTS5 alone can decide `node`: no literal, and not nested too deep for its parser."""
    return not any(phrase.literal for phrase in phrases(node)) and _stack(node) <= _EXACT_STACK


def match(node: Node) -> str:
    """An FTS5 expression for every row that `node` matches; for others only if it is not exact."""
    match node:
        case Phrase():
            return f'"{" ".join(node.tokens)}"' + ("*" if node.is_prefix else "")
        case Near():
            return f"NEAR({' '.join(map(match, node.phrases))}, {node.distance})"
        case And():
            return " AND ".join(_inside(part, node) for part in _deepest_first(node.parts))
        case Or():
            return " OR ".join(_inside(part, node) for part in _deepest_first(node.parts))
        case Not() if node.is_for_fts5:
            return f"{_inside(node.wanted, node)} NOT {_inside(node.unwanted, node)}"
        case Not():
            # The letters alone would exclude too much: "c NOT c++" is not empty.
            return match(node.wanted)


def matched_phrases(node: Node) -> Iterator[tuple[Phrase, bool]]:
    """The phrases of `match(node)` in FTS5's numbering, each with "is it wanted"."""
    match node:
        case Phrase():
            yield node, True
        case Near():
            yield from ((phrase, True) for phrase in node.phrases)
        case And() | Or():
            for part in _deepest_first(node.parts):
                yield from matched_phrases(part)
        case Not():
            yield from matched_phrases(node.wanted)
            if node.is_for_fts5:
                yield from ((phrase, False) for phrase, _ in matched_phrases(node.unwanted))


def _inside(part: Node, whole: Node) -> str:
    while isinstance(part, Not) and not part.is_for_fts5:
        part = part.wanted
    text = match(part)
    return text if _BINDING[type(part)] > _BINDING[type(whole)] else f"({text})"


def _deepest_first(parts: tuple[Node, ...]) -> list[Node]:
    """Parts that may stand in any order, so that FTS5's parser has little to keep in mind."""
    return sorted(parts, key=_stack, reverse=True)


def _stack(node: Node) -> int:
    """How many symbols FTS5's parser must remember at most while it reads `match(node)`."""
    match node:
        case Phrase() | Near():
            return 0
        case And() | Or():
            needs = sorted(map(_stack, node.parts), reverse=True)
            return max(need + 1 + (2 if position else 0) for position, need in enumerate(needs))
        case Not() if node.is_for_fts5:
            return max(_stack(node.wanted) + 1, _stack(node.unwanted) + 3)
        case Not():
            return _stack(node.wanted)


class Condition:
    """SQL conditions, all to be met, on rows of `frames_fts` that `match` has found; and what they bind.

    The surrounding statement binds ``:low`` and ``:high``, a half-open range of frame ids.
    """

    def __init__(self, node: Node) -> None:
        self.parameters: dict[str, str] = {}
        self.conditions = self._besides(node)

    def _besides(self, node: Node) -> list[str]:
        """What must hold besides `match(node)`."""
        match node:
            case Phrase():
                return self._literals((node,))
            case Near():
                return self._literals(node.phrases)
            case And():
                return [condition for part in node.parts for condition in self._besides(part)]
            case Or():
                return [] if all(map(is_exact, node.parts)) else [self._whole(node)]
            case Not() if node.is_for_fts5:
                return self._besides(node.wanted)
            case Not():
                return [*self._besides(node.wanted), f"not {self._whole(node.unwanted)}"]

    def _whole(self, node: Node) -> str:
        """A condition that stands for all of `node`, for rows nothing is known about."""
        match node:
            case Or() if not is_exact(node):
                return "(" + " or ".join(map(self._whole, node.parts)) + ")"
            case And() if not is_exact(node):
                return "(" + " and ".join(map(self._whole, node.parts)) + ")"
            case Not() if not is_exact(node):
                return f"({self._whole(node.wanted)} and not {self._whole(node.unwanted)})"
        found = (
            "frames_fts.rowid in (select rowid from frames_fts"
            f" where frames_fts match {self._bound(match(node))} and rowid >= :low and rowid < :high)"
        )
        return "(" + " and ".join([found, *self._besides(node)]) + ")"

    def _literals(self, among: tuple[Phrase, ...]) -> list[str]:
        return [
            f"recollect_literal({self._bound(phrase.literal)}, frames_fts.text, frames_fts.app_name,"
            " frames_fts.window_name, frames_fts.browser_url)"
            for phrase in among
            if phrase.literal
        ]

    def _bound(self, value: str) -> str:
        name = f"q{len(self.parameters)}"
        self.parameters[name] = value
        return f":{name}"


# K1: how soon repeating a word stops to matter; B: how far long frames are held back. As in FTS5.
K1 = 1.2
B = 0.75
NEIGHBOUR_SHARE = 0.5
RECENT_SHARE = 0.1
RECENT_HALF_LIFE_MS = 7 * 86_400_000
# A word in more frames than this counts as one in this many.
_COUNTED = 10_000
# Pairs of places that are compared one by one.
_FEW = 24


@dataclass(frozen=True, slots=True)
class Statistics:
    """What the score needs to know of the index: mean tokens per frame, and the weight of each phrase
    of the match expression in FTS5's numbering (0 for what NOT excludes)."""

    average: float
    weights: tuple[float, ...]


def register(connection: apsw.Connection) -> None:
    """Make ``recollect_score`` and ``recollect_totals`` known to this connection."""
    connection.register_fts5_function("recollect_score", _score)
    connection.register_fts5_function("recollect_totals", _totals)


def statistics(connection: apsw.Connection, node: Node) -> Statistics:
    """The statistics of now, for the words of `node`."""
    found = connection.execute(
        "select recollect_totals(frames_fts) from frames_fts where frames_fts match ? limit 1", (match(node),)
    ).fetchone()
    if found is None:
        return Statistics(1.0, ())
    rows, tokens = map(int, found[0].split())
    among = list(matched_phrases(node))
    if len(among) == 1:
        # With one word its rarity changes no order.
        return Statistics(max(tokens / rows, 1.0), (1.0,))
    weights = (_rarity(connection, phrase, rows) if wanted else 0.0 for phrase, wanted in among)
    return Statistics(round(max(tokens / rows, 1.0), 3), tuple(round(weight, 3) for weight in weights))


def _rarity(connection: apsw.Connection, phrase: Phrase, rows: int) -> float:
    """Inverse document frequency, never below zero."""
    (having,) = connection.execute(
        "select count(*) from (select 1 from frames_fts where frames_fts match ? limit ?)",
        (match(phrase), _COUNTED),
    ).fetchone() or (0,)
    return max(math.log(1 + (rows - having + 0.5) / (having + 0.5)), 0.001)


def _totals(api: apsw.FTS5ExtensionApi, *values: Any) -> str:
    return f"{api.row_count} {api.column_total_size(-1)}"


def _score(api: apsw.FTS5ExtensionApi, *values: Any) -> float:
    """``recollect_score(frames_fts, newest_id, half_life, average, weight, ...)``: higher is better.

    `half_life` is in ids, which carry the time.
    """
    newest_id, half_life, average, *weights = values
    held_back = K1 * (1 - B + B * api.column_size(-1) / average)
    places: list[list[list[int]]] = []
    bm25 = 0.0
    # Runs some thousand times a search: plain loops, which are faster here than sum() and map().
    for number, weight in enumerate(weights):
        if not weight:
            places.append([])
            continue
        places.append(api.phrase_locations(number))
        frequency = 0
        for field in places[-1]:
            frequency += len(field)
        bm25 += weight * frequency * (K1 + 1) / (frequency + held_back)
    recent = math.exp2(-max(newest_id - api.rowid, 0) / half_life)
    together = _neighbours(api, places) if len(places) > 1 else 0.0
    return bm25 * (1 + NEIGHBOUR_SHARE * together) * (1 + RECENT_SHARE * recent)


def _neighbours(api: apsw.FTS5ExtensionApi, places: list[list[list[int]]]) -> float:
    """The share of phrases that their next phrase follows at once, in any field."""
    if api.aux_data is None:
        api.aux_data = [len(phrase) for phrase in api.phrases]
    sizes = api.aux_data
    following = 0
    for number in range(len(places) - 1):
        following += _is_followed(places[number], sizes[number], places[number + 1])
    return following / (len(places) - 1)


def _is_followed(first: list[list[int]], size: int, second: list[list[int]]) -> bool:
    for ends, starts in zip(first, second, strict=False):
        if not (ends and starts):
            continue
        if len(ends) * len(starts) > _FEW:
            if not {at + size for at in ends}.isdisjoint(starts):
                return True
            continue
        # Most fields hold few: a plain loop is twice as fast as a set.
        for at in ends:
            if at + size in starts:
                return True
    return False
