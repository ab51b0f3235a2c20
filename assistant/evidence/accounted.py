"""Whether a frame shows every word of a sentence that says something.

A figure that agrees proves little when what it counts stands nowhere: "the mayor approved it on 3
September". So each word of a sentence has to stand in the cited frame in some form of it, be a figure or a
name that is checked by itself, or belong to the telling (`assistant.language.telling_words`). What is left is
unaccounted for: one such word in a sentence otherwise shown may be another word for the same, unless it says
who did it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from assistant.core.records import ClaimState
from assistant.core.texts import normalize
from assistant.evidence.outcomes import OUTCOMES, outcomes
from assistant.evidence.speakers import han_subjects
from assistant.evidence.support import Sources
from assistant.language import glossary, lexical_overlap
from assistant.language.figures import figures, shown
from assistant.language.numerals import in_digits
from assistant.language.specifics import names, quotations, stands_in, without_addresses, without_quotations
from assistant.language.telling_words import TELLING, TELLING_HAN

SHOWN_PER_UNACCOUNTED = 1.5
"""So many words and figures a frame must show for each word that it does not: without one a sentence is
``found``, with more it may be a paraphrase.
"""

SHOWN_PER_HAN = 3
SHOWN_UNTIED = 3

UNTOLD = 3
"""What a sentence says became of something counts like so many words, if no frame says it in a known word."""


_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_ROLES = (
    "manager|engineer|lead|leader|director|officer|chief|head|operator|technician|designer|developer"
    "|tester|analyst|architect|scientist|researcher|department|division|office|committee|council|agency|company"
    "|board"
)
_GROUPS = ("department", "division", "office", "committee", "council", "agency", "company", "board")
_ROLE = re.compile(rf"\b(?P<of>[a-z]{{3,}})\s+(?P<who>{_ROLES})(?:['’]s|(?<!lead)(?<!head)s)?\b")
_DOERS_TEXT = """
accountant administrator agency agent ambassador architect auditor authority bank board boss buyer
captain carpenter ceo cfo chairman chairwoman chancellor client coach commissioner committee company
consultant contractor council councillor court cto customer dean department deputy designer developer
director doctor driver editor electrician employee employer firm fisherman founder government governor
inspector insurer intern investor journalist judge landlord lawyer lecturer librarian maintainer
manufacturer mayor mechanic minister ministry neighbour neighbor nurse office officer operator owner
parent parliament partner passenger patient physician pilot plumber police policeman president principal
professor programmer publisher receptionist researcher sailor school scientist secretary seller
shareholder skipper student subcontractor subsidiary surgeon teacher technician tenant tester trainee
treasurer university
"""
_DOERS = frozenset(lexical_overlap.stem(word) for word in _DOERS_TEXT.split())


def unaccounted(said: str, texts: Iterable[str]) -> set[str]:
    """The words of a sentence that stand in none of the texts and are not of the telling: Latin ones by
    stem, Han ones as the signs that no text has beside each other.
    """
    whole = "\n".join(texts)
    bare = _bare(said)
    for outcome in outcomes(bare).keys() & outcomes(whole).keys():
        bare = OUTCOMES[outcome].sub(" ", bare)
    words = {word for word in _latin(bare) if word not in TELLING}
    return lexical_overlap.lacking(words, [whole]) | set(_unlike_runs(bare, whole))


def other_doers(said: str, texts: Iterable[str]) -> Iterator[str]:
    """Who a sentence says did something, where no text names one: "the mayor", "the workshop manager"."""
    whole = "\n".join(texts)
    form, there = normalize(_bare(said)), normalize(whole)
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
    alike, unlike = glossary.same_words(_bare(said), texts)
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
    rest = glossary.without_terms(TELLING_HAN.sub(" ", normalize(_bare(said))))
    return [run for run in _HAN_RUN.findall(rest) if len(run) > 1]


def _shown(bare: str, texts: Sequence[str]) -> int:
    """How many words that say something the texts show; two Han signs are one."""
    words = _latin(bare)
    runs = _HAN_RUN.findall(TELLING_HAN.sub(" ", normalize(bare)))
    signs = sum(len(run) for run in runs) - sum(map(len, _unlike_runs(bare, "\n".join(texts))))
    return len(words) - len(lexical_overlap.lacking(words, texts)) + signs // 2


def _shared_figures(said: str, texts: Sequence[str]) -> set[str]:
    proven = set().union(*map(shown, texts))
    return {figure for figure in figures(_bare(said)) if figure in proven}


def _shared_names(said: str, texts: Sequence[str]) -> list[str]:
    whole = "\n".join(texts)
    return [name for name in names(_bare(said)) if stands_in(name, whole)]


def _latin(text: str) -> set[str]:
    return {word for word in lexical_overlap.content_words(text) if word.isascii()}


def _bare(said: str) -> str:
    """A sentence without what is looked for by its very words."""
    return in_digits(without_addresses(without_quotations(said)))


def _unlike_runs(said: str, whole: str) -> Iterator[str]:
    """Two or more Han signs in a row of which no text has one beside its neighbour."""
    there = "".join(_HAN_RUN.findall(normalize(whole)))
    form = normalize(said)
    told = TELLING_HAN.sub(lambda found: " " * len(found[0]), form)
    for run in _HAN_RUN.finditer(form):
        at = range(*run.span())
        pairs = {n for n in at[:-1] if form[n : n + 2] in there}
        left = "".join(" " if n in pairs or n - 1 in pairs else told[n] for n in at)
        yield from (part for part in left.split() if len(part) > 1)
