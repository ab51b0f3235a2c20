"""What code measures of the line of activity: how long, how often, which apps, and the blocks of a day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assistant.retrieval.answer_lines import Synonyms, named, without_miscuts
from store.frames.activity_intervals import Segment
from store.timeline.totals import site

BREAK_MS = 20 * 60_000
"""So long without use, or with other windows, parts two visits, and two blocks of a day."""
MIN_NAMED = 0.5
"""A window is meant when it names this part of the words of a question."""
SAME_NAME = 0.6
"""Cosine of a word and a name that stands for it: two browsers have 0.56, "video" and a site of them 0.64."""
BROWSER = (
    "browser webbrowser navigateur navegador webbläsare przeglądarka prohlížeč böngésző tarayıcı браузер"
    " 浏览器 ブラウザ 브라우저"
)
"""What a window with an address is in, beside its app's name, as people call it."""


@dataclass(frozen=True, slots=True)
class Window:
    """An app and one of its windows, and how long it was in use."""

    app_name: str
    window_name: str
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of use without a long break: its windows, the one used longest first."""

    start_ms: int
    end_ms: int
    windows: tuple[Window, ...]

    @property
    def duration_ms(self) -> int:
        return sum(window.duration_ms for window in self.windows)


def meant(
    activity: Sequence[Segment], words: Sequence[str], synonyms: Synonyms, least: float = MIN_NAMED
) -> list[Segment]:
    """The segments in the apps, windows and sites that a question names, or says in other words; none when it
    names something else: they name `least` of its words. All of them for a question that names nothing.
    """
    if not words:
        return list(activity)
    places = {_place(segment) for segment in activity}
    surely = {
        word: {term: near for term, near in terms.items() if near >= SAME_NAME}
        for word, terms in synonyms.items()
    }
    in_place = {place: named(words, " ".join(place), surely) for place in places}
    meant_words = without_miscuts(words, {word for found in in_place.values() for word in found})
    shares = {place: sum(found.values()) / len(meant_words) for place, found in in_place.items()}
    best = max(shares.values(), default=0.0)
    return [s for s in activity if best >= least and shares[_place(s)] >= best]


def last_of(activity: Sequence[Segment], words: Sequence[str]) -> list[Segment]:
    """Those of the last visit to the apps, windows and sites that a question names, where it names nothing
    else.
    """
    found = meant(activity, words, {}, least=1.0) if words else []
    begin_ms = max((visit.start_ms for visit in blocks(found)), default=0)
    return [segment for segment in found if segment.start_ms >= begin_ms]


def of_app(activity: Sequence[Segment], words: Sequence[str]) -> list[Segment]:
    """The segments in the app that a question names, where it names nothing else."""
    return [s for s in activity if words and all(named([word], s.app_name or "") for word in words)]


def blocks(activity: Iterable[Segment], break_ms: int = BREAK_MS) -> Iterator[Block]:
    """Segments that follow each other with no more than a break between them."""
    together: list[Segment] = []
    for segment in activity:
        if together and segment.start_ms - together[-1].end_ms > break_ms:
            yield _block(together)
            together = []
        together.append(segment)
    if together:
        yield _block(together)


def titles(activity: Iterable[Segment]) -> set[str]:
    """What is written on the windows."""
    return {" ".join(_place(segment)[:-1]) for segment in activity}


def by_app(activity: Iterable[Segment]) -> list[tuple[str, int]]:
    """(app, milliseconds), the one used longest first."""
    durations: dict[str, int] = defaultdict(int)
    for segment in activity:
        durations[segment.app_name or ""] += segment.duration_ms
    return sorted(durations.items(), key=lambda app: -app[1])


def _block(segments: Sequence[Segment]) -> Block:
    durations: dict[tuple[str, str], int] = defaultdict(int)
    for segment in segments:
        durations[segment.app_name or "", segment.window_name or ""] += segment.duration_ms
    windows = [Window(*names, duration) for names, duration in durations.items()]
    longest_first = sorted(windows, key=lambda window: -window.duration_ms)
    return Block(segments[0].start_ms, segments[-1].end_ms, tuple(longest_first))


def _place(segment: Segment) -> tuple[str, str, str, str]:
    address = segment.browser_url
    return segment.app_name or "", segment.window_name or "", site(address) or "", BROWSER if address else ""
