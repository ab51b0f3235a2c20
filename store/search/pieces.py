"""Words written without spaces, also in pieces: 青禾账单 finds a frame with 青禾 and 账单 apart.

Chinese and Japanese write a question as one run of characters, which the index can only look for as
a whole. Here such a run may be cut as well: into pieces of two or three characters, which is what
most of their words have, in every way that comes out even; all pieces of one way must be on the
frame. So no dictionary decides what a word is, and a cut in the wrong place finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from store.core import tokenizer
from store.core.full_text import And, Node, Or, Phrase, phrases
from store.search.query import Query

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
