"""What a sentence says and its sources do not: particulars, what they say otherwise, what they leave open.

`missing` are decided: a figure, date, name, address or quotation that stands in no source, and what the
sources say the other way round. `untold` are open: that something was "approved", or why, may be said in
words that no list knows, so that a sentence with nothing else against it was not checked rather than
not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from assistant.core.records import ClaimState
from assistant.core.texts import HAN_RUN, normalize
from assistant.evidence import quotes
from assistant.evidence.citations import JOINT
from assistant.evidence.outcomes import (
    MILD,
    OUTCOMES,
    contrasts,
    denies,
    includes_otherwise,
    is_denied,
    outcomes,
    unproven_reason,
)
from assistant.evidence.relations import contradictions, counted, han_subjects, wrong_speakers
from assistant.language import lexical_overlap, statements
from assistant.language.figures import (
    days_told,
    figures,
    in_digits,
    is_among,
    parts_of_clocks,
    parts_told,
    shown,
    units,
)
from assistant.language.lexical_overlap import FORMS, TELLING, TELLING_HAN, stem
from assistant.language.statements import names, quotations, stands_in, without_addresses, without_quotations
from assistant.retrieval.measured_facts import MeasuredFacts

# What a sentence counts and then lists: "two risks are mentioned: …".
_OWN_COUNT = re.compile(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|\d)(?=\s+[a-z]+(?:\s+[a-z]+){0,5}\s*:)", re.IGNORECASE
)
_COUNTED = re.compile(
    r"\b(?P<number>two|three|four|five|six|seven|eight|nine|ten)\s+(?P<what>[a-z]+(?:\s[a-z]+)?)",
    re.IGNORECASE,
)
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
    for quotation in statements.quotations(said):
        if not _stands(quotation, sources.all):
            yield quotation
    haystack = normalize("\n".join(sources.all))
    for address in statements.addresses(statements.without_quotations(said)):
        if normalize(address) not in haystack:
            yield address
    bare = _bare(said)
    yield from _missing_figures(bare, sources, facts)
    known = lexical_overlap.names((*sources.all, *sources.around))
    yield from sorted(lexical_overlap.names([bare]) - known)
    for name in statements.names(bare):
        if (
            normalize(name) not in known
            and not statements.stands_in(name, _whole(sources))
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
    digits = in_digits(bare)
    for outcome, word in outcomes(digits).items():
        if _told(outcome, digits, sources) is None:
            yield outcome, word


def unexplained(said: str, sources: Sources) -> str | None:
    """Why a sentence says that something was so, where no source says it."""
    return unproven_reason(_bare(said), sources.all, "\n".join(sources.around))


def _otherwise(bare: str, sources: Sources) -> Iterator[str]:
    """What the sources say the other way round, or of another."""
    around = "\n".join(sources.around)
    for outcome, word in outcomes(in_digits(bare)).items():
        if _told(outcome, in_digits(bare), sources) is False:
            yield word
    if sources.said:
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
    return statements.without_addresses(statements.without_quotations(said))


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


# ---- accounted
# Whether a frame shows every word of a sentence that says something.
#
# A figure that agrees proves little when what it counts stands nowhere: "the mayor approved it on 3
# September". So each word of a sentence has to stand in the cited frame in some form of it, be a figure or a
# name that is checked by itself, or belong to the telling (`assistant.language.lexical_overlap`). What is
# left is
# unaccounted for: one such word in a sentence otherwise shown may be another word for the same, unless it
# says who did it.

SHOWN_PER_UNACCOUNTED = 1.5
"""So many words and figures a frame must show for each word that it does not: without one a sentence is
``found``, with more it may be a paraphrase.
"""

SHOWN_PER_HAN = 3
SHOWN_UNTIED = 3

UNTOLD = 3
"""What a sentence says became of something counts like so many words, if no frame says it in a known word."""


_ROLES = (
    "manager|engineer|lead|leader|director|officer|chief|head|operator|technician|designer|developer"
    "|tester|analyst|architect|scientist|researcher|department|division|office|committee|council|agency|company"
    "|board"
)
_GROUPS = ("department", "division", "office", "committee", "council", "agency", "company", "board")
_ROLE = re.compile(rf"\b(?P<of>[a-z]{{3,}})\s+(?P<who>{_ROLES})(?:['’]s|(?<!lead)(?<!head)s)?\b")
_DOERS = frozenset(lexical_overlap.stem(word) for word in lexical_overlap.words("doers"))


def unaccounted(said: str, texts: Iterable[str]) -> set[str]:
    """The words of a sentence that stand in none of the texts and are not of the telling: Latin ones by
    stem, Han ones as the signs that no text has beside each other.
    """
    whole = "\n".join(texts)
    bare = _accounted_bare(said)
    for outcome in outcomes(bare).keys() & outcomes(whole).keys():
        bare = OUTCOMES[outcome].sub(" ", bare)
    words = {word for word in _latin(bare) if word not in TELLING}
    return lexical_overlap.lacking(words, [whole]) | set(_unlike_runs(bare, whole))


def other_doers(said: str, texts: Iterable[str]) -> Iterator[str]:
    """Who a sentence says did something, where no text names one: "the mayor", "the workshop manager"."""
    whole = "\n".join(texts)
    form, there = normalize(_accounted_bare(said)), normalize(whole)
    for found in _ROLE.finditer(form):
        of, who = lexical_overlap.content_words(found["of"]) - TELLING, found["who"]
        is_named = not of or re.search(rf"\b{found['of']}\W{{0,3}}{who}", there)
        if not is_named and (who not in _GROUPS or lexical_overlap.lacking(of, [whole])):
            yield found[0]
    yield from lexical_overlap.lacking(_latin(form) & _DOERS, [whole])
    yield from (who for who in han_subjects(form) if any(True for _ in _unlike_runs(who, whole)))


def is_foreign(said: str, sources: Sources) -> bool:
    """Whether a sentence is in another language than its quotes and the frames in which they stand."""
    return lexical_overlap.is_foreign(said, sources.said) and lexical_overlap.is_foreign(said, sources.around)


def in_own_language(said: str, sources: Sources, is_tied: bool = True, untold: int = 0) -> ClaimState:
    """``found`` when the frames show every word of a sentence, ``paraphrase`` when they show so many that the
    rest may be other words for the same.
    """
    texts = (*sources.all, *sources.around)
    left = unaccounted(said, texts)
    if not left and not untold:
        return "found"
    told = outcomes(said).keys() & outcomes("\n".join(texts)).keys()
    seen = _shown(in_digits(said), texts) + len(_shared_figures(said, texts)) + len(told)
    # Nothing bends a Chinese word, so that one which stands nowhere more often says something else.
    wanted = (
        SHOWN_UNTIED
        if not is_tied
        else SHOWN_PER_HAN
        if lexical_overlap.has_han("".join(left))
        else SHOWN_PER_UNACCOUNTED
    )
    return "paraphrase" if seen >= wanted * (len(left) + UNTOLD * untold) else "not_checked"


def in_other_language(said: str, sources: Sources, untold: int = 0) -> ClaimState:
    """The same of a sentence in another language than its frames, by the words that are known in both."""
    texts = (*sources.all, *sources.around)
    alike, unlike = lexical_overlap.same_words(_accounted_bare(said), texts)
    tied = (
        len(alike)
        + len(quotations(said))
        + len(_shared_figures(said, texts))
        + len(_shared_names(said, texts))
    )
    # A word that the glossary lacks may well stand there.
    left = len(unlike) + len(_strange(said)) / 2 + UNTOLD * untold
    if tied < max(1, left):
        return "not_checked"
    is_shown = bool(quotations(said) or _shared_figures(said, sources.said))
    return "found" if is_shown and not (unlike or untold) else "paraphrase"


def _strange(said: str) -> list[str]:
    """What a Chinese sentence says in words that are known in no other language."""
    rest = lexical_overlap.without_terms(TELLING_HAN.sub(" ", normalize(_accounted_bare(said))))
    return [run for run in HAN_RUN.findall(rest) if len(run) > 1]


def _shown(bare: str, texts: Sequence[str]) -> int:
    """How many words that say something the texts show; two Han signs are one."""
    words = _latin(bare)
    runs = HAN_RUN.findall(TELLING_HAN.sub(" ", normalize(bare)))
    signs = sum(len(run) for run in runs) - sum(map(len, _unlike_runs(bare, "\n".join(texts))))
    return len(words) - len(lexical_overlap.lacking(words, texts)) + signs // 2


def _shared_figures(said: str, texts: Sequence[str]) -> set[str]:
    proven = set().union(*map(shown, texts))
    return {figure for figure in figures(_accounted_bare(said)) if figure in proven}


def _shared_names(said: str, texts: Sequence[str]) -> list[str]:
    whole = "\n".join(texts)
    return [name for name in names(_accounted_bare(said)) if stands_in(name, whole)]


def _latin(text: str) -> set[str]:
    return {word for word in lexical_overlap.content_words(text) if word.isascii()}


def _accounted_bare(said: str) -> str:
    """A sentence without what is looked for by its very words."""
    return in_digits(without_addresses(without_quotations(said)))


def _unlike_runs(said: str, whole: str) -> Iterator[str]:
    """Two or more Han signs in a row of which no text has one beside its neighbour."""
    there = "".join(HAN_RUN.findall(normalize(whole)))
    form = normalize(said)
    told = TELLING_HAN.sub(lambda found: " " * len(found[0]), form)
    for run in HAN_RUN.finditer(form):
        at = range(*run.span())
        pairs = {n for n in at[:-1] if form[n : n + 2] in there}
        left = "".join(" " if n in pairs or n - 1 in pairs else told[n] for n in at)
        yield from (part for part in left.split() if len(part) > 1)
