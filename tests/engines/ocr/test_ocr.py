"""Every OCR engine keeps the same promises, and a missing one says what to type."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from difflib import SequenceMatcher
from importlib.util import find_spec
from pathlib import Path

import pytest
from PIL import Image

from engines.ocr import rapidocr, tesseract
from engines.ocr.protocol import (
    OCR_ENGINES,
    Box,
    OcrEngine,
    OcrError,
    OcrLine,
    OcrUnavailable,
    open_ocr,
)
from engines.registry import UnknownName
from tests.golden.truth import TrueWord, compare, golden, overlap
from tests.tables import for_each

pytestmark = pytest.mark.end_to_end

LANGUAGES = ("eng", "chi_sim")
# A part of a frame with a few lines: enough to keep a promise, cheap enough to read often.
ENGLISH, CHINESE = ("docs_dark13", (180, 40, 1100, 340)), ("chinese_light16", (30, 80, 330, 200))


def installed() -> list[str]:
    """tesserocr and tesseract always run here; the bundled engine where its extra is installed."""
    return ["tesserocr", "tesseract", *(["rapidocr"] if find_spec("rapidocr") else [])]


@pytest.fixture(scope="module", params=installed())
def engine(request: pytest.FixtureRequest) -> Iterator[OcrEngine]:
    engine = open_ocr(request.param, LANGUAGES)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def english(engine: OcrEngine) -> list[OcrLine]:
    """The English part as this engine reads it."""
    return engine.read(part(*ENGLISH)[0])


@pytest.fixture(scope="module")
def chinese(engine: OcrEngine) -> list[OcrLine]:
    """The Chinese part as this engine reads it."""
    return engine.read(part(*CHINESE)[0])


def part(name: str, area: tuple[int, int, int, int]) -> tuple[Image.Image, list[TrueWord]]:
    """A cut of a golden frame with the words that stand in it."""
    frame = golden(name)
    left, top, right, bottom = area
    words = []
    for word in frame.words:
        box = word.box
        if box and left <= box.x and box.right <= right and top <= box.y and box.bottom <= bottom:
            words.append(TrueWord(word.text, Box(box.x - left, box.y - top, box.w, box.h)))
    return frame.image().crop(area), words


def test_an_engine_says_its_name_and_languages(engine: OcrEngine) -> None:
    assert engine.name in OCR_ENGINES.names()
    assert engine.languages == LANGUAGES


def test_english_is_found_where_it_stands(english: list[OcrLine]) -> None:
    _, true = part(*ENGLISH)
    read = {word.text.strip(".,;:").lower() for line in english for word in line.words}
    wanted = {word.text.strip(".,;:").lower() for word in true if word.text.strip(".,;:").isalpha()}
    assert len(wanted & read) >= 0.8 * len(wanted)
    by_text = {word.text: word.box for line in english for word in line.words}
    found = [(word.box, by_text[word.text]) for word in true if word.text in by_text and len(word.text) > 4]
    near = [overlap(box, other) > 0.4 for box, other in found if box]
    assert len(near) > 10
    assert sum(near) > 0.6 * len(near)


def test_only_what_a_mask_leaves_open_is_read(engine: OcrEngine, english: list[OcrLine]) -> None:
    image, line = part(*ENGLISH)[0], english[len(english) // 2]
    mask = Image.new("1", image.size)
    mask.paste(1, (line.box.x - 4, line.box.y - 2, line.box.right + 4, line.box.bottom + 2))
    (read,) = engine.read(image, mask)
    assert SequenceMatcher(None, read.text, line.text).ratio() > 0.9
    assert overlap(read.box, line.box) > 0.8
    assert engine.read(image, Image.new("1", image.size)) == []


def test_chinese_reaches_the_engine(chinese: list[OcrLine]) -> None:
    _, true = part(*CHINESE)
    text = "".join(line.text for line in chinese)
    assert sum(word.text in text for word in true) >= 0.9 * len(true)


def test_boxes_and_confidences_are_sound(english: list[OcrLine]) -> None:
    image, _ = part(*ENGLISH)
    for line in english:
        assert line.words
        for box in [line.box, *(word.box for word in line.words)]:
            assert box.w > 0 and box.h > 0
            assert box.x >= 0 and box.right <= image.width
            assert box.y >= 0 and box.bottom <= image.height
        for word in line.words:
            assert word.text == word.text.strip() != ""
            assert word.text in line.text
            assert 0 <= word.confidence <= 1
        assert 0 <= line.confidence <= 1


def test_the_same_picture_gives_the_same_lines(engine: OcrEngine, chinese: list[OcrLine]) -> None:
    assert engine.read(part(*CHINESE)[0]) == chinese != []


@for_each("size", [(1, 1), (3, 200), (200, 3), (64, 64)])
def test_an_empty_picture_has_no_lines(engine: OcrEngine, size: tuple[int, int]) -> None:
    assert engine.read(Image.new("RGB", size, "#1e1f22")) == []


@for_each("mode", ["L", "RGBA", "P"])
def test_any_mode_of_picture_is_read(engine: OcrEngine, mode: str) -> None:
    words = part(*ENGLISH)[0].crop((0, 0, 420, 160))
    image = Image.new("RGB", (420, 300), words.getpixel((0, 0)))  # a flat picture would be enlarged
    image.paste(words)
    converted = image.quantize() if mode == "P" else image.convert(mode)  # convert strews dots over it
    assert "low" in " ".join(line.text for line in engine.read(converted)).lower()


def test_nothing_of_a_picture_is_in_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """When we are killed they would stay in the temporary folder, where no deletion comes to them."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    for name in installed():
        opened = open_ocr(name, ["eng"])
        assert opened.read(part(*ENGLISH)[0].crop((0, 0, 420, 160)))
        opened.close()


@for_each("name", installed())
def test_a_closed_engine_refuses_to_read(name: str) -> None:
    engine = open_ocr(name, ["eng"])
    engine.close()
    engine.close()
    with pytest.raises(OcrError, match="closed"):
        engine.read(Image.new("RGB", (50, 50)))


def test_models_of_tesseract_are_let_go_of_in_a_rest_and_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine, picture = open_ocr("tesserocr", ["eng"]), part(*ENGLISH)[0]
    before = engine.read(picture)
    assert not engine.rest()
    monkeypatch.setattr(tesseract, "IDLE_S", 0)
    assert [engine.rest(), engine.rest()] == [True, False]
    # Of another size, so that no word is remembered.
    assert engine.read(picture.resize((picture.width * 2, picture.height * 2)))
    assert engine.read(picture) == before
    engine.close()
    assert not engine.rest()


@for_each("name", ["tesserocr", "tesseract", "rapidocr"])
def test_missing_language_data_is_said_at_opening(name: str) -> None:
    with pytest.raises(OcrUnavailable, match=r"\bxyz\b.*; run: .*xyz"):
        open_ocr(name, ["eng", "xyz"])


def test_no_language_is_refused() -> None:
    with pytest.raises(OcrUnavailable, match=r"ocr\.languages"):
        open_ocr("auto", [])


def test_an_unknown_engine_lists_the_known() -> None:
    with pytest.raises(UnknownName, match="known: tesserocr, tesseract, rapidocr"):
        open_ocr("abbyy", ["eng"])


def test_auto_takes_the_first_engine_that_reads_the_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise OcrUnavailable("not here; run: install it")

    for module, kind, name in [
        (tesseract, "TesserocrEngine", "tesserocr"),
        (tesseract, "TesseractEngine", "tesseract"),
        (rapidocr, "RapidEngine", "rapidocr"),
    ]:
        if name in installed():
            opened = open_ocr("auto", LANGUAGES)
            assert opened.name == name
            opened.close()
        monkeypatch.setattr(module, kind, missing)
    with pytest.raises(OcrUnavailable, match="not here; run: install it"):
        open_ocr("auto", LANGUAGES)


def test_a_folder_without_a_language_is_passed_over(tmp_path: Path) -> None:
    poor, rich = tmp_path / "poor", tmp_path / "rich"
    for folder, names in [(poor, ["eng"]), (rich, ["eng", "ita", "chi_sim"])]:
        folder.mkdir()
        for name in names:
            (folder / f"{name}.traineddata").write_text(name)
    folders = [tmp_path / "absent", poor, rich]
    assert tesseract.folder_with(("eng", "chi_sim"), folders) == rich
    assert tesseract.folder_with(("eng",), folders) == poor
    of_latin = tesseract.models_in(rich, ("eng", "ita", "chi_sim"), None)
    assert of_latin != tesseract.models_in(rich, ("eng", "chi_sim"), None)
    with pytest.raises(OcrUnavailable, match="no data for deu; run"):
        tesseract.folder_with(("eng", "deu"), folders)


def test_tessdata_prefix_is_looked_at_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    assert list(tesseract.usual_folders())[:2] == [tmp_path, tmp_path / "tessdata"]


def test_a_missing_program_says_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: "/usr/bin/apt-get" if name == "apt-get" else None)
    with pytest.raises(
        OcrUnavailable,
        match="not installed; run: sudo apt-get install tesseract-ocr tesseract-ocr-eng tesseract-ocr-chi-",
    ):
        open_ocr("tesseract", LANGUAGES)


def test_the_tesseract_program_uses_one_thread() -> None:
    open_ocr("tesseract", ["eng"]).close()
    assert os.environ["OMP_THREAD_LIMIT"] == "1"


@for_each("name", ["settings_light15", "docs_light_hidpi15", "article_light_hidpi2"])
def test_boxes_fit_their_words_at_every_scale(name: str) -> None:
    frame = golden(name)
    engine = open_ocr("tesserocr", ["eng"])
    read = [word for line in engine.read(frame.image()) for word in line.words]
    engine.close()
    fits = []
    for word in frame.words:
        same = [other.box for other in read if other.text == word.text]
        if word.box and same and word.text.isalnum() and len(word.text) > 1:
            fits.append(max(overlap(word.box, box) for box in same) >= 0.7)
    assert len(fits) > 60
    assert sum(fits) >= 0.98 * len(fits)


def test_words_of_both_windows_are_found() -> None:
    frame = golden("windows_side_by_side")
    engine = open_ocr("tesserocr", ["eng"])
    lines = engine.read(frame.image())
    engine.close()
    assert compare(frame, lines).recall >= 0.97
    assert not [line.text for line in lines if line.box.x < 940 and line.box.right > 980]
