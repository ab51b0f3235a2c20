"""The second pass: look-alikes are found, marked, and never where enough was found without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.search import fuzzy, query, search
from store.search.filters import Filters
from store.search.hits import BadCursor
from store.search.search import Page
from tests.factories import NOON_MS
from tests.store.search.searching import ALWAYS, add_frame, add_texts, ids


@pytest.fixture(scope="module")
def database_of_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    database = open_database(DataDir(tmp_path_factory.mktemp("tolerant") / "home"))
    add_texts(database, "modem rn m 1 l i 0 o", "doud c++ 己经 曰", "vv w cl d")
    yield database
    database.close_thread()


def walked(database: Database, text: str, limit: int) -> list[tuple[int, tuple[str, ...]]]:
    page = search.search(database, text, ALWAYS, limit=limit)
    hits = list(page.hits)
    while page.next_cursor:
        page = search.search(database, text, ALWAYS, limit=limit, cursor=page.next_cursor)
        hits += page.hits
    return [(hit.frame_id, hit.matched) for hit in hits]


def marked(page: Page) -> dict[int, str]:
    return {hit.frame_id: hit.matched[0] for hit in page.hits}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("modem art", "modern"),
        ("the modern router", "modem router"),
        ("lnvoice 17", "invoice"),
        ("the bel lows leather", "bellows"),
        ("total l00 euro", "total 100"),
        ("vvindow", "window"),
        ("window", "vvindow"),
        ("c1oud", "cloud"),
        ("doud storage", "cloud storage"),
        ("pass0ver", "passover"),
        ("会议己经结束", "已经"),
        ("周未愉快", "周末"),
        ("战土", "战士"),
        ("入口在左边", "人口"),
        ("曰程安排", "日程"),
    ],
)
def test_what_looks_alike_is_found_and_marked(database: Database, text: str, asked: str) -> None:
    found, _ = add_texts(database, text, "something else")
    page = search.search(database, asked, ALWAYS)
    assert (marked(page), page.total) == ({found: "lookalike"}, 1)
    assert page.strategy.endswith("+lookalike")
    assert page.hits[0].highlights


@pytest.mark.parametrize("mode", ["fts", "semantic"])
def test_the_exact_modes_stay_exact(database: Database, mode: str) -> None:
    add_texts(database, "modem")
    assert not search.search(database, "modern", ALWAYS, mode=mode).hits  # type: ignore[arg-type]


def test_the_second_pass_has_the_same_filters(database: Database) -> None:
    with database.write() as connection:
        found = add_frame(connection, "modem", app_name="Code")
        add_frame(connection, "modem", NOON_MS + 1, app_name="Zoom")
        add_frame(connection, "modem", NOON_MS + 5000, app_name="Code")
    narrow = replace(ALWAYS, app_name="code", end_ms=NOON_MS + 1000)
    assert ids(search.search(database, "modern", narrow)) == [found]


@pytest.mark.parametrize("asked", ['"modern"', "modern*", "modern OR router", "modern NOT flat"])
def test_what_asks_for_these_very_words_gets_no_look_alike(database: Database, asked: str) -> None:
    add_texts(database, "modem")
    assert not search.search(database, asked, ALWAYS).hits


def test_words_that_a_frame_has_need_no_look_alike(database: Database) -> None:
    exact, _ = add_texts(database, "a modern flat", "a modem flat")
    page = search.search(database, "modern flat", ALWAYS)
    assert (marked(page), page.total, page.total_is_exact) == ({exact: "text"}, 1, True)


@pytest.mark.parametrize(
    ("text", "asked", "is_found"),
    [
        ("do it", "d0", False),
        ("in to it", "into", False),
        ("人", "入", False),
        ("lol", "101", False),  # two exchanges in three letters
        ("so1d", "sold", True),
        ("s0il", "soil", True),
        ("50ii", "soil", False),
        ("10ngest", "longest", True),
    ],
)
def test_the_shorter_a_word_the_less_may_look_different(
    database: Database, text: str, asked: str, is_found: bool
) -> None:
    add_texts(database, text)
    assert bool(search.search(database, asked, ALWAYS).hits) is is_found


def test_a_walk_through_look_alikes_sees_each_once(database: Database) -> None:
    made = add_texts(database, *["modem"] * 7, "other")
    seen = walked(database, "modern", 2)
    assert sorted(frame for frame, _ in seen) == made[:-1]
    assert {matched for _, matched in seen} == {("lookalike",)}


def test_a_cursor_of_a_second_pass_belongs_to_its_question(database: Database) -> None:
    add_texts(database, *["modem"] * 3, "c1oud")
    page = search.search(database, "modern", ALWAYS, limit=1)
    for text, filters in (("cloud", ALWAYS), ("modern", Filters(1, 2)), ("nothing", ALWAYS)):
        with pytest.raises(BadCursor):
            search.search(database, text, filters, limit=1, cursor=page.next_cursor)


@given(st.text(alphabet='rnmvwcl1i0od己已日 "*()+#ORANDT', max_size=60))
def test_any_text_can_be_expanded(database_of_module: Database, text: str) -> None:
    page = search.search(database_of_module, text, ALWAYS)
    assert page.total >= 0


@given(st.text(alphabet="rnmvwcl1i0od已日", min_size=1, max_size=30))
def test_looking_alike_is_mutual_and_bounded(word: str) -> None:
    found = list(fuzzy.variants(word))
    assert word not in found
    assert len(found) == len(set(found))
    for other in fuzzy.variants(word, 1):
        assert word in set(fuzzy.variants(other, 1))


def test_a_query_without_room_for_look_alikes_is_left_alone(database: Database) -> None:
    add_texts(database, "modem")
    words = " ".join(["modern"] * query.MAX_QUERY_WORDS)
    with database.read() as connection:
        assert fuzzy.with_look_alikes(connection, query.parse(words)) is None
