"""What is left to do and what is done, by the check boxes of the lists that a question is about."""

from __future__ import annotations

from collections.abc import Sequence

from assistant.core.strings import text
from assistant.evidence import layout
from assistant.language.questions import Form, asks_for_state
from assistant.retrieval.answer_lines import NEARLY_ALL, lines_of, named, title_of
from assistant.retrieval.retrieval import Entry
from assistant.turns.plan import RunningTurn
from engines.chat.extractive import Item, Quote
from store.ocr import readings

MAX_TOLD = 24
_LISTING = (Form.FACT, Form.FIGURE, Form.YES_NO, Form.SUMMARY)
LEAST_NAMED = 1 / 3
"""Of the words of a question, on the frame of a list that it is about: lists are seldom called by all."""


def asked(turn: RunningTurn, entries: Sequence[Entry]) -> tuple[Entry, Item] | None:
    """(the frame, how many items of its lists are ticked, or not, with those) of the list that has most of a
    question, as it was shown last; None where no state is asked for, or another frame has more of it.
    """
    state = asks_for_state(turn.plan.searched_for)
    if state is None or turn.plan.form not in _LISTING:
        return None
    is_done, words = state
    if is_done and not words:
        return None
    shares = {entry.id: _share(words, entry) for entry in entries}
    most = max(shares.values(), default=0.0)
    lists = [entry for entry in entries if shares[entry.id] >= max(LEAST_NAMED, NEARLY_ALL * most)]
    for entry in sorted(lists, key=lambda entry: -entry.frame.captured_ms):
        reading = entry.frame.reading_id and readings.by_id(turn.database, entry.frame.reading_id)
        if reading and (items := layout.checked(reading)):
            told = [item for is_ticked, item in items if is_ticked is is_done]
            head = text("ticked" if is_done else "not_ticked", turn.plan.language, count=len(told))
            cited = "" if told else f" [[{entry.id}]]"
            return entry, Item(head + cited, tuple(Quote(entry.id, item) for item in told[:MAX_TOLD]))
    return None


def _share(words: Sequence[str], entry: Entry) -> float:
    """How much of the words a frame has; all of none."""
    found = [named(words, line) for line in (title_of(entry), *lines_of(entry.frame.text))]
    return sum(max(line.get(word, 0.0) for line in found) for word in words) / len(words) if words else 1.0
