"""What several parts of the assistant do with text: normal form, size, language, and making it harmless."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from store.core.tokenizer import CJK as CJK
from store.core.tokenizer import estimate_tokens as estimate_tokens

Language = Literal["en", "zh"]

HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_SPACE = re.compile(r"\s+")


def language_of(text: str) -> Language:
    """Chinese when the text has Han characters, else English: the languages we have sentences in."""
    return "zh" if HAN.search(text) else "en"


@lru_cache(maxsize=8192)
def normalize(text: str) -> str:
    """NFKC, case folded, white space collapsed: how two texts are compared."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


_STOP_TEXT = """
a about after afternoon all am an and any are as ask asked at be been before between by can change changed
could day days did do does doing done during edit edited evening everything find for found from get give go
got had has have hour hours how i in into is it last list look looked looking made make me minute minutes
month morning much my night now of on open opened or our out over overview past please read reading recap
said saw say screen see seen show showed since some spend spent summarise summarize summary tell than that
the their them then there these they thing things this time to today tonight up us use used using was watch
watched we week went were what when where which while who why will with work worked working would write
writing wrote yesterday you your
"""
_STOP_WORDS = frozenset(_STOP_TEXT.split())
_STOP_HAN = re.compile(
    "总结一下|总结|概括|告诉我|请问|帮我|今天|昨天|前天|上午|下午|晚上|早上|中午|凌晨|本周|上周|刚才|最近|过去|"
    "小时|分钟|什么|哪些|哪个|怎么|多少|为什么|有没有|时候|时间|做了|做过|看了|看过|看到|在做|干了|干过|我们|我|"
    "你|了|的|吗|呢|吧|在|是|有|和|与|到|从|把|被|都|也|点|请|一下|周[一二三四五六日天]"
)
_WORD = re.compile(r"[^\W_][\w.+#-]*")
_CLOCK = re.compile(r"\d{1,2}(?:[-.]\d{1,2})*(?:am|pm)?")


def question_words(message: str) -> tuple[str, ...]:
    """The words of a question that say what it is about, in normal form; none for "what did I do".

    Han runs are cut into pairs, since Chinese has no spaces to cut at.
    """
    plain = _STOP_HAN.sub(" ", normalize(message))
    pairs = (run[i : i + 2] for run in HAN_RUN.findall(plain) for i in range(len(run) - 1))
    words = (word.rstrip(".-") for word in _WORD.findall(HAN_RUN.sub(" ", plain)))
    kept = [w for w in words if len(w) > 1 and w not in _STOP_WORDS and not _CLOCK.fullmatch(w)]
    return tuple(dict.fromkeys([*kept, *pairs]))


def matches(words: Iterable[str], text: str) -> int:
    """How many of the words a text names; Latin words from their beginning on, not inside others."""
    form = normalize(text)
    return sum(position(word, form) >= 0 for word in words)


def position(word: str, form: str) -> int:
    """Where a text in normal form first names a word, or -1: "read" is not in "thread"."""
    at = form.find(word)
    while at > 0 and word[0].isascii() and form[at - 1].isascii() and form[at - 1].isalnum():
        at = form.find(word, at + 1)
    return at


# -- secrets taken out ------------------------------------------------------------------------
#
# What looks like a secret becomes ``[redacted]``: keys by their prefixes, PEM private keys, JSON web tokens,
# values that stand behind a word like ``password``, credentials in addresses, and card numbers whose check
# digit is right. In doubt it goes: a summary can do without a word, and nobody misses it there.

REDACTED = "[redacted]"

# Prefixes are those that the makers document, so that leaked keys can be found.
_PREFIXED = re.compile(
    r"""
    (?<![A-Za-z0-9])(?:
        (?:sk|pk|rk)[-_](?:[A-Za-z0-9]+[-_])*[A-Za-z0-9_-]{8,}     # OpenAI, Anthropic, Stripe
      | gh[pousr]_[A-Za-z0-9]{8,} | github_pat_[A-Za-z0-9_]{8,}
      | glpat-[A-Za-z0-9_-]{8,}
      | (?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{8,}
      | AIza[A-Za-z0-9_-]{16,} | ya29\.[A-Za-z0-9_-]{8,}
      | xox[abeprs]-[A-Za-z0-9-]{8,} | xapp-[A-Za-z0-9-]{8,}
      | hf_[A-Za-z0-9]{8,} | npm_[A-Za-z0-9]{8,} | pypi-[A-Za-z0-9_-]{8,} | dop_v1_[a-f0-9]{8,}
      | SG\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}
      | whsec_[A-Za-z0-9]{8,} | shp(?:at|ss|ca|pa)_[a-fA-F0-9]{8,}
      | AGE-SECRET-KEY-1[A-Z0-9]{8,}
    )
    """,
    re.VERBOSE,
)
# A key that is cut off, as by a screen's edge, has no end line.
_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [^-]*-----|\Z)", re.DOTALL)
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?")
_BEARER = re.compile(r"(?i)\b(?P<kept>(?:bearer|basic)\s+)(?P<value>[A-Za-z0-9+/=._~-]{12,})")
_IN_ADDRESS = re.compile(r"(?P<kept>\b[a-z][a-z0-9+.-]*://)(?P<value>[^\s/@:]*:[^\s/@]+)(?=@)", re.IGNORECASE)
_REDACTION_WORD = (
    r"(?:pass(?:word|wd|phrase|code)|passwd|pwd|secret|token|api[ _-]?key|access[ _-]?key|private[ _-]?key"
    r"|client[ _-]?secret|credentials?|密码|口令|令牌|密钥|密鑰|密碼)"
)
_QUOTED_OR_WORD = r"(?:\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|[^\s,;&]+)"
_NAMED = re.compile(
    rf"(?P<kept>[A-Za-z0-9_.-]*{_REDACTION_WORD}[A-Za-z0-9_-]*[\"'`]?\s*(?:=>?|:=|[:：＝])\s*)(?P<value>{_QUOTED_OR_WORD})",
    re.IGNORECASE,
)
# "the password is hunter2": only what no prose would say there.
_SAID = re.compile(
    rf"(?P<kept>{_REDACTION_WORD}\s+(?:is|was)\s+|(?:密码|口令|密碼)\s*是\s*)"
    r"(?P<value>(?=[^\s,;]*[0-9])[^\s,;]{4,}|\"[^\"\n]+\"|'[^'\n]+')",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![\d.])\d(?:[ -]?\d){11,18}(?![\d.]?\d)")


def redacted(text: str) -> str:
    """The text with `REDACTED` in the place of each secret; a second time it changes nothing."""
    text = _PEM.sub(REDACTED, text)
    text = _JWT.sub(REDACTED, text)
    for pattern in (_IN_ADDRESS, _NAMED, _SAID, _BEARER):
        text = pattern.sub(lambda match: match["kept"] + REDACTED, text)
    text = _PREFIXED.sub(REDACTED, text)
    return _DIGITS.sub(_card, text)


def _card(match: re.Match[str]) -> str:
    digits = [int(character) for character in match[0] if character.isdigit()]
    return REDACTED if is_luhn(digits) else match[0]


def is_luhn(digits: list[int]) -> bool:
    """Whether the last digit is the check digit of the others (ISO/IEC 7812-1)."""
    doubled = (digit if at % 2 == 0 else sum(divmod(digit * 2, 10)) for at, digit in enumerate(digits[::-1]))
    return sum(doubled) % 10 == 0


# -- text from outside, made harmless ---------------------------------------------------------
#
# What stands on a screen, in a message, in a file or on a web page may look like the markup of a call,
# or like the tokens by which a model's template tells who speaks. A server that writes the prompt into
# one text may read them as such. Only the copy in a prompt is changed; what is stored and quoted stays
# as it is.

_TOKEN = re.compile(r"<[|｜][\w .:/▁-]{1,64}[|｜]>")
"""``<|im_start|>``, and DeepSeek's with wide bars."""

_TAG = re.compile(
    r"<(?=/?function_calls?\b|/?function=|/function>|/?invoke\b"
    r"|/?parameter\b|/?tools?\b|/?tool_(?:calls?|results?|response|outputs?)\b"  # XML of several models
    r"|/?(?:start|end)_of_turn>|/?s>|</?SYS>|/?think(?:ing)?>)",  # turns of Gemma and Llama 2, thoughts
    re.IGNORECASE,
)
_BRACKET = re.compile(
    r"\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])"
)
"""Mistral's and Llama 2's."""

_ACTION = re.compile(r"Action:(?=\s*```)")
"""Command-R's fence is a call behind this word only."""


def neutralized(text: str) -> str:
    """`text` without control tokens, and with other markup broken: ``&lt;``, ``[ INST]``, ``Action```.

    Taking a token out can bring another together, so it is repeated until nothing changes.
    """
    while (without := _TOKEN.sub("", text)) != text:
        text = without
    return _ACTION.sub("Action", _BRACKET.sub("[ ", _TAG.sub("&lt;", text)))
