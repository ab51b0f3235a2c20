"""How much of a sentence is in a text: its words of content, counted by stem.

A quote proves itself and nothing else. A sentence in the model's own words has to share words with
the quote before the quote can stand for it, and most of its words with the frame before it may be
called a paraphrase. Where sentence and text are in different scripts no words can be compared, and
only figures and names can tie them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from assistant.core.texts import normalize

LETTERS_OF_AN_ENDING = 3
"""So many letters more or less a form of a word may have: "workshop" is no form of "work".
"""

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAN_WORD = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2}")
_HAN_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]+")
_LATIN = re.compile(r"[^\W\d_\u3400-\u9fff][^\W_\u3400-\u9fff]*")
_ENDING = re.compile(r"(?:'s|ings?|ed|ers?|ions?|ments?|ly|es|s|e|y|ies|ied)$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_COMMON_TEXT = """
a about according activity after again all also am an and another any app appear appeared appears
application apps are around as at back be because been before began begin being between both brief briefly
browse browsed browser browsing but by came can change changed check checked checking clearly come compare
compared contain contained contains continue continued could day did different discuss discussed display
displayed document during each edit edited editing either entitled etc exact exactly file files find first
focus focused followed following for found frame from further general get go going got had has have having
he her here him his hour hours how i in include included includes including into is it item its itself
just label labelled last later like line list listed lists look looked looking made main mainly make many
me mention mentioned mentions minute minutes moment more morning afternoon evening most mostly moved my
name named new next no not note noted notes now of off on once one only onto open opened opening or other
our out over own page part person previously quick quickly read reading really recent recently record
recorded refer referred related review reviewed reviewing same saw say says screen screenshot second
section see seem seemed seems seen several she show showed showing shown shows since site so some
something spend spent start started state stated states still such switch switched tab talk talked task
text than that the their them then there these they thing things this those through time times titled to
together took toward turn two type typed typing under until up update updated upon us use used user using
value various version very view viewed viewing visible visit visited visiting was watch watched way we
website week went were what when where which while who whole why will window with within word words work
worked working would write writing written wrote yesterday today you your
"""
_COMMON = frozenset(_COMMON_TEXT.split())
_IRREGULAR_TEXT = """
bought buy sold sell went go gone go sent send built build kept keep lost lose paid pay told tell taken
take took take given give gave give chose choose chosen choose broke break broken break drove drive held
hold grew grow grown grow fell fall fallen fall rose rise risen rise ran run met meet won win spoke speak
spoken speak drew draw drawn draw thought think brought bring left leave stole steal stolen steal deeper
deep depth deep
"""
_IRREGULAR = dict(zip(_IRREGULAR_TEXT.split()[::2], _IRREGULAR_TEXT.split()[1::2], strict=True))
_COMMON_HAN = re.compile(
    "你们|我们|他们|她们|屏幕上|屏幕|画面|截图|窗口|页面|应用|程序|文件|文档|显示|出现|打开|查看|看到|看了|浏览|阅读|编辑|"
    "编写|写了|修改|使用|正在|进行|工作|处理|继续|开始|切换|访问|讨论|内容|标题|名为|名称|叫做|其中|以及|并且|同时|然后|随后|"
    "之后|之前|期间|左右|大约|主要|相关|关于|一个|一些|一份|一封|多个|几个|这个|那个|上午|下午|早上|晚上|中午|凌晨|今天|昨天|"
    "前天|小时|分钟|时间|当时|接着|还有|提到|写道|写着|设置|设为|改为|[你我他她它您的了着过和与及或在于是有为被把将向对给从到用上中里"
    "下内这那其并也都就还又但而个条份次位项]"
)


def content_words(text: str) -> set[str]:
    """Stems of the words that say something, and pairs of Han characters, in normal form."""
    words = {stem(word) for word in _latin(text) if len(word) > 2 and word not in _COMMON}
    plain = _COMMON_HAN.sub(" ", normalize(text))
    return words | {run[i : i + 2] for run in _HAN_RUN.findall(plain) for i in range(len(run) - 1)}


def share(words: Collection[str], texts: Iterable[str]) -> float:
    """The part of some content words (0..1) that stand in the texts; 1.0 of no words."""
    if not words:
        return 1.0
    return 1 - len(lacking(words, texts)) / len(words)


def lacking(words: Collection[str], texts: Iterable[str]) -> set[str]:
    """Those of some content words that stand in none of the texts."""
    whole = " ".join(texts)
    stems, han = _held(whole)
    return {word for word in words if not (word in han if _HAN.match(word) else _is_among(word, stems))}


@lru_cache(maxsize=256)
def _held(text: str) -> tuple[frozenset[str], str]:
    """The stems and the Han signs of a text; each sentence of an answer asks for those of the same frames."""
    return frozenset(stem(word) for word in _latin(text)), "".join(_HAN_RUN.findall(normalize(text)))


def named(words: Iterable[str], text: str) -> set[str]:
    """The Latin words that a text has in some form of them: "approved" names "approve".

    Of three letters only as they are: without its ending "offer" would be "off".
    """
    latin = set(_latin(text))
    stems = {stem(word) for word in latin}
    return {word for word in words if (word in latin if len(word) <= 3 else _is_among(stem(word), stems))}


def is_foreign(sentence: str, texts: Iterable[str]) -> bool:
    """Whether a sentence is written in Han and the texts hold none, or the other way round.

    A reader takes a bullet or an icon for a single sign: a word has two.
    """
    return has_han(sentence) != any(has_han(text) for text in texts)


def has_han(text: str) -> bool:
    """Whether a word of a text is in Han."""
    return bool(_HAN_WORD.search(text))


def _latin(text: str) -> list[str]:
    return _LATIN.findall(normalize(_CAMEL.sub(" ", text)))


def stem(word: str) -> str:
    """A word in normal form without its ending, so that its forms are the same."""
    word = _IRREGULAR.get(word, word)
    shorter = _ENDING.sub("", word)
    return shorter if len(shorter) >= 3 else word


def _is_among(stem: str, stems: Collection[str]) -> bool:
    if stem in stems:
        return True
    return len(stem) >= 4 and any(
        len(other) >= 4
        and abs(len(other) - len(stem)) <= LETTERS_OF_AN_ENDING
        and (other.startswith(stem) or stem.startswith(other))
        for other in stems
    )
