from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ingest.core.home import Home
from ingest.reading import address_field
from ingest.reading.address_field import Seen, address_in, settle, visited
from store.frames import frames
from store.ocr import readings
from store.ocr.readings import Box, Line, Word
from store.timeline import segments
from tests.factories import NOON_MS, picture, store_frame
from tests.tables import for_each


def line(*texts: str, y: int = 60, confidence: float = 0.95) -> Line:
    words = tuple(
        Word(0, 0, text, Box(100 + 200 * n, y, 180, 16), confidence) for n, text in enumerate(texts)
    )
    return Line(0, 0, " ".join(texts), Box(100, y, 400, 16), confidence, words)


@for_each(
    ("lines", "expected"),
    [
        ([line("example.com/news/today")], "https://example.com/news/today"),
        ([line("https://example.com")], "https://example.com/"),
        ([line("localhost:8420/timeline")], "http://localhost:8420/timeline"),
        ([line("File", "Edit", "View"), line("docs.python.org/3/", y=90)], "https://docs.python.org/3/"),
        ([line("example.com", y=20), line("example.com/path", y=60)], "https://example.com/path"),
        ([line("one.com"), line("two.com", y=90)], None),
        ([line("example.com/news", y=600)], None),
        ([line("localhost:8766/glass.html", confidence=0.77)], "http://localhost:8766/glass.html"),
        ([line("example.com/news", confidence=0.5)], None),
        ([line("main.py"), line("lib.rs"), line("README.md"), line("setup.app")], None),
        ([line("src/main.py")], None),
        ([line("me@example.com")], None),
        ([line("example.com/a/very/long...")], None),
        ([line("Search", "or", "type", "URL")], None),
        # completed in the field, and suggested below it
        ([line("harbour.org/fees"), line("Fees", "harbour.org/fees", y=90)], None),
        ([line("harbour.org/fees", y=90), line("Fees", "harbour.org/fees", y=140)], None),
        ([line("_harbour.org/fees", confidence=0.3), line("Fees", "harbour.org/fees", y=90)], None),
        ([line("harbour.org/feesl"), line("harbour.org/fees", y=90)], None),  # a caret
        ([line("harbour.org/fees", y=90), line("harbour.org/fees", y=600)], "https://harbour.org/fees"),
        # the first word of the title, on its tab, in the field, and in the page's head
        (
            [line("Harbour.org:", y=20), line("harbour.org"), line("Harbour.org:", y=110)],
            "https://harbour.org/",
        ),
        ([], None),
    ],
)
def test_an_address_field_is_read_only_when_plausible(lines: list[Line], expected: str | None) -> None:
    assert address_in(lines, "Harbour.org: moorings and fees", 0.12 * 1080) == expected


HARBOUR, BAKERY, LIBRARY = "https://harbour.org/fees", "https://bakery.org/", "https://library.org/b"
PAGE = frozenset(f"line {n}" for n in range(20))
LOWER = frozenset(f"line {n}" for n in range(10, 20))
OTHER_PAGE = frozenset(f"row {n}" for n in range(20))
SUGGESTED = LOWER | {f"suggestion {n}" for n in range(6)}


def shown(*frames_: tuple[str, str | None, frozenset[str]], step_ms: int = 1000) -> list[Seen]:
    """Frames a second apart: title, what stands in the field, and the lines of the page."""
    return [
        Seen(n, n * step_ms, (n + 1) * step_ms, title, None, in_field, lines, lines & (LOWER | OTHER_PAGE))
        for n, (title, in_field, lines) in enumerate(frames_)
    ]


def addresses(line: Sequence[Seen]) -> list[str | None]:
    """What is known in the end, whether they are read as they come or the newest first."""
    as_they_come: dict[int, str] = {}
    for n in range(len(line)):
        told = [replace(each, url=each.url or as_they_come.get(each.id)) for each in line[: n + 1]]
        as_they_come |= visited(told, is_whole=True)
    newest_first: dict[int, str] = {}
    for n in reversed(range(len(line))):
        unread = [Seen(*_facts(each), each.url, is_read=False) for each in line[:n]]
        told = [replace(each, url=each.url or newest_first.get(each.id)) for each in line[n:]]
        newest_first |= visited([*unread, *told], is_whole=True)
    assert newest_first.items() <= as_they_come.items()  # never another one, at most none
    return [as_they_come.get(each.id) for each in line]


def _facts(seen: Seen) -> tuple[int, int, int, str | None]:
    return seen.id, seen.captured_ms, seen.ended_ms, seen.title


def test_an_address_that_is_completed_while_it_is_typed_is_not_that_of_the_page() -> None:
    at_rest = [("Fees", HARBOUR, PAGE)] * 6
    typed = [("Fees", None, SUGGESTED), ("Fees", BAKERY, SUGGESTED), ("Fees", BAKERY, PAGE)]
    gone_there = [("Bread", BAKERY, OTHER_PAGE)] * 6
    assert addresses(shown(*at_rest, *typed, *gone_there)) == ([HARBOUR] * 9 + [BAKERY] * 6)


def test_the_page_keeps_its_address_while_another_one_is_on_its_way() -> None:
    loading = [("Fees", HARBOUR, PAGE)] * 6 + [("Fees", BAKERY, PAGE)] * 9
    assert addresses(shown(*loading)) == [HARBOUR] * 15


def test_a_new_tab_does_not_bear_the_address_that_is_typed_into_it() -> None:
    tab = frozenset({"Search", "Shortcuts", "Customize"})
    opened = [("Fees", HARBOUR, PAGE)] * 6 + [("New Tab", None, tab)]
    for loading in (1, 3, 9):
        visits = [*opened, *[("New Tab", BAKERY, tab)] * loading, *[("Bread", BAKERY, OTHER_PAGE)] * 6]
        assert addresses(shown(*visits)) == [HARBOUR] * 6 + [None] * (1 + loading) + [BAKERY] * 6
    at_once = [*opened[:-1], *[("New Tab", BAKERY, tab)] * 2, *[("Bread", BAKERY, OTHER_PAGE)] * 6]
    assert addresses(shown(*at_once)) == [HARBOUR] * 6 + [None] * 2 + [BAKERY] * 6


def test_pages_that_are_left_after_a_moment_have_their_addresses() -> None:
    visits = [("Fees", HARBOUR, PAGE), ("Bread", BAKERY, OTHER_PAGE), ("Books", LIBRARY, PAGE)]
    assert addresses(shown(*visits)) == [HARBOUR, BAKERY, None]
    assert addresses(shown(*visits, step_ms=6000)) == [HARBOUR, BAKERY, LIBRARY]


def test_a_page_that_stays_while_its_title_changes_keeps_its_address() -> None:
    blinking = [("Chat" if n % 2 else "(1) Chat", HARBOUR, PAGE) for n in range(10)]
    assert addresses(shown(*blinking)) == [HARBOUR] * 10
    # and what is typed meanwhile is not its address
    typed = [("Chat", HARBOUR, PAGE)] * 6 + [("(1) Chat", BAKERY, PAGE), ("Bread", LIBRARY, OTHER_PAGE)]
    assert addresses(shown(*typed))[6] is None


def test_pages_of_one_title_are_told_apart_by_what_they_show() -> None:
    visits = [("My app", HARBOUR, PAGE)] * 6 + [("My app", BAKERY, OTHER_PAGE)] * 6
    assert addresses(shown(*visits)) == [HARBOUR] * 6 + [BAKERY] * 6
    alike = PAGE - {"line 1"} | {"line one"}
    visits = [("My app", HARBOUR, PAGE)] * 6 + [("My app", BAKERY, alike), ("My app", None, alike)]
    assert addresses(shown(*visits))[6:] == [None, None]


def test_what_a_misread_field_says_is_nobodys_address() -> None:
    misread = [("Fees", "https://harbour.org/fee5", PAGE), *[("Fees", HARBOUR, PAGE)] * 6]
    assert set(addresses(shown(*misread, ("Bread", BAKERY, OTHER_PAGE)))[:7]) <= {None, HARBOUR}
    later = [*[("Fees", HARBOUR, PAGE)] * 6, ("Fees", "https://harbour.org/fee5", PAGE)]
    assert addresses(shown(*later)) == [HARBOUR] * 7


def test_a_field_that_was_read_faintly_at_first_is_borne_out_by_how_it_is_read_then() -> None:
    arrived = [("Fees", HARBOUR, PAGE), ("Bread", None, OTHER_PAGE), *[("Bread", BAKERY, OTHER_PAGE)] * 6]
    line = shown(*arrived)
    assert addresses(line) == [HARBOUR] + [None] * 7
    line[1] = replace(line[1], faint=BAKERY)
    assert addresses(line) == [HARBOUR] + [BAKERY] * 7
    line[1] = replace(line[1], faint=LIBRARY)
    assert addresses(line) == [HARBOUR] + [None] * 7


def test_a_page_whose_field_is_edited_at_once_stays_a_page() -> None:
    visits = [("Fees", HARBOUR, PAGE), ("Bread", BAKERY, OTHER_PAGE), *[("Bread", None, OTHER_PAGE)] * 6]
    assert addresses(shown(*visits)) == [HARBOUR] + [BAKERY] * 7


def test_what_the_extension_told_stands_above_all() -> None:
    line = shown(*[("Fees", BAKERY, PAGE)] * 3, ("Bread", BAKERY, OTHER_PAGE))
    told = Seen(0, 0, 1000, "Fees", HARBOUR, BAKERY, PAGE, LOWER)
    assert addresses([told, *line[1:]])[:3] == [HARBOUR, HARBOUR, HARBOUR]


def test_of_a_line_that_is_cut_nobody_knows_how_its_first_page_came() -> None:
    line = shown(*[("Fees", BAKERY, PAGE)] * 9, ("Bread", BAKERY, OTHER_PAGE), ("Books", LIBRARY, PAGE))
    assert visited(line, is_whole=False) == {9: BAKERY}


def test_frames_around_the_one_that_was_read_are_settled_too(home: Home) -> None:
    """A day does not fall apart where the field was edited."""
    page = "\n".join(f"mooring {n} is free" for n in range(12))
    bars = ["harbour.org/fees", "harbour.org/fees", "bak", "harbour.org/fees"]
    image = picture(size=(800, 400))
    for n, bar in enumerate(bars):
        changes = {"app_name": "Chromium", "window_name": "Fees", "pid": 7, "image": image}
        frame = store_frame(home.database, home.data_dir, NOON_MS + 4000 * n, f"{bar}\n\n\n{page}", **changes)
        with home.database.write() as connection:
            segments.heartbeat(connection, frame)
        settle(home.database, frame)
    with home.database.read() as connection:
        known = frames.select_rows(connection, "order by id", {})
    assert [frame.browser_url for frame in known] == [HARBOUR] * 4
    (segment,) = segments.segments(home.database, NOON_MS, NOON_MS + 60_000)
    assert (segment.browser_url, segment.frames) == (HARBOUR, 4)
    assert readings.current_reading(home.database, known[0].id) is not None


def test_only_browsers_have_an_address_field(home: Home) -> None:
    for n in range(3):
        frame = store_frame(
            home.database, home.data_dir, NOON_MS + 6000 * n, "example.com/news\nnew\nnewer\nnewest",
            app_name="Code", image=picture(size=(800, 400)),
        )  # fmt: skip
        settle(home.database, frame)
        assert frames.get(home.database, frame.id).browser_url is None
    assert not address_field.is_browser(None)
