"""The words of all languages that `assistant.language` reads from two files, made of what Babel has.

``python -m tests.assistant.language.cldr_tables`` writes them anew, for another version of Babel.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from babel import Locale, localedata
from babel.core import get_global

from assistant.language import cldr, time_tables

MIN_PERCENT = 5
_OFFICIAL = ("official", "de_facto_official")


def official() -> tuple[Locale, ...]:
    """The languages that are official somewhere, and told by at least so many people there."""
    told = {
        language.split("_")[0]
        for languages in get_global("territory_languages").values()
        for language, use in languages.items()
        if use.get("official_status") in _OFFICIAL and use["population_percent"] >= MIN_PERCENT
    }
    return tuple(Locale(language) for language in sorted(told) if localedata.exists(language))


def tables() -> dict[str, Any]:
    """What the file has."""
    locales = official()
    short = cldr.named(locales, "days", ("abbreviated", "short"), 2, 1)
    return {
        "months": _listed(cldr.named(locales, "months")),
        "weekdays": _listed(cldr.named(locales, "days")),
        "short_weekdays": _listed({n: days for n, days in short.items() if len(n) == 2 or n > "\u2e80"}),
        "hours": sorted(word.strip() for word in _hours(locales) if word.strip(" h") and word < "\u2e80"),
        "halves": {half: sorted(_halves(locales, half), key=lambda n: (-len(n), n)) for half in ("am", "pm")},
        "powers": _listed(cldr.powers_in(locales)),
        "units": _listed(cldr.units_in(locales)),
        "languages": sorted(_languages(locales)),
    }


def month_names() -> dict[str, list[str]]:
    """The months by which a date tells its language, of each language that has words for yesterday."""
    wide = {language: Locale(language).months["format"]["wide"] for language in time_tables.relative()}
    return {language: [names[month] for month in range(1, 13)] for language, names in wide.items()}


def _listed(found: dict[str, set[Any]]) -> dict[str, list[Any]]:
    return {word: sorted(of) for word, of in sorted(found.items())}


def _hours(locales: Iterable[Locale]) -> set[str]:
    return {
        quoted or bare
        for locale in locales
        if "H" in locale.datetime_skeletons
        for quoted, bare in re.findall(r"'([^']+)'|([^\sA-Za-z'.:]+)", locale.datetime_skeletons["H"].pattern)
    }


def _halves(locales: Iterable[Locale], half: str) -> set[str]:
    names = {
        cldr.key(periods[half])
        for locale in locales
        for widths in locale.day_periods.values()
        for periods in widths.values()
        if half in periods
    }
    return {half} | {name for name in names if len(name) > 2 or not name.isascii()}


def _languages(locales: Iterable[Locale]) -> set[str]:
    """Words with a capital in names of languages and countries."""
    named = [each for locale in locales for each in (locale.languages, locale.territories)]
    return {word for each in named for name in each.values() for word in name.split() if word[0].isupper()}


if __name__ == "__main__":
    for path, made in ((cldr.TABLES, tables()), (time_tables.MONTH_NAMES, month_names())):
        path.write_text(json.dumps(made, ensure_ascii=False, indent=0) + "\n", "utf-8")
