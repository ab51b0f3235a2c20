"""Texts of the person found by words and by meaning: documents of memory, messages, summaries of days.

::

    fts5       the index of words, best first (BM25 of FTS5), the newer of two equal ones first
    semantic   the nearest vectors
    hybrid     both fused by reciprocal rank; without vectors, words alone, and `reason` says why

Filters are part of both queries, so that nothing inside them is lost to what ranks better outside. Quotes,
operators and ``*`` ask for these very words, and in hybrid meaning has nothing to add.

A thing of memory has up to six documents, and is found once: by its best.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import apsw

from store.core.database import Database, column, rows
from store.embeddings import knn
from store.embeddings.knn import RetrievalQuery, SemanticUnavailable, vector_of
from store.embeddings.vectors import Kind
from store.search.query import Query

log = logging.getLogger(__name__)

MEMORY_CANDIDATES = 100
_DEPTH = 150
_TEXTS_OF_THING = 6
# Of reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR 2009.
_RRF_K = 60


Mode = Literal["fts5", "semantic", "hybrid"]
Ranked = list[tuple[float, int]]
TextStrategy = Literal["fts5", "semantic", "hybrid", "newest"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Where the texts are; every name comes from code. `said` are the columns that are searched, `thing` is
    SQL over ``m`` for what a text is of, which may have several.
    """

    kind: Kind
    table: str
    index: str
    time: str
    said: tuple[str, ...]
    thing: str = "m.id"


MESSAGES = Corpus("message", "text_messages", "text_messages_fts", "sent_ms", ("subject", "body"))
DAYS = Corpus("day", "daily_summaries", "daily_summaries_fts", "start_ms", ("text",))
DOCUMENTS = Corpus(
    "document", "memory_documents", "memory_fts", "created_ms", ("text",), "m.doc_type || ' ' || m.sqlite_id"
)


CORPORA: dict[Kind, Corpus] = {each.kind: each for each in (DOCUMENTS, DAYS, MESSAGES)}


def texts(database: Database, corpus: Corpus, ids: Iterable[int]) -> dict[int, str]:
    """What there is to embed of those that exist among these ids."""
    said = " || char(10) || ".join(f"m.{column}" for column in corpus.said)
    text = said if len(corpus.said) == 1 else f"trim({said}, char(10))"
    sql = f"select m.id, {text} from json_each(?) j cross join {corpus.table} m on m.id = j.value"
    return dict(database.rows(sql, (json.dumps(list(ids)),)))


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
        return Found(newest(connection, question, limit), "newest", None)
    near: Ranked = []
    reason = None
    corpus = question.corpus
    if question.mode != "fts5":
        near, reason = _by_meaning(database, connection, question, _DEPTH)
    depth = max(limit, _DEPTH) * (1 if corpus.thing == "m.id" else _TEXTS_OF_THING)
    words = [] if question.mode == "semantic" else _by_words(connection, question, depth)
    about = _things(connection, corpus, [*near, *words])
    near, words = _one_of_each(near, about), _one_of_each(words, about)
    log.info(
        "search of %s: %d by words, %d by meaning (%s)",
        corpus.table,
        len(words),
        len(near),
        reason or "whole",
    )
    if question.mode == "semantic" or (near and not words):
        return Found(near[:limit], "semantic", reason)
    if not near:
        return Found(words[:limit], "fts5", reason)
    # Each thing by its text with the words where it has one.
    chosen = {about[number][0]: number for _, number in (*near, *words)}
    both = fused(*([chosen[about[number][0]] for _, number in leg] for leg in (words, near)))
    return Found(_one_of_each(both, about)[:limit], "hybrid", None)


def _one_of_each(ranked: Ranked, about: Mapping[int, tuple[Any, int]]) -> Ranked:
    """The best text of each thing; best first, the newer of two equal ones first."""
    ordered = sorted(ranked, key=lambda found: (-found[0], -about[found[1]][1], -found[1]))
    best: dict[Any, tuple[float, int]] = {}
    for found in ordered:
        best.setdefault(about[found[1]][0], found)
    return list(best.values())


def _things(connection: apsw.Connection, corpus: Corpus, ranked: Ranked) -> dict[int, tuple[Any, int]]:
    """(thing, time) of each text."""
    sql = f"""
        select m.id, {corpus.thing}, m.{corpus.time}
        from {corpus.table} m where m.id in (select value from json_each(?))
        """
    ids = str([number for _, number in ranked])
    return {number: (thing, at_ms) for number, thing, at_ms in rows(connection, sql, (ids,))}


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

    def narrow(ids: list[int] | None, at_most: int) -> list[int]:
        among = "" if ids is None else "and m.id in (select value from json_each(:among))"
        sql = f"select m.id from {corpus.table} m where {question.condition} {among} limit :at_most"
        return column(connection, sql, {**question.values, "among": str(ids), "at_most": at_most})

    try:
        vector_of(asked)
        if question.mode == "hybrid" and question.parsed.is_exact:
            return [], "exact_query"
        found = knn.nearest(database, corpus.kind, asked, narrow=narrow, limit=limit)
    except SemanticUnavailable as error:
        return [], error.reason
    except (ValueError, apsw.SQLError) as error:
        log.warning("vectors cannot be searched: %s", type(error).__name__)
        return [], "vector_query_failed"
    standing_out = [(each.score, each.id) for each in found if each.stands_out]
    return standing_out, None if standing_out else "no_vector_hits"


def newest(connection: apsw.Connection, question: Question, limit: int) -> Ranked:
    """What passes the condition, newest first."""
    corpus = question.corpus
    number, group = ("m.id", "") if corpus.thing == "m.id" else ("min(m.id)", f"group by {corpus.thing}")
    return rows(
        connection,
        f"""
        select 0.0, {number}
        from {corpus.table} m
        where {question.condition}
        {group}
        order by m.{corpus.time} desc, m.id desc
        limit :limit
        """,
        {**question.values, "limit": limit},
    )
