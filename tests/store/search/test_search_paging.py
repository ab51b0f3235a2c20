"""Pages: a walk over all of them sees every frame once, whatever arrives meanwhile."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.database import Database, open_database
from store.core.paths import DataDir
from store.search import hits as cursors
from store.search.filters import Filters
from store.search.hits import BadCursor, Cursor
from store.search.search import Order, search
from tests.factories import NOON_MS
from tests.store.search.searching import ALWAYS, add_frame, ids, walk
from tests.tables import for_each

FRAMES = 90


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Frames with few different words, apps and windows, so that most filters match some."""
    database = open_database(DataDir(tmp_path_factory.mktemp("many") / "home"))
    rng = random.Random(1)
    with database.write() as connection:
        for number in range(FRAMES):
            text = " ".join(rng.choices(["alpha", "beta", "gamma", "c++", "c", "今天"], k=rng.randint(1, 9)))
            add_frame(
                connection,
                None if number % 9 == 0 else text,
                NOON_MS + 1000 * (number // 2),
                app_name=rng.choice(["Code", "WeChat", "Zoom", None]),
                window_name=rng.choice(["alpha - one", "beta - two", None]),
                browser_url=rng.choice(["https://example.com/a", None]),
                focused=rng.choice([True, False, None]),
                monitor=rng.choice(["DP-1", "DP-2"]),
            )
    yield database
    database.close_thread()


@pytest.fixture(scope="module", autouse=True)
def small_blocks() -> Iterator[None]:
    """Ranking blocks of seven, so that a walk crosses several."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("finder", "search"):
            patch.setattr(f"store.search.{module}.RANKED_BLOCK", 7)
        yield


_seconds = st.integers(-1, FRAMES // 2 + 1)
_filters = st.builds(
    lambda ends, **columns: Filters(NOON_MS + 1000 * min(ends), NOON_MS + 1000 * max(ends) + 1, **columns),
    ends=st.tuples(_seconds, _seconds),
    app_name=st.sampled_from([None, "c", "chat", "zoom", "none"]),
    window_name=st.sampled_from([None, "-", "ONE", "%"]),
    browser_url=st.sampled_from([None, "example"]),
    focused=st.sampled_from([None, True, False]),
    monitor=st.sampled_from([None, "DP-2"]),
)
_texts = st.sampled_from(
    [
        "",
        "alpha",
        "alpha beta",
        "alpha OR 今",
        "c++ NOT gamma",
        "code",
        "a*",
        "nothing",
        "beta c++",
        "c alpha 今天",
    ]
)
_orders = st.sampled_from([None, "relevance", "newest", "oldest"])


@given(_texts, _filters, _orders, st.integers(1, 8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_walk_over_all_pages_sees_exactly_the_total(
    many: Database, text: str, filters: Filters, order: Order | None, limit: int
) -> None:
    seen = ids(walk(many, text, filters, order=order, limit=limit))
    assert len(seen) == len(set(seen)) == search(many, text, filters, order=order).total


@given(_texts, _filters, _orders, st.integers(0, 30))
@settings(deadline=None)
def test_an_offset_skips_that_many(
    many: Database, text: str, filters: Filters, order: Order | None, offset: int
) -> None:
    whole = ids(walk(many, text, filters, order=order, limit=8))
    assert ids(search(many, text, filters, order=order, limit=4, offset=offset)) == whole[offset : offset + 4]


@given(_texts, _filters, st.integers(0, 60))
@settings(deadline=None)
def test_an_offset_skips_that_many_where_the_time_is_spent(
    many: Database, text: str, filters: Filters, offset: int
) -> None:
    """Also beyond the last row."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("store.search.finder.ENOUGH_S", 0.0)
        patch.setattr("store.search.finder.LATE_BLOCK", 3)
        whole = ids(walk(many, text, filters, limit=8))
        page = ids(search(many, text, filters, limit=4, offset=offset))
    assert page == whole[offset : offset + 4]
    assert sorted(whole) == sorted(ids(walk(many, text, filters, order="newest")))


@given(_texts, _filters, _orders)
@settings(deadline=None)
def test_few_frames_are_looked_up_as_many_are_walked(
    many: Database, text: str, filters: Filters, order: Order | None
) -> None:
    """Both ways to put a filter by name and the words together give the same pages and scores."""
    answers = []
    for few in (FRAMES, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("store.search.finder.FEW_FRAMES", few)
            page = search(many, text, filters, order=order, limit=9)
            rest = search(many, text, filters, order=order, limit=9, cursor=page.next_cursor)
        answers.append((page.hits, page.total, page.strategy, rest.hits))
    assert answers[0] == answers[1]


@given(_texts, _filters)
@settings(deadline=None)
def test_all_orders_show_the_same_frames(many: Database, text: str, filters: Filters) -> None:
    newest, oldest = (ids(walk(many, text, filters, order=order)) for order in ("newest", "oldest"))
    assert newest == oldest[::-1] == sorted(oldest, reverse=True)
    assert sorted(ids(walk(many, text, filters, order="relevance"))) == oldest


@pytest.mark.parametrize("order", ["relevance", "newest", "oldest"])
@pytest.mark.parametrize("text", ["", "alpha beta"])
def test_frames_that_arrive_while_somebody_turns_pages_change_nothing(
    database: Database, text: str, order: Order
) -> None:
    """No gap, no duplicate, though every arrival changes the statistics of BM25."""
    rng = random.Random(2)
    filters = Filters(0, NOON_MS + 1_000_000)

    def arrive(count: int, from_ms: int) -> None:
        with database.write() as connection:
            for number in range(count):
                text = " ".join(
                    ["alpha", "beta", *rng.choices(["alpha", "beta", "gamma"], k=rng.randint(0, 30))]
                )
                add_frame(connection, text, from_ms + number)

    arrive(40, NOON_MS)
    expected = ids(walk(database, text, filters, order=order, limit=100))
    page = search(database, text, filters, order=order, limit=6)
    seen = ids(page)
    while page.next_cursor:
        arrive(15, NOON_MS + 1_000_000 + 1000 * len(seen))
        page = search(database, text, filters, order=order, limit=6, cursor=page.next_cursor)
        seen += ids(page)
    assert seen == expected


def test_without_an_end_a_walk_ends_where_it_began(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first page settles what "now" is."""
    monkeypatch.setattr("store.search.filters.now_ms", lambda: NOON_MS + 500)
    with database.write() as connection:
        made = [add_frame(connection, "a", NOON_MS + number) for number in range(3)]
    page = search(database, "a", Filters(0), order="oldest", limit=2)
    monkeypatch.setattr("store.search.filters.now_ms", lambda: NOON_MS + 5000)
    with database.write() as connection:
        add_frame(connection, "a", NOON_MS + 4000)
    rest = search(database, "a", Filters(0), order="oldest", limit=2, cursor=page.next_cursor)
    assert ids(page) + ids(rest) == made


def test_frames_deleted_between_two_pages_hide_no_other(database: Database) -> None:
    with database.write() as connection:
        made = [add_frame(connection, None, NOON_MS + number) for number in range(9)]
    page = search(database, "", ALWAYS, limit=3)
    with database.write() as connection:
        connection.execute("delete from frames where id in (?, ?)", (made[6], made[4]))
    rest = search(database, "", ALWAYS, limit=9, cursor=page.next_cursor)
    assert ids(rest) == [made[n] for n in (5, 3, 2, 1, 0)]


# -- cursors --------------------------------------------------------------------------------


@for_each(
    ("text", "changes", "order"),
    [
        ("alpha", {}, "newest"),
        ("beta", {}, "relevance"),
        ("alpha", {"app_name": "code"}, "relevance"),
        ("alpha", {"focused": False}, "relevance"),
        ("alpha", {"start_ms": 1}, "relevance"),
        ("alpha", {"end_ms": None}, "relevance"),
    ],
)
def test_a_cursor_of_another_question_is_refused(
    many: Database, text: str, changes: dict[str, Any], order: Order
) -> None:
    page = search(many, "alpha", ALWAYS, limit=1)
    assert search(many, "alpha", ALWAYS, limit=1, cursor=page.next_cursor).hits
    with pytest.raises(BadCursor):
        search(many, text, replace(ALWAYS, **changes), order=order, cursor=page.next_cursor)


def _packed(values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode()


_junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(st.text(max_size=40) | _junk.map(_packed) | st.lists(_junk, min_size=8, max_size=8).map(_packed))
@settings(deadline=None)
def test_a_damaged_cursor_is_refused(many: Database, text: str) -> None:
    with pytest.raises(BadCursor):
        search(many, "alpha", ALWAYS, cursor=text)


@for_each(
    "changes",
    [
        {"weights": ()},
        {"weights": (1.0,) * 9},
        {"weights": (1e300, 1e300)},
        {"average": 0.0},
        {"kind": "another"},
        {"score": float("nan")},
        {"id": -1},
        {"high": 2**63},
    ],
)
def test_a_cursor_that_was_tampered_with_is_refused(many: Database, changes: dict[str, Any]) -> None:
    page = search(many, "alpha beta", ALWAYS, limit=1)
    assert page.next_cursor is not None
    (key, *_) = json.loads(base64.urlsafe_b64decode(page.next_cursor + "=="))
    forged = replace(cursors.decode(page.next_cursor, key), **changes)
    with pytest.raises(BadCursor):
        search(many, "alpha beta", ALWAYS, limit=1, cursor=cursors.encode(forged))


_ids = st.integers(0, 2**62)
_numbers = st.floats(0, 1e9)
_cursors = st.builds(
    Cursor,
    st.just("key"),
    st.integers(0, 10**14),
    _ids,
    st.sampled_from(["text", "pieces", "lookalike"]),
    st.booleans(),
    _numbers,
    _ids,
    _ids,
    st.floats(1, 1e6),
    st.lists(_numbers, max_size=64).map(tuple),
)


@given(_cursors)
def test_a_cursor_survives_encoding(cursor: Cursor) -> None:
    assert cursors.decode(cursors.encode(cursor), "key") == cursor
