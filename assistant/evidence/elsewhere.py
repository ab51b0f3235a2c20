"""Statements that quote what is not the screen: a message, an event, a place, a file, the web (C3).

Such a source is never evidence of what was on the screen, and a statement that quotes it is not unproven
either: the words stand in what a tool returned in this turn. It is `from_source` when all of this is so,
checked by code as quotes of frames are:

- it cites no frame, and quotes at least two words,
- every quotation stands in one and the same item (a message, an event, a result),
- so does every figure, name and outcome that it tells beside them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from assistant.core.records import Claim
from assistant.evidence import quotes
from assistant.evidence.outcomes import outcomes
from assistant.language import specifics
from assistant.language.figures import figures
from assistant.language.statements import plain

QUOTABLE = frozenset({"attachments", "messages", "calendar", "location", "places", "web", "files"})
"""Sources whose words are their own. What is remembered or summed up was written here."""

SOURCE_OF = {"web_search": "web", "read_file": "files", "read_attachment": "attachments"}
"""What tools show that are no source tools; those name theirs (`assistant.tools.sources`)."""

_MIN_WORDS = 2
_MIN_HAN_CHARS = 4


def items(output: str) -> Iterator[str]:
    """The texts of a tool's result, one for each row that it lists; of one that lists none, the whole."""
    document = json.loads(output)
    values = document.values() if isinstance(document, dict) else ()
    rows = [row for value in values if isinstance(value, list) for row in value if isinstance(row, dict)]
    for row in rows or [document]:
        yield "\n".join(_texts(row))


def quotes_one(claim: Claim, known: Iterable[str]) -> bool:
    """Whether a claim that cites nothing quotes one of these items, and tells nothing beyond it."""
    if claim.state != "no_evidence" or claim.citations:
        return False
    said = plain(claim.text)
    quoted = [each for each in specifics.quotations(said) if _is_long(each)]
    return bool(quoted) and any(_holds(item, said, quoted) for item in known)


def _holds(item: str, said: str, quoted: list[str]) -> bool:
    if not all(quotes.find(item, quotation) for quotation in quoted):
        return False
    beside = specifics.without_quotations(said)
    return (
        figures(beside) <= figures(item)
        and all(specifics.stands_in(name, item) for name in specifics.names(beside))
        and outcomes(beside).keys() <= outcomes(item).keys()
    )


def _is_long(quotation: str) -> bool:
    han = sum("\u4e00" <= character <= "\u9fff" for character in quotation)
    return len(quotation.split()) >= _MIN_WORDS or han >= _MIN_HAN_CHARS


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)
