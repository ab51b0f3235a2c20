"""How much of a sentence is in a text: its words of content, counted by stem.

A quote proves itself and nothing else. A sentence in the model's own words has to share words with
the quote before the quote can stand for it, and most of its words with the frame before it may be
called a paraphrase. Where sentence and text are in different scripts no words can be compared, and
only figures and names can tie them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from assistant.core.texts import HAN, HAN_RUN, normalize

LETTERS_OF_AN_ENDING = 3
"""So many letters more or less a form of a word may have: "workshop" is no form of "work".
"""

_HAN_WORD = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2}")
_LATIN = re.compile(r"[^\W\d_\u3400-\u9fff][^\W_\u3400-\u9fff]*")
_ENDING = re.compile(r"(?:'s|ings?|ed|ers?|ions?|ments?|ly|es|s|e|y|ies|ied)$")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def words(name: str) -> list[str]:
    """A list of ``words.toml``."""
    text: str = _WORDS[name]
    return text.split()


_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text("utf-8"))
_COMMON = frozenset(words("common"))
_IRREGULAR = dict(zip(words("irregular")[::2], words("irregular")[1::2], strict=True))
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
    return words | {run[i : i + 2] for run in HAN_RUN.findall(plain) for i in range(len(run) - 1)}


def share(words: Collection[str], texts: Iterable[str]) -> float:
    """The part of some content words (0..1) that stand in the texts; 1.0 of no words."""
    if not words:
        return 1.0
    return 1 - len(lacking(words, texts)) / len(words)


def lacking(words: Collection[str], texts: Iterable[str]) -> set[str]:
    """Those of some content words that stand in none of the texts."""
    whole = " ".join(texts)
    stems, han = _held(whole)
    return {word for word in words if not (word in han if HAN.match(word) else _is_among(word, stems))}


@lru_cache(maxsize=256)
def _held(text: str) -> tuple[frozenset[str], str]:
    """The stems and the Han signs of a text; each sentence of an answer asks for those of the same frames."""
    return frozenset(stem(word) for word in _latin(text)), "".join(HAN_RUN.findall(normalize(text)))


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


# ---- telling words
# What a model's telling adds to what a screen shows: "the mail asks", "you had open", 手册要求.
#
# These words say how something was told, where it stood or when; they say nothing of it that a frame would
# have to show. So `assistant.evidence.support` asks for no proof of them. Words for what became of
# something are not among them (`assistant.evidence.outcomes`), nor are words for people who may have done it.


def _forms(word: str) -> Iterator[str]:
    """A word as it is, in the plural and as a verb bends it; some forms are no words, and match none."""
    yield from (word, f"{word}s", f"{word}es", f"{word}ed", f"{word}ing", f"{word}d", f"{word}ly")
    yield from (
        f"{word}{word[-1]}ed",
        f"{word}{word[-1]}ing",
        f"{word[:-1]}ing",
        f"{word[:-1]}ies",
        f"{word[:-1]}ied",
    )


def _stems(name: str) -> frozenset[str]:
    return frozenset(stem(form) for word in words(name) for form in _forms(word))


FORMS = _stems("forms")
"""What a text is made of, by stem: a line, a message, a table."""

TELLING = FORMS | _stems("telling")
"""By stem."""

# How many of what, and small words of one sign.
_HAN_COUNT = (
    "[\\d一二三四五六七八九十百千万两零〇几多半]+[个条项次位名份封台组元秒天周月年日点分号级行期]?|星期."
)
_HAN_SIGN = """
你我他她它们说讲称请让写用中里内应须需可会能将要曾已仍还再又也都就才只仅先后前时若因但而且并和与或及的了着过吗呢吧
把被对从由到至于在是有为以其此该这那每各未无不
"""
TELLING_HAN = re.compile(
    "|".join(
        [
            *sorted(words("telling_han"), key=len, reverse=True),
            _HAN_COUNT,
            f"[{''.join(_HAN_SIGN.split())}]",
        ]
    )
)


# ---- glossary
# Chinese and English words of work for the same thing: a sentence in one is held to a text in the other.
#
# No dictionary: the common words of offices, projects, programs, measuring and the weather, each with the
# English words it may stand for. A word that is missing here proves and disproves nothing by itself.


def _pairs(text: str) -> dict[str, tuple[str, ...]]:
    entries = (entry.split() for entry in text.replace("\n", " ").split("|"))
    return {entry[0]: tuple(entry[1:]) for entry in entries if entry}


TERMS = {han: frozenset(stem(word) for word in english) for han, english in _pairs(_WORDS["terms"]).items()}
NAMES = {han: normalize(" ".join(english)) for han, english in _pairs(_WORDS["names"]).items()}
_NAMES_IN_LATIN = re.compile(rf"\b(?:{'|'.join(map(re.escape, NAMES.values()))})\b")
_NAMES_IN_HAN = re.compile("|".join(NAMES))
_LONGEST_FIRST = re.compile("|".join(sorted(TERMS, key=len, reverse=True)))


def same_words(said: str, texts: Sequence[str]) -> tuple[set[str], set[str]]:
    """The words of a sentence that are known here: those that the texts have in the other language, and
    those that they have not.
    """
    whole = normalize("\n".join(texts))
    shown, unlike = _han(said, whole) if has_han(said) else _glossary_latin(said, whole)
    # A single sign is mostly part of another word, or counts something.
    open_words = {word for word in unlike - shown if len(word) > 1 and not TELLING_HAN.fullmatch(word)}
    return shown, open_words - TELLING


def without_terms(said: str) -> str:
    """A sentence in normal form without the Chinese words and names that are known here."""
    return _NAMES_IN_HAN.sub(" ", _LONGEST_FIRST.sub(" ", said))


def _han(said: str, whole: str) -> tuple[set[str], set[str]]:
    terms = set(_LONGEST_FIRST.findall(normalize(said)))
    shown = {term for term in terms if TERMS[term] - lacking(TERMS[term], [whole])}
    return shown, terms - shown


def _glossary_latin(said: str, whole: str) -> tuple[set[str], set[str]]:
    here = frozenset[str]().union(*(TERMS[term] for term in TERMS if term in whole))
    words = content_words(said) & _glossary_stems()
    shown = words & here
    return shown, words - shown


@lru_cache(maxsize=1)
def _glossary_stems() -> frozenset[str]:
    return frozenset().union(*TERMS.values())


def names(texts: Iterable[str]) -> set[str]:
    """Towns, countries and programs that texts name in either language, by their English names."""
    return set(_named_in(normalize("\n".join(texts))))


@lru_cache(maxsize=256)
def _named_in(whole: str) -> frozenset[str]:
    latin = set(_NAMES_IN_LATIN.findall(whole))
    return frozenset(name for han, name in NAMES.items() if name in latin or han in whole)
