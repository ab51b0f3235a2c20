"""Episodes: what was done in one window, over the hours, put together from its observations.

An observation ends with its clock hour and a person's work does not: those of one place that follow on each
other are one episode. Nothing is stored: what a person edited or hid holds, as it does for observations.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from store.memory.observations import PICTURE, Fact, Observation
from store.spool.queue import PAINTED_OVER

PAUSE_MS = 10 * 60_000
"""Back in a window after longer than this, a new episode begins: a look elsewhere is shorter than a break."""
LOOK_MS = 10_000
"""What was open for less is a look, and no episode beside one of the same app."""


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
    """The episodes of these observations, by their begin."""
    by_place: dict[str, int] = {}  # the number of its last episode
    found: list[list[Observation]] = []
    for each in sorted(observations, key=lambda one: one.start_ms):
        number = by_place.get(each.place)
        if number is not None and each.start_ms - found[number][-1].end_ms <= PAUSE_MS:
            found[number].append(each)
            continue
        by_place[each.place] = len(found)
        found.append([each])
    return _with_looks([Episode(tuple(group)) for group in found])


def _with_looks(found: Sequence[Episode]) -> list[Episode]:
    """Looks go to the longest episode of their app around or beside them; what a person wrote stays, and what
    was in a window that nobody can name.
    """
    by_app: dict[str | None, list[int]] = {}
    for number, each in enumerate(found):
        if each.active_ms >= LOOK_MS:
            by_app.setdefault(each.lead.app_name, []).append(number)
    groups: dict[int, list[Observation]] = {}
    for number, each in enumerate(found):
        is_look = each.active_ms < LOOK_MS and each.lead.kind != PICTURE and each.lead.source != "user"
        is_look = is_look and bool(each.lead.app_name) and each.lead.app_name not in PAINTED_OVER
        beside = [
            other
            for other in (by_app.get(each.lead.app_name, ()) if is_look else ())
            if found[other].start_ms - PAUSE_MS <= each.end_ms
            and each.start_ms <= found[other].end_ms + PAUSE_MS
        ]
        to = max(beside, key=lambda other: found[other].active_ms, default=number)
        groups.setdefault(to, []).extend(each.observations)
    merged = (Episode(tuple(sorted(group, key=lambda one: one.start_ms))) for group in groups.values())
    return sorted(merged, key=lambda each: each.start_ms)
