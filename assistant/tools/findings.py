"""What tools have shown in a turn: the frames that may be cited, measured times, and of what time.

The selected set of a turn with tools is what its tools returned: each frame gets an id when a
result first holds it, and only these ids can be cited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from assistant.core.strings import local_time
from assistant.language.figures import of_moment
from assistant.retrieval.frame_selection import Searched
from assistant.retrieval.measured_facts import MeasuredDuration, MeasuredFacts, duration_figures
from assistant.retrieval.retrieval import Entry, Retrieval, excerpt
from store.core import times
from store.core.database import Database
from store.ocr import readings
from store.search import sample
from store.search.filters import Filters
from store.search.sample import SampledFrame


@dataclass(slots=True)
class Findings:
    """What one call has shown. `known` are the ids of frames, those of earlier calls among them; `frames`
    are the ones that are new. `sources` names what was shown beside frames.
    """

    known: dict[int, str] = field(default_factory=dict)
    frames: dict[int, SampledFrame] = field(default_factory=dict)
    searched: list[Searched] = field(default_factory=list)
    durations: list[MeasuredDuration] = field(default_factory=list)
    moments: set[int] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)
    from_ms: int | None = None
    until_ms: int | None = None

    def cite(self, database: Database, frame_ids: Sequence[int]) -> dict[int, str]:
        """Ids to cite these frames by; frames that are gone have none."""
        missing = [number for number in frame_ids if number not in self.known]
        if missing:
            with database.read() as connection:
                loaded = sample.load(connection, missing)
            for frame in loaded:
                self.known[frame.id] = f"e{len(self.known) + 1}"
                self.frames[frame.id] = frame
        return {number: self.known[number] for number in frame_ids if number in self.known}

    def shown(self, start_ms: int, end_ms: int) -> None:
        """Note that something of ``[start_ms, end_ms)`` was shown."""
        self.from_ms = start_ms if self.from_ms is None else min(self.from_ms, start_ms)
        self.until_ms = end_ms if self.until_ms is None else max(self.until_ms, end_ms)

    def measured(self, name: str, duration_ms: int) -> None:
        """Note a duration that was given, and whose it is."""
        if duration_ms >= 1000:
            self.durations.append(MeasuredDuration(name, duration_figures(duration_ms)))


@dataclass(slots=True)
class TurnFindings:
    """What all calls of a turn have shown, in order."""

    known: dict[int, str] = field(default_factory=dict)
    frames: list[SampledFrame] = field(default_factory=list)
    searched: list[Searched] = field(default_factory=list)
    durations: list[MeasuredDuration] = field(default_factory=list)
    moments: set[int] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)

    def of_call(self) -> Findings:
        """A place for what one call finds; it counts only once it is taken in."""
        return Findings(known=dict(self.known))

    def take(self, found: Findings) -> None:
        """Take in what a call has found."""
        self.known = found.known
        self.frames += found.frames.values()
        self.searched += found.searched
        self.durations += found.durations
        self.moments |= found.moments
        self.sources |= found.sources

    def retrieval(self, database: Database, words: Sequence[str], range_ms: tuple[int, int]) -> Retrieval:
        """The frames as a retrieval, for the checks that every answer passes."""
        entries = tuple(
            Entry(self.known[frame.id], frame, excerpt(frame.text, words, frozenset()))
            for frame in self.frames
        )
        return Retrieval(
            filters=Filters(*range_ms),
            entries=entries,
            frames_in_range=len(entries),
            gaps=(),
            totals=None,
            index_fresh_to_ms=readings.index_fresh_to_ms(database),
            searched=tuple(self.searched),
            relevant=len(entries),
            is_found=bool(entries) or not any(each.text for each in self.searched),
        )

    def facts(self, now_ms: int, zone: tzinfo, also_ms: Iterable[int] = ()) -> MeasuredFacts:
        """The durations and moments that tools gave."""
        moments = (of_moment(local_time(at, zone)) for at in (*self.moments, *also_ms))
        return MeasuredFacts(
            tuple(self.durations), frozenset().union(*moments), times.to_local(now_ms, zone).date()
        )
