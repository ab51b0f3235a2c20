"""Tokens: one definition for index, query and highlight."""

from __future__ import annotations

import unicodedata

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.core import tokenizer
from store.core.database import Database
from store.core.tokenizer import normalise, tokens
from store.ocr import readings
from tests.factories import NOON_MS, text_draft
from tests.store.search.searching import add_frame, add_texts
from tests.tables import for_each

# Letters, marks, joiners, jamo and signs of many scripts, so that odd neighbours meet often.
_ODD = (
    "aZ09éÉßﬁĳǅİıſΣςάϊй ёЁ今天开会々〇𠮷はばﾊﾞﾃｽﾄーカ゛회의ㄱㅏㄳ각가नमस्ते"
    "\u0301\u0308\u0338\u0345\u3099\u309a\u200b\u200d\ufe0f\u20e3\ufeff\xad\U000e0101"
    "\x00\x1f\x7f\n\t _-+#*\"'.½²①㍿㎏℃№ＡＢ１🎉👨👩\ud83d\u0600\u0e33\u0f77\ufb2c\ufdfa"
)
odd_texts = st.text(st.sampled_from(_ODD) | st.characters(), max_size=30)


@for_each(
    ("text", "expected"),
    [
        ("Hello, World_2!", [("hello", "Hello"), ("world", "World"), ("2", "2")]),
        ("café cafe\u0301 CAFÉ", [("cafe", "café"), ("cafe", "cafe\u0301"), ("cafe", "CAFÉ")]),
        ("学习Python教程", [("学", "学"), ("习", "习"), ("python", "Python"), ("教", "教"), ("程", "程")]),
        ("ﬁle", [("file", "ﬁle")]),
        ("㍿", [("株", "㍿"), ("式", "㍿"), ("会", "㍿"), ("社", "㍿")]),
        ("½", [("1", "½"), ("2", "½")]),
        ("in\u200bvoice", [("invoice", "in\u200bvoice")]),
        ("ﾊﾞ", [("バ", "ﾊﾞ")]),
        ("は\u3099", [("ば", "は\u3099")]),
        ("ㄱㅏ", [("가", "ㄱㅏ")]),
        ("नमस्ते", [("नमस्ते", "नमस्ते")]),
        ("二〇二四", [("二", "二"), ("〇", "〇"), ("二", "二"), ("四", "四")]),
        ("1\ufe0f\u20e3", [("1", "1\ufe0f")]),
        ("й", [("й", "й")]),
        ("ΟΔΟΣ οδος", [("οδοσ", "ΟΔΟΣ"), ("οδοσ", "οδος")]),
        ("a\x00b\ud83dc", [("a", "a"), ("b", "b"), ("c", "c")]),
        ("\u0301 \u3099", []),
        ("👨\u200d👩\u200d👧 🎉", []),
    ],
)
def test_tokens_and_the_text_they_stand_for(text: str, expected: list[tuple[str, str]]) -> None:
    found = [(token.text, text[token.start : token.end]) for token in tokens(text)]
    # An enclosing mark after a digit belongs to its cluster, not to the word.
    assert [(word, piece.removesuffix("\u20e3")) for word, piece in found] == expected


def reference(text: str) -> str:
    """The rule of the shared cases, applied to the whole text at once."""
    visible = [
        c
        for c in text
        if unicodedata.category(c) != "Cf" and "VARIATION SELECTOR" not in unicodedata.name(c, "")
    ]
    blanked = "".join(" " if unicodedata.category(c) in ("Cc", "Cs") else c for c in visible)
    lowered = "".join(c.lower() for c in unicodedata.normalize("NFKC", blanked)).replace("ς", "σ")
    bare: list[str] = []
    is_latin = False
    for c in unicodedata.normalize("NFD", lowered):
        if unicodedata.category(c) == "Mn" and is_latin:
            continue
        is_latin = unicodedata.name(c, "").startswith("LATIN")
        bare.append(c)
    return unicodedata.normalize("NFC", "".join(bare))


@given(odd_texts, odd_texts)
def test_a_text_has_the_tokens_that_its_index_has(text: str, other: str) -> None:
    indexed = set(tokenizer.words(text))
    for token in (*indexed, *tokenizer.words(other)):
        is_there = not indexed.isdisjoint((token, *tokenizer.spellings(token)))
        assert tokenizer.has_each(text, [token]) is is_there
    assert tokenizer.has_each(text, list(indexed))


def test_every_sign_has_the_tokens_that_it_is_indexed_as() -> None:
    signs = map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
    assert [hex(ord(sign)) for sign in signs if not tokenizer.has_each(sign, tokenizer.words(sign))] == []


@given(odd_texts)
def test_clusters_joined_give_the_normalised_whole(text: str) -> None:
    assert normalise(text) == reference(text)


def test_every_character_that_composes_with_another_stays_in_its_cluster() -> None:
    """Unicode's own list of compositions: none may be cut in two."""
    for code in range(0x110000):
        character = chr(code)
        parts = unicodedata.normalize("NFD", character)
        if len(parts) > 1 and unicodedata.normalize("NFC", parts) == character:
            assert normalise(parts) == normalise(character), hex(code)


def test_every_form_of_a_sign_is_a_sign() -> None:
    """A text is refused unread when it holds none of these."""
    compatible = {chr(code): unicodedata.normalize("NFKC", chr(code)) for code in range(0x110000)}
    forms = {form for form, plain in compatible.items() if "+" in plain or "#" in plain}
    connection = apsw.Connection(":memory:")
    tokenizer.register(connection)
    for form in forms:
        sign = normalise(form)[-1]
        sql = "select recollect_literal(?, ?, ?)"
        assert connection.execute(sql, (f"c{sign}", "plain", f"C{form}")).fetchone() == (1,), hex(ord(form))
        assert connection.execute(sql, (f"d{sign}", "plain", f"C{form}")).fetchone() == (0,)


@given(odd_texts)
def test_tokens_are_ordered_pieces_of_the_text(text: str) -> None:
    found = tokens(text)
    assert all(0 <= token.start < token.end <= len(text) for token in found)
    assert [token.start for token in found] == sorted(token.start for token in found)
    assert all(token.text in normalise(text[token.start : token.end]) for token in found)


@given(odd_texts)
def test_a_token_is_its_own_token(text: str) -> None:
    """FTS5 tokenizes the query's tokens again; that must change nothing."""
    for token in tokens(text):
        assert [again.text for again in tokens(token.text)] == [token.text]


@pytest.fixture(scope="module")
def index() -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    tokenizer.register(connection)
    connection.execute("create virtual table texts using fts5(text, tokenize = 'recollect')")
    return connection


@given(odd_texts.filter(lambda text: not any(0xD800 <= ord(c) < 0xE000 or c == "\0" for c in text)))
def test_fts5_finds_and_marks_each_token_where_it_stands(index: apsw.Connection, text: str) -> None:
    index.execute("delete from texts")
    index.execute("insert into texts values (?)", (text,))
    for token in tokens(text):
        (marked,) = index.execute(
            "select highlight(texts, 0, '\x01', '\x02') from texts where texts match ?", (f'"{token.text}"',)
        ).fetchone() or (None,)
        assert marked is not None
        assert marked.translate({1: None, 2: None}) == text.translate({1: None, 2: None})
        assert f"\x01{text[token.start : token.end]}" in marked


def test_bytes_that_are_no_utf8_are_separators(index: apsw.Connection) -> None:
    found = index.fts5_tokenizer("recollect", [])(b"ab\xff\xc3cd", apsw.FTS5_TOKENIZE_DOCUMENT, None)
    assert found == [(0, 2, "ab"), (4, 6, "cd")]


def is_sound(connection: apsw.Connection) -> bool:
    """Whether the index agrees with the texts it was made from."""
    try:
        connection.execute("insert into frames_fts (frames_fts, rank) values ('integrity-check', 1)")
    except apsw.CorruptError:
        return False
    return True


def take_out(connection: apsw.Connection, frame_id: int) -> None:
    connection.execute(
        """
        insert into frames_fts (frames_fts, rowid, text, app_name, window_name, browser_url)
        select 'delete', id, text, app_name, window_name, browser_url from frame_texts where id = ?
        """,
        (frame_id,),
    )
    connection.execute("delete from frames where id = ?", (frame_id,))


_TEXTS = ("Quarterly report ﬁle", "今天下午开会 café ㍿", "नमस्ते in\u200bvoice ば ﾊﾞ", "plain words", "")


def test_a_deleted_frame_leaves_a_sound_index_without_its_words(database: Database) -> None:
    """With secure-delete and external content, for every kind of token."""
    made = add_texts(database, *_TEXTS)
    with database.write() as connection:
        assert is_sound(connection)
        for frame_id in made[:-2]:
            take_out(connection, frame_id)
            assert is_sound(connection)
        for word in ("quarterly", "今", "cafe", "株", "invoice"):
            sql = "select rowid from frames_fts where frames_fts match ?"
            assert connection.execute(sql, (f'"{word}"',)).fetchall() == []


def test_a_word_left_behind_in_the_index_is_noticed(database: Database) -> None:
    """The check above can fail: rows that go without telling the index are found out."""
    (frame_id,) = add_texts(database, "forgotten words")
    with database.write() as connection:
        connection.execute("delete from frames where id = ?", (frame_id,))
        assert not is_sound(connection)


def test_a_second_reading_replaces_the_words_of_the_first(database: Database) -> None:
    with database.write() as connection:
        frame_id = add_frame(connection, _TEXTS[1])
        for text in _TEXTS:
            readings.add(connection, frame_id, text_draft(text), (), NOON_MS)
            assert is_sound(connection)


def test_a_word_of_many_exchangeable_letters_is_asked_in_few_spellings() -> None:
    assert len(tokenizer.spellings("il" * 40)) < 8 * 8
    assert "płomıenıowkı" not in tokenizer.spellings("plomieniowki")  # no alphabet has both


@given(odd_texts)
def test_each_spelling_is_the_same_word_plainly_written(text: str) -> None:
    for token in tokens(text):
        for other in tokenizer.spellings(token.text):
            assert tokenizer.plainly(other) == tokenizer.plainly(token.text)
            assert tokenizer.words(other) == [other]
