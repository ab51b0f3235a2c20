"""What a browser told of a page is taken only as far as the pixels bear it out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from engines.ocr.protocol import OcrEngine, OcrWord, open_ocr
from ingest.core.home import Home
from ingest.core.worker_stats import WorkerStats
from ingest.reading.backlog import Backlog
from ingest.reading.incremental import IncrementalReader
from ingest.reading.page_text import Told, ink_of
from ingest.reading.reader import ReaderLoop
from ingest.worker.storing import store_entry
from store.frames import frames
from store.ocr import readings
from store.spool import page_text
from store.spool.page_text import Area, PageText, PageWord
from tests.factories import NOON_MS, capture, webp
from tests.ingest.conftest import taken

WINDOW = Area(30, 20, 840, 560)
VIEW = (47, 131)  # where the page stands on the picture
LINES = (
    "Seven crates of walnuts left the harbour",
    "before the bridge was closed on Monday",
    "and nobody has asked for them since then",
    "although the invoice 4711 was paid in full",
)
FONT = ImageFont.load_default(22)


@pytest.fixture(scope="module")
def engine() -> Iterator[OcrEngine]:
    engine = open_ocr("auto", ["eng"])
    yield engine
    engine.close()


def page(lines: tuple[str, ...] = LINES) -> list[PageWord]:
    words = []
    for row, line in enumerate(lines):
        x = 12.0
        for word in line.split():
            words.append(PageWord(word, round(x), 20 + 50 * row, round(FONT.getlength(word)), 28))
            x += FONT.getlength(f"{word} ")
    return words


def shown(words: list[PageWord]) -> Image.Image:
    """A window with a title, an address of its own, and a page."""
    image = Image.new("RGB", (900, 600), "#336699")
    draw = ImageDraw.Draw(image)
    draw.rectangle((30, 20, 870, 580), fill="#20242a")
    draw.text((60, 60), "https://harbour.example", fill="#eeeeee", font=FONT)
    for word in words:
        draw.text((VIEW[0] + word.x, VIEW[1] + word.y), word.text, fill="#dddddd", font=FONT)
    return image


def told(words: list[PageWord], *parts: Area) -> PageText:
    return PageText(WINDOW, parts or (WINDOW,), 800, 440, tuple(words))


def proved(pages: PageText, image: Image.Image, engine: OcrEngine) -> list[OcrWord]:
    return Told([pages], image, engine).words(ink_of(image), np.ones((600, 900), np.bool_))


def texts(words: list[OcrWord]) -> list[str]:
    return sorted(word.text for word in words)


def test_the_words_of_a_page_are_found_where_they_stand(engine: OcrEngine) -> None:
    words = page()
    found = proved(told(words), shown(words), engine)
    assert texts(found) == texts_of(words)
    found.sort(key=lambda word: ((word.box.y - VIEW[1] - 20) // 50, word.box.x))
    for word, box in zip(words, (word.box for word in found), strict=True):
        left, top = VIEW[0] + word.x, VIEW[1] + word.y
        assert abs(box.x - left) <= 3 and abs(box.right - left - word.w) <= 3
        assert top <= box.y and box.bottom <= top + word.h + 2
    assert {word.source for word in found} == {"browser"}
    by_system = replace(told(words), source="accessibility")
    assert {word.source for word in proved(by_system, shown(words), engine)} == {"accessibility"}
    assert {word.checked for word in found} <= {"ink", "read"}


def test_what_cannot_be_seen_is_not_kept(engine: OcrEngine) -> None:
    words = page()
    unseen = [PageWord("secret", 600, 20 + 50 * row, 80, 28) for row in range(4)]
    assert texts(proved(told([*words, *unseen]), shown(words), engine)) == texts_of(words)


def test_what_another_window_covers_is_not_kept(engine: OcrEngine) -> None:
    words, image = page(), shown(page())
    half = Area(*WINDOW[:3], VIEW[1] + 105 - WINDOW.y)
    ImageDraw.Draw(image).text((VIEW[0] + 12, VIEW[1] + 122), "Another window", fill="white", font=FONT)
    assert texts(proved(told(words, half), image, engine)) == texts_of(page(LINES[:2]))


def test_a_page_that_says_other_words_than_it_shows_is_not_believed(engine: OcrEngine) -> None:
    words = page()
    lies = [word._replace(text=word.text[::-1].swapcase()) for word in words]
    assert proved(told(lies), shown(words), engine) == []


def texts_of(words: list[PageWord]) -> list[str]:
    return sorted(word.text for word in words)


def test_the_rest_of_the_picture_is_read_beside_it(home: Home, engine: OcrEngine) -> None:
    words = page()
    home.spool.put(capture(), webp(shown(words)), page_text.encode([told(words)]))
    frame_id = store_entry(home, taken(home), NOON_MS).frame_id
    assert frame_id is not None and readings.page_texts(home.database, frame_id) == [told(words)]
    loop = ReaderLoop(
        home, Backlog(home.database, lambda: NOON_MS), WorkerStats(lambda: NOON_MS), lambda: engine,
        lambda: NOON_MS, threading.Event(),
    )  # fmt: skip
    while loop.step():
        continue
    reading = readings.current_reading(home.database, frame_id)
    assert reading is not None and reading.text.splitlines() == ["https://harbour.example", *LINES]
    sources = [{word.source for word in line.words} for line in reading.lines]
    assert sources == [{"read"}, *[{"browser"}] * len(LINES)]
    assert readings.page_texts(home.database, frame_id) == []  # it has become text
    again = loop._told(frames.get(home.database, frame_id), shown(words))
    assert again is not None and texts(
        again.words(np.ones((1, 1)), np.ones((600, 900), np.bool_))
    ) == texts_of(words)


def test_what_was_read_before_it_was_told_is_told_from_then_on(engine: OcrEngine) -> None:
    words = page()
    image, reader = shown(words), IncrementalReader(engine)
    reader.read("DP-1", image)
    told_lines = reader.read("DP-1", image, told=Told([told(words)], image, engine))
    assert [line.text for line in told_lines] == ["https://harbour.example", *LINES]
    later = reader.read("DP-1", image, told=Told([told(words)], image, engine))
    for lines in (told_lines, later):
        assert [{w.source for w in line.words} for line in lines[1:]] == [{"browser"}] * len(LINES)


def test_what_is_unusable_beside_a_picture_is_left_out(home: Home) -> None:
    home.spool.put(capture(), webp(shown(page())), b"[[]]")
    result = store_entry(home, taken(home), NOON_MS)
    assert result.outcome == "stored" and result.frame_id is not None
    assert readings.page_texts(home.database, result.frame_id) == []
