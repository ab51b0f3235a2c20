"""Lines that a model should have quoted too: where a frame shows what a sentence says beside its quote.

Models quote half of a line, or one line of the two that they speak of. Code looks for each figure,
name, address, quotation and outcome that the quotes lack, and adds the line that shows it to the
evidence, where a person sees it boxed like any other quote. The rest of the quoted line will do
always, a line near it when it shares a word with the sentence, and one farther away only for what
can hardly be meant otherwise: a long figure, an address, a name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Literal

from assistant.core.texts import normalize
from assistant.evidence import quotes, relations
from assistant.evidence.outcomes import outcomes
from assistant.language import glossary, lexical_overlap, specifics
from assistant.language.figures import figures, is_among, parts_told, relative_days, shown
from store.ocr.readings import Line

NEAR_LINES = 4
"""So many line heights above or below a quote are beside it."""

MOST_LINES = 4
"""Lines added for one sentence: who needs more has not quoted what he speaks of."""

SAME_ROW = 0.8
"""Within so many line heights any line will do: it is the rest of the quoted one."""

NEXT_LINE = 2.5
"""So many line heights below a line the next one of its paragraph begins."""

_DAYS = ("date ", "weekday ", "ordinal ")
_MOMENTS = ("clock ", *_DAYS)
_PLAIN_DIGITS = 3
_PLAIN_LETTERS = 4
_FILE = re.compile(r"[\w./-]*\w\.(?!example)[a-z]{1,5}\b")
Reach = Literal["row", "near", "frame"]
_Shows = Callable[[str], bool]


def completing(
    sentence: str, lines: Sequence[Line], quoted: Sequence[Line], told: Iterable[str], titles: Sequence[str]
) -> Iterator[Line]:
    """The lines of a frame that show what a sentence says and neither the quotes (`told`) nor the frame's
    app, window and address (`titles`) do. `quoted` are the lines in which the quotes stand.
    """
    whole = "\n".join([*told, *titles])
    texts = [line.text for line in lines]
    if not all(any(is_among(each, shown(text)) for text in (whole, *texts)) for each in _amounts(sentence)):
        return  # no line makes the sentence whole
    near = sorted(lines, key=lambda line: _distance(line, quoted))
    tied = partial(_is_tied, sentence, lexical_overlap.content_words(sentence))
    counted = relations.counted(sentence)
    added: dict[int, Line] = {}
    for reach, shows in _particulars(sentence, titles):
        if shows(whole) or any(shows(line.text) for line in added.values()):
            continue
        fitting = (line for line in near if shows(line.text))
        line = next((each for each in fitting if _may(each, quoted, tied, counted, reach)), None)
        if line is not None:
            added[line.start] = line
    # Quotes that tell an outcome are not to be set beside another one from elsewhere.
    for outcome in () if outcomes(whole) else outcomes(specifics.without_quotations(sentence)):
        line = next((each for each in near if outcome in outcomes(each.text)), None)
        if line is not None and _distance(line, quoted) <= NEAR_LINES:
            added[line.start] = line
    if len(added) <= MOST_LINES:
        yield from added.values()


def _amounts(sentence: str) -> list[str]:
    """The figures of a sentence that only a text can show: a moment may be the frame's own."""
    bare = specifics.without_addresses(specifics.without_quotations(sentence))
    return [figure for figure in figures(bare) if not figure.startswith(_MOMENTS)]


def _particulars(sentence: str, told: Sequence[str]) -> Iterator[tuple[Reach, _Shows]]:
    """(how far away a line may show it, whether a text does) of each particular of a sentence."""
    for quotation in specifics.quotations(sentence):
        yield "frame", partial(_has_quotation, quotation)
    bare = specifics.without_quotations(sentence)
    for address in specifics.addresses(bare):
        yield "frame", partial(_has_address, address)
    bare = specifics.without_addresses(bare)
    for figure in sorted(figures(bare)):
        is_long = sum(map(str.isdigit, figure)) >= _PLAIN_DIGITS
        reach: Reach = (
            "row"
            if figure.startswith(_DAYS)
            else "frame"
            if is_long and not figure.startswith("clock ")
            else "near"
        )
        yield reach, partial(_has_figure, figure)
    for name in specifics.names(bare):
        if _FILE.fullmatch(name) and any(_FILE.search(text) for text in told):
            continue  # a title names the file that was open: another one is only in a list beside it
        yield "frame" if len(name) >= _PLAIN_LETTERS else "near", partial(specifics.stands_in, name)
    for part in parts_told(bare):
        yield "row", partial(_has_part, part)
    for day in relative_days(bare):
        yield "row", partial(_has_word, day)


def _has_quotation(quotation: str, text: str) -> bool:
    return bool(quotes.find(text, quotation))


def _has_address(address: str, text: str) -> bool:
    return normalize(address) in normalize(text)


def _has_figure(figure: str, text: str) -> bool:
    return is_among(figure, shown(text))


def _has_part(part: str, text: str) -> bool:
    return part in parts_told(text)


def _has_word(word: str, text: str) -> bool:
    return word in text


def _distance(line: Line, quoted: Sequence[Line]) -> float:
    """In line heights, from the nearest quoted line; 0 for the line that one runs on from or into."""
    if any(_runs_on(line, other) or _runs_on(other, line) for other in quoted):
        return 0.0
    middle = line.box.y + line.box.h / 2
    return min(
        (abs(middle - other.box.y - other.box.h / 2) / max(other.box.h, line.box.h, 1) for other in quoted),
        default=float("inf"),
    )


def _runs_on(line: Line, into: Line) -> bool:
    """Whether a sentence goes on in the line below: no stop, and no beginning."""
    gap = into.box.y - line.box.y
    return (
        0 < gap <= NEXT_LINE * max(line.box.h, into.box.h)
        and abs(line.box.x - into.box.x) <= into.box.h
        and line.text.rstrip()[-1:].isalnum()
        and into.text.lstrip()[:1].islower()
    )


def _is_tied(sentence: str, words: set[str], text: str) -> bool:
    """Whether a line shares a word with the sentence, in its own language or in the other."""
    if lexical_overlap.is_foreign(sentence, [text]):
        return bool(glossary.same_words(sentence, [text])[0])
    return bool(words - lexical_overlap.lacking(words, [text]))


def _may(line: Line, quoted: Sequence[Line], tied: _Shows, counted: relations.Counted, reach: Reach) -> bool:
    distance = _distance(line, quoted)
    if reach == "frame" or distance <= SAME_ROW:
        return True
    if reach == "row":
        return False
    if distance <= NEAR_LINES and tied(line.text):
        return True
    return any(told & counted.get(word, set()) for word, told in relations.counted(line.text).items())
