"""What code has measured and the model was given: durations with what they belong to, and moments.

The model never works out a duration. A sentence may use those given here, each beside the
name it belongs to; any other stands in no quote and is flagged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, tzinfo
from typing import Any

from assistant.core.strings import duration, local_time
from assistant.core.texts import normalize
from assistant.language import lexical_overlap
from assistant.language.figures import days_told, figures, figures_at, in_digits, of_moment
from assistant.language.statements import names as names_in
from assistant.retrieval.retrieval import Retrieval
from store.core import times
from store.timeline.totals import Totals

MAX_TOLD = 8
"""Totals of each kind that a model is given."""

_TIMING = ("minutes ", "seconds ")
_ALL = re.compile(
    r"\b(?:total|in\s+all|altogether|overall|recorded|all\s+apps)\b|一共|总共|总计|共计|合计|总时长",
    re.IGNORECASE,
)
TOTAL = "total"
_TITLE_PARTS = re.compile(r"\s+[-\u2013\u2014|·:]\s+")
Span = tuple[int, int]
_OF_MEASURING = lexical_overlap.content_words(
    "total overall altogether recorded active duration about approximately roughly min mins hrs sec seconds "
    "respectively longest least and then remaining 一共 总共 合计 时长 分别 最长 最多 其次 总计 共计"
)


@dataclass(frozen=True, slots=True)
class MeasuredDuration:
    """A measured duration and the name it belongs to, as figures (`assistant.language.figures`)."""

    name: str
    figures: frozenset[str]


@dataclass(frozen=True, slots=True)
class MeasuredFacts:
    """`moments` are figures that any sentence may tell; `today` is the asker's day."""

    durations: tuple[MeasuredDuration, ...] = ()
    moments: frozenset[str] = frozenset()
    today: date | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is kept with a turn."""
        return {
            "durations": [[measured.name, sorted(measured.figures)] for measured in self.durations],
            "moments": sorted(self.moments),
            "today": self.today.isoformat() if self.today else None,
        }

    @classmethod
    def from_json(cls, kept: dict[str, Any] | None) -> MeasuredFacts:
        """What `to_json` made; nothing where nothing was kept."""
        if kept is None:
            return cls()
        return cls(
            tuple(MeasuredDuration(name, frozenset(numbers)) for name, numbers in kept["durations"]),
            frozenset(kept["moments"]),
            date.fromisoformat(kept["today"]) if kept["today"] else None,
        )

    def foreign(self, sentence: str, places: Iterable[str] = ()) -> set[str]:
        """The durations of a sentence that were not given for what it names beside them.

        `places` are the apps and windows of the frames it cites, for a sentence that names none.
        """
        return {
            figure
            for figure, spans in _timings(sentence).items()
            if not all(self._is_told(figure, span, sentence, places) for span in spans)
        }

    def prove(self, sentence: str) -> bool:
        """Whether a sentence says nothing but measured durations and moments."""
        said_figures = figures(sentence)
        timings = {figure for figure in said_figures if figure.startswith(_TIMING)}
        rest = said_figures - timings - self.moments - days_told(sentence, self.today)
        if not timings or rest or self.foreign(sentence):
            return False
        known = [said_figures.name for said_figures in self.durations]
        words = lexical_overlap.content_words(sentence) - _OF_MEASURING
        is_named = all(
            any(normalize(name) in normalize(known_name) for known_name in known)
            for name in names_in(sentence)
        )
        return is_named and not lexical_overlap.lacking(words, known)

    def _is_told(self, figure: str, place: Span, sentence: str, places: Iterable[str]) -> bool:
        """Whether one of the names nearest to a duration has it."""
        form = in_digits(sentence).casefold()
        near: dict[int, set[str]] = {}
        named = [
            measured
            for measured in self.durations
            if measured.name != TOTAL and any(_places(measured.name, form))
        ]
        for measured in named or self.durations:
            for at in _places(measured.name, form):
                distance = max(place[0] - at[1], at[0] - place[1], 0)
                near.setdefault(distance, set()).update(measured.figures)
        if near:
            return figure in near[min(near)]
        return any(figure in measured.figures for measured in self.durations if measured.name in places)


def facts(retrieval: Retrieval, start_ms: int, end_ms: int, now_ms: int, zone: tzinfo) -> MeasuredFacts:
    """What a model is given of a range beside its frames."""
    apps = retrieval.totals.by_app if retrieval.totals else ()
    gaps = [at for gap in retrieval.gaps for at in (gap.start_ms, gap.end_ms)]
    moments = [start_ms, end_ms, *gaps, *(at for app in apps for at in (app.first_ms, app.last_ms))]
    moment_figures = (of_moment(local_time(at, zone)) for at in moments)
    return MeasuredFacts(
        tuple(
            MeasuredDuration(name, frozenset(figures(told)))
            for _, durations in (lines(retrieval.totals) if retrieval.totals else ())
            for name, told in durations
        ),
        frozenset().union(*moment_figures),
        times.to_local(now_ms, zone).date(),
    )


def lines(totals: Totals) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """(label, [(name, duration)]) as they are put before a model: all apps, apps, windows, sites."""
    if totals.covered_ms >= 1000:
        yield "all apps", [(TOTAL, duration(totals.covered_ms))]
    for label, by_name in (("app", totals.by_app), ("window", totals.by_window), ("site", totals.by_site)):
        longest = [total for total in by_name if total.duration_ms >= 1000][:MAX_TOLD]
        durations = [(total.name or "unknown app", duration(total.duration_ms)) for total in longest]
        if durations:
            yield label, durations


def duration_figures(duration_ms: int) -> frozenset[str]:
    """The figures of a duration as it is told."""
    return frozenset(figures(duration(duration_ms)))


def _timings(sentence: str) -> dict[str, list[Span]]:
    """The durations of a sentence and where each stands in its form with digits."""
    spans: dict[str, list[Span]] = {}
    for place, word in figures_at(in_digits(sentence)):
        if word.startswith(_TIMING):
            spans.setdefault(word, []).append(place)
    return spans


def _places(name: str, form: str) -> Iterator[Span]:
    """Where a sentence names what was measured: by its name, or by a part of a window's title."""
    if name == TOTAL:
        yield from (found.span() for found in _ALL.finditer(form))
        return
    whole = name.casefold()
    parts = [part.strip() for part in _TITLE_PARTS.split(whole)]
    for wanted in (whole, *(part for part in parts if len(part) > 2 and part != whole)):
        yield from (found.span() for found in re.finditer(re.escape(wanted), form))
