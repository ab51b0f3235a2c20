"""The half of a search that goes by meaning: which frames say nearly what was asked.

It answers under the very filters of the other half, and says in one word why it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from store.core.database import Database
from store.embeddings import knn
from store.embeddings.knn import Near, RetrievalQuery, SemanticUnavailable
from store.frames import frames
from store.search.finder import Finder
from store.search.query import Query

Mode = Literal["hybrid", "fts", "semantic"]
Order = Literal["relevance", "newest", "oldest"]

NEAR_LIMIT = 150
"""Frames that are found by meaning at most."""


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
            above_chance=above_chance,
        )
    except SemanticUnavailable as error:
        return SemanticResult({}, error.reason)
    near = {each.id: each for each in found}
    # The first moment of which the index holds every frame, and its first id.
    since_ms = frames.captured_ms_of(knn.first_held(database, "frame") + frames.ID_STEP - 1)
    first, _ = frames.id_range(since_ms, since_ms)
    is_cut = first > allowed.range.low
    reason = "older_than_vectors" if is_cut and first >= allowed.range.high else "no_vector_hits"
    return SemanticResult(near, None if near else reason, since_ms if is_cut else None)


def _narrow(allowed: Finder) -> knn.Narrow:
    def narrow(ids: list[int] | None) -> list[int]:
        if ids is None:
            return allowed.by_time(-1, 0, None, newest_first=True)
        return list(allowed.among(ids))

    return narrow
