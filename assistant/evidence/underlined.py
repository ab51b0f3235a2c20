"""What of a sentence is underlined as standing on its frames, and when nothing of it is.

Half of a false sentence often stands on its frame, and underlined it would make the rest look proven. So
nothing is underlined in a sentence that may say the contrary of what it rests on: that denies where this does
not, or the other way round; that has its names in another order; or that goes back to a row of a table when
it has told of another. It need not be false, so that it is not warned of either. It rests on the quotes that
were given for it, or on the line of each cited frame that shares most with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assistant.core.records import OnFrame
from assistant.evidence.clauses import pieces_of
from assistant.evidence.particulars import Particular, Screen
from assistant.language.small_words import bare, denies

MIN_LETTERS = 4
"""Of a word by which a row is known."""
INFLECTED = 2
"""Letters at the end of a longer word that may be its ending."""

_WORD = re.compile(r"[^\W_]+")


def underlined(
    said: str,
    start: int,
    found: Sequence[Particular],
    shown: Mapping[int, Screen],
    quoted: Sequence[str],
    language: str,
) -> Iterator[OnFrame]:
    """What is underlined of a sentence that stands at `start` and is not warned of. `quoted` are its quotes,
    as they stand on the frames, and `language` is that of the answer.
    """
    rests_on = quoted or [line for screen in shown.values() if (line := screen.nearest(pieces_of(said)))]
    if _is_contrary(said, found, rests_on, language):
        return
    told = [each.value for each in found if each.value]
    if any(screen.is_of_other_clause(value, said) for value in told for screen in shown.values()):
        return
    for each in found:
        n = next((n for n, screen in shown.items() if screen.shows(each, said)), None)
        if n is not None:
            yield OnFrame(start + each.start, start + each.end, n)


def _is_contrary(said: str, found: Sequence[Particular], rests_on: Sequence[str], language: str) -> bool:
    """Whether a sentence denies where what it rests on does not, or the other way round, or has its names in
    another order.
    """
    denied = any(denies(text, language) for text in rests_on)
    if rests_on and denies(said, language) != denied:
        return True
    names = [_head(each.text) for each in found if each.kind == "name"]
    return any(_is_turned(names, bare(text)) for text in rests_on)


def _is_turned(names: Iterable[str], text: str) -> bool:
    places = [at for name in dict.fromkeys(names) if (at := text.find(name)) >= 0]
    return places != sorted(places)


def _head(word: str) -> str:
    """A word without what may be its ending."""
    form = bare(word)
    return form[: max(MIN_LETTERS, len(form) - INFLECTED)]
