"""The lines that answer a question, one per fact; and what stands on no frame."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property

from assistant.core.strings import text
from assistant.core.texts import HAN, normalize
from assistant.language.questions import (
    Form,
    asked_words,
    asks_for_state,
    asks_where,
)
from assistant.language.values import DaysMeant
from assistant.retrieval import answer_lines
from assistant.retrieval.answer_lines import (
    Answers,
    Moment,
    Question,
    Synonyms,
    told_by,
)
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.furniture import other_windows
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.retrieval.usage import Window
from assistant.turns.activity_answers import ActivityAnswers
from assistant.turns.beside_answers import Beside
from assistant.turns.plan import RunningTurn
from engines.chat.extractive import Item, Quote, plain
from store.core import times
from store.embeddings import knn
from store.embeddings.knn import WORDS_ONLY, SemanticUnavailable
from store.ocr import layout, readings
from store.ocr.readings import Reading

MAX_QUOTE_CHARS = 120
MAX_PASSAGE_CHARS = 300
MAX_TICKED = 24
LEAST_NAMED = 1 / 3
"""Of the words of a question, on the frame of a list that it is about: lists are seldom called by all."""
_LISTING = (Form.FACT, Form.FIGURE, Form.YES_NO, Form.SUMMARY)


@dataclass
class LineAnswers:
    """What the lines of frames, and of other sources, answer."""

    turn: RunningTurn
    retrieval: Retrieval
    beside: Beside
    activity: ActivityAnswers
    words: tuple[str, ...]

    @cached_property
    def found(self) -> Answers:
        """The lines of frames and of other sources that answer."""
        plan, entries, rows = self.turn.plan, self.retrieval.entries, self.beside.entries
        nearness = self._nearness() if entries else {}
        asked = self.beside.question(rows)
        if not (rows and self.beside.named):
            asked = replace(asked, words=asked_words(asked.text) if rows else plan.words)
        synonyms = dict(self.synonyms(told_by(entries), nearness))
        for word, terms in asked.synonyms.items():
            synonyms[word] = {**synonyms.get(word, {}), **terms}
        shown = plan.shown if plan.scope.follows else frozenset[int]()
        around = other_windows(self.turn.database, entries)
        asked = replace(
            asked, nearness=nearness, synonyms=synonyms, shown=shown, leans=plan.leans, around=around
        )
        if plan.scope.ahead:
            days = self._days_meant()
            words = tuple(dict.fromkeys((*asked.words, days.word)))
            asked = replace(asked, words=words, days=days)
        return answer_lines.answering(asked, [*entries, *rows])

    def _days_meant(self) -> DaysMeant:
        """The days to come that the question names, or those that are over."""
        plan = self.turn.plan
        today = times.to_local(plan.now_ms, plan.zone).date()
        # A weekday alone is the last one or the next.
        near = {a.weekday() for a, b in plan.days_ahead if a == b and abs(a - today) <= timedelta(days=7)}
        return DaysMeant(normalize(plan.scope.phrase), plan.days_ahead, frozenset(near))

    @property
    def is_found(self) -> bool:
        return self.found.is_found

    def _reading(self, entry: Entry) -> Reading | None:
        number = entry.frame.reading_id
        return readings.by_id(self.turn.database, number) if number else None

    def nothing(self) -> str:
        """The sentence that says what is on no frame."""
        found = self.found
        name = "nothing_found" if found.missing else "nothing_together"
        told = plain(", ".join(_joined(found.missing or self.words)))
        return text(name, self.turn.plan.language, words=told, count=len(self.retrieval.entries))

    def ticked(self, form: Form) -> Item | None:
        """What is done, or what is left, of the list that has most of the question, as it was shown last.

        None where no state is asked for, or another frame has more of the question.
        """
        plan, entries = self.turn.plan, self.retrieval.entries
        is_done, words = asks_for_state(plan.searched_for) or (True, ())
        if form not in _LISTING or (is_done and not words):
            return None
        asked = Question(plan.searched_for, form, words, {})
        for entry in reversed(answer_lines.about(asked, entries, LEAST_NAMED) if words else entries):
            reading = self._reading(entry)
            if reading and (items := layout.checked(reading)):
                told = [item for is_ticked, item in items if is_ticked is is_done]
                if is_done and plan.scope.phrase and not told:  # "get done yesterday" may be other things
                    return None
                head = text("ticked" if is_done else "not_ticked", plan.language, count=len(told))
                cited = "" if told else f" [[{entry.id}]]"
                quotes = tuple(Quote(entry.id, item) for item in told[:MAX_TICKED])
                return Item(f"{self.activity.when(entry.frame.captured_ms)}, {head}{cited}", quotes)
        return None

    def moment(self, found: Moment) -> Item:
        """When, and the lines; where they stood is said by the source of each."""
        entry = found[0].entry
        if entry.address:
            return self.beside.item(found)
        reading = self._reading(entry)
        if reading:
            found, reading = self._in_one_window(found, reading)
        quoted = self._told(found, reading) if reading else [line.text for line in found]
        quotes = (Quote(entry.id, one) for one in dict.fromkeys(quoted))
        head = self.activity.when(entry.frame.captured_ms)
        if asks_where(self.turn.plan.message):  # it may be a place on the screen
            window = Window(entry.frame.app_name or "", entry.frame.window_name or "", 0)
            head += f", {self.activity.windows([window])}"
        return Item(head, tuple(quotes))

    @staticmethod
    def _in_one_window(found: Moment, reading: Reading) -> tuple[Moment, Reading]:
        """Those lines, and of the reading, that stand in the window of the first: a source names one."""
        windows = found[0].entry.frame.windows
        cells = found[0].text.split(layout.CELL)
        first = next((line for line in reading.lines if line.text == cells[0]), None)
        if first is None or not windows.places:
            return found, reading
        owner = windows.beside(first.box)
        lines = tuple(line for line in reading.lines if windows.beside(line.box) == owner)
        texts = {line.text for line in lines}
        found = [line for line in found if texts.issuperset(line.text.split(layout.CELL))]
        return found, replace(reading, lines=lines)

    def _told(self, found: Moment, reading: Reading) -> Iterator[str]:
        """The rows and passages that the lines stand in; of a heading the list under it."""
        passages = layout.passages(reading.lines)
        times = Counter(line.text for line in reading.lines)
        parts = ((line.text, run) for run in passages for line in run if len(run) > 1)
        whole = {part: layout.joined(run) for part, run in parts if times[part] == 1}
        texts = list(map(layout.joined, passages))
        for at, line in enumerate(found):
            same = [each for each in reading.lines if each.text == line.text]
            heads = sorted(same, key=lambda each: -each.box.h)[: at == 0]
            for one in [line.text, *(item for head in heads for item in layout.marked_under(reading, head))]:
                told = one if layout.CELL in one else whole.get(one) or layout.opened(one, texts)
                limit = MAX_QUOTE_CHARS if told == line.text else MAX_PASSAGE_CHARS
                yield excerpt(told, self.turn.plan.words, limit=limit, limit_tokens=limit)

    def synonyms(self, lines: Iterable[str], nearness: Mapping[str, float]) -> Synonyms:
        """Of each word of the question the words of these lines that mean the same."""
        embedder, words = self.turn.services.embedder, self.turn.plan.words
        return answer_lines.same_in_meaning(embedder, words, lines, nearness)

    def _nearness(self) -> dict[str, float]:
        """How near each line is to the question in meaning, where there are vectors."""
        plan, entries = self.turn.plan, {entry.frame.id: entry for entry in self.retrieval.entries}
        embedder = self.turn.services.embedder
        meaning = embedder.asked(plan.searched_for, self.turn.stored.id) if embedder else WORDS_ONLY
        if meaning.vector is None or meaning.model is None:
            return {}
        try:
            chunks = knn.chunks_of(self.turn.database, "frame", entries, meaning.model, meaning.vector)
        except SemanticUnavailable:
            return {}
        nearness: dict[str, float] = {}
        for chunk in chunks:
            text = entries[chunk.id].frame.text[chunk.start : chunk.end]
            for cell in text.replace(layout.CELL, "\n").split("\n"):
                form = normalize(cell)
                nearness[form] = max(chunk.score, nearness.get(form, chunk.score))
        return nearness


def _joined(words: Iterable[str]) -> list[str]:
    """Words with pairs of Chinese signs that cross each other as what they were cut from."""
    joined: list[str] = []
    for word in words:
        if joined and HAN.match(word) and joined[-1].endswith(word[0]):
            joined[-1] += word[1:]
        else:
            joined.append(word)
    return joined
