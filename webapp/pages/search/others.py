"""What else than frames has the words: messages, events, chats, insights, files, and names that are known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode

from markupsafe import Markup

from store.chats import attachments, conversations
from store.core.database import Database
from store.core.times import MAX_MS
from store.core.translation import gettext as _
from store.embeddings.knn import RetrievalQuery
from store.memory.insights import InsightFilter
from store.memory.search import search_insights
from store.sources import calendars, entities, messages
from webapp.core import markdown
from webapp.core.formatting import count

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
    yield from _imported(database, q, words, now_ms)
    yield from _own(database, q, words)


def _imported(database: Database, q: str, words: str, now_ms: int) -> Iterator[Other]:
    page = messages.search_messages(database, RetrievalQuery(q), mode="fts5", limit=MOST + 1)
    if page.hits:
        first = page.hits[0]
        text, sent = markdown.highlight(first.snippet, first.highlights), first.message
        yield Other(
            count(min(len(page.hits), MOST), "message"),
            "chat",
            len(page.hits),
            f"/sources/messages{words}",
            text,
            sent.contact,
            sent.sent_ms,
        )
    if event := calendars.next_event(database, q, now_ms):
        total = calendars.events_between(database, 0, MAX_MS, q, 0)[1]
        yield Other(
            count(min(total, MOST), "event"),
            "calendar",
            total,
            f"/sources/calendar{words}",
            event.title or _("(no title)"),
            event.location,
            event.start_ms,
        )


def _own(database: Database, q: str, words: str) -> Iterator[Other]:
    if chats := conversations.list_chats(database, MOST + 1, text=q):
        yield Other(
            count(min(len(chats), MOST), "chat"),
            "chat",
            len(chats),
            f"/chats{words}",
            chats[0].title,
            "",
            chats[0].updated_ms,
        )
    told = search_insights(database, RetrievalQuery(q), InsightFilter(), limit=1)
    for last in told.insights:
        at_ms, title = last.anchor.start_ms, last.title or _("Untitled")
        yield Other(
            count(min(told.total, MOST), "insight"),
            "memory",
            told.total,
            f"/insights{words}",
            title,
            "",
            at_ms,
        )
    if files := attachments.having(database, q, MOST + 1):
        file = files[0]
        yield Other(
            count(min(len(files), MOST), "file"),
            "text",
            len(files),
            f"/chat/{file.chat_id}#t{file.turn}",
            file.name,
            _("in a chat"),
            None,
        )
    if known := entities.find_entities(database, q, limit=MOST + 1):
        kind, at_ms = known[0].kind, known[0].updated_ms
        yield Other(
            count(min(len(known), MOST), "known name"),
            "persona",
            len(known),
            f"/memory/entities{words}",
            known[0].name,
            kind,
            at_ms,
        )
