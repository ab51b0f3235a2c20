"""The answer, statement by statement: what it claims, what it cites, and whether that holds.

A statement that says something about the screen is a claim. Its state is decided by code alone:

=========== ================================================================================
found       a cited quote stands in its frame, shares its words with the sentence, shows every
            figure, date, name, address and quotation of it, and tells its outcomes; and the
            frame has every word of it that says something (`assistant.evidence.support`)
measured    nothing is cited, and nothing is said but durations that code has measured
paraphrase  the frame has most of the words and no other doer, or nothing was quoted; a second
            check found every particular of the sentence in the text of the cited frames
not_checked a frame is cited, and no check could say anything: what the sentence says became of
            it, or why, may stand there in other words (`assistant.evidence.support`)
not_found   the cited quotes are not in their frames, or `missing` stands in none of them
no_evidence nothing is cited: marked, never presented as a fact
=========== ================================================================================

Two more: `not_from_screen` for what nobody looked for on a screen, and `from_source` for what quotes
another source. Only `found` and `measured` are proof.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import Any

from assistant.core.records import Claim, ClaimState, EvidenceItem
from assistant.core.strings import own_sentences
from assistant.evidence import quotes, support
from assistant.evidence.citations import JOINT
from assistant.evidence.outcomes import agree, outcomes
from assistant.evidence.relations import takes_orders
from assistant.evidence.support import Sources
from assistant.language import lexical_overlap, statements
from assistant.language.figures import figures, in_digits, of_moment, units
from assistant.language.lexical_overlap import TELLING
from assistant.language.statements import CITATION, Kind, names, plain, split_statements
from assistant.retrieval.measured_facts import MeasuredFacts

QUOTED_SHARE = 1 / 3
"""The part of a sentence's words and figures that its quotes must show to stand for it."""

AROUND_SHARE = 0.5
"""The part that the whole frames must show where the quotes show less, but something."""

MIN_PARAPHRASED_WORDS = 2

_STATES: Mapping[str, ClaimState] = MappingProxyType(
    {
        "found": "cited",
        "paraphrase": "cited",
        "not_checked": "cited",
        "not_found": "not_on_frame",
        "no_evidence": "no_source",
        "measured": "measured",
    }
)
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
        if plain(text).strip() in own_sentences():
            continue
        was_advised, is_advised = is_advised, not cited and advises(plain(text).strip())
        if not cited and was_advised and goes_on_advising(plain(text).strip()):
            is_advised = True
        # A citation that was dropped leaves a number of its own making in the text: a claim all the same.
        elif cited or claims_something(CITATION.sub("", text), statement.kind, given):
            items = [by_number[n] for n in cited]
            verdict, missing = _judged(plain(text), items, given, texts)
            state, missing = _STATES[verdict], missing if verdict == "not_found" else ()
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
    return not of_screen or any(claim.state in ("cited", "measured") for claim in of_screen)


def _judged(
    said: str, cited: Sequence[EvidenceItem], facts: MeasuredFacts, texts: Mapping[int, str]
) -> tuple[str, tuple[str, ...]]:
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
        if support.is_foreign(said, quoted):
            if agree(said, "\n".join((*quoted.all, *quoted.around))):
                return support.in_other_language(said, quoted, len(untold)), tuple(untold)
        else:
            is_tied = _is_tied(said, quoted)
            state = support.in_own_language(said, quoted, is_tied, len(untold))
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
    if statements.quotations(said):
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
    if not support.is_foreign(said, sources):
        yield from support.other_doers(said, (*sources.all, *sources.around))


def _is_paraphrase(said: str, sources: Sources, facts: MeasuredFacts) -> bool:
    """The second check: every particular and most words stand in the frames' whole texts."""
    if any(True for _ in chain(support.missing(said, sources, facts), _doubtful(said, sources))):
        return False
    if not agree(said, "\n".join(sources.all)) or takes_orders(said, "\n".join(sources.around)):
        return False
    if len(lexical_overlap.content_words(said)) < MIN_PARAPHRASED_WORDS:
        return False
    untold = len(support.untold(said, sources))
    if support.is_foreign(said, sources):
        return support.in_other_language(said, sources, untold) != "not_checked"
    return support.in_own_language(said, sources, untold=untold) != "not_checked"


# ---- assertions
# Which statements of an answer say something about the screen, and so need a proof.
#
# Advice ("press Ctrl+S"), admissions ("I found no …"), questions, headings and what leads in a list
# say nothing of the kind. But each of these forms can carry a claim ("To summarise, you paid …", "I
# found no invoice, but you paid it", "## Three hours of taxes"), and then it is one.

_LETTER = re.compile(r"[^\W_]")
_BOLD = re.compile(r"(\*\*|__).+\1[:：]?")

_ADMISSION = re.compile(
    r"(?:unfortunately|(?:i['’]m\s+|i\s+am\s+)?(?:so\s+|very\s+)?sorry(?:[,，]?\s+but)?|however|but|抱歉|很抱歉|不过|但是?)?[,，]?\s*(?:在[^，,。；]{1,12}?[中里上内][，,]?)?(?:"
    r"(?:i|we)\s+(?:could|can|did|do|have|was|were|am|are)\s*(?:n['’]t|not|no\b|unable)"
    r"|(?:i|we)\s+(?:cannot|(?:found|find|saw|see|hear|have)\s+no)"
    r"|(?:there\s+(?:is|are|was|were)\s+(?:no|nothing)\b)|nothing\b|none\s+of\b"
    r"|no\s+(?:frame|capture|screen|evidence|record|text)"
    r"|(?:the|these)\s+(?:\w+\s+)?(?:frames?|captures?|screens?|screenshots?|screen\s+data|evidence|text)\s+"
    r"(?:do|does|did|is|are|was|were)\s*(?:n['’]t|not)"
    r"|it\s+is\s+(?:not\s+|un)(?:clear|known|possible)"
    r"|没有|未(?:能|见|找|发|记)|无法|不能|不清楚|看不[到出]|找不到|暂无|我(?:无法|不能|没有|没|未|看不|找不到)"
    r"|(?:这些|上述|所有)?(?:画面|屏幕|截图|记录)(?:中|里|上)?(?:都|并)?(?:没有|未|看不)"
    r"|(?:看过|选出)的"
    r"|(?:sounds?|pictures?|images?)(?:\s+and\s+(?:sounds?|pictures?))?\s+(?:is|are)\s+not\s+available\s+to\s+me"
    r"|(?:i\s+(?:will\s+not|won['’]t)|我不会)"
    r")",
    re.IGNORECASE,
)
_ADVICE = re.compile(
    r"(?:(?:first|then|next|finally|please|alternatively|otherwise)[,:]?\s+)?(?:"
    r"to\s+(?!sum|conclude|recap|date\b|be\b|date)\w+"
    r"|you\s+(?:can(?!\s+(?:see|tell|notice))|could(?!\s+have)|may(?!\s+have)|might(?!\s+have)|should(?!\s+have))"
    r"|if\s+you"
    r"|(?:try|press|click|open|run|use|select|choose|go\s+to|type|enter|make\s+sure|set|add|install|drag|hold|save"
    r"|check|copy|paste|right-click|double-click|hover|scroll|wait|restart|switch\s+to|navigate|search\s+for)"
    r"\b(?!\s+(?:\d|of\b|failed|was|were)))"
    r"|要[^，,。]{1,20}[，,]\s*(?:请|可以|可|先|点击|按|打开|使用|运行)"
    r"|(?:首先|然后|接着|最后|再|先)?[，,]?(?:请|可以|你可以|您可以|如果|如需|建议|试试|点击|按下?|打开(?!了)|运行(?!了)"
    r"|使用(?!了)|选择(?!了)|输入(?!了)|右键|双击|重启|勾选|进入(?!了))",
    re.IGNORECASE,
)
_GENERAL = re.compile(
    r"(?:as\s+a\s+rule|in\s+general|generally|usually|typically|normally)\b|.{0,60}\b(?:people|one|you|most\s+\w+|developers?"
    r"|teams?)\s+(?:usually|normally|typically|generally|often)\b"
    r"|(?:it|this)\s+(?:is|can\s+be)\s+(?:often\s+|usually\s+|generally\s+|also\s+)?(?:best|good|a\s+good|better|advisable|recommended"
    r"|helpful|useful|worth|common|important|easier|safer|wise)\b"
    r"|(?:a|an|one|another)\s+(?:good|common|simple|safe|typical|useful|easy)\s+(?:way|approach|practice|idea|rule|step|option)\b|一般来说|通常(?:来说)?[，,]",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"(?:it|this|that|they|these|then|so|with|if|in\s+that\s+case)\b|这|然后|接着", re.IGNORECASE
)
_BIDDING = re.compile(
    r"(?:ask|start|begin|keep|write|consider|remember|avoid|describe|explain|mention|include|talk|think|take|give|put|look"
    r"|compare|measure|create|delete|remove|replace|update|verify|ensure|note\s+down|summarise|summarize)\b(?!\s+of\b)",
    re.IGNORECASE,
)
_CHATTER = re.compile(
    r"(?:(?:please\s+)?(?:let\s+me\s+know|tell\s+me)|(?:i|we)\s+(?:can|could|will|would)\s+.{0,60}\bif\s+you\b|i\s+hope|hope\s+this|here\s+(?:is|are)|here['’]s|sure\b|of\s+course|below\b|feel\s+free"
    r"|the\s+following|in\s+short\b[,:]?$|以下是|希望|如有|需要的话|好的|当然)",
    re.IGNORECASE,
)
_IRREGULAR = (
    "spent|wrote|sent|did|was|were|made|went|saw|read|ran|paid|bought|met|took|had|got|built|chose|found|began|kept"
    "|left|lost|won|sold|told|said|drew|gave|put|held|came|knew|thought|brought|taught|set\\s+up|quit|spoke"
)
_HAPPENED = re.compile(
    rf"\b(?:you|he|she|they|it|your\s+\w+)(?:['’](?:ve|d))?\s+(?:(?:may|might|could|must|should|have|had|has|also|then"
    rf"|already|later|just|first|finally|\w+ly)\s+)*(?:(?!need\b)\w{{2,}}ed|{_IRREGULAR})\b"
    r"|你.{0,12}[了过]|您.{0,12}[了过]|花了|用了|耗时|持续了",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"[,;，；]?\s*\b(?:but|however|although|though|yet|except\s+that|still)\b[,，]?|[,，；;]?(?:但是?|不过|然而|却|可是)[,，]?"
)
_SO = re.compile(
    r"[,;，；]\s*(?:so\s+|and\s+|anyway\s+|所以|因此)?(?=(?:you|he|she|they|你|您)\b|你|您)", re.IGNORECASE
)
_TIMED = ("minutes ", "seconds ", "clock ", "date ")


def claims_something(sentence: str, kind: Kind, facts: MeasuredFacts) -> bool:
    """Whether a statement without a citation claims anything."""
    said = sentence.strip(" *_~")
    if not _LETTER.search(said) or said in own_sentences():
        return False
    if kind == "code":
        return bool(_HAPPENED.search(said))
    if kind == "heading" or said.endswith((":", "：", "?", "？")) or _is_label(sentence):
        return _tells_times(said, facts)
    if _ADMISSION.match(said):
        return _tells_times(said, facts) or _turns(said, facts)
    if _ADVICE.match(said):
        return bool(_HAPPENED.search(said))
    if _GENERAL.match(said):
        return bool(_HAPPENED.search(said)) or _tells_times(said, facts)
    if _BIDDING.match(said):
        return bool(_HAPPENED.search(said) or figures(said) or names(said))
    if _CHATTER.match(said):
        return bool(_HAPPENED.search(said) or figures(said))
    return True


def advises(said: str) -> bool:
    """Whether a sentence gives advice or says how things are in general."""
    return bool(_ADVICE.match(said) or _GENERAL.match(said) or _BIDDING.match(said))


def goes_on_advising(said: str) -> bool:
    """Whether a sentence behind advice says more of it, and nothing that a screen would have to show."""
    return bool(_GOES_ON.match(said)) and not (_HAPPENED.search(said) or figures(said) or names(said))


def _is_label(sentence: str) -> bool:
    """A few bold words on their own, which stand for a heading."""
    text = sentence.strip()
    return (
        bool(_BOLD.fullmatch(text))
        and len(text) < 60
        and not text.strip("*_").endswith((".", "。", "!", "！"))
    )


def _tells_times(said: str, facts: MeasuredFacts) -> bool:
    """Whether a duration, moment or amount is told that nobody gave."""
    told = {figure for figure in figures(said) if figure.startswith(_TIMED)} - facts.moments
    return bool(told) or any(unit in ("euro", "dollar", "yuan", "percent") for _, unit in units(said))


def _turns(admission: str, facts: MeasuredFacts) -> bool:
    """Whether an admission goes on with a claim: "I found no invoice, but you paid it"."""
    for cut in (_TURN, _SO):
        turned = cut.search(admission, 1)
        if turned:
            rest = admission[turned.end() :].strip(" ,，")
            return bool(lexical_overlap.content_words(rest)) and claims_something(rest, "sentence", facts)
    return False


# ---- elsewhere
# Statements that quote what is not the screen: a message, an event, a place, a file, the web.
#
# Such a source is never evidence of what was on the screen, and a statement that quotes it is not unproven
# either: the words stand in what a tool returned in this turn. It is `from_source` when all of this is so,
# checked by code as quotes of frames are:
#
# - it cites no frame, and quotes at least two words,
# - every quotation stands in one and the same item (a message, an event, a result),
# - so does every figure, name and outcome that it tells beside them.

QUOTABLE = frozenset({"attachments", "messages", "calendar", "location", "places", "web", "files"})
"""Sources whose words are their own. What is remembered or summed up was written here."""

SOURCE_OF = {"web_search": "web", "read_file": "files", "read_attachment": "attachments"}
"""What tools show that are no source tools; those name theirs (`assistant.tools.sources`)."""

_MIN_WORDS = 2
_MIN_HAN_CHARS = 4


def items(output: str) -> Iterator[str]:
    """The texts of a tool's result, one for each row that it lists; of one that lists none, the whole."""
    document = json.loads(output)
    values = document.values() if isinstance(document, dict) else ()
    rows = [row for value in values if isinstance(value, list) for row in value if isinstance(row, dict)]
    for row in rows or [document]:
        yield "\n".join(_texts(row))


def quotes_one(claim: Claim, known: Iterable[str]) -> bool:
    """Whether a claim that cites nothing quotes one of these items, and tells nothing beyond it."""
    if claim.state != "no_source" or claim.citations:
        return False
    said = plain(claim.text)
    quoted = [each for each in statements.quotations(said) if _is_long(each)]
    return bool(quoted) and any(_holds(item, said, quoted) for item in known)


def _holds(item: str, said: str, quoted: list[str]) -> bool:
    if not all(quotes.find(item, quotation) for quotation in quoted):
        return False
    beside = statements.without_quotations(said)
    return (
        figures(beside) <= figures(item)
        and all(statements.stands_in(name, item) for name in statements.names(beside))
        and outcomes(beside).keys() <= outcomes(item).keys()
    )


def _is_long(quotation: str) -> bool:
    han = sum("\u4e00" <= character <= "\u9fff" for character in quotation)
    return len(quotation.split()) >= _MIN_WORDS or han >= _MIN_HAN_CHARS


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
    elif value is not None:
        yield str(value)


# ---- off screen
# Statements for which nothing of the screen was looked at: a sum, how to do something, what a file says.
#
# "I could not confirm this on screen" is right before what an answer tells of a person's screen and past
# without a proof. Before "17 % of 2,340 is 397.8" it is not: nobody looked, and nobody had to. Such a
# statement gets a state of its own, `not_from_screen`, which is no proof and says no more than that. It
# takes all of this:
#
# - no tool of the turn has shown anything of the screen or the past,
# - the statement cites nothing, and does not tell of the person, of what happened to them or of a screen,
# - in a chat that has answers already, which may have been about the screen, it says something in
#   particular, and all of that stands in the question or in what tools returned in this turn.

TOOLS = frozenset(
    {
        "calculator",
        "get_current_time",
        "get_current_datetime",
        "read_file",
        "list_directory",
        "web_search",
        "read_attachment",
    }
)
"""Tools whose results hold nothing that was recorded. Any other is taken to show it."""

_SCREEN = re.compile(
    r"\b(?:screens?|screenshots?|frames?|captures?|recordings?|recorded|on\s+display)\b|屏幕|画面|截图|记录",
    re.IGNORECASE,
)
_MODAL = (
    r"(?:['’](?:ll|d))?\s+(?:can|could|may|might|should|need|want|have\s+to|get|will|would|must"
    r"|do(?:n['’]t)?)\b"
)
_PERSON = re.compile(
    rf"\A\W*your?\b(?!{_MODAL})|\byou(?:['’](?:re|ve)|\s+(?:are|were|have|had)\b(?!\s+to\b))"
    r"|\b(?:this\s+person|the\s+user)\b|[你您](?!可以|可|能|需|应|要|想|会|的话)|我们",
    re.IGNORECASE,
)


@dataclass(slots=True)
class OffScreen:
    """What a turn had besides the screen. `known` is the question and every such result."""

    has_history: bool
    known: list[str] = field(default_factory=list)
    has_looked: bool = False
    """Whether a tool showed something that was recorded."""
    quotable: list[str] = field(default_factory=list)
    """Items of other sources, whose words may be quoted."""

    def take(self, tool: str, output: str, sources: Set[str] = frozenset()) -> None:
        """Note what a tool has returned, and of which sources."""
        if sources & QUOTABLE:
            self.quotable += items(output)
        if tool in TOOLS:
            self.known.append(output)
        else:
            self.has_looked = True

    def judged(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims, with those that are not of the screen said to be so."""
        claims = [
            replace(claim, state="from_source") if quotes_one(claim, self.quotable) else claim
            for claim in claims
        ]
        return tuple(
            replace(claim, state="not_from_screen") if self._is_elsewhere(claim) else claim
            for claim in claims
        )

    def _is_elsewhere(self, claim: Claim) -> bool:
        if self.has_looked or claim.state != "no_source" or claim.citations:
            return False
        said = plain(claim.text)
        if _HAPPENED.search(said) or _PERSON.search(said) or _SCREEN.search(said):
            return False
        return not self.has_history or self._is_known(said)

    def _is_known(self, said: str) -> bool:
        """Whether a statement says something in particular, all of which this turn was given."""
        known = "\n".join(self.known)
        told, names = figures(said), list(statements.names(said))
        if not told and not names:
            return False
        return told <= figures(known) and all(statements.stands_in(name, known) for name in names)
