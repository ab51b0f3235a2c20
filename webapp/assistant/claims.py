"""The answer, sentence by sentence: what it claims, what it cites, and whether that holds.

A sentence that says something about the screen is a claim. Its state is decided by code alone:

========== =================================================================================
found       a cited quote stands in its frame, and every figure of the sentence is covered
not_found   the cited quotes are not in their frames, or a figure is in none of them
not_checked a frame is cited and nothing was quoted from it
no_evidence nothing is cited: marked, never presented as a fact (R3.18)
========== =================================================================================

Headings, questions, what leads in a list, advice ("press Ctrl+S") and admissions ("I found no …")
claim nothing about the screen and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from webapp.assistant.figures import figures, of_moment
from webapp.assistant.records import Claim, ClaimState, EvidenceItem
from webapp.assistant.sentences import OWN_SENTENCES
from webapp.assistant.texts import normal

Span = tuple[int, int]

_FENCE = re.compile(r"^\s*(```|~~~)")
_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+|>\s?)*(?:\[[ xX]\]\s+)?")
_SKIPPED_LINE = re.compile(r"^\s*(?:#{1,6}\s|\|?\s*:?-{3,}|[-*_]{3,}\s*$)")
_QUOTED = re.compile(r"“[^”\n]*”|\"[^\"\n]*\"|「[^」\n]*」|『[^』\n]*』|`[^`\n]*`")
_STOP = re.compile(r"(?:[.!?]+[\"'”’)*_]*(?=\s)|[。！？]+[”’」』）*_]*)\s*(?:\[\d+\])*")
_NUMBERS = re.compile(r"(?<!\\)\[(\d+)\]")
_LETTER = re.compile(r"[^\W_]")
_URL = re.compile(r"https?://[^\s<>()\[\]“”\"'，。；]+", re.IGNORECASE)

_ADMISSION = re.compile(
    r"(?:unfortunately|sorry|however|but|抱歉|很抱歉|不过|但是?)?[,，]?\s*(?:"
    r"(?:i|we)\s+(?:could|can|did|do|have|was|were|am|are)\s*(?:n['’]t|not|no\b|unable)"
    r"|(?:i|we)\s+(?:cannot|found\s+no|saw\s+no|see\s+no)"
    r"|(?:there\s+(?:is|are|was|were)\s+(?:no|nothing)\b)|nothing\b|none\s+of\b"
    r"|no\s+(?:frame|capture|screen|evidence|record|text)"
    r"|the\s+(?:frames?|captures?|screens?|screenshots?|screen\s+data|evidence|text)\s+"
    r"(?:do|does|did|is|are|was|were)\s*(?:n['’]t|not)"
    r"|it\s+is\s+(?:not\s+|un)(?:clear|known|possible)"
    r"|没有|未(?:能|见|找|发|记)|无法|不能|不清楚|看不[到出]|找不到|暂无|我(?:无法|不能|没有|看不|找不到)"
    r"|(?:这些|上述|所有)?(?:画面|屏幕|截图|记录)(?:中|里|上)?(?:都|并)?(?:没有|未|看不)"
    r"|(?:看过|选出)的"
    r")",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"(?:(?:first|then|next|finally|please)[,:]?\s+)?(?:to\s+\w+|you\s+(?:can|could|may|might|should)|if\s+you"
    r"|try|press|click|open|run|use|select|choose|go\s+to|type|enter|make\s+sure|set|add|install|drag|hold)\b"
    r"|(?:首先|然后|接着|最后|再)?[，,]?(?:请|可以|你可以|您可以|如果|如需|建议|试试|点击|按下?|打开|运行|使用|选择|输入)",
    re.IGNORECASE,
)


def check(
    answer_md: str, evidence: Sequence[EvidenceItem], given: frozenset[str] = frozenset()
) -> tuple[Claim, ...]:
    """The claims of an answer. `given` are the figures that code put at the model's disposal, such as
    durations (`figures.figures`); they need no quote.
    """
    by_number = {item.n: item for item in evidence if item.n is not None}
    claims = []
    for start, end in statements(answer_md):
        text = answer_md[start:end]
        cited = tuple(dict.fromkeys(n for n in map(int, _NUMBERS.findall(text)) if n in by_number))
        state = _state(text, [by_number[n] for n in cited], given)
        claims.append(Claim(text, start, end, cited, state))
    return tuple(claims)


def statements(answer_md: str) -> Iterator[Span]:
    """Spans of the sentences that claim something, with their citations."""
    position, in_code = 0, False
    for line in answer_md.splitlines(keepends=True):
        if _FENCE.match(line):
            in_code = not in_code
        elif not in_code and not _SKIPPED_LINE.match(line):
            lead = _LEAD.match(line)
            start = lead.end() if lead else 0
            for first, last in _sentences(line.rstrip(), start):
                if _claims_something(line[first:last]):
                    yield position + first, position + last
        position += len(line)


def _sentences(line: str, start: int) -> Iterator[Span]:
    """Sentences of one line; a stop inside quotation marks or code ends none."""
    masked = _QUOTED.sub(lambda quoted: "x" * len(quoted[0]), line)
    for stop in _STOP.finditer(masked, start):
        # Citations may stand behind the stop: "You wrote code. [1]"
        yield from _trimmed(line, start, stop.end())
        start = stop.end()
    yield from _trimmed(line, start, len(line))


def _trimmed(line: str, start: int, end: int) -> Iterator[Span]:
    text = line[start:end]
    if text.strip():
        yield start + len(text) - len(text.lstrip()), end - (len(text) - len(text.rstrip()))


def _claims_something(sentence: str) -> bool:
    said = _NUMBERS.sub("", sentence).strip(" *_~")
    if not _LETTER.search(said) or said in OWN_SENTENCES:
        return False
    if _NUMBERS.search(sentence):
        return True
    if said.endswith(("?", "？", ":", "：")):
        return False
    return not (_ADMISSION.match(said) or _ADVICE.match(said))


def _state(text: str, cited: Sequence[EvidenceItem], given: frozenset[str]) -> ClaimState:
    if not cited:
        return "no_evidence"
    proven = [item for item in cited if item.state == "found"]
    if proven:
        return "found" if _covers(proven, text, given) else "not_found"
    return "not_checked" if any(item.state == "not_checked" for item in cited) else "not_found"


def _covers(proven: Sequence[EvidenceItem], sentence: str, given: frozenset[str]) -> bool:
    """Whether every figure and address of a sentence stands in what is quoted, or comes from code."""
    said = _NUMBERS.sub("", sentence)
    sources = [text for item in proven for text in _said_by(item) if text]
    known = given.union(*map(figures, sources), *(of_moment(item.local_time) for item in proven))
    haystack = normal(" ".join(sources))
    addresses = (normal(url.rstrip(".,;:!?")) for url in _URL.findall(said))
    return figures(_URL.sub("", said)) <= known and all(url in haystack for url in addresses)


def _said_by(item: EvidenceItem) -> tuple[str | None, ...]:
    return item.quote, item.app_name, item.window_name, item.browser_url


def is_proven(claims: Sequence[Claim]) -> bool:
    """Whether at least one claim holds, or nothing is claimed at all."""
    return not claims or any(claim.state == "found" for claim in claims)
