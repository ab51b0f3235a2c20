"""Which statements of an answer say something about the screen, and so need a proof.

Advice ("press Ctrl+S"), admissions ("I found no …"), questions, headings and what leads in a list
say nothing of the kind. But each of these forms can carry a claim ("To summarise, you paid …", "I
found no invoice, but you paid it", "## Three hours of taxes"), and then it is one.
"""

from __future__ import annotations

import re

from assistant.core.strings import OWN_SENTENCES
from assistant.language import lexical_overlap
from assistant.language.figures import figures, units
from assistant.language.specifics import names
from assistant.language.statements import Kind
from assistant.retrieval.measured_facts import MeasuredFacts

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
    if not _LETTER.search(said) or said in OWN_SENTENCES:
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


def tells_what_happened(said: str) -> bool:
    """Whether a statement tells what a person did or what was done to something of theirs."""
    return bool(_HAPPENED.search(said))


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
