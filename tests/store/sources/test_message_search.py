"""Search over messages: every kind of query, and filters that are part of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest

from store.core.database import Database, clean_text, open_database
from store.core.paths import DataDir
from store.embeddings import vectors
from store.embeddings.knn import RetrievalQuery
from store.embeddings.vectors import quantize
from store.memory import daily_summaries, retrievers
from store.memory.retrievers import Corpus, Mode
from store.sources import messages
from store.sources.messages import Filters, MessagePage
from tests.factories import CASES, NOON_MS
from tests.fake_embedder import FakeEmbedder
from tests.sources import message, put_messages
from tests.store.search.plans import plans
from tests.tables import for_each

_SHARED = json.loads((CASES / "search_queries.json").read_text(encoding="utf-8"))
DAY_MS = 86_400_000


def query_of(case: dict[str, Any]) -> str:
    if "query" in case:
        return str(case["query"])
    parts = (p if isinstance(p, str) else p["repeat"] * p["times"] for p in case["query_parts"])
    return "".join(parts)


def embed(database: Database, corpus: Corpus = retrievers.MESSAGES) -> FakeEmbedder:
    """Vectors for everything that waits for some."""
    embedder = FakeEmbedder()
    vectors.activate_model(database, embedder.name, embedder.dimension)
    for number in vectors.missing(database, corpus.kind, embedder.name, 10_000):
        text = retrievers.texts(database, corpus, [number])[number]
        [vector] = quantize(embedder.embed([text]))
        with database.write() as connection:
            vectors.add(connection, corpus.kind, number, embedder.name, [(0, len(text), vector)])
    return embedder


def asking(text: str, embedder: FakeEmbedder | None = None) -> RetrievalQuery:
    return (
        RetrievalQuery(text)
        if embedder is None
        else RetrievalQuery(text, embedder.embed([text])[0], embedder.name)
    )


def said(page: MessagePage) -> list[str]:
    return [hit.message.body for hit in page.hits]


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Database]]:
    """The shared corpora as messages, each in a home of its own."""
    made = {}
    for name, texts in _SHARED["corpora"].items():
        made[name] = open_database(DataDir(tmp_path_factory.mktemp(name) / "home"))
        put_messages(made[name], [message(text["text"], external_id=str(text["id"])) for text in texts])
    yield made
    for database in made.values():
        database.close_thread()


@for_each("case", _SHARED["cases"], ids=lambda case: case["id"])
def test_every_query_finds_what_the_cases_say(corpora: dict[str, Database], case: dict[str, Any]) -> None:
    texts = _SHARED["corpora"][case["corpus"]]
    page = messages.search_messages(corpora[case["corpus"]], RetrievalQuery(query_of(case)), limit=100)
    by_text = {clean_text(text["text"]): text["id"] for text in texts}
    found = sorted(by_text[hit.message.body] for hit in page.hits)
    assert found == (sorted(by_text.values()) if case.get("browse") else case["match"])


@pytest.mark.parametrize("mode", ["fts5", "semantic", "hybrid"])
def test_a_weak_match_inside_is_never_lost_to_500_strong_ones_outside(database: Database, mode: Mode) -> None:
    strong = [message("dinner dinner dinner", NOON_MS + n, external_id=str(n)) for n in range(500)]
    weak = message("after a long day there was at last some dinner at home", NOON_MS - DAY_MS)
    put_messages(database, [*strong, weak])
    embedder = embed(database)
    filters = Filters(NOON_MS - 2 * DAY_MS, NOON_MS)
    page = messages.search_messages(database, asking("dinner", embedder), filters, mode=mode, limit=20)
    assert said(page) == [weak.body]
    everything = messages.search_messages(database, asking("dinner", embedder), mode=mode, limit=20)
    assert weak.body not in said(everything)


@for_each("mode", ["fts5", "semantic", "hybrid"])
def test_contact_is_filtered_inside_the_query(database: Database, mode: Mode) -> None:
    put_messages(database, [message("dinner", NOON_MS + n, "111", external_id=str(n)) for n in range(300)])
    put_messages(database, [message("is there any dinner left or not", NOON_MS, "222")])
    [one] = messages.contacts(database, "222")
    embedder = embed(database)
    page = messages.search_messages(
        database, asking("dinner", embedder), Filters(contact_id=one.id), mode=mode, limit=5
    )
    assert [hit.message.contact_id for hit in page.hits] == [one.id]


def test_hybrid_finds_what_only_one_of_the_two_finds(database: Database) -> None:
    put_messages(database, [message("shall we have pizza"), message("lunch box"), message("car repair")])
    embedder = embed(database)
    page = messages.search_messages(database, asking("lunch", embedder))
    assert (set(said(page)), page.strategy) == ({"lunch box", "shall we have pizza"}, "hybrid")
    assert said(page)[0] == "lunch box", "both ways find it"
    by_words = messages.search_messages(database, asking("lunch", embedder), mode="fts5")
    assert (said(by_words), by_words.strategy) == (["lunch box"], "fts5")
    by_meaning = messages.search_messages(database, asking("meal", embedder), mode="semantic")
    assert set(said(by_meaning)) == {"lunch box", "shall we have pizza"}


def test_without_embeddings_hybrid_is_words_and_semantic_says_why(database: Database) -> None:
    put_messages(database, [message("lunch box")])
    page = messages.search_messages(database, RetrievalQuery("lunch"))
    assert (said(page), page.strategy, page.fallback_reason) == (["lunch box"], "fts5", "no_embeddings")
    semantic = messages.search_messages(database, RetrievalQuery("lunch"), mode="semantic")
    assert (said(semantic), semantic.fallback_reason) == ([], "no_embeddings")


def test_exact_words_are_not_joined_by_what_means_the_same(database: Database) -> None:
    put_messages(database, [message("lunch box"), message("pizza")])
    page = messages.search_messages(database, asking('"lunch"', embed(database)))
    assert (said(page), page.fallback_reason) == (["lunch box"], "exact_query")


def test_subjects_are_searched_and_snippets_show_the_words(database: Database) -> None:
    put_messages(database, [message("x " * 500 + "the kraken wakes", subject="Invoice 7")])
    assert len(messages.search_messages(database, RetrievalQuery("invoice")).hits) == 1
    [hit] = messages.search_messages(database, RetrievalQuery("kraken")).hits
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["kraken"]


def test_no_search_reads_the_table_of_messages(database: Database) -> None:
    put_messages(database, [message("lunch box", address="111")])
    found = plans(
        database,
        lambda: messages.search_messages(database, RetrievalQuery("lunch"), Filters(NOON_MS, NOON_MS + 1, 1)),
    )
    assert not [plan for plan in found if plan.startswith("SCAN m")]


# -- days ---------------------------------------------------------------------------------


def test_days_are_found_by_words_meaning_and_range(database: Database) -> None:
    with database.write() as connection:
        for n, text in enumerate(("pizza with Anna", "wrote the report", "lunch alone")):
            start_ms = NOON_MS + n * DAY_MS
            daily_summaries.put(
                connection, date(2026, 11, 20 + n), "UTC", start_ms, start_ms + DAY_MS, text, "rule", 1
            )
    embedder = embed(database, retrievers.DAYS)
    found, strategy, _ = daily_summaries.search(database, asking("lunch", embedder))
    assert ([day.text for day in found], strategy) == (["lunch alone", "pizza with Anna"], "hybrid")
    found, strategy, reason = daily_summaries.search(database, RetrievalQuery("report"))
    assert ([day.day for day in found], strategy, reason) == (["2026-11-21"], "fts5", "no_embeddings")
    inside, _, _ = daily_summaries.search(database, RetrievalQuery(""), NOON_MS + 1, NOON_MS + DAY_MS)
    assert [day.day for day in inside] == ["2026-11-20"]
