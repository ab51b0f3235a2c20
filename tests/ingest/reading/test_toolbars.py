"""Toolbars of browser windows that may be private: read before anything of the window is stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from engines.ocr.protocol import Box, OcrEngine, OcrError, OcrLine, OcrWord, open_ocr
from ingest.core.home import Home
from ingest.core.validation import InvalidImage
from ingest.reading import incognito_badge as module
from ingest.reading.incognito_badge import AGAIN_MS, READINGS, BadgeReader, shows_incognito
from ingest.worker.storing import Result, TryLater, store_entry
from store.frames import frames
from store.spool import window_hints
from store.spool.queue import Capture, DecisionRun, LookReport
from store.spool.window_hints import Toolbar
from store.timeline import gaps, ledger
from store.verify import verify
from tests.factories import NOON_MS, picture
from tests.ingest.conftest import ScriptedEngine, queue, taken
from tests.tables import for_each

STRIPS = Path(__file__).parent / "toolbars"
DAY_MS = 86_400_000
WINDOW = Toolbar("7.1.a", "Chromium", 0, 0, 640, 230)
BATCH = "6f1c0b1e-8f0a-4a53-9d0e-0a5c1d2e3f40"


# -- where a chip stands ------------------------------------------------------------------


def line(text: str, x: int, y: int, h: int = 14) -> OcrLine:
    words, at = [], x
    for word in text.split():
        width = round(len(word) * h * 0.55)
        words.append(OcrWord(word, Box(at, y, width, h), 0.9))
        at += width + h // 3
    return OcrLine(text, Box(x, y, max(1, at - x), h), 0.9, tuple(words))


TAB, ADDRESS = line("Harbour", 76, 14), line("example.org/lighthouse", 160, 57)


def says(
    text: str, x: int = 1150, y: int = 57, h: int = 14, labels: tuple[str, ...] = ("Incognito",)
) -> bool:
    return shows_incognito([TAB, ADDRESS, line(text, x, y, h)], 1280, labels)


@for_each(
    ("text", "labels"),
    [
        ("Incognito", ("Incognito",)),
        ("incognito", ("Incognito",)),
        ("& Incognito", ("Incognito",)),  # its icon, taken for a letter
        ("(和 Incognito )", ("Incognito",)),
        ("lncognito", ("Incognito",)),
        ("Incognito (2)", ("Incognito",)),
        ("Navigation privée", ("Navigation privée",)),
        ("无痕模式", ("无痕模式",)),
        ("全 无痕 模式", ("无痕模式",)),
        ("Private", ("Private",)),
    ],
)
def test_a_chip_at_the_right_end_of_the_toolbar(text: str, labels: tuple[str, ...]) -> None:
    assert says(text, labels=labels)


@for_each(
    ("where", "text", "x", "y", "h"),
    [
        ("a tab's title", "Incognito", 1150, 15, 12),
        ("a bookmark", "Incognito", 1150, 115, 14),
        ("a page's first line", "Incognito", 1150, 118, 14),
        ("a page's heading", "Incognito", 1060, 120, 30),
        ("the left of the address", "Incognito", 500, 57, 14),
        ("a sentence", "Incognito mode is off", 1090, 57, 14),
        ("the end of an address", "search for Incognito", 1060, 57, 14),
        ("another word", "Cognito", 1150, 57, 14),
        ("a guest", "Guest", 1150, 57, 14),
        ("a profile", "Private", 1150, 57, 14),
    ],
)
def test_the_words_elsewhere_are_no_chip(where: str, text: str, x: int, y: int, h: int) -> None:
    assert not says(text, x, y, h), where


@pytest.fixture(scope="module")
def engine() -> Iterator[OcrEngine]:
    engine = open_ocr("auto", ["eng", "chi_sim"])
    yield engine
    engine.close()


@for_each("name", sorted(path.stem for path in STRIPS.glob("*.webp")))
@pytest.mark.end_to_end
def test_toolbars_of_a_real_chromium(engine: OcrEngine, name: str) -> None:
    """Themes, widths, scale factors; pages and tabs that say the word themselves."""
    with Image.open(STRIPS / f"{name}.webp") as strip:
        said = module._read_strip(engine, strip.convert("RGB"), "Chromium")
    assert said == name.partition("_")[0]


# -- frames -------------------------------------------------------------------------------


class Chips(ScriptedEngine):
    """Reads a chip in every window's upper edge that `private` says so of."""

    def __init__(self, *, private: bool = False, errors: list[Exception] | None = None) -> None:
        super().__init__(errors=errors)
        self.private = private

    def read(self, image: Image.Image, mask: Image.Image | None = None) -> list[OcrLine]:
        super().read(image)
        width = len("Incognito") * 8
        return [line("Incognito", image.width - width - 60, 57)] if self.private else [ADDRESS]


@contextmanager
def served(toolbars: BadgeReader, engine: OcrEngine | None) -> Iterator[None]:
    """A thread that reads toolbars, as readers do."""
    stop = threading.Event()

    def serve() -> None:
        while not stop.is_set():
            if not toolbars.serve(engine):
                stop.wait(0.005)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def shown(seed: int, painted: bool = True) -> Image.Image:
    """A screen with something in its upper edge, or of one colour."""
    image = picture(seed, (640, 480))
    if painted:
        ImageDraw.Draw(image).rectangle((20, 20, 400, 60), fill="white", outline="black")
    return image


@pytest.fixture
def put(home: Home) -> Callable[..., Capture]:
    """A frame that shows the window, in the spool; a second later each time."""
    count = iter(range(1000))

    def put(*toolbars: Toolbar, painted: bool = True, at_ms: int | None = None) -> Capture:
        number = next(count)
        return queue(
            home, shown(number, painted), captured_ms=at_ms or NOON_MS + 1000 * number, app_name="Chromium",
            window_name="Harbour - Chromium", batch_id=BATCH, toolbars=toolbars or (WINDOW,),
        )  # fmt: skip

    return put


def store_all(home: Home, toolbars: BadgeReader | None) -> list[Result]:
    results = []
    while names := home.spool.waiting():
        entry = taken(home)
        results.append(store_entry(home, entry, NOON_MS, toolbars))
        home.spool.finish(names[0])
    return results


def outcomes(results: list[Result]) -> list[str]:
    return [result.outcome for result in results]


def test_a_private_window_is_never_stored_and_capture_is_told(
    home: Home, put: Callable[..., Capture]
) -> None:
    record, _ = put(), put()
    toolbars = BadgeReader(home.data_dir)
    engine = Chips(private=True)
    with served(toolbars, engine):
        assert outcomes(store_all(home, toolbars)) == ["excluded", "excluded"]
    assert engine.reads == 1  # the second frame of the window needs no reading
    assert window_hints.read(home.data_dir.spool).private == ("7.1.a",)
    assert home.media.files() == []
    known = frames.outcome(home.database, record.capture_id)
    assert known is not None and (known.outcome, known.reason) == ("excluded", "private_window")
    ((decision),) = ledger.daily(home.database, NOON_MS, NOON_MS + DAY_MS)
    assert (decision.decision, decision.reason, decision.looks) == ("excluded", "ingest_private_window", 2)


def test_an_ordinary_window_is_read_a_few_times_and_then_once_a_minute(
    home: Home, put: Callable[..., Capture]
) -> None:
    engine, toolbars = Chips(), BadgeReader(home.data_dir)
    for _ in range(READINGS + 3):
        put()
    with served(toolbars, engine):
        assert set(outcomes(store_all(home, toolbars))) == {"stored"}
        each = engine.reads // READINGS
        assert engine.reads == each * READINGS  # as it stands, and enlarged
        put(at_ms=NOON_MS + AGAIN_MS + 10_000)
        store_all(home, toolbars)
    assert engine.reads == each * (READINGS + 1)
    assert window_hints.read(home.data_dir.spool).seen == ("7.1.a",)


def test_frames_stored_before_a_chip_was_read_are_taken_back(home: Home, put: Callable[..., Capture]) -> None:
    toolbars, ordinary = BadgeReader(home.data_dir), Chips()
    with served(toolbars, ordinary):
        for _ in range(READINGS):
            put()
        kept = [result.frame_id for result in store_all(home, toolbars)]
        later = [put(), put(), put()]
        gone = [result.frame_id for result in store_all(home, toolbars)]
    with served(toolbars, Chips(private=True)):
        put(at_ms=NOON_MS + AGAIN_MS + 10_000)
        assert outcomes(store_all(home, toolbars)) == ["excluded"]
    assert list(frames.get_many(home.database, [i for i in kept if i])) == kept
    assert frames.get_many(home.database, [i for i in gone if i]) == {}
    assert len(home.media.files()) == len(kept)
    for capture in later:
        known = frames.outcome(home.database, capture.capture_id)
        assert known is not None and (known.outcome, known.reason) == ("excluded", "private_window")


def test_the_ledger_adds_up_when_frames_are_taken_back(home: Home, put: Callable[..., Capture]) -> None:
    toolbars = BadgeReader(home.data_dir)
    with served(toolbars, Chips()):
        for _ in range(READINGS):
            put()
        store_all(home, toolbars)
        second = put()
        store_all(home, toolbars)
    with served(toolbars, Chips(private=True)):
        put(at_ms=NOON_MS + AGAIN_MS + 10_000)
        store_all(home, toolbars)
    run = DecisionRun("DP-1", "deduped", "unchanged", NOON_MS + 4000, NOON_MS + 9000, 5, second.capture_id)
    home.spool.put(LookReport(BATCH, NOON_MS, NOON_MS + 90_000, READINGS + 7, (run,)))
    store_all(home, toolbars)
    sums = ledger.reconcile(home.database, NOON_MS - 1, NOON_MS + DAY_MS)
    assert (sums.difference, sums.kept, sums.excluded, sums.deduped) == (0, READINGS, 7, 0)
    found = gaps.gaps(home.database, NOON_MS + 4000, NOON_MS + 9000, NOON_MS + DAY_MS)
    assert [gap.reason for gap in found] == ["excluded"]
    assert verify.verify(home.database, home.media, home.spool).problems == ()


@pytest.mark.parametrize("engine", [None, Chips(errors=[OcrError("broken")])])
def test_what_nobody_can_read_is_left_out(
    home: Home, put: Callable[..., Capture], engine: ScriptedEngine | None
) -> None:
    record, toolbars = put(), BadgeReader(home.data_dir)
    with served(toolbars, engine):
        assert outcomes(store_all(home, toolbars)) == ["excluded"]
    known = frames.outcome(home.database, record.capture_id)
    assert known is not None and known.reason == "may_be_private"


def test_a_window_that_is_not_painted_yet_is_left_out(home: Home, put: Callable[..., Capture]) -> None:
    toolbars = BadgeReader(home.data_dir)
    put(painted=False)
    put()
    put(painted=False)
    with served(toolbars, Chips()):
        assert outcomes(store_all(home, toolbars)) == ["excluded", "stored", "stored"]


def test_without_any_reader_nothing_of_it_is_stored(home: Home, put: Callable[..., Capture]) -> None:
    put()
    assert outcomes(store_all(home, None)) == ["excluded"]


def test_a_busy_reader_makes_the_frame_wait(
    home: Home, put: Callable[..., Capture], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    put()
    entry, toolbars = taken(home), BadgeReader(home.data_dir)
    with pytest.raises(TryLater):
        store_entry(home, entry, NOON_MS, toolbars)
    assert not toolbars.serve(Chips()) or home.media.files() == []
    with served(toolbars, Chips()):
        monkeypatch.setattr(module, "_PATIENCE_S", 20.0)
        assert store_entry(home, entry, NOON_MS, toolbars).outcome == "stored"


def test_each_window_in_the_picture_counts(home: Home, put: Callable[..., Capture]) -> None:
    toolbars = BadgeReader(home.data_dir)
    window_hints.record_toolbar(home.data_dir.spool, "7.1.b", is_private=True)
    put(WINDOW, replace(WINDOW, window="7.1.b"))
    assert outcomes(store_all(home, toolbars)) == ["excluded"]


@pytest.mark.parametrize("wrong", [{"w": -1}, {"x": "1"}, {"window": 7}, {"h": 1.5}])
def test_toolbars_that_are_none_are_refused(
    home: Home, put: Callable[..., Capture], wrong: dict[str, object]
) -> None:
    put()
    (name,) = home.spool.waiting()
    path = home.spool.folder / "new" / name / "entry.json"
    document = json.loads(path.read_bytes())
    document["toolbars"][0] |= wrong
    path.write_text(json.dumps(document))
    with pytest.raises(InvalidImage, match="toolbars"):
        store_entry(home, taken(home), NOON_MS, BadgeReader(home.data_dir))
