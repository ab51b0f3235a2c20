"""Names of months, weekdays and halves of the day in every official language, from CLDR; Han numerals.

A word may mean different months in two languages, so each has all its readings: who compares never has to
know which language it is. Those of all languages stand in ``cldr_tables.json``, which
``python -m tests.assistant.language.cldr_tables`` makes of what Babel has: read from there they take a
hundredth of the time and of the memory (Babel keeps 110 MB). Those of one language are Babel's.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from babel import Locale, localedata
from babel.dates import format_date, format_skeleton

TABLES = Path(__file__).with_name("cldr_tables.json")
MIN_LETTERS = 3  # of a name in an alphabet: shorter ones are words of other languages
SHORT_WEEKDAY = 4  # letters of a weekday's name that are too few to be told from names and words in prose
_PREFIXES = {
    "micro": -6, "milli": -3, "centi": -2, "deci": -1,
    "hecto": 2, "kilo": 3, "mega": 6, "giga": 9, "tera": 12,
}  # fmt: skip
"""Powers of ten before a unit (SI)."""


@lru_cache(maxsize=8)
def months(language: str = "") -> dict[str, frozenset[int]]:
    """Months (1..12) by their names, wide and abbreviated, in lower case without a full stop; in one language
    or in all.
    """
    return _sets(named(locales, "months") if (locales := _locale(language)) else _tables()["months"])


@lru_cache(maxsize=1)
def weekdays() -> dict[str, frozenset[int]]:
    """Weekdays (Monday is 0) by their names, likewise."""
    return _sets(_tables()["weekdays"])


@lru_cache(maxsize=1)
def short_weekdays() -> dict[str, frozenset[int]]:
    """Weekdays by names of two letters or one sign, as calendars have them: too short to be told in prose."""
    # "sexta" is "sexta-feira", and elsewhere the sixth.
    parts = {name.split("-")[0]: days for name, days in weekdays().items() if "-" in name}
    return _sets(_tables()["short_weekdays"]) | parts


@lru_cache(maxsize=1)
def hours() -> re.Pattern[str]:
    """An hour with the word that a language writes behind it: ``8 Uhr``, ``8 Uhr 03``, ``16 ч.``."""
    spelled = "|".join(map(re.escape, _tables()["hours"]))
    return re.compile(rf"(?<![\d.,:])(?P<h>\d{{1,2}})\s?(?:{spelled})(?![^\W\d_])(?:\s(?P<m>[0-5]\d)(?!\d))?")


@lru_cache(maxsize=1)
def halves() -> re.Pattern[str]:
    """An hour with a half of the day behind it, ``2:30 pm``, ``5 p. m.``: the group `late` is the second."""
    early, late = ("|".join(map(_spelled, _tables()["halves"][half])) for half in ("am", "pm"))
    return re.compile(
        rf"(?<![\d.,:])(?P<h>0?\d|1[0-2])(?:[:.](?P<m>[0-5]\d))?\s?(?:(?P<late>{late})|{early})(?![^\W\d_])",
        re.IGNORECASE,
    )


@lru_cache(maxsize=8)
def powers(language: str = "") -> dict[str, frozenset[int]]:
    """Powers of ten by the words and letters that stand for them behind a number: K, Mio, millones."""
    return _sets(powers_in(locales) if (locales := _locale(language)) else _tables()["powers"])


class Unit(NamedTuple):
    """``length-centimeter`` is 0.01 of the base "meter"."""

    dimension: str
    base: str
    size: Decimal


@lru_cache(maxsize=8)
def units(language: str = "") -> dict[str, frozenset[Unit]]:
    """Units by what stands for them behind a number, in one word: cm, Zentimeter, 厘米; likewise."""
    found = units_in(locales) if (locales := _locale(language)) else _tables()["units"]
    return {word: frozenset(map(_unit, names)) for word, names in found.items()}


@lru_cache(maxsize=512)
def _unit(name: str) -> Unit:
    dimension, _, unit = name.partition("-")
    prefix = next((each for each in _PREFIXES if unit.startswith(each)), "")
    return Unit(dimension, unit.removeprefix(prefix), Decimal(10) ** _PREFIXES.get(prefix, 0))


def is_common(word: str) -> bool:
    """Whether a word with a capital is no name that a screen must have: a month, a weekday, a language or the
    people that speak it ("Swiss German"), a country, which follows from a place.
    """
    name = key(word)
    is_day = len(name) > SHORT_WEEKDAY and name in weekdays()
    return is_day or name in months() or word in _languages()


def is_day_or_month(word: str) -> bool:
    """Whether a word in normal form is a name, or the short one, of a month or weekday."""
    return word in months() or word in weekdays()


def written(on: date, language: str) -> tuple[str, ...]:
    """How a day is written in a language: its weekday, its date, and that with the month abbreviated."""
    dates = (format_skeleton(each, on, locale=language).replace(".", "") for each in ("MMMMd", "MMMd"))
    return tuple(dict.fromkeys((format_date(on, "EEEE", locale=language), *dates)))


@cache
def _languages() -> frozenset[str]:
    return frozenset(_tables()["languages"])


def _spelled(name: str) -> str:
    """A name as it may be written, with full stops and spaces between its letters, or read off a picture."""
    return r"\.?\s?".join(map(re.escape, name)).replace("m", "(?:m|rn)") + r"\.?"


@lru_cache(maxsize=8192)
def key(name: str) -> str:
    """A name as it is looked up: in normal form and lower case, without stops and spaces."""
    return re.sub(r"[\s.\u00a0\u202f]", "", unicodedata.normalize("NFKC", name).casefold())


@cache
def _tables() -> dict[str, Any]:
    """The words of all languages, by what they are."""
    tables: dict[str, Any] = json.loads(TABLES.read_text("utf-8"))
    return tables


def _sets(found: Mapping[str, Iterable[int]]) -> dict[str, frozenset[int]]:
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _locale(language: str) -> tuple[Locale, ...]:
    """The language, where Babel has it."""
    return (Locale(language),) if language and localedata.exists(language) else ()


# -- what Babel has ----------------------------------------------------------------------


def named(
    locales: Iterable[Locale],
    kind: str,
    widths: Iterable[str] = ("wide", "abbreviated"),
    letters: int = MIN_LETTERS,
    signs: int = 2,
) -> dict[str, set[int]]:
    """Months or days by their names of at least so many letters, or signs."""
    found: dict[str, set[int]] = {}
    for locale in locales:
        for context in ("format", "stand-alone"):
            for width in widths:
                for number, name in getattr(locale, kind)[context].get(width, {}).items():
                    word = key(name)
                    if not any(map(str.isdigit, word)) and len(word) >= (
                        letters if word[:1] < "\u2e80" else signs
                    ):
                        found.setdefault(word, set()).add(number)
    return found


def powers_in(locales: Iterable[Locale]) -> dict[str, set[int]]:
    """Powers of ten by their words."""
    found: dict[str, set[int]] = {}
    for locale in locales:
        for style in ("short", "long"):
            for patterns in locale.compact_decimal_formats.get(style, {}).values():
                for size, pattern in patterns.items():
                    power = int(size) // 10 ** max(0, pattern.pattern.count("0") - 1)
                    found.setdefault(key(re.sub("[0'¤-]", "", pattern.pattern)), set()).add(power)
    return {word: sizes for word, sizes in found.items() if word}


def units_in(locales: Iterable[Locale]) -> dict[str, set[str]]:
    """Names of units by their words."""
    found: dict[str, set[str]] = {}
    for locale in locales:
        for name, widths in locale._data["unit_patterns"].items():
            for pattern in (each for patterns in widths.values() for each in patterns.values()):
                if isinstance(pattern, str) and pattern.startswith("{0}"):
                    found.setdefault(key(pattern.removeprefix("{0}")), set()).add(name)
    return {word: names for word, names in found.items() if word.isalpha()}


# -- whole numbers in Han signs ----------------------------------------------------------

_EXTRA = {"两": 2, "兩": 2}
_PARTS = re.compile(r"\d+(?:\.\d+)?|\D")


def numeric(sign: str) -> int | None:
    """What one sign or digit counts; None for any other, and for fractions."""
    value = _EXTRA.get(sign) or unicodedata.numeric(sign, None)
    return None if value is None or value != int(value) else int(value)


def integer(figure: str) -> int:
    """A whole number in digits or Han signs: ``二十`` is 20, ``二〇二七`` 2027, ``十二万`` 120,000."""
    if figure.isdecimal():
        return int(figure)
    signs = [numeric(sign) or 0 for sign in figure]
    return int("".join(map(str, signs)) if all(sign < 10 for sign in signs) else amount(figure))


def amount(figure: str) -> Decimal:
    """What a figure with Han signs counts: ``二百六`` is 260, ``3万8千`` 38,000, ``1.2万`` 12,000."""
    total, section, last, scale = Decimal(0), Decimal(0), Decimal(0), 1
    for part in _PARTS.findall(figure):
        size = numeric(part) or 0 if len(part) == 1 else None
        if size is None or size < 10:
            last, scale = (
                Decimal(part if size is None else size),
                scale if size and not part.isdecimal() else 1,
            )
            continue
        if size < 10_000:
            section += (last or 1) * size
        else:
            total, section = total + (section + last or 1) * size, Decimal(0)
        last, scale = Decimal(0), size // 10
    return total + section + last * scale
