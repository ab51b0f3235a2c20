"""What a question is about: the time, the app, the frame or the selection that it names; else everything.

A question needs no time. One in a chat that names no scope is a follow-up: about what the question before it
was about, with everything as another range. What was understood is said beside the answer (`Scope.text`);
where words of time stay unread, the answer keeps to what is certain, and is never silently about more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import tzinfo
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

from assistant.core.errors import TimeRangeRequired, TurnRefused
from assistant.core.records import Scope, TurnFilters, TurnRequest
from assistant.core.texts import Language, answer_language, asked_in, normalize
from assistant.language import questions, time_beside, time_phrases
from assistant.language.mentions import Mentions, read_mentions
from assistant.language.questions import Form, asked_words, form_of
from assistant.language.time_beside import TimeBeside
from assistant.language.time_phrases import Calendar, Found, Refusal
from assistant.retrieval import usage
from assistant.turns import anchor_facts
from assistant.turns.anchor_facts import AnchorFacts
from assistant.turns.scope_text import told
from store.chats import conversations
from store.core import times
from store.core.database import Database
from store.core.translation import gettext as _
from store.frames import apps, frames
from store.frames.activity_intervals import Segment
from store.search import sample, spelling
from store.search.filters import Filters
from store.timeline import segments

MAX_LATER_MS = 60_000
"""A browser reads "today" a little before the question arrives: ends so near are the same."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood:
    """What a message asks, and of what: `searched_for` is the message without its scope, `form` the kind of
    answer it asks for, and `words` what it is about, none for a summary. `subject` is what other sources than
    frames are asked, of the times `subject_ranges`, which may be to come; none for any. It `leans` on the
    question before it where it says so itself, or has no words of its own.
    """

    scope: Scope
    filters: TurnFilters
    searched_for: str = ""
    form: Form = Form.SUMMARY
    words: tuple[str, ...] = ()
    subject: str = ""
    subject_ranges: tuple[Span, ...] = ()
    leans: bool = False


@dataclass
class Reader:
    """A message while it is understood; `permits` says which activity whoever asks may know of.

    `topic` is the message without its scope, with what it goes on from; `subject` is what other sources are
    asked, which know their days themselves.
    """

    database: Database
    request: TurnRequest
    message: str
    zone: ZoneInfo
    about: AnchorFacts | None = None
    uses_tools: bool = False
    permits: Callable[[Segment], bool] | None = None

    def __post_init__(self) -> None:
        request = self.request
        self.language = asked_in(self.message)
        self.calendar = Calendar(request.now_ms, self.zone, request.day_start_min, request.week_start)
        # The label of an insight names the time of its anchor, not a range to look at.
        is_label = self.about is not None and anchor_facts.is_label(self.message)
        self.mentions, self.phrase, self.topic = self._parts("" if is_label else self.message)
        self.subject = self.topic
        self.filters = request.filters
        if self.mentions.app and not self.filters.app_name:
            self.filters = replace(self.filters, app_name=self.mentions.app)
        self.before = [] if request.chat_id is None else answered(self.database, request.chat_id)
        self.is_read = request.start_ms is None and request.mode != "evidence"
        self.beside = self._beside()

    def understood(self) -> Understood:
        """What is asked. Raises `TurnRefused`; `TimeRangeRequired` where no answer is certain."""
        self.scope = self.settle_scope()
        self.form, self.words = form_of(self.topic, self.language), asked_words(self.topic, self.language)
        leans = not self.about and (
            questions.goes_on(self.topic, self.language) or questions.leans(self.topic, self.language)
        )
        if self.beside:
            self._ask_again(self.beside)
        elif leans or (self.before and not (self.about or self.phrase) and self._may_lean()):
            self._follow()
        if self.scope.ahead:  # what was said of a time to come is asked: nobody did anything then
            ahead = self.scope.phrase
            self.form = Form.FACT if self.form is Form.SUMMARY else self.form
            self.words, self.topic = (*self.words, normalize(ahead)), f"{self.topic} {ahead}"
        if span := self._done_beside():
            self.scope, self.form, self.words = Scope("", *span), Form.SUMMARY, ()
        language, is_of_frame = answer_language(self.message), self.request.frame_id is not None
        said = told(self.scope, self.filters, self.zone, self.request.now_ms, language, is_of_frame)
        return Understood(
            scope=replace(self.scope, text=said),
            filters=self.filters,
            searched_for=" ".join(self.topic.split()),
            form=self.form,
            words=self.words,
            subject=self.subject,
            subject_ranges=self._subject_ranges(),
            leans=leans,
        )

    def _parts(self, message: str) -> tuple[Mentions, Found | Refusal | None, str]:
        """(what a message mentions, the time that it names, the message without both)"""
        mentions = read_mentions(message, apps.names(self.database) if "@" in message else ())
        phrase = time_phrases.in_message(mentions.rest, self.calendar)
        return mentions, phrase, _without(mentions.rest, phrase)

    def _beside(self) -> TimeBeside | None:
        """The time that the message tells from the one that was talked of."""
        is_open = not self.phrase or (isinstance(self.phrase, Refusal) and self.phrase.problem == "unread")
        if not (is_open and self.is_read and self.before) or self.before[0][1].is_everything:
            return None
        return time_beside.in_question(self.mentions.rest)

    def settle_scope(self) -> Scope:
        """What the message is about, before what it goes on from is known. Raises `TimeRangeRequired`."""
        if self.beside:
            was, now_ms = self.before[0][1], self.request.now_ms
            span = self.beside.span(was.start_ms, was.end_ms, self.calendar) or (now_ms, now_ms)
            return Scope("", *span, phrase=self.beside.phrase)
        database, rest, phrase, now_ms = self.database, self.mentions.rest, self.phrase, self.request.now_ms
        if phrase and self.is_read:
            if ahead := to_come(database, rest, phrase, self.calendar):
                self.topic = self.subject = _without(rest, ahead[0])
                spans = tuple((each.start_ms, each.end_ms) for each in ahead)
                return everything(database, now_ms, phrase=ahead[0].phrase, ahead=spans)
            if stands_on_screens(database, rest, phrase, now_ms):
                self.topic = rest
                return everything(database, now_ms, phrase=phrase.phrase)
        return self._named_scope()

    def _named_scope(self) -> Scope:
        request, phrase = self.request, self.phrase
        if request.start_ms is not None:
            return self._given(request.start_ms)
        if self.mentions.has_selection:
            raise TimeRangeRequired("@selection", "no_selection")
        if isinstance(phrase, Found):
            scope = _read(phrase, *spans_of(phrase)[0])
            if scope.start_ms <= times.MIN_MS:  # no beginning was named
                return replace(
                    scope, start_ms=min(_first_ms(self.database, request.now_ms), scope.end_ms - 1)
                )
            return scope
        if phrase:
            return self._certain(phrase)
        if self.about:
            anchor, is_told = self.about.anchor, request.mode != "evidence" and self.uses_tools
            return Scope("", *((anchor.start_ms, anchor.end_ms) if is_told else self.about.range_ms))
        if request.frame_id is not None:
            return Scope("", *anchor_facts.around(frames.get(self.database, request.frame_id).captured_ms))
        if request.mode == "evidence":
            raise TimeRangeRequired
        whole = everything(self.database, request.now_ms)
        names_place = self.mentions.app or request.filters != TurnFilters()
        if self.before and not self.before[0][1].is_everything and not names_place:
            return replace(self.before[0][1], also=((whole.start_ms, whole.end_ms),))
        return whole

    def _given(self, start_ms: int) -> Scope:
        """The range of the request: one that the message means, or all there is, from 0 on."""
        now_ms = self.request.now_ms
        end_ms = now_ms if self.request.end_ms is None else self.request.end_ms
        if not times.MIN_MS <= start_ms < end_ms <= times.MAX_MS:
            sentence = _("end_time must be after start_time, and both must be dates of our days")
            raise TurnRefused("invalid_time_range", "end_time", sentence)
        if start_ms == times.MIN_MS and end_ms >= now_ms - MAX_LATER_MS:
            given = everything(self.database, end_ms)
        elif isinstance(self.phrase, Found):
            given = _read(self.phrase, start_ms, end_ms)
        else:
            given = Scope("", start_ms, end_ms)
        span = given.start_ms, given.end_ms
        again = (was for _, was in self.before if not given.phrase and (was.start_ms, was.end_ms) == span)
        return replace(given, left_out=next(again, given).left_out)

    def _certain(self, refusal: Refusal) -> Scope:
        """What is certain of a time that was not understood, or that cannot be. Raises `TimeRangeRequired`.

        Where nothing is ("on Tuesdays"), everything is looked at, and what was not read is said.
        """
        phrase, now_ms = refusal.phrase, self.request.now_ms
        if self.request.mode != "evidence" and refusal.also:
            first, *others = spans_of(refusal)
            unread = "" if refusal.problem == "ambiguous" else phrase
            return Scope("", *first, also=tuple(others), phrase=phrase, unread=unread)
        if self.request.mode != "evidence" and refusal.problem == "unread":
            return everything(self.database, now_ms, phrase=phrase, unread=phrase)
        if self.request.mode != "evidence" and refusal.problem == "future":
            return Scope("", now_ms, now_ms, phrase=phrase)
        raise TimeRangeRequired(phrase, refusal.problem)

    def _may_lean(self) -> bool:
        """Whether a question may be about what the one before it was, though it does not say so: it needs no
        pronoun for that in its language, and its few words are on no frame.
        """
        is_bare = questions.drops_subject(self.topic) and 0 < len(self.words) <= questions.MAX_LEANING
        return is_bare and not spelling.known(self.database, self.words)

    def _follow(self) -> None:
        """Go on from the latest question that has words of its own."""
        for question, _was in self.before:
            topic = self._parts(question)[-1]
            if words := asked_words(topic, asked_in(question)):
                if self.form is Form.YES_NO and not self.words:
                    self.form = form_of(topic, asked_in(question))
                self.words = tuple(dict.fromkeys((*self.words, *words)))
                self.scope = replace(self.scope, follows=question)
                self.topic = self.subject = f"{topic} {self.topic}"
                return

    def _ask_again(self, beside: TimeBeside) -> None:
        """Ask of another time what the latest question asked that has more than a time."""
        asked = (question for question, _ in self.before if not time_beside.in_question(question))
        if question := next(asked, ""):
            language, topic = asked_in(question), self._parts(question)[-1]
            self.form = form_of(topic, language) if beside.form is Form.YES_NO else beside.form
            self.words, self.topic, self.subject = asked_words(topic, language), topic, topic
            self.scope = replace(self.scope, follows=question)

    def _done_beside(self) -> Span | None:
        """The part of the scope right before, or after, the last visit to what is named, if that is asked."""
        scope, mode = self.scope, self.request.mode
        asked = questions.done_beside(self.topic, self.language) if mode != "evidence" else None
        if asked is None:
            return None
        where = Filters(scope.start_ms, scope.end_ms, left_out=scope.left_out, **self.filters.given())
        line = segments.segments(self.database, scope.start_ms, scope.end_ms, self.filters.host)
        permits = self.permits or (lambda _: True)
        seen = [each for each in line if usage.permitted(each, where) and permits(each)]
        words, is_before = asked
        start_ms, end_ms = usage.beside(seen, words, is_before=is_before) or (0, 0)
        span = max(start_ms, scope.start_ms), min(end_ms, scope.end_ms)
        return span if span[0] < span[1] else None

    def _subject_ranges(self) -> tuple[Span, ...]:
        """The ranges of what is no frame: those given, else those that the message names, to come or not."""
        spans = [] if self.scope.is_everything else [(self.scope.start_ms, self.scope.end_ms)]
        if self.request.start_ms is None and self.phrase and self.mentions.rest:
            found = time_phrases.in_message(self.mentions.rest, replace(self.calendar, is_to_come=True))
            if isinstance(found, Found):
                spans.insert(0, (found.start_ms, found.end_ms))
            return tuple(dict.fromkeys(span for span in spans if span[0] < span[1]))
        return tuple(spans)


def _without(message: str, phrase: Found | Refusal | None) -> str:
    """A message without the words of a time."""
    for named in (phrase, *phrase.also) if phrase else ():
        message = message.replace(named.phrase, " ")
    return message


def everything(database: Database, now_ms: int, **named: Any) -> Scope:
    """All there is, whatever a message names."""
    return Scope("", _first_ms(database, now_ms), now_ms, is_everything=True, **named)


def outside(
    database: Database, scope: Scope, filters: TurnFilters, zone: tzinfo, now_ms: int, language: Language
) -> Scope:
    """Everything, with a range that a message names as another reading: it has nothing of what is asked."""
    also = ((scope.start_ms, scope.end_ms),)
    wider = everything(database, now_ms, also=also, phrase=scope.phrase, follows=scope.follows)
    return replace(wider, text=told(wider, filters, zone, now_ms, language))


def to_come(
    database: Database, message: str, phrase: Found | Refusal, calendar: Calendar
) -> tuple[Found, ...]:
    """The time from tomorrow on that a message means, and the one that is over where its words may mean both;
    none where that was seen. Today stands on each screen that shows a clock.
    """
    if not _is_unseen(database, phrase, calendar.now_ms):
        return ()
    found = time_phrases.in_message(message, replace(calendar, is_to_come=True))
    if not isinstance(found, Found) or found.start_ms < calendar.day(calendar.today).end_ms:
        return ()
    return (found, phrase) if isinstance(phrase, Found) else (found,)


def stands_on_screens(database: Database, message: str, phrase: Found | Refusal, now_ms: int) -> bool:
    """Whether nobody saw the time that a message names, and words are left to look for: then it is no time to
    look at but one that stands on the screens, as in "buoy no. 7".
    """
    has_words = asked_words(_without(message, phrase), asked_in(message))
    return bool(has_words) and _is_unseen(database, phrase, now_ms)


def _is_unseen(database: Database, phrase: Found | Refusal, now_ms: int) -> bool:
    """Whether nothing was recorded of a time, as its words name one that is over."""
    if isinstance(phrase, Refusal) and not phrase.also:
        return phrase.problem in ("future", "no_such_date")
    start_ms, end_ms = spans_of(phrase)[0]
    return not (start_ms < now_ms and _first_ms(database, now_ms) < end_ms)


def answered(database: Database, chat_id: int) -> list[tuple[str, Scope]]:
    """The last questions of a chat with what they were about, the latest first."""
    found = []
    for question, start_ms, end_ms, kept in conversations.answered(database, chat_id):
        left_out = tuple((start, end) for start, end in kept.get("left_out", ()))
        is_everything = bool(kept.get("is_everything"))
        found.append((question, Scope("", start_ms, end_ms, is_everything, left_out=left_out)))
    return found


def _read(phrase: Found, start_ms: int, end_ms: int) -> Scope:
    """A range, with how the message named it if it is one that its words may mean."""
    spans = spans_of(phrase)
    chosen = next((one for one in spans if is_same_span(one, (start_ms, end_ms))), None)
    if chosen is None:
        return Scope("", start_ms, end_ms)
    days = (phrase, *phrase.further)
    together = sorted((one.start_ms, one.end_ms) for one in days) if chosen is spans[0] else []
    return Scope(
        "",
        start_ms,
        end_ms,
        also=tuple(span for span in spans if span is not chosen),
        phrase=phrase.phrase,
        is_so_far=any(one.is_so_far and one.end_ms == chosen[1] for one in (*days, *phrase.also)),
        left_out=tuple((end, start) for (_, end), (start, _) in pairwise(together) if end < start),
    )


def spans_of(phrase: Found | Refusal) -> list[Span]:
    """The ranges that a time may mean, the likeliest first: of several days the one that holds them all, then
    each of them, then other readings.
    """
    also = [(one.start_ms, one.end_ms) for one in phrase.also]
    if isinstance(phrase, Refusal):
        return also
    days = [(one.start_ms, one.end_ms) for one in (phrase, *phrase.further)]
    whole = [(min(start for start, _ in days), max(end for _, end in days))] if phrase.further else []
    return [*whole, *days, *also]


def is_same_span(one: Span, other: Span) -> bool:
    """Whether two ranges are the same but for the time between showing and sending."""
    return all(abs(a - b) <= MAX_LATER_MS for a, b in zip(one, other, strict=True))


def _first_ms(database: Database, now_ms: int) -> int:
    """When the first frame was taken; a moment ago where there is none."""
    with database.read() as connection:
        first = sample.load(connection, sample.first_ids(connection, Filters(0, now_ms), 1))
    return first[0].captured_ms if first else now_ms - 1
