"""What is answered without a model: the form of the question decides, and every form answers from data.

How long, how often and which apps are measured; a summary is blocks of time with their windows and what stood
out; every other question gets the lines that answer it best, one per fact. What stands on no frame is said,
with the nearest there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from assistant.core.strings import text
from assistant.core.texts import asked_in
from assistant.language.questions import (
    Form,
    asked_words,
    asks_for_absence,
    asks_for_last,
    asks_for_pages,
    asks_of_use,
)
from assistant.retrieval import answer_lines, usage
from assistant.retrieval.answer_lines import Answers
from assistant.retrieval.retrieval import Retrieval
from assistant.turns import scope as scopes
from assistant.turns.activity_answers import ActivityAnswers
from assistant.turns.answering import check, look
from assistant.turns.beside_answers import Beside
from assistant.turns.line_answers import LineAnswers
from assistant.turns.plan import CheckedAnswer, RunningTurn
from engines.chat.extractive import ExtractiveModel, Item, plain
from store.frames import apps
from store.frames.activity_intervals import Segment

_MEASURED = (Form.DURATION, Form.VISITS, Form.APPS)


def quotation(turn: RunningTurn, retrieval: Retrieval, beside: Beside) -> CheckedAnswer:
    """The answer that needs no model, behind a sentence that says so."""
    composing = _wider(_Composing(turn, retrieval, beside))
    return _checked(composing, list(composing.answer()))


def _wider(composing: _Composing) -> _Composing:
    """The same over everything, where a time that a question names has nothing of it and other times have: it
    may be what the question is about, and not when that was on the screen.
    """
    turn, plan = composing.turn, composing.turn.plan
    is_named = plan.scope.phrase and plan.has_range and not plan.is_bounded
    if not (is_named and plan.words and composing.asks_for_lines):
        return composing
    if composing.lines.is_found or plan.scope.follows:
        return composing
    before = turn.plan, turn.coverage, turn.evidence
    outside = scopes.outside(turn.database, plan.scope, plan.filters, plan.zone, plan.now_ms, plan.language)
    topic = f"{plan.searched_for} {plan.scope.phrase}"
    words = tuple(dict.fromkeys((*plan.words, *asked_words(topic))))
    turn.plan = replace(plan, scope=outside, words=words, searched_for=topic)
    wider = _Composing(turn, look(turn), composing.beside, inside=composing)
    if wider.lines.is_found:
        return wider
    turn.plan, turn.coverage, turn.evidence = before
    return composing


def beside_frames(turn: RunningTurn, retrieval: Retrieval, beside: Beside) -> CheckedAnswer | None:
    """The same where there is no frame; None where nothing else answers either."""
    items = beside.alone()
    return _checked(_Composing(turn, retrieval, beside), items) if items else None


def _checked(composing: _Composing, items: Sequence[Item]) -> CheckedAnswer:
    turn, retrieval, beside = composing.turn, composing.retrieval, composing.beside
    beside.note()
    is_quoted = any(item.quotes for item in items)
    name = "extractive_beside" if beside.quoted else "extractive" if is_quoted else "extractive_told"
    opening = text(name, turn.plan.language)
    completion = ExtractiveModel().compose(items)
    return check(turn, completion, retrieval, retrieval.entries, opening=opening, beside=beside.quoted)


@dataclass
class _Composing:
    """One answer in the making."""

    turn: RunningTurn
    retrieval: Retrieval
    beside: Beside
    inside: _Composing | None = None
    """The same in the time that the question names, which has nothing of it."""

    def __post_init__(self) -> None:
        self.activity = ActivityAnswers(self.turn, self.retrieval)
        self.lines = LineAnswers(self.turn, self.retrieval, self.beside, self.activity, self.turn.plan.words)

    @property
    def asks_for_lines(self) -> bool:
        """Whether lines of frames answer, and nothing that is measured, listed or told of other sources."""
        plan = self.turn.plan
        is_other = asks_for_absence(plan.searched_for) or self.beside.nothing_then or self.beside.of_named()
        form, meant = self._meant(plan.form, plan.words)
        return not (is_other or meant or form is Form.SUMMARY or form in _MEASURED or self.lines.ticked(form))

    def answer(self) -> Iterator[Item]:
        """By the form of the question."""
        self._note_found(is_found=True)
        if of_named := self.beside.of_named():
            yield from of_named
            return
        if nothing_then := self.beside.nothing_then:
            yield Item(nothing_then, is_point=False)
            shown = list(self._lines(self.turn.plan.form)) if self.turn.plan.words else []
            yield from shown if self.turn.coverage.is_found else ()
            return
        plan = self.turn.plan
        if asks_for_absence(plan.searched_for):
            yield from self.activity.absence()
            return
        form, meant = self._meant(plan.form, plan.words)
        imported = self.retrieval.coverage.imported
        if form in _MEASURED and imported and not self.activity.segments:
            yield Item(text("imported", plan.language, "coverage", imported=imported), is_point=False)
        if meant:
            yield self.activity.total(form, meant)
        elif listed := self.lines.ticked(form):
            yield listed
        elif form is Form.SUMMARY or not plan.words:
            yield from self.activity.summary()
            yield from self.beside.then()
        elif plan.scope.ahead and not self.beside.words and (events := self.beside.then()):
            yield from events
            yield from self._lines(form) if self.lines.is_found else ()
        else:
            yield from self._lines(form)

    def _meant(self, form: Form, words: Sequence[str]) -> tuple[Form, list[Segment]]:
        """(the form of what is measured, of which activity); none where what was shown is asked for."""
        asked = self.turn.plan.searched_for
        if form in _MEASURED or asks_of_use(asked):
            compared = usage.compared(apps.names(self.turn.database), words)
            of_each = (
                [each for each in self.activity.segments if each.app_name in compared] if compared else []
            )
            if len({each.app_name for each in of_each}) > 1:
                return Form.APPS, of_each
        kind = asked_words(asked, of_app=True) if form in (*_MEASURED, Form.MOMENT) else ()
        of_app = usage.of_app(self.activity.segments, kind, asked_in(asked)) if kind else []
        if not all(answer_lines.named(kind, each.app_name or "") for each in of_app):  # by what they are
            is_several = form is Form.DURATION and len({each.app_name for each in of_app}) > 1
            return Form.APPS if is_several else form, usage.last(of_app) if asks_for_last(asked) else of_app
        if form is Form.APPS and asks_for_pages(asked):
            return form, usage.meant(usage.pages(self.activity.segments), words, {}, least=1.0)
        if form in _MEASURED:
            synonyms = self.lines.synonyms(usage.titles(self.activity.segments), {})
            return form, usage.meant(self.activity.segments, words, synonyms)
        if form is Form.MOMENT and words and asks_for_last(asked):  # "when did I last use" an app
            return form, usage.last(usage.meant(self.activity.segments, words, {}, least=1.0))
        return form, of_app

    def _note_found(self, is_found: bool) -> None:
        """What stands beside the answer says of its words what the answer says itself."""
        self.turn.coverage = replace(self.turn.coverage, is_found=is_found)

    def _lines(self, form: Form) -> Iterator[Item]:
        plan, found = self.turn.plan, self.lines.found
        # What bears on the question may say nothing of a word of it that is nowhere: then that is said first.
        is_whole = found.is_found and (plan.leans or not found.missing)
        self._note_found(is_whole)
        if self.inside and self.lines.is_found:
            phrase = plain(plan.scope.phrase)
            yield Item(
                self.inside.lines.nothing() + text("elsewhere", plan.language, phrase=phrase), is_point=False
            )
        if not is_whole:
            sentence = self.lines.nothing()
            if sources := self.beside.looked_at():
                sentence += text("nor_beside", plan.language, sources=sources)
            after, instead = self._instead(form, found)
            yield Item(sentence + text(after, plan.language), is_point=False)
            yield from instead
        else:
            yield from self._use_of_shown(form, found)
            yield from map(self.lines.moment, found.moments)

    def _use_of_shown(self, form: Form, found: Answers) -> list[Item]:
        """How long, or how often, the window was used that shows most of what a question names."""
        if form not in (Form.DURATION, Form.VISITS) or not found.moments:
            return []
        line = found.moments[0][0]
        asked, frame = self.turn.plan.searched_for, line.entry.frame
        # "How long is the guarantee" is answered by what is shown.
        if not asks_of_use(asked) and answer_lines.fits(form, line.text, asked):
            return []
        names = frame.app_name, frame.window_name
        used = [each for each in self.activity.segments if (each.app_name, each.window_name) == names]
        return [self.activity.total(form, used)] if used else []

    def _instead(self, form: Form, found: Answers) -> tuple[str, Iterable[Item]]:
        """(how it is called, what there is in place of an answer)"""
        scope, near = self.turn.plan.scope, "nearest" if found.moments else "none_near"
        if of_named := self.beside.of_named_then():
            return "nearest", of_named
        if self.activity.segments and (form is Form.APPS or (form in _MEASURED and not found.has_words)):
            return near, [self.activity.total(Form.APPS, self.activity.segments)]
        if not found.has_words and scope.phrase and not scope.is_everything:
            return "shown_then", self.activity.summary()
        return near, [*self._use_of_shown(form, found), *map(self.lines.moment, found.moments)]
