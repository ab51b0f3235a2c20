"""The tool over the summaries of days, told under the rules of today.

A day is kept back when a window in use in it is left out now.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from assistant.read_api import doors_memory as gate
from assistant.read_api import moments
from assistant.read_api.answers import TimeOrNone, Words
from assistant.tools.sources import SourceQuery, rows_that_fit, source_tool, truncated
from store.core import tokenizer
from store.memory import daily_summaries

_DAY_CHARS = 2_000
_AT_MOST = 100


@source_tool(mode="auto", reaches="the summaries of your days, past your exclusion rules", source="days")
def search_rag(
    look: SourceQuery,
    query: Annotated[Words, Field(description="What to look for, by meaning and words; blank: the latest.")],
    start: TimeOrNone = None,
    end: TimeOrNone = None,
    limit: Annotated[int, Field(ge=1, le=31, description="Days at most.")] = 5,
) -> object:
    """Searches the summaries of whole days, best match first; call it to learn on which day something was, or
    what surrounded it. `start` and `end` are half-open, and a day counts when it overlaps them; without
    them every day is searched. What a day's summary says is proven by its frames only: find them with
    search_ocr. Examples: {"query": "budget meeting"};
    {"query": "", "start": "2026-11-16T00:00:00+01:00", "end": "2026-11-21T00:00:00+01:00"}"""
    start_ms, end_ms = None, None
    if start is not None or end is not None or look.context.range_ms:
        start_ms, end_ms = look.within(*moments.span(start, end, look.call.now_ms))
    asked = look.call.library.embedder.asking(query)
    found, strategy, reason = daily_summaries.search(
        look.call.database, asked, start_ms, end_ms, limit=_AT_MOST, deadline_s=look.context.timeout_s
    )
    rows = []
    for day in found:
        if look.context.range_ms and not _is_inside(look, day.start_ms, day.end_ms):
            continue
        if not gate.permits_windows(look.call, day.start_ms, day.end_ms, None):
            look.call.withheld += 1
            continue
        rows.append({"day": day.day, "zone": day.zone, "summary": _excerpt(day.text, query)})
        look.context.findings.shown(day.start_ms, day.end_ms)
        if len(rows) == limit:
            break
    kept, _ = rows_that_fit(rows)
    look.call.returned = len(kept)
    told: dict[str, Any] = {"days": kept, "strategy": strategy, "withheld": look.call.withheld}
    if reason:
        told["fallback_reason"] = reason
    return told if kept else {**told, "note": "No summary of a day fits."}


DAY_TOOLS = (search_rag,)


def _excerpt(text: str, query: str) -> str:
    """What of a day fits: its first line, then the lines that have words of the query, then the others.

    They stay in the order of the day, and a line of ``…`` stands where some were left out.
    """
    lines = text.split("\n")
    wanted = {token.text for token in tokenizer.tokens(query)}
    hits = [len(wanted & {token.text for token in tokenizer.tokens(line)}) for line in lines]
    left, kept = _DAY_CHARS, set[int]()
    for n in sorted(range(len(lines)), key=lambda n: (n > 0, -hits[n], n)):
        if len(lines[n]) + 3 <= left:
            kept.add(n)
            left -= len(lines[n]) + 3
    told: list[str] = []
    for n, line in enumerate(lines):
        if n in kept:
            told.append(line)
        elif told and told[-1] != "…":
            told.append("…")
    return "\n".join(told) if 0 in kept else truncated(text, _DAY_CHARS)


def _is_inside(look: SourceQuery, start_ms: int, end_ms: int) -> bool:
    low, high = look.context.range_ms or (start_ms, end_ms)
    return low <= start_ms and end_ms <= high
