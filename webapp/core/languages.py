"""Which language a page speaks, and its catalog.

A catalog is a ``.po`` file, edited by people and read as it is: nothing is compiled at install.
"""

from __future__ import annotations

import io
from functools import cache
from gettext import NullTranslations
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import Flask, request

from store.core import translation
from store.core.database import clean_text

LANGUAGES = {"en": "English", "zh_Hans": "简体中文"}
"""By Babel's identifier, each by its own name."""
LANGUAGE_COOKIE = "language"


def install(app: Flask) -> None:
    """Have every request answered in its language (the API in English), with no text that turns the page."""
    app.jinja_env.add_extension("jinja2.ext.i18n")
    app.jinja_env.install_gettext_callables(  # type: ignore[attr-defined]
        translation.gettext, _form, newstyle=True, pgettext=translation.pgettext
    )
    app.jinja_env.filters["translated"] = translation.translated
    app.jinja_env.globals["language"] = lambda: translation.language().replace("_", "-")
    # Between two sentences: Chinese leaves no blank there.
    app.jinja_env.globals["gap"] = lambda: "" if translation.language().startswith("zh") else " "
    app.jinja_env.globals["script_texts"] = lambda: script_texts(translation.language())
    app.jinja_env.finalize = lambda s: s if not isinstance(s, str) or s.isascii() else type(s)(clean_text(s))
    app.before_request(_speak)


def _form(one: str, many: str, number: int) -> str:
    """The form of a message that fits a number; Jinja fills in its places, escaped."""
    return translation.spoken()[1].ngettext(one, many, number)


def _speak() -> None:
    language = translation.ENGLISH if request.path.startswith("/api/") else of_request()
    translation.speak(language, catalog(language))


def of_request() -> str:
    """The language chosen in this browser, else the best of those it asks for, else English."""
    chosen = request.cookies.get(LANGUAGE_COOKIE, "")
    if chosen in LANGUAGES:
        return chosen
    tags = {language.partition("_")[0]: language for language in LANGUAGES}
    return tags[request.accept_languages.best_match(tags, translation.ENGLISH)]


@cache
def catalog(language: str) -> NullTranslations:
    """The texts of a language; English has none, it is what stands in the code."""
    if language == translation.ENGLISH:
        return NullTranslations()
    compiled = io.BytesIO()
    write_mo(compiled, read(language))
    compiled.seek(0)
    return translation.Translations(compiled)


@cache
def script_texts(language: str) -> dict[str, str]:
    """What scripts may say, by the English text: a catalog names the files that mark a text."""
    return {
        str(message.id): str(message.string)
        for message in ([] if language == translation.ENGLISH else read(language))
        if any(name.startswith("static/") for name, _ in message.locations)
    }


def path(language: str) -> Path:
    """Where a language's catalog lies."""
    return Path(__file__).parents[1] / "translations" / f"{language}.po"


def read(language: str) -> Catalog:
    """A language's catalog as its file has it."""
    with path(language).open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)
