from __future__ import annotations

import random
import string
import sys

import pytest
from PIL import Image, ImageDraw, ImageFont

from engines.ocr.protocol import Box, OcrLine, OcrUnavailable, OcrWord, line_of, open_ocr
from ingest.reading.secret_masking import MASK, open_mask

ALPHANUMERIC = string.ascii_letters + string.digits
made = random.Random(4711)


def run(length: int, of: str = ALPHANUMERIC) -> str:
    return "".join(made.choice(of) for _ in range(length))


def line(text: str) -> OcrLine:
    words, x = [], 10
    for word in text.split():
        words.append(OcrWord(word, Box(x, 20, 8 * len(word), 12), 0.9))
        x += 8 * len(word) + 8
    return line_of(words)


def masked(text: str) -> str:
    (result,) = open_mask()([line(text)])
    assert [word.box for word in result.words] == [word.box for word in line(text).words]
    return result.text


@pytest.mark.parametrize(
    "secret",
    [
        "AKIA" + run(16, string.ascii_uppercase + string.digits),
        "ghp_" + run(36),
        "github_pat_" + run(22) + "_" + run(59),
        f"xoxb-{run(11, string.digits)}-{run(12, string.digits)}-{run(24)}",
        "sk-proj-" + run(48),
        "hf_" + run(34),
        run(40, "0123456789abcdef"),
        f"postgres://app:{run(14)}@db.example.org:5432/rooms",
    ],
)
def test_the_word_of_a_secret_is_masked_whole_and_what_stands_beside_it_stays(secret: str) -> None:
    assert masked(f"copied {secret} into the form") == f"copied {MASK} into the form"


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("Password: kestrel-Oak7", f"Password: {MASK}"),
        ("Password: kestrel changes in May", f"Password: {MASK} changes in May"),
        ("API_KEY=" + run(12), MASK),
    ],
)
def test_a_value_behind_its_name_is_masked_up_to_the_next_blank(typed: str, kept: str) -> None:
    assert masked(typed) == kept


def test_a_known_shape_is_found_where_reading_put_a_blank() -> None:
    secret = "ghp_" + run(36)
    assert masked(f"{secret[:17]} {secret[17:]}") == f"{MASK} {MASK}"


@pytest.mark.parametrize(
    "text",
    [
        "The invoice of 12 November 2026 (2026-11-0417) is EUR 1,284.50, IBAN DE89 3704 0044 0532 0130 00",
        "https://example.org/shop/orders/2026/november/Ersatzteile-fuer-Fahrraeder-Katalog2026.pdf?page=12",
        "The password is on the note beside the door",
        "Donaudampfschifffahrtsgesellschaftskapitaen Revox_B77_Service_Manual_v2 getHTTPResponseCode200",
        "550e8400-e29b-41d4-a716-446655440000",
        "会议改到星期四下午三点 密码在门边的纸条上",
    ],
)
def test_ordinary_lines_stay_as_they_are(text: str) -> None:
    assert open_mask()([line(text)]) == [line(text)]


def test_most_secrets_are_found_as_tesseract_reads_them() -> None:
    """Those that have no shape of their own are found less often: reading takes O for 0, l for I."""
    secrets = ["ghp_" + run(36) for _ in range(12)]
    image = Image.new("RGB", (900, 40 + 40 * len(secrets)), "white")
    font = ImageFont.load_default(18)
    for row, secret in enumerate(secrets):
        ImageDraw.Draw(image).text((30, 30 + 40 * row), secret, font=font, fill="black")
    engine = open_ocr("auto", ("eng",))
    try:
        lines = open_mask()(engine.read(image))
    finally:
        engine.close()
    assert sum(MASK in line.text for line in lines) >= 9


def test_without_its_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "detect_secrets.core.plugins.util", None)
    with pytest.raises(OcrUnavailable, match="pip install bc-detect-secrets"):
        open_mask.__wrapped__()
