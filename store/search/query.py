"""What a person types into the search box, read so that nothing is ever an error.

::

    query    = or
    or       = and ("OR" and)*
    and      = not ("AND" not)*
    not      = adjacent ("NOT" adjacent)*          from the left
    adjacent = primary+                            all of them must match
    primary  = word | word* | "phrase" | "phrase"* | NEAR(words, n) | ( or )

The operators work in capitals and when all of the text fits this grammar, as in SQLite FTS5.
Otherwise the text is words and phrases only, all of which must match; the operators are words too.
`Query.reading` says which of the two it was.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from store.core import tokenizer
from store.core.full_text import And, Near, Node, Not, Or, Phrase, match, phrases

MAX_QUERY_CHARS = 1_000
MAX_QUERY_WORDS = 64
MAX_QUERY_DEPTH = 32
NEAR_DEFAULT = 10
# Further apart than any two words of a screen; FTS5 reads the number into 32 bits.
_NEAR_MAX = 1_000_000

_QUOTES = str.maketrans(dict.fromkeys("“”„‟", '"'))
_LEXEME = re.compile(
    r"""
      "(?P<phrase>[^"]*)"(?P<star>\*?)
    | NEAR\((?P<near>(?:"[^"]*"|[^"(),])*)(?:,\s*(?P<distance>[0-9]+)\s*)?\)
    | (?P<sign>[()])
    | (?P<number>(?<!\S)[0-9]{1,3}(?:\ [0-9]{3}){1,4}(?:[.,][0-9]+)?(?!\S))
    | (?P<word>[^\s"()]+)
    | (?P<stray>")
    """,
    re.VERBOSE,
)
_THOUSANDS = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")
_NUMBER = re.compile(r"(?P<whole>[0-9]{4,}|[0-9]{1,3}(?:[ .,'’][0-9]{3})+)(?P<rest>[.,][0-9]+)?")
Reading = Literal["expression", "words"]

_OPERATORS = ("AND", "OR", "NOT")


@dataclass(frozen=True)
class Query:
    """A query as it was understood. Make one with `parse`."""

    text: str
    tree: Node | None
    reading: Reading
    is_browse: bool

    @cached_property
    def match(self) -> str | None:
        """The FTS5 expression; None when there is nothing to search for."""
        return None if self.tree is None else match(self.tree)

    @cached_property
    def words(self) -> tuple[Phrase, ...]:
        """The words and phrases to look for in a text, without what NOT excludes."""
        return () if self.tree is None else tuple(phrases(self.tree, wanted_only=True))

    @property
    def is_exact(self) -> bool:
        """Whether operators, quotes or ``*`` ask for these very words."""
        return '"' in self.text or self.reading == "expression" or any(word.is_prefix for word in self.words)

    @property
    def literals(self) -> tuple[str, ...]:
        """The wanted words whose signs belong to them (``c++``)."""
        return tuple(phrase.literal for phrase in self.words if phrase.literal)


def parse(text: str) -> Query:
    """The query in `text`, whatever it is.

    At most `MAX_QUERY_CHARS` characters and `MAX_QUERY_WORDS` words are used. Blank text is a
    browse; text without a searchable word has no `tree` and matches nothing.
    """
    plain = tokenizer.compatible(text[:MAX_QUERY_CHARS]).translate(_QUOTES)
    if not plain.strip():
        return Query("", None, "words", is_browse=True)
    try:
        parts = list(_parts(plain))
        tree = _Parser(parts).tree() if parts else None
    except _Invalid:
        return Query(plain, _all_words(plain), "words", is_browse=False)
    has_operator = any(isinstance(part, Near) or part in _OPERATORS for part in parts)
    return Query(plain, tree, "expression" if has_operator else "words", is_browse=False)


class _Invalid(Exception):
    """The text is not an expression and is read as words."""


def _parts(text: str) -> Iterator[Node | str]:
    """Operands, operators and parentheses of an expression, up to the last word that is used."""
    room = MAX_QUERY_WORDS
    for lexeme in _LEXEME.finditer(text):
        if lexeme["stray"] or (lexeme["word"] == "NEAR" and text[lexeme.end() :].startswith("(")):
            raise _Invalid
        if lexeme["sign"] or lexeme["word"] in _OPERATORS:
            yield lexeme[0]
            continue
        operand = _near(lexeme, room) if lexeme["near"] is not None else _operand(lexeme)
        if operand is None:
            continue
        yield operand
        room -= len(operand.phrases) if isinstance(operand, Near) else len((lexeme["number"] or "1").split())
        if room <= 0:
            return


def _near(lexeme: re.Match[str], room: int) -> Near:
    inside = list(_LEXEME.finditer(lexeme["near"]))
    found = [phrase for phrase in map(_phrase, inside) if phrase]
    if not found or any(each["word"] in _OPERATORS for each in inside):
        raise _Invalid
    return Near(tuple(found[:room]), _distance(lexeme["distance"]))


def _distance(digits: str | None) -> int:
    if digits is None:
        return NEAR_DEFAULT
    # Python refuses to read a number of more than 4,300 digits.
    return min(int(digits.lstrip("0")[:8] or "0"), _NEAR_MAX)


def _all_words(text: str) -> Node | None:
    """Everything as words and phrases, operators included."""
    found = [word for lexeme in _LEXEME.finditer(text) for word in _words_of(lexeme)]
    return And(tuple(found[:MAX_QUERY_WORDS])) if found else None


def _words_of(lexeme: re.Match[str]) -> Iterator[Node]:
    if lexeme["near"] is not None:
        # Past "NEAR", what was between the parentheses is ordinary text.
        yield Phrase(("near",))
        for inner in _LEXEME.finditer(lexeme[0], lexeme[0].index("(")):
            yield from _words_of(inner)
        return
    operand = _operand(lexeme)
    if operand is not None:
        yield operand


def _operand(lexeme: re.Match[str]) -> Node | None:
    """A word or phrase; a number also as it is written with its thousands apart, or together."""
    phrase, word = _phrase(lexeme), lexeme["word"] or lexeme["number"] or ""
    number = _NUMBER.fullmatch(word)
    if phrase is None or number is None:
        return phrase
    digits = "".join(filter(str.isdigit, number["whole"]))
    rest = tuple(tokenizer.words(number["rest"] or ""))
    together = Phrase((digits, *rest))
    if lexeme["number"]:  # typed with blanks it may be two numbers
        return Or((And(tuple(Phrase(tuple(tokenizer.words(part))) for part in word.split())), together))
    apart = Phrase((*_THOUSANDS.sub(" ", digits).split(), *rest))
    return Or((together, apart) if number["whole"] == digits else (apart, together))


def _phrase(lexeme: re.Match[str]) -> Phrase | None:
    """A word or phrase; None for what holds no token."""
    if lexeme["phrase"] is not None:
        text, is_prefix = lexeme["phrase"].strip(), bool(lexeme["star"])
    else:
        text = lexeme["word"] or lexeme["number"] or ""
        is_prefix = text.endswith("*")
    found = tuple(token.text for token in tokenizer.tokens(text))
    if not found:
        return None
    return Phrase(found, is_prefix, tokenizer.normalise(text) if text[-1] in "+#" else None)


class _Parser:
    """Recursive descent over the grammar above, at most `MAX_QUERY_DEPTH` parentheses deep."""

    def __init__(self, parts: list[Node | str]) -> None:
        self._parts = parts
        self._at = 0
        self._depth = 0

    def tree(self) -> Node:
        node = self._or()
        if self._at < len(self._parts):
            raise _Invalid
        return node

    def _or(self) -> Node:
        return self._joined(Or, self._and, lambda: self._take("OR"))

    def _and(self) -> Node:
        return self._joined(And, self._not, lambda: self._take("AND"))

    def _not(self) -> Node:
        node = self._adjacent()
        while self._take("NOT"):
            node = Not(node, self._adjacent())
        return node

    def _adjacent(self) -> Node:
        return self._joined(And, self._primary, lambda: self._next() not in (None, ")", *_OPERATORS))

    def _joined(
        self, kind: type[And] | type[Or], part: Callable[[], Node], goes_on: Callable[[], bool]
    ) -> Node:
        parts = [part()]
        while goes_on():
            parts.append(part())
        return parts[0] if len(parts) == 1 else kind(tuple(parts))

    def _primary(self) -> Node:
        part = self._next()
        if part is None or part == ")" or part in _OPERATORS:
            raise _Invalid
        self._at += 1
        if not isinstance(part, str):
            return part
        self._depth += 1
        if self._depth > MAX_QUERY_DEPTH:
            raise _Invalid
        node = self._or()
        if not self._take(")"):
            raise _Invalid
        self._depth -= 1
        return node

    def _next(self) -> Node | str | None:
        return self._parts[self._at] if self._at < len(self._parts) else None

    def _take(self, sign: str) -> bool:
        if self._next() != sign:
            return False
        self._at += 1
        return True
