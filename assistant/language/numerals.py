"""Numbers written in words, as digits: "three hours" and "3 hours" are one claim.

Only where a number is meant: "one" and "一" are mostly articles, so they count before a unit of
time alone; a Chinese numeral counts before a measure word or a unit.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import lru_cache

from assistant.language.spoken_clocks import in_clock_digits

_ONES_TEXT = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
fifteen sixteen seventeen eighteen nineteen"""
_TENS_TEXT = "twenty thirty forty fifty sixty seventy eighty ninety"
_ONES, _TENS = _ONES_TEXT.split(), _TENS_TEXT.split()
_VALUES = {word: n for n, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)}
_LARGE = {"hundred": 100, "thousand": 1000, "dozen": 12}
_ENGLISH = re.compile(
    rf"\b(?P<words>(?:{'|'.join([*_TENS, *_ONES[::-1]])})(?:[\s-](?:{'|'.join(_ONES[1:10])}))?)"
    rf"(?P<large>\s+(?:{'|'.join(_LARGE)}))?\b"
    r"|\b(?P<article>an?)\s+(?P<many>hundred|thousand|dozen)\b",
    re.IGNORECASE,
)
_TIME_UNIT = re.compile(
    r"[\s-]+(?:hours?|hrs?|minutes?|mins?|seconds?|days?|weeks?|months?|years?)\b", re.IGNORECASE
)
_HALF = re.compile(r"\bhalf\s+an?\s+hour\b|\ba\s+half[\s-]hour\b|半个?小时|半个钟头", re.IGNORECASE)
_TWICE = re.compile(r"\btwice\b", re.IGNORECASE)
_QUARTER = re.compile(r"\b(?:a\s+)?quarter\s+of\s+an\s+hour\b|一刻钟", re.IGNORECASE)
_A_YEAR = re.compile(r"\b(within|for|after)\s+an?\s+(?=(?:day|week|month|year)\b)", re.IGNORECASE)
_AN_HOUR = re.compile(r"\b(?:an|a|one)\s+(?P<unit>hour|minute)(?P<half>\s+and\s+a\s+half)?\b", re.IGNORECASE)
_HAN_VALUES = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
_HAN = re.compile(
    r"(?<![周期拜十百千第])(?P<sign>[一二两三四五六七八九十百]{1,5})"
    r"(?=(?P<unit>个?小时|分钟|天|个月|个|份|封|次|页|元|块|条|名|位|张|行|周|年|月|点|人|件|篇|段|帧|秒|毫秒|号|级|期|米"
    r"|度|倍|台|组|项|步|章|岁|日))"
)
_HALF_UNIT = re.compile(
    r"\bhalf\s+an?\s+(?=(?:milli)?second\b|day\b|year\b|met(?:re|er)\b|million\b)|半(?=秒|天|年)",
    re.IGNORECASE,
)
_HAN_CLOCK = re.compile(
    r"(?:(?<=[午晨晚上间里])|(?=[一二两三四五六七八九十]{1,3}点[半整钟一二三四五十\d]))(?P<hour>[一二两三四五六七八九十]{1,3})点"
    r"(?P<past>[一二三四五]?十[一二三四五六七八九]?|[零〇][一二三四五六七八九])?"
)
_HAN_PERCENT = re.compile(r"百分之(?P<sign>[一二两三四五六七八九十百]{1,5}|\d+(?:\.\d+)?)")
_MULTIPLE = re.compile(
    r"(?<![\d.,])(?P<number>\d+(?:[.,]\d+)*)\s?(?:(?P<k>[kK])\b|(?P<m>[mM]illion\b)|(?P<wan>万)|(?P<qian>千)(?![克米]))"
)
_NAMED_UNIT = re.compile(
    r"(?<=[A-Za-z\d])_(?P<unit>MS|SEC|S|MIN)\b\W{0,5}(?:to|is|at|of)?\s*\d+(?:\.\d+)?(?![\w.]|\s*[a-z])",
    re.IGNORECASE,
)
_FACTORS = {"k": 1_000, "m": 1_000_000, "wan": 10_000, "qian": 1_000}
_MONEY = r"(?:EUR|USD|CNY|RMB|[€$£¥]|euros?|dollars?|yuan|欧元|美元|元)"
# A plain space parts thousands beside money only: in a table it parts two cells.
_SPACED = re.compile(
    rf"(?P<sign>{_MONEY}\s?)(?P<signed>\d{{1,3}}(?: \d{{3}})+)(?!\d)"
    rf"|(?<![\d.,])(?P<named>\d{{1,3}}(?: \d{{3}})+)(?=\s?{_MONEY})"
    rf"|(?<![\d.,])(?P<plain>\d{{1,3}}(?:[\u202f']\d{{3}})+)(?!\d)",
    re.IGNORECASE,
)
_AND_HALF = re.compile(r"\b(\d+)\s+and\s+a\s+half\b", re.IGNORECASE)
_HAN_AND_HALF = re.compile(r"([一二两三四五六七八九十]{1,3})个半(?=小时|钟头)")
_HAN_TIME = ("小时", "个小时", "分钟", "天", "个月", "周", "年", "秒")


@lru_cache(maxsize=8192)
def in_digits(text: str) -> str:
    """The text with its numbers in words written as digits, whole: without spaces, "k" or 万. A number
    whose name tells its unit gets it: ``TIMEOUT_S = 20`` is 20 s.
    """
    text = _SPACED.sub(_unspaced, unicodedata.normalize("NFKC", text))
    text = _TWICE.sub("2 times", text)
    text = _HAN_AND_HALF.sub(lambda found: f"{_han_value(found[1])}.5 ", text)
    text = _HALF_UNIT.sub("0.5 ", _HALF.sub("30 min", _QUARTER.sub("15 min", text)))
    text = _AN_HOUR.sub(_an_hour, _A_YEAR.sub(r"\1 1 ", text))
    text = _AND_HALF.sub(r"\1.5", _ENGLISH.sub(_english, text))
    text = _HAN_CLOCK.sub(_han_clock, _HAN_PERCENT.sub(_han_percent, text))
    text = _NAMED_UNIT.sub(lambda found: f"{found[0]} {found['unit'].lower()}", text)
    return in_clock_digits(_MULTIPLE.sub(_multiplied, _HAN.sub(_han, text)))


def _unspaced(found: re.Match[str]) -> str:
    digits = found["signed"] or found["named"] or found["plain"]
    return (found["sign"] or "") + re.sub(r"\D", "", digits)


def _multiplied(found: re.Match[str]) -> str:
    factor = next(times for name, times in _FACTORS.items() if found[name])
    number = Decimal(re.sub(r",(?=\d{3}(?!\d))", "", found["number"]).replace(",", "."))
    return f"{(number * factor).normalize():f}"


def _han_clock(found: re.Match[str]) -> str:
    past = found["past"]
    return f"{_han_value(found['hour'])}点{_han_value(past.replace('〇', '零')) if past else ''}"


def _han_percent(found: re.Match[str]) -> str:
    sign = found["sign"]
    return f"{sign if sign[0].isdigit() else _han_value(sign)}%"


def _an_hour(found: re.Match[str]) -> str:
    minutes = 60 if found["unit"].lower() == "hour" else 1
    return f"{minutes * 1.5 if found['half'] else minutes:g} min"


def _english(found: re.Match[str]) -> str:
    if found["article"]:
        return str(_LARGE[found["many"].lower()])
    words = re.split(r"[\s-]", found["words"].lower())
    if words == ["one"] and not found["large"] and not _TIME_UNIT.match(found.string, found.end()):
        return found[0]
    large = _LARGE[found["large"].strip().lower()] if found["large"] else 1
    return str(sum(_VALUES[word] for word in words) * large)


def _han(found: re.Match[str]) -> str:
    sign = found["sign"]
    if sign == "一" and found["unit"] not in _HAN_TIME:
        return sign
    return str(_han_value(sign))


def _han_value(sign: str) -> int:
    """``三`` is 3, ``十四`` 14, ``二十`` 20, ``一百二十`` 120; signs side by side are digits."""
    if not re.search("[十百]", sign):
        return int("".join(str(_HAN_VALUES[each]) for each in sign))
    value, last = 0, 0
    for each in sign:
        if each in "十百":
            value += (last or 1) * (10 if each == "十" else 100)
            last = 0
        else:
            last = _HAN_VALUES[each]
    return value + last
