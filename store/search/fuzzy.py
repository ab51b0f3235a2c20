"""Words that look like a word to a machine that reads: rn for m, 1 for l, 己 for 已.

A variant is the word with one or two of its shapes exchanged for others of their group. Variants
that no frame holds are dropped by asking the index itself, one look-up each, so nothing is kept
that a deletion would have to find.

Words written without spaces are looked for in pieces, too: 青禾账单 finds a frame with 青禾 and 账单 apart.
The index can only look for such a run as a whole, so it is cut into pieces of two or three characters, in
every way that comes out even; all pieces of one way must be on the frame. No dictionary decides what
a word is, and a cut in the wrong place finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import apsw

from store.core import tokenizer
from store.core.full_text import And, Near, Node, Not, Or, Phrase, phrases
from store.search import query
from store.search.query import MAX_QUERY_CHARS, MAX_QUERY_WORDS, Query

_GROUPS = (
    ("rn", "m"), ("l", "1", "i"), ("0", "o"), ("vv", "w"), ("cl", "d"), ("5", "s"), ("8", "b"), ("2", "z"),
    ("己", "已", "巳"), ("未", "末"), ("日", "曰"), ("土", "士"), ("人", "入"), ("大", "太", "犬"),
    ("干", "千", "于"), ("王", "玉"), ("木", "本", "术"), ("今", "令"), ("免", "兔"), ("问", "间"),
    ("侯", "候"), ("折", "拆"), ("拔", "拨"), ("晴", "睛"), ("辨", "辩"), ("戊", "戌", "戍"), ("天", "夭"),
    ("力", "刀"), ("贷", "货"), ("徽", "微"),
)  # fmt: skip
_OTHERS = {shape: [other for other in group if other != shape] for group in _GROUPS for shape in group}
_LONGEST = max(map(len, _OTHERS))

MAX_TRIED = 120
"""Variants of one word that are looked up in the index: 0.02 ms each."""
_MAX_KEPT = 12
_MAX_EXCHANGES = 2


def variants(word: str) -> Iterator[str]:
    """What `word` may have been read as, the likeliest (one exchange) first, without itself."""
    seen = {word}
    found = [word]
    for _ in range(_MAX_EXCHANGES):
        found = [changed for each in found for changed in _exchanged(each)]
        for each in found:
            if each not in seen:
                seen.add(each)
                yield each


def _exchanged(word: str) -> Iterator[str]:
    for at in range(len(word)):
        for length in range(1, _LONGEST + 1):
            for other in _OTHERS.get(word[at : at + length], ()):
                if len(word[at : at + length]) == length:
                    yield word[:at] + other + word[at + length :]


def expand_query(connection: apsw.Connection, asked: Query) -> str | None:
    """`asked` as a query that also takes what its words may have been read as.

    None when no frame holds such a word, or when the query has no room for one. What NOT excludes
    and the words inside NEAR stay as they are.
    """
    if asked.tree is None:
        return None
    words = list(asked.words)
    room = MAX_QUERY_WORDS - len(words)
    each = min(_MAX_KEPT, room // max(len(words), 1))
    for most in range(each, 0, -1):
        tree = _replaced(connection, asked.tree, most)
        if tree == asked.tree:
            return None
        text = _written(tree)
        if len(text) <= MAX_QUERY_CHARS and query.parse(text).tree is not None:
            return text
    return None


def _replaced(connection: apsw.Connection, node: Node, most: int) -> Node:
    match node:
        case Phrase():
            alike = tuple(_alike(connection, node, most)) if node.literal is None else ()
            return Or((node, *alike)) if alike else node
        case Near():
            return node
        case And() | Or():
            return type(node)(tuple(_replaced(connection, part, most) for part in node.parts))
        case Not():
            return Not(_replaced(connection, node.wanted, most), node.unwanted)


def _alike(connection: apsw.Connection, phrase: Phrase, most: int) -> Iterator[Phrase]:
    """Phrases with one token exchanged for one that some frame holds."""
    tried = found = 0
    for at, token in enumerate(phrase.tokens):
        is_prefix = phrase.is_prefix and at == len(phrase.tokens) - 1
        for variant in variants(token):
            tried += 1
            if tried > MAX_TRIED or found >= most:
                return
            if is_known(connection, variant, is_prefix=is_prefix):
                found += 1
                tokens = (*phrase.tokens[:at], variant, *phrase.tokens[at + 1 :])
                yield Phrase(tokens, phrase.is_prefix)


def is_known(connection: apsw.Connection, token: str, *, is_prefix: bool = False) -> bool:
    """Whether any frame holds this token."""
    expression = f'"{token}"' + ("*" if is_prefix else "")
    sql = "select 1 from frames_fts where frames_fts match ? limit 1"
    return connection.execute(sql, (expression,)).fetchone() is not None


def _written(node: Node) -> str:
    """An expression as a person would type it."""
    match node:
        case Phrase():
            inside = " ".join(node.tokens) if node.literal is None else node.literal
            return f'"{inside}"' + ("*" if node.is_prefix else "")
        case Near():
            return f"NEAR({' '.join(map(_written, node.phrases))}, {node.distance})"
        case And():
            return " AND ".join(map(_inside, node.parts))
        case Or():
            return " OR ".join(map(_inside, node.parts))
        case Not():
            return f"{_inside(node.wanted)} NOT {_inside(node.unwanted)}"


def _inside(node: Node) -> str:
    return _written(node) if isinstance(node, Phrase | Near) else f"({_written(node)})"


PIECES = (2, 3)
SHORTEST, LONGEST = 4, 6
"""Characters of a run that is cut. Three are one word more often than two; seven and more are a
sentence, whose words are hardly ever all on one frame, and whose ways cost more than the search."""

_MOST_PHRASES = 63
"""The ranking has a bit for each."""


def split_ngrams(asked: Query) -> Query | None:
    """`asked` so that frames with the pieces of its runs match, too; None where it has no such run.

    What was asked as a whole stays in `Query.whole`. An expression and what stands in quotes are
    asked for exactly and not cut.
    """
    if asked.tree is None or asked.reading == "expression" or '"' in asked.text:
        return None
    words = asked.tree.parts if isinstance(asked.tree, And) else (asked.tree,)
    parts = tuple(_with_pieces(word) for word in words)
    tree = parts[0] if len(parts) == 1 else And(parts)
    if tree == asked.tree or sum(1 for _ in phrases(tree)) > _MOST_PHRASES:
        return None
    return replace(asked, tree=tree, reading="pieces", whole=asked.tree)


def _with_pieces(word: Node) -> Node:
    if not isinstance(word, Phrase) or word.is_prefix or not SHORTEST <= len(word.tokens) <= LONGEST:
        return word
    if not all(map(tokenizer.is_single, word.tokens)):
        return word
    return Or((word, *(And(_pieces(word, sizes)) for sizes in _ways(len(word.tokens)))))


def _pieces(word: Phrase, sizes: tuple[int, ...]) -> tuple[Phrase, ...]:
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return tuple(Phrase(word.tokens[end - size : end]) for size, end in zip(sizes, ends, strict=True))


@lru_cache
def _ways(length: int) -> tuple[tuple[int, ...], ...]:
    """The sizes of pieces that add up to `length`, in every order; the piece alone is not cut."""
    return tuple(way for way in _sums(length) if len(way) > 1)


def _sums(length: int) -> Iterator[tuple[int, ...]]:
    if length == 0:
        yield ()
    for size in PIECES:
        if size <= length:
            yield from ((size, *rest) for rest in _sums(length - size))
