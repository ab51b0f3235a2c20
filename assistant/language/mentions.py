"""What a message mentions beside words for a time: ``@selection``, ``@app:Code``, ``@Code``.

``@today``, ``@yesterday`` and ``@last-hour`` are words of `time_phrases`. An app is mentioned by the name
it was recorded with, in any case, its spaces written or as "-"; behind ``@app:`` any word or "quoted name"
will do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mentions:
    """What was mentioned. `rest` is the message without it; of several apps the first counts."""

    app: str | None
    has_selection: bool
    rest: str


_SELECTION = r"(?P<selection>selection(?![A-Za-z0-9])|选区)"
_SAID = r"app:(?:\"(?P<quoted>[^\"\n]{1,100})\"|(?P<bare>[^\s\",，。;；:：?？!！]{1,100}))"


def read_mentions(message: str, app_names: Iterable[str]) -> Mentions:
    """The mentions of a message; `app_names` are those that were recorded."""
    names = sorted(filter(None, app_names), key=lambda name: (-len(name), name))
    known = [(re.sub(r"\\[ -]", "[ -]", re.escape(name)), name) for name in names]
    written = "|".join(pattern for pattern, _ in known) or "(?!)"
    # What follows "app:" is the name, also where an app is called "app"; none runs on into another word.
    named = rf"(?:app:|(?!app:))(?P<name>{written})(?!(?<=[A-Za-z0-9])[A-Za-z0-9])"
    sign = re.compile(rf"(?<![A-Za-z0-9_.+-])@(?:{_SELECTION}|{named}|{_SAID})", re.IGNORECASE)
    app: str | None = None
    has_selection = False

    def take(mention: re.Match[str]) -> str:
        nonlocal app, has_selection
        if mention["selection"]:
            has_selection = True
            return " "
        if app is not None:
            return mention[0]
        said = mention["name"] or ""
        matching = (name for pattern, name in known if re.fullmatch(pattern, said, re.IGNORECASE))
        app = next(matching, None) or mention["quoted"] or mention["bare"]
        return " "

    rest = sign.sub(take, message)
    return Mentions(app, has_selection, rest)
