"""Plain functions with defaults that make things for tests."""

from __future__ import annotations

import hashlib
import io
import re
import unicodedata
import uuid
from collections.abc import Iterable, Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any

from PIL import Image

from store.core.database import Database
from store.core.paths import DataDir
from store.frames import frames, media
from store.ocr import readings
from store.privacy.rules import OwnChoices, Rule, save_choices
from store.spool.queue import Capture

CASES = Path(__file__).parent / "cases"

NOON_MS = 1_795_176_000_000  # 2026-11-20 12:00:00 UTC


class Clock:
    """Now, as a test sets it; epoch milliseconds."""

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms


def picture(seed: int = 0, size: tuple[int, int] = (64, 48)) -> Image.Image:
    """A small picture that differs from every other seed's, with strokes as of a letter."""
    red, green, blue = hashlib.sha256(str(seed).encode()).digest()[:3]
    image = Image.new("RGB", size, (red, green, blue))
    for x in (6, 12):
        image.paste((red ^ 128, green ^ 128, blue ^ 128), (x, 6, x + 3, 18))
    return image


def webp(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", lossless=True, quality=20, method=2)
    return buffer.getvalue()


def capture(captured_ms: int = NOON_MS, **changes: Any) -> Capture:
    values: dict[str, Any] = {
        "capture_id": str(uuid.uuid4()),
        "captured_ms": captured_ms,
        "source": "screen",
        "monitor": "DP-1",
        "app_name": "Code",
        "window_name": "main.py",
        "focused": True,
        "visible": (),
        **changes,
    }
    return Capture(**values)


def store_frame(
    database: Database,
    data_dir: DataDir,
    captured_ms: int = NOON_MS,
    text: str | None = None,
    *,
    image: Image.Image | None = None,
    **changes: Any,
) -> frames.FrameRow:
    """A stored frame with a real picture; with `text`, one that was read (a line per newline)."""
    shelf = media.Media(data_dir.media)
    record = capture(captured_ms, **changes)
    shown = picture(captured_ms) if image is None else image
    still = shelf.keep(webp(shown), "image/webp", captured_ms, record.capture_id)
    with database.write() as connection:
        frame_id = frames.insert(connection, record, still, captured_ms)
        if text is not None:
            readings.add(connection, frame_id, text_draft(text), (), captured_ms)
    return frames.get(database, frame_id)


def text_draft(text: str, unsure: Mapping[str, float] | None = None) -> readings.TextDraft:
    """A reading of `text`: lines 20 pixels high, words 10 pixels a character, a wide one 20. A gap of several
    spaces parts two lines of a row, as it does for a reader. `unsure` are the words of which the reader was
    not sure, and how sure it was of each.
    """
    lines = []
    for row, line in enumerate(text.split("\n")):
        begins = _columns_before(line)
        for cell in re.finditer(r"\S+(?: \S+)*", line) if line.strip() else [re.match("", "")]:
            words = []
            for word in re.finditer(r"\S+", cell[0]):
                start, end = (begins[cell.start() + at] for at in word.span())
                box = readings.Box(10 * start, row * 20, 10 * (end - start), 16)
                words.append(readings.DraftWord(word[0], box, (unsure or {}).get(word[0], 0.9)))
            start, end = (begins[at] for at in cell.span())
            around = readings.Box(10 * start, row * 20, max(10 * (end - start), 1), 16)
            lines.append(readings.DraftLine(around, 0.9, tuple(words)))
    return readings.TextDraft(tuple(lines), engine="test", language="eng", duration_ms=1)


def desktop_entry(folder: Path, stem: str, lines: str) -> None:
    """The entry of a program, in the folder of applications of a data folder."""
    (folder / "applications").mkdir(parents=True, exist_ok=True)
    content = f"[Desktop Entry]\nType=Application\n{lines}\n"
    (folder / "applications" / f"{stem}.desktop").write_text(content, "utf-8")


def _columns_before(line: str) -> list[int]:
    """How many columns of a terminal stand before each sign of a line, and before its end."""
    widths = (2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in line)
    return [0, *accumulate(widths)]


def save_rules(data_dir: DataDir, rules: Iterable[Rule], *, defaults: bool = True) -> None:
    """Let the person have chosen these rules and this switch, and nothing else."""
    save_choices(data_dir, OwnChoices(tuple(rules), defaults))
