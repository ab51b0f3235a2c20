"""Memory search: documents, both ways to find them, windows, limits and order (R4)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.chats import conversations
from store.core.database import Database, rows, scalar
from store.embeddings import vectors
from store.embeddings.knn import RetrievalQuery
from store.memory import observation_writer, retrievers, search
from store.memory.documents import get_prompts, get_sessions
from store.memory.entries import MEMORY_WINDOW_MS, RECORD_TYPES, MemoryFilters
from store.memory.observation_writer import backfill
from store.memory.observations import Fact
from store.memory.search import MemoryPage
from tests.factories import CASES, NOON_MS
from tests.memories import draft, put_observation, put_session
from tests.store.search.plans import plans

DAY_MS = 86_400_000
MODEL = "fake"

# A deterministic embedder: words of one group have one direction.
SYNONYMS = (
    {"authentication", "login", "sign"},
    {"setup", "system"},
    {"fix", "error", "issue", "problem", "bug"},
    {"ai", "embeddings", "hybrid", "search", "vector"},
    {"cooking", "pasta", "tomato"},
)


def meaning(text: str) -> np.ndarray:
    said = {word.strip(".,").casefold() for word in text.split()}
    found = np.array([0.001, *(float(bool(said & group)) for group in SYNONYMS)])
    return found / np.linalg.norm(found)


def embed(database: Database) -> None:
    """Give every document that waits its vector."""
    vectors.activate_model(database, MODEL, len(SYNONYMS) + 1)
    waiting = vectors.missing(database, "document", MODEL, 1_000)
    texts = retrievers.texts(database, retrievers.DOCUMENTS, waiting)
    with database.write() as connection:
        for number in waiting:
            vector = vectors.quantize(meaning(texts[number])[None])[0]
            vectors.add(connection, "document", number, MODEL, [(0, len(texts[number]), vector)])


def asking(text: str) -> RetrievalQuery:
    return RetrievalQuery(text, meaning(text), MODEL)


def ask_prompt(database: Database, text: str, at_ms: int = NOON_MS) -> int:
    chat = conversations.create(database, text, at_ms)
    conversations.add_turn(
        database, chat, mode="evidence", model="m", question=text, start_ms=None, end_ms=None,
        timezone="UTC", now_ms=at_ms,
    )  # fmt: skip
    with database.read() as connection:
        return int(scalar(connection, "select max(id) from messages"))


def keys(page: MemoryPage) -> list[tuple[str, int]]:
    return [(entry.type, entry.id) for entry in page.entries]


def document_ids(database: Database) -> set[str]:
    with database.read() as connection:
        return {name for (name,) in rows(connection, "select document_id from memory_documents")}


# -- documents ----------------------------------------------------------------------------


def test_a_prompt_is_one_document_with_its_metadata(database: Database) -> None:
    number = ask_prompt(database, "Where did I set the retention?\nAnd when?")
    with database.read() as connection:
        found = rows(
            connection,
            "select document_id, sqlite_id, doc_type, session_id, project, created_ms, prompt_number, text"
            " from memory_documents",
        )
    assert found == [
        (f"prompt_{number}", number, "user_prompt", 1, None, NOON_MS, 1,
         "Where did I set the retention?\nAnd when?"),
    ]  # fmt: skip


def test_an_observation_gives_a_document_per_field(database: Database) -> None:
    number = put_observation(database, facts=[("a line", NOON_MS * 1024)])
    assert document_ids(database) == {f"obs_{number}_{field}" for field in ("narrative", "facts", "text")}


def test_a_summary_gives_one_per_field_that_is_not_null(database: Database) -> None:
    number = put_session(
        database, request="a", investigated="b", learned=None, completed=" ", next_steps="e", notes="f"
    )
    fields = ("request", "investigated", "next_steps", "notes")
    assert document_ids(database) == {f"summary_{number}_{field}" for field in fields}


def test_the_backfill_goes_newest_first_and_once(database: Database) -> None:
    for n in range(7):
        ask_prompt(database, f"question {n}", NOON_MS + n)
    put_observation(database), put_session(database, notes="n")
    with database.write() as connection:
        connection.execute("delete from memory_documents")
    found = backfill(database)
    assert (found.prompts, found.created) == (7, 10)
    with database.read() as connection:
        made = rows(
            connection, "select sqlite_id from memory_documents where doc_type = 'user_prompt' order by id"
        )
    assert len(made) == 7 and made[0] > made[2]
    assert backfill(database).created == 0


def test_a_prompt_is_found_as_soon_as_it_is_asked_and_not_after_its_chat_is_gone(
    database: Database,
) -> None:
    number = ask_prompt(database, "zebra crossing")
    assert keys(search.search_memory(database, RetrievalQuery("zebra"), ("prompt",), now_ms=NOON_MS)) == [
        ("prompt", number)
    ]
    conversations.delete(database, 1)
    assert keys(search.search_memory(database, RetrievalQuery("zebra"), now_ms=NOON_MS)) == []
    assert document_ids(database) == set()


def test_an_unchanged_text_keeps_its_document_and_its_vectors(database: Database) -> None:
    number = put_observation(database, place="here", narrative="same", title="one")
    embed(database)
    with database.write() as connection:
        observation_writer.put(connection, draft(place="here", narrative="same", title="two"), NOON_MS)
    with database.read() as connection:
        waiting = rows(
            connection,
            "select d.document_id from embedding_queue q join memory_documents d on d.id = q.thing_id",
        )
    assert waiting == [(f"obs_{number}_text",)]


# -- meaning and words --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("authentication setup", "login system"),
        ("authentication system", "a session about login"),
        ("fix bug", "an error came up"),
        ("fix bug", "the issue was open"),
        ("fix bug", "that problem again"),
        ("AI embeddings", "hybrid search"),
    ],
)
def test_meaning_finds_other_words(database: Database, question: str, said: str) -> None:
    expected = {
        ("observation", put_observation(database, title="x", narrative=said)),
        ("session", put_session(database, investigated=said)),
        ("prompt", ask_prompt(database, said)),
    }
    put_observation(database, title="pasta", narrative="cooking tomato pasta")
    embed(database)
    page = search.search_memory(database, asking(question), now_ms=NOON_MS)
    assert (page.strategy, page.fallback_reason) == ("semantic", None)
    assert set(keys(page)) == expected


def test_each_search_has_its_type(database: Database) -> None:
    one = put_observation(database, narrative="login")
    two = put_session(database, notes="login")
    three = ask_prompt(database, "login")
    embed(database)
    for asked in (asking("login"), RetrievalQuery("login")):
        for kind, number in (("observation", one), ("session", two), ("prompt", three)):
            assert keys(search.search_memory(database, asked, (kind,), now_ms=NOON_MS)) == [(kind, number)]


def test_an_error_of_the_vector_query_falls_back_and_is_logged(
    database: Database, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = put_observation(database, narrative="login")

    def broken(*args: object, **options: object) -> object:
        raise ValueError("no such thing")

    monkeypatch.setattr("store.embeddings.knn.nearest", broken)
    with caplog.at_level(logging.INFO):
        page = search.search_memory(database, asking("login"), now_ms=NOON_MS)
    assert (keys(page), page.strategy, page.fallback_reason) == (
        [("observation", number)], "fts", "vector_query_failed",
    )  # fmt: skip
    assert "vectors cannot be searched: ValueError" in caplog.text


def test_no_hit_by_meaning_falls_back(database: Database) -> None:
    put_observation(database, title="pasta", narrative="cooking pasta")
    number = put_observation(database, title="zebra", narrative="zebra")
    embed(database)
    asked = RetrievalQuery("zebra", meaning("login"), MODEL)
    page = search.search_memory(database, asked, now_ms=NOON_MS)
    assert (keys(page), page.fallback_reason) == ([("observation", number)], "no_vector_hits")


def test_hits_all_outside_the_window_fall_back(database: Database) -> None:
    put_observation(database, start_ms=NOON_MS - 200 * DAY_MS, title="login", narrative="login")
    embed(database)
    page = search.search_memory(database, asking("authentication"), now_ms=NOON_MS)
    assert (keys(page), page.strategy, page.fallback_reason) == ([], "fts", "no_vector_hits")


def test_without_embeddings_words_answer(database: Database) -> None:
    number = put_observation(database, narrative="login 登录系统")
    for text in ("login", "登录", '"login 登录"', "log*"):
        page = search.search_memory(database, RetrievalQuery(text), now_ms=NOON_MS)
        assert (keys(page), page.fallback_reason) == ([("observation", number)], "no_embeddings"), text


def test_words_and_meaning_are_one_list(database: Database) -> None:
    near = [put_observation(database, start_ms=NOON_MS - n, title="sign", narrative="sign") for n in range(3)]
    both = put_observation(database, start_ms=NOON_MS - 9, title="login", narrative="login today")
    session = put_session(database, learned="the login of pasta")
    embed(database)
    page = search.search_memory(database, asking("login"), now_ms=NOON_MS)
    assert (page.strategy, page.fallback_reason) == ("hybrid", None)
    assert keys(page)[0] == ("observation", both)
    assert set(keys(page)) == {("session", session), *(("observation", one) for one in (both, *near))}
    first = page.entries[0]
    assert first.snippet[slice(*first.highlights[0])] == "login"
    assert [entry.score for entry in page.entries] == sorted((e.score for e in page.entries), reverse=True)


def test_a_word_is_found_however_many_are_nearer_by_meaning(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.memory.retrievers._DEPTH", 5)
    for n in range(10):
        put_observation(database, start_ms=NOON_MS - n, title="bug", narrative="error issue problem")
    number = put_observation(database, title="invoice48213", narrative="lunch pizza restaurant")
    embed(database)
    page = search.search_memory(
        database, RetrievalQuery("invoice48213", meaning("bug"), MODEL), now_ms=NOON_MS
    )
    assert ("observation", number) in keys(page)[:2]


@pytest.mark.parametrize("text", ['"login today"', "log*", "login NOT pasta"])
def test_exact_words_are_not_answered_by_meaning(database: Database, text: str) -> None:
    put_observation(database, title="sign", narrative="sign")
    number = put_observation(database, title="login", narrative="login today")
    embed(database)
    page = search.search_memory(database, RetrievalQuery(text, meaning("login"), MODEL), now_ms=NOON_MS)
    assert (keys(page), page.strategy, page.fallback_reason) == (
        [("observation", number)], "fts", "exact_query",
    )  # fmt: skip


def test_stages_log_counts_and_never_the_question(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    put_observation(database, narrative="login", title="login")
    embed(database)
    with caplog.at_level(logging.DEBUG):
        search.search_memory(database, asking("login secretword"), now_ms=NOON_MS)
        search.search_memory(database, RetrievalQuery("secretword"), now_ms=NOON_MS)
    assert "search of memory_documents: 0 by words, 1 by meaning (whole)" in caplog.text
    assert "search of memory_documents: 0 by words, 0 by meaning (no_embeddings)" in caplog.text
    assert "secretword" not in caplog.text


def test_one_entry_per_type_and_id_with_its_best_document(database: Database) -> None:
    one = put_observation(database, title="login", narrative="login login", facts=[("login", 1)])
    two = put_session(database, notes="login")
    assert one == two
    page = search.search_memory(database, RetrievalQuery("login"), now_ms=NOON_MS)
    assert sorted(keys(page)) == [("observation", 1), ("session", 1)]
    assert [entry.start_ms for entry in page.entries] == [NOON_MS, NOON_MS]
    assert all(entry.snippet[slice(*entry.highlights[0])] == "login" for entry in page.entries)


def test_rows_come_in_the_order_of_their_ids(database: Database) -> None:
    ids = [put_session(database, NOON_MS - n * DAY_MS, notes=f"{n}") for n in range(3)]
    asked = [ids[1], ids[2], ids[0], 99, ids[1]]
    assert [each.id for each in get_sessions(database, asked)] == [ids[1], ids[2], ids[0]]
    assert get_sessions(database, []) == [] == get_prompts(database, [])
    prompts = [ask_prompt(database, f"q{n}", NOON_MS + n) for n in range(2)]
    assert [each.id for each in get_prompts(database, [*reversed(prompts), 99])] == prompts[::-1]


# -- windows, limits, order ---------------------------------------------------------------


@pytest.mark.parametrize("with_vectors", [True, False])
def test_the_window_is_in_milliseconds_and_only_without_a_range(
    database: Database, with_vectors: bool
) -> None:
    """A row five years old must not pass the 90 days, a hit 120 days old is found with a range."""
    recent, older, ancient = (
        put_observation(database, start_ms=NOON_MS - days * DAY_MS, title="login", narrative="login")
        for days in (89, 120, 5 * 365)
    )
    if with_vectors:
        embed(database)
    asked = asking("login") if with_vectors else RetrievalQuery("login")
    assert keys(search.search_memory(database, asked, now_ms=NOON_MS)) == [("observation", recent)]
    with_range = MemoryFilters(start_ms=NOON_MS - 121 * DAY_MS, end_ms=NOON_MS - 100 * DAY_MS)
    assert keys(search.search_memory(database, asked, filters=with_range, now_ms=NOON_MS)) == [
        ("observation", older)
    ]
    everything = search.search_memory(database, asked, filters=MemoryFilters(start_ms=0), now_ms=NOON_MS)
    assert {number for _, number in keys(everything)} == {recent, older, ancient}


def test_the_edge_of_the_window_is_where_the_days_end(database: Database) -> None:
    for end_ms, found in ((NOON_MS - MEMORY_WINDOW_MS, 0), (NOON_MS - MEMORY_WINDOW_MS + 1, 1)):
        put_observation(database, start_ms=end_ms - 1_000, active_ms=1_000, narrative="edge", place="p")
        assert len(keys(search.search_memory(database, RetrievalQuery("edge"), now_ms=NOON_MS))) == found


def test_the_limit_comes_after_the_date_filter(database: Database) -> None:
    for n in range(5):
        put_observation(
            database, start_ms=NOON_MS - (200 + n) * DAY_MS, title="login", narrative="login login login"
        )
    recent = put_observation(
        database, title="pasta", narrative="login to the kitchen and cook something long"
    )
    for asked in (asking("login"), RetrievalQuery("login")):
        embed(database)
        assert keys(search.search_memory(database, asked, now_ms=NOON_MS, limit=1)) == [
            ("observation", recent)
        ]


def test_the_best_match_is_not_lost_to_newer_weaker_ones(database: Database) -> None:
    best = put_observation(database, start_ms=NOON_MS - 30 * DAY_MS, title="login", narrative="login")
    weaker = [
        put_observation(
            database, start_ms=NOON_MS - n * DAY_MS, title="w", narrative="login cooking search setup"
        )
        for n in range(25)
    ]
    embed(database)
    page = search.search_memory(database, asking("authentication"), now_ms=NOON_MS)
    assert keys(page)[0] == ("observation", best) and len(page.entries) == 20
    # Equal scores: the newer one first.
    assert [number for _, number in keys(page)[1:]] == weaker[:19]
    by_date = search.search_memory(database, asking("authentication"), now_ms=NOON_MS, order="date")
    assert ("observation", best) == keys(by_date)[-1]


def test_blank_text_gives_the_newest(database: Database) -> None:
    ids = [put_observation(database, start_ms=NOON_MS - n * DAY_MS) for n in range(3)]
    page = search.search_memory(database, RetrievalQuery("  "), now_ms=NOON_MS, limit=2)
    assert (keys(page), page.strategy) == ([("observation", ids[0]), ("observation", ids[1])], "newest")


def test_recent_context_mixes_types_newest_first_within_a_project(database: Database) -> None:
    session = put_session(database, NOON_MS - 2, notes="n", project="recall")
    one = put_observation(database, start_ms=NOON_MS - 1, project="recall")
    prompt = ask_prompt(database, "q", NOON_MS)
    put_observation(database, start_ms=NOON_MS - 100 * DAY_MS, project="recall")
    page = search.search_memory(database, RetrievalQuery(""), RECORD_TYPES, now_ms=NOON_MS)
    assert keys(page) == [("prompt", prompt), ("observation", one), ("session", session)]
    page = search.search_memory(
        database, RetrievalQuery(""), RECORD_TYPES, MemoryFilters(project="Recall"), now_ms=NOON_MS
    )
    assert keys(page) == [("observation", one), ("session", session)]


def test_metadata_first_then_meaning(database: Database) -> None:
    facts = {"concepts": ["Retention"], "files": ["store/retention.py"], "kind": "coding"}
    near = put_observation(database, start_ms=NOON_MS - DAY_MS, title="t", narrative="login", **facts)
    far = put_observation(database, title="t", narrative="pasta", **facts)
    put_observation(database, title="login", narrative="login", kind="mail", concepts=["retention days"])
    embed(database)
    for narrowed in ({"concept": "retention"}, {"file": "RETENTION.py"}, {"kind": "coding"}):
        page = search.search_memory(
            database, asking("authentication"), ("observation",), MemoryFilters(**narrowed), now_ms=NOON_MS,
            fill=True,
        )  # fmt: skip
        # What means it comes first, the others that have it follow.
        assert keys(page) == [("observation", near), ("observation", far)]


def test_a_hundred_nearer_documents_of_other_kinds_lose_none_that_is_asked_for(database: Database) -> None:
    """Filters come before the hundred nearest are taken."""
    for n in range(60):
        put_observation(database, start_ms=NOON_MS + n, title="login", narrative="login", kind="mail")
    wanted = put_observation(database, title="w", narrative="login setup", kind="coding")
    embed(database)
    filters = MemoryFilters(kind="coding")
    assert keys(search.search_memory(database, asking("login"), filters=filters, now_ms=NOON_MS)) == [
        ("observation", wanted)
    ]


def test_filters_follow_what_a_person_wrote(database: Database) -> None:
    number = put_observation(database, concepts=["old"], kind="coding", project="a")
    words = {"concepts": ["new"], "kind": "writing", "project": "b"}
    observation_writer.edit(database, number, words, NOON_MS)
    for filters, found in (
        (MemoryFilters(concept="old"), 0), (MemoryFilters(concept="NEW"), 1),
        (MemoryFilters(kind="coding"), 0), (MemoryFilters(kind="writing"), 1),
        (MemoryFilters(project="a"), 0), (MemoryFilters(project="b"), 1),
    ):  # fmt: skip
        assert (
            len(keys(search.search_memory(database, RetrievalQuery(""), filters=filters, now_ms=NOON_MS)))
            == found
        ), filters


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=60), st.text(max_size=20))
def test_no_text_is_an_error(database: Database, text: str, name: str) -> None:
    filters = MemoryFilters(project=name, concept=name, file=name, kind=name)
    search.search_memory(database, RetrievalQuery(text), filters=filters, now_ms=NOON_MS)
    search.search_memory(database, RetrievalQuery(text), now_ms=NOON_MS)


def test_the_shared_queries_are_no_errors(database: Database) -> None:
    put_observation(database, narrative="words to find: C++ and retention")
    text = (CASES / "search_queries.json").read_text(encoding="utf-8")
    for line in text.splitlines():
        search.search_memory(database, RetrievalQuery(line.strip()), now_ms=NOON_MS)


def test_a_search_by_words_walks_the_index_first(database: Database) -> None:
    put_observation(database)
    used = plans(database, lambda: search.search_memory(database, RetrievalQuery("work"), now_ms=NOON_MS))
    assert any("memory_fts VIRTUAL TABLE INDEX" in line for line in used)
    assert not any(line.startswith("SCAN d") and "memory_fts" not in line for line in used), used


def test_facts_know_their_frames(database: Database) -> None:
    number = put_observation(database, facts=[("a line", 7), ("mine", 8)])
    observation_writer.edit(database, number, {"facts": ["mine", "theirs"]}, NOON_MS)
    page = search.search_memory(database, RetrievalQuery("theirs"), now_ms=NOON_MS)
    body: Sequence[Fact] = page.entries[0].body.facts  # type: ignore[union-attr]
    assert list(body) == [Fact("mine", 8), Fact("theirs", None)]
