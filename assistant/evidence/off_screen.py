"""Sentences that rest on something other than the screen: a message, an event, a file, the web, or a sum.

A sentence that cites no frame is `from_source` when all in it that can be compared stands in one item that a
tool returned (a message, an event, a result): when it quotes the item or another sentence of the answer does,
or when the item is short and so much of the sentence stands in it that chance does not give. It may quote
several items, too. It is `not_from_screen` when nothing recorded was looked at in this turn, and what can be
compared in it was given in the question or by a tool; with nothing to compare, in a chat that has no earlier
answers, which may have told of the screen. It is warned neither of the days that the question is about nor,
where it denies something, of what was asked and looked for: that something is nowhere cannot be cited.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from assistant.core.records import Claim
from assistant.evidence.particulars import Particular, Screen, particulars
from assistant.language.small_words import denies, language_of

QUOTABLE = frozenset({"attachments", "messages", "calendar", "location", "places", "web", "files"})
"""Sources whose words are their own. What is remembered or summed up was written here."""

SOURCE_OF = {"web_search": "web", "read_file": "files", "read_attachment": "attachments"}
"""What tools show that are no source tools; those name theirs (`assistant.tools.sources`)."""

TOOLS = frozenset({"calculator", "get_current_time", "get_current_datetime", "list_directory", *SOURCE_OF})
"""Tools whose results hold nothing that was recorded. Any other is taken to show it."""

MIN_QUOTED_CHARS = 8  # bytes in UTF-8 of a quotation that names its source
MIN_TOLD, MAX_SHORT_CHARS = 2, 1_000
"""So much that can be compared stands not by chance in an item of no more characters."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that may be quoted; its source and its page where these are known, else ""."""

    text: str
    source: str = ""
    address: str = ""


@dataclass(slots=True)
class OffScreen:
    """What a turn had besides the screen. `known` is the question and every such result, `asked` the
    question, the days that it is about, and what tools were asked for.
    """

    has_history: bool
    known: list[str] = field(default_factory=list)
    has_looked: bool = False
    """Whether a tool showed something that was recorded."""
    quotable: list[Item] = field(default_factory=list)
    """What other sources have, whose words may be quoted."""
    asked: list[str] = field(default_factory=list)

    def take(self, tool: str, output: str, sources: Set[str], arguments: Mapping[str, Any]) -> None:
        """Note what a tool has returned, of which sources, and what it was asked for."""
        self.asked += _texts(dict(arguments))
        if sources & QUOTABLE:
            self.quotable += map(Item, _items(output))
        if tool in TOOLS:
            self.known.append(output)
        else:
            self.has_looked = True

    def judged(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims, with those that are not of the screen said to be so."""
        told = {claim: _told(claim) for claim in claims if claim.state == "no_source"}
        items = [(Screen([item.text]), item) for item in self.quotable] if told else []
        quoted = {item for shown, item in items if any(_is_quoted(shown, found) for found in told.values())}
        known, asked = (Screen(["\n".join(texts)]) for texts in (self.known, [*self.known, *self.asked]))
        shown = _Shown(items, quoted, known, asked)
        return tuple(self._judged(claim, told[claim], shown) if claim in told else claim for claim in claims)

    def _judged(self, claim: Claim, told: Sequence[Particular], shown: _Shown) -> Claim:
        is_denied, item = denies(claim.text), shown.quoted_by(told)
        is_given = all(map(shown.known.has, told)) if told else not self.has_history
        if item is None and is_given and not self.has_looked:
            return replace(claim, state="not_from_screen", missing=())
        if item := item or (None if is_denied else shown.whole(told)):
            return replace(claim, state="from_source", missing=(), source=item.source, address=item.address)
        left = {each.text for each in told if not shown.is_asked(each, is_denied)}
        return replace(claim, missing=tuple(text for text in claim.missing if text in left))


class _Shown(NamedTuple):
    """What the sentences of an answer are compared with; `quoted` are the items that any of them quotes."""

    items: Sequence[tuple[Screen, Item]]
    quoted: Set[Item]
    known: Screen
    asked: Screen

    def quoted_by(self, told: Sequence[Particular]) -> Item | None:
        """The first item that a sentence quotes, where all that it tells stands in those that it does."""
        own = [(shown, item) for shown, item in self.items if _is_quoted(shown, told)]
        stands = own and all(any(shown.has(each) for shown, _ in own) for each in told)
        return own[0][1] if stands else None

    def whole(self, told: Sequence[Particular]) -> Item | None:
        """An item in which all stands that a sentence tells: one that is quoted beside it, or a short one."""
        for shown, item in self.items if told else ():
            is_short = len(told) >= MIN_TOLD and len(item.text) <= MAX_SHORT_CHARS
            if (is_short or item in self.quoted) and all(map(shown.has, told)):
                return item
        return None

    def is_asked(self, each: Particular, is_denied: bool) -> bool:
        """Whether there is no need to warn of what was asked: of a day, or of anything that is denied."""
        if is_denied and any(shown.has(each) for shown, _ in self.items):
            return True
        is_day = each.value is not None and each.value.kind in ("date", "weekday")
        return (is_denied or is_day) and self.asked.has(each)


def _told(claim: Claim) -> list[Particular]:
    """What of a claim can be compared, small numbers in words among it: they prove, and are not warned of."""
    found = particulars(claim.text, language_of(claim.text))
    return [each for each in found if each.value or not each.is_weak]


def _is_quoted(shown: Screen, told: Sequence[Particular]) -> bool:
    return any(
        shown.has(each)
        for each in told
        if each.kind == "quotation" and len(each.text.encode()) >= MIN_QUOTED_CHARS
    )


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
