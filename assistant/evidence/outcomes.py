"""What became of something: cancelled, approved, failed. And whether a text says that it did not.

A sentence that says "cancelled" over a quote that only names the project says more than the quote.
So words for an outcome are treated like figures: the quote has to show them, in either language.
Each group holds words that mean one outcome; a word outside the groups proves and disproves nothing.
Contrasts work the other way: "west" over a quote that says "south" is flagged, "west" alone is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType

from assistant.core.texts import normalize
from assistant.language import lexical_overlap, statements
from assistant.language.figures import in_digits
from assistant.language.lexical_overlap import TELLING
from assistant.language.statements import without_quotations

_GROUPS = {
    "cancelled": r"\bcancel\w*|\bcalled\s+off|取消|作废",
    "approved": r"\bapprov\w*|\baccept(?:ed|s|ance)?\b"
    r"|\bagreed?\b(?!\s+(?:to|on|that)\b)|\blgtm\b|\bsign(?:ed|s|ing)?\s+off\b|\bgreen\s+light\b|\bgo-ahead\b|批准|同意|审批通过|接受",
    "rejected": r"\breject\w*|\bdeclined\b|\brefus\w*|\bdenied\b|拒绝|驳回|否决",
    "deleted": r"\bdelet\w*|\bremov\w*|\beras\w*|\btrash\w*|\bdrop\s+table\b|\brm\b|删除|删掉|移除|清空",
    "paid": r"\bpa(?:id|ys|yments?|ying|y)\b|\btransferred\b|付款|支付|已付|付了|转账|缴",
    "bought": r"\bb(?:uy|uys|uying|ought)\b|\bpurchas\w*|\bordered\b|\border\s+(?:confirm\w*|placed|no)"
    r"|购买|买|下单|订购",
    "sold": r"\bs(?:old|ell|ells|elling)\b|卖|售出",
    "signed": r"\bsign(?:ed|ature|atures)\b(?!\s+(?:off|up|in|out)\b)|签署|签字|签名|签了",
    "merged": r"\bmerg\w*|合并",
    "failed": r"\bfail\w*|\berrors?\b(?!\s+(?:of|from|fell|shrank|grew|rates?)\b)|\bbroke\w*"
    r"|\bcrash\w*|\bexception\b|\btraceback\b"
    r"|失败|错误|出错|报错|崩溃|异常",
    "passed": r"\bpass(?:ed|es|ing)?\b|\bsucce\w*|\bgreen\b(?!\s+light)|\bhelp(?:s|ed)?\b"
    r"|\bsolv(?:e|es|ed|ing)\b"
    r"|成功|通过",
    "published": r"\b(?:go(?:es)?|went|is|are|now)\s+live\b|\bpublish\w*|\bdeploy\w*"
    r"|\breleas(?!e\s+(?:notes?|pages?|plans?|managers?|chats?|channels?|branch|candidates?|dates?)\b)\w*"
    r"|\blaunch\w*|发布(?!说明|计划|经理|页面|日期)|部署|上线",
    "finished": r"\bfinish\w*|\bcomplet(?:ed|es|ing|ion)\b|\bdone\b"
    r"|\b(?:was|were|been|is|are)\s+(?:\w+\s+)?reached\b|\bachiev\w*|\baccomplish\w*|达成|实现|\bclos(?:ed|es|ing)\b(?!\s+at\b)"
    r"|\bresolv\w*"
    r"|完成|结束|解决|关闭",
    "repaired": r"(?<!the )(?<!a )\bfix(?:ed|es|ing)?\b|\bmend\w*|\brepair\w*|\bcur(?:ed|es|ing)\b"
    r"|修复|修好|维修|报修|修理|检修",
    "skipped": r"\bskip\w*|跳过",
    "timed_out": r"\btim(?:e|ed|es|ing)[\s-]*out|超时",
    "withdrawn": r"\bwithdr[ae]w\w*|\bwithh[eo]ld\w*|撤回|收回",
    "dismissed": r"\bfired\b|\bdismiss\w*|\bresign\w*|\bquit\b|辞职|解雇|离职|辞退",
    "rose": r"\bincreas\w*|\bris(?:e|es|en|ing)\b|\brose\b|\bgrew\b|\bgrowth\b|\b(?:went|goes|go|gone)\s+up\b"
    r"|\bup\s+(?:by|from|\d)|\+\s?\d|增加(?!了?\s?\d+\s?[行个条项])|上涨|上升|增长|提高|上调|[升涨][到至]",
    "fell": r"\bdecreas\w*|\bf(?:ell|all|alls|allen)\b|\bdropp\w*|\bdeclin(?:e|ing)\b|\breduc\w*"
    r"|\bcuts?\s+(?:to|by|down|from)\b|\b(?:went|goes|go|gone|came)\s+down\b|\bdown\s+(?:by|from|\d)|(?<!\w)[-\u2212]\s?\d|减少|下降|下跌|降低|下调|降[到至]",
    "postponed": r"\bpostpon\w*|\bdelay\w*|\bdefer\w*|\bresched\w*|\bmov(?:ed|e|ing)\s+to\b"
    r"|推迟|延期|延后|改期",
    "won": r"\bw(?:on|in|ins|inning)\b|赢|获胜|中标",
    "lost": r"\blost\b|\blos(?:e|es|ing)\b|输了|丢失|遗失",
    "subscribed": r"\bsubscri\w*|\bsigned\s+up\b|订阅|注册",
    "booked": r"\bbook(?:ed|ing)\b|\breserv\w*|预订|预定|订了",
    "reverted": r"\brevert\w*|\bundo\b|\bundid\b|\broll(?:ed|ing|s)?\s+back\b|\brollback\b|回滚|撤销|还原",
    "stolen": r"\bst(?:eal|eals|ole|olen)\b|\btheft\b|偷|被盗",
    "installed": r"\binstall\w*|安装",
}
OUTCOMES = {name: re.compile(words, re.IGNORECASE) for name, words in _GROUPS.items()}

MILD = frozenset(
    [
        "finished",
        "repaired",
        "skipped",
        "timed_out",
        "lost",
        "subscribed",
        "booked",
        "installed",
        "rose",
        "fell",
    ]
)
"""Outcomes for which there are so many words that a text without a known one may well tell them."""

# Words of which a text means one and not the others.
_CONTRASTS = tuple(
    tuple(re.compile(words, re.IGNORECASE) for words in group)
    for group in (
        (r"\bnorth(?:ern)?\b|北", r"\bsouth(?:ern)?\b|南", r"\beast(?:ern)?\b|东", r"\bwest(?:ern)?\b|西"),
        (r"\bred\b|红", r"\bgreen\b(?!\s+light)|绿", r"\byellow\b|黄", r"\bblue\b|蓝"),
        (r"\bstop(?:s|ped|ping)?\b|\bhalt\w*|停止", r"\bcontinu\w*|\bresum\w*|继续|恢复"),
        (
            r"\bbefore\b|之前|以前|[\u4e00-\u9fff]前(?=[先要需应才，,])",
            r"\bafter\b|之后|以后|[^然最今\W]后(?=[先要需应才，,])",
        ),
        (r"\bahead\b|\bfast\b|快", r"\bbehind\b|\bslow\b|慢"),
        (r"\bmean\b|\baverag\w*|平均", r"\bmedian\b|中位"),
        (
            r"\bchang(?:e|es|ed|ing)\b|变化",
            r"\bkeeps?\s+(?:its|the|a)\b|\bunchanged\b|\bconstant\b|\bstays?\b|保持|不变",
        ),
        (r"\bfree\b|免费", r"\bcosts?\b|\bcharge(?:s|d)?\b|\bfee\b|收费"),
        (r"\bcheap\w*\b|便宜", r"\bexpensive\b|\bdearer\b|昂贵"),
        (r"\bpublic\b|公开", r"\bprivate\b|私有"),
        (r"\binside\b|\bindoors?\b", r"\boutside\b|\boutdoors?\b"),
        (r"\bleft\s+(?:side|of)\b|左", r"\bright\s+(?:side|of)\b|右"),
        (r"\bup(?:load|loads|loaded|loading)\b|上传", r"\bdown(?:load|loads|loaded|loading)\b|下载"),
        (r"\bimport\w*|导入", r"\bexport\w*|导出"),
        (r"下[周月次]", r"上[周月次]", r"本[周月次]"),
        tuple(
            rf"\b(?:last|next|this|past|previous|per|each|every)\s+{unit}\b"
            for unit in ("minute", "hour", "day", "week", "month", "quarter", "year")
        ),
        (r"\b(?:from|since|starting)\s+(?:at\s+)?\d{1,2}:\d\d", r"\b(?:until|till)\s+\d{1,2}:\d\d"),
        (r"\bopens?\s+(?:at|from)\b", r"\bopen\s+until\b|\bcloses?\b"),
        (r"\bmin(?:imum)?\b|\bat\s+least\b|至少|最少", r"\bmax(?:imum)?\b|\bat\s+most\b|至多|最多"),
        (
            r"\bmore\b|\babove\b|\bover\b|超过|大于|多于|以上",
            r"\bless\b|\bbelow\b|\bunder\b|少于|小于|低于|以下",
        ),
        (r"\bhigh(?:er|est)?\b|偏?高", r"\blow(?:er|est)?\b|偏?低"),
        (r"\bearl(?:y|ier)\b|提前", r"\blate(?!st|r\s+(?:on|that))(?:r)?\b|推后|迟到"),
        (r"\blarg(?:e|er|est)\b|\bbig(?:ger|gest)?\b|最大", r"\bsmall(?:er|est)?\b|最小"),
        (r"\bold(?:er|est)?\b|旧", r"\bnew(?:er|est)?\b|新"),
        (r"\bshow(?:s|ed|n|ing)?\b|显示", r"\bhid(?:e|es|den|ing)\b|隐藏"),
        (r"\bopen(?:ed)?\b|开放", r"\bclosed\b|关闭"),
        (r"\benabled?\b|启用", r"\bdisabled?\b|禁用|停用"),
        (
            r"\ball\b(?!\s+but\b)|\bevery(?:thing)?\b|\bboth\b|全部|所有",
            r"\bonly\s+(?:1|one|some|half|part)\b|\b(?:some|half|few)\s+of\s+the\b|部分|只有",
        ),
        (r"\binclud(?:e|es|ed|ing)\b|包含|(?<!不)含", r"\bwithout\b|\bexclud\w*|不含|不包括"),
    )
)

_NOT = re.compile(
    r"\b(?:not(?!\s+(?:only|just|more|less|later|earlier)\b)|never|cannot|without|neither|nor|nobody|none|nothing)\b|n['’]t\b"
    r"|\bno\b(?!\s+(?:more|less|fewer|later|earlier|sooner)\s+than\b)|\b(?:forbidden|prohibited|banned)\b|\brul(?:e|es|ed)\s+out\b"
    r"|\b(?:rather\s+than|instead\s+of)\b(?!\s+\d)|\b(?:advis|warn|recommend)\w*\s+against\b|\bavoid\w*\b|\bexclud(?:e|es|ed|ing)\b|\bexcept(?!ion|ed)\b|\bun(?:able|changed)\b"
    r"|(?<![\d.,])0(?![\d.,:]|\s?%)|禁止|严禁|没有?|未(?!来)|无法|不(?!过|同|断|少|久|仅|错|管|论|如|便|是)|尚未",
    re.IGNORECASE,
)
_NONE = re.compile(r"(?:\s+[^\W\d_]+){0,3}\s*[:：]\s*(?:none|no|never|无|0(?![\d.,:]))\b", re.IGNORECASE)
_BARRED = re.compile(
    r"[^.,;:!?\n]{0,24}?\b(?:is|are|was|were)\s+(?:forbidden|prohibited|banned|not\s+allowed|ruled\s+out)\b",
    re.IGNORECASE,
)
_BARRED_HERE = re.compile(r"(?:\bnot|\bnever|\bagainst|n['’]t|不|勿|禁止)\s*(?:\w+\s+)?\Z", re.IGNORECASE)
_WITH = re.compile(
    r"(?:\b(?:with|including|includes?|plus)\s+(?:the\s+)?|(?<!不)(?:包含|含))(?P<what>[a-z]+|[\u4e00-\u9fff]{2})",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"(?:\b(?:without|excluding|excludes?|no)\s+(?:the\s+)?|不含|不包括|不包含)(?P<what>[a-z]+|[\u4e00-\u9fff]{2})",
    re.IGNORECASE,
)
# "A ClockLost error" is called so; nothing is said to have failed.
_NAMED_ERROR = re.compile(r"(?<=[a-z])[A-Z]\w*`?\s+(?:error|exception)s?\b")
_NEAR_CHARS = 24
_NOUN_WORDS = 2
_CLAUSE = re.compile(r"[;:!?…，；。！？\n|]|[,.](?!\d)")


@lru_cache(maxsize=1024)
def outcomes(text: str) -> Mapping[str, str]:
    """The outcomes a text tells, each with the word that tells it."""
    bare = _NAMED_ERROR.sub(" ", text)
    found = ((name, words.search(bare)) for name, words in OUTCOMES.items())
    return MappingProxyType({name: match[0] for name, match in found if match})


def contrasts(text: str, other: str, beside: str = "") -> tuple[str, ...]:
    """Words of a text that the other does not have, while it has a word that means the contrary. What stands
    beside the other, or is denied, is not meant so.
    """
    found = []
    for group in _CONTRASTS:
        here = [words.search(text) for words in group]
        there = [bool(words.search(other)) for words in group]
        lacking = [
            match[0]
            for words, match, is_there in zip(group, here, there, strict=True)
            if match and not (is_there or words.search(beside) or _BARRED_HERE.search(text, 0, match.start()))
        ]
        if any(there) and not any(match and is_there for match, is_there in zip(here, there, strict=True)):
            found += lacking
    return tuple(found)


def includes_otherwise(text: str, other: str) -> tuple[str, ...]:
    """What a text includes and the other leaves out, or the other way round: "including travel" and
    "without travel".
    """
    found = []
    for ours, theirs in ((_WITH, _WITHOUT), (_WITHOUT, _WITH)):
        there = {match["what"].lower() for match in theirs.finditer(other)}
        same = {match["what"].lower() for match in ours.finditer(other)}
        found += [match[0] for match in ours.finditer(text) if match["what"].lower() in there - same]
    return tuple(found)


def is_denied(text: str) -> bool:
    """Whether a text says of anything that it is not so."""
    return bool(_NOT.search(text))


def denies(text: str, outcome: str) -> bool:
    """Whether a text names an outcome and says, wherever it does, that it did not come."""
    places = [match.span() for match in OUTCOMES[outcome].finditer(text)]
    return bool(places) and all(_is_denied_at(text, *place) for place in places)


def denied_clauses(text: str) -> str:
    """The clauses of a text in which a "not" stands."""
    clauses = _CLAUSE.split(text)
    return " ".join(clause for clause in clauses if _NOT.search(clause))


def denied_parts(text: str, near_chars: int = _NEAR_CHARS) -> str:
    """What each "not" of a text is about, to compare with what another text affirms.

    Mostly it stands behind it; what is "ruled out", or of which there is "none", stands before it.
    """
    parts = []
    for found in _NOT.finditer(text):
        word = found[0].lower()
        behind = _CLAUSE.split(text[found.end() : found.end() + near_chars])[0]
        parts.append(" ".join(behind.split()[:_NOUN_WORDS]) if word in ("no", "without") else behind)
        if word == "none" or word.startswith(("rul", "excluded")):
            before = text[max(0, found.start() - near_chars) : found.start()].rstrip(" :")
            parts.append(_CLAUSE.split(before)[-1])
    return " ".join(parts)


def _is_denied_at(text: str, start: int, end: int) -> bool:
    before = _CLAUSE.split(text[max(0, start - _NEAR_CHARS) : start])[-1]
    return bool(_NOT.search(before) or _NONE.match(text, end) or _BARRED.match(text, end))


# ---- agreement
# Whether a sentence and a text deny the same things: "not fine" over "fine, so it is not the network".

CLOSE_CHARS = 12
"""So far behind a "not" stands what it denies first of all."""


def agree(said: str, whole: str) -> bool:
    """Whether neither denies what the other says, as far as their "not" tells."""
    said, whole = in_digits(statements.without_quotations(said)), in_digits(whole).replace("_", " ")
    if is_denied(said) and not is_denied(whole):
        return False
    shared = lexical_overlap.content_words(said)
    shared -= lexical_overlap.lacking(shared, [whole])
    there, here = denied_parts(whole), denied_clauses(said)
    unlike = (
        shared - lexical_overlap.lacking(shared, [there]) - (shared - lexical_overlap.lacking(shared, [here]))
    )
    if not all(_is_said_otherwise(word, whole, there) for word in unlike):
        return False
    # What stands right behind a "not" of the sentence, and behind none of the text.
    denied = [denied_parts(whole, len(whole))]
    mine = lexical_overlap.content_words(denied_parts(said, CLOSE_CHARS))
    mine -= lexical_overlap.lacking(mine, [whole])
    if not lexical_overlap.lacking(mine, denied):
        return True
    wide = lexical_overlap.content_words(denied_parts(said))
    return bool(wide - lexical_overlap.lacking(wide, denied))


def _is_said_otherwise(word: str, whole: str, denied: str) -> bool:
    """Whether a text that denies a word also says it without a "not"."""
    return normalize(whole).count(word) > normalize(denied).count(word)


# ---- reasons
# Why something was so: a reason is a claim of its own, and the easiest to make up.
#
# "It failed because the network was down" over a quote that says that it failed shares most of its
# words with the quote. So the words behind "because" are counted by themselves.

REASON_SHARE = 0.5
"""The part of a reason's words that the frame must show."""

_BECAUSE = re.compile(
    r"\b(?:because(?:\s+of)?|due\s+to|owing\s+to|caused\s+by|as\s+a\s+result\s+of|on\s+the\s+advice\s+of|thanks\s+to"
    r"|in\s+order\s+to|so\s+that)\s+(?P<why>[^,;.!?]+)"
    r"|(?:因为|由于|原因是|是因为)(?P<han>[^，。；]+)",
    re.IGNORECASE,
)


def unproven_reason(said: str, texts: Iterable[str], whole: str) -> str | None:
    """A reason that a sentence gives and neither its quotes nor their frame show; None when all do."""
    for found in _BECAUSE.finditer(without_quotations(said)):
        why = found["why"] or found["han"]
        words = lexical_overlap.content_words(why)
        if lexical_overlap.is_foreign(why, [*texts, whole]):
            continue
        given = [*texts, whole]
        telling = lexical_overlap.share(words - TELLING, given)
        if (
            words
            and lexical_overlap.share(words, given) < REASON_SHARE
            and not (words - TELLING and telling > REASON_SHARE)
        ):
            return why.strip()
    return None
