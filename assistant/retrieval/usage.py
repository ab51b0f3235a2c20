"""What code measures of the line of activity: how long, how often, which apps, and the blocks of a day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assistant.retrieval.answer_lines import Synonyms, named, without_miscuts
from store.frames.activity_intervals import Segment
from store.frames.desktop_entries import called
from store.privacy.defaults import is_browser
from store.search.filters import Filters
from store.timeline.totals import site

BREAK_MS = 20 * 60_000
"""So long without use, or with other windows, parts two visits, and two blocks of a day."""
SHORT_BREAK_MS = 60_000
"""What lies before the last visit is asked of the last time that something was opened."""
MIN_NAMED = 0.5
"""A window is meant when it names this part of the words of a question."""
SAME_NAME = 0.6
"""Cosine of a word and a name that stands for it: two browsers have 0.56, "video" and a site of them 0.64."""
BROWSER = (
    "browser webbrowser navigateur navegador webbläsare przeglądarka prohlížeč böngésző tarayıcı браузер"
    " 浏览器 ブラウザ 브라우저"
)
"""What a known browser, and whatever shows an address, is called by people beside its app's name."""


@dataclass(frozen=True, slots=True)
class Window:
    """An app and one of its windows, and how long it was in use."""

    app_name: str
    window_name: str
    duration_ms: int


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of use without a long break: its windows, the one used longest first; or a moment."""

    start_ms: int
    end_ms: int
    windows: tuple[Window, ...]
    is_imported: bool = False

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


def compared(apps: Iterable[str], words: Sequence[str]) -> set[str]:
    """The apps that a question names, where it names several and nothing else."""
    named_by = [{app for app in apps if named([word], app)} for word in words]
    every = set[str]().union(*named_by)
    return every if all(named_by) and len(every) > 1 and every not in named_by else set()


def pages(activity: Sequence[Segment]) -> Sequence[Segment]:
    """The segments in browsers; all where there are none."""
    return [segment for segment in activity if _place(segment)[-1]] or activity


def beside(activity: Sequence[Segment], words: Sequence[str], *, is_before: bool) -> tuple[int, int] | None:
    """A stretch right before, or after, the last visit to what is named."""
    visits = list(blocks(meant(activity, words, {}), SHORT_BREAK_MS))
    if not visits:
        return None
    start_ms, end_ms = visits[-1].start_ms, visits[-1].end_ms
    return (start_ms - BREAK_MS, start_ms) if is_before else (end_ms, end_ms + BREAK_MS)


def permitted(segment: Segment, filters: Filters) -> bool:
    """Whether a segment of the right time and host is one that filters let through; the line of activity has
    no frames of monitors without the focus.
    """
    wanted = (
        (filters.app_name, segment.app_name),
        (filters.window_name, segment.window_name),
        (filters.browser_url, segment.browser_url),
    )
    is_left_out = any(start <= segment.start_ms < end for start, end in filters.left_out)
    has_names = all((part or "").casefold() in (name or "").casefold() for part, name in wanted)
    return has_names and not is_left_out and filters.focused is not False


def of_app(activity: Sequence[Segment], words: Sequence[str], language: str) -> list[Segment]:
    """Those in the apps that have all the words in a name, or in that of their kind: "terminal" is XTerm."""
    apps = {a: (a, BROWSER if is_browser(a) else "") for a in {each.app_name or "" for each in activity}}
    found = {a: [named(words, name) for name in (*own, *called(a, language))] for a, own in apps.items()}
    meant = {a for a, by in found.items() if any(n and n.keys() >= {*without_miscuts(words, n)} for n in by)}
    return [each for each in activity if (each.app_name or "") in meant]


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


def longest(activity: Iterable[Segment], *, is_pages: bool = False) -> list[tuple[str, int]]:
    """(app or page, milliseconds), the one used longest first."""
    durations: dict[str, int] = defaultdict(int)
    for segment in activity:
        page = segment.window_name or segment.browser_url
        durations[(page if is_pages else segment.app_name) or ""] += segment.duration_ms
    return sorted(durations.items(), key=lambda named: -named[1])


def _block(segments: Sequence[Segment]) -> Block:
    durations: dict[tuple[str, str], int] = defaultdict(int)
    for segment in segments:
        durations[segment.app_name or "", segment.window_name or ""] += segment.duration_ms
    windows = [Window(*names, duration) for names, duration in durations.items()]
    longest_first = sorted(windows, key=lambda window: -window.duration_ms)
    return Block(segments[0].start_ms, segments[-1].end_ms, tuple(longest_first))


def _place(segment: Segment) -> tuple[str, str, str, str]:
    address = segment.browser_url
    called = BROWSER if address or is_browser(segment.app_name) else ""
    return segment.app_name or "", segment.window_name or "", site(address) or "", called
