"""Summaries and digests of chats with where each sentence is from: questions of a chat, and frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assistant.context import session_summary
from store.core.database import Database
from store.memory import chat_summaries
from store.memory.chat_digests import Line
from store.memory.chat_summaries import ChatSummary, Trace, Traces


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A piece of text. `turns` are questions of its chat by number, `frames` ids; `is_sentence` is False for
    what stands between sentences, of which nothing is to be said.
    """

    text: str
    is_sentence: bool = False
    turns: tuple[int, ...] = ()
    frames: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class SourcedLine:
    """A line of a digest. `chat_id` is None where it rests on several chats: then `sessions` say on which."""

    said: tuple[SourcedText, ...]
    chat_id: int | None
    sessions: tuple[int, ...]


def of_summary(database: Database, summary: ChatSummary) -> dict[str, tuple[SourcedText, ...]]:
    """The fields of a summary that say something, in pieces."""
    traces = _traces(database, summary)
    return {
        name: split_by_source(text, traces.get(name, ())) for name, text in summary.fields.items() if text
    }


def of_lines(database: Database, lines: Sequence[Line]) -> list[SourcedLine]:
    """Lines of a digest; what one chat came to is traced through its summary."""
    single = [each.sessions[0] for each in lines if len(each.sessions) == 1]
    found = chat_summaries.get(database, single)
    told = []
    for line in lines:
        summary = found.get(line.sessions[0]) if len(line.sessions) == 1 else None
        if summary is None:
            told.append(SourcedLine((SourcedText(line.text),), None, line.sessions))
            continue
        traces = session_summary.within(line.text, summary, _traces(database, summary))
        told.append(SourcedLine(split_by_source(line.text, traces), summary.chat_id, line.sessions))
    return told


def split_by_source(text: str, traces: Sequence[Trace]) -> tuple[SourcedText, ...]:
    """The text cut at its traces; all of it, and nothing twice."""
    found, at = [], 0
    for each in traces:
        if each.start > at:
            found.append(SourcedText(text[at : each.start]))
        found.append(SourcedText(text[each.start : each.end], True, each.turns, each.frames))
        at = each.end
    return (*found, SourcedText(text[at:])) if at < len(text) else tuple(found)


def _traces(database: Database, summary: ChatSummary) -> Traces:
    # Those of a summary that was traced when it was made need no look at its chat.
    asked = [] if summary.traces is not None else chat_summaries.summary_input(database, summary.session_id)
    return session_summary.of_summary(summary, asked)
