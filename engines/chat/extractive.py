"""The built-in answer without any language model: quotes from the screen, under what code knows of them.

It writes only what it is given: times, counts and durations come from code, every other word is a quote that
can be found in its frame again. So nothing it says has to be believed. The answer has the same JSON shape as
a model's, and goes through the same checks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass

from engines.chat.protocol import Completion

# Quotes stand inside a line, so what means something only at its beginning needs no escape.
_MARKDOWN = re.compile(r"([\\`*\[\]<]|(?<!\w)_|_(?!\w)|~(?=~)|&(?=#?\w+;))")


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that stand in the frame `id` as they are here, "" where they stand in no frame; `where` is
    Markdown by code, before them and before those behind them that have none. Without words the frame is
    cited alone.
    """

    id: str
    text: str
    where: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """A part of the answer: Markdown by code, then quotes. A point of a list, quotes with a place of
    their own being points below it; or a paragraph, which has none.
    """

    head: str
    quotes: tuple[Quote, ...] = ()
    is_point: bool = True
    marks: tuple[str, str] = (": ", "; ")
    """Behind the head, and between quotes of one line."""


class ExtractiveModel:
    """Answers by selection alone: the same material, the same answer."""

    name = "extractive"

    def compose(self, items: Iterable[Item]) -> Completion:
        """JSON text ``{answer_md, evidence: [{id, quote}]}``; ``evidence`` proves every quote of it."""
        shown = list(items)
        cited = [quote for item in shown for quote in item.quotes if quote.id and quote.text]
        quotes = [{"id": quote.id, "quote": quote.text} for quote in cited]
        answer_md = "\n".join(line_of(item) for item in shown)
        text = json.dumps({"answer_md": answer_md, "evidence": quotes}, ensure_ascii=False)
        return Completion(text, None, ExtractiveModel.name)


def line_of(item: Item) -> str:
    """How an item stands in the answer."""
    quoted = [
        " ".join(filter(None, (q.where, q.text and f"“{plain(q.text)}”", q.id and f"[[{q.id}]]")))
        for q in item.quotes
    ]
    if not item.is_point:
        return f"{item.head}\n"
    lead, between = item.marks
    if any(quote.where for quote in item.quotes):
        points = zip(item.quotes, quoted, strict=True)
        return f"- {item.head}" + "".join(
            f"\n  - {one}" if q.where else f"{between}{one}" for q, one in points
        )
    return "- " + lead.join(filter(None, [item.head, between.join(quoted)]))


def plain(text: str) -> str:
    """Screen text as Markdown that shows itself: no emphasis, no link, no citation, no HTML."""
    return _MARKDOWN.sub(r"\\\1", " ".join(text.split()))
