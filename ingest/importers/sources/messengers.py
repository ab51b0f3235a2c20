"""Messages of WhatsApp's "Export chat", as Android and iOS write it: a line begins with a time.

    21/11/2026, 14:03 - Anna: Words            [21.11.26, 14:03:07] Anna: Words

The order of day and month is that of the phone and is found over the whole file: by a number over 12, else
by which reading keeps the messages in order. A file that leaves it open is refused, not guessed. So is one
that does not tell who of two its owner is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from ingest.importers.items import CannotImport, Skipped
from ingest.importers.sources.record_streams import json_records
from ingest.importers.sources.source_file import (
    BadRecord,
    Dates,
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

_MARKS = dict.fromkeys(map(ord, "\u200e\u200f\u202a\u202c\ufeff"))
WHATSAPP_LINE = re.compile(
    r"""\[?(\d{1,4})([./-])\s?(\d{1,2})\2\s?(\d{1,4})\.?,?\s
        (\d{1,2})[:.](\d\d)(?:[:.](\d\d))?(?:\s?([AaPp])\.?\s?[Mm]\.?)?
        (?:\]\s|\s-\s)(.*)""",
    re.VERBOSE | re.DOTALL,
)
_SENDER = re.compile(r"([^:\n]{1,100}?): ?(.*)", re.DOTALL)
_TITLE = re.compile(r"WhatsApp[ _]Chat(?: (?:with|mit|con|avec|com|met|z|-) | - )(.+)", re.IGNORECASE)
_MAX_SENDERS = 2_000
_MAX_LINES = 20_000
_ORDERS: tuple[Dates, ...] = ("dmy", "mdy", "ymd")


@dataclass(slots=True)
class _Looked:
    """What was found out about the whole file."""

    dates: Dates
    others: frozenset[str]
    me: frozenset[str]
    title: str

    @property
    def is_group(self) -> bool:
        return len(self.others) > 1


def read_whatsapp(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    looked = _look(source, options)
    source.rewind()
    occurrences = DuplicateCounter()
    start: tuple[int, re.Match[str]] | None = None
    more: list[str] = []

    def message() -> MessageRecord | Skipped:
        assert start is not None
        number, found = start
        return made(f"line {number}", _record, found, more, looked, occurrences, options)

    for number, found, line in _lines(source):
        if found:
            if start:
                yield message()
            start, more = (number, found), []
        elif start:
            more.append(line)
            if len(more) > _MAX_LINES:
                raise CannotImport(f"the message of line {start[0]} has more than {_MAX_LINES:,} lines")
        elif line.strip():
            yield Skipped(f"line {number}", "it stands before the first message")
    if start:
        yield message()


def _lines(source: Source) -> Iterator[tuple[int, re.Match[str] | None, str]]:
    for number, line in enumerate(source.lines(), 1):
        plain = line.translate(_MARKS) if not line.isascii() else line
        yield number, WHATSAPP_LINE.match(plain), plain


def _record(
    found: re.Match[str], more: list[str], looked: _Looked, occurrences: DuplicateCounter, options: Options
) -> MessageRecord:
    said = _SENDER.match(found[9])
    if said is None:
        raise BadRecord("it is a notice, not a message")
    sender = name_of(said[1])
    body = "".join([said[2], *more]).strip()
    if not body:
        raise BadRecord("it has no text")
    sent_ms = past_ms(local_ms(_moment(found, looked.dates), options.zone), options)
    is_outgoing = sender.casefold() in looked.me
    other = sender
    if is_outgoing:  # to a group, or to the one other
        other = "" if looked.is_group else next(iter(looked.others), looked.title)
    return MessageRecord(
        service="whatsapp",
        sent_ms=sent_ms,
        is_outgoing=is_outgoing,
        body=text_of(body),
        name=other,
        conversation=looked.title if looked.is_group else "",
        occurrence=occurrences.of(sent_ms, sender, body),
    )


# -- looking at the whole file ------------------------------------------------------------


def _look(source: Source, options: Options) -> _Looked:
    senders: dict[str, None] = {}
    possible = {options.dates} if options.dates else set(_ORDERS)
    backwards = dict.fromkeys(_ORDERS, 0)
    last: dict[Dates, datetime] = {}
    count = 0
    for _, found, _ in _lines(source):
        if not found:
            continue
        count += 1
        if said := _SENDER.match(found[9]):
            senders[name_of(said[1])] = None
            if len(senders) > _MAX_SENDERS:
                raise CannotImport(f"more than {_MAX_SENDERS:,} people write in it; this is no such chat")
        for order in tuple(possible):
            try:
                at = _moment(found, order)
            except BadRecord:
                if len(possible) > 1:
                    possible.discard(order)
                continue
            backwards[order] += order in last and at < last[order]
            last[order] = at
    if not count:
        raise CannotImport("there is no message in it; in WhatsApp choose Export chat")
    title = _title(source.name)
    me, others = _people(list(senders), title, options)
    return _Looked(_order(possible, backwards), others, me, title)


def _order(possible: set[Dates], backwards: dict[Dates, int]) -> Dates:
    fewest = min(backwards[order] for order in possible)
    best = [order for order in possible if backwards[order] == fewest]
    if len(best) > 1:
        raise CannotImport("day and month cannot be told apart; say their order with --dates dmy or mdy")
    return best[0]


def _people(senders: list[str], title: str, options: Options) -> tuple[frozenset[str], frozenset[str]]:
    """(me, the others). Who is who: `--me`, or a chat of two that is called by the other one."""
    mine = [each for each in senders if each.casefold() in options.me]
    others = [each for each in senders if each not in mine]
    if not mine and len(senders) == 2 and title in senders:
        mine, others = [each for each in senders if each != title], [title]
    elif not mine and senders != [title]:
        shown = ", ".join(each[:40] for each in senders[:10])
        raise CannotImport(f"say who of these you are with --me: {shown}")
    return frozenset(each.casefold() for each in mine), frozenset(others)


def _title(name: str) -> str:
    stem = name_of(PurePath(name).stem)
    found = _TITLE.fullmatch(stem)
    return found[1] if found else stem


def _moment(found: re.Match[str], order: Dates) -> datetime:
    first, second, third = int(found[1]), int(found[3]), int(found[4])
    if len(found[1]) == 4:
        order = "ymd"
    elif order == "ymd":
        raise BadRecord("its date cannot be read")
    day, month, year = {"dmy": (first, second, third), "mdy": (second, first, third)}.get(
        order, (third, second, first)
    )
    hour = int(found[5])
    if found[8]:
        if not 1 <= hour <= 12:
            raise BadRecord("its time cannot be read")
        hour = hour % 12 + (12 if found[8] in "Pp" else 0)
    try:
        return datetime(
            year + 2000 if year < 100 else year, month, day, hour, int(found[6]), int(found[7] or 0)
        )
    except ValueError as error:
        raise BadRecord("its time cannot be read") from error


# Messages of Telegram Desktop's export as JSON: of one chat, or of all of them.
#
# https://core.telegram.org/import-export has the fields. A chat's name and id stand before its messages.
# Whose messages are one's own is said by ``personal_information`` in an export of everything; in one of a
# single private chat they are those of whoever the chat is not with.

_EVERY = ("chats", "list", "[]")
_LEFT = ("left_chats", "list", "[]")
_CHATS = ((), _EVERY, _LEFT)
_ABOUT = ("name", "type", "id")
_OWN_ID = ("personal_information", "user_id")


def read_telegram(source: Source, options: Options) -> Iterator[MessageRecord | Skipped]:
    wanted = {
        _OWN_ID,
        *(each for each in _CHATS if each),
        *((*chat, name) for chat in _CHATS for name in _ABOUT),
        *((*chat, "messages", "[]") for chat in _CHATS),
    } - {_EVERY, _LEFT}
    own_id = ""
    chat: dict[str, str] = {}
    count = 0
    for path, value in json_records(source, wanted):
        if path == _OWN_ID:
            own_id = f"user{value}"
        elif path[-1] == "[]":
            count += 1
            yield made(f"record {count}", _telegram_record, value, chat, own_id, options)
        else:
            if path[-1] == "name":
                chat = {}  # the first of a chat
            chat[path[-1]] = "" if value is None else str(value)
    if not count:
        raise CannotImport("there are no messages in it; export a chat from Telegram Desktop as JSON")


def _telegram_record(raw: Any, chat: dict[str, str], own_id: str, options: Options) -> MessageRecord:
    if not isinstance(raw, dict) or raw.get("type") != "message":
        raise BadRecord("it is a notice, not a message")
    body = _text(raw.get("text"))
    if not body.strip():
        raise BadRecord("it has no text (a picture or a sound)")
    sender, name = str(raw.get("from_id") or ""), name_of(raw.get("from"))
    is_private = chat.get("type") in ("personal_chat", "bot_chat")
    is_outgoing = _is_outgoing(sender, name, chat, own_id, options)
    if is_private:
        address, shown = f"user{chat.get('id', '')}", name_of(chat.get("name"))
    else:
        address, shown = ("", "") if is_outgoing else (sender, name)
    return MessageRecord(
        service="telegram",
        sent_ms=past_ms(_sent(raw, options), options),
        is_outgoing=is_outgoing,
        body=text_of(body),
        address=name_of(address),
        name=shown,
        conversation="" if is_private else name_of(chat.get("name")) or chat.get("type", ""),
        external_id=f"{chat.get('id', '')}/{raw.get('id')}",
    )


def _sent(raw: dict[str, Any], options: Options) -> float:
    """``date_unixtime`` says it without a zone; older exports have the local ``date`` alone."""
    if "date_unixtime" in raw:
        return parse_number(raw["date_unixtime"], "its date") * 1000
    return written_ms(text_of(raw.get("date")), options.zone)


def _is_outgoing(sender: str, name: str, chat: dict[str, str], own_id: str, options: Options) -> bool:
    if chat.get("type") == "saved_messages":
        return True
    if options.me:
        return sender.casefold() in options.me or name.casefold() in options.me
    if own_id:
        return sender == own_id
    if chat.get("type") in ("personal_chat", "bot_chat"):
        return sender != f"user{chat.get('id', '')}"
    raise CannotImport("this export does not say who you are; say your name in it with --me")


def _text(value: Any) -> str:
    """A text is a string, or a list of strings and of objects that have one."""
    if isinstance(value, str):
        return value
    parts = value if isinstance(value, list) else []
    texts = (part.get("text") if isinstance(part, dict) else part for part in parts)
    return "".join(text for text in texts if isinstance(text, str))
