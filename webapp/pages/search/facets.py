"""A search as its address says it, and what stands around its hits: facets, filters, other searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from store.chats import attachments, conversations
from store.core.database import Database
from store.core.times import MAX_MS
from store.core.translation import gettext as _
from store.embeddings.knn import RetrievalQuery
from store.memory.insights import InsightFilter
from store.memory.search import search_insights
from store.search import suggestions
from store.search.filters import Filters
from store.search.search import Order
from store.search.suggestions import Facet, Spelling
from store.sources import calendars, entities, messages
from webapp.core import formatting, markdown
from webapp.core.formatting import count
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


# -- what else than frames has the words: messages, events, chats, insights, files, known names --

MOST = 100
"""Counts are exact up to here."""


@dataclass(frozen=True, slots=True)
class Other:
    """One kind of thing that has the words: how many, where they are listed, and the one that comes first.

    `words` say how many, up to `MOST`; `about` whose that is or where it stands, `at_ms` when it was, None
    where that is not known.
    """

    words: str
    icon: str
    total: int
    address: str
    first: Markup | str
    about: str
    at_ms: int | None


def others(database: Database, q: str, now_ms: int) -> Iterator[Other]:
    """Each kind that has any, once. Raises `DeadlineExceeded`."""
    words = f"?{urlencode({'q': q})}"

    def other(
        noun: str, icon: str, total: int, address: str, first: Markup | str, about: str, at_ms: int | None
    ) -> Other:
        return Other(count(min(total, MOST), noun), icon, total, address, first, about, at_ms)

    page = messages.search_messages(database, RetrievalQuery(q), mode="fts5", limit=MOST + 1)
    for hit in page.hits[:1]:
        text, sent = markdown.highlight(hit.snippet, hit.highlights), hit.message
        address = f"/sources/messages{words}"
        yield other("message", "chat", len(page.hits), address, text, sent.contact, sent.sent_ms)
    if event := calendars.next_event(database, q, now_ms):
        total = calendars.events_between(database, 0, MAX_MS, q, 0)[1]
        title, address = event.title or _("(no title)"), f"/sources/calendar{words}"
        yield other("event", "calendar", total, address, title, event.location, event.start_ms)
    if chats := conversations.list_chats(database, MOST + 1, text=q):
        chat = chats[0]
        yield other("chat", "chat", len(chats), f"/chats{words}", chat.title, "", chat.updated_ms)
    told = search_insights(database, RetrievalQuery(q), InsightFilter(), limit=1)
    for last in told.insights:
        title, at_ms = last.title or _("Untitled"), last.anchor.start_ms
        yield other("insight", "memory", told.total, f"/insights{words}", title, "", at_ms)
    if files := attachments.having(database, q, MOST + 1):
        file = files[0]
        address = f"/chat/{file.chat_id}#t{file.turn}"
        yield other("file", "text", len(files), address, file.name, _("in a chat"), None)
    if known := entities.find_entities(database, q, limit=MOST + 1):
        first, address = known[0], f"/memory/entities{words}"
        words = count(min(len(known), MOST), "person or thing", "people and things")
        yield Other(words, "persona", len(known), address, first.name, first.kind, first.updated_ms)
