"""Texts in the language of the person they are for: GNU gettext, with the English text as the key.

What answers a person calls `speak` with that person's catalog. What calls it nowhere speaks English: logs,
the JSON API, other programs.
"""

from __future__ import annotations

import json
from contextvars import ContextVar
from gettext import NullTranslations
from typing import Any

ENGLISH = "en"
_spoken: ContextVar[tuple[str, NullTranslations]] = ContextVar(
    "spoken", default=(ENGLISH, NullTranslations())
)


def speak(language: str, catalog: NullTranslations) -> None:
    """Have texts of this thread come from a catalog.

    `language` is the catalog's Babel identifier, as in ``zh_Hans``.
    """
    _spoken.set((language, catalog))


def spoken() -> tuple[str, NullTranslations]:
    """What `speak` was called with, for a thread that goes on for the same person."""
    return _spoken.get()


def language() -> str:
    """The Babel identifier of the language that is spoken."""
    return _spoken.get()[0]


def gettext(message: str, /, **values: Any) -> str:
    """The message in the person's language, with `values` in its ``%(name)s`` places."""
    text = message and _spoken.get()[1].gettext(message)  # that of "" is the catalog's own header
    return text % values if values else text


def N_(message: str) -> str:
    """The message itself, English: marks what is kept so and translated where it is shown."""
    return message


Noted = tuple[str, dict[str, Any]]
"""A message and its values, which may be such ones again."""


def noted(message: str, /, **values: Any) -> Noted:
    """A message to be kept and said where it is read, in the language of who reads it."""
    return message, values


def kept(message: Noted) -> str:
    """The message as text to store."""
    return json.dumps(message, ensure_ascii=False)


def said(text: str) -> str:
    """What `kept` made, in the person's language; any other text as it is."""
    try:
        return _said(json.loads(text))
    except (ValueError, TypeError):
        return text


def _said(message: Any) -> str:
    text, values = message
    inner = {name: _said(each) if isinstance(each, list) else each for name, each in values.items()}
    return gettext(text, **inner)


def pgettext(context: str, message: str, /, **values: Any) -> str:
    """As `gettext`, for a word that means another thing elsewhere: `context` says which it is."""
    text = _spoken.get()[1].pgettext(context, message)
    return text % values if values else text


def ngettext(one: str, many: str, number: int, /, **values: Any) -> str:
    """The form of a message that fits a number, which stands in its ``%(number)s`` place, thousands apart."""
    text = _spoken.get()[1].ngettext(one, many, number)
    return text % {"number": f"{number:,}", **values}
