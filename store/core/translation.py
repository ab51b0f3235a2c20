"""Texts in the language of the person they are for: GNU gettext, with the English text as the key.

What answers a person calls `speak` with that person's catalog. What calls it nowhere speaks English: logs,
the JSON API, other programs.
"""

from __future__ import annotations

import json
import re
from contextvars import ContextVar
from functools import cached_property
from gettext import GNUTranslations, NullTranslations
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
    """The message itself, English: marks what is kept so and translated where it is shown.

    Values may be filled in already: `translated` finds them again.
    """
    return message


def translated(text: str) -> str:
    """A sentence that came here in English, its values filled in, in the person's language.

    What engines, capture and imports say of themselves is so; what no catalog knows stays as it is.
    """
    catalog = _spoken.get()[1]
    return catalog.translated(text) if text and isinstance(catalog, Translations) else text


class Translations(GNUTranslations):
    """A catalog that also knows a message by what became of it when its places were filled."""

    _catalog: dict[Any, str]

    def translated(self, text: str) -> str:
        """The translation of a whole sentence; the text itself where there is none."""
        if (known := self._catalog.get(text)) is not None:
            return known
        for parts, message in self._filled:
            if not (text.startswith(parts[0]) and text.endswith(parts[-1])):
                continue
            places = [f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)]
            if found := re.fullmatch("".join(places), text, re.DOTALL):
                values = found.groupdict().items()
                inner = {name: self.translated(value) if " " in value else value for name, value in values}
                return self.gettext(message) % inner
        return text

    @cached_property
    def _filled(self) -> list[tuple[list[str], str]]:
        """(what stands around its places and their names in turn, message) of messages with places, those
        with most of their own first. One with a single word of its own would fit too much.
        """
        found = []
        for message in self._catalog:
            parts = _PLACE.split(message.replace("%%", "%")) if isinstance(message, str) else []
            own = "".join(parts[::2])
            if len(parts) > 1 and len({*parts[1::2]}) == len(parts) // 2 and len(_WORD.findall(own)) > 1:
                found.append((len(own), parts, message))
        return [(parts, message) for _, parts, message in sorted(found, key=lambda each: -each[0])]


_PLACE = re.compile(r"%\((\w+)\)s")
_WORD = re.compile(r"[A-Za-z]{2,}")


Deferred = tuple[str, dict[str, Any]]
"""A message and its values, which may be such ones again."""


def deferred(message: str, /, **values: Any) -> Deferred:
    """A message that is translated where it is read, for who reads it."""
    return message, values


def stored_form(message: Deferred) -> str:
    """The message as text to store."""
    return json.dumps(message, ensure_ascii=False)


def translate_stored(text: str) -> str:
    """What `stored_form` made, in the person's language; any other text as it is."""
    try:
        return _translated(json.loads(text))
    except (ValueError, TypeError):
        return text


def _translated(message: Any) -> str:
    text, values = message
    inner = {name: _translated(each) if isinstance(each, list) else each for name, each in values.items()}
    return gettext(text, **inner)


def pgettext(context: str, message: str, /, **values: Any) -> str:
    """As `gettext`, for a word that means another thing elsewhere: `context` says which it is."""
    text = _spoken.get()[1].pgettext(context, message)
    return text % values if values else text


def ngettext(one: str, many: str, number: int, /, **values: Any) -> str:
    """The form of a message that fits a number, which stands in its ``%(number)s`` place, thousands apart."""
    text = _spoken.get()[1].ngettext(one, many, number)
    return text % {"number": f"{number:,}", **values}
