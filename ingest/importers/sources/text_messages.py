"""Messages of iMessage, SMS Backup & Restore and CSV files.

For iMessage the text that imessage-exporter writes, a file for each conversation:

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
from functools import partial
from pathlib import PurePath

from ingest.core.xml_elements import Start
from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import csv_rows, xml_elements
from ingest.importers.sources.source_file import (
    BadRecord,
    DuplicateCounter,
    Options,
    Source,
    hour_of_day,
    line_records,
    local_ms,
    name_of,
    parse_number,
    past_ms,
    record_or_skipped,
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


def read_imessage(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    stem = name_of(PurePath(source.name).stem)
    make = partial(_record, stem=stem, occurrences=DuplicateCounter(), options=options)
    lines = ((IMESSAGE_STARTS.match(line), line.rstrip("\r\n")) for line in source.lines())
    return line_records(lines, make, _NOTICE.match)


def _record(
    start: re.Match[str], lines: list[str], stem: str, occurrences: DuplicateCounter, options: Options
) -> MessageRecord:
    if not lines:
        raise BadRecord("it has no sender")
    body = _body(lines[1:])
    if not body:
        raise BadRecord("it has no text")
    sender = name_of(lines[0])
    is_outgoing = sender == "Me" or sender.casefold() in options.me
    is_alone = _ALONE.fullmatch(stem) is not None
    sent_ms = past_ms(local_ms(_moment(start[1]), options.zone), options)
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
    hour = hour_of_day(hour, half)
    try:
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
    for number, element in enumerate(xml_elements(source)):
        if number == 0:
            _check_root(element.name)
        if isinstance(element, Start):
            if element.name == "sms":
                count += 1
                yield record_or_skipped(f"record {count}", _sms, element.values, options)
            elif element.name == "mms":
                count += 1
                mms, texts, senders = element.values, [], []
            elif element.name == "part" and element.values.get("ct", "").startswith("text/plain"):
                texts.append(element.values.get("text", ""))
            elif element.name == "addr" and element.values.get("type") == _FROM:
                senders.append(element.values.get("address", ""))
        elif element.name == "mms" and mms is not None:
            yield record_or_skipped(f"record {count}", _mms, mms, texts, senders, options)
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
        body=_body_of([values.get("body", "")]),
        address=name_of(values.get("address")),
        name=_known(values.get("contact_name")),
        subject=_known(values.get("subject")),
    )


def _mms(values: dict[str, str], texts: list[str], senders: list[str], options: Options) -> MessageRecord:
    is_outgoing = _is_outgoing(values.get("msg_box"))
    others = [other for other in values.get("address", "").split("~") if other]
    is_group = len(others) > 1
    sender = next((address for address in senders if address not in (_OWN, "")), "")
    address = others[0] if others else sender
    if is_group:
        address = "" if is_outgoing else sender
    contact = _known(values.get("contact_name"))
    return MessageRecord(
        service="sms",
        sent_ms=past_ms(parse_number(values.get("date"), "its date"), options),
        is_outgoing=is_outgoing,
        body=_body_of(texts),
        address=name_of(address),
        name="" if is_group else contact,
        conversation=(contact or name_of(", ".join(others))) if is_group else "",
        subject=_known(values.get("sub")),
    )


def _is_outgoing(box: str | None) -> bool:
    if box not in (_RECEIVED, _SENT):
        raise BadRecord("it was neither received nor sent (a draft, or it failed)")
    return box == _SENT


def _body_of(texts: list[str]) -> str:
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
        yield record_or_skipped(f"line {line}", _row_record, row, occurrences, options)


def _row_record(row: dict[str, str], occurrences: DuplicateCounter, options: Options) -> MessageRecord:
    if not row["text"].strip():
        raise BadRecord("it has no text")
    sent_ms = past_ms(written_ms(row["time"], options.zone), options)
    is_outgoing = _row_is_outgoing(row, options)
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


def _row_is_outgoing(row: dict[str, str], options: Options) -> bool:
    direction, flag = row["direction"].strip().casefold(), row["outgoing"].strip().casefold()
    if direction in _OUTGOING or flag in _YES:
        return True
    if direction in _INCOMING or flag in _NO:
        return False
    if options.me and not direction:
        return bool({row["name"].casefold(), row["address"].casefold()} & options.me)
    raise BadRecord("it does not say whether it was sent or received (use the words sent and received)")
