"""Episodes: what was done in one window, over the hours, put together from its observations.

An observation ends with its clock hour and a person's work does not: those of one place that follow on each
other are one episode. Nothing is stored: what a person edited or hid holds, as it does for observations.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.memory.observations import Fact, Observation

PAUSE_MS = 10 * 60_000
"""Back in a window after longer than this, a new episode begins: a look elsewhere is shorter than a break."""


@dataclass(frozen=True, slots=True)
class Episode:
    """Observations of one place, in order; at least one. `active_ms` is the time in it, without the looks
    elsewhere between `start_ms` and `end_ms`.
    """

    observations: tuple[Observation, ...]

    @property
    def lead(self) -> Observation:
        """The one that names the episode: a person's own words, else the longest."""
        return max(self.observations, key=lambda each: (each.source == "user", each.active_ms))

    @property
    def start_ms(self) -> int:
        return self.observations[0].start_ms

    @property
    def end_ms(self) -> int:
        return max(each.end_ms for each in self.observations)

    @property
    def active_ms(self) -> int:
        return sum(each.active_ms for each in self.observations)

    @property
    def facts(self) -> list[Fact]:
        """Its lines, each once, those of the lead first."""
        found: dict[str, Fact] = {}
        for each in (self.lead, *self.observations):
            for fact in each.facts:
                found.setdefault(fact.text, fact)
        return list(found.values())

    @property
    def frame_ids(self) -> list[int]:
        return sorted({frame_id for each in self.observations for frame_id in each.frame_ids})


def episodes(observations: Iterable[Observation]) -> list[Episode]:
    """The episodes of these observations, by their begin. Linear in their number."""
    by_place: dict[str, int] = {}  # the number of its last episode
    found: list[list[Observation]] = []
    for each in sorted(observations, key=lambda one: one.start_ms):
        number = by_place.get(each.place)
        if number is not None and each.start_ms - found[number][-1].end_ms <= PAUSE_MS:
            found[number].append(each)
            continue
        by_place[each.place] = len(found)
        found.append([each])
    return [Episode(tuple(group)) for group in found]
