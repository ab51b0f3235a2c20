"""The answer, statement by statement: what it claims, what it cites, and whether that holds.

A statement that says something about the screen is a claim. Its state is decided by code alone:

=========== ================================================================================
found       a cited quote stands in its frame, shares its words with the sentence, shows every
            figure, date, name, address and quotation of it, and tells its outcomes; and the
            frame has every word of it that says something (`assistant.evidence.accounted`)
measured    nothing is cited, and nothing is said but durations that code has measured
paraphrase  the frame has most of the words and no other doer, or nothing was quoted; a second
            check found every particular of the sentence in the text of the cited frames
not_checked a frame is cited, and no check could say anything: what the sentence says became of
            it, or why, may stand there in other words (`assistant.evidence.support`)
not_found   the cited quotes are not in their frames, or `missing` stands in none of them
no_evidence nothing is cited: marked, never presented as a fact (R3.18)
=========== ================================================================================

`assistant.evidence.off_screen` adds `not_from_screen` for what nobody looked for on a screen, and
`from_source` for what quotes another source (`assistant.evidence.elsewhere`).
Only `found` and `measured` are proof. `assistant.evidence.assertions` says what claims nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from assistant.core.records import Claim, ClaimState, EvidenceItem
from assistant.core.strings import OWN_SENTENCES
from assistant.evidence import accounted, quotes, support
from assistant.evidence.agreement import agree
from assistant.evidence.assertions import advises, claims_something, goes_on_advising
from assistant.evidence.citations import JOINT
from assistant.evidence.instructions import takes_orders
from assistant.evidence.support import Sources
from assistant.language import lexical_overlap, specifics
from assistant.language.figures import figures, of_moment
from assistant.language.numerals import in_digits
from assistant.language.statements import CITATION, Statement, plain, split_statements
from assistant.language.telling_words import TELLING
from assistant.retrieval.measured_facts import MeasuredFacts

QUOTED_SHARE = 1 / 3
"""The part of a sentence's words and figures that its quotes must show to stand for it."""

AROUND_SHARE = 0.5
"""The part that the whole frames must show where the quotes show less, but something."""

MIN_PARAPHRASED_WORDS = 2

_PROVEN = ("found", "measured")
_NO_TEXTS: Mapping[int, str] = MappingProxyType({})


def check(
    answer_md: str,
    evidence: Sequence[EvidenceItem],
    facts: MeasuredFacts | None = None,
    texts: Mapping[int, str] = _NO_TEXTS,
) -> tuple[Claim, ...]:
    """The claims of an answer.

    `facts` are what code has measured and the model was given; they need no quote. `texts` are the
    whole texts of the frames by citation number, for what was not quoted.
    """
    given = facts or MeasuredFacts()
    by_number = {item.n: item for item in evidence if item.n is not None}
    claims = []
    is_advised = False
    for statement in split_statements(answer_md):
        text = answer_md[statement.start : statement.end]
        cited = tuple(dict.fromkeys(n for n in map(int, CITATION.findall(text)) if n in by_number))
        if plain(text).strip() in OWN_SENTENCES:
            continue
        was_advised, is_advised = is_advised, not cited and advises(plain(text).strip())
        if not cited and was_advised and goes_on_advising(plain(text).strip()):
            is_advised = True
        elif cited or _is_claim(text, statement, given):
            items = [by_number[n] for n in cited]
            state, missing = _judged(plain(text), items, given, texts)
            claims.append(Claim(text, statement.start, statement.end, cited, state, missing))
    return tuple(claims)


def citing(answer_md: str) -> dict[int, list[str]]:
    """The statements that cite each number, without their citations."""
    found: dict[int, list[str]] = {}
    for statement in split_statements(answer_md):
        text = answer_md[statement.start : statement.end]
        for n in dict.fromkeys(map(int, CITATION.findall(text))):
            found.setdefault(n, []).append(plain(text))
    return found


def is_proven(claims: Sequence[Claim]) -> bool:
    """Whether at least one claim holds, or nothing is claimed of the screen at all."""
    of_screen = [claim for claim in claims if claim.state not in ("not_from_screen", "from_source")]
    return not of_screen or any(claim.state in _PROVEN for claim in of_screen)


def _is_claim(text: str, statement: Statement, facts: MeasuredFacts) -> bool:
    # A citation that was dropped leaves a number of its own making in the text: a claim all the same.
    return claims_something(CITATION.sub("", text), statement.kind, facts)


def _judged(
    said: str, cited: Sequence[EvidenceItem], facts: MeasuredFacts, texts: Mapping[int, str]
) -> tuple[ClaimState, tuple[str, ...]]:
    if not cited:
        return ("measured" if facts.prove(said) else "no_evidence"), ()
    proven = [item for item in cited if item.state == "found"]
    if proven:
        quoted = _sources(proven, [item.quote for item in proven], texts)
        missing = tuple(support.missing(said, quoted, facts))
        if missing:
            return "not_found", missing
        untold = support.untold(said, quoted)
        doubtful = tuple(_doubtful(said, quoted))
        if doubtful or takes_orders(said, "\n".join(quoted.around)):
            return "not_checked", doubtful
        if accounted.is_foreign(said, quoted):
            if agree(said, "\n".join((*quoted.all, *quoted.around))):
                return accounted.in_other_language(said, quoted, len(untold)), tuple(untold)
        else:
            is_tied = _is_tied(said, quoted)
            state = accounted.in_own_language(said, quoted, is_tied, len(untold))
            if is_tied and state != "not_checked":
                return state, ()
            if state == "not_checked":
                return state, tuple(untold)
    open_items = [item for item in cited if item.state in ("found", "not_checked")]
    if not open_items:
        return "not_found", ()
    shown = _sources(open_items, [texts.get(item.n or 0, "") for item in open_items], texts)
    return ("paraphrase" if _is_paraphrase(said, shown, facts) else "not_checked"), ()


def _sources(items: Sequence[EvidenceItem], said: Iterable[str], texts: Mapping[int, str]) -> Sources:
    places = [
        place for item in items for place in (item.app_name, item.window_name, item.browser_url) if place
    ]
    moments = (of_moment(item.local_time) for item in items)
    around = tuple(texts.get(item.n or 0, "") for item in items)
    quoted = tuple(text for text in said if text)
    beside = tuple(
        near for item, text in zip(items, around, strict=True) for near in _beside(item.quote, text)
    )
    return Sources(quoted, tuple(places), frozenset().union(*moments), around, beside)


def _beside(quote: str, text: str) -> Iterator[str]:
    """The line before, of and behind each place where a quote stands in its frame's text."""
    for part in quote.split(JOINT):
        for start, end in quotes.find(text, part):
            before = text.rfind("\n", 0, max(0, text.rfind("\n", 0, start)))
            behind = text.find("\n", text.find("\n", end) + 1) if "\n" in text[end:] else -1
            yield text[before + 1 : behind if behind >= 0 else len(text)]


# -- own words -------------------------------------------------------------------------------


def _is_tied(said: str, sources: Sources) -> bool:
    """Whether a sentence is about its quotes: it shares words with them, or at least figures.

    Speakers and headings often stand beside a quote, so the text around it helps a sentence that
    shares something with the quote itself.
    """
    if not agree(said, "\n".join(sources.all)):
        return False
    if specifics.quotations(said):
        return True
    words = lexical_overlap.content_words(in_digits(said))
    words = lexical_overlap.lacking(
        words - (lexical_overlap.lacking(words, sources.said) & TELLING), sources.places
    )
    figures_shared = figures(said) & set().union(*map(figures, sources.said))
    if not words:
        return True
    matched = len(words) - len(lexical_overlap.lacking(words, sources.said)) + len(figures_shared)
    if matched >= QUOTED_SHARE * (len(words) + len(figures_shared)):
        return True
    return matched > 0 and lexical_overlap.share(words, sources.around) >= AROUND_SHARE


def _doubtful(said: str, sources: Sources) -> Iterator[str]:
    """Why something was so, and who did it, where no frame says it."""
    yield from support.undecided(said, sources)
    reason = support.unexplained(said, sources)
    if reason is not None:
        yield reason
    if not accounted.is_foreign(said, sources):
        yield from accounted.other_doers(said, (*sources.all, *sources.around))


def _is_paraphrase(said: str, sources: Sources, facts: MeasuredFacts) -> bool:
    """The second check: every particular and most words stand in the frames' whole texts."""
    if any(True for _ in chain(support.missing(said, sources, facts), _doubtful(said, sources))):
        return False
    if not agree(said, "\n".join(sources.all)) or takes_orders(said, "\n".join(sources.around)):
        return False
    if len(lexical_overlap.content_words(said)) < MIN_PARAPHRASED_WORDS:
        return False
    untold = len(support.untold(said, sources))
    if accounted.is_foreign(said, sources):
        return accounted.in_other_language(said, sources, untold) != "not_checked"
    return accounted.in_own_language(said, sources, untold=untold) != "not_checked"
