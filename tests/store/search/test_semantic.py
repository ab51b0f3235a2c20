"""Words and meaning together: one list, one frame one hit, honest about how it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.embeddings import vectors
from store.embeddings.knn import WORDS_ONLY, RetrievalQuery
from store.frames.frames import captured_ms_of
from store.frames.media import Media
from store.search.filters import Filters
from store.search.hits import BadCursor
from store.search.search import Page, search
from tests.factories import NOON_MS
from tests.fake_embedder import FakeEmbedder
from tests.store.search.searching import ALWAYS, add_frame, ids
from tests.tables import for_each

EMBEDDER = FakeEmbedder()


def embed(database: Database, *frame_ids: int, model: str = "fake") -> None:
    """The vectors of read frames: one for each line."""
    with database.write() as connection:
        for frame_id in frame_ids:
            [(text,)] = connection.execute("select text from readings where frame_id = ?", (frame_id,))
            chunks, at = [], 0
            for line in text.split("\n"):
                if line:
                    [vector] = vectors.quantize(EMBEDDER.embed([line]))
                    chunks.append((at, at + len(line), vector))
                at += len(line) + 1
            vectors.add(connection, "frame", frame_id, model, chunks)


def add(database: Database, text: str, seconds: int = 0, **changes: Any) -> int:
    with database.write() as connection:
        frame_id = add_frame(connection, text, NOON_MS + 1000 * seconds, **changes)
    embed(database, frame_id)
    return frame_id


def ask(database: Database, text: str, filters: Filters = ALWAYS, **options: Any) -> Page:
    [vector] = EMBEDDER.embed([text])
    return search(database, text, filters, **{"meaning": RetrievalQuery(text, vector, "fake"), **options})


def test_frame_is_found_by_its_meaning(database: Database) -> None:
    frame_id = add(database, "a heading of the page\nthe login system\nsomething else entirely")
    add(database, "nothing of the kind", 1)
    page = ask(database, "authentication setup")
    assert ids(page) == [frame_id]
    [hit] = page.hits
    assert hit.matched == ("meaning",)
    assert "login system" in hit.snippet
    assert (page.mode, page.strategy, page.fallback_reason) == ("hybrid", "bm25", None)
    assert (page.total, page.near.total) == (0, 1)


def test_frame_found_both_ways_is_one_hit_and_comes_first(database: Database) -> None:
    other = add(database, "the login system")
    both = add(database, "authentication setup", 1)
    page = ask(database, "authentication setup")
    assert ids(page) == [both, other]
    assert [hit.matched for hit in page.hits] == [("text", "meaning"), ("meaning",)]
    assert (page.total, page.near.total) == (1, 1)


@pytest.mark.parametrize("limit", [5, 100])
def test_frames_in_both_lists_are_counted_once(
    database: Database, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    """Also where only the newest were ranked, and where there are more than are counted."""
    monkeypatch.setattr("store.search.search.TOTAL_LIMIT", limit)
    for module in ("finder", "search"):
        monkeypatch.setattr(f"store.search.{module}.RANKED_BLOCK", 3)
    both = [add(database, "authentication setup", n) for n in range(8)]
    near = [add(database, "the login system", 10 + n) for n in range(4)]
    with database.write() as connection:
        words = [add_frame(connection, "authentication setup", NOON_MS + 20_000 + n) for n in range(2)]
    page = ask(database, "authentication setup", limit=50)
    assert sorted(ids(page)) == [*both, *near, *words]
    assert {hit.frame_id for hit in page.hits if "text" in hit.matched} == {*both, *words}
    assert {hit.frame_id for hit in page.hits if "meaning" in hit.matched} == {*both, *near}
    assert (page.total, page.total_is_exact) == (min(10, limit), limit > 10)
    assert (page.near.total, page.near.total_is_exact) == (4, True)


def test_words_must_all_be_there(database: Database) -> None:
    """An "or" half loses exact finds."""
    add(database, "zebra crossing far away")
    page = ask(database, "zebra authentication")
    assert not [hit for hit in page.hits if "text" in hit.matched]


def test_semantic_goes_by_meaning_alone(database: Database) -> None:
    frame_id = add(database, "lunch at a restaurant")
    page = ask(database, "pizza meal", mode="semantic")
    assert ids(page) == [frame_id]
    assert (page.mode, page.strategy) == ("semantic", "cosine")
    assert 0 < page.hits[0].score <= 1


@pytest.mark.parametrize(
    "changes",
    [
        {"start_ms": NOON_MS + 500},
        {"end_ms": NOON_MS},
        {"app_name": "mail"},
        {"window_name": "other"},
        {"browser_url": "example"},
        {"focused": False},
        {"monitor": "DP-9"},
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_filters_hold_for_meaning_as_for_words(
    database: Database, changes: dict[str, Any], mode: Any
) -> None:
    """A vector hit outside the filters is no hit."""
    add(database, "the login system", app_name="Code", window_name="main.py", focused=True)
    assert ids(ask(database, "authentication setup", mode=mode)) != []
    assert ids(ask(database, "authentication setup", replace(ALWAYS, **changes), mode=mode)) == []


@pytest.mark.parametrize(("few", "many"), [(20, 20), (0, 20), (0, 0)])
def test_rare_frame_is_found_behind_many_nearer_ones(
    database: Database, monkeypatch: pytest.MonkeyPatch, few: int, many: int
) -> None:
    """What a filter lets through is looked for before any limit."""
    for name, number in (("RESCORED", 5), ("FEW", few), ("MANY", many)):
        monkeypatch.setattr(f"store.embeddings.knn.{name}", number)
    rare = add(database, "login page of the system", app_name="Mail")
    for n in range(20):
        add(database, "authentication setup", 1 + n, app_name="Code")
    assert ids(ask(database, "authentication setup", replace(ALWAYS, app_name="mail"))) == [rare]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"vector": None, "model": None}, "no_embeddings"),
        ({"vector": None}, "embedder_unavailable"),
        ({"vector": None, "problem": "switched_off"}, "switched_off"),
        ({"model": "another"}, "model_changed"),
        ({"vector": np.ones(3, np.float32)}, "model_changed"),
    ],
)
@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_words_answer_where_meaning_cannot(
    database: Database, options: dict[str, Any], reason: str, mode: Any
) -> None:
    frame_id = add(database, "login system")
    [vector] = EMBEDDER.embed(["login"])
    meaning = replace(RetrievalQuery("login", vector, "fake"), **options)
    page = search(database, "login", ALWAYS, mode=mode, meaning=meaning)
    assert (ids(page), page.mode, page.fallback_reason) == ([frame_id], "fts", reason)


@for_each(
    ("text", "options", "reason"),
    [
        ('"login system"', {}, "exact_query"),
        ("login NOT page", {}, "exact_query"),
        ("log*", {}, "exact_query"),
        ("login", {"order": "newest"}, "ordered_by_time"),
        ("unheard", {}, "no_vector_hits"),
        ("login", {"mode": "fts"}, None),
    ],
)
def test_reason_says_why_words_answered_alone(
    database: Database, text: str, options: dict[str, Any], reason: str | None
) -> None:
    add(database, "login system")
    page = ask(database, text, **options)
    assert (page.mode, page.fallback_reason) == ("fts", reason)


def test_nothing_embedded_yet_is_said(database: Database) -> None:
    with database.write() as connection:
        frame_id = add_frame(connection, "login system")
    vectors.activate_model(database, "fake", 64)
    page = ask(database, "login")
    assert (ids(page), page.fallback_reason) == ([frame_id], "no_embeddings")


def test_frames_that_the_index_has_no_room_for_are_told(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.embeddings.sign_index.MAX_BYTES", 5 * (12 + 16))
    found = [add(database, "the login system", n) for n in range(20)]
    page = ask(database, "authentication setup")
    since_ms = page.meaning_since_ms
    assert since_ms is not None and NOON_MS < since_ms <= NOON_MS + 19_000
    assert set(ids(page)) == {n for n in found if captured_ms_of(n) >= since_ms}
    assert ask(database, "authentication setup", replace(ALWAYS, start_ms=since_ms)).meaning_since_ms is None
    older = ask(database, "login", replace(ALWAYS, end_ms=since_ms))
    assert (older.mode, older.fallback_reason) == ("fts", "older_than_vectors")
    assert len(older.hits) == sum(captured_ms_of(n) < since_ms for n in found)


def test_filters_that_leave_no_frame_are_not_taken_for_missing_vectors(database: Database) -> None:
    add(database, "the login system", window_name="one")
    page = ask(database, "login", replace(ALWAYS, window_name="two"))
    assert (page.hits, page.fallback_reason, page.meaning_since_ms) == ((), "no_vector_hits", None)


def test_index_being_loaded_is_said(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    frame_id = add(database, "login system")
    monkeypatch.setattr("store.embeddings.knn.is_ready", lambda *_: False)
    page = ask(database, "login")
    assert (ids(page), page.fallback_reason) == ([frame_id], "index_building")


def test_deleted_frame_is_found_by_no_vector(database: Database, data_dir: DataDir) -> None:
    """Also by the index that has it in memory already."""
    from store.deletion import deletion

    gone = add(database, "login system")
    kept = add(database, "login page", 1)
    assert set(ids(ask(database, "authentication"))) == {gone, kept}
    deletion.delete_frames(database, Media(data_dir.media), [gone])
    assert ids(ask(database, "authentication")) == [kept]
    assert ids(ask(database, "authentication", mode="semantic")) == [kept]
    with database.read() as connection:
        assert connection.execute("select count(*) from vectors where thing_id = ?", (gone,)).fetchone() == (
            0,
        )


def test_vectors_of_an_old_reading_are_replaced(database: Database) -> None:
    frame_id = add(database, "login system")
    assert ids(ask(database, "authentication")) == [frame_id]
    with database.write() as connection:
        [vector] = vectors.quantize(EMBEDDER.embed(["pizza"]))
        vectors.add(connection, "frame", frame_id, "fake", [(0, 5, vector)])
    assert ids(ask(database, "authentication", mode="semantic")) == []
    assert ids(ask(database, "lunch")) == [frame_id]


# -- pages --------------------------------------------------------------------------------

WORDS = ["login", "authentication", "pizza", "lunch", "bug", "error", "system", "search"]


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = open_database(DataDir(tmp_path_factory.mktemp("many") / "home"))
    for n in range(60):
        add(database, f"{WORDS[n % 8]} {WORDS[(n // 8) % 8]} {n}", n, app_name=["Code", "Mail"][n % 2])
    yield database
    database.close_thread()


@pytest.fixture(autouse=True)
def short_legs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists so short that a walk goes from the fused part into the rest."""
    if "many" in request.fixturenames:
        monkeypatch.setattr("store.search.search.NEAR_LIMIT", 5)


def walk(database: Database, text: str, filters: Filters = ALWAYS, **options: Any) -> list[Page]:
    pages = [ask(database, text, filters, **options)]
    while pages[-1].next_cursor:
        pages.append(ask(database, text, filters, cursor=pages[-1].next_cursor, **options))
    return pages


@for_each("text", ["login", "authentication", "pizza system", "error 12", "search"])
@for_each("mode", ["hybrid", "semantic"])
@for_each("limit", [1, 3, 7, 100])
@for_each("app", [None, "mail"])
def test_walk_sees_every_hit_once(many: Database, text: str, mode: Any, limit: int, app: str | None) -> None:
    """And the total is what the pages hold."""
    pages = walk(many, text, replace(ALWAYS, app_name=app), mode=mode, limit=limit)
    seen = [hit.frame_id for page in pages for hit in page.hits]
    assert len(seen) == len(set(seen))
    totals = {page.total if mode == "semantic" else page.total + page.near.total for page in pages}
    assert totals == {len(seen)}
    for by_words in (True, False):
        scores = [hit.score for page in pages for hit in page.hits if ("text" in hit.matched) is by_words]
        assert mode == "semantic" or scores == sorted(scores, reverse=True)


@for_each("offset", [0, 2, 6, 9, 30])
def test_offset_skips_that_many(many: Database, offset: int) -> None:
    whole = [hit.frame_id for page in walk(many, "login", limit=4) for hit in page.hits]
    assert ids(ask(many, "login", limit=4, offset=offset)) == whole[offset : offset + 4]


def test_frames_that_come_in_between_repeat_none_and_hide_none(database: Database) -> None:
    before = {add(database, f"login {n}", n) for n in range(12)}
    first = ask(database, "login", limit=4)
    late = add(database, "login login login authentication", 5)
    second = ask(database, "login", limit=4, cursor=first.next_cursor)
    gone = ids(first)[0]
    from store.deletion import deletion

    deletion.delete_frames(database, Media(database.data_dir.media), [gone])
    rest: list[int] = []
    cursor = second.next_cursor
    while cursor:
        page = ask(database, "login", limit=4, cursor=cursor)
        rest += ids(page)
        cursor = page.next_cursor
    seen = [*ids(first), *ids(second), *rest]
    assert len(seen) == len(set(seen))
    assert before <= set(seen) <= before | {late}


def test_what_is_near_follows_what_has_the_words(many: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.search.search.NEAR_LIMIT", 50)
    hits = [hit for page in walk(many, "login", limit=3, above_chance=False) for hit in page.hits]
    by_words = ["text" in hit.matched for hit in hits]
    assert by_words == sorted(by_words, reverse=True) and set(by_words) == {True, False}
    without = [hit.frame_id for page in walk(many, "login", limit=3, meaning=WORDS_ONLY) for hit in page.hits]
    assert without == [hit.frame_id for hit in hits if "text" in hit.matched]


def test_semantic_hits_come_by_time_where_asked(many: Database) -> None:
    pages = walk(many, "pizza", mode="semantic", order="oldest", limit=2)
    seen = [hit.frame_id for page in pages for hit in page.hits]
    assert seen == sorted(seen) and len(seen) == pages[0].total > 2


def test_cursor_of_another_mode_is_refused(many: Database) -> None:
    first = ask(many, "login", limit=3)
    with pytest.raises(BadCursor):
        ask(many, "login", limit=3, mode="semantic", cursor=first.next_cursor)


def test_what_is_near_follows_look_alikes_too(database: Database) -> None:
    """And a later page still counts them."""
    alike = [add(database, "authentlcation", n) for n in range(2)]
    near = [add(database, "the login system", 10 + n) for n in range(3)]
    pages = walk(database, "authentication", limit=2)
    assert {frame for page in pages for frame in ids(page)} == {*alike, *near}
    assert {(page.total, page.near.total, page.strategy) for page in pages} == {(2, 3, "bm25+lookalike")}


def test_meaning_that_is_still_being_made_is_waited_for_beside_the_words(database: Database) -> None:
    said = add(database, "the login system")
    [vector] = EMBEDDER.embed(["authentication setup"])
    page = search(database, "setup", ALWAYS, meaning=lambda: RetrievalQuery("setup", vector, "fake"))
    assert ids(page) == [said]
    page = search(database, "login", ALWAYS, meaning=lambda: RetrievalQuery("login", problem="slow"))
    assert (ids(page), page.fallback_reason) == ([said], "slow")


def test_of_what_is_near_only_what_says_the_words_is_found(database: Database) -> None:
    said = add(database, "the login system")
    add(database, "authentication of a painting", 1)
    [vector] = EMBEDDER.embed(["authentication setup"])

    def likeness(texts: Sequence[str]) -> list[float]:
        return [0.9 if "login" in text else 0.1 for text in texts]

    page = search(
        database, "setup", ALWAYS, meaning=RetrievalQuery("setup", vector, "fake", likeness=likeness)
    )
    assert ids(page) == [said]


@for_each(("share", "looked_at"), [(0.1, 1), (0.9, 2)])
def test_further_texts_are_looked_at_where_a_nearer_one_says_it(
    database: Database, monkeypatch: pytest.MonkeyPatch, share: float, looked_at: int
) -> None:
    monkeypatch.setattr("store.search.search.LOOKED_AT", (1, 2))
    for number, text in enumerate(("authentication system", "authentication setup", "setup system")):
        add(database, text, number)
    [vector] = EMBEDDER.embed(["authentication setup"])
    seen: list[str] = []

    def likeness(texts: Sequence[str]) -> list[float]:
        seen.extend(texts)
        return [share] * len(texts)

    page = search(database, "x", ALWAYS, meaning=RetrievalQuery("x", vector, "fake", likeness=likeness))
    assert (len(seen), bool(page.hits)) == (looked_at, share > 0.5)
