"""What was found in a file, and why nothing was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "html", "pdf", "docx", "image"]


class CannotRead(Exception):
    """Nothing of this file can be attached; the message is one sentence, without a full stop."""


class Unsupported(CannotRead):
    """It is of no kind that can be read."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """`text` is "" for an image. `is_whole` is false when there is more than was read."""

    kind: Kind
    media_type: str
    text: str = ""
    is_whole: bool = True
    pages: int | None = None
    width_px: int | None = None
    height_px: int | None = None


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
_BLANK_LINES = re.compile(r"\n{4,}")


def clean_text(text: str) -> str:
    """Text with line feeds alone, without control characters and long empty stretches."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x0b", "\n").replace("\x0c", "\n")
    plain = _CONTROL.sub("", lines)
    return _BLANK_LINES.sub("\n\n\n", "\n".join(line.rstrip() for line in plain.split("\n"))).strip("\n")
