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
from ingest.importers.sources.source_file import Options, Source
from ingest.importers.sources.telling import DuplicateCounter, made
from ingest.importers.sources.values import BadRecord, local_ms, name_of, past_ms, text_of
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
