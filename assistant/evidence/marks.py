"""The marks of an answer, sentence by sentence: what code can decide, and nothing else.

============ ===============================================================================
cited        the sentence cites frames; its words that stand there are its `on_frame`
not_on_frame a quote given for it, or a quotation, figure, date, time, address or name in it, stands
             on none of the frames it cites: `missing`; a figure that rounds one that is
             shown, or follows from quoted ones, is neither underlined nor missing
no_source    it cites nothing, or frames without text, and tells more than their titles; `missing` are its
             quotations, figures, dates, addresses and names
seen         the same words, where the model was shown the picture of a cited frame: it may see what was not
             read, so they are named; quotes stay as they are
measured     it cites nothing and tells durations and counts that code worked out
============ ===============================================================================

`assistant.evidence.off_screen` adds `from_source` and `not_from_screen`. A sentence is never called proven.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from assistant.core.records import Claim, ClaimState, EvidenceItem, OnFrame
from assistant.core.strings import own_sentences
from assistant.evidence.particulars import Particular, Screen, is_in_signs, particulars, pieces_of
from assistant.language.shown_values import Shown
from assistant.language.small_words import language_of
from assistant.language.statements import CITATION, Statement, plain, split_statements
from assistant.language.values import without
from assistant.retrieval.measured_facts import MeasuredFacts

_NO_SCREENS: Mapping[int, Screen] = MappingProxyType({})
_NO_QUOTES: Mapping[int, Sequence[str]] = MappingProxyType({})
_ASKS_OR_LEADS = ("?", "？", "؟", "՞", ";", ":", "：", "︰")


def screen_of(item: EvidenceItem, texts: Iterable[str]) -> Screen:
    """What a cited frame shows; `texts` are the forms of its reading."""
    return Screen(texts, filter(None, (item.app_name, item.window_name, item.browser_url)), item.local_time)


def check(
    answer_md: str,
    numbers: Iterable[int],
    screens: Mapping[int, Screen] = _NO_SCREENS,
    misquoted: Mapping[int, Sequence[str]] = _NO_QUOTES,
    facts: MeasuredFacts | None = None,
    seen: Collection[int] = (),
    quoted: Mapping[int, Sequence[str]] = _NO_QUOTES,
) -> tuple[Claim, ...]:
    """The claims of an answer whose citations are `numbers`.

    `screens` are the cited frames whose text is known, `misquoted` the quotes that do not stand on theirs,
    and `quoted` those that do, in the words of the frame; `facts` are what code has measured and the model
    was given, `seen` the frames whose pictures it was shown.
    """
    known, given = set(numbers), facts or MeasuredFacts()
    language = language_of(plain(answer_md))
    claims = []
    statements = [(each, answer_md[each.start : each.end]) for each in split_statements(answer_md)]
    compared = [(frozenset(_cited(text)), pieces_of(text)) for _, text in statements]
    wrong_in, right_in = (_by_sentence(compared, quotes) for quotes in (misquoted, quoted))
    on_line: defaultdict[int, set[int]] = defaultdict(set)
    for (statement, _), (numbers_of_it, _) in zip(statements, compared, strict=True):
        on_line[answer_md.rfind("\n", 0, statement.start)] |= numbers_of_it
    for at, (statement, text) in enumerate(statements):
        if plain(text).strip() in own_sentences():
            continue
        cited = tuple(dict.fromkeys(n for n in _cited(text) if n in known))
        if not cited and _claims_nothing(statement, text, is_last=at + 1 == len(statements)):
            continue
        # As long as the text, so that places in it are places of the answer.
        said = CITATION.sub(lambda found: " " * len(found[0]), text)
        found = particulars(said, language)
        shown = {n: screens[n] for n in cited if n in screens}
        in_pictures = tuple(n for n in cited if n in seen)
        wrong = wrong_in.get(at, [])
        right = right_in.get(at, ())
        absent = _missing(said, found, shown.values(), right, given, language) if shown else []
        state, missing = _cited_state(absent, wrong, in_pictures), [*wrong, *(each.text for each in absent)]
        if not cited:
            beside = [screens[n] for n in on_line[answer_md.rfind("\n", 0, statement.start)] if n in screens]
            state, missing = _uncited(said, found, given, beside)
        elif shown and not (wrong or in_pictures) and all(screen.is_blank for screen in shown.values()):
            state, missing = _of_titles(said, found, given, shown.values())
        place = statement.start, statement.end
        on_frame = () if missing else tuple(_underlined(said, statement.start, found, shown, right))
        claims.append(Claim(text, *place, cited, state, tuple(dict.fromkeys(missing)), on_frame, in_pictures))
    return tuple(claims)


def is_confirmed(claims: Sequence[Claim]) -> bool:
    """Whether anything holds on to the screen or to another source: a sentence that cites it without a
    warning, a measured one, or one that is from a source. An answer that is not about the screen need not.
    """
    of_screen = [claim for claim in claims if claim.state != "not_from_screen"]
    return not of_screen or any(
        claim.state in ("cited", "seen", "measured", "from_source") for claim in of_screen
    )


def moved(claims: Iterable[Claim], by: int) -> Iterator[Claim]:
    """The claims of a text behind so many more characters."""
    for claim in claims:
        on_frame = tuple(OnFrame(each.start + by, each.end + by, each.n) for each in claim.on_frame)
        yield replace(claim, start=claim.start + by, end=claim.end + by, on_frame=on_frame)


def _claims_nothing(statement: Statement, text: str, *, is_last: bool) -> bool:
    """Headings of what follows, code, questions, and what leads in to what follows; never a bare figure."""
    said = plain(text).strip(" *_~")
    is_bold = text.startswith(("**", "__")) and text.endswith(("**", "__")) and len(said) == len(text) - 4
    return (
        statement.kind == "code"
        or ((statement.kind == "heading" or is_bold) and not is_last)
        or said.endswith(_ASKS_OR_LEADS)
        or not any(map(str.isalnum, said))
    )


def _cited_state(
    absent: Sequence[Particular], wrong: Sequence[str], in_pictures: Sequence[int]
) -> ClaimState:
    """What a sentence with citations is, by its words that stand on no frame and its wrong quotes."""
    if not absent and not wrong:
        return "cited"
    is_quoted = wrong or any(each.kind == "quotation" for each in absent)
    return "seen" if in_pictures and not is_quoted else "not_on_frame"


def _uncited(
    said: str, found: Sequence[Particular], facts: MeasuredFacts, beside: Collection[Screen]
) -> tuple[ClaimState, list[str]]:
    """What a sentence that cites nothing is; what stands on a frame cited `beside` it is not missing."""
    # The first word has a capital in any case.
    names = [each.text for each in found if not each.value and (each.start or not each.is_weak)]
    if facts.prove(said, names):
        return "measured", []
    told = [each for each in found if not each.is_weak]
    return "no_source", [each.text for each in told if not any(screen.has(each) for screen in beside)]


def _of_titles(
    said: str, found: Sequence[Particular], facts: MeasuredFacts, shown: Collection[Screen]
) -> tuple[ClaimState, list[str]]:
    """What a sentence is that cites frames without text: it rests on their titles, or on nothing."""
    state, missing = _uncited(said, found, facts, shown)
    stands = any(screen.has(each) for each in found for screen in shown)
    return ("cited" if state == "no_source" and stands and not missing else state), missing


def _cited(text: str) -> list[int]:
    return list(map(int, CITATION.findall(text)))


def _by_sentence(
    sentences: Sequence[tuple[frozenset[int], frozenset[str]]], quoted: Mapping[int, Sequence[str]]
) -> dict[int, list[str]]:
    """Quotes by the place of the sentence that they were given for: of those that cite the frame the one that
    shares most with the quote; all of them, when they share alike. `sentences` are their numbers and pieces.
    """
    by_place: dict[int, list[str]] = {}
    for n, given in quoted.items():
        for quote in given:
            pieces = pieces_of(quote)
            shared = {at: len(own & pieces) for at, (cited, own) in enumerate(sentences) if n in cited}
            most = max(shared.values(), default=0)
            for at in (at for at, count in shared.items() if count == most):
                by_place.setdefault(at, []).append(quote)
    return by_place


def _missing(
    said: str,
    found: Sequence[Particular],
    shown: Collection[Screen],
    quoted: Sequence[str],
    facts: MeasuredFacts,
    language: str,
) -> list[Particular]:
    """What stands on no frame, rounds none of its figures, and follows from none of the quotes given for the
    sentence.
    """
    rest = without(said, [(each.start, each.end) for each in found if each.kind != "name"])
    altered = [each for screen in shown for each in screen.altered_names(rest)]
    absent = [each for each in altered if not any(screen.has_text(each.text) for screen in shown)]
    may_differ = not is_in_signs(said, language)
    for each in found:
        if each.is_weak or any(screen.has(each) for screen in shown):
            continue
        if each.value:
            is_rounded = any(screen.rounds_to(each.value) for screen in shown)
            follows = is_rounded or facts.tell(each.value, said) or Shown(quoted).gives(each.value)
        else:
            follows = may_differ and any(screen.writes_otherwise(each) for screen in shown)
        if not follows:
            absent.append(each)
    return sorted(absent, key=lambda each: each.start)


def _underlined(
    said: str, start: int, found: Sequence[Particular], shown: Mapping[int, Screen], quoted: Sequence[str]
) -> Iterator[OnFrame]:
    """What is underlined of a sentence that stands at `start`: what stands on a frame and in what it rests
    on, its quotes or the line that shares most with it.
    """
    proof: Screen | None = None
    for each in found:
        is_own = each.kind in ("quotation", "address")
        n = next((n for n, screen in shown.items() if screen.shows(each)), None)
        if n is not None and not is_own and proof is None:
            pieces = pieces_of(said)
            rests_on = quoted or [line for screen in shown.values() if (line := screen.nearest(pieces))]
            proof = Screen(["\n".join(rests_on)])
        if n is not None and (is_own or (proof and proof.shows(each))):
            yield OnFrame(start + each.start, start + each.end, n)
