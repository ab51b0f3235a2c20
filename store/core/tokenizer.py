"""What a word is: the tokens of the full-text index, of queries and of highlights.

One definition serves all three, so that what is indexed is what is found is what is marked:

- normalisation: format characters and variation selectors vanish, control characters and lone
  surrogates become blanks, then NFKC, lower case, and accents off Latin letters (only those: a
  Japanese voicing mark or a Cyrillic breve makes another letter);
- a token is a run of letters, digits and combining marks, and every CJK character is a token of
  its own, because Chinese and Japanese write no blanks between words.

A letter that Unicode takes for one of its own (``ł``, ``ø``, ``ß``) stays one in the index; a query is asked
with it and without it (`spellings`), so that no index has to be made anew.

Tokens keep offsets into the *original* text. Normalisation may change lengths (``ﬁ`` is two
letters, ``e`` plus accent is one), so it goes cluster by cluster: a character with everything
that can combine with it. Joined, the clusters give the same as the whole.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import Any, NamedTuple

import apsw

from store.core import full_text

NAME = "recollect"


class Token(NamedTuple):
    """One normalised token; `start` and `end` are character offsets in the original text."""

    text: str
    start: int
    end: int


def register(connection: apsw.Connection) -> None:
    """Make the tokenizer and the SQL functions of search known to this connection, and to no other.

    ``recollect_literal(word, text, ...)`` is true when `word`, normalised and ending in + or #, stands
    in one of the normalised texts: for names with signs, such as C++ and C#.
    ``recollect_casefold(text)`` is for comparisons without case beyond ASCII, ``recollect_normal(text)``
    for those without accents, too (`normalise`).
    """
    connection.register_fts5_tokenizer(NAME, lambda connection, arguments: _tokenize)
    connection.create_scalar_function("recollect_literal", _literal, deterministic=True)
    connection.create_scalar_function("recollect_casefold", _casefold, 1, deterministic=True)
    connection.create_scalar_function(
        "recollect_normal", lambda *values: normalise(str(values[0])), 1, deterministic=True
    )
    full_text.register(connection)


def tokens(text: str) -> list[Token]:
    """The tokens of `text` in order."""
    found: list[Token] = []
    for match in _RUN.finditer(text):
        run, start = match.group(), match.start()
        if run.isascii():
            found.append(Token(run.lower(), start, match.end()))
        else:
            found.extend(_tokens_of_run(run, start))
    return found


def words(text: str) -> list[str]:
    """The texts of the tokens of `text` in order."""
    return [token.text for token in tokens(text)]


def has_each(text: str, wanted: Sequence[str]) -> bool:
    """Whether each of some tokens of a query stands in a text: sooner than all its tokens would tell."""
    spelt = [(token, *spellings(token)) for token in wanted]
    if not all(_may_have(text, forms) for forms in spelt):
        return False
    runs = _RUN.findall(text)
    plain = {run.lower() for run in runs if run.isascii()}
    others = [run for run in runs if not run.isascii()]
    return all(not plain.isdisjoint(forms) or any(_has_one(run, forms) for run in others) for forms in spelt)


def _has_one(run: str, forms: Sequence[str]) -> bool:
    return _may_have(run, forms) and any(token.text in forms for token in _tokens_of_run(run, 0))


def _may_have(text: str, forms: Sequence[str]) -> bool:
    letters = _letters(text)
    return any(_letters(form) in letters for form in forms)


def _letters(text: str) -> str:
    """What is left of a text and of its tokens alike: letters and figures, without what joins them."""
    if text.isascii():
        return text.lower()
    return _NO_LETTERS.sub("", unicodedata.normalize("NFKD", text).lower().replace("ς", "σ"))


def stands_in(line: str, text: str) -> bool:
    """Whether the words of a line stand in a text, one after the other."""
    return stand_in(words(line), words(text))


def stand_in(wanted: list[str], among: list[str]) -> bool:
    """Whether some words stand among others, one after the other."""
    return any(among[at : at + len(wanted)] == wanted for at in range(len(among) - len(wanted) + 1))


def normalise(text: str) -> str:
    """`text` as the index sees it: compatibility forms, case and Latin accents removed."""
    if text.isascii():
        return text.translate(_CONTROLS).lower()
    return "".join(_folded(text[start:end]) for start, end in _clusters(text))


def compatible(text: str) -> str:
    """`text` with compatibility forms, invisible and control characters resolved; case is kept."""
    return unicodedata.normalize("NFKC", "".join(map(_visible, text)))


def plainly(token: str) -> str:
    """A token as who has no key for its letters writes it: ``plomien`` for ``płomien``."""
    return token if token.isascii() else _OWN_LETTERS.sub(lambda found: _PLAIN[found[0]], token)


@lru_cache(maxsize=1 << 12)
def spellings(token: str) -> tuple[str, ...]:
    """What the index may hold for a token of a query besides itself: the word, its letters written otherwise.

    Of one alphabet at a time; of more than `_MAX_SPELLINGS` some with one letter exchanged, and with all.
    """
    plain = plainly(token)
    found = {plain: None}
    for pattern, own in _ALPHABETS if len(plain) > 1 else ():
        places = [(match.start(), match.end(), own[match[0]]) for match in pattern.finditer(plain)]
        is_few = 1 << len(places) <= _MAX_SPELLINGS
        for size in range(1, len(places) + 1) if is_few else {1, len(places)}:
            some = islice(combinations(places, size), _MAX_SPELLINGS)
            found |= dict.fromkeys(_exchanged(plain, each) for each in some)
    found.pop(token, None)
    return tuple(found)


def _exchanged(text: str, places: tuple[tuple[int, int, str], ...]) -> str:
    for start, end, letter in reversed(places):
        text = text[:start] + letter + text[end:]
    return text


def is_single(token: str) -> bool:
    """Whether this is a character of a writing without spaces, which is a token by itself."""
    return len(token) == 1 and _kind(token) == _SINGLE


_MAX_SPELLINGS = 8
# By the languages that have them. Unicode takes no accent off these; CLDR writes them in ASCII so, too.
_OWN = (
    {"ł": "l"},  # Polish, Sorbian
    {"ø": "o", "æ": "ae", "ð": "d"},  # Danish, Norwegian, Faroese
    {"ð": "d", "þ": "th", "æ": "ae"},  # Icelandic
    {"đ": "d"},  # Croatian, Vietnamese
    {"ı": "i"},  # Turkish
    {"ß": "ss"},
    {"œ": "oe", "æ": "ae"},  # French
    {"ħ": "h"},  # Maltese
)
_PLAIN = {letter: plain for alphabet in _OWN for letter, plain in alphabet.items()}
_OWN_LETTERS = re.compile(f"[{''.join(_PLAIN)}]")
_ALPHABETS = [
    (re.compile("|".join(alphabet.values())), {plain: letter for letter, plain in alphabet.items()})
    for alphabet in _OWN
]

# A plain ASCII separator always ends a token, whatever follows it.
_RUN = re.compile(r"[^\x00-/:-@\[-`{-\x7f]+")
_NO_LETTERS = re.compile(r"[\W_]+")
_CONTROLS = {code: " " for code in (*range(32), 127)}
# What normalises to + or #. Texts without them, nearly all, need not be normalised to be refused.
_SIGN = re.compile("[+#\u207a\u208a\ufb29\ufe5f\ufe62\uff03\uff0b]")
# Longer clusters (a letter under a heap of accents) are not worth remembering.
_MAX_CACHED_CLUSTER = 4
# Words come again; a whole line of Chinese does not.
_MAX_CACHED_RUN = 16

# Han, Hiragana, Katakana, Hangul, Bopomofo; `_kind` looks at letters and numbers only.
_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u30ff"
    "\u3105-\u318e\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7fb"
    "\uf900-\ufaff\uff66-\uffdc\U00016fe0-\U00016fff\U0001aff0-\U0001b16f\U00020000-\U0003ffff]"
)
_VARIATION_SELECTOR = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")

_SEPARATOR, _WORD, _SINGLE, _MARK = range(4)


def _tokens_of_run(run: str, offset: int) -> Iterator[Token]:
    """The tokens of a run without ASCII separators that starts at `offset` in the whole text."""
    text, begin, finish, open_word = "", 0, 0, False
    for start, end in _clusters(run):
        for character in _folded(run[start:end]):
            kind = _kind(character)
            if (kind == _WORD and open_word) or (kind == _MARK and text):
                text, finish = text + character, end
                continue
            if text:
                yield Token(text, offset + begin, offset + finish)
            text, open_word = "", kind == _WORD
            if kind in (_WORD, _SINGLE):
                text, begin, finish = character, start, end
    if text:
        yield Token(text, offset + begin, offset + finish)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while position < len(text):
        end = position + 1
        while end < len(text) and _joins(text[end]):
            end += 1
        yield position, end
        position = end


def _folded(cluster: str) -> str:
    return _fold_cached(cluster) if len(cluster) <= _MAX_CACHED_CLUSTER else _fold(cluster)


def _fold(cluster: str) -> str:
    # ς is σ at the end of a word; which of the two stands there must not decide a match.
    lowered = compatible(cluster).lower().replace("ς", "σ")
    kept, after_latin = [], False
    for character in unicodedata.normalize("NFD", lowered):
        if unicodedata.category(character) == "Mn":
            if after_latin:
                continue
        else:
            after_latin = unicodedata.name(character, "").startswith("LATIN ")
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


_fold_cached = lru_cache(maxsize=1 << 16)(_fold)


@lru_cache(maxsize=1 << 16)
def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cf" or _VARIATION_SELECTOR.match(character):
        return ""
    return " " if category in ("Cc", "Cs") else character


@lru_cache(maxsize=1 << 16)
def _joins(character: str) -> bool:
    """Whether a character can combine with the one before it."""
    if not _visible(character):
        return True
    first = unicodedata.normalize("NFKD", character)[0]
    # Medial vowels and final consonants of conjoining Hangul.
    return unicodedata.category(first)[0] == "M" or "\u1160" <= first <= "\u11ff"


@lru_cache(maxsize=1 << 16)
def _kind(character: str) -> int:
    category = unicodedata.category(character)
    if category in ("Mn", "Mc"):
        return _MARK
    if category[0] not in "LN":
        return _SEPARATOR
    return _SINGLE if _CJK.match(character) else _WORD


def _tokenize(utf8: bytes, flags: int, locale: str | None) -> Sequence[tuple[Any, ...]]:
    """FTS5's view of `tokens`: offsets count bytes. A token of a query comes with its `spellings`."""
    if flags & apsw.FTS5_TOKENIZE_QUERY:
        return [(*found, *spellings(found[2])) for found in _indexed(utf8)]
    return _indexed(utf8)


def _indexed(utf8: bytes) -> list[tuple[int, int, str]]:
    # Bytes that are no UTF-8 become lone surrogates, which keeps every offset exact.
    text = utf8.decode("utf-8", "surrogateescape")
    if text.isascii():
        return [(*match.span(), match.group()) for match in _RUN.finditer(text.lower())]
    found: list[tuple[int, int, str]] = []
    position, at_byte = 0, 0
    for match in _RUN.finditer(text):
        run, (start, end) = match.group(), match.span()
        at_byte += start - position  # between runs stand ASCII separators only
        position = end
        if run.isascii():
            found.append((at_byte, at_byte + end - start, run.lower()))
            at_byte += end - start
            continue
        inside, length = _in_bytes_cached(run) if len(run) <= _MAX_CACHED_RUN else _in_bytes(run)
        found += [(at_byte + low, at_byte + high, word) for low, high, word in inside]
        at_byte += length
    return found


def _in_bytes(run: str) -> tuple[list[tuple[int, int, str]], int]:
    """The tokens of a run with offsets in bytes, and how many bytes it has."""
    found, position, at_byte = [], 0, 0
    for token in _tokens_of_run(run, 0):
        # Several tokens may come from one character (㍿), so a token may start before `position`.
        at_byte += _byte_distance(run, position, token.start)
        length = _byte_distance(run, token.start, token.end)
        found.append((at_byte, at_byte + length, token.text))
        position = token.start
    return found, _byte_distance(run, 0, len(run))


_in_bytes_cached = lru_cache(maxsize=1 << 12)(_in_bytes)


def _byte_distance(text: str, start: int, end: int) -> int:
    return len(text[start:end].encode("utf-8", "surrogateescape"))


def _literal(*values: Any) -> bool:
    word, *texts = values
    return any(_SIGN.search(text) and word in normalise(text) for text in texts)


def _casefold(*values: Any) -> str | None:
    (text,) = values
    return None if text is None else str(text).casefold()


# -- tokens of a model --------------------------------------------------------------------
# About how many tokens a text is: one per CJK character and one per four others, for every model.

CJK = "\u2e80-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_ESTIMATES_CJK = re.compile(f"[{CJK}]")
_PIECES = re.compile(rf"[{CJK}]|\d|[A-Za-z]{{1,5}}|[^\W\d_A-Za-z]{{1,2}}|[^\w\s]+|_+|\n+")


def estimate_tokens(text: str) -> int:
    """About how many tokens a model will count."""
    wide = len(_ESTIMATES_CJK.findall(text))
    return wide + -(-(len(text) - wide) // 4)


def upper_tokens(text: str) -> int:
    """How many tokens a text may take in a window, rather too many: a screen full of figures, times and signs
    takes nearly twice its estimate, for tokenizers keep digits apart.
    """
    return len(_PIECES.findall(text))
