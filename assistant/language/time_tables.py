"""The words of time, each with the kind of piece it is.

Those of seven languages stand in ``time_words.toml``. Names of months and weekdays come from CLDR, and so do
the few words of other languages: days, weeks, months and years relative to today stand in
``relative_times.json``, from its package of dates (npm: cldr-dates-modern 45), with the numbers up to twelve
from that of spelled numbers (npm: cldr-rbnf 48.2), and the months by which a date tells its language in
``month_names.json``. A kind is one letter, so that the rules of `time_grammar` can be patterns over letters.
"""

from __future__ import annotations

import json
import tomllib
import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from babel import Locale, localedata
from babel.dates import get_day_names, get_month_names
from babel.units import format_unit
from stopwordsiso import stopwords

from assistant.language.time_said import PARTS, Clock, Date, Point

LATIN, HAN = ("en", "de", "fr", "es"), ("ko", "zh", "ja")
_VARIANTS = str.maketrans(
    "週這點後個兩時鐘禮過從號間開來內現當頃拜顯還毎–—‐−’łøđıё",
    "周这点后个两时钟礼过从号间开来内现当顷拜显还每----'lodiе",
)
"""Other forms of the characters of the table, as it writes them, of dashes and apostrophes, and of letters
that Unicode does not take apart, as people type them without their mark.
"""

MONTH_NAMES = Path(__file__).with_name("month_names.json")
Entry = tuple[str, Any, bool]  # kind, value, and whether the word may be another
MOST_WORDS, MOST_SIGNS = 5, 6  # of an entry: words in Latin letters, characters of Han


@cache
def latin(language: str) -> dict[str, Entry]:
    """What the words of a language in Latin letters are, names of months and weekdays among them."""
    names, table = _names(language), _table(language)
    entries: dict[str, Entry] = {"-": ("T", None, False), "@": ("@", "", False)}
    parts = [(word, value) for word, (kind, value, _) in table.items() if kind == "P"]
    for name, (kind, number, is_short) in names.items():
        if kind == "W" and not is_short:
            entries[f"los {name}" if language == "es" else f"{name}s"] = "%", number, False
            entries |= _evenings(name, number, parts) if language == "de" else {}
    if language == "en":
        entries |= {f"{word}s": ("%", None, False) for word, _ in parts}
    numbers = [(word, value) for word, (kind, value, _) in table.items() if kind == "n"]
    for form in words_of("compounds").get(language, "").split("|"):
        for ten, value in numbers if form else ():
            for unit, count in numbers if value >= 20 else ():
                if count < 10:
                    entries[form.format(unit=unit, ten=ten, stem=ten[:-1])] = "n", value + count, False
    whole = {name: entry for name, entry in names.items() if not entry[2]}
    return names | others(language) | whole | entries | table


def _evenings(name: str, weekday: int, parts: Iterable[tuple[str, Point]]) -> dict[str, Entry]:
    """Parts of a day of the week in one word: ``Montagabend``, ``maandagavond``."""
    day = Point(Date(weekday=weekday))
    return {name + word: ("R", day.merged(part), False) for word, part in parts}


@cache
def han(*, is_japanese: bool) -> dict[str, Entry]:
    """What the words of Chinese, Japanese and Korean are, of which one comes before the other."""
    entries: dict[str, Entry] = {}
    for language in HAN if is_japanese else reversed(HAN):
        entries |= others(language) | _names(language) | _table(language)
    return entries


@cache
def from_cldr(language: str) -> dict[str, Entry]:
    """What the words of another language are; none of one that CLDR has no relative times of."""
    if language not in relative():
        return {}
    locale, entries = Locale(language), dict[str, Entry]()
    for field, phrases in relative()[language].items():
        for back, phrase in phrases.items():
            words = phrase.split() if field == "number" else [phrase]
            entries |= {folded(word): _relative_entry(field, int(back)) for word in words}
    ago = _ago(locale)
    for context in ("format", "stand-alone"):
        for kind, names in (("W", locale.days), ("M", locale.months)):
            entries |= {folded(name): (kind, at, False) for at, name in names[context]["wide"].items()}
        for periods in locale.day_periods.get(context, {}).values():
            named = {folded(name): period.rstrip("12") for period, name in periods.items()}
            of_day = {name: PARTS[period] for name, period in named.items() if period in PARTS}
            entries |= {name: ("P", Point(part=of_day[name]), False) for name in of_day.keys() - ago.keys()}
            midnight = ("C", Point(clock=Clock(0, is_midnight=True)), False)
            entries |= {name: midnight for name, period in named.items() if period == "midnight"}
    if language == "nl":
        parts = [(word, point) for word, (kind, point, _) in entries.items() if kind == "P"]
        for number, name in locale.days["stand-alone"]["wide"].items():
            entries |= _evenings(folded(name), number, parts)
    # As they are said, which may be another case than the name: "в эту среду" beside "среда".
    for number, field in enumerate(_WEEKDAYS):
        name, said = folded(locale.days["stand-alone"]["wide"][number]), relative()[language][field]["0"]
        forms = (word for word in folded(said).split() if word[:3] == name[:3])
        entries |= {form: ("W", number, False) for form in forms}
    known = {word: each for word, each in entries.items() if word}
    return others(language) | ago | known | _table(language)


_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _relative_entry(field: str, back: int) -> Entry:
    if field == "number":
        return ("1" if back == 1 else "n"), back, False
    if field not in _WEEKDAYS:
        return "D", Point(Date(**{f"{field}s": back})), False  # type: ignore[arg-type]
    weekday = _WEEKDAYS.index(field)
    day = Date(weekday=weekday, is_last=True) if back == 1 else Date(weekday=weekday, weeks=back)
    return "D", Point(day), False


def _ago(locale: Any) -> dict[str, Entry]:
    """The units of "3 days ago", weak where it is one, and the words that stand before and behind them."""
    entries: dict[str, Entry] = {}
    for unit in ("minute", "hour", "day", "week", "month", "year"):
        units = locale._data["unit_patterns"].get(f"duration-{unit}", {}).get("long", {})
        past = locale._data["date_fields"].get(unit, {}).get("past", {})
        for count, pattern in (*units.items(), *past.items()):
            before, _, behind = folded(pattern).replace("{0} de ", "{0} ").partition("{0}")
            said, _, ago = behind.strip().partition(" ")
            entries |= {said: ("U", unit, count == "one")} if said else {}
            entries |= {before.strip(): ("A", None, False)} if before.strip() else {}
            entries |= {ago: ("a", None, False)} if ago else {}
    return entries


@cache
def languages_by_word() -> dict[str, frozenset[str]]:
    """The other languages by the words of their relative times."""
    found: dict[str, set[str]] = {}
    for language, fields in relative().items():
        for word in (
            word for of in fields.values() for phrase in of.values() for word in folded(phrase).split()
        ):
            found.setdefault(word, set()).add(language)
    return {word: frozenset(languages) for word, languages in found.items()}


@cache
def languages_by_month() -> dict[str, frozenset[str]]:
    """The other languages by the names of their months, as they stand in dates."""
    # From a file of their own: to look them up in Babel would load and keep 66 MB.
    names = json.loads(MONTH_NAMES.read_text("utf-8"))
    found: dict[str, set[str]] = {}
    for language, of_language in names.items():
        for name in of_language:
            found.setdefault(folded(name), set()).add(language)
    return {name: frozenset(languages) for name, languages in found.items()}


@cache
def relative() -> dict[str, dict[str, dict[str, str]]]:
    """The relative times by language and field ("day", "mon"): phrases by how many of it they lie back."""
    found: dict[str, dict[str, dict[str, str]]] = json.loads(
        Path(__file__).with_name("relative_times.json").read_text("utf-8")
    )
    return found


@cache
def has_capital_names(language: str | None) -> bool:
    """Whether names of days are written with a capital."""
    return localedata.exists(language) and get_day_names("wide", "format", language)[0][0].isupper()


@cache
def others(language: str) -> dict[str, Entry]:
    """The words of grammar that say nothing of time."""
    has_table = language in (*LATIN, *HAN)
    words = words_of(language)["grammar"].split() if has_table else stopwords(language)
    return {folded(word): ("z", None, False) for word in words}


def _table(language: str) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    kinds = words_of("kinds")
    for name, written in words_of(language).items():
        for word in written.split() if name != "grammar" else ():
            spelled, _, value = word.partition("=")
            kind, is_weak = kinds[name], name == "ordinal" or value.endswith("/weak")
            meant = _value(kind, value.removesuffix("/weak"))
            entries[folded(spelled.replace("_", " "))] = kind, meant, is_weak
    return entries


def words_of(table: str) -> dict[str, str]:
    """A table of ``time_words.toml``: of a language, or of the letters of its keys."""
    return _document().get(table, {})


@cache
def _document() -> dict[str, dict[str, str]]:
    return tomllib.loads(Path(__file__).with_name("time_words.toml").read_text("utf-8"))


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
        case "7" | "n" | "5" | "o" | "W" | "M" | "K" | "l" | "L":
            return int(written or 1)
        case "q":
            return float(written)
    return written


@cache
def _names(language: str) -> dict[str, Entry]:
    """Months, weekdays and units by CLDR; weak are those that are shorter than the name.

    In English the beginning of a name is short for it, as people write "Tues" and "Sept". Months of Han are
    numbers; of their weekdays every form of the word for week counts.
    """
    found: dict[str, Entry] = {}
    for unit in ("second", "minute", "hour", "day", "week", "month", "year") if language in LATIN else ():
        written = (format_unit(count, f"duration-{unit}", locale=language) for count in (1, 2))
        found |= {folded(word.strip("12\xa0 ")): ("U", unit, False) for word in written}
    for kind, table in (("M", get_month_names), ("W", get_day_names)):
        for number, name in table("wide", "format", language).items():
            if language in LATIN:
                short = [folded(name)[:size] for size in (3, 4, 5) if language == "en"]
                short.append(folded(table("abbreviated", "format", language)[number]).rstrip("."))
                found = {each: (kind, number, kind == "W") for each in short} | found
                found[folded(name)] = kind, number, False
            elif kind == "W":
                found |= {form: (kind, number, form[-1] == "曜") for form in _han_forms(name)}
    return found


def _han_forms(name: str) -> set[str]:
    """星期日, and 礼拜天, 周日; 日曜日, and 日曜."""
    weeks = {name.replace("星期", week) for week in ("星期", "周", "礼拜")}
    days = {week[:-1] + "天" for week in weeks if week[-1] == "日" and "曜" not in week}
    return weeks | days | ({name[:-1]} if "曜" in name else set())


@lru_cache(maxsize=8192)
def plain(raw: str) -> str:
    """A character without case, accent or width; of dashes, apostrophes and Han signs one form."""
    if raw.isascii():
        return raw.lower()
    flat = unicodedata.normalize("NFKC", raw).casefold().translate(_VARIANTS)
    base = unicodedata.normalize("NFKD", flat)[:1]
    return base if flat[1:] in ("", "\u0307") and base.isascii() and base.isalpha() else flat  # İ has a dot


@lru_cache(maxsize=512)
def folded(text: str) -> str:
    """A text so, character by character."""
    if text.isascii():
        return text.lower()
    return "".join(map(plain, text))
