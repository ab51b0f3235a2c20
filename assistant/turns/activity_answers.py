"""What activity answers: how long, how often and with which apps; what was done; when nobody was there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter

from assistant.core.strings import MARKS, bracketed, clock, day, duration, listed, text
from assistant.core.texts import HAN
from assistant.language.questions import Form, asks_for_pages
from assistant.retrieval import usage
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.furniture import without_figures
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.retrieval.usage import Block, Window
from assistant.turns.plan import RunningTurn
from engines.chat.extractive import Item, Quote, plain
from store.core import times, tokenizer
from store.core.database import Database
from store.frames.activity_intervals import Segment
from store.memory.own_lines import OwnLine, own_texts
from store.ocr.readings import MIN_CONFIDENCE
from store.search.sample import evenly
from store.spool.queue import DESKTOP, HIDDEN_WINDOW, PRIVATE_WINDOW
from store.timeline import segments

MAX_QUOTE_CHARS = 120
MAX_WORDS = 12
"""A line of more words says no more than one of so many."""
MAX_BLOCKS = 12
MAX_WINDOWS = 4
MAX_VISITS = 8
"""The latest ones are told by their times."""
MAX_NAMES = 20
_AWAY = ("locked", "asleep", "idle")
_NO_APPS = {DESKTOP: "desktop", PRIVATE_WINDOW: "private_window", HIDDEN_WINDOW: "hidden_window"}


@dataclass
class ActivityAnswers:
    """What the activity of the range answers."""

    turn: RunningTurn
    retrieval: Retrieval

    def __post_init__(self) -> None:
        self.plan = plan = self.turn.plan
        self.start_ms, end_ms = self.retrieval.filters.start_ms, self.retrieval.filters.end_ms
        self.end_ms = min(end_ms or plan.now_ms, plan.now_ms)
        days = {times.to_local(at, plan.zone).date() for at in (self.start_ms, self.end_ms - 1)}
        self.is_one_day = len(days) == 1

    @cached_property
    def segments(self) -> list[Segment]:
        return self._permitted(segments.segments)

    def _permitted(self, between: Callable[[Database, int, int, str | None], list[Segment]]) -> list[Segment]:
        """Those of the range that the filters and the rules let through."""
        filters, permits = self.retrieval.filters, self.turn.services.permits or (lambda _: True)
        found = between(self.turn.database, self.start_ms, self.end_ms, filters.host)
        return [each for each in found if permits(each) and usage.permitted(each, filters)]

    # -- how long, how often, which apps

    def total(self, form: Form, meant: Sequence[Segment]) -> Item:
        language = self.plan.language
        total = duration(sum(segment.duration_ms for segment in meant), language)
        is_pages = form is Form.APPS and asks_for_pages(self.plan.searched_for)
        by_name = usage.longest(meant, is_pages=is_pages)
        if form is Form.APPS and len(by_name) > 1:
            shown = [(f"“{plain(n)}”" if is_pages else self._app(n), ms) for n, ms in by_name[:MAX_NAMES]]
            names = listed((f"{name} {duration(ms, language)}" for name, ms in shown), language)
            kind = "pages_seen" if is_pages else "apps_used"
            return Item(text(kind, language, names=names, count=len(by_name), total=total), is_point=False)
        visits = list(usage.blocks(meant))
        windows = [window for block in usage.blocks(meant, times.MAX_MS) for window in block.windows]
        days = len({times.to_local(visit.start_ms, self.plan.zone).date() for visit in visits})
        sentence = text(
            "used_for" if form in (Form.DURATION, Form.APPS) else "visited_on" if days > 1 else "visited",
            language,
            windows=self.windows(windows[:MAX_WINDOWS]),
            total=total,
            visits=len(visits),
            days=days,
            spans=listed(
                (
                    self._span(visit.start_ms, visit.end_ms)
                    + bracketed(duration(visit.duration_ms, language), language)
                    for visit in visits[-MAX_VISITS:]
                ),
                language,
            ),
        )
        return Item(sentence, is_point=False)

    def absence(self) -> Iterator[Item]:
        """When nobody was at the screen, by what tells it; and for how long nothing tells."""
        language, gaps = self.plan.language, self.retrieval.coverage.gaps
        away = [gap for gap in gaps if gap.reason in _AWAY]
        spans = listed(
            (
                self._span(gap.start_ms, gap.end_ms)
                + bracketed(text(gap.reason, language, "reasons"), language)
                for gap in sorted(away, key=lambda gap: gap.start_ms - gap.end_ms)[:MAX_VISITS]
            ),
            language,
        )
        total = duration(sum(gap.end_ms - gap.start_ms for gap in away), language)
        yield Item(text("away" if away else "never_away", language, total=total, spans=spans), is_point=False)
        if unknown := sum(gap.end_ms - gap.start_ms for gap in gaps if gap.reason == "not_running"):
            yield Item(text("away_unknown", language, total=duration(unknown, language)), is_point=False)

    # -- in words

    def windows(self, windows: Iterable[Window]) -> str:
        """``Excel “Budget”, “Plan”; Mail “Inbox”``"""
        by_app: dict[str, list[str]] = {}
        for window in windows:
            by_app.setdefault(self._app(window.app_name), []).append(window.window_name)
        return MARKS[self.plan.language][1].join(
            f"{app} {listed((f'“{plain(name)}”' for name in names if name), self.plan.language)}".strip()
            for app, names in by_app.items()
        )

    def _app(self, name: str) -> str:
        own = _NO_APPS.get(name) or ("" if plain(name) else "unknown_app")
        return text(own, self.plan.language) if own else plain(name)

    def _span(self, start_ms: int, end_ms: int) -> str:
        start, end = self.when(start_ms), clock(end_ms, self.plan.zone)
        return start if start.endswith(end) else f"{start}–{end}"

    def when(self, at_ms: int) -> str:
        """A clock time, with its day where there are several."""
        plan, at = self.plan, clock(at_ms, self.plan.zone)
        return at if self.is_one_day else f"{day(at_ms, plan.zone, plan.now_ms, plan.language)} {at}"

    # -- what was done

    def summary(self) -> Iterator[Item]:
        """Blocks of time: their windows, the one used longest first, and the line that stood most in each."""
        entries = self.retrieval.entries
        with self.turn.database.read() as connection:
            texts = own_texts(connection, [entry.frame.id for entry in entries])
        # The lines of each frame that stand in the window it goes by.
        own = {e.id: texts[e.frame.id].lines if e.frame.id in texts else () for e in entries}
        lines = Counter(form for entry in entries for form in _forms(own[entry.id]))
        for block in self._blocks():
            inside = [e for e in entries if block.start_ms <= e.frame.captured_ms <= block.end_ms]
            if inside:
                yield self._block(block, inside, own, lines)

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
        imported = text("imported_picture", self.plan.language) if block.is_imported else ""
        quotes = []
        for w in shown:
            where = imported or self.windows([w])
            quote = _standing_out(of_window[w.app_name, w.window_name], own, lines)
            quotes.append(replace(quote, where=where))
        span = self._span(inside[0].frame.captured_ms, inside[-1].frame.captured_ms)
        ends = " ".join(f"[[{entry_id}]]" for entry_id in dict.fromkeys((inside[0].id, inside[-1].id)))
        return Item(f"**{span}** {ends}", tuple(quotes))

    def _blocks(self) -> list[Block]:
        """No more than a reader takes in: the break that parts two of them grows until they are few. A moment
        outside of them is one by itself.
        """
        break_ms = usage.BREAK_MS
        while len(blocks := list(usage.blocks(self.segments, break_ms))) > MAX_BLOCKS:
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
        length = min(len(form.split()) + len(HAN.findall(form)) / 2, MAX_WORDS)
        said = length * (2 - inside[form] / len(entries)) * (inside[form] / everywhere[form]) ** 2
        return line.confidence >= MIN_CONFIDENCE, said * line.confidence

    quotes = [
        (entry.id, line)
        for entry in entries
        for line in own[entry.id]
        if not of_title.issuperset(tokenizer.words(line.text))
    ]
    if not quotes:
        return Quote(entries[0].id, "")
    entry_id, line = max(quotes, key=lambda quote: worth(quote[1]))
    return Quote(entry_id, excerpt(line.text.strip(), limit=MAX_QUOTE_CHARS))
