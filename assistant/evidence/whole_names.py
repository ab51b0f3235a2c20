"""Forms of names, and names of two parts, which are one: nobody is "Lan Zhang" where Lin Zhang stands.

Words with capitals in a row are one name on a screen, in either order; a first one before a comma, an "and"
or a particle belongs to what follows ("Zhang, Lin", "Aoife and Declan Moore", "Ida de Vries").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assistant.evidence.sign_names import shared
from assistant.language.small_words import bare, is_plain

_CODES = "az be bs cs el et eu fi hr hu hy is ka kk ky la lt lv mn pl ro ru sk sl sq sr tk tr uk uz"
DECLINED = frozenset(_CODES.split())
"""Languages in which a name has cases or an article at its end (WALS, features 49A and 51A). There it is
compared with names by its beginning.
"""

MOST_ENDING, ENDINGS_OF_SHORT, ENDINGS_OF_LONG = 2, 3, 7
"""Letters behind what two forms of a name share: of the shorter form, and of both together, where the shorter
has up to `LONG_NAME` letters, and where it has more. "Anny" is "Anna" and "Weberowa" "Weber"; "Marek" is not
"Marta".
"""
LONG_NAME = 6
WHOLE_ENDING = 4
"""Letters behind the whole of a longer name: "Gmailissa" is "Gmail"."""
MIN_LETTERS = 3
"""Of a part of a name, unless it is an initial; a shorter one is a title."""

_ADDRESSES = (
    "bay bayan bey dhr don dona doña fru frau frk fröken frøken hanım herr hr madame meneer mevrouw"
    " miss mlle mme monsieur mrs pan pani señor señora senhor senhora signor signora sra"
    " госпожа господин κυρία κύριος"
)
ADDRESSES = frozenset(_ADDRESSES.split())
"""How languages address somebody with a capital before a name, a closed class."""

_WORD = re.compile(r"[^\W\d_]+(?:['’-](?=[^\W\d_])[^\W\d_]+)*")
_BESIDE, _BEHIND_FIRST = re.compile(r"\.? |\."), re.compile(r", | [^\W\d_]{1,3} | ?[&+/] ?")


def runs(text: str) -> Iterator[list[str]]:
    """The words of each name of a text, with "" where a first one is parted from the rest."""
    run, end = [""], 0
    for found in _WORD.finditer(text):
        if not found[0][0].isupper():
            continue
        between = text[end : found.start()]
        is_first = all(len(part) < MIN_LETTERS for part in run[:-1])
        if is_first and _BEHIND_FIRST.fullmatch(between):
            run.append("")
        elif not _BESIDE.fullmatch(between):
            yield run
            run = []
        run.append(bare(found[0]))
        end = found.end()
    yield run


def stand_together(first: str, last: str, names: Iterable[list[str]], language: str) -> bool | None:
    """Whether two parts of a name in a `language` are of one of these names; None where neither stands beside
    another part of one.
    """
    others: set[str] = set()
    for run in names:
        for at, part in enumerate(run):
            if is_part(last, part, language):
                if any(is_part(first, other, language) for other in run[:at] + run[at + 1 :]):
                    return True
                others.update(run[at - 1 : at])
            elif is_part(first, part, language):
                others.update(run[at + 1 : at + 2])
    are_names = any(len(each) >= MIN_LETTERS and not is_plain(each, language) for each in others)
    return False if are_names else None


def is_part(word: str, part: str, language: str) -> bool:
    """Whether one is the other, its initial or its beginning, "Tom" for Tomasz, or another case of it."""
    shorter, longer = sorted((word, part), key=len)
    is_beginning = longer.startswith(shorter) and (len(shorter) >= MIN_LETTERS or len(part) == 1)
    return is_beginning or (language in DECLINED and is_case(word, part))


def is_case(word: str, other: str) -> bool:
    """Whether two words may be forms of one name where names have cases."""
    same, (shorter, longer) = shared(word, other), sorted((len(word), len(other)))
    if shorter == same > MIN_LETTERS and longer - same <= WHOLE_ENDING:
        return True
    most = ENDINGS_OF_LONG if shorter > LONG_NAME else ENDINGS_OF_SHORT
    return same >= MIN_LETTERS and shorter - same <= MOST_ENDING and shorter + longer - 2 * same <= most
