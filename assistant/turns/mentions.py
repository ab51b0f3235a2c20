"""@mentions in a message that are no words for a time: ``@selection``, ``@app:Code``, ``@Code``.

``@today``, ``@yesterday`` and ``@last-hour`` are words of `phrases`. An app is mentioned by the name
it was recorded with, in any case, its spaces written or as "-"; behind ``@app:`` any word or
"quoted name" will do. The mirror for browsers is ``static/js/time/mentions.js``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_AT = re.compile(r"(?<![A-Za-z0-9_.+-])@(app:)?", re.IGNORECASE)
_SELECTION = re.compile(r"selection(?![A-Za-z0-9])|选区", re.IGNORECASE)
_NAMED = re.compile(r"\"([^\"\n]{1,100})\"|([^\s\",，。;；:：?？!！]{1,100})")


@dataclass(frozen=True, slots=True)
class Mentions:
    """What was mentioned. `rest` is the message without it; of several apps the first counts."""

    app: str | None
    has_selection: bool
    rest: str


def read(message: str, apps: Iterable[str]) -> Mentions:
    """The mentions of a message; `apps` are the names that were recorded."""
    longest_first = sorted(apps, key=lambda name: (-len(name), name))
    app: str | None = None
    has_selection = False
    rest: list[str] = []
    at = 0
    for found in _AT.finditer(message):
        if found.start() < at:
            continue
        name, end = None, None
        if not found[1] and (selection := _SELECTION.match(message, found.end())):
            has_selection, end = True, selection.end()
        elif app is None:
            name, end = _app(message, found.end(), longest_first, is_explicit=bool(found[1]))
        if end is not None:
            app = app or name
            rest.append(message[at : found.start()])
            at = end
    return Mentions(app, has_selection, " ".join([*rest, message[at:]]) if rest else message)


def _app(
    message: str, at: int, longest_first: Iterable[str], *, is_explicit: bool
) -> tuple[str | None, int | None]:
    """(an app's name, where its mention ends) behind the @."""
    for name in longest_first:
        end = at + len(name)
        written = message[at:end].lower()
        if name and written in (name.lower(), name.lower().replace(" ", "-")) and _ends(message, end):
            return name, end
    named = _NAMED.match(message, at) if is_explicit else None
    return (named[1] or named[2], named.end()) if named else (None, None)


def _ends(message: str, end: int) -> bool:
    """Whether no Latin word runs on here."""
    return not re.match(r"[A-Za-z0-9]{2}", message[end - 1 : end + 1])
