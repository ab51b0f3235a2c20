"""What is answered without a model: the form of the question decides, and every form answers from data.

How long, how often and which apps are measured; a summary is blocks of time with their windows and what stood
out; every other question gets the lines that answer it best, one per fact. What stands on no frame is said,
with the nearest there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from operator import attrgetter

from assistant.core.strings import clock, day, duration, text
from assistant.core.texts import HAN, asked_in, normalize
from assistant.language.questions import (
    Form,
    asked_words,
    asks_for_absence,
    asks_for_last,
    asks_for_pages,
    asks_for_state,
    asks_of_use,
    asks_where,
)
from assistant.language.values import DaysMeant
from assistant.retrieval import answer_lines, table_cells, usage
from assistant.retrieval.answer_lines import (
    Answers,
    Moment,
    Question,
    Synonyms,
    told_by,
    without_figures,
)
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.retrieval.table_cells import Crossing
from assistant.retrieval.usage import Block, Window
from assistant.turns import scope as scopes
from assistant.turns.answering import check, look
from assistant.turns.beside_answers import Beside
from assistant.turns.plan import CheckedAnswer, RunningTurn
from engines.chat.extractive import ExtractiveModel, Item, Quote, plain
from store.chats import conversations
from store.core import times, tokenizer
from store.core.database import Database
from store.embeddings import knn
from store.embeddings.knn import WORDS_ONLY, SemanticUnavailable
from store.frames import apps
from store.frames.activity_intervals import Segment
from store.memory.own_lines import OwnLine, own_texts
from store.ocr import layout, readings
from store.ocr.readings import MIN_CONFIDENCE, Reading
from store.search.sample import evenly
from store.search.semantic import SAYS
from store.spool.queue import DESKTOP, HIDDEN_WINDOW, PRIVATE_WINDOW
from store.timeline import segments

MAX_QUOTE_CHARS = 120
MAX_PASSAGE_CHARS = 300
MAX_WORDS = 12
"""A line of more words says no more than one of so many."""
HARDLY_CHANCE = 0.001
"""A line that is nearer to the question than chance gives in so many cases is found."""
MAX_BLOCKS = 12
MAX_WINDOWS = 4
MAX_VISITS = 8
MAX_NAMES = 20
MAX_TICKED = 24
LEAST_NAMED = 1 / 3
"""Of the words of a question, on the frame of a list that it is about: lists are seldom called by all."""
_MEASURED = (Form.DURATION, Form.VISITS, Form.APPS)
_LISTING = (Form.FACT, Form.FIGURE, Form.YES_NO, Form.SUMMARY)
_AWAY = ("locked", "asleep", "idle")
_NO_APPS = {DESKTOP: "desktop", PRIVATE_WINDOW: "private_window", HIDDEN_WINDOW: "hidden_window"}


def quotation(turn: RunningTurn, retrieval: Retrieval, beside: Beside) -> CheckedAnswer:
    """The answer that needs no model, behind a sentence that says so."""
    composing = _wider(_Composing(turn, retrieval, beside))
    return _checked(composing, list(composing.answer()))


def _wider(composing: _Composing) -> _Composing:
    """The same over everything, where a time that a question names has nothing of it and other times have: it
    may be what the question is about, and not when that was on the screen. So may the head of a table be,
    the more where the answer before was from that table.
    """
    turn, plan = composing.turn, composing.turn.plan
    is_named = plan.scope.phrase and plan.has_range and not plan.is_bounded
    if not (is_named and plan.words and composing.asks_for_lines):
        return composing
    before = turn.plan, turn.coverage, turn.evidence
    shown = conversations.shown_last(turn.database, plan.chat_id, scopes.SHOWN) if plan.chat_id else []
    if composing.crossing:
        is_then = not composing.has_head
    else:
        is_then = composing.is_found and composing.has_words and not (plan.scope.follows and shown)
    if is_then:
        return composing
    outside = scopes.outside(turn.database, plan.scope, plan.filters, plan.zone, plan.now_ms, plan.language)
    topic = f"{plan.searched_for} {plan.scope.phrase}"
    words = tuple(dict.fromkeys((*plan.words, *asked_words(topic))))
    turn.plan = replace(plan, scope=outside, words=words, searched_for=topic, shown=frozenset(shown))
    wider = _Composing(turn, look(turn), composing.beside, inside=composing)
    has_some = composing.is_found and composing.has_words and not composing.crossing
    if wider.crossing and wider.has_head and (not has_some or wider.crossing.entry.frame.id in shown):
        names = "not_then", "as_head"
        not_then, as_head = (text(one, plan.language, "scope", phrase=outside.phrase) for one in names)
        scope = turn.plan.scope
        turn.plan = replace(turn.plan, scope=replace(scope, text=scope.text.replace(not_then, as_head)))
        return wider
    if wider.is_found and not (composing.is_found or plan.scope.follows):
        return wider
    turn.plan, turn.coverage, turn.evidence = before
    return composing


def beside_frames(turn: RunningTurn, retrieval: Retrieval, beside: Beside) -> CheckedAnswer | None:
    """The same where there is no frame; None where nothing else answers either."""
    composing = _wider(_Composing(turn, retrieval, beside))
    items = list(composing.answer()) if composing.crossing else beside.alone()
    return _checked(composing, items) if items else None


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
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.words = self.turn.plan.words

    @property
    def asks_for_lines(self) -> bool:
        """Whether lines of frames answer, and nothing that is measured, listed or told of other sources."""
        plan = self.turn.plan
        is_other = asks_for_absence(plan.searched_for) or self.beside.nothing_then or self.beside.of_named()
        form, meant = self._meant(plan.form, plan.words)
        return not (is_other or meant or form is Form.SUMMARY or form in _MEASURED or self._ticked(form))

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
            yield from self._absence()
            return
        form, meant = self._meant(plan.form, plan.words)
        if form in _MEASURED and not self._activity and (imported := self.retrieval.coverage.imported):
            yield Item(text("imported", plan.language, "coverage", imported=imported), is_point=False)
        if meant:
            yield self._measured(form, meant)
        elif listed := self._ticked(form):
            yield listed
        elif form is Form.SUMMARY or not plan.words:
            yield from self.summary()
            yield from self.beside.then()
        elif plan.scope.ahead and not self.beside.words and (events := self.beside.then()):
            yield from events
            yield from self._lines(form) if self.is_found else ()
        else:
            yield from self._lines(form)

    def _meant(self, form: Form, words: Sequence[str]) -> tuple[Form, list[Segment]]:
        """(the form of what is measured, of which activity); none where what was shown is asked for."""
        asked, activity = self.turn.plan.searched_for, list[Segment]()
        if form in _MEASURED or asks_of_use(asked):
            compared = usage.compared(apps.names(self.turn.database), words)
            activity = [each for each in self._activity if each.app_name in compared] if compared else []
        if len({each.app_name for each in activity}) > 1:
            return Form.APPS, activity
        kind = asked_words(asked, of_app=True) if form in (*_MEASURED, Form.MOMENT) else ()
        of_app = usage.of_app(self._activity, kind, asked_in(asked)) if kind else []
        if not all(answer_lines.named(kind, each.app_name or "") for each in of_app):  # by what they are
            is_several = form is Form.DURATION and len({each.app_name for each in of_app}) > 1
            return Form.APPS if is_several else form, usage.last(of_app) if asks_for_last(asked) else of_app
        if form is Form.APPS and asks_for_pages(asked):
            return form, usage.meant(usage.pages(self._activity), words, {}, least=1.0)
        if form in _MEASURED:
            synonyms = self._synonyms(usage.titles(self._activity), {})
            return form, usage.meant(self._activity, words, synonyms)
        if form is Form.MOMENT and words and asks_for_last(asked):  # "when did I last use" an app
            return form, usage.last(usage.meant(self._activity, words, {}, least=1.0))
        return form, of_app

    def _note_found(self, is_found: bool) -> None:
        """What stands beside the answer says of its words what the answer says itself."""
        self.turn.coverage = replace(self.turn.coverage, is_found=is_found)

    @cached_property
    def _activity(self) -> list[Segment]:
        return self._permitted(segments.segments)

    def _permitted(self, between: Callable[[Database, int, int, str | None], list[Segment]]) -> list[Segment]:
        """Those of the range that the filters and the rules let through."""
        filters = self.retrieval.filters
        end_ms = min(filters.end_ms or self.turn.plan.now_ms, self.turn.plan.now_ms)
        found = between(self.turn.database, filters.start_ms, end_ms, filters.host)
        permits = self.turn.services.permits or (lambda _: True)
        return [each for each in found if permits(each) and usage.permitted(each, filters)]

    @cached_property
    def _is_one_day(self) -> bool:
        filters, zone = self.retrieval.filters, self.turn.plan.zone
        last_ms = min(filters.end_ms or self.turn.plan.now_ms, self.turn.plan.now_ms) - 1
        return times.to_local(filters.start_ms, zone).date() == times.to_local(last_ms, zone).date()

    # -- how long, how often, which apps

    def _measured(self, form: Form, meant: Sequence[Segment]) -> Item:
        language = self.turn.plan.language
        total = duration(sum(segment.duration_ms for segment in meant), language)
        is_pages = form is Form.APPS and asks_for_pages(self.turn.plan.searched_for)
        by_name = usage.longest(meant, is_pages=is_pages)
        if form is Form.APPS and len(by_name) > 1:
            shown = [(f"“{plain(n)}”" if is_pages else self._app(n), ms) for n, ms in by_name[:MAX_NAMES]]
            names = ", ".join(f"{name} {duration(ms, language)}" for name, ms in shown)
            kind = "pages_seen" if is_pages else "apps_used"
            return Item(text(kind, language, names=names, count=len(by_name), total=total), is_point=False)
        visits = list(usage.blocks(meant))
        windows = [window for block in usage.blocks(meant, times.MAX_MS) for window in block.windows]
        days = len({times.to_local(visit.start_ms, self.turn.plan.zone).date() for visit in visits})
        sentence = text(
            "used_for" if form in (Form.DURATION, Form.APPS) else "visited_on" if days > 1 else "visited",
            language,
            windows=self._windows(windows[:MAX_WINDOWS]),
            total=total,
            visits=len(visits),
            days=days,
            spans=", ".join(
                f"{self._span(visit.start_ms, visit.end_ms)} ({duration(visit.duration_ms, language)})"
                for visit in visits[:MAX_VISITS]
            ),
        )
        return Item(sentence, is_point=False)

    def _absence(self) -> Iterator[Item]:
        """When nobody was at the screen, by what tells it; and for how long nothing tells."""
        language, gaps = self.turn.plan.language, self.retrieval.coverage.gaps
        away = [gap for gap in gaps if gap.reason in _AWAY]
        spans = ", ".join(
            f"{self._span(gap.start_ms, gap.end_ms)} ({text(gap.reason, language, 'reasons')})"
            for gap in sorted(away, key=lambda gap: gap.start_ms - gap.end_ms)[:MAX_VISITS]
        )
        total = duration(sum(gap.end_ms - gap.start_ms for gap in away), language)
        yield Item(text("away" if away else "never_away", language, total=total, spans=spans), is_point=False)
        if unknown := sum(gap.end_ms - gap.start_ms for gap in gaps if gap.reason == "not_running"):
            yield Item(text("away_unknown", language, total=duration(unknown, language)), is_point=False)

    def _windows(self, windows: Iterable[Window]) -> str:
        """``Excel “Budget”, “Plan”; Mail “Inbox”``"""
        by_app: dict[str, list[str]] = {}
        for window in windows:
            by_app.setdefault(self._app(window.app_name), []).append(window.window_name)
        return "; ".join(
            " ".join([app, ", ".join(f"“{plain(name)}”" for name in names if name)]).strip()
            for app, names in by_app.items()
        )

    def _app(self, name: str) -> str:
        own = _NO_APPS.get(name) or ("" if plain(name) else "unknown_app")
        return text(own, self.turn.plan.language) if own else plain(name)

    def _span(self, start_ms: int, end_ms: int) -> str:
        start, end = self._when(start_ms), clock(end_ms, self.turn.plan.zone)
        return start if start.endswith(end) else f"{start}–{end}"

    def _when(self, at_ms: int) -> str:
        """A clock time, with its day where there are several."""
        plan = self.turn.plan
        at = clock(at_ms, plan.zone)
        return at if self._is_one_day else f"{day(at_ms, plan.zone, plan.now_ms, plan.language)} {at}"

    # -- what was done

    def summary(self) -> Iterator[Item]:
        """Blocks of time: their windows, the one used longest first, and the line that stood most in each."""
        entries = self.retrieval.entries
        own = self._own_lines(entries)
        lines = Counter(form for entry in entries for form in _forms(own[entry.id]))
        for block in self._blocks():
            inside = [e for e in entries if block.start_ms <= e.frame.captured_ms <= block.end_ms]
            if inside:
                yield self._block(block, inside, own, lines)

    def _own_lines(self, entries: Sequence[Entry]) -> dict[str, Sequence[OwnLine]]:
        """The lines of each frame that stand in the window it goes by."""
        with self.turn.database.read() as connection:
            texts = own_texts(connection, [entry.frame.id for entry in entries])
        return {entry.id: texts[entry.frame.id].lines if entry.frame.id in texts else () for entry in entries}

    def _block(
        self,
        block: Block,
        inside: Sequence[Entry],
        own: Mapping[str, Sequence[OwnLine]],
        lines: Counter[str],
    ) -> Item:
        """One that cites a frame for whatever it says: its beginning, its end and every window."""
        of_window: dict[tuple[str, str], list[Entry]] = {}
        for entry in inside:
            names = entry.frame.app_name or "", entry.frame.window_name or ""
            of_window.setdefault(names, []).append(entry)
        shown = [w for w in block.windows if (w.app_name, w.window_name) in of_window][:MAX_WINDOWS]
        imported = text("imported_picture", self.turn.plan.language) if block.is_imported else ""
        quotes = [
            replace(
                _standing_out(of_window[w.app_name, w.window_name], own, lines),
                where=imported or self._windows([w]),
            )
            for w in shown
        ]
        span = self._span(inside[0].frame.captured_ms, inside[-1].frame.captured_ms)
        ends = " ".join(f"[[{entry_id}]]" for entry_id in dict.fromkeys((inside[0].id, inside[-1].id)))
        return Item(f"**{span}** {ends}", tuple(quotes))

    def _blocks(self) -> list[Block]:
        """No more than a reader takes in: the break that parts two of them grows until they are few. A moment
        outside of them is one by itself.
        """
        break_ms = usage.BREAK_MS
        while len(blocks := list(usage.blocks(self._activity, break_ms))) > MAX_BLOCKS:
            break_ms *= 2
        frames = [entry.frame for entry in self.retrieval.entries]
        looked_at = {frame.captured_ms for frame in frames}
        alone = [
            Block(at_ms, at_ms, (Window("", "", 0),), is_imported=True)
            for at_ms in sorted({moment.start_ms for moment in self._permitted(segments.moments)} & looked_at)
            if not any(block.start_ms <= at_ms <= block.end_ms for block in blocks)
        ]
        blocks += evenly(alone, max(1, MAX_BLOCKS - len(blocks)))
        blocks.sort(key=attrgetter("start_ms"))
        if any(block.start_ms <= f.captured_ms <= block.end_ms for block in blocks for f in frames):
            return blocks
        # Frames that no activity was made of: of a monitor without the focus, or just brought in.
        windows = dict.fromkeys((f.app_name or "", f.window_name or "") for f in frames)
        shown = tuple(Window(*names, 0) for names in windows)
        return [Block(frames[0].captured_ms, frames[-1].captured_ms, shown)]

    # -- the lines that answer

    def _ticked(self, form: Form) -> Item | None:
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
                head = text("ticked" if is_done else "not_ticked", plan.language, count=len(told))
                cited = "" if told else f" [[{entry.id}]]"
                quotes = tuple(Quote(entry.id, item) for item in told[:MAX_TICKED])
                return Item(f"{self._when(entry.frame.captured_ms)}, {head}{cited}", quotes)
        return None

    def _reading(self, entry: Entry) -> Reading | None:
        number = entry.frame.reading_id
        return readings.by_id(self.turn.database, number) if number else None

    @cached_property
    def found(self) -> Answers:
        """The lines of frames and of other sources that answer."""
        plan, entries, rows = self.turn.plan, self.retrieval.entries, self.beside.entries
        nearness, stands_out = self._nearness() if entries else ({}, False)
        asked = self.beside.question(rows)
        if not (rows and self.beside.named):
            asked = replace(asked, words=asked_words(asked.text) if rows else plan.words)
        synonyms = dict(self._synonyms(told_by(entries), nearness))
        for word, terms in asked.synonyms.items():
            synonyms[word] = {**synonyms.get(word, {}), **terms}
        shown = plan.shown if plan.scope.follows else frozenset[int]()
        asked = replace(asked, nearness=nearness, synonyms=synonyms, shown=shown, leans=plan.leans)
        if plan.scope.ahead:
            days = self._days_meant()
            words = tuple(dict.fromkeys((*asked.words, days.word)))
            asked = replace(asked, words=words, days=days)
        # What is near to the question before says nothing of one that may be about another thing.
        asked = replace(asked, has_near=stands_out and (plan.leans or not plan.scope.follows))
        return answer_lines.answering(asked, [*entries, *rows])

    def _days_meant(self) -> DaysMeant:
        """The days to come that the question names, or those that are over."""
        plan = self.turn.plan
        today = times.to_local(plan.now_ms, plan.zone).date()
        # A weekday alone is the last one or the next.
        near = {a.weekday() for a, b in plan.days_ahead if a == b and abs(a - today) <= timedelta(days=7)}
        return DaysMeant(normalize(plan.scope.phrase), plan.days_ahead, frozenset(near))

    @cached_property
    def crossing(self) -> Crossing | None:
        """The cell of a table that the question names, on from the one before it where it goes on."""
        plan, entries = self.turn.plan, self.retrieval.entries
        asked = plan.message, plan.scope.follows
        synonyms = self._synonyms(told_by(entries), {}) if entries else {}
        return table_cells.crossing(asked, synonyms, entries, self._tables)

    @property
    def is_found(self) -> bool:
        return self.crossing is not None or self.found.is_found

    @property
    def has_words(self) -> bool:
        """Whether each word of the question stands on some frame, as itself."""
        lines = told_by(self.retrieval.entries)
        return {word for line in lines for word in answer_lines.named(self.words, line)} >= set(self.words)

    @property
    def has_head(self) -> bool:
        """Whether the time that the question names is a head of the table that answers."""
        return self.crossing is not None and self.crossing.is_named(self.turn.plan.scope.phrase)

    def _tables(self, entry: Entry) -> list[layout.Table]:
        reading = self._reading(entry) if entry.frame.text.count(layout.CELL) else None
        return layout.tables(reading.lines) if reading else []

    def _cell(self, found: Crossing) -> Iterator[Item]:
        """The cell, its row and the heads above it; then what stands elsewhere."""
        entry, cells = found.entry, set(layout.CELL.join(found.table).split(layout.CELL))
        quotes = (Quote(entry.id, one[:MAX_PASSAGE_CHARS]) for one in (found.cell, found.row, found.heads))
        yield Item(self._when(entry.frame.captured_ms), tuple(quotes))
        for moment in self.found.moments:
            if beside := [line for line in moment if not cells.issuperset(line.text.split(layout.CELL))]:
                yield self._moment(beside)

    def _lines(self, form: Form) -> Iterator[Item]:
        plan, found = self.turn.plan, self.found
        self._note_found(self.is_found)
        if self.inside and self.is_found and not self.has_head:
            phrase = plain(plan.scope.phrase)
            yield Item(
                self.inside.nothing() + text("elsewhere", plan.language, phrase=phrase), is_point=False
            )
        if self.crossing:
            yield from self._cell(self.crossing)
            return
        if not found.is_found:
            sentence = self.nothing()
            if sources := self.beside.looked_at():
                sentence += text("nor_beside", plan.language, sources=sources)
            after, instead = self._instead(form, found)
            yield Item(sentence + text(after, plan.language), is_point=False)
            yield from instead
        else:
            yield from map(self._moment, found.moments)

    def nothing(self) -> str:
        """The sentence that says what is on no frame."""
        found = self.found
        name = "nothing_found" if found.missing else "nothing_together"
        told = plain(", ".join(_joined(found.missing or self.words)))
        return text(name, self.turn.plan.language, words=told, count=len(self.retrieval.entries))

    def _instead(self, form: Form, found: Answers) -> tuple[str, Iterable[Item]]:
        """(how it is called, what there is in place of an answer)"""
        scope, near = self.turn.plan.scope, "nearest" if found.moments else "none_near"
        if of_named := self.beside.of_named_then():
            return "nearest", of_named
        if self._activity and (form is Form.APPS or (form in _MEASURED and not found.moments)):
            return near, [self._measured(Form.APPS, self._activity)]
        if not found.moments and scope.phrase and not scope.is_everything:
            return "shown_then", self.summary()
        return near, map(self._moment, found.moments)

    def _moment(self, found: Moment) -> Item:
        """When, and the lines; where they stood is said by the source of each."""
        entry = found[0].entry
        if entry.address:
            return self.beside.item(found)
        reading = self._reading(entry)
        if reading:
            found, reading = self._in_one_window(found, reading)
        quoted = self._told(found, reading) if reading else [line.text for line in found]
        quotes = (Quote(entry.id, one) for one in dict.fromkeys(quoted))
        head = self._when(entry.frame.captured_ms)
        if asks_where(self.turn.plan.message):  # it may be a place on the screen
            head += (
                f", {self._windows([Window(entry.frame.app_name or '', entry.frame.window_name or '', 0)])}"
            )
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

    def _synonyms(self, lines: Iterable[str], nearness: Mapping[str, float]) -> Synonyms:
        """Of each word of the question the words of these lines that mean the same."""
        embedder, words = self.turn.services.embedder, self.turn.plan.words
        return answer_lines.same_in_meaning(embedder, words, lines, nearness)

    def _nearness(self) -> tuple[dict[str, float], bool]:
        """How near each line is to the question in meaning, where there are vectors; whether one is so near
        that it is hardly chance.
        """
        plan, entries = self.turn.plan, {entry.frame.id: entry for entry in self.retrieval.entries}
        embedder = self.turn.services.embedder
        meaning = embedder.asked(plan.searched_for, self.turn.stored.id) if embedder else WORDS_ONLY
        if meaning.vector is None or meaning.model is None:
            return {}, False
        try:
            chunks = knn.chunks_of(
                self.turn.database, "frame", entries, meaning.model, meaning.vector, HARDLY_CHANCE
            )
        except SemanticUnavailable:
            return {}, False
        nearness: dict[str, float] = {}
        standing_out: list[str] = []
        for chunk in chunks:
            text = entries[chunk.id].frame.text[chunk.start : chunk.end]
            for cell in text.replace(layout.CELL, "\n").split("\n"):
                form = normalize(cell)
                nearness[form] = max(chunk.score, nearness.get(form, chunk.score))
            standing_out += [text] * chunk.stands_out
        says = embedder.likeness(plan.words, standing_out) if embedder else ()
        return nearness, max(says, default=float(bool(standing_out))) >= SAYS


def _joined(words: Iterable[str]) -> list[str]:
    """Words with pairs of Chinese signs that cross each other as what they were cut from."""
    joined: list[str] = []
    for word in words:
        if joined and HAN.match(word) and joined[-1].endswith(word[0]):
            joined[-1] += word[1:]
        else:
            joined.append(word)
    return joined


def _forms(lines: Iterable[OwnLine]) -> set[str]:
    return {without_figures(line.text) for line in lines}


def _standing_out(
    entries: Sequence[Entry], own: Mapping[str, Sequence[OwnLine]], everywhere: Counter[str]
) -> Quote:
    """The line of a window's frames that says most: one of many words, surely read, that came or went while
    it was shown, and that no other window has; "" where none says more than the window's title.
    """
    inside = Counter(form for entry in entries for form in _forms(own[entry.id]))
    shown = entries[0].frame
    of_title = set(tokenizer.words(shown.window_name or shown.app_name or ""))

    def worth(line: OwnLine) -> tuple[bool, float]:
        form = without_figures(line.text)
        words = min(len(form.split()) + len(HAN.findall(form)) / 2, MAX_WORDS)
        said = words * (2 - inside[form] / len(entries)) * (inside[form] / everywhere[form]) ** 2
        return line.confidence >= MIN_CONFIDENCE, said * line.confidence

    quotes = [
        (entry.id, line)
        for entry in entries
        for line in own[entry.id]
        if not of_title.issuperset(tokenizer.words(line.text))
    ]
    if not quotes:
        return Quote(entries[0].id, "")
    entry_id, best = max(quotes, key=lambda quote: worth(quote[1]))
    return Quote(entry_id, excerpt(best.text.strip(), limit=MAX_QUOTE_CHARS))
