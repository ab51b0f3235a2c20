from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from ingest.core.home import Home
from ingest.worker import duplicates
from store.frames import frames
from tests.factories import NOON_MS, capture, picture, store_frame
from tests.tables import for_each

FONTS = [
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
]


def screen(text: str, size: int = 12, ink: str = "#111", paper: str = "#fff") -> Image.Image:
    font: Any = ImageFont.load_default(size)
    for path in FONTS:
        if Path(path).exists():
            font = ImageFont.truetype(path, size)
    image = Image.new("RGB", (480, 320), paper)
    ImageDraw.Draw(image).multiline_text((6, 6), text, fill=ink, font=font)
    return image


SHEET = "\n".join("  ".join(f"{(row * 7 + column) * 1013:,}" for column in range(6)) for row in range(18))


@for_each("size", [8, 12, 16])
@for_each(("ink", "paper"), [("#111", "#fff"), ("#ddd", "#1e1e1e"), ("#999", "#aaa"), ("#2b2b2b", "#1e1e1e")])
@for_each(
    ("before", "after"),
    [("1,013", "1,018"), ("2,026", "2,026."), ("3,039", "3;039"), ("4,052", "4 052")],
)
def test_one_changed_character_on_a_dense_screen_is_never_near(
    size: int, ink: str, paper: str, before: str, after: str
) -> None:
    """Whatever the theme, down to contrasts that nobody calls readable."""
    one = screen(SHEET, size, ink, paper)
    other = screen(SHEET.replace(before, after, 1), size, ink, paper)
    assert one.tobytes() != other.tobytes()
    assert not duplicates.is_near(one, other)


def test_a_blinking_caret_is_not_near() -> None:
    one = screen(SHEET)
    other = one.copy()
    ImageDraw.Draw(other).line([(200, 100), (200, 112)], fill="#111")
    assert not duplicates.is_near(one, other)


def test_noise_that_nobody_sees_is_near() -> None:
    one, chance = screen(SHEET), random.Random(7)
    noise = Image.frombytes("L", one.size, bytes(chance.randrange(5) for _ in range(480 * 320)))
    other = Image.merge("RGB", [Image.eval(channel, lambda v: max(0, v - 4)) for channel in one.split()])
    assert duplicates.is_near(one, other)
    louder = Image.composite(Image.new("RGB", one.size, "#777"), one, noise.point(lambda v: 255 * (v == 4)))
    assert not duplicates.is_near(one, louder)


WINDOW: dict[str, Any] = {"source": "import", "monitor": "", "app_name": "Code", "window_name": "a.py"}


@pytest.mark.parametrize(
    ("later_ms", "changes", "expected"),
    [
        (1_000, {}, "exact"),
        (0, {}, "exact"),
        (29_999, {}, "exact"),
        (30_000, {}, None),
        (-1, {}, None),
        (1_000, {"window_name": "b.py"}, None),
        (1_000, {"app_name": None}, None),
        (1_000, {"browser_url": "https://example.com/"}, None),
        (1_000, {"focused": False}, None),
        (1_000, {"monitor": "HDMI-1"}, None),
    ],
)
def test_the_same_picture_is_folded_only_into_its_own_recent_window(
    home: Home, later_ms: int, changes: dict[str, Any], expected: str | None
) -> None:
    """A real frame at least every 30 s, and another window starts a new interval."""
    store_frame(home.database, home.data_dir, NOON_MS, image=picture(1), **WINDOW)
    record = capture(NOON_MS + later_ms, **{**WINDOW, **changes})
    found = duplicates.find_duplicate(home.database, home.media, record, picture(1))
    assert (found and found[1]) == expected


def test_a_gone_picture_equals_nothing(home: Home) -> None:
    frame = store_frame(home.database, home.data_dir, NOON_MS, image=picture(1), **WINDOW)
    nearly = picture(1).point(lambda value: value ^ 1)
    record = capture(NOON_MS + 1000, **WINDOW)
    assert duplicates.find_duplicate(home.database, home.media, record, nearly) == (frame, "near")
    home.media.remove([str(frame.media_path)])
    assert duplicates.find_duplicate(home.database, home.media, record, nearly) is None
    assert frames.get(home.database, frame.id) == frame


@for_each(
    ("source", "batch_id", "expected"),
    [("screen", None, False), ("folder", "a-batch", False), ("import", None, True), ("upload", None, True)],
)
def test_what_a_daemon_kept_is_not_asked_again(source: str, batch_id: str | None, expected: bool) -> None:
    assert duplicates.may_be_duplicate(capture(source=source, batch_id=batch_id)) is expected
