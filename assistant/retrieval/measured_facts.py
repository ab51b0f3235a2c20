"""What code has measured and the model was given: durations with what they belong to, and moments.

The model never works out a duration. A sentence may use those given here, for what it names; any other has
to stand on a frame that it cites.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from functools import cached_property
from typing import Any

from assistant.core.strings import duration, local_time
from assistant.language.figures import Value
from assistant.language.shown_values import Shown
from assistant.language.values import values
from assistant.retrieval.retrieval import Retrieval
from store.timeline.totals import Totals

MAX_TOLD = 8
"""Totals of each kind that a model is given."""

TOTAL = "total"
_TITLE_PARTS = re.compile(r"\s+[-\u2013\u2014|·:]\s+")
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class MeasuredDuration:
    """A measured duration in milliseconds, and the name it belongs to."""

    name: str
    duration_ms: int

    def numbers(self) -> set[Decimal]:
        """The numbers by which it may be told: ``1 h 20 min``, ``80 min``, ``35 s``."""
        told = {int(number) for number in _NUMBER.findall(duration(self.duration_ms))}
        return {Decimal(number) for number in (*told, round(self.duration_ms / 60_000))}


@dataclass(frozen=True)
class MeasuredFacts:
    """`moments` are local times (RFC 3339) that any sentence may tell."""

    durations: tuple[MeasuredDuration, ...] = ()
    moments: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As it is kept with a turn."""
        return {
            "durations": [[measured.name, measured.duration_ms] for measured in self.durations],
            "moments": list(self.moments),
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None) -> MeasuredFacts:
        """What `to_json` made. Nothing where nothing was kept, or by a version that kept it otherwise."""
        durations = (kept or {}).get("durations", ())
        if kept is None or not all(isinstance(told, int) for _, told in durations):
            return cls()
        return cls(tuple(MeasuredDuration(name, told) for name, told in durations), tuple(kept["moments"]))

    def prove(self, sentence: str, names: Iterable[str] = ()) -> bool:
        """Whether a sentence tells a duration, and nothing but what was measured. `names` are those in it."""
        said = values(sentence)
        known = "\n".join(measured.name.casefold() for measured in self.durations)
        return (
            any(self._is_told(value, sentence) for value in said)
            and all(self.tell(value, sentence) for value in said)
            and all(name.casefold() in known for name in names)
        )

    def tell(self, value: Value, sentence: str) -> bool:
        """Whether a value of a sentence was given: a moment, or a duration of what the sentence names."""
        return self._is_told(value, sentence) or any(shown.holds(value) for shown in self._moments)

    def _is_told(self, value: Value, sentence: str) -> bool:
        if value.kind not in ("number", "clock"):
            return False
        # "2 h" is a length, or an hour of the day.
        numbers = {Decimal(number) for number in _NUMBER.findall(sentence[value.start : value.end])}
        form = sentence.casefold()
        named = [measured for measured in self.durations if _is_named(measured.name, form)]
        of_all = [measured for measured in self.durations if measured.name == TOTAL]
        return bool(numbers) and any(numbers <= measured.numbers() for measured in named or of_all)

    @cached_property
    def _moments(self) -> tuple[Shown, ...]:
        return tuple(Shown((), moment) for moment in self.moments)


def facts(retrieval: Retrieval, start_ms: int, end_ms: int, zone: tzinfo) -> MeasuredFacts:
    """What a model is given of a range beside its frames."""
    totals = retrieval.totals()
    apps = totals.by_app if totals else ()
    gaps = [at for gap in retrieval.coverage.gaps for at in (gap.start_ms, gap.end_ms)]
    moments = {start_ms, end_ms, *gaps, *(at for app in apps for at in (app.first_ms, app.last_ms))}
    return MeasuredFacts(
        tuple(
            MeasuredDuration(name, told)
            for _, durations in (longest(totals) if totals else ())
            for name, told in durations
        ),
        tuple(local_time(at, zone) for at in sorted(moments)),
    )


def longest(totals: Totals) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """(label, [(name, milliseconds)]) of what is put before a model: all apps, apps, windows, sites."""
    if totals.covered_ms >= 1000:
        yield "all apps", [(TOTAL, totals.covered_ms)]
    for label, by_name in (("app", totals.by_app), ("window", totals.by_window), ("site", totals.by_site)):
        told = [total for total in by_name if total.duration_ms >= 1000][:MAX_TOLD]
        if told:
            yield label, [(total.name or "unknown app", total.duration_ms) for total in told]


def _is_named(name: str, form: str) -> bool:
    """Whether a sentence names what was measured: by its name, or by a part of a window's title."""
    whole = name.casefold()
    parts = [part for part in map(str.strip, _TITLE_PARTS.split(whole)) if len(part) > 2]
    return name != TOTAL and any(part in form for part in (whole, *parts))
