"""Which recent chats are told of: the nearest to the question, the more recent first (R1.48).

Score = similarity × recency. Similarity is the cosine of the summary's vector and the question's; where one
of the two has no vector, how much the session's tags are named. Recency halves every half-life.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from store.memory.chat_digests import Candidates

ALWAYS_RECENT = 3
"""Chats that are told of however far from the question they are: what was just talked about goes on."""
MIN_SIMILARITY = 0.1
"""Below this a chat has nothing to do with the question."""
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class Ranked:
    """A session with its score, and what the score is made of."""

    session_id: int
    score: float
    similarity: float
    recency: float
    by: str

    @property
    def why(self) -> str:
        return f"{self.by} {self.similarity:.2f} × recency {self.recency:.2f}"


def ranked(
    found: Candidates,
    query: npt.NDArray[np.floating] | None,
    tagged: Mapping[int, float],
    *,
    now_ms: int,
    half_life_days: float,
    top_k: int,
) -> list[Ranked]:
    """The `top_k` best sessions, best first."""
    if not found.ids:
        return []
    cosine, has_vector = _cosines(found, query)
    words = np.fromiter((min(tagged.get(each, 0.0), 1.0) for each in found.ids), np.float64, len(found.ids))
    similarity = np.clip(np.where(has_vector, cosine, words), 0.0, 1.0)
    recency = 0.5 ** (np.maximum(now_ms - found.ended_ms, 0) / _DAY_MS / half_life_days)
    # A floor, so that of what has nothing to do with the question the most recent comes first.
    score = np.maximum(similarity, 0.01) * recency
    is_near = similarity >= MIN_SIMILARITY
    is_near[:ALWAYS_RECENT] = True  # candidates come newest first
    order = [at for at in np.argsort(-score, kind="stable") if is_near[at]][:top_k]
    return [
        Ranked(
            found.ids[at], round(float(score[at]), 4), float(similarity[at]), float(recency[at]),
            "meaning" if has_vector[at] else "tags",
        )
        for at in order
    ]  # fmt: skip


def _cosines(
    found: Candidates, query: npt.NDArray[np.floating] | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """(float64[n], which of them there are): a session without a vector, or a question without, has none."""
    if query is None or found.vectors is None or found.vectors.shape[1] != len(query):
        return np.zeros(len(found.ids)), np.zeros(len(found.ids), np.bool_)
    table = found.vectors.astype(np.float32)
    lengths = np.linalg.norm(table, axis=1)
    has_vector = lengths > 0
    lengths[~has_vector] = 1.0
    return np.asarray((table @ query.astype(np.float32)) / lengths, np.float64), has_vector
