"""A search as its address says it, and what stands around its hits: facets, filters, other searches."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from store.core.database import Database
from store.core.translation import gettext as _
from store.search import suggestions
from store.search.filters import Filters
from store.search.search import Order
from store.search.suggestions import Facet, Spelling
from webapp.core import formatting
from webapp.core.parameters import NO_RANGE, Range


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """The search as its address says it."""

    q: str = ""
    app: str = ""
    win: str = ""
    url: str = ""
    host: str = ""
    range: Range = NO_RANGE
    sort: str = ""
    after: str | None = None
    pages: int = 1

    @property
    def filters(self) -> Filters:
        return Filters(
            self.range.start_ms or 0, self.range.end_ms, self.app or None, self.win or None, self.url or None,
            host=self.host or None,
        )  # fmt: skip

    @property
    def order(self) -> Order | None:
        return {"new": "newest", "old": "oldest", "best": "relevance"}.get(self.sort)  # type: ignore[return-value]

    def address(self, **changes: object) -> str:
        """This search with something else in it; None or an empty text takes a part away."""
        span: dict[str, object] = {"when": self.range.when}
        if self.range.when == "custom":
            span = {"from": self.range.start_ms, "to": self.range.end_ms}
        filters = {"app": self.app, "win": self.win, "url": self.url, "host": self.host}
        values = {"q": self.q, **filters, **span, "sort": self.sort, **changes}
        given = [(name, value) for name, value in values.items() if value not in (None, "")]
        return f"/search?{urlencode(given)}" if given else "/search"

    @property
    def is_filtered(self) -> bool:
        return bool(self.app or self.win or self.url or self.host or self.range.is_given)


_PARAMETERS = {
    "app_name": "app", "window_name": "win", "browser_url": "url", "host": "host", "time": "range"
}  # fmt: skip
_MAX_VALUE_CHARS = 60


def _fields() -> tuple[tuple[str, str, str], ...]:
    """(parameter, label, its attribute of `Facets`) of what a search can be narrowed by."""
    return (
        ("app", _("App"), "apps"),
        ("win", _("Window"), "windows"),
        ("url", _("URL"), "urls"),
        ("host", _("Machine"), "hosts"),
    )


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another search, in words, and how many frames it gives."""

    words: str
    address: str
    total: int


def refining(database: Database, asked: SearchRequest) -> dict[str, Any]:
    """What narrows a search.

    `groups` are facets by name with the values that narrow it, the most frequent first; `chips` the (name,
    value) of each filter that is set, and the address without it; `counted` how many frames the facets were
    counted over when that was not all, else 0.
    """
    facets = suggestions.facets(database, asked.q, asked.filters)
    return dict(
        groups=[
            (label, choices)
            for name, label, attribute in _fields()
            if (choices := _choices(asked, name, getattr(facets, attribute)))
        ],
        chips=_chips(asked),
        counted=0 if facets.is_whole else suggestions.COUNTED,
    )


def alternatives(database: Database, asked: SearchRequest) -> tuple[list[Alternative], list[Alternative]]:
    """(other spellings, the same words with fewer filters), each with the frames it would give."""
    suggested = suggestions.suggest(database, asked.q, asked.filters)
    spellings = [
        Alternative(
            _spelling_words(spelling),
            replace(SearchRequest() if spelling.without_filters else asked, q=spelling.text).address(),
            spelling.total,
        )
        for spelling in suggested.spellings
    ]
    widenings = [
        Alternative(_without_words(asked, less.without), _without(asked, less.without).address(), less.total)
        for less in suggested.widenings
    ]
    return spellings, widenings


def _spelling_words(spelling: Spelling) -> str:
    if spelling.less_word:
        return _("Without the word “%(word)s”", word=spelling.less_word)
    if spelling.without_filters:
        return _("Did you mean “%(words)s” without filters?", words=spelling.text)
    return _("Did you mean “%(words)s”?", words=spelling.text)


def _choices(asked: SearchRequest, name: str, facets: tuple[Facet, ...]) -> list[Alternative]:
    chosen = getattr(asked, name).casefold()
    # One value that is the filter already, or all there is, narrows nothing.
    if chosen and len(facets) <= 1:
        return []
    return [
        Alternative(_short(_shown(name, facet.value)), asked.address(**{name: facet.value}), facet.count)
        for facet in facets
        if facet.value.casefold() != chosen
    ]


def _shown(name: str, value: str) -> str:
    """A value as a person reads it: what names no app is in their language."""
    return formatting.app_name(value) if name == "app" else value


def _chips(asked: SearchRequest) -> list[tuple[str, str, str]]:
    chips = [
        (label, _shown(name, value), asked.address(**{name: None}))
        for name, label, __ in _fields()
        if (value := getattr(asked, name))
    ]
    if asked.range.is_given:
        chips.append((_("Time"), asked.range.label, replace(asked, range=NO_RANGE).address()))
    return chips


def _without(asked: SearchRequest, names: tuple[str, ...]) -> SearchRequest:
    less = {_PARAMETERS[name]: NO_RANGE if name == "time" else "" for name in names}
    return replace(asked, **less)  # type: ignore[arg-type]


def _without_words(asked: SearchRequest, names: tuple[str, ...]) -> str:
    if len(names) > 1:
        return _("Without any filter")
    (name,) = names
    if name == "time":
        return _("Over all time")
    value = _short(getattr(asked, _PARAMETERS[name]))
    return {
        "app_name": _("Without the app “%(value)s”", value=value),
        "window_name": _("Without the window “%(value)s”", value=value),
        "browser_url": _("Without the URL “%(value)s”", value=value),
        "host": _("Without the machine “%(value)s”", value=value),
    }[name]


def _short(value: str) -> str:
    return value if len(value) <= _MAX_VALUE_CHARS else value[: _MAX_VALUE_CHARS - 1] + "…"
