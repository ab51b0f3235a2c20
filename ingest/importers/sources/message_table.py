"""Messages of a CSV file with a column for the time, one for the text, and who it was with.

time,direction,address,name,text
2026-11-21T14:03:00,received,+4917012345,Anna,Lunch?
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.importers.items import Skipped
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.tables import csv_rows
from ingest.importers.sources.telling import DuplicateCounter, made
from ingest.importers.sources.values import BadRecord, name_of, past_ms, text_of, written_ms
from store.sources.messages import MessageRecord

MESSAGE_COLUMNS = {
    "time": ("timestamp", "date", "datetime", "sent", "sent_at", "date_time"),
    "text": ("body", "message", "content", "message_text"),
    "direction": ("type", "box"),
    "outgoing": ("is_outgoing", "is_from_me", "from_me", "is_sent"),
    "address": ("number", "phone", "phone_number", "email", "sender_id"),
    "name": ("contact", "contact_name", "sender", "from", "author"),
    "conversation": ("chat", "chat_name", "group", "thread"),
    "service": ("app", "platform"),
    "subject": (),
    "id": ("message_id", "guid"),
}
MESSAGE_NEEDED = ("time", "text")

_OUTGOING = {"out", "outgoing", "sent", "outbox"}
_INCOMING = {"in", "incoming", "received", "inbox"}
_YES, _NO = {"1", "true", "yes"}, {"0", "false", "no"}


def read_csv_messages(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    occurrences = DuplicateCounter()
    for line, row in csv_rows(source, MESSAGE_COLUMNS, MESSAGE_NEEDED):
        yield made(f"line {line}", _record, row, occurrences, options)


def _record(row: dict[str, str], occurrences: DuplicateCounter, options: Options) -> MessageRecord:
    if not row["text"].strip():
        raise BadRecord("it has no text")
    sent_ms = past_ms(written_ms(row["time"], options.zone), options)
    is_outgoing = _is_outgoing(row, options)
    # Where only the sender is named, one's own message does not say whom it went to.
    is_own_name = is_outgoing and bool({row["name"].casefold(), row["address"].casefold()} & options.me)
    address, name = ("", "") if is_own_name else (name_of(row["address"]), name_of(row["name"]))
    return MessageRecord(
        service=name_of(row["service"]).lower() or "csv",
        sent_ms=sent_ms,
        is_outgoing=is_outgoing,
        body=text_of(row["text"]),
        address=address,
        name=name,
        conversation=name_of(row["conversation"]),
        subject=name_of(row["subject"]),
        external_id=name_of(row["id"]),
        occurrence=occurrences.of(sent_ms, is_outgoing, address, name, row["conversation"], row["text"]),
    )


def _is_outgoing(row: dict[str, str], options: Options) -> bool:
    said, flag = row["direction"].strip().casefold(), row["outgoing"].strip().casefold()
    if said in _OUTGOING or flag in _YES:
        return True
    if said in _INCOMING or flag in _NO:
        return False
    if options.me and not said:
        return bool({row["name"].casefold(), row["address"].casefold()} & options.me)
    raise BadRecord("it does not say whether it was sent or received (use the words sent and received)")
