"""What one call of a tool is handed: what it may read and send, and where it notes what it has shown.

What may be cited in a turn with tools is what its tools returned: each frame gets an id when a result first
holds it, and only these ids can be cited. What leaves this program (a web search, or one picture to the model
that answers) is noted in the ledger of what was sent before it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import wraps
from typing import Any

from assistant.core.endpoints import Endpoint
from assistant.core.records import Coverage, Query
from assistant.core.strings import local_time
from assistant.read_api import calls
from assistant.read_api.calls import AROUND_MS, ReadCall, ReadRefused, ReadSources
from assistant.retrieval.excerpts import excerpt
from assistant.retrieval.measured_facts import MeasuredDuration, MeasuredFacts
from assistant.retrieval.retrieval import Entry, Retrieval
from assistant.tools.tool import Tool, ToolFailed, tool
from engines.chat.protocol import ChatModel, Usage
from store.core.database import Database
from store.core.settings import ToolsSettings
from store.frames.frames import FrameRow
from store.ocr import readings
from store.search import sample
from store.search.filters import Filters
from store.search.sample import SampledFrame


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What one call of a tool is handed.

    `range_ms` is what must not be left, None where all may be seen, `at_ms` the moment that the conversation
    is about, None for none. `eyes` is the model that answers, at
    `endpoint`, None where it cannot see.
    """

    library: ReadSources
    settings: ToolsSettings
    findings: Findings
    now_ms: int
    zone: tzinfo
    range_ms: tuple[int, int] | None
    eyes: ChatModel | None
    endpoint: Endpoint
    turn_id: int | None
    chat_id: int
    at_ms: int | None = None


@dataclass(slots=True)
class Findings:
    """What one call has shown. `known` are the ids of frames, those of earlier calls among them; `frames`
    are the ones that are new. `sources` names what was shown beside frames, `seen` are
    frames whose pictures were, and `usages` what a model took to look at them.
    """

    known: dict[int, str] = field(default_factory=dict)
    frames: dict[int, SampledFrame] = field(default_factory=dict)
    queries: list[Query] = field(default_factory=list)
    durations: list[MeasuredDuration] = field(default_factory=list)
    moments: set[int] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    usages: list[Usage] = field(default_factory=list)
    from_ms: int | None = None
    until_ms: int | None = None

    def cite(self, database: Database, frame_ids: Sequence[int]) -> dict[int, str]:
        """Ids to cite these frames by; frames that are gone have none."""
        missing = [number for number in frame_ids if number not in self.known]
        if missing:
            last = max((int(name[1:]) for name in self.known.values()), default=0)
            with database.read() as connection:
                loaded = sample.load(connection, missing)
            for n, frame in enumerate(loaded, last + 1):
                self.known[frame.id] = f"e{n}"
                self.frames[frame.id] = frame
        return {number: self.known[number] for number in frame_ids if number in self.known}

    def shown(self, start_ms: int, end_ms: int) -> None:
        """Note that something of ``[start_ms, end_ms)`` was shown."""
        self.from_ms = start_ms if self.from_ms is None else min(self.from_ms, start_ms)
        self.until_ms = end_ms if self.until_ms is None else max(self.until_ms, end_ms)

    def measured(self, name: str, duration_ms: int) -> None:
        """Note a duration that was given, and whose it is."""
        if duration_ms >= 1000:
            self.durations.append(MeasuredDuration(name, duration_ms))


class TurnFindings(Findings):
    """What all calls of a turn have shown, in order."""

    def of_call(self) -> Findings:
        """A place for what one call finds; it counts only once it is taken in."""
        return Findings(known=dict(self.known))

    def resolved(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with the frames themselves where a model names them as it cites them (``e3``)."""
        frame_ids = {cited: str(frame_id) for frame_id, cited in self.known.items()}

        def frame(name: str, value: Any) -> Any:
            if not isinstance(value, str) or not (name == "anchor" or name.endswith("frame_id")):
                return value
            return frame_ids.get(value.strip(" []"), value)

        return {name: frame(name, value) for name, value in arguments.items()}

    def take(self, findings: Findings) -> None:
        """Take in what a call has found."""
        self.known = findings.known
        self.frames |= findings.frames
        self.queries += findings.queries
        self.durations += findings.durations
        self.moments |= findings.moments
        self.sources |= findings.sources
        self.seen |= findings.seen

    def retrieval(self, database: Database, words: Sequence[str], range_ms: tuple[int, int]) -> Retrieval:
        """The frames as a retrieval, for the checks that every answer passes."""
        entries = tuple(
            Entry(self.known[frame.id], frame, excerpt(frame.text, words, frozenset()))
            for frame in self.frames.values()
        )
        looked = Coverage(
            frames_in_range=len(entries),
            frames_sampled=len(entries),
            queries=tuple(self.queries),
            index_fresh_to_ms=readings.index_fresh_to_ms(database),
            relevant=len(entries),
            is_found=bool(entries) or not any(query.text for query in self.queries),
        )
        return Retrieval(Filters(*range_ms), entries, looked)

    def facts(self, zone: tzinfo, also_ms: Iterable[int] = ()) -> MeasuredFacts:
        """The durations and moments that tools gave."""
        moments = sorted({*self.moments, *also_ms})
        return MeasuredFacts(tuple(self.durations), tuple(local_time(at, zone) for at in moments))


# -- what is read under the rules of today ----------------------------------------------------

DOOR = "chat"


@dataclass(frozen=True, slots=True)
class SourceQuery:
    """One call of a tool that reads what is kept here."""

    call: ReadCall
    context: ToolContext

    @property
    def timeout_s(self) -> float:
        return self.context.settings.timeout_s

    def local(self, at_ms: int) -> str:
        """A moment in words for the model; from now on an answer may name it."""
        self.context.findings.moments.add(at_ms)
        return self.call.local(at_ms)

    def span_around(self, start: float | str | None, end: float | str | None) -> tuple[int, int]:
        """``[start, end)`` in milliseconds; where neither is given, around the moment."""
        if start is None and end is None:
            return self.call.within(self.call.at_ms - AROUND_MS, self.call.at_ms + AROUND_MS)
        return self.call.span(start, end)

    def frame(self, frame_id: int) -> FrameRow:
        """A frame that may be seen. Raises `ReadRefused` and `NotFound`."""
        frame = calls.frame(self.call, frame_id)
        self.context.findings.shown(frame.captured_ms, frame.captured_ms + 1)
        return frame

    def told(self, key: str, rows: Sequence[Any], note: str, **more: Any) -> dict[str, Any]:
        """The rows under their `key`, and `more` of them, None left out; `note` where there are no rows."""
        self.call.returned = len(rows)
        known = {name: value for name, value in more.items() if value is not None}
        return {key: list(rows), **known, **({} if rows else {"note": note})}


@contextmanager
def reading(context: ToolContext, tool: str) -> Iterator[SourceQuery]:
    """A call of a tool as the doors read: past today's rules, on record. A refusal fails the tool."""
    try:
        with calls.call(context.library, DOOR, tool, context.zone, context.range_ms, context.at_ms) as call:
            yield SourceQuery(call, context)
    except ReadRefused as error:
        raise ToolFailed(str(error)) from error


def source_tool(reaches: str, source: str = "", **more: Any) -> Callable[[Callable[..., object]], Tool]:
    """As `tool`, for a function whose first parameter is a `SourceQuery`.

    A turn that was given rows names their `source`.
    """

    def make(function: Callable[..., object]) -> Tool:
        @wraps(function)
        def run(context: ToolContext, **values: Any) -> object:
            with reading(context, function.__name__) as lookup:
                answer = function(lookup, **values)
            if lookup.call.returned and source:
                context.findings.sources.add(source)
            return answer

        return tool(reaches, **more)(run)

    return make


def row(record: object, *names: str, chars: int, **more: object) -> dict[str, Any]:
    """These fields of a record and `more`, as a model is told: texts of at most `chars`, nothing empty."""
    fields = {name: getattr(record, name) for name in names} | more
    return {
        name: truncated(value, chars) if isinstance(value, str) else value
        for name, value in fields.items()
        if value not in ("", None, [], ())
    }


def truncated(text: str, chars: int) -> str:
    """A text of at most `chars` characters; one that is cut ends in …"""
    return text if len(text) <= chars else text[: chars - 1].rstrip() + "…"
