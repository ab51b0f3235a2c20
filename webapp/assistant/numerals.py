"""Numbers written in words, as digits: "three hours" and "3 hours" are one claim.

Only where a number is meant: "one" and "一" are mostly articles, so they count before a unit of
time alone; a Chinese numeral counts before a measure word or a unit.
"""

from __future__ import annotations

import re

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
_QUARTER = re.compile(r"\b(?:a\s+)?quarter\s+of\s+an\s+hour\b|一刻钟", re.IGNORECASE)
_A_YEAR = re.compile(r"\b(within|for|after)\s+an?\s+(?=(?:day|week|month|year)\b)", re.IGNORECASE)
_AN_HOUR = re.compile(r"\b(?:an|a|one)\s+(?P<unit>hour|minute)(?P<half>\s+and\s+a\s+half)?\b", re.IGNORECASE)
_HAN_VALUES = {sign: n for n, sign in enumerate("零一二三四五六七八九")} | {"两": 2}
_HAN = re.compile(
    r"(?<![周期拜十百千])(?P<sign>[一二两三四五六七八九十百]{1,5})"
    r"(?=(?P<unit>个?小时|分钟|天|个月|个|份|封|次|页|元|块|条|名|位|张|行|周|年|月|点|人|件|篇|段|帧|秒))"
)
_AND_HALF = re.compile(r"\b(\d+)\s+and\s+a\s+half\b", re.IGNORECASE)
_HAN_AND_HALF = re.compile(r"([一二两三四五六七八九十]{1,3})个半(?=小时|钟头)")
_HAN_TIME = ("小时", "个小时", "分钟", "天", "个月", "周", "年", "秒")


def in_digits(text: str) -> str:
    """The text with its numbers in words written as digits."""
    text = _HAN_AND_HALF.sub(lambda found: f"{_han_value(found[1])}.5 ", text)
    text = _HALF.sub("30 min", _QUARTER.sub("15 min", text))
    text = _AN_HOUR.sub(_an_hour, _A_YEAR.sub(r"\1 1 ", text))
    text = _AND_HALF.sub(r"\1.5", _ENGLISH.sub(_english, text))
    return _HAN.sub(_han, text)


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
