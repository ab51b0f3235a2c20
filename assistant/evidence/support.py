"""What a sentence says and its sources do not: particulars, what they say otherwise, what they leave open.

`missing` are decided: a figure, date, name, address or quotation that stands in no source, and what the
sources say the other way round. `untold` are open: that something was "approved", or why, may be said in
words that no list knows, so that a sentence with nothing else against it was not checked rather than
not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from assistant.core.texts import normalize
from assistant.evidence import quotes
from assistant.evidence.citations import JOINT
from assistant.evidence.outcomes import (
    MILD,
    contrasts,
    denies,
    direction,
    exceptions,
    includes_otherwise,
    is_denied,
    is_shown_by_figures,
    outcomes,
)
from assistant.evidence.reasons import unproven_reason
from assistant.evidence.relations import contradictions, counted
from assistant.evidence.speakers import wrong_speakers
from assistant.language import glossary, specifics
from assistant.language.figures import days_told, figures, is_among, parts_of_clocks, parts_told, shown, units
from assistant.language.lexical_overlap import stem
from assistant.language.numerals import in_digits
from assistant.language.telling_words import FORMS
from assistant.retrieval.measured_facts import MeasuredFacts

# What a sentence counts and then lists: "two risks are mentioned: …".
_OWN_COUNT = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|\d)(?=\s+[a-z]+(?:\s+[a-z]+){0,5}\s*:)", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\b(?P<number>two|three|four|five|six|seven|eight|nine|ten)\s+(?P<what>[a-z]+(?:\s[a-z]+)?)",
    re.IGNORECASE,
)
_WAYS = ("rose", "fell")
_OPPOSITE = {"passed": "failed", "failed": "passed"}


@dataclass(frozen=True, slots=True)
class Sources:
    """What may prove a sentence: quotes (or whole texts), where the frames were, and when.

    `around` are the whole texts and `beside` the lines next to the quotes, neither of which prove a
    figure or a name.
    """

    said: tuple[str, ...]
    places: tuple[str, ...]
    moments: frozenset[str]
    around: tuple[str, ...]
    beside: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.said, *self.places)


def missing(said: str, sources: Sources, facts: MeasuredFacts) -> Iterator[str]:
    """What a sentence says in particular and its sources do not, figures first, and what they say
    otherwise.
    """
    for quotation in specifics.quotations(said):
        if not _stands(quotation, sources.all):
            yield quotation
    haystack = normalize("\n".join(sources.all))
    for address in specifics.addresses(specifics.without_quotations(said)):
        if normalize(address) not in haystack:
            yield address
    bare = _bare(said)
    yield from _missing_figures(bare, sources, facts)
    known = glossary.names((*sources.all, *sources.around))
    yield from sorted(glossary.names([bare]) - known)
    for name in specifics.names(bare):
        if (
            normalize(name) not in known
            and not specifics.stands_in(name, _whole(sources))
            and not _is_place(name, bare, sources.places)
        ):
            yield name
    yield from _otherwise(bare, sources)


def undecided(said: str, sources: Sources) -> Iterator[str]:
    """What a sentence says was decided or came of something, where no source says so in a known word."""
    yield from (word for outcome, word in _untold(said, sources) if outcome not in MILD)


def untold(said: str, sources: Sources) -> list[str]:
    """The same of what may be said in many other ways: that something was finished, lost or mended."""
    return [word for outcome, word in _untold(said, sources) if outcome in MILD]


def _untold(said: str, sources: Sources) -> Iterator[tuple[str, str]]:
    bare = _bare(said)
    digits, around = in_digits(bare), "\n".join(sources.around)
    for outcome, word in outcomes(digits).items():
        is_shown = (outcome in _WAYS and direction(bare)) or is_shown_by_figures(outcome, bare, around)
        if not is_shown and _told(outcome, digits, sources) is None:
            yield outcome, word


def unexplained(said: str, sources: Sources) -> str | None:
    """Why a sentence says that something was so, where no source says it."""
    return unproven_reason(_bare(said), sources.all, "\n".join(sources.around))


def _otherwise(bare: str, sources: Sources) -> Iterator[str]:
    """What the sources say the other way round, or of another."""
    around = "\n".join(sources.around)
    for outcome, word in outcomes(in_digits(bare)).items():
        way = direction(bare) if outcome in _WAYS else None
        if way:
            if way != outcome:
                yield word
        elif is_shown_by_figures(outcome, bare, around):
            continue
        elif _told(outcome, in_digits(bare), sources) is False:
            yield word
    if sources.said:
        yield from exceptions(bare, (_whole(sources), *sources.beside))
        quoted, beside = (in_digits("\n".join(texts)) for texts in (sources.said, sources.beside))
        yield from contrasts(in_digits(bare), quoted, beside)
        yield from includes_otherwise(bare, around)
        given = [part for text in sources.said for part in text.split(JOINT)]
        yield from contradictions(bare, given, around)
        yield from wrong_speakers(bare, given, around, sources.places)


def _told(outcome: str, said: str, sources: Sources) -> bool | None:
    """Whether the first text that names an outcome has it as the sentence does: so, or not so. None when
    none names it.
    """
    texts = (_whole(sources), *sources.beside)
    if outcome in MILD:
        texts = (*texts, *sources.around)
    telling = next((text for text in texts if outcome in outcomes(text)), None)
    is_denied_here = denies(said, outcome)
    if telling is not None and is_denied_here == denies(telling, outcome):
        return True
    # What did not pass has failed.
    opposite = _OPPOSITE.get(outcome)
    if opposite and is_denied_here and any(opposite in outcomes(text) for text in texts):
        return True
    return None if telling is None else False


def _bare(said: str) -> str:
    return specifics.without_addresses(specifics.without_quotations(said))


def _whole(sources: Sources) -> str:
    return "\n".join(sources.all).replace("_", " ")


def _missing_figures(said: str, sources: Sources, facts: MeasuredFacts) -> Iterator[str]:
    told = figures(_OWN_COUNT.sub(" ", said))
    proven = set().union(*map(shown, sources.all))
    foreign = facts.foreign(said, sources.places)
    # A clock time that a quote tells has its day from the quote, too, not from the frame.
    is_of_quote = any(figure.startswith("clock ") for figure in told - sources.moments - facts.moments)
    if is_denied("\n".join(sources.said)):
        proven |= {"number 0"}
    told -= _own_counts(said, sources)
    for figure in sorted(each for each in told if not is_among(each, proven)):
        if figure.startswith(("minutes ", "seconds ")):
            is_known = figure not in foreign
        elif is_of_quote and figure.startswith(("date ", "weekday ", "ordinal ")):
            is_known = False
        else:
            is_known = is_among(figure, sources.moments) or is_among(figure, facts.moments)
        if not is_known:
            yield figure.removeprefix("number ")
    days = days_told(said, facts.today) - set().union(
        *(days_told(text, facts.today) for text in sources.said)
    )
    parts = parts_told(said) - set().union(*map(parts_told, sources.said)) - parts_of_clocks(proven)
    yield from (figure.removeprefix("part ") for figure in sorted((days | parts) - sources.moments))
    shown_units = set().union(*map(units, sources.all))
    for number, unit in sorted(units(said)):
        others = {other for figure, other in shown_units if figure == number}
        if unit and others and not others & {"", unit}:
            yield f"{number} {unit}"


def _own_counts(said: str, sources: Sources) -> set[str]:
    """The small numbers in words with which a model counts itself: "two lines", where no frame says how many
    lines there are.
    """
    found: set[str] = set()
    for match in _COUNTED.finditer(said):
        there = counted("\n".join((*sources.all, *sources.around)))
        stems = [stem(word) for word in match["what"].lower().split()]
        if any(word in FORMS for word in stems) and not any(there.get(word) for word in stems):
            found |= figures(match["number"])
    return found


def _stands(quotation: str, texts: Iterable[str]) -> bool:
    form = normalize(quotation)
    return any(form in normalize(text) or bool(quotes.find(text, quotation)) for text in texts)


def _is_place(name: str, said: str, places: Collection[str]) -> bool:
    """Whether a name is part of what an app is called around its stored name: "VS" in "VS Code"."""
    around = (f"{name} {place}" for place in places)
    return any(normalize(each) in normalize(said) for each in around)
