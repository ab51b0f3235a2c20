"""An answer as it is drawn: its Markdown with its marks, cut where the quotes of a sentence stand under it.

Code decides few things, and only these are marked: words that stand on a cited frame, words that stand on
none of them, a sentence without a source, a figure that code worked out, words of another source. The reader
compares the sentence with the quote under it. What a model says it saw in a picture, or doubts, is drawn as
that model's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode

from markupsafe import Markup

from assistant.core.records import Claim, TurnResult
from assistant.core.strings import listed, sentences, text
from assistant.core.texts import Language, answer_language
from webapp.core import markdown
from webapp.core.markdown import Mark, Marks

_TAGS = {
    "not_on_frame": ("state warn", "quote_not_on_frame"),
    "no_source": ("hush", "no_source"),
    "seen": ("state warn", "seen"),
    "measured": ("state info", "measured"),
    "from_source": ("state info", "from_source"),
    "not_from_screen": ("state plain", "not_from_screen"),
}
_OF_WORDS = {"not_on_frame": "words_not_on_frame", "no_source": "words_without_source"}
_HEADING = re.compile(r"\*\*[^*]*\*\*(?: *\[\d+\])*")
MAX_NAMED = 3
MAX_NAMED_CHARS = 40


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses by the number of a source: of its frame, and of its quote under the answer, where it has one.
    Numbers in `withdrawn` were marked as wrong: they are drawn no more. `measured` says how durations were
    worked out, '' where that cannot be told.
    """

    frames: Mapping[int, str]
    quotes: Mapping[int, str] = field(default_factory=dict)
    withdrawn: frozenset[int] = frozenset()
    measured: str = ""

    @property
    def has_pages(self) -> bool:
        """Whether it is drawn where the pages of the home can be opened."""
        return bool(self.measured)


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """A stretch of the answer's HTML, and the numbers of the sources whose quotes stand under it."""

    html: Markup
    numbers: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tag:
    """What is said behind a sentence: ``state`` with a tone, or ``hush`` for what is only heard."""

    css_class: str
    text: str


def parts(turn: TurnResult, links: Links, numbers: Iterable[int] = ()) -> tuple[AnswerPart, ...]:
    """The answer; behind the sentence that each of `numbers` proves the HTML is cut for its quote, or behind
    those that go on citing the same ones on its line: a list of quotes of one frame is not torn apart.

    Sources of no sentence stand at the end.
    """
    left = set(numbers)
    cuts: list[tuple[int, tuple[int, ...]]] = []
    claims = sorted(turn.claims, key=lambda claim: claim.end)
    under = _under(turn, claims)
    for claim in claims:
        first = tuple(n for n in dict.fromkeys(claim.citations) if n in left and under.get(n) is claim)
        if first:
            left.difference_update(first)
            cuts.append((claim.end, first))
        elif cuts and claim.citations and set(claim.citations) <= set(cuts[-1][1]):
            at, shown = cuts[-1]
            if "\n" not in turn.answer_md[at : claim.end]:
                cuts[-1] = claim.end, shown
    pieces = markdown.pieces(turn.answer_md, _marks(turn, links, [at for at, _ in cuts]))
    drawn = [AnswerPart(html, () if cut is None else cuts[cut][1]) for html, cut in pieces]
    return tuple([*drawn, AnswerPart(Markup(""), tuple(sorted(left)))] if left else drawn)


def _under(turn: TurnResult, claims: list[Claim]) -> dict[int, Claim]:
    """By the number of a source the sentence to compare with it: the first with words that stand on it, else
    the first that cites it. A heading says nothing to compare.
    """
    told = [each for each in claims[::-1] if not _HEADING.fullmatch(turn.answer_md, each.start, each.end)]
    cited = {n: each for each in told for n in each.citations}
    return cited | {p.n: each for each in told for p in each.on_frame if p.n in each.citations}


def whole(turn: TurnResult, links: Links) -> Markup:
    """The answer in one piece, without its quotes."""
    return markdown.render(turn.answer_md, _marks(turn, links, []))


def tags(turn: TurnResult, withdrawn: frozenset[int] = frozenset()) -> Iterator[tuple[Claim, Tag]]:
    """The sentences of the answer that have something said behind them, in the language of the question."""
    language = answer_language(turn.question)
    for claim in turn.claims:
        tag = _tag(turn, claim, withdrawn, language)
        if tag:
            yield claim, tag
        for reading in turn.second_readings:
            if (claim.start, claim.end) in reading.doubted:
                yield claim, Tag("state warn", text("doubted", language, "marks", model=reading.model))


def words_on_frames(turn: TurnResult) -> dict[int, tuple[str, ...]]:
    """By the number of a source, the words of the answer that stand on it."""
    words: dict[int, list[str]] = {}
    for claim in turn.claims:
        for place in claim.on_frame:
            words.setdefault(place.n, []).append(turn.answer_md[place.start : place.end])
    return {n: tuple(dict.fromkeys(said)) for n, said in words.items()}


def source_names(sources: Iterable[str], language: Language) -> str:
    """What a turn rests on beside frames, in words: ``your calendar, the web``."""
    known = sentences("sources")
    return listed((known[name][language == "zh"] if name in known else name for name in sources), language)


def _marks(turn: TurnResult, links: Links, breaks: list[int]) -> Marks:
    marks = [mark for claim in turn.claims for mark in _inside(turn, claim, links)]
    for claim, tag in tags(turn, links.withdrawn):
        is_measured = tag.css_class == "state info" and claim.state == "measured"
        how = links.measured if is_measured else claim.address if links.has_pages else ""
        marks.append(Mark(claim.start, claim.end, tag.css_class, how, tag.text))
    drawn = {n: address for n, address in links.frames.items() if n not in links.withdrawn}
    return Marks(marks, drawn, links.quotes, links.withdrawn, breaks)


def _inside(turn: TurnResult, claim: Claim, links: Links) -> Iterator[Mark]:
    """The marks inside a sentence, none of which overlap."""
    if claim.state == "no_source" and not claim.missing:
        yield Mark(claim.start, claim.end, "no-source")
        return
    places = [(place.start, place.end, place.n) for place in claim.on_frame if place.n in links.frames]
    missing = [(*span, 0) for words in claim.missing if (span := _place(turn.answer_md, claim, words))]
    for start, end, n in _joined(turn.answer_md, sorted([*places, *missing])):
        if n and n not in links.withdrawn and turn.model != "extractive":  # which is quotes, all of it
            words = turn.answer_md[start:end]
            yield Mark(start, end, "on-frame", _words_address(links.frames[n], words))
        elif not n:
            yield Mark(start, end, "off-frame")


def _joined(text: str, places: Iterable[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Places (start, end, number) without those that overlap; neighbours of one source are one place."""
    joined: list[tuple[int, int, int]] = []
    for start, end, n in places:
        last_start, last_end, last_n = joined[-1] if joined else (0, 0, -1)
        if n == last_n and start > last_end and text[last_end:start].isspace():
            joined[-1] = (last_start, end, n)
        elif start >= last_end:
            joined.append((start, end, n))
    return joined


def _words_address(address: str, words: str) -> str:
    """The frame with these very words boxed, where they stand on it in these letters."""
    if not address.startswith("/frames/"):
        return address
    query = urlencode({"q": '"{}"'.format(words.replace('"', " "))})
    return f"{address}{'&' if '?' in address else '?'}{query}"


def _place(answer: str, claim: Claim, words: str) -> tuple[int, int] | None:
    """Where the words stand in the sentence, as whole words or figures."""
    pattern = re.compile(rf"(?<![0-9A-Za-z]){re.escape(words)}(?![0-9A-Za-z])")
    found = pattern.search(answer, claim.start, claim.end) if words else None
    return found.span() if found else None


def _tag(turn: TurnResult, claim: Claim, withdrawn: frozenset[int], language: Language) -> Tag | None:
    if claim.citations and withdrawn.issuperset(claim.citations):
        return Tag("state warn", text("disputed", language, "marks"))
    if claim.missing and claim.state in _OF_WORDS:
        said = text(_OF_WORDS[claim.state], language, "marks", words=_named(claim.missing, language))
        return Tag("state warn", said)
    if claim.state not in _TAGS:
        return None
    css_class, name = _TAGS[claim.state]
    values = {
        "sources": source_names((claim.source,) if claim.source else turn.sources, language),
        "model": turn.model,
        "numbers": listed(map(str, claim.seen), language),
        "words": _named(claim.missing, language),
    }
    return Tag(css_class, text(name, language, "marks", **values))


def _named(words: tuple[str, ...], language: Language) -> str:
    """The first of them; the screen or the model may have made them long."""
    more = f" +{len(words) - MAX_NAMED}" if len(words) > MAX_NAMED else ""
    return listed((each[:MAX_NAMED_CHARS] for each in words[:MAX_NAMED]), language) + more
