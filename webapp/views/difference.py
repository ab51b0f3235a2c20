"""What differs between two texts, line by line, to be read without colours too."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal

Kind = Literal["same", "added", "removed"]

_KINDS: dict[str, Kind] = {" ": "same", "+": "added", "-": "removed"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Kind
    text: str


def difference(before: str, after: str) -> list[DiffLine]:
    """Every line of both texts in order: kept, gone from `before`, or new in `after`."""
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [DiffLine(_KINDS[line[0]], line[2:]) for line in lines if line[0] in _KINDS]
