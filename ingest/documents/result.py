"""What was found in a file, and why nothing was."""

from __future__ import annotations

import re
import sys
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


# What reading one file may take. Whatever goes beyond ends the reading, or the program.

MAX_CHARS = 2_000_000
"""Text kept of one file; of a longer one the beginning, and it is said so."""

MAX_PAGES = 1_000
MAX_UNPACKED_BYTES = 50_000_000
"""Of one part of a packed document."""

MAX_PIXELS = 50_000_000
MEMORY_BYTES = 1_000_000_000
CPU_S = 20


def apply_limits() -> None:
    """Have the system hold this process to them, where it can (not on Windows).

    The processor's time is also the wall's for who waits (`webapp.core.uploads`).
    """
    if sys.platform == "win32":
        return
    import resource

    # Where memory cannot be bounded (macOS), the other limits hold.
    for kind, most in (
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        bounded = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (bounded, hard))
        except (OSError, ValueError) as error:
            print(f"a limit could not be set: {error}", file=sys.stderr)  # noqa: T201
