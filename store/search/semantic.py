"""The half of a search that goes by meaning: which frames say nearly what was asked.

The vectors of lines choose the nearest; which of them are about the matter their words decide, each compared
with those of the question in meaning. Where no one knows words, what stands out of the store does.

It answers under the very filters of the other half, and says in one word why it does not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from store.core.database import Database, rows
from store.embeddings import knn
from store.embeddings.knn import Near, RetrievalQuery, SemanticUnavailable
from store.frames import frames
from store.search.finder import Finder
from store.search.query import Query

Mode = Literal["hybrid", "fts", "semantic"]
Order = Literal["relevance", "newest", "oldest"]

NEAR_LIMIT = 150
"""Frames that are found by meaning at most."""
LOOKED_AT = (30, 60)
"""So many of the nearest texts are looked at word by word, the second half only where one of the first says
what is asked: words that were never looked at take 0.5 ms each.
"""
SAYS = 0.42
"""What a text has to say of the words of a question (`RetrievalQuery.likeness`). Of 30 searches for what
is on no frame 29 find nothing, of 20 in other words 11 their frame; 27 and 6 by what stands out alone.
"""


@dataclass(frozen=True, slots=True)
class SemanticResult:
    """The frames found by meaning, best first; `reason` says why there are none."""

    near: dict[int, Near]
    reason: str | None
    since_ms: int | None = None
    """Frames before this time were not looked at: there are more vectors than the index holds."""


def nearest_frames(
    database: Database,
    asked: Query,
    allow: Callable[[], Finder],
    meaning: RetrievalQuery,
    mode: Mode,
    order: Order,
    *,
    above_chance: bool = True,
) -> SemanticResult:
    """The frames that mean what is asked, at most `NEAR_LIMIT`, among those that `allow` lets through; with
    `above_chance` only what stands out of the store (`store.embeddings.knn`).

    Operators, quotes and ``*`` ask for exact words, and an order by time has no place for "nearly":
    there words answer alone (``exact_query``, ``ordered_by_time``), unless meaning alone is asked.
    """
    if asked.is_browse or mode == "fts":
        return SemanticResult({}, None)
    if mode == "hybrid" and asked.is_exact:
        return SemanticResult({}, "exact_query")
    if mode == "hybrid" and order != "relevance":
        return SemanticResult({}, "ordered_by_time")
    if meaning.vector is None or meaning.model is None:
        missing = "no_embeddings" if meaning.model is None else "embedder_unavailable"
        return SemanticResult({}, meaning.problem or missing)
    allowed = allow()
    try:
        found = knn.nearest(
            database,
            "frame",
            meaning.model,
            meaning.vector,
            low=allowed.range.low,
            high=allowed.range.high,
            narrow=_narrow(allowed) if allowed.is_narrowed else None,
            limit=NEAR_LIMIT,
            above_chance=above_chance and meaning.likeness is None,
        )
        if above_chance and meaning.likeness is not None:
            found = _saying(database, found, meaning.likeness)
    except SemanticUnavailable as error:
        return SemanticResult({}, error.reason)
    near = {each.id: each for each in found}
    # The first moment of which the index holds every frame, and its first id.
    since_ms = frames.captured_ms_of(knn.first_held(database, "frame") + frames.ID_STEP - 1)
    first, _ = frames.id_range(since_ms, since_ms)
    is_cut = first > allowed.range.low
    reason = "older_than_vectors" if is_cut and first >= allowed.range.high else "no_vector_hits"
    return SemanticResult(near, None if near else reason, since_ms if is_cut else None)


def _saying(
    database: Database, found: Sequence[Near], likeness: Callable[[Sequence[str]], Sequence[float]]
) -> list[Near]:
    """Those of the nearest whose words say what is asked, the likest first; where that cannot be told, those
    that stand out.

    A sentence of another world is as near to some line as a question to its answer (z of 2.6 to 4.2 and of
    2.9 to 5.9); but no word of that line means what one of its words means.
    """
    sql = """
        select r.frame_id, substr(r.text, 1 + j.value ->> 1, (j.value ->> 2) - (j.value ->> 1))
        from json_each(?) j cross join readings r on r.frame_id = j.value ->> 0 and r.is_current = 1
        """
    places = json.dumps([(near.id, near.start, near.end) for near in found])
    with database.read() as connection:
        texts: dict[int, str] = dict(rows(connection, sql, (places,)))
    different = list(dict.fromkeys(texts[near.id] for near in found if near.id in texts))
    shares: dict[str, float] = {}
    for start, end in pairwise((0, *LOOKED_AT)):
        told = likeness(different[start:end])
        shares.update(zip(different[start:], told, strict=False))
        if max(told, default=0.0) < SAYS:
            break
    if not shares:
        return [near for near in found if near.stands_out]
    weighed = [
        near._replace(score=(near.score + shares[texts[near.id]]) / 2)
        for near in found
        if shares.get(texts.get(near.id, ""), 0.0) >= SAYS
    ]
    return sorted(weighed, key=lambda near: (-near.score, -near.id))


def _narrow(allowed: Finder) -> knn.Narrow:
    def narrow(ids: list[int] | None, at_most: int) -> list[int]:
        if ids is None:
            return allowed.by_time(at_most, 0, None, newest_first=True)
        return list(allowed.among(ids))

    return narrow
