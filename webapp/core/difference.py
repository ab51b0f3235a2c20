"""What differs between two texts, line by line, to be read without colours too."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "added", "removed"]


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Kind
    text: str


def difference(before: str, after: str) -> list[DiffLine]:
    """Every line of both texts in order: kept, gone from `before`, or new in `after`.

    Whole lines are compared: `difflib.ndiff`, which also looks for similar ones, takes minutes for
    thousands of short lines. Lines that are everywhere are no anchors, which keeps those fast, too.
    """
    old, new = (text.split("\n") if text else [] for text in (before, after))
    lines: list[DiffLine] = []
    for tag, a, b, c, d in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            lines += [DiffLine("same", text) for text in old[a:b]]
            continue
        lines += [DiffLine("removed", text) for text in old[a:b]]
        lines += [DiffLine("added", text) for text in new[c:d]]
    return lines
