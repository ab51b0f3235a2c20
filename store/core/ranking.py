"""The order of hits by relevance: BM25, words side by side, and a little for the recent.

    score = bm25 * (1 + 0.5 * share of the query's neighbouring words that are neighbours here too)
                 * (1 + 0.1 * 2 ** (-age / 7 days))
            + 10,000 for each run of characters that stands there whole, where it was cut
            (`store.search.pieces`)

FTS5's own ``bm25()`` looks at the whole index each time it is asked, so its order shifts while
somebody turns pages and new frames come in. Here the statistics (average length, rarity of each
word) are taken once and travel in the page cursor, and the score of a frame stays what it was.
BM25: Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import apsw

from store.core.full_text import Node, Phrase, match, matched_phrases

# K1: how soon repeating a word stops to matter; B: how far long frames are held back. As in FTS5.
K1 = 1.2
B = 0.75
NEIGHBOUR_SHARE = 0.5
RECENT_SHARE = 0.1
# Above all that the pieces of a run can score together.
WHOLE = 10_000.0
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
    """``recollect_score(frames_fts, newest_id, half_life, average, whole, weight, ...)``: higher is better.

    `half_life` is in ids, which carry the time; the bits of `whole` are the phrases that were not cut.
    """
    newest_id, half_life, average, whole, *weights = values
    held_back = K1 * (1 - B + B * api.column_size(-1) / average)
    places: list[list[list[int]]] = []
    bm25 = in_whole = 0.0
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
        if whole >> number & 1 and frequency:
            in_whole += WHOLE
    recent = math.exp2(-max(newest_id - api.rowid, 0) / half_life)
    together = _neighbours(api, places) if len(places) > 1 else 0.0
    return bm25 * (1 + NEIGHBOUR_SHARE * together) * (1 + RECENT_SHARE * recent) + in_whole


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
    for here, there in zip(first, second, strict=False):
        if not (here and there):
            continue
        if len(here) * len(there) > _FEW:
            if not {at + size for at in here}.isdisjoint(there):
                return True
            continue
        # Most fields hold few: a plain loop is twice as fast as a set.
        for at in here:
            if at + size in there:
                return True
    return False
