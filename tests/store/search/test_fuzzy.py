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
    page = search.fuzzy_search(database, text, ALWAYS, limit=limit)
    hits = list(page.hits)
    while page.next_cursor:
        page = search.fuzzy_search(database, text, ALWAYS, limit=limit, cursor=page.next_cursor)
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
        ("deploy to prod", '"dep1oy to prod"'),
    ],
)
def test_what_looks_alike_is_found_and_marked(database: Database, text: str, asked: str) -> None:
    found, _ = add_texts(database, text, "something else")
    page = search.fuzzy_search(database, asked, ALWAYS)
    assert (marked(page), page.total) == ({found: "lookalike"}, 1)
    assert page.strategy.endswith("+lookalike")
    assert page.hits[0].highlights


def test_exact_hits_stay_exact_beside_look_alikes(database: Database) -> None:
    exact, alike = add_texts(database, "a modern flat", "a modem flat")
    assert marked(search.fuzzy_search(database, "modern flat", ALWAYS)) == {
        exact: "text",
        alike: "lookalike",
    }


def test_enough_exact_hits_need_no_second_pass(database: Database) -> None:
    made = add_texts(database, *["modern"] * search.LITTLE, "modem")
    page = search.fuzzy_search(database, "modern", ALWAYS)
    assert sorted(ids(page)) == made[:-1]
    assert "lookalike" not in page.strategy


@pytest.mark.parametrize("mode", ["fts", "semantic"])
def test_the_exact_modes_stay_exact(database: Database, mode: str) -> None:
    add_texts(database, "modem")
    assert not search.fuzzy_search(database, "modern", ALWAYS, mode=mode).hits  # type: ignore[arg-type]


def test_the_second_pass_has_the_same_filters(database: Database) -> None:
    with database.write() as connection:
        found = add_frame(connection, "modem", app_name="Code")
        add_frame(connection, "modem", NOON_MS + 1, app_name="Zoom")
        add_frame(connection, "modem", NOON_MS + 5000, app_name="Code")
    narrow = replace(ALWAYS, app_name="code", end_ms=NOON_MS + 1000)
    assert ids(search.fuzzy_search(database, "modern", narrow)) == [found]


def test_a_walk_through_look_alikes_sees_each_once(database: Database) -> None:
    made = add_texts(database, "modern", *["modem"] * 7, "modern", "other")
    seen = walked(database, "modern", 2)
    assert sorted(frame for frame, _ in seen) == made[:-1]
    assert [matched for frame, matched in seen if frame in (made[0], made[8])] == [("text",)] * 2
    assert search.fuzzy_search(database, "modern", ALWAYS, limit=2).total == 9


def test_a_cursor_of_a_second_pass_belongs_to_its_question(database: Database) -> None:
    add_texts(database, *["modem"] * 3, "c1oud")
    page = search.fuzzy_search(database, "modern", ALWAYS, limit=1)
    for text, filters in (("cloud", ALWAYS), ("modern", Filters(1, 2)), ("nothing", ALWAYS)):
        with pytest.raises(BadCursor):
            search.fuzzy_search(database, text, filters, limit=1, cursor=page.next_cursor)


def test_what_is_excluded_is_excluded_exactly(database: Database) -> None:
    _, kept = add_texts(database, "modem flat", "modem fiat house")
    assert ids(search.fuzzy_search(database, "modern NOT flat", ALWAYS)) == [kept]


@given(st.text(alphabet='rnmvwcl1i0od己已日 "*()+#ORANDT', max_size=60))
def test_any_text_can_be_expanded(database_of_module: Database, text: str) -> None:
    page = search.fuzzy_search(database_of_module, text, ALWAYS)
    assert page.total >= 0


@given(st.text(alphabet="rnmvwcl1i0od已日", min_size=1, max_size=30))
def test_looking_alike_is_mutual_and_bounded(word: str) -> None:
    found = list(fuzzy.variants(word))
    assert word not in found
    assert len(found) == len(set(found))
    for other in found[:5]:
        assert word in set(fuzzy.variants(other))


def test_a_query_without_room_for_look_alikes_is_left_alone(database: Database) -> None:
    add_texts(database, "modem")
    words = " ".join(["modern"] * query.MAX_QUERY_WORDS)
    with database.read() as connection:
        assert fuzzy.expand_query(connection, query.parse(words)) is None
