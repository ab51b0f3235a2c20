"""What is answered without a model: the form of the question decides, and every form answers from data.

How long, how often and which apps are measured; a summary of a time is blocks with their windows and what
stood out, of a matter the moments that bear on it, in order; every other question gets the lines that answer
it best, one per fact. What stands on no frame is
said, with the nearest there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property

from assistant.core.strings import MARKS, listed, text
from assistant.core.texts import HAN, asked_in, normalize
from assistant.language import questions
from assistant.language.questions import Form, asked_words
from assistant.language.values import DaysMeant
from assistant.retrieval import answer_lines, other_sources, usage
from assistant.retrieval.answer_lines import Answers, Moment, Synonyms, told_by
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.furniture import other_windows
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.turns import scope as scopes
from assistant.turns.activity_answers import ActivityAnswers
from assistant.turns.answering import check, look, no_captures
from assistant.turns.beside_answers import Beside
from assistant.turns.plan import CheckedAnswer, RunningTurn
from engines.chat.extractive import ExtractiveModel, Item, Quote, plain
from store.core import times
from store.embeddings import knn
from store.embeddings.knn import WORDS_ONLY, SemanticUnavailable
from store.frames import apps
from store.frames.activity_intervals import Segment
from store.ocr import layout, readings
from store.ocr.readings import Reading

MAX_QUOTE_CHARS = 120
MAX_PASSAGE_CHARS = 300
_MEASURED = (Form.DURATION, Form.VISITS, Form.APPS)


def quotation(turn: RunningTurn, retrieval: Retrieval, beside: Beside) -> CheckedAnswer:
    """The answer that needs no model, behind a sentence that says so."""
    answer = _wider(PlainAnswer(turn, retrieval, beside))
    entries, files = answer.entries, turn.plan.attached.own
    if entries or turn.plan.asks_without_frames:
        items = list(answer.items())
    elif not (items := beside.alone()):
        return no_captures(turn)
    if files:
        names = listed((file.name for file in files), turn.plan.language)
        turn.warnings.append(text("files_unread", turn.plan.language, names=names))
    turn.frames_read = len(retrieval.entries)
    beside.note()
    is_quoted = any(item.quotes for item in items)
    name = "extractive_beside" if beside.quoted else "extractive" if is_quoted else "extractive_told"
    opening, said = text(name, turn.plan.language), ExtractiveModel().compose(items)
    return check(turn, said, answer.retrieval, entries, opening=opening, beside=beside.quoted)


def _wider(narrow: PlainAnswer) -> PlainAnswer:
    """The same over everything, where a time that a question names has nothing of it and other times have: it
    may be what the question is about, and not when that was on the screen.
    """
    turn, plan = narrow.turn, narrow.plan
    is_named = plan.scope.phrase and plan.has_range and not plan.is_bounded
    if not (is_named and plan.words and narrow.entries and narrow.asks_for_lines):
        return narrow
    if narrow.found.is_found or plan.scope.follows:
        return narrow
    before = turn.plan, turn.coverage, turn.evidence
    outside = scopes.outside(turn.database, plan.scope, plan.filters, plan.zone, plan.now_ms, plan.language)
    topic = f"{plan.searched_for} {plan.scope.phrase}"
    words = tuple(dict.fromkeys((*plan.words, *asked_words(topic))))
    turn.plan = replace(plan, scope=outside, words=words, searched_for=topic)
    wider = PlainAnswer(turn, look(turn), narrow.beside, inside=narrow)
    shows_more = wider.found.has_words and not narrow.found.has_words
    missing, own = {*wider.found.missing}, {*plan.words}
    # Where no other time shows what is asked, the words of the time have to stand there, and all of them:
    # a day or a month alone is on many screens.
    if wider.found.is_found or (shows_more and not (own <= missing and missing - own)):
        return wider
    turn.plan, turn.coverage, turn.evidence = before
    return narrow


@dataclass
class PlainAnswer:
    """One answer in the making, of the lines of frames and of other sources and of what activity tells."""

    turn: RunningTurn
    retrieval: Retrieval
    beside: Beside
    inside: PlainAnswer | None = None
    """The same in the time that the question names, which has nothing of it."""

    def __post_init__(self) -> None:
        self.plan = self.turn.plan  # the turn may go on to another one
        self.entries = self.retrieval.entries
        self.activity = ActivityAnswers(self.turn, self.retrieval)

    # -- by the form of the question

    @property
    def asks_for_lines(self) -> bool:
        """Whether lines of frames answer, and nothing that is measured, listed or told of other sources."""
        asked = self.plan.searched_for
        if questions.asks_for_absence(asked) or self.beside.nothing_then or self.beside.of_named():
            return False
        form, meant = self._meant()
        return not (meant or form in _MEASURED or self._sums_up_time)

    def items(self) -> Iterator[Item]:
        """What answers, by the form of the question."""
        plan = self.plan
        self._note_found(is_found=True)
        if of_named := self.beside.of_named():
            yield from of_named
            return
        if nothing_then := self.beside.nothing_then:
            yield Item(nothing_then, is_point=False)
            shown = list(self._lines(plan.form)) if plan.words else []
            yield from shown if self.turn.coverage.is_found else ()
            return
        if questions.asks_for_absence(plan.searched_for):
            yield from self.activity.absence()
            return
        form, meant = self._meant()
        imported = self.retrieval.coverage.imported
        if form in _MEASURED and imported and not self.activity.segments:
            yield Item(text("imported", plan.language, "coverage", imported=imported), is_point=False)
        if meant:
            yield self.activity.total(form, meant)
        elif not plan.words or self._sums_up_time:
            yield from self.activity.summary()
            yield from self.beside.then()
        elif plan.scope.ahead and not self.beside.words and (events := self.beside.then()):
            yield from events
            yield from self._lines(form) if self.found.is_found else ()
        else:
            yield from self._lines(form)

    @property
    def _sums_up_time(self) -> bool:
        """Whether the words of a question about a time name no matter that was on the screen then."""
        plan = self.plan
        return plan.form is Form.SUMMARY and not plan.scope.is_everything and not self.found.has_words

    def _note_found(self, is_found: bool) -> None:
        """What stands beside the answer says of its words what the answer says itself."""
        self.turn.coverage = replace(self.turn.coverage, is_found=is_found)

    # -- what is measured

    def _meant(self) -> tuple[Form, list[Segment]]:
        """(the form of what is measured, of which activity); none where what was shown is asked for."""
        asked, form, words = self.plan.searched_for, self.plan.form, self.plan.words
        activity = self.activity.segments
        if form in _MEASURED or questions.asks_of_use(asked):
            compared = usage.compared(apps.names(self.turn.database), words)
            of_each = [each for each in activity if each.app_name in compared] if compared else []
            if len({each.app_name for each in of_each}) > 1:
                return Form.APPS, of_each
        kind = asked_words(asked, of_app=True) if form in (*_MEASURED, Form.MOMENT) else ()
        of_app = usage.of_app(activity, kind, asked_in(asked)) if kind else []
        if not all(answer_lines.named(kind, each.app_name or "") for each in of_app):  # by what they are
            is_several = form is Form.DURATION and len({each.app_name for each in of_app}) > 1
            return Form.APPS if is_several else form, of_app
        if form is Form.APPS and questions.asks_for_pages(asked):
            return form, usage.meant(usage.pages(activity), words, {}, least=1.0)
        if form in _MEASURED:
            return form, usage.meant(activity, words, self._synonyms(usage.titles(activity), {}))
        return form, of_app

    def _use_of_shown(self, form: Form) -> list[Item]:
        """How long, or how often, the window was used that shows most of what a question names."""
        if form not in (Form.DURATION, Form.VISITS) or not self.found.moments:
            return []
        line = self.found.moments[0][0]
        asked, frame = self.plan.searched_for, line.entry.frame
        # "How long is the guarantee" is answered by what is shown.
        if not questions.asks_of_use(asked) and answer_lines.fits(form, line.text, asked):
            return []
        names = frame.app_name, frame.window_name
        used = [each for each in self.activity.segments if (each.app_name, each.window_name) == names]
        return [self.activity.total(form, used)] if used else []

    # -- what the lines of frames, and of other sources, answer

    def _lines(self, form: Form) -> Iterator[Item]:
        plan, found = self.plan, self.found
        # A word that is nowhere is said first, or last where a line is the answer all the same.
        is_whole = found.is_sure or (found.is_found and (plan.leans or not found.missing))
        self._note_found(is_whole)
        if self.inside and found.is_found:
            elsewhere = text("elsewhere", plan.language, phrase=plain(plan.scope.phrase))
            yield Item(self.inside.nothing() + elsewhere, is_point=False)
        if not is_whole:
            sentence = self.nothing()
            if sources := other_sources.counted(self.beside.looked, plan.language):
                sentence += text("nor_beside", plan.language, sources=sources)
            after, instead = self._instead(form)
            yield Item(sentence + text(after, plan.language), is_point=False)
            yield from instead
        else:
            yield from self._use_of_shown(form)
            yield from map(self._moment, found.moments)
            if found.missing and not plan.leans:
                yield Item(self.nothing() + text("none_near", plan.language), is_point=False)

    def _instead(self, form: Form) -> tuple[str, Iterable[Item]]:
        """(how it is called, what there is in place of an answer)"""
        scope, found, used = self.plan.scope, self.found, self.activity.segments
        near = "nearest" if found.moments else "none_near"
        if self.plan.subject_ranges and (of_named := self.beside.listed(self.beside.named)):
            return "nearest", of_named
        if used and (form is Form.APPS or (form in _MEASURED and not found.has_words)):
            return near, [self.activity.total(Form.APPS, used)]
        if not found.has_words and scope.phrase and not scope.is_everything:
            return "shown_then", self.activity.summary()
        return near, [*self._use_of_shown(form), *map(self._moment, found.moments)]

    @cached_property
    def found(self) -> Answers:
        """The lines of frames and of other sources that answer."""
        plan, entries, rows = self.plan, self.entries, self.beside.entries
        nearness = self._nearness() if entries else {}
        asked = self.beside.question(rows)
        if not (rows and self.beside.named):
            asked = replace(asked, words=asked_words(asked.text) if rows else plan.words)
        synonyms = dict(self._synonyms(told_by(entries), nearness))
        for word, terms in asked.synonyms.items():
            synonyms[word] = {**synonyms.get(word, {}), **terms}
        asked = replace(
            asked,
            nearness=nearness,
            synonyms=synonyms,
            around=other_windows(self.turn.database, entries),
        )
        if plan.scope.ahead:
            days = self._days_meant()
            words = tuple(dict.fromkeys((*asked.words, days.word)))
            asked = replace(asked, words=words, days=days)
        return answer_lines.answering(asked, [*entries, *rows])

    def _days_meant(self) -> DaysMeant:
        """The days to come that the question names, or those that are over."""
        plan = self.plan
        today = times.to_local(plan.now_ms, plan.zone).date()
        # A weekday alone is the last one or the next.
        near = {a.weekday() for a, b in plan.days_ahead if a == b and abs(a - today) <= timedelta(days=7)}
        return DaysMeant(normalize(plan.scope.phrase), plan.days_ahead, frozenset(near))

    def _reading(self, entry: Entry) -> Reading | None:
        number = entry.frame.reading_id
        return readings.by_id(self.turn.database, number) if number else None

    def nothing(self) -> str:
        """The sentence that says what is on no frame."""
        missing = self.found.missing
        name = "nothing_found" if missing else "nothing_together"
        told = plain(listed(_joined(missing or self.plan.words), self.plan.language))
        return text(name, self.plan.language, words=told, count=len(self.entries))

    def _moment(self, found: Moment) -> Item:
        """When, and the lines; where they stood is said by the source of each."""
        entry = found[0].entry
        if entry.address:
            return self.beside.item(found)
        reading = self._reading(entry)
        if reading:
            found, reading = _in_one_window(found, reading)
        quoted = self._told(found, reading) if reading else [line.text for line in found]
        quotes = (Quote(entry.id, one) for one in dict.fromkeys(quoted))
        when = self.activity.when(entry.frame.captured_ms)
        return Item(when, tuple(quotes), marks=MARKS[self.plan.language])

    def _told(self, found: Moment, reading: Reading) -> Iterator[str]:
        """The rows and passages that the lines stand in; of a heading the list under it."""
        passages = layout.passages(reading.lines)
        counts = Counter(line.text for line in reading.lines)
        parts = ((line.text, run) for run in passages for line in run if len(run) > 1)
        whole = {part: layout.joined(run) for part, run in parts if counts[part] == 1}
        texts = list(map(layout.joined, passages))
        for at, line in enumerate(found):
            same = [each for each in reading.lines if each.text == line.text]
            heads = sorted(same, key=lambda each: -each.box.h)[: at == 0]
            for one in [line.text, *(item for head in heads for item in layout.marked_under(reading, head))]:
                told = one if layout.CELL in one else whole.get(one) or layout.opened(one, texts)
                limit = MAX_QUOTE_CHARS if told == line.text else MAX_PASSAGE_CHARS
                yield excerpt(told, self.plan.words, limit=limit, limit_tokens=limit)

    def _synonyms(self, lines: Iterable[str], nearness: Mapping[str, float]) -> Synonyms:
        """Of each word of the question the words of these lines that mean the same."""
        embedder, plan = self.turn.services.embedder, self.plan
        return answer_lines.same_in_meaning(embedder, plan.message, plan.words, lines, nearness)

    def _nearness(self) -> dict[str, float]:
        """How near each line is to the question in meaning, where there are vectors."""
        entries, embedder = {entry.frame.id: entry for entry in self.entries}, self.turn.services.embedder
        meaning = embedder.asked(self.plan.searched_for, self.turn.stored.id) if embedder else WORDS_ONLY
        try:
            chunks = knn.chunks_of(self.turn.database, "frame", entries, meaning)
        except SemanticUnavailable:
            return {}
        nearness: dict[str, float] = {}
        for chunk in chunks:
            shown = entries[chunk.id].frame.text[chunk.start : chunk.end]
            for cell in shown.replace(layout.CELL, "\n").split("\n"):
                form = normalize(cell)
                nearness[form] = max(chunk.score, nearness.get(form, chunk.score))
        return nearness


def _in_one_window(found: Moment, reading: Reading) -> tuple[Moment, Reading]:
    """Those lines, and of the reading, that stand in the window of the first: a source names one."""
    windows, cells = found[0].entry.frame.windows, found[0].text.split(layout.CELL)
    first = next((line for line in reading.lines if line.text == cells[0]), None)
    if first is None or not windows.places:
        return found, reading
    owner = windows.beside(first.box)
    lines = tuple(line for line in reading.lines if windows.beside(line.box) == owner)
    texts = {line.text for line in lines}
    found = [line for line in found if texts.issuperset(line.text.split(layout.CELL))]
    return found, replace(reading, lines=lines)


def _joined(words: Iterable[str]) -> list[str]:
    """Words with pairs of Chinese signs that cross each other as what they were cut from."""
    joined: list[str] = []
    for word in words:
        if joined and HAN.match(word) and joined[-1].endswith(word[0]):
            joined[-1] += word[1:]
        else:
            joined.append(word)
    return joined
