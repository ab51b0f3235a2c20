"""What other sources than frames say to a question: their words, behind what they are of.

A question may name a source ("in my calendar", "what did Ann write"): then that one is asked before frames
are. Without a model their lines stand among those of the frames, and the best ones answer; a model is told
beside the frames what they answer alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from assistant.core.strings import MARKS, day, text
from assistant.evidence import off_screen
from assistant.language.questions import (
    Form,
    asks_for_latest,
    sources_named,
    words_beside_sources,
)
from assistant.retrieval import answer_lines, other_sources
from assistant.retrieval.answer_lines import Moment, Question
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.furniture import lines_of, title_of
from assistant.retrieval.other_sources import TOOL_OF, Asked, Looked
from assistant.retrieval.retrieval import Entry
from assistant.tools import registry
from assistant.turns.plan import RunningTurn
from engines.chat.extractive import ExtractiveModel, Item, Quote, line_of, plain
from store.core import times
from store.embeddings.knn import WORDS_ONLY
from store.sources import fact_curation, inventory

MAX_QUOTE_CHARS = 160
MAX_LISTED = 12
MAX_LINES = 3
FEW = 3
"""So few rows of a list are told whole, as far as `MAX_WHOLE` lines of each are."""
MAX_WHOLE = 6
LONGEST_REACHED_MS = 2 * 86_400_000
"""Of no longer time than this the places that were reached are told."""


@dataclass
class Beside:
    """What one question finds there. `quoted` are the rows that the answer rests on, by how it tells them."""

    turn: RunningTurn
    quoted: dict[str, Entry] = field(default_factory=dict)

    @cached_property
    def looked(self) -> list[Looked]:
        """All that may be looked at."""
        plan, embedder, meaning = self.turn.plan, self.turn.services.embedder, WORDS_ONLY
        if embedder and self.words:
            meaning = embedder.asked(plan.searched_for, self.turn.stored.id)
        is_last, ranges = asks_for_latest(plan.message), plan.subject_ranges
        asked = Asked(self.words, meaning, ranges, plan.now_ms, plan.zone, plan.language, is_last=is_last)
        kinds = [kind for kind, tool in TOOL_OF.items() if tool in self._tools]
        return other_sources.look(self.turn.database, kinds, asked)

    @cached_property
    def _tools(self) -> Collection[str]:
        """The tools whose sources may be looked at: none where a question is about some frames alone, and not
        what the person switched off, or wants to be asked about before a model is told.
        """
        plan, agent = self.turn.plan, self.turn.services.agent
        is_of_frames = plan.filters.given() or plan.request.frame_id is not None or plan.about is not None
        if agent is None or plan.mode == "evidence" or is_of_frames:
            return ()
        modes = ("auto", "ask") if isinstance(plan.model, ExtractiveModel) else ("auto",)
        return [
            tool for tool, mode in registry.modes(self.turn.database, agent.tools).items() if mode in modes
        ]

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What the question is about, without its time and the names of sources."""
        return words_beside_sources(self.turn.plan.subject)

    @cached_property
    def named(self) -> list[Looked]:
        """The sources that the question names."""
        kinds = sources_named(self.turn.plan.subject)
        return [each for each in self.looked if each.kind in kinds]

    @property
    def nothing_then(self) -> str:
        """That the sources which are asked for a time have nothing of it; "" where another thing is asked."""
        plan = self.turn.plan
        if self.words or not self.named or not plan.subject_ranges:
            return ""
        names = [text(each.kind, plan.language, "sources") for each in self.named]
        return text(
            "nothing_then", plan.language, sources=("、" if plan.language == "zh" else ", ").join(names)
        )

    @cached_property
    def entries(self) -> list[Entry]:
        """What stands among the lines of frames: of a question that names a source what that has, and
        messages, which may tell of an appointment, too.
        """
        kinds = {each.kind for each in self.named or self.looked} | {"messages"}
        return [entry for each in self.looked if each.kind in kinds for entry in each.entries]

    def of_named(self) -> list[Item]:
        """What the sources answer that the question names; nothing where it names none, or none has it."""
        if not self.words:
            return self.listed(self.named)
        entries = [entry for each in self.named for entry in each.entries]
        question = self.question(entries)
        found = answer_lines.answering(question, entries)
        if not found.is_found:
            return []
        about = answer_lines.about(question, entries)
        is_of_whom = all(
            set(self.words) <= set(answer_lines.named(self.words, title_of(e), question.synonyms))
            for e in about
        )
        if question.form in (Form.FIGURE, Form.VISITS):
            kinds = [replace(each, total=sum(e in about for e in each.entries)) for each in self.named]
            said = other_sources.counted(kinds, self.turn.plan.language)
            return [Item(said, is_point=False), *self._rows(about)]
        if is_of_whom:
            return self._rows(about if self.turn.plan.subject_ranges else about[::-1])
        return [self.item(moment) for moment in found.moments]

    def alone(self) -> list[Item]:
        """What these sources answer without any frame."""
        if items := self.of_named():
            return items
        if self.nothing_then:
            return [Item(self.nothing_then, is_point=False)]
        if not self.words:
            return self.then()
        found = answer_lines.answering(self.question(self.entries), self.entries)
        return [self.item(moment) for moment in found.moments] if found.is_found else []

    def question(self, entries: Sequence[Entry]) -> Question:
        """What is asked of some of these rows."""
        plan = self.turn.plan
        topic = plan.subject if entries and plan.subject_ranges else plan.searched_for
        lines = answer_lines.told_by(entries)
        synonyms = answer_lines.same_in_meaning(self.turn.services.embedder, plan.message, self.words, lines)
        return Question(topic, plan.form, self.words, {}, synonyms)

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The same for a model, a line each, and what was written in a time that is summed up; in agent mode
        it looks by itself.
        """
        plan = self.turn.plan
        if plan.mode == "agent":
            return ()
        items = self.alone()
        if plan.subject_ranges and not (self.words or self.named):
            items += self.listed([each for each in self.looked if each.kind == "messages"])
        rows = ((item, self.quoted.get(line_of(item))) for item in items)
        return tuple(
            f"{row.excerpt}: {' / '.join(q.text for q in item.quotes)}" if row else item.head
            for item, row in rows
        )

    def listed(self, looked: Sequence[Looked]) -> list[Item]:
        """The rows of the time that is asked about, else those that are next or latest."""
        if self.turn.plan.subject_ranges:
            return self._rows([entry for each in looked for entry in each.entries])
        latest = (sorted(each.entries, key=lambda entry: -entry.frame.captured_ms) for each in looked)
        return self._rows([entry for entries in latest for entry in entries[:MAX_LISTED]])

    def then(self) -> list[Item]:
        """What calendars have of the time that is asked about, and the places that were reached then."""
        plan = self.turn.plan
        if not plan.subject_ranges:
            return []
        items = self.listed([each for each in self.looked if each.kind == "calendar"])
        for start_ms, end_ms in plan.subject_ranges if "get_location_history" in self._tools else ():
            if end_ms - start_ms > LONGEST_REACHED_MS:
                continue
            if names := inventory.held_between(self.turn.database, start_ms, end_ms).places:
                address = f"/sources/location?day={times.to_local(start_ms, plan.zone).date()}"
                at = day(start_ms, plan.zone, plan.now_ms, plan.language)
                entry = other_sources.place_entry(address, start_ms, names)
                entry = replace(entry, excerpt=text("reached", plan.language, "looked", when=at))
                items.append(self._item(entry, names))
        return items

    def _rows(self, entries: Sequence[Entry]) -> list[Item]:
        """What these say: few of them whole, of many what begins each and the line that says most."""
        is_few = len(entries) <= FEW
        items = [
            self._item(entry, lines[:MAX_WHOLE] if is_few else (lines[0], max(lines[1:] or lines, key=len)))
            for entry in entries[:MAX_LISTED]
            if (lines := lines_of(entry.frame.text))
        ]
        if left := len(entries[MAX_LISTED:]):
            items.append(Item(text("more_beside", self.turn.plan.language, count=left), is_point=False))
        return items

    def item(self, found: Moment) -> Item:
        """A row with its lines that answer; what it begins with says what they are of."""
        entry = found[0].entry
        first = lines_of(entry.frame.text)[:1] if entry.id.startswith("calendar") else []
        return self._item(entry, [*first, *(line.text for line in found)][:MAX_LINES])

    def _item(self, entry: Entry, lines: Iterable[str]) -> Item:
        told = (excerpt(line, self.words, limit=MAX_QUOTE_CHARS) for line in dict.fromkeys(lines))
        marks = MARKS[self.turn.plan.language]
        item = Item(plain(entry.excerpt), tuple(Quote("", one) for one in told), marks=marks)
        self.quoted[line_of(item)] = entry
        return item

    @property
    def quotable(self) -> Iterator[off_screen.Item]:
        """The rows that were told, whole."""
        for row in self.quoted.values():
            yield off_screen.Item(f"{row.excerpt}\n{row.frame.text}", row.id.split()[0], row.address)

    def note(self) -> None:
        """Keep with the turn what its answer rests on: it goes when that is deleted."""
        ids = [entry.id.rpartition(" ") for entry in self.quoted.values()]
        kinds = {kind.split()[0] for kind, _, _ in ids}
        self.turn.sources = tuple(sorted(kinds | ({"places"} if "location" in kinds else set())))
        facts = {int(number) for kind, _, number in ids if kind == "remembered fact"}
        known = {int(number) for kind, _, number in ids if kind == "remembered entity"}
        if facts or known:
            with self.turn.database.write() as connection:
                fact_curation.use(connection, self.turn.stored.id, known, facts)
