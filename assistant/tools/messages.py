"""Tools over imported messages: around a date, and by what they say (R0.60 to R0.67)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from assistant.read_api import moments
from assistant.read_api.answers import TimeOrNone, Words
from assistant.read_api.errors import ReadRefused
from assistant.tools.sources import SourceQuery, rows_that_fit, source_tool, truncated
from assistant.tools.tool import ToolFailed
from store.memory.retrievers import RetrievalQuery
from store.sources import messages
from store.sources.messages import SMS_DAYS_RADIUS, Filters, Message

REACHES = "the messages you imported"
_DAY_MS = 86_400_000
_TEXT_CHARS = 500

ContactId = Annotated[int | None, Field(ge=1, description="`contact_id` of a result.")]
Contact = Annotated[
    str | None, Field(min_length=1, max_length=200, description="Part of a name, number or address.")
]
Radius = Annotated[int, Field(ge=1, le=366, description="Days before and after `date`.")]
Limit = Annotated[int, Field(ge=1, le=100, description="Messages at most.")]
UnixSeconds = Annotated[float | None, Field(ge=0, le=1e11, description="Real-UTC Unix seconds.")]


@source_tool(mode="auto", reaches=REACHES, source="messages")
def get_sms_messages(
    look: SourceQuery,
    date: TimeOrNone = None,
    contact_id: ContactId = None,
    contact: Contact = None,
    days_radius: Radius = SMS_DAYS_RADIUS,
    limit: Limit = 50,
) -> object:
    """Gives the person's imported messages around a date, in the order of time; call it to see what was
    written at that time, or with somebody. The window runs from `date` (now, when left out) minus
    `days_radius` days to `date` plus `days_radius` days, half-open. `contact` is looked up and may not be
    given beside `contact_id`; of too many messages those nearest to `date` are given. For words in
    messages use search_messages. Examples: {"date": "2023-11-16T19:00:00+01:00"};
    {"date": 1700000000, "contact_id": 42, "days_radius": 1}"""
    at_ms = look.call.now_ms if date is None else moments.parse(date, "date")
    found = _contact(look, contact_id, contact)
    if isinstance(found, dict):
        return found
    start_ms, end_ms = look.within(at_ms - days_radius * _DAY_MS, at_ms + days_radius * _DAY_MS)
    shown, total = messages.nearest_to(
        look.call.database, at_ms, Filters(start_ms, end_ms, found), limit, look.context.timeout_s
    )
    told = _told(look, shown)
    told["total"] = total
    told["window"] = [look.local(start_ms), look.local(end_ms)]
    if not shown:
        told["note"] = _why_none(look, found)
    return told


@source_tool(mode="auto", reaches=REACHES, source="messages")
def search_messages(
    look: SourceQuery,
    query: Annotated[Words, Field(description="What to look for.")],
    mode: Literal["fts5", "semantic", "hybrid"] = "hybrid",
    start_ts: UnixSeconds = None,
    end_ts: UnixSeconds = None,
    contact_id: ContactId = None,
    limit: Limit = 20,
) -> object:
    """Searches what the person's imported messages say, best match first; call it when something was
    probably written to or by somebody. `mode` fts5 takes words (all must be there), "phrases", prefix*,
    AND, OR, NOT and NEAR(a b, 5); semantic goes by meaning and needs embeddings; hybrid, recommended, joins
    both by reciprocal rank fusion and is fts5 where there are no embeddings. `start_ts` and `end_ts`
    (half-open, real-UTC Unix seconds) and `contact_id` are applied inside the query, so no match in them is
    lost. For pure date or contact browsing without keywords, prefer get_sms_messages. Examples:
    {"query": "trader joe's"};
    {"query": "dinner", "contact_id": 42, "start_ts": 1700000000, "end_ts": 1700604800};
    {"query": "NEAR(meeting work, 5)"}"""
    filters = _filters(look, start_ts, end_ts, contact_id)
    asked = look.call.library.embedder.asking(query) if mode != "fts5" else RetrievalQuery(query)
    page = messages.search_messages(
        look.call.database, asked, filters, mode=mode, limit=limit, deadline_s=look.context.timeout_s
    )
    told = _told(look, [hit.message for hit in page.hits], [hit.snippet for hit in page.hits])
    told |= {"strategy": page.strategy, "read_as": page.reading}
    if page.fallback_reason:
        told["fallback_reason"] = page.fallback_reason
    if not page.hits:
        told["note"] = _why_none(look, contact_id)
    return told


MESSAGE_TOOLS = (search_messages, get_sms_messages)


# -- support ------------------------------------------------------------------------------


def _filters(
    look: SourceQuery, start_ts: float | None, end_ts: float | None, contact_id: int | None
) -> Filters:
    start_ms = None if start_ts is None else moments.parse(start_ts, "start_ts")
    end_ms = None if end_ts is None else moments.parse(end_ts, "end_ts")
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise ReadRefused("invalid", "end_ts must be later than start_ts")
    if look.context.range_ms:
        low, high = look.context.range_ms
        start_ms, end_ms = look.within(
            low if start_ms is None else start_ms, high if end_ms is None else end_ms
        )
    return Filters(start_ms, end_ms, contact_id)


def _contact(look: SourceQuery, contact_id: int | None, contact: str | None) -> int | dict[str, Any] | None:
    """The contact that is meant, or what to tell where that is not clear."""
    if contact is None:
        return contact_id
    if contact_id is not None:
        raise ToolFailed("Give `contact_id` or `contact`, not both.")
    found = messages.contacts(look.call.database, contact, limit=10)
    if len(found) == 1:
        return found[0].id
    rows = [
        {
            "contact_id": each.id,
            "name": each.name,
            "addresses": list(each.addresses),
            "messages": each.messages,
        }
        for each in found
    ]
    note = "Several contacts fit: choose a contact_id." if found else "No contact fits; leave it out."
    return {"messages": [], "contacts": rows_that_fit(rows)[0], "note": note}


def _told(look: SourceQuery, found: list[Message], snippets: list[str] | None = None) -> dict[str, Any]:
    rows = []
    for n, each in enumerate(found):
        body = each.body
        if snippets and len(body) > _TEXT_CHARS:
            body = f"…{snippets[n]}…"
        rows.append(
            {
                "id": each.id,
                "time": look.local(each.sent_ms),
                "to" if each.is_outgoing else "from": each.contact or "unknown",
                "contact_id": each.contact_id,
                "conversation": each.conversation,
                "service": each.service,
                "subject": truncated(each.subject, _TEXT_CHARS),
                "text": truncated(body, _TEXT_CHARS),
            }
        )
    kept, left_out = rows_that_fit(rows)
    look.call.returned = len(kept)
    return {"messages": kept, **({"left_out": left_out} if left_out else {})}


def _why_none(look: SourceQuery, contact_id: int | None) -> str:
    """An empty source is an answer, too (R0.52)."""
    database = look.call.database
    if not messages.browse(database, limit=1):
        return "No messages were imported, so nothing is known of messages. Go on with other sources."
    if contact_id is not None and not messages.browse(database, Filters(contact_id=contact_id), limit=1):
        return "There is no message with this contact at any time."
    return "Messages were imported, but none fits. That is informative: go on with other sources."
