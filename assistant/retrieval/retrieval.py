"""The one bounded look into the store that a turn takes.

Everything the answer may rest on is read here, in one snapshot and under one deadline, and then the
connection is let go: nothing is held while the model thinks (CHAT-11). What the model may cite are
the entries, by ids that mean nothing outside this turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.core.query_embedder import WORDS_ONLY, Meaning
from assistant.retrieval import frame_selection
from assistant.retrieval.excerpts import Excerpt, excerpt, line_forms
from assistant.retrieval.frame_selection import Searched
from assistant.retrieval.sampling import MAX_FRAMES, select_in
from store.core.database import Database
from store.embeddings import vectors
from store.ocr import readings
from store.search import sample, search
from store.search.filters import Filters
from store.search.sample import SampledFrame
from store.timeline import ledger, segments
from store.timeline.ledger import Gap
from store.timeline.totals import Totals

RETRIEVAL_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the evidence ledger: what the model may cite as ``[[id]]``."""

    id: str
    frame: SampledFrame
    excerpt: Excerpt


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What was found, and what it was looked for with.

    `totals` is None when filters narrow it: totals count every app. `relevant` entries were found by
    a search, the others are spread over the range. `is_found` is false when the question has words
    and no frame of the range shows one. `unread` and `unembedded` frames of the range cannot be
    found yet: by words, by meaning.
    """

    filters: Filters
    entries: tuple[Entry, ...]
    frames_in_range: int
    gaps: tuple[Gap, ...]
    totals: Totals | None
    index_fresh_to_ms: int | None
    searched: tuple[Searched, ...] = ()
    relevant: int = 0
    is_found: bool = True
    unread: int = 0
    unembedded: int = 0


def retrieve(
    database: Database,
    filters: Filters,
    words: Sequence[str],
    now_ms: int,
    *,
    meaning: Meaning = WORDS_ONLY,
    max_frames: int = MAX_FRAMES,
    deadline_s: float = RETRIEVAL_TIMEOUT_S,
) -> Retrieval:
    """The selected frames with excerpts, and what else is known about the range.

    `words` are what the question is about, none for a summary (`relevance`); `meaning` is the
    question as a vector. ``filters.end_ms`` must be set. Raises `DeadlineExceeded` after `deadline_s`
    (R3.72).
    """
    start_ms, end_ms = filters.start_ms, filters.end_ms or now_ms
    with database.read(deadline_s=deadline_s) as connection:
        in_range = sample.count(connection, filters)
        chosen = frame_selection.select_frames(
            database, connection, filters, words, in_range, meaning, max_frames
        )
        selected = sample.load(connection, chosen.ids)
        gaps = ledger.gaps(database, start_ms, end_ms, now_ms)
        totals = None if is_narrowed(filters) else segments.totals(database, start_ms, end_ms)
        return Retrieval(
            filters=filters,
            entries=tuple(_entries(selected, words)),
            frames_in_range=in_range,
            gaps=tuple(gaps),
            totals=totals,
            index_fresh_to_ms=readings.index_fresh_to_ms(database),
            searched=chosen.searched,
            relevant=chosen.relevant,
            is_found=chosen.is_found,
            unread=readings.count_unread(connection, start_ms, end_ms),
            unembedded=vectors.count_waiting(connection, start_ms, end_ms),
        )


def is_narrowed(filters: Filters) -> bool:
    """Whether anything but the range decides which frames count."""
    return filters != Filters(filters.start_ms, filters.end_ms)


def search_ocr(
    database: Database, filters: Filters, text: str = "", limit: int = MAX_FRAMES
) -> list[SampledFrame]:
    """Frames whose words match `text`, best first; without `text`, the spread over time (R3.36)."""
    with database.read(deadline_s=RETRIEVAL_TIMEOUT_S) as connection:
        if not text.strip():
            return sample.load(connection, select_in(connection, filters, limit))
        ids = [hit.frame_id for hit in search.search(database, text, filters, limit=limit).hits]
        found = {frame.id: frame for frame in sample.load(connection, ids)}
    return [found[number] for number in ids]


def get_frame(database: Database, frame_id: int) -> SampledFrame | None:
    """One frame with its words, or None when there is none (R3.36)."""
    with database.read() as connection:
        found = sample.load(connection, [frame_id])
    return found[0] if found else None


def _entries(selected: Sequence[SampledFrame], words: Sequence[str]) -> list[Entry]:
    seen: frozenset[str] = frozenset()
    entries = []
    for n, frame in enumerate(selected, 1):
        entries.append(Entry(f"e{n}", frame, excerpt(frame.text, words, seen)))
        seen = line_forms(frame.text)
    return entries
