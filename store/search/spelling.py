"""Other spellings of a text that no frame holds: words of the index that its words may have been.

A word of letters is looked for by slips; characters of a writing without spaces by what stands on frames
where all but one of them do. What the index has is given as it is written on the screen, the most frequent
first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import ne

import apsw

from store.core import tokenizer
from store.core.database import Database, column, scalar
from store.core.full_text import Near, Phrase, match
from store.core.tokenizer import Token
from store.search import fuzzy, query

MAX_SPELLINGS = 3
_MAX_UNKNOWN = 3
_MIN_LETTERS = 3
_MAX_LETTERS = 16
_TWO_SLIPS_LETTERS = 6
_MAX_LOOKS = 2_000  # at 0.05 ms each, five times that in an index of ten million frames
_LAST = chr(0x10FFFF)
# Beyond this a word is simply common.
_COUNTED = 50
_READ = 8  # frames of a word that are looked at


def respelled(connection: apsw.Connection, text: str) -> Iterator[str]:
    """`text` with every word that no frame holds replaced by its likeliest neighbours."""
    asked = query.parse(text)
    unknown = list(_unknown(connection, asked, tokenizer.tokens(text[: query.MAX_QUERY_CHARS])))
    if not unknown or len(unknown) > _MAX_UNKNOWN:
        return
    choices = [_neighbours(connection, [token.text for token in word]) for word in unknown]
    if not all(choices):
        return
    for rank in range(max(map(len, choices))):
        other, shift = text, 0
        for word, choice in zip(unknown, choices, strict=True):
            start, end = word[0].start + shift, word[-1].end + shift
            put = choice[min(rank, len(choice) - 1)]
            other = other[:start] + put + other[end:]
            shift += len(put) - (end - start)
        yield other


def known(database: Database, words: Iterable[str]) -> list[str]:
    """Those of the words that some frame holds."""
    with database.read() as connection:
        return [word for word in words if fuzzy.is_known(connection, word.replace('"', " "))]


def _unknown(
    connection: apsw.Connection, asked: query.Query, tokens: Sequence[Token]
) -> Iterator[list[Token]]:
    """The words that no frame holds. Characters of a writing without spaces are a word together."""
    known = {token for phrase in asked.words for token in phrase.tokens}
    words: list[list[Token]] = []
    for token in tokens:
        is_single = tokenizer.is_single(token.text)
        if (
            is_single
            and words
            and words[-1][-1].end == token.start
            and tokenizer.is_single(words[-1][-1].text)
        ):
            words[-1].append(token)
        elif token.text in known:
            words.append([token])
    for word in words:
        if not fuzzy.is_known(connection, " ".join(token.text for token in word)):
            yield word


def _neighbours(connection: apsw.Connection, word: Sequence[str]) -> list[str]:
    """What the store has instead of a word, the most frequent first."""
    found = _one_other(connection, word) if tokenizer.is_single(word[0]) else _slips(connection, word[0])
    return found[:MAX_SPELLINGS]


def _one_other(connection: apsw.Connection, word: Sequence[str]) -> list[str]:
    """What stands for characters with one of them another. Two would not say which word it is."""
    if not _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
        return []
    seen = Counter[str]()
    for at in range(len(word)):
        sides = [Phrase(tuple(side)) for side in (word[:at], word[at + 1 :]) if side]
        expression = match(Near(tuple(sides), 1) if len(sides) > 1 else sides[0])
        seen += _written(connection, expression, len(word), lambda found: sum(map(ne, found, word)) == 1)
    return [text for text, _ in seen.most_common()]


def _slips(connection: apsw.Connection, word: str) -> list[str]:
    """Words of the index a slip away, or two from a long word; else its two halves, else its beginning."""
    if not _MIN_LETTERS <= len(word) <= _MAX_LETTERS:
        return []
    near = _Vocabulary(connection).near(word, 1)
    if not near and len(word) >= _TWO_SLIPS_LETTERS:
        near = _Vocabulary(connection).near(word, 2)
    halves = near or [f'"{word[:at]} {word[at:]}"' for at in range(1, len(word))]
    best = sorted((-count, each) for each in halves if (count := _frequency(connection, each)))
    if near:
        written = (_written(connection, f'"{each}"', 1, (each,).__eq__) for _, each in best[:MAX_SPELLINGS])
        return [texts.most_common(1)[0][0] for texts in written if texts]
    if best:
        return [each for _, each in best]
    return [f"{word}*"] if fuzzy.is_known(connection, word, is_prefix=True) else []


def _written(
    connection: apsw.Connection, expression: str, size: int, is_wanted: Callable[[tuple[str, ...]], bool]
) -> Counter[str]:
    """What is `is_wanted` of so many tokens, as it is written on the newest frames that match."""
    sql = """
        select concat_ws(char(10), t.text, t.app_name, t.window_name)
        from (select rowid as id from frames_fts where frames_fts match ? order by rowid desc limit ?) f
        cross join frame_texts t on t.id = f.id
        """
    seen = Counter[str]()
    for text in column(connection, sql, (expression, _READ)):
        tokens = tokenizer.tokens(text)
        for at in range(len(tokens) - size + 1):
            some = tokens[at : at + size]
            if is_wanted(tuple(token.text for token in some)):
                seen[text[some[0].start : some[-1].end]] += 1
    return seen


def _frequency(connection: apsw.Connection, word: str) -> int:
    """In how many frames, counted no further than needed to compare."""
    sql = "select count(*) from (select 1 from frames_fts where frames_fts match ? limit ?)"
    return int(scalar(connection, sql, (word if word[0] == '"' else f'"{word}"', _COUNTED)))


class _Vocabulary:
    """The words of the index, walked as a tree of their beginnings, so in whatever script they are.

    A slip is a letter more, less, another one, or two exchanged. Below a beginning that is too far from every
    beginning of the word nothing is looked at (K. Oflazer, "Error-tolerant Finite-state Recognition", 1996).
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection, self._looks = connection, 0
        connection.execute(
            "create virtual table if not exists temp.words using fts5vocab ('main', 'frames_fts', 'instance')"
        )

    def near(self, word: str, slips: int) -> set[str]:
        """The words at most so many slips from `word`. A second slip is not in the first letter."""
        found: set[str] = set()
        rows = [[*range(len(word) + 1)]]  # of each beginning of `start`, how far it is from those of `word`

        def walk(start: str) -> None:
            if min(rows[-1]) == slips:
                found.update(each for each in _endings(word, start, rows, slips) if self._first(each) == each)
                return
            if rows[-1][-1] <= slips and self._first(start) == start:
                found.add(start)
            for letter in [word[0]] if slips > 1 and not start else self._letters(start):
                rows.append(_distances(word, start + letter, rows))
                if min(rows[-1]) <= slips and self._looks < _MAX_LOOKS:
                    walk(start + letter)
                rows.pop()

        walk("")
        return found

    def _letters(self, start: str) -> Iterator[str]:
        """What follows `start` in the index."""
        at = start
        while (term := self._first(at)) and term.startswith(start):
            if term == start:
                at = start + "\0"
                continue
            if tokenizer.is_single(term[0]):
                return  # a word by itself: these stand behind the letters of all alphabets
            yield term[len(start)]
            at = term[: len(start) + 1] + _LAST

    def _first(self, at: str) -> str:
        """The first word that is not before `at`; "" behind the last."""
        self._looks += 1
        sql = "select term from temp.words where term >= ? limit 1"
        return next((term for (term,) in self._connection.execute(sql, (at,))), "")


def _endings(word: str, start: str, rows: Sequence[Sequence[int]], slips: int) -> Iterator[str]:
    """The words that begin with `start`, where all slips were made."""
    for at, far in enumerate(rows[-1]):
        if far == slips:
            yield start + word[at:]
        if 0 < at < len(word) and start[-1] == word[at] and rows[-2][at - 1] + 1 == slips:
            yield start + word[at - 1] + word[at + 1 :]  # its last two letters, exchanged


def _distances(word: str, start: str, rows: Sequence[Sequence[int]]) -> list[int]:
    """How far `start` is from each beginning of `word`, of the same for its own beginnings."""
    above, letter = rows[-1], start[-1]
    row = [above[0] + 1]
    for at, other in enumerate(word, 1):
        is_same = tokenizer.plainly(letter) == tokenizer.plainly(other)
        far = min(row[-1] + 1, above[at] + 1, above[at - 1] + (not is_same))
        if at > 1 and len(start) > 1 and (letter, start[-2]) == (word[at - 2], other):
            far = min(far, rows[-2][at - 2] + 1)
        row.append(far)
    return row
