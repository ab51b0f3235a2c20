"""Suggestions: spellings and widenings that give frames, made from what is there now."""

from __future__ import annotations

from dataclasses import replace

from store.core.database import Database
from store.core.paths import DataDir
from store.deletion import deletion
from store.frames.media import Media
from store.search.filters import Filters
from store.search.spelling import known
from store.search.suggestions import Spelling, Suggestions, Widening, suggest
from tests.factories import NOON_MS
from tests.store.search.searching import ALWAYS, add_frame, add_texts
from tests.tables import for_each


def spellings(database: Database, text: str, filters: Filters = ALWAYS) -> list[str]:
    return [each.text for each in suggest(database, text, filters).spellings]


@for_each(
    ("asked", "expected"),
    [
        ("retenton", "retention"),
        ("retnetion", "retention"),
        ("retentiom policy", "retention policy"),
        ("Retentoin  policcy", "retention  policy"),
        ("rettenton", "retention"),
        ("ertention", "retention"),
        ("erttention", None),  # a second slip in the first letters
        ("холадильнки", "холодильник"),
        ("har318", '"har 318"'),
        ("rete", "rete*"),
        ('"retenton policy"', '"retention policy"'),
        ("会儀 retenton", None),
        ("retention", None),
        ("zzzzzz", None),
        ("", None),
    ],
)
def test_did_you_mean(database: Database, asked: str, expected: str | None) -> None:
    add_texts(database, "the retention policy", "会议记录", "новый холодильник", "HAR-318")
    assert spellings(database, asked)[:1] == ([expected] if expected else [])


def test_the_more_frequent_word_is_suggested_first(database: Database) -> None:
    add_texts(database, "cat", "cart", "cart")
    assert spellings(database, "cazt") == ["cart", "cat"]


@for_each(
    ("asked", "expected"),
    [
        ("hollys", ["Hollis"]),
        ("hollis", []),
        ("reykjawik", ["Reykjavík"]),
        ("swietoslawi", ["Świętosławy"]),
        ("MCDONALT", ["McDonald"]),
    ],
)
def test_a_spelling_is_written_as_on_the_screen(database: Database, asked: str, expected: list[str]) -> None:
    add_texts(database, "Marguerite Hollis", "Reykjavík", "do Świętosławy", "old McDonald")
    assert spellings(database, asked) == expected


@for_each(
    ("asked", "expected"),
    [
        ("芭蕉扇", ["芭莱扇"]),
        ("芭蕉扇 颜色", ["芭莱扇 颜色"]),
        ("プリソター", ["プリンター"]),
        ("回议记录", ["会议记录"]),
        ("会计", []),  # of two characters one does not say which word it is
        ("会计记账", []),
    ],
)
def test_one_character_read_as_another_is_suggested(
    database: Database, asked: str, expected: list[str]
) -> None:
    add_texts(database, "火焰山的芭莱扇 颜色", "プリンターの設定", "会议记录")
    assert spellings(database, asked) == expected


def test_the_word_that_keeps_a_text_from_frames_is_named(database: Database) -> None:
    add_texts(database, "Razem 15 350,94 zt", "cena w zł", "razem", "razem")
    assert suggest(database, "razem 15350,94 zł", ALWAYS).spellings == (
        Spelling("razem 15350,94", 1, less_word="zł"),
    )
    assert suggest(database, "razem OR nic zł", ALWAYS).spellings == ()


def test_words_that_some_frame_holds_are_known(database: Database) -> None:
    add_texts(database, "they arrive", "要写")
    assert known(database, ("要写", "arrive", "arive")) == ["要写", "arrive"]


def test_a_spelling_gives_frames_under_the_filters_or_says_that_it_does_not(database: Database) -> None:
    with database.write() as connection:
        add_frame(connection, "retention", app_name="Code")
    narrow = replace(ALWAYS, app_name="zoom")
    assert suggest(database, "retenton", narrow).spellings == (Spelling("retention", 1, True),)
    assert suggest(database, "retenton", ALWAYS).spellings == (Spelling("retention", 1),)


def test_each_filter_says_what_it_takes_away(database: Database) -> None:
    with database.write() as connection:
        add_frame(connection, "needle", app_name="Code", window_name="a")
        add_frame(connection, "needle", NOON_MS + 1, app_name="Zoom", window_name="b")
        add_frame(connection, "needle", NOON_MS + 9_000, app_name="Code", window_name="b")
    narrow = Filters(NOON_MS, NOON_MS + 5_000, app_name="code", window_name="b")
    assert suggest(database, "needle", narrow).widenings == (
        Widening(("app_name",), 1),
        Widening(("window_name",), 1),
        Widening(("time",), 1),
        Widening(("app_name", "window_name", "time"), 3),
    )


def test_deleted_words_are_suggested_no_more(database: Database, data_dir: DataDir) -> None:
    """The vocabulary is the index itself."""
    secret, _ = add_texts(database, "passphrase zanzibar", "other words")
    assert spellings(database, "zanzibra") == ["zanzibar"]
    deletion.delete_frames(database, Media(data_dir.media), [secret])
    nothing = Suggestions((), ())
    for text in ("zanzibra", "zanz", "passphrasee", "passphras"):
        assert suggest(database, text, Filters(0)) == nothing
