"""The words of time in six languages, each with the kind of piece it is.

They stand in ``time_words.toml``; names of months and weekdays come from CLDR. A kind is one letter,
so that the rules of `time_grammar` can be patterns over letters.
"""

from __future__ import annotations

import tomllib
import unicodedata
from functools import cache
from pathlib import Path

LATIN, HAN = ("en", "de", "fr", "es"), ("zh", "ja")
SMALL_NAMES = ("fr", "es")
"""Where names of days and months are written without a capital."""

KINDS = {
    "day": "D",
    "day_part": "R",  # a part of a certain day: tonight
    "part": "P",  # of the day
    "tomorrow_or_morning": "t",
    "weekday": "W",  # that CLDR does not know
    "unit": "U",
    "number": "n",
    "few": "5",  # a number only before a unit
    "ordinal": "o",
    "half": "q",
    "quarter": "K",
    "article": "1",  # that counts: *an* hour
    "midnight": "C",  # a clock time
    "meridiem": "H",  # am, pm
    "oclock": "k",
    "minute_sign": "u",
    "day_sign": "d",
    "month_sign": "m",
    "month_whole": "s",  # a month as a range: 月份
    "year_sign": "Y",
    "from": "F",
    "to": "T",  # with the value "until" it needs no "from"
    "between": "B",
    "and": "&",
    "except": "E",
    "minus": "-",  # a quarter *to* five
    "before": "<",
    "after": ">",
    "since": "S",
    "around": "~",
    "before_behind": "J",  # behind its word, as the next five
    "after_behind": "O",
    "since_behind": "I",
    "around_behind": "=",
    "from_behind": "G",
    "to_behind": "e",
    "last": "l",
    "last_behind": "L",
    "back": "b",  # 上: one unit back each
    "past": "p",  # a stretch up to now
    "past_behind": "2",
    "this": "c",
    "next": "N",
    "own": "9",  # my, our
    "ago": "a",
    "ago_before": "A",
    "later": "w",
    "every": "v",
    "repeated": "%",
    "half_of_part": "r",  # early, late
    "now": "!",
    "in": "i",
    "on": "j",
    "at": "@",
    "of": "g",
    "fill": "f",
    "numbered": "#",  # 第: what follows is no time
    "unplaced": "h",  # a word of time that nobody can place
    "vague": "6",  # a little before or after
    "edge": "3",  # of a stretch that is named: the end of
    "grammar": "z",  # any other
}
"""The letter of each key of the file. M is a month, x is any other word, X a name."""

HAN_VARIANTS = str.maketrans(
    "週這點後個兩時鐘禮過從號間開來內現當頃拜顯還毎", "周这点后个两时钟礼过从号间开来内现当顷拜显还每"
)
"""Traditional and Japanese forms of the characters above, as the table writes them."""


@cache
def words(language: str) -> dict[str, str]:
    """The words of a language by the letter of their kind, each with its value behind ``=``."""
    document = tomllib.loads(Path(__file__).with_name("time_words.toml").read_text("utf-8"))
    return {KINDS[name]: entries for name, entries in document[language].items()}


@cache
def names(language: str) -> dict[str, tuple[str, int, bool]]:
    """Months and weekdays by CLDR: name to (kind, number, whether it is short for the name).

    In Latin letters the beginning of a name is short for it, as people write "Tues" and "Sept". Months of
    Han are numbers; of their weekdays every form of the word for week counts.
    """
    from babel.dates import get_day_names, get_month_names  # reads 2 MB, when first asked

    short: dict[str, tuple[str, int, bool]] = {}
    whole: dict[str, tuple[str, int, bool]] = {}
    for kind, table in (("M", get_month_names), ("W", get_day_names)):
        for number, name in table("wide", "format", language).items():
            if language in LATIN:
                whole[fold(name)] = kind, number, False
                sizes = (3, 4, 5) if language == "en" else ()
                short |= {fold(name)[:size]: (kind, number, kind == "W") for size in sizes}
                abbreviated = table("abbreviated", "format", language)[number]
                short[fold(abbreviated).rstrip(".")] = kind, number, kind == "W"
            elif kind == "W":
                whole |= {form: (kind, number, form[-1] == "曜") for form in _han_forms(name)}
    return short | whole


def _han_forms(name: str) -> set[str]:
    """星期日, and 礼拜天, 周日; 日曜日, and 日曜."""
    weeks = {name.replace("星期", week) for week in ("星期", "周", "礼拜")}
    days = {week[:-1] + "天" for week in weeks if week[-1] == "日" and "曜" not in week}
    return weeks | days | ({name[:-1]} if "曜" in name else set())


def fold(text: str) -> str:
    """Lower case, and letters without their accents."""
    return "".join(unicodedata.normalize("NFKD", letter)[0] for letter in text.lower())
