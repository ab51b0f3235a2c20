"""From a text to the pieces that the grammar of times composes: words, numbers and their shapes.

A text is read with the words of one language in Latin letters, the one that most of its words belong
to, and with those of Chinese and Japanese. What is no word of time becomes a piece as well, so that
nothing is skipped silently. Linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

from assistant.language.time_said import PARTS, Clock, Date, Point, Span
from assistant.language.time_tables import HAN, HAN_VARIANTS, LATIN, SMALL_NAMES, names, words


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


_HAN_RUN = "\u3040-\u30ff\u3400-\u9fff々〇"
_END = rf"\s,、&;!?。…()\[\]|~〜\"“”«»《》「」{_HAN_RUN}"
_CHUNK = re.compile(
    rf"(?P<han>[{_HAN_RUN}]+)"
    r"|(?P<title>《[^》]{0,200}》|“[^”]{0,200}”|\"[^\"]{0,200}\"|「[^」]{0,200}」|«[^»]{0,200}»)"
    rf"|(?P<hour>(?<![a-z0-9_.+-])@(?:last-hour\b|最近一小时))|(?P<mention>(?<![a-z0-9_.+-])@(?=[a-z{_HAN_RUN}]))"
    r"|(?P<dash>[~〜]+)|(?P<comma>[,、])|(?P<stop>[;:!?。…()\[\]|\n]+)|(?P<and>&)"
    rf"|(?P<word>(?:[^:{_END}]|:(?=\d))+)"
)
_GROUPS = {"title": "x", "hour": "Z", "mention": "@", "dash": "T", "comma": ",", "stop": ";", "and": "&"}
_KANA = re.compile("[\u3041-\u30fa]")
_HALF = r"(?P<half>[ap]\.?m)?"
_SHAPES = tuple(
    (kind, re.compile(shape))
    for kind, shape in (
        ("ymd", r"(?P<y>\d{4})(?P<mark>[-/.])(?P<m>\d{1,2})(?P=mark)(?P<d>\d{1,2})"),
        ("dmy", r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4}|\d{2})?"),
        ("slash", r"(?P<d>\d{1,2})/(?P<m>\d{1,2})(?:/(?P<y>\d{4}|\d{2}))?"),
        ("slash", r"(?P<d>\d{1,2})-(?P<m>\d{1,2})-(?P<y>\d{4}|\d{2})"),
        ("year", r"'(?P<y>\d{2})"),
        ("month", r"(?P<m>\d{1,2})/(?P<y>\d{4})"),
        ("clock", rf"(?P<h>\d{{1,2}}):(?P<min>\d{{2}})(?::\d{{2}})?(?:{_HALF}|h)"),
        ("clock", r"(?P<h>\d{1,2})h(?P<min>\d{2})?"),
        ("clock", r"(?P<h>\d{1,2})(?P<half>[ap]\.?m)"),
        ("dotted", rf"(?P<h>\d{{1,2}})\.(?P<min>\d{{2}}){_HALF}"),
        ("fraction", r"\d+\.\d+"),
        ("ordinal", r"(?P<d>\d{1,2})(?:st|nd|rd|th|er|o|\.)"),
        ("quarter", r"q(?P<q>[1-4])"),
        ("number", r"\d+"),
    )
)
_HAN_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_NUMBER = re.compile("[零〇一二两三四五六七八九十百]+")
_GLUED = re.compile(r"(\d{1,4})-?([a-z']+)")
_LAST_HOUR = (Span("rolling", amount=1, unit="hour"),)


class _Lexer:
    """One text; offsets are those of its normal form until the last step."""

    def __init__(self, text: str) -> None:
        self.normal, self.origin = _normal(text)
        self.language = _language_of(self.normal)
        self.latin, self.lengths = _latin_words(self.language)
        self.han = _han_words(max(self.normal, default="") >= "\u3040" and bool(_KANA.search(self.normal)))
        self.text = text

    def pieces(self) -> Iterator[Piece]:
        chunks = list(_CHUNK.finditer(self.normal))
        at, is_start = 0, True
        while at < len(chunks):
            chunk, used = chunks[at], 1
            if chunk.lastgroup == "word":
                used, made = self._words(chunks, at, is_start)
            elif chunk.lastgroup == "han":
                made = self._han(chunk)
            else:
                kind = _GROUPS[chunk.lastgroup or "stop"]
                if kind == "T" and re.match(r"(?:^|\s)~\S", self.normal[max(0, chunk.start() - 1) :][:3]):
                    kind = "~"  # "~3pm"
                made = [Piece(kind, _LAST_HOUR if kind == "Z" else None, *chunk.span())]
            for kind, value, start, end, is_weak in made:
                yield Piece(kind, value, self.origin[start], self.origin[end - 1] + 1, is_weak)
            is_start = chunk.lastgroup == "stop"
            at += used

    # -- letters and digits --

    def _words(self, chunks: list[re.Match[str]], at: int, is_start: bool) -> tuple[int, list[Piece]]:
        """(chunks used, pieces): the longest entry that begins here, or what the one chunk holds."""
        start = chunks[at].start()
        for count in range(min(self.lengths.get(chunks[at][0], 1), len(chunks) - at), 0, -1):
            last = chunks[at + count - 1]
            entry = self.latin.get(" ".join(chunk[0] for chunk in chunks[at : at + count]))
            if entry:
                return count, [self._entry(entry, start, last.end(), is_start)]
        return 1, self._chunk(chunks[at][0], start, is_start)

    def _chunk(self, chunk: str, start: int, is_start: bool) -> list[Piece]:
        """One chunk, as it is or without the marks at its end; a full stop may end the sentence."""
        bare = chunk.rstrip(".'-") or chunk
        made = self._known(chunk, start, is_start)
        if made or bare == chunk:
            return made or [self._unknown(chunk, start, is_start)]
        made = self._known(bare, start, is_start) or [self._unknown(bare, start, is_start)]
        if chunk[len(bare)] != "." or made[-1].kind in "HMW":  # p.m., Sept., Tue.
            return made
        return [*made, Piece(";", None, start + len(bare), start + len(chunk))]

    def _known(self, word: str, start: int, is_start: bool) -> list[Piece]:
        """The piece of an entry or a form of digits, or those of two that are grown together."""
        entry = self.latin.get(word) or self.latin.get(word.removesuffix("'s"))
        if entry:
            return [self._entry(entry, start, start + len(word), is_start)]
        shape = _shape(word, self.language)
        if shape:
            return [shape._replace(start=start, end=start + len(word))]
        glued = _GLUED.fullmatch(word)
        if glued:  # "30min", "3ish"
            entry = self.latin.get(glued[2])
            kinds = "=" if "-" in word else "UkH="
            return self._pair(glued[1], glued[2], start) if entry and entry[0] in kinds else []
        before, _, behind = word.partition("'")
        if behind:  # "l'hiver"
            return self._pair(before + "'", behind, start)
        mark = "-" if "-" in word else "/"
        before, _, behind = word.partition(mark)
        pair = self._pair(before, behind, start) if behind else []
        kinds = "".join(piece.kind for piece in pair)
        is_name = before[:1].isdigit() != behind[:1].isdigit() and not set(kinds) & set("PC")
        if not pair or is_name:  # "7-Eleven", and not "9am-noon"
            return []
        if before.isalpha() and kinds in ("nn", "no"):  # "thirty-two", "twenty-first"
            value = pair[0].value + pair[1].value
            return [Piece(kinds[1], value, start, start + len(word), kinds[1] == "o")]
        if before.isalpha() and kinds[0] != kinds[1]:  # "half-past", "Monday-morning"
            return pair
        middle = Piece("T" if mark == "-" else "&", None, start + len(before), start + len(before) + 1)
        return [pair[0], middle, pair[1]]

    def _pair(self, first: str, last: str, start: int) -> list[Piece]:
        """Two words that are both known, with at most a mark between them."""
        found = []
        for word, at in ((first, start), (last, self.normal.index(last, start + len(first)))):
            entry = self.latin.get(word)
            piece = Piece(*entry[:2], 0, 0, entry[2]) if entry else _shape(word, self.language)
            if piece is None:
                return []
            found.append(piece._replace(start=at, end=at + len(word)))
        return found

    def _entry(self, entry: Entry, start: int, end: int, is_start: bool) -> Piece:
        kind, value, is_short = entry
        first = self.text[self.origin[start]]
        if kind == "M" and first.islower():
            is_short = self.normal[start:end] in words(self.language)["z"].split()  # "may"
        elif first.isupper() and not is_start:  # "la señora Domingo", "the Today programme"
            is_name = kind == "W" and self.language in SMALL_NAMES
            is_short = is_short or is_name or (kind in "DRPC" and self.language != "de")
        return Piece(kind, value, start, end, is_short)

    def _unknown(self, chunk: str, start: int, is_start: bool) -> Piece:
        is_time = re.fullmatch(r".+(?:time|hours)", chunk) and self.language == "en"
        if is_time or re.match(r"\d{1,2}(?::\d\d(?!\d)|[ap]\.?m)", chunk):
            return Piece("h", None, start, start + len(chunk))
        is_name = self.text[self.origin[start]].isupper() and not is_start
        return Piece("X" if is_name else "x", self.language, start, start + len(chunk))

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
        return [*made, Piece("x", None, chunk.start() + unknown, chunk.end())] if unknown < at else made

    def _longest(self, run: str, at: int) -> tuple[Entry | None, int]:
        number = _HAN_NUMBER.match(run, at)
        for word in self.han.get(run[at], ()):
            if run.startswith(word[0], at) and not (number and number.end() > at + len(word[0])):
                return word[1], at + len(word[0])
        if number:
            value = _han_number(number[0])
            is_vague = re.fullmatch("[一二两三四五六七八九]{2,3}", number[0])  # 三四天
            return ("v" if is_vague else "y" if value > 1970 else "n", value, False), number.end()
        return None, at + 1


Entry = tuple[str, Any, bool]


@lru_cache(maxsize=512)
def _shape(chunk: str, language: str) -> Piece | None:
    """What digits are by their form."""
    if not chunk[:1].isdigit() and chunk[:1] not in ("q", "'"):
        return None
    for name, pattern in _SHAPES:
        found = pattern.fullmatch(chunk)
        is_german = name == "ordinal" and chunk[-1] == "."  # 7. September
        is_french = name == "clock" and chunk[-1] == "h"  # 14h
        if found and not ((is_german and language != "de") or (is_french and language == "en")):
            kind, value = _read_shape(name, found)
            return Piece(kind, value, 0, 0)
    return None


def _read_shape(name: str, found: re.Match[str]) -> tuple[str, Any]:
    part = {key: value for key, value in found.groupdict().items() if value and value.isdigit()}
    numbers = {key: int(value) for key, value in part.items()}
    if name in ("ymd", "dmy", "slash"):
        year = numbers.get("y")
        year = year + 2000 if year is not None and year < 100 else year
        day = Date(year=year, month=numbers["m"], day=numbers["d"], is_slash=name == "slash")
        return "/" if name == "slash" else "D", Point(day)
    if name == "year":
        return "y", 2000 + numbers["y"]
    if name == "month":
        return "/", Point(Date(year=numbers["y"], month=numbers["m"]))
    if name in ("clock", "dotted"):
        half = (found["half"] or "").replace(".", "") if "half" in found.re.groupindex else ""
        minute = part.get("min")
        is_written = minute is not None and (len(part["h"]) == 2 or "h" in found[0])
        clock = Clock(numbers["h"], int(minute or 0), half, is_bare=not is_written)
        return ("C" if name == "clock" or half else "µ"), Point(clock=clock)
    if name == "fraction":
        return "q", float(found[0])
    if name == "quarter":
        return "Q", numbers["q"]
    if name == "ordinal":
        return "o", numbers["d"]
    return _whole_number(found[0])


def _whole_number(digits: str) -> tuple[str, Any]:
    if len(digits) == 4 and 1970 < int(digits) < 2200:
        return "y", int(digits)
    if len(digits) == 4:
        return "4", Point(clock=Clock(int(digits[:2]), int(digits[2:])))
    return "n", int(digits[:9])


def _normal(text: str) -> tuple[str, list[int]]:
    """Letters without case, accents or width, one kind of dash; and where each character was."""
    characters: list[str] = []
    origin: list[int] = []
    for at, raw in enumerate(text):
        for character in _plain(raw):
            characters.append(character)
            origin.append(at)
    return "".join(characters), origin


@lru_cache(maxsize=8192)
def _plain(raw: str) -> str:
    if raw.isascii():
        return raw.lower()
    plain = unicodedata.normalize("NFKC", raw).lower().translate(HAN_VARIANTS).translate(_DASHES)
    base = unicodedata.normalize("NFKD", plain)[:1]
    return base if base.isascii() and base.isalpha() else plain


_DASHES = str.maketrans({"–": "-", "—": "-", "‐": "-", "−": "-", "’": "'"})


@cache
def _latin_words(language: str) -> tuple[dict[str, Entry], dict[str, int]]:
    """Entries of a language, and for each first word of an entry how many words an entry may have."""
    short, whole = (
        {name: entry for name, entry in names(language).items() if entry[2] is of} for of in (True, False)
    )
    entries: dict[str, Entry] = (
        short | _table_words(language, "z") | whole | {"-": ("T", None, False), "@": ("@", "", False)}
    )
    parts = [(word, value) for word, (kind, value, _) in _table_words(language).items() if kind == "P"]
    for name, (kind, number, is_short) in names(language).items():
        if kind == "W" and not is_short:
            entries[f"los {name}" if language == "es" else f"{name}s"] = "%", number, False
        if kind == "W" and language == "de":  # Montagabend
            day = Point(Date(weekday=number))
            entries |= {name + word: ("R", day.merged(part), False) for word, part in parts}
    if language == "en":
        entries |= {f"{word}s": ("%", None, False) for word, _ in parts}
    entries |= _table_words(language)
    lengths: dict[str, int] = {}
    for entry_words in entries:
        first, *rest = entry_words.split(" ")
        lengths[first] = max(lengths.get(first, 1), len(rest) + 1)
    return entries, lengths


@cache
def _han_words(is_japanese: bool) -> dict[str, list[tuple[str, Entry]]]:
    """Entries of Chinese and Japanese by their first character, the longest first."""
    order = HAN if is_japanese else HAN[::-1]
    entries: dict[str, Entry] = {}
    for language in order:
        entries |= _table_words(language, "z") | names(language) | _table_words(language)
    first: dict[str, list[tuple[str, Entry]]] = {}
    for word in sorted(entries, key=len, reverse=True):
        first.setdefault(word[0], []).append((word, entries[word]))
    return first


def _table_words(language: str, only: str = "") -> dict[str, Entry]:
    """The entries of a language: those of one kind, or all but the other words of grammar."""
    entries: dict[str, Entry] = {}
    for kind, written in words(language).items():
        for word in written.split() if (kind == "z") == (only == "z") else ():
            name, _, value = word.partition("=")
            is_weak = kind == "o" or value.endswith("/weak")
            entries[name.replace("_", " ")] = kind, _value(kind, value.removesuffix("/weak")), is_weak
    return entries


def _value(kind: str, written: str) -> Any:
    match kind:
        case "D" | "R":
            back, _, what = written.partition("/")
            day = Date(years=int(back)) if what == "years" else Date(days=int(back)) if back else None
            return Point(day, part=PARTS.get(what))
        case "!":
            return Point(is_now=True)
        case "P":
            return Point(part=PARTS[written])
        case "C":
            return Point(clock=Clock(int(written), is_midnight=True))
        case "n" | "5" | "o" | "W" | "K" | "l" | "L":
            return int(written or 1)
        case "q":
            return float(written)
    return written


def _language_of(text: str) -> str:
    """The language that most words of the text belong to, English in doubt."""
    found = set(re.findall(r"[a-z]+(?:['-][a-z]+)+", text[:2000])) | set(re.findall(r"[a-z]+'?", text[:2000]))
    known = {language: _latin_words(language)[0] for language in LATIN}
    # "am" is "on" to Germans; behind an hour it says nothing of the language.
    return max(LATIN, key=lambda of: sum(known[of].get(word, "H")[0] != "H" for word in found))


def _han_number(text: str) -> int:
    """十二, 二十四, 两百, and digit by digit 二〇二六."""
    if not re.search("[十百]", text):
        return int("".join(str(_HAN_DIGITS[c]) for c in text))
    total = digit = 0
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        else:
            digit = _HAN_DIGITS[character]
    return total + digit
