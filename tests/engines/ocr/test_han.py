from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from PIL import Image, ImageDraw, ImageFont

from engines.ocr import han
from engines.ocr.han import HanReader, han_reader
from engines.ocr.protocol import OcrWord, line_of, open_ocr
from engines.ocr.tesseract import models_in
from tests.tables import for_each

FONT = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
BOLD = "/usr/share/fonts/opentype/noto/NotoSansCJK-Bold.ttc"
SENTENCE = "窑炉下午两点半升到一千零四十度，第四层架子又满了，明天谁能把釉料样品带来？"


@pytest.fixture(scope="module")
def reader() -> HanReader:
    reader = han_reader(["eng", "chi_sim"])
    assert reader is not None
    return reader


def row(text: str, size: int = 14, font: str = FONT) -> Image.Image:
    """Dark on white, with little around it."""
    face = ImageFont.truetype(font, size)
    left, top, right, bottom = (int(side) for side in face.getbbox(text))
    picture = Image.new("L", (right - left + 6, bottom - top + 6), 255)
    ImageDraw.Draw(picture).text((3 - left, 3 - top), text, font=face, fill=0)
    return picture


def text_of(words: list[OcrWord]) -> str:
    return line_of(words).text if words else ""


@for_each("text", ["工作室", "已付", "六月十四日到期", "明日の会議は午後三時からです", "發票還沒有付清"])
@for_each("font", [FONT, BOLD])
def test_labels_and_sentences_are_read(reader: HanReader, text: str, font: str) -> None:
    assert text_of(reader.read(row(text, font=font))) == text


def test_latin_beside_han_is_parted_at_its_blanks(reader: HanReader) -> None:
    words = reader.read(row("请 Tobias Fink 付清发票 2291"))
    assert [word.text for word in words] == ["请", "Tobias", "Fink", *"付清发票", "2291"]


def test_words_stand_where_their_ink_is(reader: HanReader) -> None:
    picture = row(SENTENCE[:12])
    words = reader.read(picture)
    pitch = (picture.width - 6) / 12
    for number, word in enumerate(words):
        assert abs(word.box.x + word.box.w / 2 - 3 - pitch * (number + 0.5)) < pitch / 2, word
    assert all(left.box.x < right.box.x for left, right in pairwise(words))


def test_an_icon_beside_a_row_is_in_no_words_box(reader: HanReader) -> None:
    label = row("工作室")
    picture = Image.new("L", (label.width + 60, label.height), 255)
    ImageDraw.Draw(picture).rectangle((4, 4, 10, 10), fill=0)
    picture.paste(label, (60, 0))
    (first, *_) = [word for word in reader.read(picture) if word.text == "工"]
    assert first.box.x > 10


def test_a_long_row_is_read_in_pieces_of_bounded_size(
    reader: HanReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    widths = []
    of_piece = HanReader._characters

    def noted(self: HanReader, grey: han.npt.NDArray[han.np.uint8], left: int) -> object:
        widths.append(grey.shape[1])
        return of_piece(self, grey, left)

    monkeypatch.setattr(HanReader, "_characters", noted)
    assert text_of(reader.read(row(SENTENCE * 3))) == SENTENCE * 3
    assert len(widths) > 3
    assert max(widths) <= han._PIECE


def test_a_blank_row_has_no_words(reader: HanReader) -> None:
    assert reader.read(Image.new("L", (3, 20), 255)) == []


def test_it_is_nobodys_reader_for_other_scripts(reader: HanReader) -> None:
    assert han_reader(["eng", "kor"]) is None
    assert (reader.reads("chi_sim+jpn"), reader.reads("kor"), reader.reads("eng")) == (True, False, False)


def test_without_its_packages_tesseract_reads_han(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(han, "find_spec", lambda name: None)
    engine = open_ocr("auto", ["eng", "chi_sim"])
    try:
        picture = Image.new("RGB", (400, 60), "white")
        picture.paste(row(SENTENCE[:10], 20), (40, 20))
        assert "PP-OCR" not in engine.version
        assert "下午" in "".join(line.text for line in engine.read(picture))
    finally:
        engine.close()


def test_who_reads_with_it_tells_so(reader: HanReader, tmp_path: Path) -> None:
    engine = open_ocr("auto", ["eng", "chi_sim"])
    try:
        assert engine.version.endswith("and PP-OCRv6")
    finally:
        engine.close()
    (tmp_path / "eng.traineddata").write_text("eng")
    assert models_in(tmp_path, ["eng"], reader) != models_in(tmp_path, ["eng"], None)


def test_the_weights_are_let_go_of_when_nothing_was_read_with_them_for_minutes_and_loaded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(han, "time", SimpleNamespace(monotonic=lambda: now[0]))
    engine = open_ocr("auto", ["eng", "chi_sim"])
    picture = Image.new("RGB", (400, 60), "white")
    picture.paste(row(SENTENCE[:10], 20), (40, 20))
    try:
        assert not engine.rest()
        first = engine.read(picture)
        now[0] += han.IDLE_S - 1
        assert not engine.rest()
        now[0] += 1
        assert [engine.rest(), engine.rest()] == [True, False]
        engine.read(picture.resize((800, 120)))
        assert engine.read(picture) == first
        now[0] += han.IDLE_S
        assert engine.rest()
    finally:
        engine.close()


def test_the_library_keeps_and_sends_nothing_of_its_own(tmp_path: Path) -> None:
    read = """if True:
        from PIL import Image
        from engines.ocr.han import han_reader
        han_reader(["chi_sim"]).read(Image.new("L", (200, 20), 255))
    """
    # Its events wait in the user's cache until they are sent.
    home = {name: str(tmp_path) for name in ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "TMPDIR")}
    environment = {name: value for name, value in os.environ.items() if name != "ORT_DISABLE_TELEMETRY"}
    python = [sys.executable, "-B", "-c", read]
    subprocess.run(python, env=environment | home, check=True, timeout=60)

    assert not list(tmp_path.rglob("*"))
