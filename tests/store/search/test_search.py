"""Search: what is found, how it is ordered and what a hit shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store.core.database import Database, open_database
from store.core.errors import DeadlineExceeded
from store.core.paths import DataDir
from store.ocr import readings
from store.search.filters import Filters
from store.search.search import search
from store.search.snippet import SNIPPET_CHARS
from tests.factories import CASES, NOON_MS
from tests.store.search.searching import ALWAYS, add_frame, add_texts, ids
from tests.tables import for_each

_SHARED = json.loads((CASES / "search_queries.json").read_text())
DAY_MS = 86_400_000


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only three matches are ranked together."""
    for module in ("finder", "search"):
        monkeypatch.setattr(f"store.search.{module}.RANKED_BLOCK", 3)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, tuple[Database, list[int]]]]:
    """The shared corpora, each in a home of its own, with its frame ids in the order of its texts."""
    made = {}
    for name, texts in _SHARED["corpora"].items():
        database = open_database(DataDir(Path(tmp_path_factory.mktemp(name)) / "home"))
        made[name] = (database, add_texts(database, *(each["text"] for each in texts)))
    yield made
    for database, _ in made.values():
        database.close_thread()


def text_of(case: dict[str, Any]) -> str:
    if "query" in case:
        return str(case["query"])
    parts = case["query_parts"]
    return "".join(part if isinstance(part, str) else part["repeat"] * part["times"] for part in parts)


@for_each("case", [pytest.param(case, id=case["id"]) for case in _SHARED["cases"]])
@for_each("order", ["oldest", "relevance"])
def test_shared_case(
    corpora: dict[str, tuple[Database, list[int]]], case: dict[str, Any], order: Any
) -> None:
    database, made = corpora[case["corpus"]]
    page = search(database, text_of(case), ALWAYS, mode="fts", order=order, limit=100)
    if case.get("browse"):
        assert page.mode == "browse"
        assert sorted(ids(page)) == made
    else:
        assert page.mode == "fts"
        assert sorted(made.index(hit.frame_id) + 1 for hit in page.hits) == case["match"]
        assert page.total == len(case["match"])


@given(st.text(max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_text_is_an_error(corpora: dict[str, tuple[Database, list[int]]], text: str) -> None:
    for database, _ in corpora.values():
        assert search(database, text, ALWAYS).total >= 0


def test_chinese_words_are_found_inside_a_sentence(database: Database) -> None:
    add_texts(database, "今天下午三点开会", "今天的 sprint review")
    for text in ("开会", "今天", "下午三", "会", "sprint 今天"):
        assert search(database, text, ALWAYS).total >= 1, text


@for_each(
    ("asked", "text"),
    [
        ("plomieniowki", "kocioł ma płomieniówki"),
        ("płomieniówki", "kociol ma plomieniowki"),
        ("ŁÓDŹ", "lodz"),
        ("zalatwilismy", "załatwiliśmy"),
        ("smorrebrod", "Smørrebrød"),
        ("dindic", "Đinđić"),
        ("thorunn aegir", "Þórunn Ægir"),
        ("kizilirmak", "Kızılırmak"),
        ("strasse", "Straße"),
        ('"oeuvre complete"', "Œuvre complète"),
        ("hal*", "Ħal Far"),
        ("NEAR(zloty kurs, 2)", "kurs to złoty"),
    ],
)
def test_a_letter_without_its_own_key_is_found_by_its_plain_one(
    database: Database, asked: str, text: str
) -> None:
    made, other = add_texts(database, text, "elsewhere")
    page = search(database, asked, ALWAYS, mode="fts")
    assert made in ids(page)
    assert other not in ids(page)
    assert all(hit.highlights for hit in page.hits)


_WRITTEN = ["15 350,94", "15\u202f350,94", "15'350.94", "15.350,94", "15,350.94", "15350,94", "15350.94"]


def test_a_number_is_found_however_its_thousands_stand(database: Database) -> None:
    *right, _ = add_texts(database, *_WRITTEN, "15 351,94 or 350,95")
    for asked in [*_WRITTEN, "15’350,94"]:
        page = search(database, f"{asked}", ALWAYS, mode="fts")
        assert sorted(ids(page)) == right
        for hit in page.hits:
            assert [hit.snippet[a:b] for a, b in hit.highlights][-1].endswith("94")


def test_a_word_may_stand_in_any_field_and_a_phrase_in_one(database: Database) -> None:
    with database.write() as connection:
        found = add_frame(
            connection, "budget for march", app_name="Zoom", window_name="call with Ada", browser_url=None
        )
    assert ids(search(database, "zoom ada budget", ALWAYS)) == [found]
    assert ids(search(database, '"march zoom"', ALWAYS)) == []
    assert ids(search(database, '"with ada"', ALWAYS)) == [found]


def test_a_sign_that_belongs_to_a_word_may_stand_in_a_title(database: Database) -> None:
    with database.write() as connection:
        found = add_frame(connection, "vitamin c", window_name="The C++ language")
        add_frame(connection, "vitamin c")
    assert ids(search(database, "C++", ALWAYS)) == [found]


# -- one frame, one hit; filters ------------------------------------------------------------


def test_a_frame_is_one_hit_however_often_it_matches(database: Database) -> None:
    with database.write() as connection:
        found = add_frame(connection, "code code code", app_name="Code", window_name="code - Code")
    page = search(database, "code OR cod*", ALWAYS)
    assert (ids(page), page.total) == ([found], 1)


def test_a_frame_without_text_is_found_by_its_app(database: Database) -> None:
    """Filters are columns, not words."""
    with database.write() as connection:
        found = add_frame(connection, None, app_name="Zoom")
        add_frame(connection, None, app_name="Code")
    page = search(database, "", replace(ALWAYS, app_name="zoom"))
    assert ids(page) == ids(search(database, "zoom", ALWAYS)) == [found]
    assert (page.hits[0].snippet, page.hits[0].status) == ("", "stored")


@pytest.fixture
def kinds(database: Database) -> dict[int, str]:
    """The name of each frame by its id."""
    made = {}
    with database.write() as connection:
        for name, values in {
            "wechat": {
                "app_name": "WeChat",
                "window_name": "100% done",
                "browser_url": "https://Example.com/a?b",
                "focused": True,
            },
            "upper": {"app_name": "WECHAT", "window_name": "A_B", "monitor": "DP-2", "focused": False},
            "null": {"app_name": "chatty", "focused": None},
            "french": {"app_name": "éditeur", "window_name": "c:\\über", "focused": None},
        }.items():
            made[add_frame(connection, "note", **values)] = name
    return made


@for_each(
    ("changes", "expected"),
    [
        ({"app_name": "chat"}, {"wechat", "upper", "null"}),
        ({"app_name": "WeChat"}, {"wechat", "upper"}),
        ({"app_name": "Éditeur"}, {"french"}),
        ({"app_name": "éDITEUR"}, {"french"}),
        ({"app_name": "no such app"}, set()),
        ({"window_name": "100%"}, {"wechat"}),
        ({"window_name": "%"}, {"wechat"}),
        ({"window_name": "a_b"}, {"upper"}),
        ({"window_name": "\\"}, {"french"}),
        ({"window_name": "ÜBER"}, {"french"}),
        ({"window_name": "a\0"}, set()),
        ({"window_name": "x" * 60_000}, set()),
        ({"browser_url": "EXAMPLE.com/a"}, {"wechat"}),
        ({"browser_url": "\ud800"}, set()),
        ({"app_name": "\ud800", "monitor": "\ud800"}, set()),
        ({"monitor": "DP-2"}, {"upper"}),
        ({"focused": True}, {"wechat"}),
        ({"focused": False}, {"upper"}),
        ({"app_name": "chat", "focused": False, "window_name": "B", "monitor": "DP-2"}, {"upper"}),
        (
            {"app_name": "", "window_name": "", "browser_url": "", "monitor": ""},
            {"wechat", "upper", "null", "french"},
        ),
    ],
)
@for_each("text", ["", "note"])
def test_filters_return_matches_only(
    database: Database, kinds: dict[int, str], text: str, changes: dict[str, Any], expected: set[str]
) -> None:
    """Substrings without case, wildcards are literal, null stays null."""
    page = search(database, text, replace(ALWAYS, **changes))
    assert {kinds[frame_id] for frame_id in ids(page)} == expected
    assert page.total == len(expected)


def test_a_range_is_half_open(database: Database) -> None:
    first, second, _ = add_texts(database, "a", "a", "a")
    page = search(database, "a", Filters(NOON_MS, NOON_MS + 2000), order="oldest")
    assert ids(page) == [first, second]


def test_no_end_means_up_to_and_with_now(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.search.filters.now_ms", lambda: NOON_MS + 1000)
    *found, _ = add_texts(database, "a", "a", "a")
    assert ids(search(database, "a", Filters(0), order="oldest")) == found


@pytest.mark.usefixtures("small_blocks")
def test_old_matches_are_found_behind_many_new_ones(database: Database) -> None:
    """The filters are inside the ranked query."""
    with database.write() as connection:
        old = add_frame(connection, "needle", NOON_MS, app_name="Old")
        for number in range(20):
            add_frame(connection, "needle needle", NOON_MS + 9 * DAY_MS + number)
    assert ids(search(database, "needle", Filters(NOON_MS, NOON_MS + DAY_MS))) == [old]
    assert ids(search(database, "needle", replace(ALWAYS, app_name="old"))) == [old]
    assert ids(search(database, "needle", ALWAYS, limit=30))[-1] == old


# -- order ---------------------------------------------------------------------------------


def test_an_old_exact_phrase_outranks_a_recent_stray_word(database: Database) -> None:
    filler = "and then some more of the text of an ordinary page with many words " * 3
    with database.write() as connection:
        exact = add_frame(connection, f"{filler} quarterly report {filler}", NOON_MS)
        stray = add_frame(connection, f"quarterly {filler} {filler} report", NOON_MS + 300 * DAY_MS)
    assert ids(search(database, "quarterly report", ALWAYS)) == [exact, stray]
    assert ids(search(database, "quarterly report", ALWAYS, order="newest")) == [stray, exact]
    assert ids(search(database, "quarterly report", ALWAYS, order="oldest")) == [exact, stray]


def test_a_rare_word_weighs_more_than_a_common_one(database: Database) -> None:
    *_, rare = add_texts(database, *["common word"] * 20, "zygote word")
    with database.write() as connection:
        add_frame(connection, "common word", NOON_MS + DAY_MS)
    assert ids(search(database, "common OR zygote", ALWAYS))[0] == rare


def test_equal_matches_come_newest_first(database: Database) -> None:
    made = add_texts(database, *["same words"] * 4)
    page = search(database, "same", ALWAYS)
    assert ids(page) == made[::-1]
    assert [hit.score for hit in page.hits] == sorted((hit.score for hit in page.hits), reverse=True)


def test_the_recent_is_preferred_gently(database: Database) -> None:
    with database.write() as connection:
        old = add_frame(connection, "needle needle needle in a haystack", NOON_MS)
        new = add_frame(connection, "needle in a haystack or in a field", NOON_MS + 40 * DAY_MS)
    assert ids(search(database, "needle", Filters(0, NOON_MS + 41 * DAY_MS))) == [old, new]


def test_what_is_excluded_does_not_rank(database: Database) -> None:
    add_texts(database, "report draft", "report final", "report")
    page = search(database, "report NOT draft", ALWAYS)
    assert page.total == len(page.hits) == 2
    assert all(hit.score > 0 for hit in page.hits)


# -- what a page says ------------------------------------------------------------------------


@for_each(
    ("text", "mode", "expected"),
    [
        ("", "hybrid", ("browse", "browse", None, "words")),
        ("", "semantic", ("browse", "browse", None, "words")),
        ("a", "hybrid", ("fts", "bm25", "no_embeddings", "words")),
        ("a", "semantic", ("fts", "bm25", "no_embeddings", "words")),
        ("a", "fts", ("fts", "bm25", None, "words")),
        ("a OR b", "fts", ("fts", "bm25", None, "expression")),
        ("+", "fts", ("fts", "bm25", None, "words")),
    ],
)
def test_a_page_says_how_it_was_found(
    database: Database, text: str, mode: Any, expected: tuple[Any, ...]
) -> None:
    """Feature 10: with vectors off the keyword result comes back and says why."""
    add_texts(database, "a")
    page = search(database, text, ALWAYS, mode=mode)
    assert (page.mode, page.strategy, page.fallback_reason, page.reading) == expected


@pytest.mark.usefixtures("small_blocks")
def test_a_very_common_word_is_ranked_among_the_newest_and_says_so(database: Database) -> None:
    best, *_ = add_texts(database, "word word word", "word other", "word other", "word word other")
    page = search(database, "word", ALWAYS)
    assert page.strategy == "bm25_newest_3"
    assert ids(page)[-1] == best


def test_totals_are_exact_up_to_a_limit(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.search.search.TOTAL_LIMIT", 3)
    add_texts(database, "a", "a", "a", "a b")
    for text in ("", "a"):
        page = search(database, text, ALWAYS, limit=2)
        assert (page.total, page.total_is_exact) == (3, False)
    assert search(database, "b", ALWAYS).total_is_exact


def test_a_page_says_up_to_when_the_index_is_fresh(database: Database) -> None:
    with database.write() as connection:
        add_frame(connection, "read", NOON_MS)
        add_frame(connection, None, NOON_MS + 1000)
    assert search(database, "", ALWAYS).index_fresh_to_ms == readings.index_fresh_to_ms(database) == NOON_MS


def test_a_hit_shows_the_frame_and_the_words(database: Database) -> None:
    with database.write() as connection:
        found = add_frame(
            connection, "the C++ report", app_name="Code", window_name="w", browser_url="u", monitor="HDMI-1"
        )
    (hit,) = search(database, "c++", ALWAYS).hits
    assert (hit.frame_id, hit.captured_ms, hit.app_name, hit.window_name, hit.browser_url) == (
        found, NOON_MS, "Code", "w", "u",
    )  # fmt: skip
    assert (hit.focused, hit.monitor, hit.matched, hit.status) == (True, "HDMI-1", ("text",), "searchable")
    assert [hit.snippet[start:end] for start, end in hit.highlights] == ["C++"]


def test_deleted_text_is_not_found_a_moment_later(database: Database) -> None:
    """There is no result cache."""
    (frame_id,) = add_texts(database, "secret words")
    assert search(database, "secret", ALWAYS).total == 1
    with database.write() as connection:
        connection.execute(
            """
            insert into frames_fts (frames_fts, rowid, text, app_name, window_name, browser_url)
            select 'delete', id, text, app_name, window_name, browser_url from frame_texts where id = ?
            """,
            (frame_id,),
        )
        connection.execute("delete from frames where id = ?", (frame_id,))
    assert search(database, "secret", ALWAYS).total == 0


def test_a_page_of_long_texts_is_small(database: Database) -> None:
    """100 KB of text per frame, a page of 100."""
    text = "\n".join("some ordinary words on a line" for _ in range(3_400)) + "\nneedle"
    add_texts(database, text)
    with database.write() as connection:
        connection.execute("update readings set text = ?", (text,))
    for query_text in ("", "needle"):
        (hit,) = search(database, query_text, ALWAYS).hits
        assert len(hit.snippet) <= SNIPPET_CHARS


def test_a_deadline_stops_the_search_and_the_connection_lives_on(database: Database) -> None:
    add_texts(database, *["c " * 50] * 300)
    with pytest.raises(DeadlineExceeded):
        search(database, "c++ OR a++", ALWAYS, deadline_s=-1)
    assert search(database, "c", ALWAYS).total == 300


@for_each(("limit", "offset"), [(0, 0), (1, -1), (1, 10_001)])
def test_a_page_that_cannot_be_is_refused(database: Database, limit: int, offset: int) -> None:
    with pytest.raises(ValueError, match="limit must be at least 1"):
        search(database, "", ALWAYS, limit=limit, offset=offset)


def test_a_hit_says_in_which_window_its_piece_stands(database: Database) -> None:
    paper = ("Zathura", "tides.pdf", None)
    with database.write() as connection:
        add_frame(
            connection, "plums for aunt Hilda\nthe ferry captain", app_name="Mousepad", window_name="list",
            browser_url=None, visible=(paper,), places=((0, 0, 0, 900, 18), (1, 0, 18, 900, 500)),
        )  # fmt: skip
    (ferry,) = search(database, "ferry", ALWAYS).hits
    (plums,) = search(database, "plums", ALWAYS).hits
    assert (ferry.beside, ferry.shown_in) == (paper, paper)
    assert (plums.beside, plums.shown_in) == (None, ("Mousepad", "list", None))
    (both,) = search(database, "plums captain", ALWAYS).hits
    assert both.beside is None
