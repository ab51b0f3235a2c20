"""Sentences that rest on something other than the screen: a message, an event, a file, the web, or a sum.

A sentence that cites no frame is `from_source` when it quotes one item that a tool returned (a message, an
event, a result), and all else that can be compared stands in that item, too. It is `not_from_screen` when
nothing recorded was looked at in this turn, and what can be compared in it was given in the question or by a
tool; with nothing to compare, in a chat that has no earlier answers, which may have told of the screen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from assistant.core.records import Claim
from assistant.evidence.particulars import Particular, Screen, particulars
from assistant.language.small_words import language_of

QUOTABLE = frozenset({"attachments", "messages", "calendar", "location", "places", "web", "files"})
"""Sources whose words are their own. What is remembered or summed up was written here."""

SOURCE_OF = {"web_search": "web", "read_file": "files", "read_attachment": "attachments"}
"""What tools show that are no source tools; those name theirs (`assistant.tools.sources`)."""

TOOLS = frozenset({"calculator", "get_current_time", "get_current_datetime", "list_directory", *SOURCE_OF})
"""Tools whose results hold nothing that was recorded. Any other is taken to show it."""

MIN_QUOTED_CHARS = 8
"""Bytes in UTF-8 of a quotation that names its source."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that may be quoted; its source and its page where these are known, else ""."""

    text: str
    source: str = ""
    address: str = ""


@dataclass(slots=True)
class OffScreen:
    """What a turn had besides the screen. `known` is the question and every such result."""

    has_history: bool
    known: list[str] = field(default_factory=list)
    has_looked: bool = False
    """Whether a tool showed something that was recorded."""
    quotable: list[Item] = field(default_factory=list)
    """What other sources have, whose words may be quoted."""

    def take(self, tool: str, output: str, sources: Set[str] = frozenset()) -> None:
        """Note what a tool has returned, and of which sources."""
        if sources & QUOTABLE:
            self.quotable += map(Item, _items(output))
        if tool in TOOLS:
            self.known.append(output)
        else:
            self.has_looked = True

    def judged(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims, with those that are not of the screen said to be so."""
        items = [(Screen([item.text]), item) for item in self.quotable]
        known = Screen(["\n".join(self.known)])
        return tuple(self._judged(claim, items, known) for claim in claims)

    def _judged(self, claim: Claim, items: Sequence[tuple[Screen, Item]], known: Screen) -> Claim:
        if claim.state != "no_source":
            return claim
        found = particulars(claim.text, language_of(claim.text))
        if item := next((item for shown, item in items if _quotes(found, shown)), None):
            return replace(claim, state="from_source", missing=(), source=item.source, address=item.address)
        told = [each for each in found if not each.is_weak]
        is_given = all(map(known.has, told)) if told else not self.has_history
        if is_given and not self.has_looked:
            return replace(claim, state="not_from_screen", missing=())
        return claim


def _quotes(found: Sequence[Particular], item: Screen) -> bool:
    """Whether the particulars of a sentence quote an item, and tell nothing beyond it."""
    quoted = [
        each for each in found if each.kind == "quotation" and len(each.text.encode()) >= MIN_QUOTED_CHARS
    ]
    return bool(quoted) and all(item.has(each) for each in found if each in quoted or not each.is_weak)


def _items(output: str) -> Iterator[str]:
    """The texts of a tool's result, one for each row that it lists; of one that lists none, the whole."""
    document = json.loads(output)
    values = document.values() if isinstance(document, dict) else ()
    rows = [row for value in values if isinstance(value, list) for row in value if isinstance(row, dict)]
    for row in rows or [document]:
        yield "\n".join(_texts(row))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)
