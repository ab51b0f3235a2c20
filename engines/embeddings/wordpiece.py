"""WordPiece, the tokenizer of BERT and its descendants, for vocabularies in lower case.

A text is cleaned, lower-cased and stripped of accents, cut at spaces, punctuation and around every
CJK character; each word is then the longest pieces of the vocabulary from left to right, the
later ones with ``##`` before them. Devlin et al., "BERT", 2018; the cutting follows
https://github.com/google-research/bert/blob/master/tokenization.py.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

UNKNOWN = "[UNK]"
BEGIN = "[CLS]"
END = "[SEP]"
_MAX_WORD_CHARS = 100
# Control, format, private use and halves of characters; what Unicode has not assigned stays.
_DROPPED = {"Cc", "Cf", "Co", "Cs"}
# The blocks BERT treats as CJK ideographs; kana and hangul are letters like others.
_CJK = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Token ids of texts. `pieces` are the vocabulary's lines; a piece's id is its place."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._ids: Mapping[str, int] = {piece: number for number, piece in enumerate(pieces)}
        self._unknown = self._ids[UNKNOWN]
        self._begin, self._end = self._ids[BEGIN], self._ids[END]
        self._word_ids = lru_cache(maxsize=20_000)(self._split)

    def ids(self, text: str, max_tokens: int) -> list[int]:
        """Ids from ``[CLS]`` to ``[SEP]``, at most `max_tokens` of them."""
        found: list[int] = []
        for word in words(text):
            found += self._word_ids(word)
            if len(found) >= max_tokens - 2:
                break
        return [self._begin, *found[: max_tokens - 2], self._end]

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > _MAX_WORD_CHARS:
            return (self._unknown,)
        found, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            for end in range(len(word), start, -1):
                number = self._ids.get(prefix + word[start:end])
                if number is not None:
                    break
            else:
                return (self._unknown,)
            found.append(number)
            start = end
        return tuple(found)


def words(text: str) -> Iterator[str]:
    """The words, signs and CJK characters of a text, in lower case and without accents."""
    spaced = "".join(f" {char} " if _is_cjk(char) else char for char in _cleaned(text))
    for word in unicodedata.normalize("NFD", spaced.lower()).split():
        plain = "".join(char for char in word if unicodedata.category(char) != "Mn")
        yield from _at_signs(plain)


def _cleaned(text: str) -> Iterator[str]:
    for char in text:
        if char in "\t\n\r" or unicodedata.category(char) == "Zs":
            yield " "
        elif char not in "\0\ufffd" and unicodedata.category(char) not in _DROPPED:
            yield char


def _at_signs(word: str) -> Iterator[str]:
    start = 0
    for at, char in enumerate(word):
        if _is_sign(char):
            if start < at:
                yield word[start:at]
            yield char
            start = at + 1
    if start < len(word):
        yield word[start:]


def _is_sign(char: str) -> bool:
    """Punctuation, and every ASCII character that is neither letter, digit nor space."""
    code = ord(char)
    if code < 128:
        return 33 <= code <= 126 and not char.isalnum()
    return unicodedata.category(char).startswith("P")


def _is_cjk(char: str) -> bool:
    code = ord(char)
    return code >= 0x3400 and any(low <= code <= high for low, high in _CJK)
