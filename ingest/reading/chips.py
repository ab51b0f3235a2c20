"""Does a browser's toolbar say that its window is private?

Chrome and its relatives draw a chip at the right end of the toolbar: an icon and "Incognito",
"Incognito (2)", "Private" or the like in the browser's language. The words alone prove nothing, for any
page may say them; what counts is where they stand. Lengths below are in heights of the chip's own
word, so that they hold at every scale factor. Measured on Chromium 156 at factors 1 and 2: the chip
is 4.5 heights below the window's edge (7 under a title bar of the window manager), ends 4.5 heights
from the right edge and stands 6 heights from the address. Page content begins 8 heights down. All
functions here are pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from engines.ocr.protocol import Box, OcrLine, OcrWord

_HIGHEST, _LOWEST = 2.5, 7.2  # of its middle, from the upper edge
_FROM_RIGHT = 12.0  # of its right end: an invitation to restart the browser may stand there
_APART = 1.5  # nothing else of its row is nearer, but for its icon
_SAME_SIZE = 0.7  # what stands above is a tab's title or the window's, of about the same size
_ALIKE = 0.88  # one wrong letter of nine; "Cognito" is not "Incognito"
_LONG_ENOUGH_TO_MISREAD = 7


def shows_incognito(lines: Iterable[OcrLine], width: int, labels: Sequence[str]) -> bool:
    """Whether one of `labels` stands where a chip would.

    `lines` were read in a picture whose upper edge is the window's and whose right edge, `width`, is
    the window's too.
    """
    words = [word for line in lines for word in line.words]
    rows = _rows(word for word in words if len(_letters(word.text)) >= 1)
    for number, row in enumerate(rows):
        above = [word for earlier in rows[:number] for word in earlier if _is_text(word)]
        for group in _groups(row):
            label = _chip(group, labels)
            if label is not None and _is_placed(label, above, width):
                return True
    return False


def _is_text(word: OcrWord) -> bool:
    """Not an icon or an edge that was taken for a few letters."""
    return len(_letters(word.text)) >= 4 and word.confidence >= 0.5


def _is_placed(chip: Box, above: Sequence[OcrWord], width: int) -> bool:
    height = max(1, chip.h)
    middle = (chip.y + chip.h / 2) / height
    if not _HIGHEST <= middle <= _LOWEST or width - chip.right > _FROM_RIGHT * height:
        return False
    is_heading = any(word.box.h < _SAME_SIZE * height for word in above)
    return len(_rows(above)) <= 1 and not is_heading


def _chip(group: Sequence[OcrWord], labels: Sequence[str]) -> Box | None:
    """Where the label is that this group consists of, but for an icon taken for letters and a count.

    The box is that of its longest word: an icon or a line beside it may be taller.
    """
    for skipped in range(min(3, len(group))):
        if any(len(word.text) > 3 for word in group[:skipped]):
            return None
        words = group[skipped:]
        said = _letters("".join(word.text for word in words))
        if any(_is_alike(said, _letters(label)) for label in labels):
            return max(words, key=lambda word: len(_letters(word.text))).box
    return None


def _is_alike(said: str, label: str) -> bool:
    if said == label:
        return True
    if len(label) < _LONG_ENOUGH_TO_MISREAD or not label.isascii():
        return False
    return SequenceMatcher(None, said, label, autojunk=False).ratio() >= _ALIKE


def _letters(text: str) -> str:
    """Letters only, without case and accents: neither a count in brackets nor a bracket counts."""
    plain = unicodedata.normalize("NFKD", re.sub(r"[1|!]", "i", text)).casefold()
    return "".join(character for character in plain if character.isalpha())


def _rows(words: Iterable[OcrWord]) -> list[list[OcrWord]]:
    """Words that stand beside each other, from the top down, each row from the left."""
    rows: list[list[OcrWord]] = []
    for word in sorted(words, key=lambda word: word.box.y + word.box.h / 2):
        middle = word.box.y + word.box.h / 2
        if rows and any(other.box.y <= middle <= other.box.bottom for other in rows[-1]):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.box.x) for row in rows]


def _groups(row: Sequence[OcrWord]) -> list[list[OcrWord]]:
    """A row, cut where a gap is wider than `_APART` heights of the lower of two words."""
    groups: list[list[OcrWord]] = []
    for word in row:
        gap = word.box.x - groups[-1][-1].box.right if groups else 0
        if groups and gap < _APART * min(word.box.h, groups[-1][-1].box.h):
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups
