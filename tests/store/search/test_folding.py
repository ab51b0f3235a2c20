"""Runs of look-alike frames, words that all frames have, and snippets without debris."""

from __future__ import annotations

import pytest

from store.core.database import Database
from store.ocr import readings
from store.ocr.readings import Box, Place
from store.search import query, search
from store.search.snippet import Snippet, block, of_chunk, snippet, without_debris
from tests.factories import NOON_MS, text_draft
from tests.store.search.searching import ALWAYS, add_frame, ids
from tests.tables import for_each

MINUTE_MS = 60_000


def add(database: Database, *texts: str, minutes: int = 1, **changes: str) -> list[int]:
    with database.write() as connection:
        return [
            add_frame(connection, text, NOON_MS + n * minutes * MINUTE_MS, **changes)
            for n, text in enumerate(texts)
        ]


def folded(database: Database, text: str, **options: object) -> list[tuple[int, ...]]:
    page = search.search(database, text, ALWAYS, fold=True, order="oldest", **options)  # type: ignore[arg-type]
    return [(hit.frame_id, *hit.alike) for hit in page.hits]


def test_a_run_is_one_hit_and_counted_in_frames(database: Database) -> None:
    made = add(database, *(f"Invoice of the pump repair\n12:0{n}" for n in range(5)))
    page = search.search(database, "pump", ALWAYS, fold=True, order="oldest")
    assert folded(database, "pump") == [tuple(made)]
    assert (page.total, page.hits[0].span_ms) == (5, (NOON_MS, NOON_MS + 4 * MINUTE_MS))


def test_another_window_a_changed_figure_and_a_pause_end_a_run(database: Database) -> None:
    a, b = add(database, "Total 612 EUR", "Total 216 EUR")
    [c] = add(database, "Total 612 EUR", window_name="another")
    with database.write() as connection:
        d = add_frame(connection, "Total 612 EUR", NOON_MS + 31 * MINUTE_MS)
    assert sorted(folded(database, "total")) == sorted([(a,), (b,), (c,), (d,)])


def test_a_walk_over_runs_sees_each_frame_once(database: Database) -> None:
    made = add(
        database,
        *(f"the {word} page" for word in ["one", "one", "two", "two", "three", "one", "two"]),
    )
    seen: list[int] = []
    cursor = None
    while True:
        page = search.search(database, "page", ALWAYS, fold=True, limit=2, cursor=cursor)
        seen += [frame for hit in page.hits for frame in (hit.frame_id, *hit.alike)]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert sorted(seen) == made


def test_words_that_most_frames_have_come_by_time_and_say_so(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "COMMON_LEAST", 4)
    made = add(database, *["the the the end"] * 3, *["the end of it all"] * 3, "something else")
    first = search.search(database, "the", ALWAYS, limit=4)
    rest = search.search(database, "the", ALWAYS, limit=4, cursor=first.next_cursor)
    assert [*ids(first), *ids(rest)] == made[5::-1]
    assert first.strategy == rest.strategy == "newest_common"
    assert search.search(database, "something", ALWAYS).strategy == "bm25"


def test_a_snippet_begins_with_the_line_that_matched(database: Database) -> None:
    add(database, "File Edit View\nTo: all\nThe pump is repaired\nthanks")
    [hit] = search.search(database, "repaired", ALWAYS).hits
    assert hit.snippet == "The pump is repaired\nthanks"
    assert [hit.snippet[a:b] for a, b in hit.highlights] == ["repaired"]


@for_each(
    ("text", "shown"),
    [
        ("| Inbox (3) •", "Inbox (3)"),
        ("│ ─ ┘\nTotal 120 €", "Total 120 €"),
        ("a + b = c", "a + b = c"),
        ("预算 。", "预算"),
        ("Q\nx o\nmail", "mail"),
        ("Q Find a word", "Find a word"),
        ("I think so", "I think so"),
        ("mail\nv\nX ×", "mail"),
        ("", ""),
    ],
)
def test_debris_of_the_reading_is_not_shown(text: str, shown: str) -> None:
    """What the reader is unsure of here are the letters Q, x and o."""
    unsure = {at for at, char in enumerate(text) if char in "Qx" or text[at - 1 : at + 1] == " o"}
    assert without_debris(Snippet(text, ()), lambda a, b: bool(unsure & set(range(a, b)))).text == shown


PARTS = [
    ("Razem do zapłaty: 15 350,94", (260, 515, 280, 15), 0.94),
    ("Numer konta: 61 1090", (260, 556, 408, 12), 0.95),
    ("Lp.", (260, 585, 25, 14), 0.96),
    ("Nazwa", (320, 587, 56, 12), 0.95),
    ("WR", (400, 587, 30, 14), 0.5),
    ("calculator", (1100, 520, 70, 14), 0.96),
    ("below by far", (260, 800, 200, 14), 0.96),
]


@for_each(
    ("asked", "shown"),
    [
        ("zaplaty", "Razem do zapłaty: 15 350,94\nNumer konta: 61 1090\nLp.\nNazwa"),
        ("calculator", "calculator"),
        ("zaplaty far", "Razem do zapłaty: 15 350,94\nNumer konta: 61 1090\nLp.\nNazwa\nbelow by far"),
        ("WR", "WR"),
    ],
)
def test_a_snippet_stays_in_one_part_of_the_screen(asked: str, shown: str) -> None:
    """A line of another window, one far below and one that was hardly read are left out."""
    text, places = "\n".join(line for line, _, _ in PARTS), list[Place]()
    for line, box, sure in PARTS:
        start = places[-1].end + 1 if places else 0
        places.append(Place(start, start + len(line), Box(*box), sure))
    found = snippet(text, query.parse(asked))
    tidy = without_debris(found, lambda a, b: False, block(found, places))
    assert tidy.text == shown
    assert [tidy.text[a:b] for a, b in tidy.highlights] == [found.text[a:b] for a, b in found.highlights]


def test_a_stored_line_is_found_without_its_words(database: Database) -> None:
    add(database, "one line\nand another")
    [reading] = database.rows("select text, layout from readings")
    lines = [(line.start, line.end, line.box, line.confidence) for line in readings.decode(*reading)]
    assert list(readings.places(reading[1])) == lines


def test_a_line_that_says_the_title_again_does_not_lead(database: Database) -> None:
    text = "Mail x + Plans of the kiln\nKiln rota – Pottery\npottery.example/kiln\nFire the kiln on Tuesday"
    add(database, text, window_name="Kiln rota – Pottery", browser_url="https://pottery.example/kiln")
    content = "Fire the kiln on Tuesday"
    led = {
        asked: search.search(database, asked, ALWAYS).hits[0].snippet.split("\n")[0] == content
        for asked in ("kiln", "kiln tuesday", "", "kiln rota pottery", "plans mail")
    }
    # Where the content has one of three words, and none of two, the title and the tabs are what matched.
    assert led == {
        "kiln": True,
        "kiln tuesday": True,
        "": True,
        "kiln rota pottery": False,
        "plans mail": False,
    }


def test_a_chunk_found_by_its_meaning_begins_at_what_it_is_about() -> None:
    text = "Chrome\nKiln rota – Pottery\nHome\nFire the kiln on Tuesday at 900 degrees.\nBring gloves."
    shown = of_chunk(text, text.index("Kiln"), text.index("\nBring"), ("Kiln rota – Pottery", None))
    assert shown.text == "Fire the kiln on Tuesday at 900 degrees.\nBring gloves."
    assert text[shown.start :].startswith(shown.text)


def test_what_is_marked_is_never_debris() -> None:
    shown = without_debris(Snippet("| x =\nQ | two", ((2, 3), (6, 7))), lambda *_: True)
    assert [shown.text[a:b] for a, b in shown.highlights] == ["x", "Q"]


def test_a_reading_doubts_what_it_is_less_sure_of_than_of_the_rest(database: Database) -> None:
    with database.write() as connection:
        frame_id = add_frame(connection)
        readings.add(connection, frame_id, text_draft("Q Find the needle", {"Q": 0.3}), (), NOON_MS)
    [hit] = search.search(database, "needle", ALWAYS).hits
    assert hit.snippet == "Find the needle"
