"""From a text to the pieces that the grammar of times composes: words, numbers and their shapes.

A text is read with the words of one language in Latin letters, the one that most of its words belong
to, and with those of Chinese, Japanese and Korean. What is no word of time becomes a piece as well, so that
nothing is skipped silently. Linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from assistant.language import small_words
from assistant.language.cldr import integer
from assistant.language.time_said import PARTS, Point, Span
from assistant.language.time_shapes import shape_of
from assistant.language.time_tables import (
    LATIN,
    MOST_SIGNS,
    MOST_WORDS,
    Entry,
    folded,
    from_cldr,
    han,
    has_capital_names,
    languages_by_month,
    languages_by_word,
    latin,
    others,
    plain,
)


class Piece(NamedTuple):
    """A stretch ``[start, end)`` of the text, and what it is; `is_weak` where it may be another word."""

    kind: str
    value: Any
    start: int
    end: int
    is_weak: bool = False


def pieces_of(text: str) -> list[Piece]:
    """All pieces of a text, in order."""
    return list(_Lexer(text).pieces())


_HAN_RUN = "\u3040-\u30ff\u3400-\u9fff々〇\uac00-\ud7a3"
_END = rf"\s,、&;!?。…()\[\]|~〜\"“”«»《》「」{_HAN_RUN}"
_CHUNK = re.compile(
    rf"(?P<han>[{_HAN_RUN}]+)"
    r"|(?P<title>《[^》]{0,200}》|“[^”]{0,200}”|\"[^\"]{0,200}\"|「[^」]{0,200}」|«[^»]{0,200}»)"
    rf"|(?P<hour>(?<![a-z0-9_.+-])@(?:last-hour\b|最近一小时))|(?P<mention>(?<![a-z0-9_.+-])@(?=[a-z{_HAN_RUN}]))"
    r"|(?P<dash>[~〜]+)|(?P<comma>[,、])|(?P<stop>[;:!?。…()\[\]|\n]+|(?<!\S)\.(?!\S))|(?P<and>&)"
    r"|(?P<word>[a-z]+'(?=[a-z\d])(?!(?:[stmd]|re|ve|ll)(?![a-z]))"  # l'anno, and not it's
    rf"|(?:[^:{_END}]|:(?=\d))+)"
)
_GROUPS = {"title": "x", "hour": "Z", "mention": "@", "dash": "T", "comma": ",", "stop": ";", "and": "&"}
_KANA = re.compile("[\u3041-\u30fa]")
_CLOCK_LIKE = re.compile(r"\d{1,2}(?::\d\d(?!\d)|[ap]\.?m)")
_HAN_NUMBER = re.compile("[零〇一二两三四五六七八九十百]+")
_CASE = re.compile(r"(?:(?<=\d)|(?<=[^\W_]{2}))'[^\W\d_]{1,4}$")
"""An ending behind an apostrophe: "Monday's", "Mart'ta", "15'te"."""
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)t(\d\d:\d\d(?::\d\d)?)")
_GLUED = re.compile(r"(\d{1,4})-?([a-z']+)")
_HAN = re.compile(f"[{_HAN_RUN}]")
_HANGUL = re.compile("[\uac00-\ud7a3]+")
_LETTER = re.compile("[a-z]")
_TELLING_TIME = frozenset("DRtWMCUk!")
_WORDS = re.compile(rf"[^\W\d_{_HAN_RUN}]+(?:-[^\W\d_{_HAN_RUN}]+)*")
_ENDING = re.compile(r"(?<=\d)[a-z]{2}(?![a-z])")
"""Of a number, as in "1er", which is no word of German for it."""
_DATED = re.compile(r"(?<!\d)\d{1,2}\.?\s(?:[^\W\d_]{1,3}\s)?([^\W\d_]{3,})")
"""A word behind a number, as a month is."""
_LAST_HOUR = (Span("rolling", amount=1, unit="hour"),)


class _Lexer:
    """One text; offsets are those of its normal form until the last step."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.normal, self.origin = _normal(text)
        self.language = _language_of(self.normal)
        self.latin = _words_of(self.language)
        self.han = han(is_japanese=bool(_KANA.search(self.normal)))

    def pieces(self) -> Iterator[Piece]:
        chunks = list(_CHUNK.finditer(self.normal))
        at, is_start = 0, True
        while at < len(chunks):
            chunk, used = chunks[at], 1
            if chunk.lastgroup == "word":
                used, made = self._words(chunks[at : at + MOST_WORDS], is_start)
            elif chunk.lastgroup == "han":
                made = self._han(chunk)
            else:
                kind = _GROUPS[chunk.lastgroup or "stop"]
                if kind == "T" and re.match(r"(?:^|\s)~\S", self.normal[max(0, chunk.start() - 1) :][:3]):
                    kind = "~"  # "~3pm"
                made = [Piece(kind, _LAST_HOUR if kind == "Z" else None, *chunk.span())]
            for piece in made:
                yield piece._replace(start=self.origin[piece.start], end=self.origin[piece.end - 1] + 1)
            is_start = chunk.lastgroup == "stop"
            at += used

    # -- letters and digits --

    def _words(self, chunks: list[re.Match[str]], is_start: bool) -> tuple[int, list[Piece]]:
        """(chunks used, pieces): the longest entry that begins here, or what the one chunk holds."""
        word, start = chunks[0][0], chunks[0].start()
        for count in range(len(chunks), 1, -1):
            end = chunks[count - 1].end()
            if entry := self.latin.get(" ".join(self.normal[start:end].split())):
                return count, [self._entry(entry, start, end, is_start)]
        bare = word.rstrip(".'-") or word
        made = self._known(word, start, is_start)
        if made or bare == word:
            return 1, made or [self._unknown(word, start, is_start)]
        made = self._known(bare, start, is_start) or [self._unknown(bare, start, is_start)]
        ends_sentence = word[len(bare)] == "." and made[-1].kind not in "HMW"  # p.m., Sept., Tue.
        stop = Piece(";", None, start + len(bare), start + len(word))
        return 1, [*made, stop] if ends_sentence else made

    def _known(self, word: str, start: int, is_start: bool) -> list[Piece]:
        """The piece of an entry or a form of digits, or those of two that are grown together."""
        entry = self.latin.get(word) or self.latin.get(_CASE.sub("", word))
        if entry:
            return [self._entry(entry, start, start + len(word), is_start)]
        shape = shape_of(_CASE.sub("", word), self.language)
        if shape:  # a number may be a clock time, where not all words for "at" and "between" are known
            is_weak = shape[0] == "n" and self.language not in LATIN
            return [Piece(*shape, start, start + len(word), is_weak)]
        glued = _GLUED.fullmatch(word)
        if glued:  # "30min", "3ish"
            entry = self.latin.get(glued[2])
            is_unit = entry and entry[0] in ("=" if "-" in word else "UkH=")
            return self._pair(glued[1], glued[2], start) if is_unit else []
        if stamp := _STAMP.fullmatch(word):
            return self._pair(stamp[1], stamp[2], start)
        before, mark, behind = word.partition("-" if "-" in word else "/")
        pair = self._pair(before, behind, start) if behind else []
        kinds = "".join(piece.kind for piece in pair)
        is_name = before[:1].isdigit() != behind[:1].isdigit() and not set(kinds) & set("PC")
        if not pair or is_name:  # "7-Eleven", and not "9am-noon"
            return []
        if before.isalpha() and kinds in ("nn", "no"):  # "thirty-two", "twenty-first"
            return [Piece(kinds[1], pair[0].value + pair[1].value, start, start + len(word), kinds[1] == "o")]
        if before.isalpha() and kinds[0] != kinds[1] and kinds != "PC":  # "half-past", "Monday-morning"
            return pair
        middle = Piece("T" if mark == "-" else "&", None, start + len(before), start + len(before) + 1)
        return [pair[0], middle, pair[1]]

    def _pair(self, first: str, last: str, start: int) -> list[Piece]:
        """Two words that are both known, with at most a mark between them."""
        at = self.normal.index(last, start + len(first))
        found = self._known(first, start, is_start=True), self._known(last, at, is_start=True)
        return [*found[0], *found[1]] if all(found) else []

    def _entry(self, entry: Entry, start: int, end: int, is_start: bool) -> Piece:
        kind, value, is_short = entry
        first = self.text[self.origin[start]]
        if kind == "t" and first.isupper() and not is_start:  # "am Morgen", and not "morgen"
            return Piece("P", Point(part=PARTS["morning"]), start, end)
        if kind == "M" and first.islower():
            is_short = self.normal[start:end] in others(self.language)  # "may"
        elif first.isupper() and not is_start:  # "la señora Domingo", "the Today programme"
            is_name = kind == "W" and not has_capital_names(self.language)
            is_short = is_short or is_name or (kind in "DRPC" and self.language != "de")
        return Piece(kind, value, start, end, is_short)

    def _unknown(self, chunk: str, start: int, is_start: bool) -> Piece:
        is_time = self.language == "en" and re.fullmatch(r".+(?:time|hours)", chunk)
        is_name = self.text[self.origin[start]].isupper() and not is_start
        kind = "h" if is_time or _CLOCK_LIKE.match(chunk) else "X" if is_name else "x"
        return Piece(kind, self.language, start, start + len(chunk))

    # -- Han --

    def _han(self, chunk: re.Match[str]) -> list[Piece]:
        """The longest entry or numeral at each place; what lies between is one piece."""
        run, made = chunk[0], list[Piece]()
        at = unknown = 0  # what is unknown reaches from there up to here
        while at < len(run):
            entry, end = self._longest(run, at)
            if entry:
                if unknown < at:
                    made.append(Piece("x", None, chunk.start() + unknown, chunk.start() + at))
                is_weak = entry[2] or (entry[0] == "P" and end == at + 1)  # 朝日新聞
                made.append(Piece(*entry[:2], chunk.start() + at, chunk.start() + end, is_weak))
                unknown = end
            at = end
        made += [Piece("x", None, chunk.start() + unknown, chunk.end())] if unknown < at else []
        # A word in Hangul is read whole, with its particles: the sign for a day is in many others.
        is_word = len(made) > 1 and _HANGUL.fullmatch(run) and any(piece.kind == "x" for piece in made)
        return [Piece("x", None, *chunk.span())] if is_word else made

    def _longest(self, run: str, at: int) -> tuple[Entry | None, int]:
        number = _HAN_NUMBER.match(run, at)
        end = number.end() if number else at + 1
        for size in range(MOST_SIGNS, end - at - 1, -1):
            entry = self.han.get(run[at : at + size])
            if entry and at + size <= len(run):
                return entry, at + size
        if not number:
            return None, end
        value = integer(number[0])
        is_vague = re.fullmatch("[一二两三四五六七八九]{2,3}", number[0])  # 三四天
        return ("v" if is_vague else "y" if value > 1970 else "n", value, False), end


def _normal(text: str) -> tuple[str, Sequence[int]]:
    """Letters without case, accents or width, one kind of dash; and where each character was."""
    whole = folded(text)
    if len(whole) == len(text):
        return whole, range(len(text))
    written = [(character, at) for at, raw in enumerate(text) for character in plain(raw)]
    return "".join(character for character, _ in written), [at for _, at in written]


def _language_of(text: str) -> str:
    """The language with most words of time in the text, and of those the one with most words; English in
    doubt.
    """
    head = _ENDING.sub(" ", text[:2000])
    words = {*_WORDS.findall(head), *re.findall(r"[a-z]+(?:['-][a-z]+)+|[a-z]+'?", head)}
    words = {word for word in words if len(word) > 1}
    told = small_words.languages_of(head)
    dated = {language for name in _DATED.findall(head) for language in languages_by_month().get(name, ())}
    others = {language for word in words for language in languages_by_word().get(word, ())} | dated
    counted = {of: _told(words, of) for of in (*LATIN, *sorted(others.union(told)))}
    best = max(LATIN, key=lambda of: sum(counted[of]))
    # A name may be a day somewhere ("Anna" is Friday in Turkmen): a small word or another word of time has
    # to stand beside it, or it is in a date, or in an expression of several words that is all the text.
    is_named = bool(_HAN.search(head) or _LETTER.search(head))
    is_whole = partial(_is_expression, head.strip())
    likely = [
        of
        for of, (times, small) in counted.items()
        if times >= counted[best][0] and (small or times > 1 or not is_named or of in dated or is_whole(of))
    ]
    return max([best, *likely], key=lambda of: (sum(counted[of]), counted[of][0], of == best, of in told))


def _is_expression(text: str, language: str) -> bool:
    return " " in text and text in _words_of(language)


def _told(words: set[str], language: str) -> tuple[int, int]:
    """(words of time, small words) of a language among some words."""
    entries = _words_of(language)
    kinds = {word: entries[word][0] for word in words if word in entries}
    phrases = {word for word in words - kinds.keys() if language in languages_by_word().get(word, ())}
    # "am" is "on" to Germans; behind an hour it says nothing of the language.
    times = sum(kind in _TELLING_TIME for kind in kinds.values()) + len(phrases)
    return times, sum(kind not in _TELLING_TIME and kind != "H" for kind in kinds.values())


def _words_of(language: str) -> dict[str, Entry]:
    return latin(language) if language in LATIN else from_cldr(language)
