"""What became of something: cancelled, approved, failed. And whether a text says that it did not.

A sentence that says "cancelled" over a quote that only names the project says more than the quote.
So words for an outcome are treated like figures: the quote has to show them, in either language.
Each group holds words that mean one outcome; a word outside the groups proves and disproves nothing.
"""

from __future__ import annotations

import re

_GROUPS = {
    "cancelled": r"\bcancel\w*|\bcalled\s+off|取消|作废",
    "approved": r"\bapprov\w*|\baccept(?:ed|s|ance)?\b|\bagreed?\b|\blgtm\b|批准|同意|审批通过|接受",
    "rejected": r"\breject\w*|\bdeclined\b|\brefus\w*|\bdenied\b|拒绝|驳回|否决",
    "deleted": r"\bdelet\w*|\bremov\w*|\beras\w*|\btrash\w*|\bdrop\s+table\b|\brm\b|删除|删掉|移除|清空",
    "paid": r"\bpa(?:id|ys|yments?|ying|y)\b|\btransferred\b|付款|支付|已付|付了|转账|缴",
    "bought": r"\bb(?:uy|uys|uying|ought)\b|\bpurchas\w*|\bordered\b|\border\s+(?:confirm\w*|placed|no)"
    r"|购买|买|下单|订购",
    "sold": r"\bs(?:old|ell|ells|elling)\b|卖|售出",
    "signed": r"\bsign(?:ed|ature|atures)\b|签署|签字|签名|签了",
    "merged": r"\bmerg\w*|合并",
    "failed": r"\bfail\w*|\berrors?\b|\bbroke\w*|\bcrash\w*|\bexception\b|\btraceback\b"
    r"|失败|错误|出错|报错|崩溃|异常",
    "passed": r"\bpass(?:ed|es|ing)?\b|\bsucce\w*|\bgreen\b|成功|通过",
    "published": r"\bpublish\w*|\bdeploy\w*|\breleas\w*|\blaunch\w*|发布|部署|上线",
    "finished": r"\bfinish\w*|\bcomplet(?:ed|es|ing|ion)\b|\bdone\b|\bclos(?:ed|es|ing)\b|\bresolv\w*"
    r"|\bfix(?:ed|es|ing)?\b|完成|结束|解决|修复|关闭",
    "dismissed": r"\bfired\b|\bdismiss\w*|\bresign\w*|\bquit\b|辞职|解雇|离职|辞退",
    "rose": r"\bincreas\w*|\bris(?:e|es|en|ing)\b|\brose\b|\bgrew\b|\bgrowth\b|\bup\s+(?:by|from|to|\d)"
    r"|\+\s?\d|增加|上涨|上升|增长|提高|上调",
    "fell": r"\bdecreas\w*|\bf(?:ell|all|alls|allen)\b|\bdropp\w*|\bdeclin(?:e|ing)\b|\breduc\w*"
    r"|\bdown\s+(?:by|from|to|\d)|(?<!\w)[-\u2212]\s?\d|减少|下降|下跌|降低|下调",
    "postponed": r"\bpostpon\w*|\bdelay\w*|\bdefer\w*|\bresched\w*|\bmov(?:ed|e|ing)\s+to\b"
    r"|推迟|延期|延后|改期",
    "won": r"\bw(?:on|in|ins|inning)\b|赢|获胜|中标",
    "lost": r"\blost\b|\blos(?:e|es|ing)\b|输了|丢失|遗失",
    "subscribed": r"\bsubscri\w*|\bsigned\s+up\b|订阅|注册",
    "booked": r"\bbook(?:ed|ing)\b|\breserv\w*|预订|预定|订了",
    "installed": r"\binstall\w*|安装",
}
OUTCOMES = {name: re.compile(words, re.IGNORECASE) for name, words in _GROUPS.items()}

_NOT = re.compile(
    r"\b(?:not|never|cannot|without|neither|nor|nobody|none|nothing)\b|n['’]t\b|\bno\b|\bno\s+longer\b"
    r"|(?<![\d.,])0(?![\d.,:]|\s?%)|没有?|未(?!来)|无法|不(?!过|同|断|少|久|仅|错|管|论|如|便|是)|尚未",
    re.IGNORECASE,
)
_NEAR_CHARS = 24
_CLAUSE = re.compile(r"[,;.!?，；。！？\n|]")


def outcomes(text: str) -> dict[str, str]:
    """The outcomes a text tells, each with the word that tells it."""
    found = ((name, words.search(text)) for name, words in OUTCOMES.items())
    return {name: match[0] for name, match in found if match}


def is_denied(text: str) -> bool:
    """Whether a text says of anything that it is not so."""
    return bool(_NOT.search(text))


def denies(text: str, outcome: str) -> bool:
    """Whether every place where a text names an outcome has a "not" shortly before it."""
    places = [match.start() for match in OUTCOMES[outcome].finditer(text)]
    return bool(places) and all(_is_denied_at(text, at) for at in places)


def _is_denied_at(text: str, at: int) -> bool:
    before = _CLAUSE.split(text[max(0, at - _NEAR_CHARS) : at])[-1]
    return bool(_NOT.search(before))
