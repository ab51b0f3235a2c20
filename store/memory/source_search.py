"""Texts that are not of the screen, by words, by meaning, or both: messages, and summaries of days.

::

    fts5       the index of words, best first (BM25 of FTS5), the newer of two equal ones first
    semantic   the nearest vectors
    hybrid     both fused by reciprocal rank (C14); without vectors, words alone, and `reason` says why

Filters are part of both queries, so that nothing inside them is lost to what ranks better outside
(R0.67). Quotes, operators and ``*`` ask for these very words, and in hybrid meaning has nothing to add.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from store.core.database import Database, rows
from store.embeddings import knn
from store.embeddings.knn import SemanticUnavailable
from store.embeddings.vectors import Kind
from store.memory.retrievers import RetrievalQuery
from store.search.fusion import LEG_DEPTH, fused
from store.search.hybrid import is_exact
from store.search.query import Query

log = logging.getLogger(__name__)

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
    depth = max(limit, LEG_DEPTH)
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
    if question.mode == "hybrid" and is_exact(question.parsed):
        return [], "exact_query"
    if asked.vector is None or asked.model is None:
        return [], asked.problem or "no_embeddings"

    def narrow(ids: list[int] | None) -> list[int]:
        among = "" if ids is None else "and m.id in (select value from json_each(:among))"
        sql = f"select m.id from {corpus.table} m where {question.condition} {among}"
        return [number for (number,) in rows(connection, sql, {**question.values, "among": str(ids)})]

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
