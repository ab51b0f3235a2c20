"""Messages that a person imported, and who they were exchanged with.

A message is known by the id its service gave it, else by its service, conversation, address, time,
direction and text: a second import adds nothing. Times are of sending, in milliseconds UTC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import apsw

from store.core import tokenizer
from store.core.database import Database, clean_text, rows, scalar
from store.core.records import columns, insert, load, narrowed
from store.embeddings.knn import RetrievalQuery
from store.memory import retrievers
from store.memory.retrievers import Mode, Question, TextStrategy
from store.search import query, snippet
from store.sources import imports
from store.sources.imports import Upserted, UpsertTable, natural_key

SMS_DAYS_RADIUS = 4
"""Days before and after a date that messages are shown of."""


@dataclass(frozen=True, slots=True)
class MessageRecord:
    """A message as a file tells it.

    `address` is the other one's number or e-mail address, and `name` what the file calls them; both may
    be "". In a group, `conversation` names it and the sender is the other one. `external_id` is the id of
    the service within the conversation, "" where there is none; `occurrence` then tells apart equal
    messages of a file whose times are coarse, counting from 0.
    """

    service: str
    sent_ms: int
    is_outgoing: bool
    body: str
    address: str = ""
    name: str = ""
    conversation: str = ""
    subject: str = ""
    external_id: str = ""
    occurrence: int = 0


@dataclass(frozen=True, slots=True)
class Contact:
    id: int
    name: str
    addresses: tuple[str, ...]
    messages: int


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message. `contact` is a name, else an address, else ""."""

    id: int
    service: str
    conversation: str
    contact_id: int | None
    contact: str
    is_outgoing: bool
    sent_ms: int
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Filters:
    """Which messages: sent in ``[start_ms, end_ms)``, exchanged with a contact; None means any."""

    start_ms: int | None = None
    end_ms: int | None = None
    contact_id: int | None = None

    def condition(self) -> tuple[str, dict[str, Any]]:
        """SQL over ``m``, and the values it binds."""
        return narrowed(_TESTS, self, "1")


_TESTS = {
    "start_ms": "m.sent_ms >= :start_ms", "end_ms": "m.sent_ms < :end_ms",
    "contact_id": "m.contact_id = :contact_id",
}  # fmt: skip
EVERY_MESSAGE = Filters()


_TABLE = UpsertTable(
    "text_messages", ["natural_key"],
    ["service", "conversation", "contact_id", "is_outgoing", "sent_ms", "subject", "body"],
)  # fmt: skip


def upsert_messages(
    connection: apsw.Connection, import_id: int, records: Iterable[MessageRecord]
) -> Upserted:
    """Put messages and their contacts; at most `BATCH` at once, inside `Database.write()`."""
    contact = cache(partial(_contact, connection))
    found = (
        (record, {"natural_key": _key(record), "contact_id": contact(record.address, record.name)})
        for record in records
    )
    return imports.put(connection, import_id, _TABLE, found)


def address_key(address: str, name: str = "") -> str:
    """By what a contact is known: "" for nobody.

    Two writings of one number are the same (``+49 170 123`` and ``0049170123``), and so is the case of an
    e-mail address. A name alone is another contact than a number with that name: nobody can tell.
    """
    text = " ".join(clean_text(address).split())
    if "@" in text:
        return text.casefold()
    digits = re.sub(r"[^0-9]", "", text)
    if len(digits) >= 3 and re.fullmatch(r"[0-9+()./\- ]+", text):
        if text.startswith("+"):
            return f"+{digits}"
        return f"+{digits[2:]}" if digits.startswith("00") else digits
    shown = text or " ".join(clean_text(name).split())
    return shown.casefold()


def _key(record: MessageRecord) -> str:
    where = (record.service, record.conversation, address_key(record.address, record.name))
    if record.external_id:
        return natural_key("id", *where, record.external_id)
    return natural_key(
        "text", *where, record.sent_ms, int(record.is_outgoing), record.body, record.occurrence
    )


def _contact(connection: apsw.Connection, address: str, name: str) -> int | None:
    """The contact of an address, made when there is none; one without a name takes this one."""
    key, name = address_key(address, name), " ".join(clean_text(name).split())
    if not key:
        return None
    found = scalar(connection, "select contact_id from contact_addresses where address = ?", (key,))
    if found is None:
        found = insert(connection, "contacts", name=name)
        insert(connection, "contact_addresses", address=key, contact_id=found)
    elif name:
        connection.execute("update contacts set name = ? where id = ? and name = ''", (name, found))
    return int(found)


def contacts(database: Database, name: str = "", limit: int = 50) -> list[Contact]:
    """Contacts whose name or address holds `name`, those with most messages first."""
    return database.records(Contact, _CONTACTS, {"name": tokenizer.normalise(name), "limit": limit})


def get_many(connection: apsw.Connection, ids: Iterable[int]) -> dict[int, Message]:
    """The messages that exist among these ids."""
    sql = f"{_SELECT} where m.id in (select value from json_each(?))"
    return {message.id: message for message in load(Message, rows(connection, sql, (str(list(ids)),)))}


def nearest_to(
    database: Database, at_ms: int, filters: Filters, limit: int, deadline_s: float | None = None
) -> tuple[list[Message], int]:
    """The messages of the filters that are nearest to a moment, in the order of time, and how many the
    filters let through in all.
    """
    condition, bound = filters.condition()
    values = {**bound, "at": at_ms, "limit": limit}
    with database.read(deadline_s) as connection:
        sql = f"{_SELECT} where {condition} order by abs(m.sent_ms - :at), m.id limit :limit"
        found = rows(connection, sql, values)
        total = int(scalar(connection, f"select count(*) from text_messages m where {condition}", bound))
    return sorted(load(Message, found), key=lambda message: (message.sent_ms, message.id)), total


def browse(
    database: Database,
    filters: Filters = EVERY_MESSAGE,
    limit: int = 100,
    before: tuple[int, int] | None = None,
) -> list[Message]:
    """Messages newest first; those older than ``before``, the (sent_ms, id) of the last one shown."""
    condition, values = filters.condition()
    sql = f"""
        {_SELECT}
        where {condition} {"" if before is None else "and (m.sent_ms, m.id) < (:at, :last)"}
        order by m.sent_ms desc, m.id desc
        limit :limit
        """
    at_ms, last = before or (None, None)
    return database.records(Message, sql, {**values, "limit": limit, "at": at_ms, "last": last})


_CONTACT = """coalesce(
    nullif(c.name, ''), (select min(a.address) from contact_addresses a where a.contact_id = c.id), ''
)"""
_SELECT = f"""
select {columns(Message, "m", contact=_CONTACT)}
from text_messages m
left join contacts c on c.id = m.contact_id
"""

_CONTACTS = """
select c.id, c.name, json_group_array(a.address),
    (select count(*) from text_messages m where m.contact_id = c.id) as messages
from contacts c
join contact_addresses a on a.contact_id = c.id
where :name = '' or instr(recollect_normal(c.name), :name) > 0 or exists (
    select 1 from contact_addresses o where o.contact_id = c.id and instr(o.address, :name) > 0
)
group by c.id
order by messages desc, c.id
limit :limit
"""


# -- search -------------------------------------------------------------------------------
# Imported messages by what they say; see `store.memory.retrievers` for the ways to find.


@dataclass(frozen=True, slots=True)
class MessageHit:
    """A message that was found, and the piece of it that answers with (start, end) of the words in it."""

    message: Message
    score: float
    snippet: str
    highlights: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class MessagePage:
    """Hits best first; `reading` is how the text was understood."""

    hits: tuple[MessageHit, ...]
    strategy: TextStrategy
    fallback_reason: str | None
    reading: str


def search_messages(
    database: Database,
    asked: RetrievalQuery,
    filters: Filters = EVERY_MESSAGE,
    *,
    mode: Mode = "hybrid",
    limit: int = 20,
    deadline_s: float | None = 5.0,
) -> MessagePage:
    """The messages that answer best, never one outside the filters. Blank text gives the newest.

    Raises `DeadlineExceeded`.
    """
    parsed = query.parse(asked.text)
    question = Question(retrievers.MESSAGES, asked, parsed, mode, *filters.condition())
    with database.read(deadline_s) as connection:
        found = retrievers.find_texts(database, connection, question, limit)
        loaded = get_many(connection, [number for _, number in found.ranked])
    hits = []
    for score, number in found.ranked:
        shown = snippet.snippet(loaded[number].body, parsed)
        hits.append(MessageHit(loaded[number], round(score, 6), shown.text, shown.highlights))
    return MessagePage(tuple(hits), found.strategy, found.reason, parsed.reading)
