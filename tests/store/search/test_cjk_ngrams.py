"""Words without spaces in pieces: what is cut, what is found, what comes first, and that it is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core.database import Database
from store.search import fuzzy, query, search
from store.search.query import Query
from tests.factories import NOON_MS
from tests.store.search.searching import ALWAYS, add_frame, add_texts, ids
from tests.tables import for_each


def cut(text: str) -> Query | None:
    return fuzzy.split_ngrams(query.parse(text))


@for_each(
    ("text", "ways"),
    [
        ("青禾账单", ["青禾|账单"]),
        ("青禾服务器", ["青禾|服务器", "青禾服|务器"]),
        ("送女朋友礼物", ["送女|朋友|礼物", "送女朋|友礼物"]),
        ("かいぎしつ", ["かい|ぎしつ", "かいぎ|しつ"]),
    ],
)
def test_a_run_is_cut_in_every_way_into_pieces_of_two_and_three(text: str, ways: list[str]) -> None:
    found = cut(text)
    assert found is not None and found.match is not None
    for way in ways:
        words = [f'"{" ".join(piece)}"' for piece in way.split("|")]
        assert " AND ".join(words) in found.match
    assert found.match.count("AND") == sum(way.count("|") for way in ways)


@for_each(
    "text",
    [
        "", "  ", "!", "账单", "服务器", "青禾 账单", '"青禾账单"', "青禾账单*", "青禾账单 OR 发票",
        "青禾账单 NOT 发票", "NEAR(青禾账单 发票, 3)", "invoices", "node.js.on.win",
        "C++青禾账单", "请尽快支付青禾发票",
    ],
)  # fmt: skip
def test_what_is_asked_for_exactly_is_not_cut(text: str) -> None:
    assert cut(text) is None


@given(st.text(alphabet='青禾账单的 a1+"*()', max_size=80))
def test_any_text_can_be_cut(text: str) -> None:
    found = cut(text)
    if found is not None:
        assert found.tree is not None and found.match is not None


def test_words_apart_are_found_where_no_frame_has_them_whole(database: Database) -> None:
    apart, also_apart, _ = add_texts(database, "青禾的账单 " * 30, "青禾上个月的账单仍未结清", "青禾没有")
    page = search.search(database, "青禾账单", ALWAYS)
    assert sorted(ids(page)) == [apart, also_apart]
    assert {hit.matched for hit in page.hits} == {("pieces",)}
    assert (page.total, page.strategy) == (2, "bm25+pieces")
    shown = next(hit for hit in page.hits if hit.frame_id == also_apart)
    assert [shown.snippet[start:end] for start, end in shown.highlights] == ["青禾", "账单"]


@pytest.mark.parametrize("options", [{}, {"mode": "fts"}, {"order": "newest"}])
def test_whole_words_alone_are_counted_where_there_are_some(
    database: Database, options: dict[str, str]
) -> None:
    whole, _ = add_texts(database, "青禾账单", "青禾的账单")
    page = search.search(database, "青禾账单", ALWAYS, **options)
    assert (ids(page), page.total) == ([whole], 1)


def test_a_walk_sees_each_once(database: Database) -> None:
    made = add_texts(database, *["青禾的账单", "青禾 2 账单", "账单"] * 3)
    page = search.search(database, "青禾账单", ALWAYS, limit=2)
    seen = ids(page)
    while page.next_cursor:
        page = search.search(database, "青禾账单", ALWAYS, limit=2, cursor=page.next_cursor)
        seen += ids(page)
    assert sorted(seen) == sorted(each for n, each in enumerate(made) if n % 3 != 2)


def test_pieces_have_the_same_filters(database: Database) -> None:
    with database.write() as connection:
        kept = add_frame(connection, "青禾的账单", app_name="Code")
        add_frame(connection, "青禾的账单", NOON_MS + 1, app_name="Zoom")
    assert ids(search.search(database, "青禾账单", replace(ALWAYS, app_name="code"))) == [kept]


def test_pieces_may_look_alike_too(database: Database) -> None:
    [alike] = add_texts(database, "周未不开会")
    page = search.search(database, "周末开会", ALWAYS)
    assert {hit.frame_id: hit.matched for hit in page.hits} == {alike: ("lookalike",)}
