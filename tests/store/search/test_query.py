"""Any text is a valid query."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import product

import apsw
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from store.core import full_text, tokenizer
from store.core.full_text import And, Condition, Near, Node, Not, Or, Phrase
from store.search import query
from tests.factories import CASES
from tests.tables import for_each

_SHARED = json.loads((CASES / "search_queries.json").read_text())


def word(text: str) -> Phrase:
    return Phrase((text,))


@for_each("name", _SHARED["limits"])
def test_limits_are_those_of_the_shared_cases(name: str) -> None:
    assert getattr(query, name.upper()) == _SHARED["limits"][name]


@for_each(
    ("text", "reading", "tree"),
    [
        ("report status", "words", And((word("report"), word("status")))),
        ("node.js", "words", Phrase(("node", "js"))),
        ("foo(bar)", "words", And((word("foo"), word("bar")))),
        ("a OR b AND c", "expression", Or((word("a"), And((word("b"), word("c")))))),
        ("a b NOT c", "expression", Not(And((word("a"), word("b"))), word("c"))),
        ("a NOT b NOT c", "expression", Not(Not(word("a"), word("b")), word("c"))),
        ("a NOT (b NOT c)", "expression", Not(word("a"), Not(word("b"), word("c")))),
        ("NEAR(a b)", "expression", Near((word("a"), word("b")), 10)),
        ('NEAR("a, b" c* , 3)', "expression", Near((Phrase(("a", "b")), Phrase(("c",), True)), 3)),
        ("NEAR(a AND b)", "words", And(tuple(map(word, ("near", "a", "and", "b"))))),
        ("NEAR(a (b))", "words", And(tuple(map(word, ("near", "a", "b"))))),
        ("NEAR(a OR b", "words", And(tuple(map(word, ("near", "a", "or", "b"))))),
        ("NEAR (a b)", "words", And((word("near"), And((word("a"), word("b")))))),
        ("a AND + AND b", "words", And(tuple(map(word, ("a", "and", "and", "b"))))),
        ("ＡＮＤ", "words", And((word("and"),))),
        ('"a"*', "words", Phrase(("a",), True)),
        ("C++", "words", Phrase(("c",), literal="c++")),
        ('"Visual C++"', "words", Phrase(("visual", "c"), literal="visual c++")),
        ("c+* x", "words", And((Phrase(("c",), True), word("x")))),
        ("+ #", "words", None),
        ("1140", "words", Or((word("1140"), Phrase(("1", "140"))))),
        ("1'234.567", "words", Or((Phrase(("1", "234", "567")), word("1234567")))),
        ("114 1.14", "words", And((word("114"), Phrase(("1", "14"))))),
        ('"1140"', "words", word("1140")),
        ("15350,94", "words", Or((Phrase(("15350", "94")), Phrase(("15", "350", "94"))))),
        ("15.350,94", "words", Or((Phrase(("15", "350", "94")), Phrase(("15350", "94"))))),
        (
            "15\u202f350,94",
            "words",
            Or((And((word("15"), Phrase(("350", "94")))), Phrase(("15350", "94")))),
        ),
        ("15 3500", "words", And((word("15"), Or((word("3500"), Phrase(("3", "500"))))))),
    ],
)
def test_how_a_text_is_read(text: str, reading: str, tree: Node | None) -> None:
    asked = query.parse(text)
    assert (asked.reading, asked.tree, asked.is_browse) == (reading, tree, False)


@for_each("text", ["", "  \t\n\u3000", "\x00\x1b", "\u200b\ufeff", "\ud800"])
def test_blank_text_is_a_browse(text: str) -> None:
    assert query.parse(text).is_browse


def test_words_that_are_excluded_are_not_marked() -> None:
    asked = query.parse("c++ OR (rust NOT go)")
    assert [phrase.tokens for phrase in asked.words] == [("c",), ("rust",)]
    assert asked.literals == ("c++",)


def test_an_expression_ends_with_the_last_word_that_is_used() -> None:
    asked = query.parse(" OR ".join(f"w{n}" for n in range(100)))
    assert asked.reading == "expression"
    assert len(asked.words) == query.MAX_QUERY_WORDS


# -- every expression means what it says ---------------------------------------------------

_WORDS = ("a", "b", "ab", "c++", "b#", "今")
_TEXTS = [
    " ".join(words) for n in range(4) for words in product(("a", "b#", "ab", "c++", "c", "今"), repeat=n)
]


@pytest.fixture(scope="module")
def index() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    tokenizer.register(connection)
    connection.execute(
        """
        create virtual table frames_fts using fts5(
            text, app_name, window_name, browser_url, tokenize = 'recollect'
        )
        """
    )
    connection.executemany("insert into frames_fts values (?, '', '', '')", [(text,) for text in _TEXTS])
    return connection


def found(index: apsw.Connection, tree: Node) -> set[str]:
    besides = Condition(tree)
    where = " and ".join(["frames_fts match :match", *besides.conditions])
    return {
        text
        for (text,) in index.execute(
            f"select text from frames_fts where {where}",
            {"match": full_text.match(tree), "low": 0, "high": 2**62, **besides.parameters},
        )
    }


def holds(tree: Node, text: str) -> bool:
    """What an expression means, without an index."""
    match tree:
        case Phrase():
            return bool(list(places(tree, text))) and (tree.literal or "") in tokenizer.normalise(text)
        case Near():
            if not all(holds(phrase, text) for phrase in tree.phrases):
                return False
            choices = product(*(list(places(phrase, text)) for phrase in tree.phrases))
            return any(
                max(start for start, _ in choice) - min(end for _, end in choice) <= tree.distance
                for choice in choices
            )
        case And():
            return all(holds(part, text) for part in tree.parts)
        case Or():
            return any(holds(part, text) for part in tree.parts)
        case Not():
            return holds(tree.wanted, text) and not holds(tree.unwanted, text)


def places(phrase: Phrase, text: str) -> Iterator[tuple[int, int]]:
    words = [token.text for token in tokenizer.tokens(text)]
    size = len(phrase.tokens)
    for at in range(len(words) - size + 1):
        here = words[at : at + size]
        last = here[-1] == phrase.tokens[-1]
        if phrase.is_prefix:
            last = here[-1].startswith(phrase.tokens[-1])
        if last and tuple(here[:-1]) == phrase.tokens[:-1]:
            yield at, at + size


def _phrase_text(words: list[str], star: str) -> str:
    return f'"{" ".join(words)}"{star}'


_primaries = st.sampled_from([*_WORDS, "a*"]) | st.builds(
    _phrase_text, st.lists(st.sampled_from(_WORDS), min_size=1, max_size=2), st.sampled_from(["", "*"])
)
_expressions = st.recursive(
    _primaries | st.builds("NEAR({0} {1}, {2})".format, _primaries, _primaries, st.integers(0, 2)),
    lambda inner: st.builds(
        "({0}{1}{2})".format, inner, st.sampled_from([" ", " AND ", " OR ", " NOT "]), inner
    ),
    max_leaves=8,
)


@given(_expressions)
@example("(b ((a OR a) NOT c++))")
def test_the_index_finds_what_the_expression_means(index: apsw.Connection, text: str) -> None:
    tree = query.parse(text).tree
    assert tree is not None
    assert found(index, tree) == {each for each in _TEXTS if holds(tree, each)}


_signs = st.sampled_from(
    [
        *_WORDS,
        *'"()*,+#-^:{}',
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        "NEAR",
        "3",
        " ",
        "“",
        "\x00",
        "\ud83d",
        "🎉",
        "%",
    ]
)


@given(st.lists(_signs, max_size=40).map("".join) | st.text(max_size=60))
@example("x NOT (" * 20 + "y" + ")" * 20)
@example("x OR a AND b NOT (" * 15 + "y" + ")" * 15)
@example("(" * 32 + "x" + ")" * 32)
@example("NEAR(a b, " + "9" * 900 + ")")
@example("a+ NOT " * 60 + "b#")
def test_no_text_is_an_error(index: apsw.Connection, text: str) -> None:
    asked = query.parse(text)
    assert asked.reading in ("expression", "words")
    if asked.tree is not None:
        found(index, asked.tree)


@given(st.lists(_signs, max_size=25).map("".join))
def test_a_text_that_is_no_expression_asks_for_all_its_words(text: str) -> None:
    assume(not re.search(r"\d[ .,'’]?\d{3}", text))  # thousands are looked for in two ways
    asked = query.parse(text)
    if asked.reading == "words" and asked.tree is not None:
        used = tokenizer.tokens(tokenizer.compatible(text))
        assert [t for phrase in asked.words for t in phrase.tokens] == [token.text for token in used]
