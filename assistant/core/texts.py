"""Small readings of text that several parts of the assistant share: normal form, size, language."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

from store.core.tokenizer import CJK as CJK
from store.core.tokenizer import estimate_tokens as estimate_tokens

Language = Literal["en", "zh"]

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_SPACE = re.compile(r"\s+")


def language_of(text: str) -> Language:
    """Chinese when the text has Han characters, else English: the languages we have sentences in."""
    return "zh" if _HAN.search(text) else "en"


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
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")


def question_words(message: str) -> tuple[str, ...]:
    """The words of a question that say what it is about, in normal form; none for "what did I do".

    Han runs are cut into pairs, since Chinese has no spaces to cut at.
    """
    plain = _STOP_HAN.sub(" ", normalize(message))
    pairs = (run[i : i + 2] for run in _HAN_RUN.findall(plain) for i in range(len(run) - 1))
    words = (word.rstrip(".-") for word in _WORD.findall(_HAN_RUN.sub(" ", plain)))
    kept = [w for w in words if len(w) > 1 and w not in _STOP_WORDS and not _CLOCK.fullmatch(w)]
    return tuple(dict.fromkeys([*kept, *pairs]))


def matches(words: Iterable[str], text: str) -> int:
    """How many of the words a text names; Latin words from their beginning on, not inside others."""
    form = normalize(text)
    return sum(position(word, form) >= 0 for word in words)


def position(word: str, form: str) -> int:
    """Where a text in normal form first names a word, or -1: "read" is not in "thread"."""
    at = form.find(word)
    while at > 0 and word[0].isascii() and _is_latin(form[at - 1]):
        at = form.find(word, at + 1)
    return at


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()
