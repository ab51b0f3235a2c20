"""SentencePiece, the tokenizer of multilingual models: the likeliest pieces of a text.

A text is brought into one form of Unicode (``nmt_nfkc``), its spaces become ``▁``, and of all ways to
cut it into pieces of the vocabulary the one with the largest sum of scores is taken (Viterbi). Kudo
and Richardson, "SentencePiece", 2018; the file is a protocol buffer,
https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto.
"""

from __future__ import annotations

import struct
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate

UNKNOWN, BEGIN, END = 0, 1, 2
_UNKNOWN_PENALTY = 10.0
_SPACE = "\u2581"
_NORMAL = 1  # a piece that stands for text; others are signs like <s>
# What nmt_nfkc does besides NFKC: these signs go, those are spaces.
_DROPPED = dict.fromkeys([*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F])
_SPACES = dict.fromkeys(
    [*map(ord, "\t\n\f\r"), 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD], " "
)
_KEPT = "\uff5e"  # the wide tilde, which NFKC would make a narrow one


class SentencePiece:
    """Token ids of texts. `model` is the file's content; a piece's id is its place in it.

    The pieces are held sorted, as one string: a dictionary of them would take five times the memory.
    """

    def __init__(self, model: bytes) -> None:
        pieces: list[str] = []
        numbers, scores = array("I"), array("f")
        for number, piece, score in _pieces(model):
            pieces.append(piece)
            numbers.append(number)
            scores.append(score)
        order = array("I", sorted(range(len(pieces)), key=pieces.__getitem__))
        self._ids = array("I", (numbers[at] for at in order))
        self._scores = array("f", (scores[at] for at in order))
        self._starts = array("I", accumulate((len(pieces[at]) for at in order), initial=0))
        self._sorted = "".join(pieces[at] for at in order)
        self._places = range(len(pieces))
        self._longest = max(map(len, pieces))
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY

    def ids(self, text: str, max_tokens: int) -> list[int]:
        """Ids from ``<s>`` to ``</s>``, at most `max_tokens` of them."""
        # No piece is longer than that, so nothing beyond could come in.
        plain = normalised(text[: max_tokens * self._longest])
        found = self._cut(_SPACE + plain.replace(" ", _SPACE)) if plain else []
        return [BEGIN, *found[: max_tokens - 2], END]

    def _cut(self, text: str) -> list[int]:
        """The best pieces: at each place the best score up to there, and the piece that ends there."""
        best = [0.0] + [-float("inf")] * len(text)
        last = [(0, UNKNOWN)] * (len(text) + 1)  # (where the piece begins, its id)
        for start in range(len(text)):
            nodes = [(len(piece), number, score) for piece, number, score in self._at(text, start)]
            if not nodes or nodes[0][0] > 1:
                nodes.append((1, UNKNOWN, self._unknown_score))
            for length, number, score in nodes:
                end = start + length
                if best[start] + score > best[end]:
                    best[end] = best[start] + score
                    last[end] = (start, number)
        found, end = [], len(text)
        while end:
            end, number = last[end]
            found.append(number)
        return found[::-1]

    def _at(self, text: str, start: int) -> Iterator[tuple[str, int, float]]:
        """(piece, id, score) of the pieces that stand at `start`, the shortest first."""
        low = 0
        for end in range(start + 1, min(start + self._longest, len(text)) + 1):
            wanted = text[start:end]
            low = bisect_left(self._places, wanted, lo=low, key=self._piece)
            if low == len(self._places):
                return
            piece = self._piece(low)
            if piece == wanted:
                yield piece, self._ids[low], self._scores[low]
            elif not piece.startswith(wanted):
                return

    def _piece(self, place: int) -> str:
        return self._sorted[self._starts[place] : self._starts[place + 1]]


def normalised(text: str) -> str:
    """The text in the form the vocabulary has, without spaces at its ends or two in a row."""
    cleaned = text.translate(_DROPPED).translate(_SPACES)
    composed = _KEPT.join(unicodedata.normalize("NFKC", part) for part in cleaned.split(_KEPT))
    return " ".join(part for part in composed.split(" ") if part)


# -- the file -----------------------------------------------------------------------------


def _pieces(model: bytes) -> Iterator[tuple[int, str, float]]:
    """(id, piece, score) of the pieces that stand for text."""
    messages = (message for field, message in _fields(model) if field == 1)
    for number, message in enumerate(messages):
        if isinstance(message, bytes):
            piece, score, kind = "", 0.0, _NORMAL
            for part, value in _fields(message):
                if part == 1 and isinstance(value, bytes):
                    piece = value.decode()
                elif part == 2 and isinstance(value, bytes):
                    (score,) = struct.unpack("<f", value)
                elif part == 3 and isinstance(value, int):
                    kind = value
            if kind == _NORMAL:
                yield number, piece, score


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """(number, value) of a protocol buffer's fields. Raises `ValueError` for another kind of file."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                value, at = _varint(message, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(message, at)
            case 5:
                size = 4
            case other:
                raise ValueError(f"no protocol buffer: wire type {other}")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, the lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


# ---- wordpiece
# WordPiece, the tokenizer of BERT and its descendants, for vocabularies in lower case.
#
# A text is cleaned, lower-cased and stripped of accents, cut at spaces, punctuation and around every
# CJK character; each word is then the longest pieces of the vocabulary from left to right, the
# later ones with ``##`` before them. Devlin et al., "BERT", 2018; the cutting follows
# https://github.com/google-research/bert/blob/master/tokenization.py.

WORDPIECE_UNKNOWN = "[UNK]"
WORDPIECE_BEGIN = "[CLS]"
WORDPIECE_END = "[SEP]"
_MAX_WORD_CHARS = 100
# Control, format, private use and halves of characters; what Unicode has not assigned stays.
_WORDPIECE_DROPPED = {"Cc", "Cf", "Co", "Cs"}
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
        self._unknown = self._ids[WORDPIECE_UNKNOWN]
        self._begin, self._end = self._ids[WORDPIECE_BEGIN], self._ids[WORDPIECE_END]
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
        elif char not in "\0\ufffd" and unicodedata.category(char) not in _WORDPIECE_DROPPED:
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
