"""Texts of the person found by words and by meaning: documents of memory, messages, summaries of days.

::

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


@dataclass(frozen=True, slots=True)
class RetrievalQuery:
    """The question in words and, where there is an embedder, as a unit vector of `model`.

    `problem` says in a word why there is no vector.
    """

    text: str
    vector: npt.NDArray[np.floating] | None = None
    model: str | None = None
    problem: str | None = None


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
DOCUMENTS = Corpus("document", "memory_documents", "memory_fts", "created_ms", ("text",))


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
        near, reason = _by_meaning(database, connection, question, depth)
    if question.mode == "semantic":
        return Found(near[:limit], "semantic", reason)
    words = _by_words(connection, question, depth)
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


def _by_words(connection: apsw.Connection, question: Question, limit: int) -> Ranked:
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


def _by_meaning(
    database: Database, connection: apsw.Connection, question: Question, limit: int
) -> tuple[Ranked, str | None]:
    asked, corpus = question.asked, question.corpus
    if asked.vector is None or asked.model is None:
        return [], asked.problem or "no_embeddings"
    if question.mode == "hybrid" and question.parsed.is_exact:
        return [], "exact_query"

    def narrow(ids: list[int] | None) -> list[int]:
        among = "" if ids is None else "and m.id in (select value from json_each(:among))"
        sql = f"select m.id from {corpus.table} m where {question.condition} {among}"
        return column(connection, sql, {**question.values, "among": str(ids)})

    try:
        found = knn.nearest(database, corpus.kind, asked.model, asked.vector, narrow=narrow, limit=limit)
    except SemanticUnavailable as error:
        return [], error.reason
    except (ValueError, apsw.SQLError) as error:
        log.warning("vectors cannot be searched: %s", type(error).__name__)
        return [], "vector_query_failed"
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


# -- entries of memory ----------------------------------------------------------------------
#
# An entry has up to six documents, and is found by its best. Its age counts, too.

Strategy = Literal["hybrid", "semantic", "fts", "newest"]
_TYPE_OF: dict[str, EntryType] = {doc_type: each for each, doc_type in DOC_TYPES.items()}
_DOCUMENTS_OF_ENTRY = 6


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
    """Matches best first, how they were found, and why not by meaning; by words of `candidates` entries."""
    question = Question(DOCUMENTS, asked, parsed, "hybrid", *conditions(types, filters))
    ranked, reason = _by_meaning(database, connection, question, MEMORY_CANDIDATES)
    near = _matches(connection, ranked)
    window = windowed(filters, now_ms)
    within = [match for match in near if match.ended_ms > (window.start_ms or 0)]
    log.info("memory vectors: %d matches, %d within the window", len(near), len(within))
    question = Question(DOCUMENTS, asked, parsed, "hybrid", *conditions(types, window))
    by_words = _matches(connection, _by_words(connection, question, _DOCUMENTS_OF_ENTRY * candidates))
    if within:
        return (_fused(by_words, within), "hybrid", None) if by_words else (within, "semantic", None)
    if near:
        reason = "all_hits_outside_window"
    log.info("memory search falls back to keywords: %s", reason)
    return by_words, "fts", reason


def _fused(by_words: list[Match], near: list[Match]) -> list[Match]:
    """One match per entry by reciprocal rank of both lists, shown with its words where it has them."""
    words, meant = distinct(by_words), distinct(near)
    chosen = {match.key: match for match in (*meant, *words)}
    matches = {match.document: match for match in chosen.values()}
    both = fused(*([chosen[match.key].document for match in leg] for leg in (words, meant)))
    return [replace(matches[document], score=score) for score, document in both]


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
        select min(m.id), m.doc_type, m.sqlite_id, m.created_ms, m.ended_ms, 0.0
        from memory_documents m
        where {condition}
        group by m.doc_type, m.sqlite_id
        order by m.created_ms desc, m.sqlite_id desc
        limit :limit
        """,
        {**values, "limit": limit + len(without)},
    )
    return [match for match in (_match(*row) for row in found) if match.key not in without]


def _matches(connection: apsw.Connection, ranked: Ranked) -> list[Match]:
    """The documents of a list."""
    scores = {number: score for score, number in ranked}
    sql = """
        select id, doc_type, sqlite_id, created_ms, ended_ms
        from memory_documents where id in (select value from json_each(?))
        """
    return [_match(*(*row, scores[row[0]])) for row in rows(connection, sql, (str(list(scores)),))]


def _match(document: int, doc_type: str, number: int, created: int, ended: int, score: float = 0.0) -> Match:
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
