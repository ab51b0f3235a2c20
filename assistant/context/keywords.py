"""What a person's questions are about, as tags: their own words only, never an answer's (R1.29, R1.33)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from assistant.core.redaction import REDACTED, redacted
from assistant.core.texts import question_words

MAX_TAGS = 8
TAG_MIN_CHARS = 3
TAG_MIN_CJK_CHARS = 2
TAG_MAX_CHARS = 40

# Words of asking in a chat beside those of `texts.question_words`; they name no subject.
_STOP_TEXT = """
again also any anything app began begin came come comes end ended ends gave given gives goes happen better
both chat check come could detail details different each else every exactly example explain few first give
going good help here idea info information just kind know let like long main maybe mean more most need never
next one only other own page part people question really right same short should still such sure take thanks
though too try two under until very want way well where whether without word words would yes yet answer
answers earlier continue mention mentioned happened happen actually another around back became because
一个 这个 那个 这些 那些 可以 不是 就是 还有 没有 知道 觉得 现在 以后 以前 东西 问题 一些 一样 因为 所以 但是
如果 怎样 如何 谢谢 你好 应该 需要 关于 继续 刚刚 其他 里面 出来 起来
"""
_MORE_STOP_WORDS = frozenset(_STOP_TEXT.split())
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_HAS_LETTER = re.compile(r"[^\W\d_]")
_REDACTED_WORD = REDACTED.strip("[]")


def keyword_candidates(message: str) -> tuple[str, ...]:
    """The words of one message that may be tags, in normal form, each once."""
    return tuple(word for word in question_words(redacted(message)) if _is_tag(word))


def tags(messages: Sequence[str], most: int = MAX_TAGS) -> dict[str, float]:
    """Tags of a session with how sure each is, 0 to 1: the share of its questions that name it.

    A word of one question among many says less than half of what a word of each does.
    """
    named = [keyword_candidates(message) for message in messages]
    known = {word for words in named for word in words}
    counted = Counter(word for words in named for word in {_singular(each, known) for each in words})
    ranked = sorted(counted, key=lambda word: (-counted[word], -min(len(word), 12), word))
    return {word: round(0.3 + 0.7 * counted[word] / len(messages), 3) for word in ranked[:most]}


def _singular(word: str, known: Collection[str]) -> str:
    """The word without its plural s, where it is used without it, too."""
    return word[:-1] if word.endswith("s") and word[:-1] in known else word


def _is_tag(word: str) -> bool:
    if _HAN.search(word):
        return len(word) >= TAG_MIN_CJK_CHARS and word not in _MORE_STOP_WORDS
    return (
        TAG_MIN_CHARS <= len(word) <= TAG_MAX_CHARS
        and word not in _MORE_STOP_WORDS
        and word != _REDACTED_WORD
        and _HAS_LETTER.search(word) is not None
    )
