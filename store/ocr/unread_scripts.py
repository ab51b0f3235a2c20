"""Scripts that nothing was read for: words in them are not found, whatever was on the screen."""

from __future__ import annotations

import unicodedata
from functools import cache

import apsw
from babel import Locale
from babel.core import get_global

from store.frames.frames import id_range

_LOOKED_AT = 1_000
# By how Unicode begins the names of their letters; any other script has one word, which CLDR has, too.
_LETTERS = {
    "CJK": ("Hani", "Hans", "Hant", "Jpan"),
    "HIRAGANA": ("Jpan",),
    "KATAKANA": ("Jpan",),
    "HANGUL": ("Kore",),
}


def unread_scripts(connection: apsw.Connection, text: str, start_ms: int, end_ms: int) -> tuple[str, ...]:
    """Scripts (ISO 15924) in `text` that none of the newest frames of ``[start_ms, end_ms)`` was read for.

    Every language's model reads Latin letters and figures. Empty where nothing was read.
    """
    letters = dict.fromkeys(unicodedata.name(sign, "").split(" ")[0] for sign in text if sign.isalpha())
    wanted = [scripts for letter in letters if (scripts := _scripts_of(letter))]
    if not wanted:
        return ()
    sql = """
        select distinct language from (
            select language from readings where is_current = 1 and frame_id >= ? and frame_id < ?
            order by frame_id desc limit ?
        )
    """
    found = connection.execute(sql, (*id_range(start_ms, end_ms), _LOOKED_AT))
    read = {_script_of(code) for (languages,) in found for code in languages.split("+") if code}
    return tuple(dict.fromkeys(scripts[0] for scripts in wanted if read and read.isdisjoint(scripts)))


def script_name(script: str, language: str) -> str:
    """``Korean``, ``Cyrillic``, in a language of the pages."""
    return str(Locale.parse(language).scripts[script])


@cache
def _scripts_of(letter: str) -> tuple[str, ...]:
    names = Locale("en").scripts
    return _LETTERS.get(letter) or tuple(
        code for code, name in names.items() if name.upper() == letter and code != "Latn"
    )


@cache
def _script_of(language: str) -> str:
    """The usual script of a Tesseract language, by CLDR."""
    code, _, kind = language.partition("_")
    code = get_global("language_aliases").get(code, code)
    usual = str(get_global("likely_subtags").get(code, "_Latn")).split("_")[1]
    return {"sim": "Hans", "tra": "Hant"}.get(kind, usual)
