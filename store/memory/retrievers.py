"""The two ways to find a memory document, by meaning and by words, under the same filters.

The second half finds other texts that are not of the screen (messages, summaries of days)::

    fts5       the index of words, best first (BM25 of FTS5), the newer of two equal ones first
    semantic   the nearest vectors
    hybrid     both fused by reciprocal rank; without vectors, words alone, and `reason` says why

Filters are part of both queries, so that nothing inside them is lost to what ranks better outside. Quotes,
operators and ``*`` ask for these very words, and in hybrid meaning has nothing to add.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import apsw
import numpy as np
import numpy.typing as npt

from store.core.database import Database, column, rows
from store.embeddings import knn
from store.embeddings.knn import SemanticUnavailable
from store.embeddings.vectors import Kind
from store.memory.entries import DOC_TYPES, MEMORY_WINDOW_MS, EntryType, Key, MemoryFilters, conditions
from store.search.query import Query

log = logging.getLogger(__name__)

MEMORY_CANDIDATES = 100
_DEPTH = 150
# Of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
_RRF_K = 60

Strategy = Literal["hybrid", "semantic", "fts", "newest"]
_TYPE_OF: dict[str, EntryType] = {doc_type: each for each, doc_type in DOC_TYPES.items()}


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """The question in words and, where there is an embedder, as a unit vector of `model`.

    `problem` says in a word why there is no vector.
    """

    text: str
    vector: npt.NDArray[np.floating] | None = None
    model: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """A document that was found."""

    document: int
    type: EntryType
    id: int
    created_ms: int
    ended_ms: int
    score: float

    @property
    def key(self) -> Key:
        return self.type, self.id


def find_documents(
    database: Database,
    connection: apsw.Connection,
    asked: RetrievalQuery,
    parsed: Query,
    types: Sequence[EntryType],
    filters: MemoryFilters,
    now_ms: int,
    candidates: int = MEMORY_CANDIDATES,
) -> tuple[list[Match], Strategy, str | None]:
    """Matches best first, how they were found, and why not by meaning; `candidates` entries at most by words.

    Quotes, operators and ``*`` ask for these very words, and meaning has nothing to add.
    """
    near, reason = _by_meaning(database, connection, asked, parsed, types, filters)
    window = windowed(filters, now_ms)
    within = [match for match in near if match.ended_ms > (window.start_ms or 0)]
    log.info("memory vectors: %d matches, %d within the window", len(near), len(within))
    by_words = _by_words(connection, parsed, types, window, candidates)
    if within:
        return (_fused(by_words, within), "hybrid", None) if by_words else (within, "semantic", None)
    if near:
        reason = "all_hits_outside_window"
    log.info("memory search falls back to keywords: %s", reason)
    return by_words, "fts", reason


def _fused(by_words: list[Match], near: list[Match]) -> list[Match]:
    """One match per entry by reciprocal rank of both lists, shown with its words where it has them."""
    chosen: dict[Key, Match] = {}
    scores: dict[Key, float] = {}
    for leg in (distinct(by_words), distinct(near)):
        for place, match in enumerate(leg, start=1):
            chosen.setdefault(match.key, match)
            scores[match.key] = scores.get(match.key, 0.0) + 1 / (_RRF_K + place)
    return [replace(match, score=scores[key]) for key, match in chosen.items()]


def _by_meaning(
    database: Database,
    connection: apsw.Connection,
    asked: RetrievalQuery,
    parsed: Query,
    types: Sequence[EntryType],
    filters: MemoryFilters,
) -> tuple[list[Match], str | None]:
    if asked.vector is None or asked.model is None:
        return [], asked.problem or "no_embeddings"
    if parsed.is_exact:
        return [], "exact_query"
    condition, values = conditions(types, filters)

    def narrow(ids: list[int] | None) -> list[int]:
        among = "" if ids is None else "and d.id in (select value from json_each(:among))"
        bound = values if ids is None else {**values, "among": str(ids)}
        sql = f"select d.id from memory_documents d where {condition} {among}"
        return column(connection, sql, bound)

    try:
        near = knn.nearest(
            database, "document", asked.model, asked.vector, narrow=narrow, limit=MEMORY_CANDIDATES
        )
    except SemanticUnavailable as error:
        return [], error.reason
    except (ValueError, apsw.SQLError) as error:
        log.warning("memory vectors cannot be searched: %s", type(error).__name__)
        return [], "vector_query_failed"
    scores = {each.id: each.score for each in near}
    sql = f"{_DOCUMENTS} where d.id in (select value from json_each(?))"
    found = [_match(*(*row, scores[row[0]])) for row in rows(connection, sql, (str(list(scores)),))]
    return found, None if found else "no_vector_hits"


def _by_words(
    connection: apsw.Connection,
    parsed: Query,
    types: Sequence[EntryType],
    filters: MemoryFilters,
    candidates: int,
) -> list[Match]:
    if parsed.match is None:
        return []
    condition, values = conditions(types, filters)
    found = rows(
        connection,
        f"""
        select d.id, d.doc_type, d.sqlite_id, d.created_ms, d.ended_ms, -bm25(memory_fts)
        from memory_fts
        cross join memory_documents d on d.id = memory_fts.rowid
        where memory_fts match :match and {condition}
        order by bm25(memory_fts), d.created_ms desc
        limit :candidates
        """,
        # An entry has six documents at most.
        {**values, "match": parsed.match, "candidates": 6 * candidates},
    )
    return [_match(*row) for row in found]


def newest(
    connection: apsw.Connection,
    types: Sequence[EntryType],
    filters: MemoryFilters,
    without: set[Key],
    limit: int,
) -> list[Match]:
    """Entries that pass the filters, newest first."""
    condition, values = conditions(types, filters)
    found = rows(
        connection,
        f"""
        select min(d.id), d.doc_type, d.sqlite_id, d.created_ms, d.ended_ms, 0.0
        from memory_documents d
        where {condition}
        group by d.doc_type, d.sqlite_id
        order by d.created_ms desc, d.sqlite_id desc
        limit :limit
        """,
        {**values, "limit": limit + len(without)},
    )
    return [match for match in (_match(*row) for row in found) if match.key not in without]


_DOCUMENTS = "select d.id, d.doc_type, d.sqlite_id, d.created_ms, d.ended_ms from memory_documents d"


def _match(document: int, doc_type: str, number: int, created: int, ended: int, score: float) -> Match:
    return Match(document, _TYPE_OF[doc_type], number, created, ended, score)


def windowed(filters: MemoryFilters, now_ms: int) -> MemoryFilters:
    """The filters with the default window where no range was asked for."""
    return filters if filters.has_range else replace(filters, start_ms=now_ms - MEMORY_WINDOW_MS)


def distinct(found: Iterable[Match]) -> list[Match]:
    """One match per (type, id), its best; best first, the newer of two equal ones first."""
    best: dict[Key, Match] = {}
    for match in found:
        known = best.get(match.key)
        if known is None or known.score < match.score:
            best[match.key] = match
    return sorted(best.values(), key=lambda match: (-match.score, -match.created_ms, -match.id))


# -- texts that are not of the screen -----------------------------------------------------

Mode = Literal["fts5", "semantic", "hybrid"]
Ranked = list[tuple[float, int]]
TextStrategy = Literal["fts5", "semantic", "hybrid", "newest"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where the texts are; every name comes from code. `said` are the columns that are searched."""

    kind: Kind
    table: str
    index: str
    time: str
    said: tuple[str, ...]


MESSAGES = Corpus("message", "text_messages", "text_messages_fts", "sent_ms", ("subject", "body"))
DAYS = Corpus("day", "daily_summaries", "daily_summaries_fts", "start_ms", ("text",))


@dataclass(frozen=True, slots=True)
class Found:
    """(score, id) best first, how they were found, and why not by meaning (None: it was asked, or not
    wanted).
    """

    ranked: Ranked
    strategy: TextStrategy
    reason: str | None


@dataclass(frozen=True, slots=True)
class Question:
    """What is looked for. `condition` is SQL over ``m``, a row of the corpus, with its `values`."""

    corpus: Corpus
    asked: RetrievalQuery
    parsed: Query
    mode: Mode
    condition: str
    values: Mapping[str, Any]


def find_texts(database: Database, connection: apsw.Connection, question: Question, limit: int) -> Found:
    """At most `limit` texts. Blank text: the newest."""
    if question.parsed.is_browse:
        return Found(_newest(connection, question, limit), "newest", None)
    depth = max(limit, _DEPTH)
    near: Ranked = []
    reason = None
    if question.mode != "fts5":
        near, reason = _texts_by_meaning(database, connection, question, depth)
    if question.mode == "semantic":
        return Found(near[:limit], "semantic", reason)
    words = _texts_by_words(connection, question, depth)
    table = question.corpus.table
    log.info("search of %s: %d by words, %d by meaning (%s)", table, len(words), len(near), reason or "whole")
    if not near:
        return Found(words[:limit], "fts5", reason)
    both = fused([number for _, number in words], [number for _, number in near])
    return Found(both[:limit], "hybrid", None)


def fused(*lists: Sequence[int]) -> list[tuple[float, int]]:
    """(score, id) of everything in the lists, best first, the newer of two equal ones first."""
    scores: dict[int, float] = {}
    for ids in lists:
        for place, number in enumerate(ids, 1):
            scores[number] = scores.get(number, 0.0) + 1 / (_RRF_K + place)
    return sorted(((score, number) for number, score in scores.items()), reverse=True)


def _texts_by_words(connection: apsw.Connection, question: Question, limit: int) -> Ranked:
    corpus, parsed = question.corpus, question.parsed
    if parsed.match is None:
        return []
    said = ", ".join(f"m.{column}" for column in corpus.said)
    # Words such as c++: the index knows them without their signs.
    signs = {f"sign{n}": word for n, word in enumerate(parsed.literals)}
    literal = "".join(f" and recollect_literal(:{name}, {said})" for name in signs)
    return rows(
        connection,
        f"""
        select -bm25({corpus.index}), m.id
        from {corpus.index}
        cross join {corpus.table} m on m.id = {corpus.index}.rowid
        where {corpus.index} match :match and {question.condition} {literal}
        order by bm25({corpus.index}), m.{corpus.time} desc, m.id desc
        limit :limit
        """,
        {**question.values, **signs, "match": parsed.match, "limit": limit},
    )


def _texts_by_meaning(
    database: Database, connection: apsw.Connection, question: Question, limit: int
) -> tuple[Ranked, str | None]:
    asked, corpus = question.asked, question.corpus
    if question.mode == "hybrid" and question.parsed.is_exact:
        return [], "exact_query"
    if asked.vector is None or asked.model is None:
        return [], asked.problem or "no_embeddings"

    def narrow(ids: list[int] | None) -> list[int]:
        among = "" if ids is None else "and m.id in (select value from json_each(:among))"
        sql = f"select m.id from {corpus.table} m where {question.condition} {among}"
        return column(connection, sql, {**question.values, "among": str(ids)})

    try:
        found = knn.nearest(database, corpus.kind, asked.model, asked.vector, narrow=narrow, limit=limit)
    except SemanticUnavailable as error:
        return [], error.reason
    return [(each.score, each.id) for each in found], None if found else "no_vector_hits"


def _newest(connection: apsw.Connection, question: Question, limit: int) -> Ranked:
    corpus = question.corpus
    return rows(
        connection,
        f"""
        select 0.0, m.id
        from {corpus.table} m
        where {question.condition}
        order by m.{corpus.time} desc, m.id desc
        limit :limit
        """,
        {**question.values, "limit": limit},
    )
