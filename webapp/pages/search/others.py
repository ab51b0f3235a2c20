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
