"""How times are composed: rules that join neighbouring pieces, in rounds, until nothing joins.

A text is a row of pieces, each of a kind that one letter names (see `time_tables`), so a rule is a
pattern over letters and a function that makes one piece of those it joined. In a pattern a space
stands for words between that say nothing ("on", "the", "at"), ``_`` for those and commas. Rules run
in order, each over the whole row until nothing joins.

What is composed has the kind D (a day), P (a part of the day), C (a clock time), R (a day with a time
of day), V (an amount of a unit), Z (spans) or % (a word of time that is no range: "every morning"). Clock
times that an answer spells out are read by the same rules (`figures_of_time`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from assistant.language import time_clocks as clocks
from assistant.language import time_days as days
from assistant.language.time_lexer import Piece
from assistant.language.time_pieces import POINTS, Build, has, letters, made, merged, no_range
from assistant.language.time_said import PARTS, Point

_GAP, _LOOSE = "[fijg@]{0,4}", "[fijg@,]{0,5}"  # bounded, so that every rule is linear
_POINT = f"[{POINTS}]"
_SPARE = frozenset("fijg@,")

Rule = tuple[re.Pattern[str], Build, bool]
"""What pieces look like, what is built of them (or None), and whether the words between are built in."""


def compose(pieces: Sequence[Piece]) -> list[Piece]:
    """The row of pieces after every rule."""
    row, kinds = list(pieces), letters(pieces)
    for rule in _RULES:
        before = len(row) + 1
        while len(row) < before and rule[0].search(kinds):  # until nothing joins
            before, row = len(row), _applied(rule, row, kinds)
            kinds = letters(row)
    return row


def _applied(rule: Rule, row: list[Piece], kinds: str) -> list[Piece]:
    pattern, build, is_whole = rule
    joined, at, done = list[Piece](), 0, 0
    while match := pattern.search(kinds, at):
        used = [p for p in row[match.start() : match.end()] if is_whole or p.kind not in _SPARE]
        built = build(used) if used else None
        at = match.start() + 1 if built is None else match.end()
        if built is not None:
            joined += row[done : match.start()]
            joined += built if isinstance(built, list) else [built]
            done = at
    return joined + row[done:]


def _rule(pattern: str, build: Build, *, whole: bool = False) -> Rule:
    return re.compile(pattern.replace(" ", _GAP).replace("_", _LOOSE)), build, whole


_MEANT = "[MDRUlcbWyPC]"
_ENDS = "([Fg] [nCPµ] [T@]|B [nCPµ] &) [nCPµ!](?! ?[UMmd])"
_RULES: tuple[Rule, ...] = (
    # what is no time, and what repeats
    _rule("y Y? #? n U|D#?nU|Q_y|o [UK] g? y|(?<=[iFSTB<>])Q", days.quarter),
    _rule("7nY", lambda used: made("y", used[0].value + used[1].value, used)),
    _rule("nY(?=n[ms])", lambda used: made("y", 2000 + used[0].value, used)),
    _rule("# n U(?! ?[<>JOa])|(?<![#nqo1lcNbpv])Un(_y)?(?! ?[nuUMmd])", days.week_number),
    _rule(f"(oU|[o1f]q|3f?)g[gf]{{0,3}}{_MEANT}|c3|[blcN]h|hL|hy", no_range),
    _rule("v [nq1ox]?[gf]{0,2}[UWPMDRmt]( P)?|% P", no_range),
    _rule("(?<=[ij])f?oU|U [<>](?=[;,z]|$)|[nMbcl]%|6(?=[<>JO])", no_range),
    _rule("oP", lambda used: no_range(used) if used[0].is_weak else None),  # "nel primo pomeriggio"
    _rule("9[UP][xX]?", days.own),
    _rule("(?<![nq1])U(?= ?[n/])", days.the_day),
    _rule("5(?=[gf1]{0,2}[Ud])", lambda used: used[0]._replace(kind="n")),
    _rule("[nq]Y", days.as_unit("year")),
    _rule(
        "[nq1]@(?= ?[aJ])",  # "iki saat önce": in Turkish one word is for the hour and for "at"
        lambda used: [used[0], used[1]._replace(kind="U")] if used[1].value == "hour" else None,
        whole=True,
    ),
    # hours as amounts, months as units, the words for tomorrow and morning
    _rule("[Alp] n?[nq1] k|n?[nq1] k(?= a)|(n )?[lLpcN] k|n3", days.as_unit("hour")),
    _rule("[bcN]+[ms]", days.back),
    _rule("[lcN] K(?! ?[gp])", days.as_unit("quarter")),
    _rule("(?<=[DWcRr])f{0,4}t", lambda used: made("P", Point(part=PARTS["morning"]), used)),
    _rule("t", lambda used: days.day(used, days=-1)),
    # amounts
    _rule("(?<!k)nu(?=[JO2])|p nu", days.as_unit("minute")),
    _rule("1?[n1]?( & 1?)?( [qK])? 1? U((?: &)? 1? [qK](?! ?[Unp]))?", days.amount),
    _rule("n L U", lambda used: days.ahead(used) if used[1].value < 0 else None),
    _rule("fn l U|c?n L U", days.rolling),
    _rule("[bc]+ [UW]|[lc] [UW]|N[fg]{0,4}[UW]|c?pW|U [<] l|[UW] L|L [UW]", days.back),
    _rule("c P|lP|PL", days.this_part),
    _rule("(?<![mM])n d J", lambda used: days.day(used, days=used[0].value) if used[1].value else None),
    _rule("A V a|V[aJ]|A V|V a|<V", days.ago),
    _rule(
        "U a|A U", lambda used: days.ago(used) if used[0].is_weak or used[1].is_weak else None
    ),  # "godzinę temu"
    _rule("JV|[WP] < l", no_range),
    _rule("N V|V F [DW]", days.ahead),
    _rule("V w|VO|i[f]*V(?! g)", partial(days.ago, sign=-1)),
    _rule(
        "(?<=[i<>@~])[fg]{0,4}x[U3]|(?<=[DPRWU])g?x[3eJO]|(?<=[DPRWUL])[fg]{0,4}([<>]|Bx&)x(?=[;z~,]|$)",
        lambda used: made("h", None, used),
    ),
    _rule("@x", lambda used: made("h", None, used) if used[0].value == "hour" else None, whole=True),
    # written dates
    _rule("nm(?=z)|ns", lambda used: days.day(used, month=used[0].value)),
    _rule("nm", lambda used: made("M", used[0].value, used)),
    _rule("M[h%]|[3h]T?M|a", no_range),
    _rule("(?<=z)nd", lambda used: days.day(used, day=used[0].value)),
    _rule("nd(?!m)", lambda used: made("o", used[0].value, used)),
    _rule("yY", lambda used: days.day(used, year=used[0].value)),
    _rule("M o(_y)?|M n(_y)?(?! ?[kH])|[no][gfF]{0,4}M(_y)?|M y|y M o?|D M|M[gfF,]{0,2}D", days.written),
    _rule(
        "[lcN] M|M L|(?<=[ij@])[ijf]{0,4}M|(?<=[SB<>])f{0,4}M(?!X)|(?<=[DWU])[gfF]{1,3}M|(?<=U)M"
        "|(?<=[8r])M|(?<=8[gF])M|(?<=8[gF]f)M|M(?=g?8)|[MD] [T&] [MD]",
        days.month,
    ),
    _rule("(?<=[iS])f{0,4}y", lambda used: days.day(used, year=used[0].value)),
    _rule("n [T&] D|[FS] n [T@] D|D [T&] n(?! ?[kHUMmdux4X])", days.numbered_days, whole=True),
    _rule(
        "(?<=[jFSTB<>~&DPCRWi])[f@,j]{0,4}/|f/(?=[;z,]|$)|/(?=_[DPCRW/jT]|[f,]{0,2}@)",
        lambda used: used[0]._replace(kind="D"),
    ),
    _rule("^f{0,4}/f{0,4}$", days.with_slashes),
    _rule("o W[gfij]+D|l W[gfij]+D", days.written),
    _rule("[Do] [T&] o", days.as_days),
    _rule("Wn(?![fijg@]{0,4}[nkKHUMTmdu&]|if?P)", days.numbered),
    _rule("W", lambda used: days.day(used, weekday=used[0].value)),
    _rule("fn(?=[;@<>S]|$)", days.numbered, whole=True),
    _rule("o(?![xXUW])", lambda used: None if used[0].is_weak else days.day(used, day=used[0].value)),
    _rule("U[gF] D|DU", days.unit_of),
    _rule("(?<![nxX])U[xX]?", days.weekend),
    _rule("[lpcb] c?V|c l V|V [2I]|S V|p U", days.rolling),
    _rule("[8r][gfF]{0,3}D|Dg?8", days.third, whole=True),
    _rule("8[gfF]{0,3}[DPCRUW]", lambda used: no_range(used) if days.is_named(used) else None, whole=True),
    # clock times
    _rule("(?<=[@FBS<>~DPRW])f{0,2}4|(?<![n4]T)(?<=T)4|(?<=C&)4|(?<=C[T&])[fijg@]?4", clocks.digits),
    _rule("@µ(?=_[DPRW])|(?<=[DPRW])[fij,@]{1,4}µ|[µC] k", clocks.digits),
    _rule("[nCµ] H", clocks.with_half),
    _rule(
        "P(?= [&-] [qK])",  # "midi et demi"
        lambda used: clocks.clock_at(12, 0, used) if used[0].value.part == PARTS["noon"] else None,
    ),
    _rule("-n?[Ku]nk|(?<![nkC])-[nKV] n", clocks.minutes_beside),
    # "all'una", "à uma": not "at a"
    _rule("(?<=@)1(?=[;z,]?$|_[DP]|&[qK])", lambda used: clocks.clock_at(1, 0, used)),
    _rule(
        "nknu?(?!f?[UmdkK])|n k n? K|n k - (n u?|K)|n k q|n k nu?(?! ?[xXUTmdk])|n k",
        clocks.minutes_behind,
    ),
    _rule("1? [Kq] p [nC]( k)?|[nV] p [nC]( k)?|1? K [T<>] [nC]( k)?", clocks.minutes_beside),
    _rule("(?<=[@S<>~T])f{0,4}[nV] T n( k)?|(?<=[@DPR])f{0,4}n [<>] n( k)?", clocks.to_the_hour),
    _rule("(?<=[DPR])[@ij]?n T n( k)?|(?<![xXFgBn])n T n( k)?(?=_[DPR])", clocks.not_past_midnight),
    # "tjugo i fyra": Scandinavians say so many minutes in the hour for before it
    _rule(
        "[nK]jn(?! ?[UMmdkXx])",
        lambda used: clocks.minutes_beside([used[0], used[1]._replace(kind="-"), used[2]]),
        whole=True,
    ),
    # half nine is half past nine, halb neun half an hour before it, dreiviertel neun a quarter
    _rule(
        "qf{0,2}n(?! ?[UkMmdu])", lambda used: clocks.clock_at(used[1].value, round(60 * used[0].value), used)
    ),
    _rule("B [nC] & n T n|F C T n T n", lambda used: [*used[:3], clocks.minutes_beside(used[3:]) or used[3]]),
    _rule("(?<=[@~<>SFTB&])f{0,2}nn(?! ?[UMmdk])", clocks.spoken),
    _rule("[nC] & 1?[qK]|[nC] - 1?[nK]|C [qK]|(?<=@)[nC]&n(?! ?[UMmdkTxe])", clocks.minutes_behind),
    _rule(
        f"{_ENDS}(?! ?[xX])|(?<=[DPR,])[fij]{{0,4}}{_ENDS}|{_ENDS}(?=_[DPR])"
        "|(?<=[DPR])_[nCPµ] T [nCPµ]( & [nCPµ] T [nCPµ])?(?! ?[UMmd])|(?<![xX])[nCµ] T [nCPµ](?=_[DPR])"
        "|(?<=[DPR])n(?=[OJe])|[nCµ] & [nCµ](?= ?e)|n T C|[CP] T n(?! ?[UMmdxX])|C & n(?! ?[xXUMmdkT])"
        "|(?<=@)f{0,4}n(?! ?[UMmdpT])|F n(?=_I)|n(?=if?P|R|=)|([~<>S]|(?<![nCy])T) n(?! ?[xXUMmdk])",
        clocks.bare_clocks,
        whole=True,
    ),
    # a day and a time of day
    _rule("D F D|[PC] F D(?! [T@])", days.day_of),
    _rule("r [PR]|[PR] r|[DPCR]_[DPCR]", lambda used: days.half(used) if has(used, "r") else merged(used)),
    # spans
    _rule(
        f"B {_POINT} & {_POINT}|[FS]? {_POINT} T(?!j) {_POINT} e?|i?{_POINT} & {_POINT} e"
        f"|F {_POINT} @ {_POINT}|{_POINT} G {_POINT} e?",
        clocks.between,
    ),
    _rule("F D j(?=[;z,]|$)|S [DPCR] I?", clocks.open_to("since")),
    _rule("F [DPCR] I?", clocks.from_on),
    _rule("[DPCR] I|[DPR] G", clocks.open_to("since")),
    _rule("C G", clocks.open_to("from")),
    _rule("T(?!j) [DPCR]", lambda used: clocks.open_to("until")(used) if used[0].value == "until" else None),
    _rule("(T )?[DPCR] e", clocks.open_to("until")),
    _rule("< [DPCR]|[DPCR] J", clocks.open_to("before")),
    _rule("> [DPCR]|[DPCR] O", clocks.open_to("after")),
    _rule("~ [PCR] =?|[PCR] =", clocks.open_to("around")),
    _rule("[DPR]_Z|Z_[DPR]", merged),
    _rule("[DPCRZ]( (,|&|, &) [DPCRZ]){1,9}", clocks.listed),
    # what is left of a time that was begun, or is taken out
    _rule(
        "U(?=[gfFij]{0,3}D)", lambda used: no_range(used) if used[0].value in ("week", "quarter") else None
    ),
    _rule("E [DRPCZ]|B [nC] &|[nqK] p|[<>]h", no_range),
)
