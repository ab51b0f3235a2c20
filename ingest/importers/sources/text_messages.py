"""Messages of the iMessage text export that imessage-exporter writes: a file for each conversation.

    May 17, 2022  5:29:42 PM (Read by you after 1 hour)
    +15558675309
    Words, also in several lines.

https://github.com/ReagentX/imessage-exporter. The file's name is the number or address it is with, or
that of a group. Replies are shown a second time below what they answer, indented; those are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import PurePath

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import Start, csv_rows, xml_elements
from ingest.importers.sources.source_file import (
    BadRecord,
    DuplicateCounter,
    Options,
    Source,
    local_ms,
    made,
    name_of,
    parse_number,
    past_ms,
    text_of,
    written_ms,
)
from store.sources.messages import MessageRecord

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_TIME = rf"(?:{'|'.join(_MONTHS)}) \d\d, \d{{4}} +\d{{1,2}}:\d\d:\d\d [AP]M"
IMESSAGE_STARTS = re.compile(rf"({_TIME})(?: \((?:Read|Delivered) [^\n]*\)| \(Sent [^\n]*\))?\r?\n?\Z")
_NOTICE = re.compile(rf"{_TIME} \S")
_NESTED = re.compile(rf" {{4,}}{_TIME}")
_MARKS = ("Tapbacks:", "Reactions:")
_REPLY = "This message responded to an earlier message."
_ALONE = re.compile(r"\+?[\d() .-]{3,20}|[^@\s]+@[^@\s]+")
_MAX_LINES = 20_000


def read_imessage(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    stem = name_of(PurePath(source.name).stem)
    occurrences = DuplicateCounter()
    start: tuple[int, str] | None = None
    lines: list[str] = []

    def block() -> MessageRecord | Skipped:
        assert start is not None
        number, written = start
        return made(f"line {number}", _record, written, lines, stem, occurrences, options)

    for number, line in enumerate(source.lines(), 1):
        found = IMESSAGE_STARTS.match(line)
        if found or _NOTICE.match(line):
            if start:
                yield block()
            start, lines = ((number, found[1]) if found else None), []
            if not found:
                yield Skipped(f"line {number}", "it is a notice, not a message")
        elif start:
            lines.append(line.rstrip("\r\n"))
            if len(lines) > _MAX_LINES:
                raise CannotImport(f"the message of line {start[0]} has more than {_MAX_LINES:,} lines")
    if start:
        yield block()


def _record(
    written: str, lines: list[str], stem: str, occurrences: DuplicateCounter, options: Options
) -> MessageRecord:
    if not lines:
        raise BadRecord("it has no sender")
    body = _body(lines[1:])
    if not body:
        raise BadRecord("it has no text")
    sender = name_of(lines[0])
    is_outgoing = sender == "Me" or sender.casefold() in options.me
    is_alone = _ALONE.fullmatch(stem) is not None
    sent_ms = past_ms(local_ms(_moment(written), options.zone), options)
    # In a conversation of two the file is called by the other one, and the sender may be a name.
    other = stem if is_alone else "" if is_outgoing else sender
    return MessageRecord(
        service="imessage",
        sent_ms=sent_ms,
        is_outgoing=is_outgoing,
        body=text_of(body),
        address=other,
        name=sender if is_alone and not is_outgoing and not _ALONE.fullmatch(sender) else "",
        conversation="" if is_alone else stem,
        occurrence=occurrences.of(sent_ms, sender, body),
    )


def _body(lines: list[str]) -> str:
    kept: list[str] = []
    for line in lines:
        if line in _MARKS or line == _REPLY or _NESTED.match(line):
            break
        kept.append(line)
    return "\n".join(kept).strip("\n")


def _moment(written: str) -> datetime:
    """By hand: `strptime` reads the names of months in the system's language."""
    month, day, year, clock, half = written.replace(",", "").split()
    hour, minute, second = (int(part) for part in clock.split(":"))
    if not 1 <= hour <= 12:
        raise BadRecord("its time cannot be read")
    try:
        hour = hour % 12 + (12 if half == "PM" else 0)
        return datetime(int(year), _MONTHS.index(month) + 1, int(day), hour, minute, second)
    except ValueError as error:
        raise BadRecord("its time cannot be read") from error


# Messages of SMS Backup & Restore for Android: ``<smses>`` of ``<sms …/>`` and ``<mms>``.
#
# The fields are described at https://www.synctech.com.au/sms-backup-restore/fields-in-xml-backup-files/.
# Times are epoch milliseconds. Pictures and sounds of an MMS are left out, its texts are kept.

_RECEIVED, _SENT = "1", "2"
_FROM = "137"  # PduHeaders.FROM of Android
_OWN = "insert-address-token"
_NOTHING = {"", "null", "(Unknown)"}


def read_sms_backup(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    """Records are counted over ``sms`` and ``mms`` together, from 1."""
    count = 0
    mms: dict[str, str] | None = None
    texts: list[str] = []
    senders: list[str] = []
    is_first = True
    for each in xml_elements(source):
        if is_first:
            _check_root(each.name)
            is_first = False
        if isinstance(each, Start):
            if each.name == "sms":
                count += 1
                yield made(f"record {count}", _sms, each.values, options)
            elif each.name == "mms":
                count += 1
                mms, texts, senders = each.values, [], []
            elif each.name == "part" and each.values.get("ct", "").startswith("text/plain"):
                texts.append(each.values.get("text", ""))
            elif each.name == "addr" and each.values.get("type") == _FROM:
                senders.append(each.values.get("address", ""))
        elif each.name == "mms" and mms is not None:
            yield made(f"record {count}", _mms, mms, texts, senders, options)
            mms = None


def _check_root(name: str) -> None:
    if name == "calls":
        raise CannotImport("this is a backup of calls; import the one of messages")
    if name != "smses":
        raise CannotImport(f"this is no SMS Backup & Restore file: it begins with <{name[:40]}>, not <smses>")


def _sms(values: dict[str, str], options: Options) -> MessageRecord:
    return MessageRecord(
        service="sms",
        sent_ms=past_ms(parse_number(values.get("date"), "its date"), options),
        is_outgoing=_is_outgoing(values.get("type")),
        body=_said([values.get("body", "")]),
        address=name_of(values.get("address")),
        name=_known(values.get("contact_name")),
        subject=_known(values.get("subject")),
    )


def _mms(values: dict[str, str], texts: list[str], senders: list[str], options: Options) -> MessageRecord:
    is_outgoing = _is_outgoing(values.get("msg_box"))
    others = [each for each in values.get("address", "").split("~") if each]
    is_group = len(others) > 1
    sender = next((each for each in senders if each not in (_OWN, "")), "")
    address = others[0] if others else sender
    if is_group:
        address = "" if is_outgoing else sender
    known = _known(values.get("contact_name"))
    return MessageRecord(
        service="sms",
        sent_ms=past_ms(parse_number(values.get("date"), "its date"), options),
        is_outgoing=is_outgoing,
        body=_said(texts),
        address=name_of(address),
        name="" if is_group else known,
        conversation=(known or name_of(", ".join(others))) if is_group else "",
        subject=_known(values.get("sub")),
    )


def _is_outgoing(box: str | None) -> bool:
    if box not in (_RECEIVED, _SENT):
        raise BadRecord("it was neither received nor sent (a draft, or it failed)")
    return box == _SENT


def _said(texts: list[str]) -> str:
    body = "\n".join(text for text in texts if text and text != "null")
    if not body.strip():
        raise BadRecord("it has no text (a picture or a sound)")
    return text_of(body)


def _known(name: str | None) -> str:
    return "" if name in _NOTHING else name_of(name)


# Messages of a CSV file with a column for the time, one for the text, and who it was with.
#
# time,direction,address,name,text
# 2026-11-21T14:03:00,received,+4917012345,Anna,Lunch?

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
        yield made(f"line {line}", _message_table_record, row, occurrences, options)


def _message_table_record(
    row: dict[str, str], occurrences: DuplicateCounter, options: Options
) -> MessageRecord:
    if not row["text"].strip():
        raise BadRecord("it has no text")
    sent_ms = past_ms(written_ms(row["time"], options.zone), options)
    is_outgoing = _message_table_is_outgoing(row, options)
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


def _message_table_is_outgoing(row: dict[str, str], options: Options) -> bool:
    said, flag = row["direction"].strip().casefold(), row["outgoing"].strip().casefold()
    if said in _OUTGOING or flag in _YES:
        return True
    if said in _INCOMING or flag in _NO:
        return False
    if options.me and not said:
        return bool({row["name"].casefold(), row["address"].casefold()} & options.me)
    raise BadRecord("it does not say whether it was sent or received (use the words sent and received)")
