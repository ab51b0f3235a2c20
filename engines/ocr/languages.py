"""In which languages a person's screen may be, as the system and the browser tell, by Tesseract's codes.

What is read with the model of another language loses its letters: "Schlüsselübergabe" is read as
"Schliisseliibergabe", and is found by no word.
"""

from __future__ import annotations

import locale
import os
import re
import sys
from collections.abc import Iterable, Mapping

from babel.core import get_global

from engines.ocr import tesseract

_VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LC_CTYPE", "LC_TIME", "LANG")
_WRITTEN = {"nb": "no", "nn": "no"}


def of_person(browser: Iterable[str] = (), environ: Mapping[str, str] = os.environ) -> list[str]:
    """Codes of the languages of this system, and of those that a `browser` asks for, each once."""
    system = ":".join(environ.get(name, "") for name in _VARIABLES).split(":")
    named = (*system, locale.getlocale()[0] or "", *browser)
    return list(dict.fromkeys(code for name in named if (code := code_of(name))))


def of_system(languages: Iterable[str]) -> tuple[str, ...]:
    """The languages, and those of this system whose data is here."""
    here = tesseract.installed_languages()
    return tuple(dict.fromkeys((*languages, *(code for code in of_person() if code in here))))


def code_of(name: str) -> str:
    """The code of a language as a locale names it: ``deu`` of ``de_DE.UTF-8``, "" of none."""
    language, _, rest = re.split(r"[.@]", name)[0].replace("-", "_").partition("_")
    if language == "zh":
        whole = str(get_global("likely_subtags").get(f"zh_{rest.upper()}", rest))
        return "chi_tra" if "Hant" in whole else "chi_sim"
    language = _WRITTEN.get(language, language)
    # Of ISO 639's two codes, "deu" and "ger", the one of the language's own name has the letters of "de".
    aliases = get_global("language_aliases").items()
    codes = [code for code, of in aliases if of == language and len(code) == 3 > len(language) > 1]
    own = min(codes, key=lambda code: (code[0] != language[0], language[1] not in code, code), default="")
    return own or (language if len(language) == 3 else "")


if __name__ == "__main__":  # for `make run`: what is to be installed
    missing = (code for code in of_person() if code not in tesseract.installed_languages())
    sys.stdout.write(" ".join(missing))
