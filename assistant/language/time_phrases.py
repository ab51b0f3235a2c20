"""What a person calls a time, as a range: "between 2 and 4 on Tuesday", "上周五下午", "last 2 hours".

The words become pieces (`time_lexer`), pieces are composed to days, clock times and spans
(`time_grammar`), and these are resolved on the reader's calendar (`time_ranges`). In a field every
word must be understood: a parser that skips what it does not know turns "next friday" into today. In
a message the longest phrase counts, one with an @mention before others; words of time beside it that
were not understood are named, and never make the answer wider.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assistant.language.time_calendar import Calendar as Calendar
from assistant.language.time_grammar import compose
from assistant.language.time_lexer import Piece, pieces_of
from assistant.language.time_pieces import is_noun_behind, letters, merged
from assistant.language.time_ranges import Found as Found
from assistant.language.time_ranges import found_of
from assistant.language.time_said import Problem, Refused, Span
from assistant.language.time_slips import like_time
from assistant.language.time_tables import has_capital_names

MOMENT_MARGIN_MS = 300_000  # a single moment, where a range is wanted, is widened by this much on each side


@dataclass(frozen=True, slots=True)
class Refusal:
    """No range. `phrase` is the part that was not understood, or that cannot be.

    `also` holds the readings to choose from where there are two ("ambiguous"), and what stands without the
    words that were not read ("unread").
    """

    phrase: str
    problem: Problem
    also: tuple[Found, ...] = ()


def in_field(text: str, calendar: Calendar) -> Found | Refusal:
    """The range a whole text means; every word of it must be understood, fill words aside."""
    pieces = pieces_of(text)
    row = [piece for piece in compose(pieces) if piece.kind not in _FILL]
    if len(row) == 1 and row[0].kind in _TIMES:
        return _resolved(row[0], text.strip(), calendar)
    left = [piece for piece in row if piece.kind not in _TIMES] or row[1:] or pieces
    return Refusal(text[left[0].start : left[-1].end] if left else "", "unrecognised")


def in_message(text: str, calendar: Calendar) -> Found | Refusal | None:
    """The range that a sentence names: its longest phrase that has one, widened if it is a moment.

    A phrase that cannot be (tomorrow, 30 February) is a refusal when there is no other, and so are words
    of time that stay unread. None when the sentence names no time.
    """
    composed = compose(pieces_of(text))
    row = [each._replace(kind="x") if _is_thing(composed, at) else each for at, each in enumerate(composed)]
    named = sorted(
        _phrases(row), key=lambda at: (not _is_mention(text, row[at]), row[at].start - row[at].end)
    )[:_MAX_TRIED]
    outcomes = {at: _resolved(row[at], text[row[at].start : row[at].end], calendar) for at in named}
    times = {at: widened(each, calendar) for at, each in outcomes.items() if isinstance(each, Found)}
    kinds = "".join(_kind_beside(piece, text) for piece in row)
    likely = [found.start() for found in (_LIKELY if times else _LIKELY_ALONE).finditer(kinds)]
    for at, found in times.items():
        others = [] if _is_mention(text, row[at]) else [each for each in (*times, *likely) if each != at]
        unread = _unread(row, kinds, at, others)
        return Refusal(text[slice(*unread)], "unread", (found,)) if unread else found
    refused = [each for each in outcomes.values() if isinstance(each, Refusal)]
    refused += [
        Refusal(text[piece.start : piece.end], "unread")
        for at, piece in enumerate(row)
        if at in likely or (piece.kind == "%" and not is_noun_behind(row[at : at + 2]))
    ]
    if refused and refused[0].problem == "unrecognised":
        return replace(refused[0], problem="unread")
    return refused[0] if refused else None


def widened(found: Found, calendar: Calendar) -> Found:
    """A moment as the range around it; anything else as it is."""
    also, further = (tuple(widened(one, calendar) for one in each) for each in (found.also, found.further))
    start_ms, end_ms = found.start_ms, found.end_ms
    if found.at_ms is not None:
        start_ms, end_ms = start_ms - MOMENT_MARGIN_MS, min(end_ms + MOMENT_MARGIN_MS, calendar.ends_ms)
    return replace(found, start_ms=start_ms, end_ms=end_ms, at_ms=None, also=also, further=further)


# -- in a sentence ------------------------------------------------------------------------

_MAX_TRIED = 20  # phrases of one sentence, the longest first
_FILL = frozenset("fijg@,;")
_TIMES = frozenset("DPCRZ")
_PLAIN = "fijg@,;zb"


def _phrases(row: list[Piece]) -> list[int]:
    """Where in the row a sentence means a time; a lone day and a lone time of day are put together."""
    kinds = letters(row)
    found = [at for at, piece in enumerate(row) if piece.kind in _TIMES and _is_meant(row, kinds, at)]
    days = [at for at in found if row[at].kind == "D"]
    clocks = [at for at in found if row[at].kind in "PC" or (row[at].kind == "Z" and _lacks_day(row[at]))]
    if len(days) == len(clocks) == 1:
        first, second = sorted((days[0], clocks[0]))
        both = merged([row[first], row[second]])
        if both:
            row[first] = both
            row[second] = row[second]._replace(kind="f")
            return [at for at in found if at != second]
    return found


def _lacks_day(piece: Piece) -> bool:
    spans: Sequence[Span] = piece.value
    return all(span.points and not any(point.date for point in span.points) for span in spans)


def _is_meant(row: Sequence[Piece], kinds: str, at: int) -> bool:
    """Whether a piece is a time in a sentence: not "the sun", not "Black Friday", not 一点."""
    piece, point = row[at], row[at].value
    before, behind = kinds[at - 1 : at] or ";", kinds[at + 1 : at + 2] or ";"
    belongs = is_noun_behind(row[at : at + 2])
    is_week = piece.kind == "D" and bool(point.date.nth and point.date.size)
    if belongs and (is_week or (piece.kind in "PC" and before == "f")):
        return False  # "the 9:15 train", "the week 3 report"
    if piece.kind == "P" and not _is_spaceless(row, at):
        return before in "fi@jc" and not piece.is_weak
    if piece.is_weak and not (piece.kind == "Z" and "D" in kinds):
        return before in _PLAIN and behind in _PLAIN
    if piece.kind == "C":
        return bool(point.clock.half) or before not in "xX"  # "room 12:30"
    if piece.kind == "D" and point.date.size is None and not point.date.is_relative:
        is_name = belongs and behind == "X" and before not in "ij@;,l"  # "March 8th GmbH"
        is_title = before == "X" and has_capital_names(row[at - 1].value)  # "Black Friday"; not "Anna lundi"
        return not is_name and (not is_title or point.date.day is not None)
    return True


def _is_thing(row: Sequence[Piece], at: int) -> bool:
    """ "for dinner", "cooked dinner": without a word for "at" or "during" before it, it is no time."""
    before = row[at - 1] if at else None
    return row[at].kind == "h" and before is not None and before.kind in "zxX" and before.end < row[at].start


def _is_mention(text: str, piece: Piece) -> bool:
    return text[max(0, piece.start - 1) : piece.start] == "@" or text[piece.start] == "@"


def _is_spaceless(row: Sequence[Piece], at: int) -> bool:
    """Whether a piece stands in a script without spaces."""
    beside = (row[max(0, at - 1) : at + 1], row[at : at + 2])
    pairs = [pair for pair in beside if len(pair) == 2 and not {pair[0].kind, pair[1].kind} & set(",;T&")]
    return any(first.end == second.start for first, second in pairs)


# In kinds of pieces: what may stand between, what is left of a time (a word of time, or a number where one is
# awaited), what may stand between it and what may be a word of time, such words right behind a time and right
# before it, and those that stand apart.
_BESIDE = "[fijg@,<>~SFTBE&]{0,6}"
_LEFT = (
    r"(?:[h%RPCDZWMVr/JOLe]|Kn|(?<=[DPRW])n(?=[z;,]|$)|(?<=[@~<>SBF])(?:[nq]|0(?![xXU]))"
    r"|(?<=&)[qK]|n[Tp]n?|z{1,2}f?0(?![xXU])|0z)"
)
_NEAR = "[fijg@,<>~SFTBE&pnqKkHLlU01z-]{0,8}"
_AFTER = re.compile(
    rf"(?:{_BESIDE}{_LEFT}|{_NEAR}[?*]|U(?![xX])|[i<>@~SFT][fijg@]{{0,3}}[xX]{{1,2}}[h%])+[xX]{{0,2}}"
)
_BEFORE = re.compile(rf"[<>~SFTfijg@]{{0,3}}(?:{_LEFT}{_BESIDE}|[?*]{_NEAR})+$")
_APART = re.compile(
    "(?:[i@<>SFT][fijg@]{0,3}[xX]{1,2}[fg]{0,3})?[h%][hkUWP]?|(?<=[@~<>S])[fij]{0,2}C|[nC]e"
    "|(?:(?<=D[xXz])|(?<=D[xXz]{2}))P(?![xX])"
)
_LIKELY = re.compile("[*]")
_LIKELY_ALONE = re.compile(
    r"(?:(?<=[UVDPMWCLlpnAchS59@<>B~-])|(?<=[UVDPMWCLlpnAchS59@<>B~-]f))[?]"
    "|[?]f?[UVDPMWCLc<]|[*]"
)
_REACH = 20  # pieces


def _unread(row: Sequence[Piece], kinds: str, at: int, others: Sequence[int]) -> tuple[int, int] | None:
    """A stretch of the text with words of time that the piece does not hold.

    They stand right beside it, or anywhere but before the noun that they tell more of ("the Christmas
    list"), or are times of their own (`others`).
    """
    first = max(0, at - _REACH)
    after, before = _AFTER.match(kinds, at + 1), _BEFORE.search(kinds[first:at])
    if after:
        left = after.span()
    elif before:
        left = first + before.start(), at
    else:
        spans = (each.span() for each in _APART.finditer(kinds))
        apart = [
            (first, end)
            for first, end in spans
            if at not in range(first, end) and not is_noun_behind(row[end - 1 : end + 1])
        ]
        left = next(iter([*apart, *((each, each + 1) for each in others)]), (0, 0))
    used = [piece for piece in row[slice(*left)] if piece.kind not in _FILL]
    return (used[0].start, used[-1].end) if used else None


def _kind_beside(piece: Piece, text: str) -> str:
    """The kind of a piece: "0" of a number that may be a clock, "?" of what may be a word of time, "*" of
    what may be the name of a day or month.
    """
    if piece.kind == "x" or (piece.kind == "X" and has_capital_names(piece.value)):
        return like_time(text[piece.start : piece.end], piece.value) or piece.kind
    return "0" if piece.kind == "n" and piece.is_weak else piece.kind


# -- from spans to a range ----------------------------------------------------------------


def _resolved(piece: Piece, phrase: str, calendar: Calendar) -> Found | Refusal:
    spans = piece.value if piece.kind == "Z" else (Span("point", piece.value),)
    orders = dict.fromkeys((spans, tuple(map(_month_first, spans))))
    readings = [_together(each, phrase, calendar) for each in orders]
    found = [each for each in readings if isinstance(each, Found)]
    if len({(each.start_ms, each.end_ms) for each in found}) > 1:
        nearest = sorted(found, key=lambda each: -each.end_ms)
        return Refusal(phrase, "ambiguous", tuple(widened(each, calendar) for each in nearest))
    return found[0] if found else readings[0]


def _month_first(span: Span) -> Span:
    """With the month first in dates with slashes."""
    start, end = (
        replace(point, date=replace(point.date, day=point.date.month, month=point.date.day))
        if point and point.date and point.date.is_slash
        else point
        for point in (span.start, span.end)
    )
    return replace(span, start=start, end=end)


def _together(spans: tuple[Span, ...], phrase: str, calendar: Calendar) -> Found | Refusal:
    """One range, or several that are meant together, earliest first; those that touch are one."""
    try:
        ranges = [found_of(span, phrase, calendar) for span in spans]
    except Refused as refused:
        return Refusal(phrase, refused.problem)
    joined: list[Found] = []
    for each in sorted(ranges, key=lambda one: one.start_ms):
        if joined and each.start_ms <= joined[-1].end_ms and each.at_ms is None:
            last = max((joined[-1], each), key=lambda one: one.end_ms)
            joined[-1] = replace(last, start_ms=joined[-1].start_ms, also=())
        else:
            joined.append(each)
    return replace(joined[0], further=tuple(joined[1:]))
