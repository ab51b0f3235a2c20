"""What a search takes where no frame holds its words as they stand: their pieces, then what looks like them.

Words written without spaces are looked for in pieces: 青禾账单 finds a frame with 青禾 and 账单 apart. The
index can only look for such a run as a whole, so it is cut into pieces of two or three characters, in every
way that comes out even; all pieces of one way must be on the frame. No dictionary decides what a word is, and
a cut in the wrong place finds nothing.

A look-alike is a word as a machine may have read it: rn for m, 1 for l, 己 for 已. A variant is the word with
some of its shapes exchanged for others of their group: none in a word of two letters, one in a word of three
to five, two in a longer one, because the shorter a word, the sooner another one looks like it. A longer one
may have been read as two, too: bel lows. Variants that no frame holds are dropped by asking the index itself,
one look-up each, so nothing is kept that a deletion would have to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, chain
from typing import Literal

import apsw

from store.core import tokenizer
from store.core.full_text import And, Node, Or, Phrase, phrases
from store.search.query import MAX_QUERY_WORDS, Query

_GROUPS = (
    ("rn", "m"), ("l", "1", "i"), ("0", "o"), ("vv", "w"), ("cl", "d"), ("5", "s"), ("8", "b"), ("2", "z"),
    ("己", "已", "巳"), ("未", "末"), ("日", "曰"), ("土", "士"), ("人", "入"), ("大", "太", "犬"),
    ("干", "千", "于"), ("王", "玉"), ("木", "本", "术"), ("今", "令"), ("免", "兔"), ("问", "间"),
    ("侯", "候"), ("折", "拆"), ("拔", "拨"), ("晴", "睛"), ("辨", "辩"), ("戊", "戌", "戍"), ("天", "夭"),
    ("力", "刀"), ("贷", "货"), ("徽", "微"),
)  # fmt: skip
_OTHERS = {shape: [other for other in group if other != shape] for group in _GROUPS for shape in group}
_LONGEST = max(map(len, _OTHERS))

_LONG = 6  # letters

MAX_TRIED = 120
"""Variants of one word that are looked up in the index: 0.02 ms each."""
_MAX_KEPT = 12

MatchKind = Literal["text", "pieces", "lookalike"]


def readings(connection: apsw.Connection, asked: Query) -> Iterator[tuple[MatchKind, Query]]:
    """The ways to take a question, the next one for when no frame holds what the one before asks.

    Operators, quotes and ``*`` ask for these very words. The last way asks the index.
    """
    yield "text", asked
    if asked.is_exact or asked.tree is None:
        return
    cut = split_ngrams(asked)
    if cut is not None:
        yield "pieces", cut
    alike = with_look_alikes(connection, cut or asked)
    if alike is not None:
        yield "lookalike", alike


def variants(word: str, exchanges: int | None = None) -> Iterator[str]:
    """What `word` may have been read as, the likeliest (one exchange) first, without itself."""
    seen, found = {word}, [word]
    if exchanges is None:
        exchanges = 0 if len(word) < 3 else 1 if len(word) < _LONG else 2
    for _ in range(exchanges):
        found = [changed for each in found for changed in _exchanged(each)]
        for each in found:
            if each not in seen:
                seen.add(each)
                yield each


def halves(word: str) -> Iterator[str]:
    """A long word read as two, of two letters at least, in every way."""
    if len(word) >= _LONG:
        yield from (f"{word[:at]} {word[at:]}" for at in range(2, len(word) - 1))


def _exchanged(word: str) -> Iterator[str]:
    for at in range(len(word)):
        for length in range(1, _LONGEST + 1):
            for other in _OTHERS.get(word[at : at + length], ()):
                if len(word[at : at + length]) == length:
                    yield word[:at] + other + word[at + length :]


def with_look_alikes(connection: apsw.Connection, asked: Query) -> Query | None:
    """`asked` so that frames with what its words may have been read as match, too.

    None when no frame holds such a word, or when the query has no room for one.
    """
    each = min(_MAX_KEPT, (MAX_QUERY_WORDS - len(asked.words)) // max(len(asked.words), 1))
    if asked.tree is None or each < 1:
        return None
    tree = _replaced(connection, asked.tree, each)
    return None if tree == asked.tree else replace(asked, tree=tree)


def _replaced(connection: apsw.Connection, node: Node, most: int) -> Node:
    match node:
        case Phrase(literal=None):
            alike = tuple(_alike(connection, node, most))
            return Or((node, *alike)) if alike else node
        case And() | Or():
            return type(node)(tuple(_replaced(connection, part, most) for part in node.parts))
    return node


def _alike(connection: apsw.Connection, phrase: Phrase, most: int) -> Iterator[Phrase]:
    """Phrases with one token exchanged for what some frame holds."""
    tried = found = 0
    for at, token in enumerate(phrase.tokens):
        # A character by itself looks like many; among others it is a word's part.
        is_part = tokenizer.is_single(token) and len(phrase.tokens) > 1
        for variant in chain(halves(token), variants(token, 1 if is_part else None)):
            tried += 1
            if tried > MAX_TRIED or found >= most:
                return
            if is_known(connection, variant):
                found += 1
                yield Phrase((*phrase.tokens[:at], *variant.split(), *phrase.tokens[at + 1 :]))


def is_known(connection: apsw.Connection, token: str, *, is_prefix: bool = False) -> bool:
    """Whether any frame holds this token, or these one after another."""
    expression = f'"{token}"' + ("*" if is_prefix else "")
    sql = "select 1 from frames_fts where frames_fts match ? limit 1"
    return connection.execute(sql, (expression,)).fetchone() is not None


_WAYS = {4: ((2, 2),), 5: ((2, 3), (3, 2)), 6: ((2, 2, 2), (3, 3))}
"""By the characters of a run, the sizes of pieces that add up to it. Three characters are one word more often
than two; seven and more are a sentence, whose words are hardly ever all on one frame."""


def split_ngrams(asked: Query) -> Query | None:
    """`asked` so that frames with the pieces of its runs match, too; None where it has no such run.

    What asks for these very words is not cut.
    """
    if asked.tree is None or asked.is_exact:
        return None
    words = asked.tree.parts if isinstance(asked.tree, And) else (asked.tree,)
    parts = tuple(_with_pieces(word) for word in words)
    tree = parts[0] if len(parts) == 1 else And(parts)
    if tree == asked.tree or sum(1 for _ in phrases(tree)) > MAX_QUERY_WORDS:
        return None
    return replace(asked, tree=tree)


def _with_pieces(word: Node) -> Node:
    if not isinstance(word, Phrase) or word.is_prefix or not all(map(tokenizer.is_single, word.tokens)):
        return word
    ways = _WAYS.get(len(word.tokens), ())
    return Or((word, *(And(_pieces(word, sizes)) for sizes in ways))) if ways else word


def _pieces(word: Phrase, sizes: tuple[int, ...]) -> tuple[Phrase, ...]:
    return tuple(
        Phrase(word.tokens[end - size : end]) for size, end in zip(sizes, accumulate(sizes), strict=True)
    )
