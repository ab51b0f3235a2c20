"""One call of another program: the rules it is read under, what it got, and its audit row.

    with calls.call(library, "mcp", "search_frames") as call:
        ...reading through `call`...

The row is written before the answer leaves: when it cannot be written, the call fails, so that
nothing is read without a record of it.

Rules are regular expressions and word rules over app, title and address, which SQL cannot ask for. So a page
is read, what the rules keep back is taken out, and the next page fills the space, until the page is full or
`MAX_ROUNDS` pages were read. The page is then short and says how to go on; nothing is skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from typing import Literal

from assistant.core.query_embedder import QueryEmbedder
from assistant.core.texts import HAN, question_words
from assistant.language.questions import Form, asked_words, form_of
from store.core import times
from store.core.database import Database, open_database
from store.core.errors import DeadlineExceeded, MediaGone, NotFound, StoreBusy
from store.core.paths import DataDir
from store.core.preferences import day_clock
from store.core.settings import Settings
from store.core.times import MAX_EPOCH_SECONDS, to_ms
from store.egress import access_log
from store.egress.access_log import Access, Outcome
from store.embeddings.knn import RetrievalQuery
from store.frames import frames, visible_windows
from store.frames.activity_intervals import Segment
from store.frames.frames import FrameRow
from store.frames.media import Media
from store.memory.timeline import BadAnchor, UnknownAnchor
from store.privacy import rules as privacy
from store.privacy.rules import RuleSet
from store.search import query as queries
from store.search import search
from store.search.filters import Filters
from store.search.hits import BadCursor, Hit
from store.search.sample import SampledFrame
from store.search.search import Order, Page
from store.timeline import segments as activity

caller: ContextVar[str] = ContextVar("caller", default="")
"""The name of the token that a call came with, where it has one."""


@dataclass(frozen=True, slots=True)
class ReadSources:
    """What doors read from. `clock` gives now in epoch milliseconds."""

    database: Database
    media: Media
    settings: Settings
    embedder: QueryEmbedder
    clock: Callable[[], int]

    @classmethod
    def opened(cls, data_dir: DataDir, settings: Settings) -> ReadSources:
        """Those of a home folder, for a program that runs beside the pages or without them."""
        database = open_database(data_dir)
        embedder = QueryEmbedder(settings.embedding, database)
        return cls(database, Media(data_dir.media, database), settings, embedder, times.now_ms)


AROUND_MS = 12 * 3_600_000
"""How far around a moment is looked where no range is named."""


class ReadCall:
    """What one call may see, and how much of it it got. Outside of `range_ms`, where it has one, it sees
    nothing. What names no range is asked of the time around `at_ms`, and up to `until_ms`: of now, unless the
    conversation is about another moment.
    """

    def __init__(
        self,
        library: ReadSources,
        rules: RuleSet,
        zone: tzinfo,
        range_ms: tuple[int, int] | None,
        at_ms: int | None,
    ) -> None:
        self.library = library
        self.zone = zone
        self.range_ms = range_ms
        self.database = library.database
        self.now_ms = library.clock()
        self.at_ms = self.now_ms if at_ms is None else at_ms
        self.until_ms = min(self.now_ms, self.at_ms + AROUND_MS)
        self.returned = 0
        self.withheld = 0
        self._rules = rules
        self._decided: dict[tuple[str | None, ...], bool] = {}

    def local(self, at_ms: int) -> str:
        """A moment on the clock of who asks."""
        return times.rfc3339(at_ms, self.zone)

    @property
    def is_open(self) -> bool:
        """Whether nothing keeps it from all there is, up to now and later."""
        return self.range_ms is None and self.until_ms == self.now_ms

    def holds(self, start_ms: int, end_ms: int) -> bool:
        """Whether a span lies in the range."""
        return self.range_ms is None or (self.range_ms[0] <= start_ms and end_ms <= self.range_ms[1])

    def within(self, start_ms: int, end_ms: int) -> tuple[int, int]:
        """A span cut to the range. Raises `ReadRefused` when nothing of it is left."""
        low, high = self.range_ms or (start_ms, end_ms)
        start_ms, end_ms = max(start_ms, low), min(end_ms, high)
        if end_ms <= start_ms:
            between = f"{self.local(low)} to {self.local(high)}"
            raise ReadRefused("invalid", f"This conversation is about {between} only, and that lies outside.")
        return start_ms, end_ms

    def span(self, start: float | str | None, end: float | str | None) -> tuple[int, int]:
        """``[start, end)`` in milliseconds, cut to the range: from the beginning where no start is given, and
        up to now; where neither is given, up to shortly after the moment that it is about.
        """
        start_ms = 0 if start is None else parse(start, "start", self.zone)
        last_ms = self.until_ms if start is None else self.now_ms
        end_ms = last_ms + 1 if end is None else parse(end, "end", self.zone)
        if end_ms <= start_ms:
            raise ReadRefused("invalid", "end must be later than start")
        return self.within(start_ms, end_ms)

    def span_or_none(
        self, start: float | str | None, end: float | str | None
    ) -> tuple[int, int] | tuple[None, None]:
        """The same; (None, None) where nothing bounds it."""
        if start is None and end is None and self.is_open:
            return None, None
        return self.span(start, end)

    def shows(self, what: FrameRow | Hit | SampledFrame | Segment) -> bool:
        """Whether today's rules let this out; what they keep back is counted."""
        shown = self.permits(what)
        self.withheld += not shown
        return shown

    def permits(self, what: FrameRow | Hit | SampledFrame | Segment) -> bool:
        """Whether today's rules let this out, as part of something else."""
        windows: list[tuple[str | None, ...]] = [(what.app_name, what.window_name, what.browser_url)]
        if not isinstance(what, Segment):
            number = what.frame_id if isinstance(what, Hit) else what.id
            windows += visible_windows.of_frame(self.database, number)
        return all(self._permits(*window) for window in windows)

    def _permits(self, *window: str | None) -> bool:
        if window not in self._decided:
            self._decided[window] = self._rules.permits(*window)
        return self._decided[window]


def is_permitted(database: Database, rules: RuleSet, frame: FrameRow) -> bool:
    """Whether rules let a frame out."""
    front = frame.app_name, frame.window_name, frame.browser_url
    return visible_windows.permits(database, rules, frame.id, front)


@contextmanager
def call(
    library: ReadSources,
    door: str,
    tool: str,
    zone: tzinfo | None = None,
    range_ms: tuple[int, int] | None = None,
    at_ms: int | None = None,
) -> Iterator[ReadCall]:
    """A call, with its audit row at the end. What a caller can act on is raised as `ReadRefused`; anything
    else is a failure of ours.

    Without a `zone` times are told on the clock by which the person's days are counted.
    """
    called_ms, made = library.clock(), None
    outcome: Outcome = "failed"
    try:
        rules = privacy.load_rules(library.database.data_dir, library.settings.privacy)
        made = ReadCall(library, rules, zone or day_clock(library.database).zone, range_ms, at_ms)
        if rules.unreadable:
            raise ReadRefused("rules_unreadable", rules.unreadable)
        yield made
        outcome = "answered"
    except ReadRefused:
        outcome = "refused"
        raise
    except tuple(_REFUSALS) as error:
        outcome = "refused"
        code, sentence = next(refusal for kind, refusal in _REFUSALS.items() if isinstance(error, kind))
        raise ReadRefused(code, sentence.format(error)) from error
    finally:
        returned = made.returned if made and outcome == "answered" else 0
        withheld = made.withheld if made else 0
        _record(library, Access(called_ms, door, tool, outcome, returned, withheld, caller.get()))


def record_refused(library: ReadSources, door: str, tool: str) -> None:
    """The row of a call that was refused before it could begin: it is none that could be made."""
    _record(library, Access(library.clock(), door, tool, "refused", 0, 0, caller.get()))


def _record(library: ReadSources, row: Access) -> None:
    with library.database.write() as connection:
        access_log.record(connection, row)


Code = Literal["not_found", "withheld", "gone", "invalid", "rules_unreadable", "busy"]


class ReadRefused(Exception):
    """A refusal that its caller may read: a code and a sentence without content.

    ``withheld``: today's rules leave it out; ``gone``: the pixels are; ``invalid``: an argument;
    ``busy``: try again.
    """

    def __init__(self, code: Code, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


_REFUSALS: Mapping[type[Exception], tuple[Code, str]] = {
    NotFound: ("not_found", "{0}"),
    MediaGone: ("gone", "the picture of frame {0.frame_id} is gone ({0.reason}); its text may remain"),
    BadCursor: ("invalid", "cursor: {0}"),
    BadAnchor: ("invalid", "{0}"),
    UnknownAnchor: ("not_found", "{0}"),
    StoreBusy: ("busy", "the database is busy; try again"),
    DeadlineExceeded: ("busy", "this took too long and was stopped; ask for less"),
}


# -- times ------------------------------------------------------------------------------------
#
# A written time must carry its zone: "today" read in UTC is the oldest mistake of such tools. A day, a month
# or a year without a time is the person's own.

_DATE = re.compile(r"(19[7-9]\d|2[01]\d\d)(?:(-?)(\d\d)(?:\2(\d\d))?)?")
"""As a number it would be a second of the seventies, of which nobody asks."""


def parse(value: float | str, name: str, zone: tzinfo | None = None) -> int:
    """Epoch milliseconds of epoch seconds, of an RFC 3339 time with its zone, or of when a day, a month or a
    year began in a `zone`: ``2026-11-20``, ``20261120``, ``2026-11``, ``2026``. Raises `ReadRefused`.
    """
    written = str(value).strip().removesuffix(".0")
    try:
        if zone and (date := _DATE.fullmatch(written)):
            seconds = datetime(int(date[1]), int(date[3] or 1), int(date[4] or 1), tzinfo=zone).timestamp()
        elif re.fullmatch(r"[-+\d.e]+", str(value), re.IGNORECASE):
            seconds = float(value)
        else:
            at = datetime.fromisoformat(written)
            seconds = at.timestamp() if at.tzinfo else math.nan
    except (ValueError, OverflowError):
        seconds = math.nan
    if not 0 <= seconds <= MAX_EPOCH_SECONDS:  # nor NaN
        example = "2026-11-20, 2026-11-20T13:00:00+01:00 (the zone is needed) or epoch seconds"
        raise ReadRefused("invalid", f"{name} must be like {example}, not {str(value)[:40]!r}")
    return to_ms(seconds)


# -- reading past the rules -------------------------------------------------------------------


def is_question(query: str) -> bool:
    """Whether a query is asked as a question, and not typed as words to look for."""
    is_asked = "?" in query or "？" in query or form_of(query) is not Form.YES_NO
    return is_asked and not queries.parse(query).is_exact


def searched_for(query: str) -> str:
    """What of a query is looked for: of a question all but its words of asking; "" where it has no others."""
    if not is_question(query):
        return query
    kept = set(asked_words(query))
    return " ".join(word for part in query.split() if (word := _without_asking(part, kept)))


def _without_asking(part: str, kept: Collection[str]) -> str:
    """A word as it stands; of Chinese, where words have no space between them, what remains."""
    words = [word for word in question_words(part) if word in kept]
    if HAN.search(part):
        return part if len(words) == len(part) - 1 else " ".join(words)
    return part if words or any(map(str.isdigit, part)) else ""


def asking(call: ReadCall, query: str) -> RetrievalQuery:
    """The question of a search of memory or messages: its own words, and the meaning of the whole."""
    words = searched_for(query)
    return replace(call.library.embedder.asked(query), text=words) if words else RetrievalQuery("")


MAX_ROUNDS = 50
"""Pages that one answer may read: some tenths of a second where a rule hides almost everything."""


@dataclass(frozen=True, slots=True)
class Found:
    """Hits that may be seen and are wanted. `passed_over` were neither.

    `page` is the last page that was read: it says how it searched, and counts everything.
    """

    hits: tuple[Hit, ...]
    passed_over: int
    next_cursor: str | None
    page: Page


def find(
    call: ReadCall,
    text: str,
    filters: Filters,
    *,
    limit: int,
    order: Order | None = None,
    cursor: str | None = None,
    wanted: Callable[[Hit], bool] = lambda hit: True,
    fold: bool = False,
) -> Found:
    """Up to `limit` hits that the rules let out and `wanted` accepts, and where they go on.

    With `fold` a run of look-alike frames of one window is one hit.
    """
    asked = call.library.embedder.asked(text)
    hits: list[Hit] = []
    looked_at = 0
    for _ in range(MAX_ROUNDS):
        page = search.search(
            call.database,
            text,
            filters,
            limit=limit - len(hits),
            order=order,
            cursor=cursor,
            fold=fold,
            meaning=asked,
        )
        shown = [hit for hit in page.hits if call.shows(hit)]
        call.withheld += sum(len(hit.alike) for hit in page.hits if not call.permits(hit))
        hits += filter(wanted, shown)
        looked_at += len(page.hits)
        cursor = page.next_cursor
        if cursor is None or len(hits) == limit:
            break
    call.returned += len(hits)
    return Found(tuple(hits), looked_at - len(hits), cursor, page)


def frame(call: ReadCall, frame_id: int) -> FrameRow:
    """One frame. Raises `ReadRefused` when a rule leaves its window out or it lies outside of the range, and
    `NotFound`.
    """
    row = frames.get(call.database, frame_id)
    call.within(row.captured_ms, row.captured_ms + 1)
    if not call.shows(row):
        raise ReadRefused("withheld", f"an exclusion rule of today leaves out the window of frame {frame_id}")
    return row


def neighbours(call: ReadCall, of: FrameRow) -> tuple[int | None, int | None]:
    """(previous, next) frame ids on the same monitor; None also where a rule hides that frame, or it lies
    outside of the range.
    """
    ids = frames.neighbours(call.database, of)
    rows_by_id = frames.get_many(call.database, [frame_id for frame_id in ids if frame_id is not None])
    in_range = (row for row in rows_by_id.values() if call.holds(row.captured_ms, row.captured_ms + 1))
    seen = {row.id for row in in_range if call.shows(row)}
    previous, following = (frame_id if frame_id in seen else None for frame_id in ids)
    return previous, following


def segments(call: ReadCall, start_ms: int, end_ms: int, host: str | None = None) -> list[Segment]:
    """The stretches of activity of a range, without those in windows that a rule leaves out."""
    found = activity.segments(call.database, start_ms, end_ms, host)
    return [segment for segment in found if call.shows(segment)]


def moments(call: ReadCall, start_ms: int, end_ms: int, host: str | None = None) -> list[Segment]:
    """The pictures imported of a range, without those that a rule leaves out."""
    found = activity.moments(call.database, start_ms, end_ms, host)
    return [moment for moment in found if call.shows(moment)]
