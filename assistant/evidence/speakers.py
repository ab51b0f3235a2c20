"""Who said it: in a conversation the speaker stands above what was said, or before its colon.

A sentence that lets somebody else say it is contradicted by the frame, although every word of the
quote is right. Speakers are known by what a sentence does with them ("the field engineer wrote"),
and found in the frame as a line of their own or before a colon.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from assistant.core.texts import normalize
from assistant.evidence import quotes
from assistant.language import lexical_overlap
from assistant.language.figures import figures, shown

MOST_LINES_ABOVE = 3
"""A message may run over so many lines."""

_WORDS_OF_A_MESSAGE = 4

_SAYS = (
    "said|says|wrote|writes|asked|asks|reported|reports|announced|announces|explained|explains|replied|replies|answered"
    "|mentioned|mentions|told|tells|wondered|wonders|concluded|concludes|suggested|suggests|recommended|recommends"
    "|confirmed|confirms|stated|states|noted|notes|warned|warns|proposed|proposes|requested|requests|wants|wanted"
    "|commented|admitted|claimed|claims|complained|promised|volunteered|offered|pointed|argued|decided|agreed"
    "|refused|thinks|thought|believes|believed|watches|watched|took|takes"
)
_SUBJECT = re.compile(rf"(?P<who>[a-z]+(?:\s[a-z]+)?)\s+(?:has\s+|had\s+|also\s+|then\s+)*(?:{_SAYS})\b")
_HAN_SUBJECT = re.compile(
    r"(?:^|[，。；、])(?P<who>[\u4e00-\u9fff]{2,8}?)(?:[早中下上晚]\w{1}|今天|昨天|随后|又|还|也|则)*"
    r"(?:说|问|报告|要求|表示|写道|回复|提到|指出|称|请|让|认为|建议|通知|询问|答应|承诺|批准|拒绝|会)"
)
_CLAUSE = re.compile(r"[;；]|,\s+(?:and|but|while|whereas|which|who)\b")
_LEAD = re.compile(r"^(?:[^\W\d_]{1,2}\s|[^\w\s]+\s*)+")
_BEFORE_COLON = re.compile(r"^[^\w]*(?P<who>[^\W\d_][\w ]{1,30}?)\s*[:：]\s")


def wrong_speakers(
    said: str, given: Sequence[str], whole: str, places: Collection[str] = ()
) -> Iterator[str]:
    """Those whom a sentence lets say what a frame shows another to have said.

    `given` are the quotes, `whole` the text of their frame, `places` its app and window, which are no
    speakers.
    """
    lines = [line.strip() for line in whole.splitlines()]
    labels = {_label(line) for line in lines} | {before for line in lines if (before := _before_colon(line))}
    labels -= {normalize(place) for place in places}
    for clause in _CLAUSE.split(said):
        yield from _wrong(clause, given, lines, labels)


def _wrong(said: str, given: Sequence[str], lines: list[str], labels: set[str]) -> Iterator[str]:
    named = [who for who in dict.fromkeys(_subjects(said)) if who in labels]
    if not named:
        return
    meant = _meant(said, list(given), named)
    owners = set().union(*(_owners(lines, labels, quote) for quote in meant))
    if not owners or owners & set(named):
        return
    quoted = normalize("\n".join(meant))
    words = lexical_overlap.content_words(said) - lexical_overlap.content_words(" ".join(named))
    for who in named:
        if who not in quoted and not _says_as_much(who, words, lines, labels, meant):
            yield who


def _meant(said: str, given: list[str], named: list[str]) -> list[str]:
    """The quotes that share most words and figures with a sentence, besides the names of speakers."""
    words = lexical_overlap.content_words(said) - lexical_overlap.content_words(" ".join(named))
    told = figures(said)
    shared = {
        quote: len(words) - len(lexical_overlap.lacking(words, [quote])) + len(told & shown(quote))
        for quote in given
    }
    return [quote for quote in given if shared[quote] == max(shared.values())]


def _says_as_much(
    who: str, words: set[str], lines: list[str], labels: set[str], meant: Iterable[str]
) -> bool:
    """Whether a line of someone shows as many words of a sentence as the quotes it is held to."""
    wanted = max(2, *(len(words) - len(lexical_overlap.lacking(words, [quote])) for quote in meant))
    own = (line for line in lines if len(line.split()) > 1 and who in _owners(lines, labels, line))
    return any(len(words) - len(lexical_overlap.lacking(words, [line])) >= wanted for line in own)


def _subjects(said: str) -> Iterator[str]:
    form = normalize(said)
    for found in _SUBJECT.finditer(form):
        words = found["who"].split()
        yield " ".join(words)
        yield words[-1]
    yield from han_subjects(form)


def han_subjects(form: str) -> Iterator[str]:
    """Who says or wants something in a Chinese text in normal form."""
    yield from (found["who"] for found in _HAN_SUBJECT.finditer(form))


def _label(line: str) -> str:
    """A line as the name of a speaker: without what a reader makes of the picture before it."""
    return normalize(_LEAD.sub("", line))


def _before_colon(line: str) -> str:
    found = _BEFORE_COLON.match(_LEAD.sub("", line))
    return normalize(found["who"]) if found else ""


def _owners(lines: list[str], labels: set[str], quote: str) -> set[str]:
    """Who says a quote: before the colon of its line, else in the nearest line above that is a name.

    A name is a line that some other line of the frame repeats, or that is followed by what was said.
    """
    found = set()
    for at, line in enumerate(lines):
        if not quotes.find(line, quote):
            continue
        before = _before_colon(line)
        if " " in before:
            found.add(before)
            continue
        for above in reversed(lines[max(0, at - MOST_LINES_ABOVE) : at]):
            label = _label(above)
            name = label if _is_name(label, above) else _at_end(label, labels)
            if name:
                found.add(name)
            # A short line that is no name begins something else; a stop ends what another said.
            if (
                name
                or len(label.split()) < _WORDS_OF_A_MESSAGE
                or above.endswith((".", "!", "?", "。", "！", "？"))
            ):
                break
    return found


def _is_name(label: str, line: str) -> bool:
    """At most three words without figures or marks; a room's name has a ``#``."""
    is_plain = bool(re.fullmatch(r"[^\W\d_]+(?:[ '’-][^\W\d_]+){0,2}", label))
    return is_plain and 2 <= len(label) <= 24 and "#" not in line


def _at_end(label: str, labels: set[str]) -> str:
    """The name of more than one word that a line ends with: a list at the side is read into it."""
    return max((name for name in labels if " " in name and label.endswith(f" {name}")), key=len, default="")
